"""Rendering: a trace as text, tables and files, for people and programs. It computes no results."""
