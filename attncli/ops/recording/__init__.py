"""Records of functions of NumPy arrays: graphs of their operations, from which lines, gradients and code follow.

`record` calls a function with arrays that record their operations (`arrays.py`). The result is an `Expression`
(`expression.py`). `reverse.py` makes gradients from it, `lines.py` arithmetic by hand, `code.py` NumPy code, and
`program.py` a program for a page. `guard.py` rejects a record that differs from the function for other numbers.
"""
