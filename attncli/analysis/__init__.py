"""Analysis of traces: comparison with expected numbers, and the choice of problems to do by hand."""
