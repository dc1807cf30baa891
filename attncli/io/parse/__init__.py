"""Parsing: from what people write to arrays, numbers and operators."""
