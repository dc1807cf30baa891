"""A function of NumPy's arrays, recorded: what it does with them, as a graph of which lines, gradients and code follow.

`record` calls a function with arrays that write down what is done to them (`arrays.py`). What comes out is an
`Expression` (`expression.py`), of which `reverse.py` makes gradients, `lines.py` arithmetic by hand, `code.py` NumPy's
code and `program.py` what a page computes; `guard.py` refuses a record that does not follow its numbers as the function
does.
"""
