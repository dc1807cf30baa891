"""Validation: checks of the values of a problem against each other; an error names both sides of a contradiction."""
