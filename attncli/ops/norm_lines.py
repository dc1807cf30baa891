"""The worked lines of norms: the size of a vector, the division by it, and gain and bias."""

from typing import Any

from attncli.base.lazy_numpy import Array
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, number, parameter, products, sqrt, total

ZERO_VECTOR = "a zero vector stays zero"


def l2_by_hand(
    write: ArithmeticWriter,
    x: Array,
    result: Any,
    *,
    gain: Array | None = None,
    bias: Array | None = None,
    eps: float | None = None,
    gain_plus_one: bool | None = None,
) -> list[str]:
    """The Euclidean norm of one vector [d], its division, and gain and bias."""
    if not x.any():
        return _zero_lines(write, result, bias)
    square = products(x, x)
    size = write.computed("√(‖u‖² + eps)" if eps else "‖u‖", sqrt(square + parameter(eps) if eps else square))
    name = "u/√(‖u‖² + eps)" if eps else "u/‖u‖"
    return [size.line, *_lines_with_gain(write, number(x) / size, name, result, gain, bias, gain_plus_one)]


def rms_by_hand(
    write: ArithmeticWriter,
    x: Array,
    result: Any,
    *,
    gain: Array | None = None,
    bias: Array | None = None,
    eps: float = 0.0,
    gain_plus_one: bool | None = None,
) -> list[str]:
    """The mean square of one vector [d], its root, the division by that, and gain and bias."""
    if not x.any():
        return _zero_lines(write, result, bias)
    mean = write.computed("mean(u²)", products(x, x) / len(x))
    root = write.computed("rms(u)", sqrt(mean + parameter(eps) if eps else mean))
    quotient = number(x) / root
    lines = _lines_with_gain(write, quotient, "u/rms(u)", result, gain, bias, gain_plus_one)
    return [mean.line, root.line, *lines]


def layer_by_hand(
    write: ArithmeticWriter,
    x: Array,
    result: Any,
    *,
    gain: Array | None = None,
    bias: Array | None = None,
    eps: float = 0.0,
    gain_plus_one: bool | None = None,
) -> list[str]:
    """The mean of one vector [d], its variance and the root of that, the division, and gain and bias."""
    mean = write.computed("mean(u)", total(map(number, x)) / len(x))
    centred = write.computed("u − mean(u)", number(x) - mean, letter="d")
    lines = [mean.line, centred.line]
    if not any(centred.entries):
        return [*lines, *_zero_lines(write, result, bias)]
    variance = write.computed("var(u)", products(centred.entries, centred.entries) / len(x))
    root = write.computed("std(u)", sqrt(variance + parameter(eps) if eps else variance))
    name = "(u − mean(u))/std(u)"
    lines += [variance.line, root.line]
    return [*lines, *_lines_with_gain(write, centred / root, name, result, gain, bias, gain_plus_one)]


def _lines_with_gain(
    write: ArithmeticWriter,
    quotient: Term,
    name: str,
    result: Any,
    gain: Array | None,
    bias: Array | None,
    gain_plus_one: bool | None,
) -> list[str]:
    """The line of one vector that is divided by its size, and that of its gain and bias."""
    if gain is None and bias is None:
        return [write.equation(quotient, result, name=name, letter="d")]
    divided = write.computed(name, quotient, letter="d")
    term: Term = divided
    if gain is not None:
        symbol = write.symbol("gain")
        term = ((1 + number(gain)) if gain_plus_one else number(gain)) * divided
        name = f"{f'(1 + {symbol})' if gain_plus_one else symbol} {name}"
    if bias is not None:
        term, name = term + number(bias), f"{name} + {write.symbol('bias')}"
    return [divided.line, write.equation(term, result, name=name, letter="d")]


def _zero_lines(write: ArithmeticWriter, result: Any, bias: Array | None) -> list[str]:
    """What becomes of a zero vector: it stays zero, and the bias is added."""
    if bias is None:
        return [ZERO_VECTOR]
    return [
        ZERO_VECTOR,
        write.equation(number(0) + number(bias), result, name=f"0 + {write.symbol('bias')}", letter="d"),
    ]
