"""Analysis of traces: comparison of their numbers with published ones."""
