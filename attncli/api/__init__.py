"""Attention from Python: problems, results, checks and comparisons, which show themselves."""
