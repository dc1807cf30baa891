"""Readers, one file a format: from text to lists, mappings and numbers."""
