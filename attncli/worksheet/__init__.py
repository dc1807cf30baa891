"""Exercises to print, their keys, class lists and spreadsheets; problems that are drawn for them."""
