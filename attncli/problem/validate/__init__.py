"""Checks of a problem: do its values fit together? Every error names both sides of a contradiction."""
