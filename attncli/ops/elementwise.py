"""Elementwise steps on tables of scores [… n m]: scale, softcap, and sums."""

from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import number, parameter, tanh
from attncli.ops.decorators import structural


def scale_by_hand(write: ArithmeticWriter, scores: Any, result: Any, *, scale: float) -> list[str]:
    """The product of the scale and one score."""
    return [write.equation(parameter(scale) * scores, result)]


@structural(by_hand=scale_by_hand)
def scale(scores: Array, *, scale: float) -> Array:
    """The scores [… n m] times a number.

    Examples
    --------
    >>> scale(np.array([[2.0, 4.0]]), scale=0.5)
    array([[1., 2.]])
    """
    return scores * scale


def multiply_by_hand(write: ArithmeticWriter, x: Array, result: Any, *, factor: float) -> list[str]:
    """The product of the factor and one vector [x]."""
    return [write.equation(parameter(factor) * x, result, letter="x")]


@structural(by_hand=multiply_by_hand)
def multiply(x: Array, *, factor: float) -> Array:
    """The vectors [… n x] times a number.

    Examples
    --------
    >>> multiply(np.array([[2.0, 4.0]]), factor=0.5)
    array([[1., 2.]])
    """
    return x * factor


def add_by_hand(write: ArithmeticWriter, left: Any, right: Any, result: Any) -> list[str]:
    """The sum of two cells."""
    return [write.equation(number(left) + right, result)]


@structural(by_hand=add_by_hand)
def add(left: Array, right: Array) -> Array:
    """The sum of two tables [… n m], whose leading axes broadcast.

    Examples
    --------
    >>> add(np.array([[1, 2]]), np.array([[10, 20]]))
    array([[11, 22]])
    """
    return left + right


def softcap_by_hand(write: ArithmeticWriter, scores: Any, result: Any, *, cap: float) -> list[str]:
    """The hyperbolic tangent of one score in units of the cap."""
    return [write.equation(parameter(cap) * tanh(scores / parameter(cap)), result)]


@structural(by_hand=softcap_by_hand)
def softcap(scores: Array, *, cap: float) -> Array:
    """`cap · tanh(scores / cap)`: from −cap to cap, nearly unchanged where scores are small.

    Parameters
    ----------
    scores : array [… n m]
        A row for each query; −∞ where a key is masked.
    cap : float > 0
        The largest absolute value.

    Returns
    -------
    array [… n m]

    References
    ----------
    Gemma Team 2024 (Gemma 2), §2, logit soft-capping

    Examples
    --------
    >>> softcap(np.array([[0.0, 1.0, 1000.0]]), cap=30.0).round(4)
    array([[ 0.    ,  0.9996, 30.    ]])
    """
    return cap * np.tanh(scores / cap)


def clip_by_hand(write: ArithmeticWriter, x: Array, result: Any, *, limit: float) -> list[str]:
    """Which entries of one vector are limited."""
    outside = int(np.count_nonzero(abs(x) > limit))
    size = f"{limit:g}"
    limited = f"{outside} of {x.size} numbers {'is' if outside == 1 else 'are'} limited"
    return [limited if outside else f"every number is between −{size} and {size}"]


@structural(by_hand=clip_by_hand)
def clip(x: Array, *, limit: float) -> Array:
    """The vectors [… n x] with every number limited to −limit … limit.

    References
    ----------
    MosaicML 2023 (MPT), `clip_qkv`

    Examples
    --------
    >>> clip(np.array([[-9.0, 1.0]]), limit=8.0)
    array([[-8.,  1.]])
    """
    return np.minimum(np.maximum(x, -limit), limit)
