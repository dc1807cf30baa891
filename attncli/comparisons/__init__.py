"""Variants of a problem side by side."""
