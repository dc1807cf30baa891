"""Foundations that import nothing else of the package: errors, axes, types, text, memory, NumPy."""
