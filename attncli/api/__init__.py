"""Attention from Python: problems, results, checks and comparisons, which display themselves."""
