"""Engines: they run a plan on a problem's arrays and give a trace, whole or in blocks."""
