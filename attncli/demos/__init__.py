"""Worked examples, each a file, and how they are shown and checked."""
