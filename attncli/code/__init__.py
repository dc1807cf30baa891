"""A run as code that computes it again without this program: a script of NumPy or PyTorch, and a notebook."""
