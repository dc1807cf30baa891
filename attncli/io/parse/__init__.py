"""Parsing: the texts in the values of a problem, by the kinds of their keys."""
