"""Worked lines of rope: the angle of each pair of features, and its rotation."""

from collections.abc import Sequence
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, cos, number, parameter, sin, total
from attncli.ops.rope_frequencies import pair_slices
from attncli.ops.rope_scaling_lines import plain_frequency


def rope_by_hand(
    write: ArithmeticWriter,
    x: Array,
    positions: Any,
    result: Any,
    *,
    base: float = 10000.0,
    dims: int | None = None,
    interleaved: bool = False,
    scaling: float = 1.0,
    offset: float = 0.0,
    frequencies: Array | None = None,
    attention_factor: Any = None,
    reverse: bool | None = None,
) -> list[str]:
    """The angle of each pair of one vector [d], and its rotation; of a long vector that of one pair."""
    count = (x.shape[-1] if dims is None else dims) // 2 if frequencies is None else frequencies.shape[-1]
    one, other = pair_slices(count, interleaved)
    lines = []
    features = range(2 * count)
    pairs: Sequence[int] = range(count)
    if write.is_long(2 * count):  # a feature behind those that turn is in no pair
        pairs = [pair for pair in pairs if write.feature in (features[one][pair], features[other][pair])] or [0]
    for pair in pairs:
        turns = [
            _shifted(at, offset, scaling) * frequency
            for at, frequency in _positions_and_frequencies(positions, frequencies, base, pair, count)
        ]
        angle = write.computed(f"angle of pair {pair}", total(turns) if len(turns) > 1 else turns[0])
        first, second = number(x[one][pair]), number(x[other][pair])
        cosine, sine = cos(angle), sin(angle)
        plus, minus = first * cosine + second * sine, first * cosine - second * sine
        back, on = second * cosine - first * sine, second * cosine + first * sine
        turned = (plus, back) if reverse else (minus, on)
        lines += [
            angle.line,
            write.equation(_stretched(turned[0], attention_factor), result[one][pair]),
            write.equation(_stretched(turned[1], attention_factor), result[other][pair]),
        ]
    return lines


def _shifted(position: Any, offset: float, scaling: float) -> Term:
    """A position with what is added to it, over the scaling."""
    shifted = number(position) + parameter(offset) if offset else number(position)
    return shifted / parameter(scaling) if scaling != 1 else shifted


def _positions_and_frequencies(
    positions: Any, frequencies: Array | None, base: float, pair: int, count: int
) -> list[tuple[Any, Term]]:
    """The position and the frequency of a pair: of several axes, on each of those that it reads."""
    if frequencies is None:
        return [(positions, plain_frequency(base, pair, 2 * count))]
    if frequencies.ndim == 1:
        return [(positions, number(frequencies[pair]))]
    axes = np.flatnonzero(frequencies[:, pair])
    return [(positions[axis], number(frequencies[axis, pair])) for axis in axes] or [(0, number(0))]


def _stretched(turned: Term, attention_factor: Any) -> Term:
    """A rotated feature times the attention factor, where there is one."""
    return turned if attention_factor is None else number(attention_factor) * turned
