"""Figures of a result, drawn with Matplotlib: heat maps of tables, signs of masks, curves."""
