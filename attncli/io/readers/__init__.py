"""Readers, one file for each format: from bytes or text to arrays, lists and mappings."""
