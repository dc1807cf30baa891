"""Worked lines of rope's scaling: the frequency of a pair, from its plain one, and the attention factor."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, ln, number, parameter, sqrt
from attncli.ops.rope_scaling import AXIAL, RopeScaling, ScaledRope
from attncli.ops.rope_scaling_types import (
    RAMP_WIDTH,
    TURN,
    axial_steps,
    base_stretch,
    kept_shares,
    length_factors,
    proportional_count,
    yarn_ends,
    yarn_pair,
    yarn_turns,
)


def plain_frequency(base: float, pair: int, dims: int) -> Term:
    """The angle of a pair from one position to the next, without a scaling."""
    return parameter(base) ** -(number(2 * pair) / dims)


def frequency_lines(
    write: ArithmeticWriter,
    result: Any,
    *,
    shape: tuple[int, ...],
    scaling: RopeScaling,
    base: float,
    position_count: Any = None,
) -> list[str]:
    """The frequency of each pair; of many pairs that of one."""
    count = shape[-1]
    rope = ScaledRope(scaling, base, 2 * count, position_count)
    middle = write.feature or count // 2  # the first pair is the same with most scalings
    pairs = [min(middle, count - 1)] if write.is_long(2 * count) else range(count)
    lines = list(COMMON_LINES[scaling.type](write, rope)) if scaling.type in COMMON_LINES else []
    for pair in pairs:
        frequency = result[pair] if result.ndim == 1 else result[:, pair].max()  # 0 on the other axes
        if result.ndim > 1:
            lines.append(f"pair {pair} reads axis {int(np.argmax(result[:, pair]))} of the positions")
        lines += PAIR_LINES[scaling.type](write, rope, pair, frequency)
    return lines


def _name(pair: int) -> str:
    """What the frequency of a pair is called."""
    return f"θ of pair {pair}"


def _default(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The plain frequency."""
    return [write.equation(plain_frequency(rope.base, pair, rope.dims), result, name=_name(pair))]


