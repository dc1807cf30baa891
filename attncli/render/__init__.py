"""Rendering: a trace as text, tables and files, for people and for programs; no result is computed here."""
