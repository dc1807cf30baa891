"""Engines: they run a plan on a problem's arrays and return a trace, whole or in blocks."""
