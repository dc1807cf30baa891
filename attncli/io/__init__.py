"""Input and output: files, texts and standard input to problems, problems and results to files."""
