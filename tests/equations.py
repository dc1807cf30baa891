"""Arithmetic as it is shown, evaluated again: `2·2 + 0·(−4) = 4`."""

import re
from itertools import pairwise
from typing import Any

import numpy as np

DECIMALS = 12  # so many that rounding does not hide a wrong sum
WORDS = {
    "tanh": np.tanh,
    "exp": np.exp,
    "cos": np.cos,
    "sin": np.sin,
    "max": max,
    "relu": lambda x: np.maximum(x, 0),
    "abs": abs,
    "np": np,
}

ALONE = ("the largest weight", "one key", "c(", "the first pair", "P = ", "key ", "hidden")  # lines with one number


def value_of(text: str) -> Any:
    """The value of a term of the arithmetic, or None where it is words: `2·2 + 0·(−4)`, `10/√3`, `exp(…)`."""
    text = text.partition(": ")[2] or text
    for symbol, python in (
        ("−", "-"), ("·", "*"), ("²", "**2"), ("^", "**"), ("√(", "np.sqrt("), ("∞", "np.inf"),
        (", so that the row sums to 1", ""),
    ):  # fmt: skip
        text = text.replace(symbol, python)
    text = re.sub(r"√([\d.]+)", r"np.sqrt(\1)", text)
    text = re.sub(r"\|([^|]+)\|", r"abs(\1)", text)
    text = re.sub(r"\[([^\]]*)\]", lambda m: f"np.array([{','.join(m[1].split())}])" if m[1] else "None", text)
    try:
        return eval(text, {"__builtins__": {}}, WORDS)
    except (NameError, SyntaxError, TypeError):
        return None


def assert_equations_hold(lines: list[str]) -> None:
    """Every `a = b = c` holds."""
    assert lines
    for line in lines:
        values = [value_of(piece) for piece in line.split(" = ")]
        known = [value for value in values if value is not None]
        assert known, line
        assert len(known) > 1 or "τ" in line or line.startswith(ALONE), line
        for left, right in pairwise(known):
            np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-10, err_msg=line)
