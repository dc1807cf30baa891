"""Foundations that import nothing else of the package: errors, axes, types, text, and numbers as text."""
