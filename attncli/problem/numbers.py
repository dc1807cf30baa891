"""Numbers, booleans, words and windows: values that are checked against a range."""

from numbers import Real
from typing import Any

from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import repr_excerpt
from attncli.numbers.parsing import non_finite, number_of_text
from attncli.problem.arrays import to_lists, to_python_number

UNLIMITED = float("inf")
MAX_COUNT = 2**53  # so many keys no machine has; up to it floating-point numbers count exactly


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python's or NumPy's types; booleans are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def to_word(value: Any, words: tuple[str, ...], path: ErrorPath) -> str:
    """One of some choices; a type of NumPy's or PyTorch's is its name.

    >>> to_word(np.dtype("float32"), ("float32", "float64"), ("dtype",))
    'float32'
    """
    word = value if isinstance(value, str) else _name_of_type(value)
    if word not in words:
        name = repr_excerpt(value) if word is None else word
        raise UnknownNameError("word", name, words, where=path, subject=value)
    return word


def _name_of_type(value: Any) -> str | None:
    """The name of a dtype or scalar type, `longdouble` by that name on every machine; None for any other value."""
    if (type(value).__module__, type(value).__name__) == ("torch", "dtype"):
        return str(value).removeprefix("torch.")
    scalar_type = value.type if isinstance(value, np.dtype) else value
    is_numpy_type = isinstance(scalar_type, type) and issubclass(scalar_type, np.generic)
    return scalar_type.__name__ if is_numpy_type else None


def to_boolean(value: Any, path: ErrorPath) -> bool:
    """True or false, of Python's or NumPy's types."""
    if isinstance(value, np.bool_ if type(value).__module__ == "numpy" else bool):
        return bool(value)
    raise AttnError(f"{repr_excerpt(value)} is neither true nor false", where=path, subject=value)


def to_integer(value: Any, path: ErrorPath, least: float | None) -> int:
    """An integer, not less than `least`.

    >>> to_integer(2.0, ("heads",), least=1)
    2
    """
    number = to_python_number(value)
    if not is_number(number) or not to_float(number).is_integer():
        raise AttnError(f"{repr_excerpt(value)} is not a whole number", where=path, subject=value)
    if least is not None and number < least:
        raise AttnError(f"{repr_excerpt(value)} is out of range", where=path, hint=f"expected {least:g} or more")
    return int(number)


def to_finite(value: Any, path: ErrorPath) -> float:
    """A number that is neither infinite nor NaN, also written as `1/2`.

    >>> to_finite("1/sqrt(4)", ("scale",))
    0.5
    """
    number = _from_word(value, path) if isinstance(value, str) else to_python_number(value)
    if not is_number(number) or not abs(to_float(number)) < float("inf"):
        raise AttnError(f"{repr_excerpt(value)} is not a finite number", where=path, subject=value)
    return float(number)


def to_number(value: Any, path: ErrorPath) -> float:
    """A number that may be infinite, also as a word such as `inf` or as `1/2`, and is not NaN.

    >>> to_number("inf", ("mask", "window", "left"))
    inf
    """
    number = _from_word(value, path) if isinstance(value, str) else to_python_number(value)
    if is_number(number) and abs(to_float(number)) == UNLIMITED:
        return to_float(number)
    return to_finite(value, path)


def _from_word(word: str, path: ErrorPath) -> Any:
    """The number that an expression, or a word for an infinity or NaN, means; any other text stays as it is."""
    try:
        number = number_of_text(word)
    except AttnError as error:
        raise error.at(*path) from None
    return word if number is None else number


def to_number_above(value: Any, path: ErrorPath, limit: float) -> float:
    """A finite number greater than a limit."""
    number = to_finite(value, path)
    if number <= limit:
        raise AttnError(f"{number:g} is out of range", where=path, hint=f"expected a number greater than {limit:g}")
    return number


def to_number_from(value: Any, path: ErrorPath, least: float) -> float:
    """A finite number that is no less than a limit."""
    number = to_finite(value, path)
    if number < least:
        raise AttnError(f"{number:g} is out of range", where=path, hint=f"expected {least:g} or more")
    return number


def to_float(value: Any) -> float:
    """A number as a float; an integer beyond all floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return UNLIMITED if value > 0 else -UNLIMITED


def to_booleans(array: Array, path: ErrorPath, subject: Any, hint: str) -> Array:
    """An array of 0 and 1 as booleans; `hint` says what they mean."""
    if array.dtype.kind == "b":
        return array
    other = array[(array != 0) & (array != 1)]
    if other.size:
        raise AttnError(f"{other.flat[0]:g} is neither 0 nor 1", where=path, hint=hint, subject=subject)
    booleans: Array = array == 1
    return booleans


def to_counts(array: Array, path: ErrorPath, subject: Any) -> Array:
    """An array of integers from 0, as int64."""
    array = array.astype(np.float64)
    wrong = array[~((array >= 0) & (array == np.floor(array)) & (array < MAX_COUNT))]
    if wrong.size:
        raise AttnError(f"{wrong.flat[0]:g} is not a whole number from 0", where=path, subject=subject)
    return array.astype(np.int64)


def to_window(value: Any, path: ErrorPath) -> tuple[float, float]:
    """How many keys are visible to the left and to the right; −1 and infinity are no limit.

    >>> to_window([2, -1], ("window",))
    (2, inf)
    """
    sides = to_lists(value)
    if not isinstance(sides, (list, tuple)) or len(sides) != 2:
        raise AttnError(f"{repr_excerpt(value)} is not a window", where=path, hint=_window_hint(value), subject=value)
    left, right = (_to_window_side(side, path, value) for side in sides)
    return left, right


def _window_hint(value: Any) -> str:
    """What is expected of a window; for one number also what to write for a window that counts the query's own key.

    >>> _window_hint("4")
    "expected LEFT,RIGHT, such as 2,0; Hugging Face's sliding_window: 4 is 3,0"
    """
    (number,) = value if isinstance(value, (list, tuple)) and len(value) == 1 else (value,)
    text = number if isinstance(number, str) else repr_excerpt(number)
    keys = int(text) if text.isdecimal() and len(text) < len(str(MAX_COUNT)) else 0
    sliding_window = f"; Hugging Face's sliding_window: {keys} is {keys - 1},0" if keys else ""
    return f"expected LEFT,RIGHT, such as 2,0{sliding_window}"


def _to_window_side(side: Any, path: ErrorPath, subject: Any) -> float:
    """How many keys are visible on one side."""
    if isinstance(side, str):
        infinity = non_finite(side)
        side = side if infinity is None else infinity
    converted = to_python_number(side)
    number = to_float(converted) if is_number(converted) else -UNLIMITED
    if number == -1 or number >= MAX_COUNT:
        return UNLIMITED
    if not number.is_integer() or number < 0:
        hint = "expected a whole number, or inf or -1 for no limit"
        raise AttnError(f"{repr_excerpt(side)} is not a side of a window", where=path, hint=hint, subject=subject)
    return int(number)
