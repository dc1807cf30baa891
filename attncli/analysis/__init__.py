"""Analysis of traces: comparison of their numbers with expected ones."""
