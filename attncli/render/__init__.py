"""Views of a trace: what a person or a program sees of it. They compute nothing."""
