"""What of the documents is generated: pages from docstrings and records, and the output of commands."""
