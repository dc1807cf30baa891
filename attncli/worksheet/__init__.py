"""Exercises to print, their keys, class lists and spreadsheets, with problems drawn for them."""