def _linear(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The plain frequency over the factor."""
    plain = plain_frequency(rope.base, pair, rope.dims)
    return [write.equation(plain / parameter(rope.scaling["factor"]), result, name=_name(pair))]


def _stretched_base_lines(write: ArithmeticWriter, rope: ScaledRope) -> Iterator[str]:
    """What stretches the base: alpha, or a number that grows with the sequence."""
    if rope.scaling.get("alpha") is not None:
        return
    if rope.count <= rope.model_count:
        yield f"{rope.count} positions, no more than the {rope.model_count:g} of the model: r is 1"
        return
    factor = parameter(rope.scaling["factor"])
    yield write.computed("r", factor * rope.count / rope.model_count - (factor - 1)).line


def _dynamic(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The plain frequency of the stretched base."""
    power = number(rope.dims) / (rope.dims - 2)
    base = write.computed("stretched base", parameter(rope.base) * number(base_stretch(rope)) ** power)
    exponent = -(number(2 * pair) / rope.dims)
    return [base.line, write.equation(base**exponent, result, name=_name(pair))]


def _ramp_lines(write: ArithmeticWriter, rope: ScaledRope) -> Iterator[str]:
    """The numbers of the pairs between which the ramp of YaRN lies."""
    length, truncates = number(rope.trained_count), rope.scaling.get("truncate", True)
    ends, roundings = yarn_ends(rope), ("down", "up")
    for name, turns, end, rounding in zip(("low", "high"), yarn_turns(rope), ends, roundings, strict=True):
        pair = number(rope.dims) * ln(length / (parameter(turns) * TURN)) / (number(2) * ln(parameter(rope.base)))
        yield write.equation(pair, yarn_pair(rope, turns), name=f"the pair that turns {turns:g} times in training")
        rounded = f", rounded {rounding}" if truncates else ""
        yield f"{name} is that{rounded}, in [0, {rope.dims - 1}]: {end:g}"


def _yarn(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """How much of the pair's frequency stays by the ramp, and the frequency."""
    low, high = yarn_ends(rope)
    width = number(high) - low if high != low else number(RAMP_WIDTH)
    if pair <= low:
        line = f"pair {pair} is not after low: s is 1"
    elif pair >= low + (high - low or RAMP_WIDTH):
        line = f"pair {pair} is not before high: s is 0"
    else:
        line = write.computed("s", number(1) - (number(pair) - low) / width).line
    return [line, *_kept_lines(write, rope, pair, result)]


def _llama3(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """How often the pair turns in training, how much of its frequency stays for that, and the frequency."""
    slow, fast = parameter(rope.scaling["low_freq_factor"]), parameter(rope.scaling["high_freq_factor"])
    plain = plain_frequency(rope.base, pair, rope.dims)
    turns = write.computed(f"turns of pair {pair} in training", number(rope.trained_count) * plain / TURN)
    (share,) = kept_shares(np.array([rope.base ** (-2 * pair / rope.dims)]), rope)
    if share in (0, 1):
        name = "high_freq_factor" if share else "low_freq_factor"
        line = f"{'not less' if share else 'not more'} than {name}, {rope.scaling[name]:g}: s is {share:g}"
    else:
        line = write.computed("s", (turns - slow) / (fast - slow)).line
    return [turns.line, line, *_kept_lines(write, rope, pair, result)]


def _kept_lines(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The frequency of which a share stays, and the rest is divided by the factor."""
    plain = write.computed(f"θ₀ of pair {pair}", plain_frequency(rope.base, pair, rope.dims))
    share = kept_shares(rope.base ** (-2 * np.arange(pair + 1) / rope.dims), rope)[pair]
    kept = plain * (number(share) + (number(1) - share) / parameter(rope.factor))
    return [plain.line, write.equation(kept, result, name=_name(pair))]


def _longrope(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The plain frequency over the number of this pair."""
    _, factors = length_factors(rope)
    plain = plain_frequency(rope.base, pair, rope.dims)
    return [write.equation(plain / number(factors[pair]), result, name=_name(pair))]


def _longrope_list_line(write: ArithmeticWriter, rope: ScaledRope) -> Iterator[str]:
    """Which of both lists is in force."""
    name, _ = length_factors(rope)
    comparison = "more than" if name == "long_factor" else "no more than"
    yield f"{rope.count} positions, {comparison} the {rope.trained_count:g} of training: the factors are {name}"


def _axial(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The frequency of a pair among those of its axis."""
    steps, width = axial_steps(rope)
    return [write.equation(parameter(rope.base) ** -(number(steps[pair]) / width), result, name=_name(pair))]


def _proportional(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The plain frequency over the factor, or that the pair does not turn."""
    if pair >= proportional_count(rope):
        return [f"pair {pair} does not turn: θ is 0"]
    plain = plain_frequency(rope.base, pair, rope.dims)
    factor = rope.scaling.get("factor", 1.0)
    return [write.equation(plain / parameter(factor) if factor != 1 else plain, result, name=_name(pair))]


PairLines = Callable[[ArithmeticWriter, ScaledRope, int, Any], list[str]]
PAIR_LINES: Mapping[str, PairLines] = {
    "default": _default,
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "llama3": _llama3,
    "longrope": _longrope,
    AXIAL: _axial,
    "proportional": _proportional,
}
# The lines before those of the pairs, which hold for all of them.
COMMON_LINES: Mapping[str, Callable[[ArithmeticWriter, ScaledRope], Iterator[str]]] = {
    "dynamic": _stretched_base_lines,
    "yarn": _ramp_lines,
    "longrope": _longrope_list_line,
}


def attention_factor_lines(
    write: ArithmeticWriter,
    result: Any,
    *,
    shape: tuple[()],
    scaling: RopeScaling,
    position_count: Any = None,
) -> list[str]:
    """The attention factor from the factor of the lengths."""
    rope = ScaledRope(scaling, 1.0, 0, position_count)
    if scaling.type == "longrope":
        if result == 1 or scaling.get("short_mscale") is not None:
            return [f"the attention factor is {write(result)}"]
        ratio = ln(parameter(rope.factor)) / ln(number(rope.trained_count))
        return [write.equation(sqrt(number(1) + ratio), result, name="attention factor")]
    above, below = scaling.get("mscale"), scaling.get("mscale_all_dim")
    term = (
        _magnitude(rope.factor, above) / _magnitude(rope.factor, below) if above and below else _magnitude(rope.factor)
    )
    return [write.equation(term, result, name="attention factor")]


def _magnitude(factor: float, weight: float = 1.0) -> Term:
    """0.1 · weight · ln(factor) + 1, or 1 where sequences are no longer."""
    if factor <= 1:
        return number(1)
    tenth = number(0.1) * parameter(weight) if weight != 1 else number(0.1)
    return tenth * ln(parameter(factor)) + 1
