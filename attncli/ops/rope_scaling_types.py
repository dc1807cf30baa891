"""The types of rope scaling: how to read a mapping, the frequencies of each type, and their worked lines.

Plain frequencies are base^(−2f/dims). Types and names come from config.json, as transformers reads it in
modeling_rope_utils.py.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, ln, number, parameter, sqrt
from attncli.ops.records import Range
from attncli.ops.rope_scaling import (
    ALTERNATING,
    AXES,
    AXES_OF_PAIRS,
    AXIAL,
    MODEL_LENGTH,
    SECTIONS,
    SECTIONS_INTERLEAVED,
    SHARE,
    TRAINED_LENGTH,
    TYPE,
    RopeScaling,
    ScaledRope,
)

BETA_FAST, BETA_SLOW = 32.0, 1.0  # the turns in training from which a pair stays, and up to which it is slowed (YaRN)
RAMP_WIDTH = 0.001  # for a ramp with equal ends
TURN = 2 * math.pi
PLAIN = "θ₀ = base^(−2f/dims)"
PARTLY_KEPT = f"θ = θ₀ (s + (1 − s) / factor), {PLAIN}"


@dataclass(frozen=True)
class ScalingType:
    """A type of scaling: `frequencies(plain [f], rope)` returns its frequencies, `attention_factor(rope)` a number.

    `pair_lines(write, rope, pair, frequency)` are the worked lines of a pair, `common_lines` the lines for all pairs,
    before them, `attention_factor_lines(write, rope, factor)` the attention factor's. `parameters` are the names of its
    own parameters.
    """

    formula: str
    source: str  # unless it is rope's own
    frequencies: Callable[[Array, ScaledRope], Array]
    pair_lines: Callable[[ArithmeticWriter, ScaledRope, int, Any], list[str]]
    code: Callable[[ScaledRope], str]  # lines of code; the last one has the frequencies
    parameters: tuple[str, ...] = ()
    common_lines: Callable[[ArithmeticWriter, ScaledRope], Iterator[str]] = lambda write, rope: iter(())
    attention_factor: Callable[[ScaledRope], float] | None = None
    attention_factor_lines: Callable[[ArithmeticWriter, ScaledRope, Any], list[str]] | None = None
    reads_position_count: bool = False


def plain_frequency(base: float, pair: int, dims: int) -> Term:
    """The angle of a pair from one position to the next, without a scaling."""
    return parameter(base) ** -(number(2 * pair) / dims)


def _frequency_line(write: ArithmeticWriter, pair: int, term: Term, result: Any) -> str:
    """The line of a pair's frequency."""
    return write.equation(term, result, name=f"θ of pair {pair}")


def _plain_line(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any, divisor: Term | None = None) -> str:
    """The line of a plain frequency, or of a plain frequency over a number."""
    plain = plain_frequency(rope.base, pair, rope.dims)
    return _frequency_line(write, pair, plain if divisor is None else plain / divisor, result)


def _base_stretch(rope: ScaledRope) -> float:
    """The factor of the base of `dynamic`, before its power: 1 for a sequence up to the model's length."""
    alpha = rope.scaling.get("alpha")
    if alpha is not None:
        return float(alpha)
    factor = float(rope.scaling["factor"])
    count = max(rope.count, rope.model_count)
    return factor * count / rope.model_count - (factor - 1)


def _dynamic(plain: Array, rope: ScaledRope) -> Array:
    """The plain frequencies of a larger base, for this length of the sequence, or with `alpha` for any."""
    if rope.dims < 4:
        raise AttnError(f"dynamic needs several pairs, and {rope.dims} features turn", where="scaling")
    stretch: float = _base_stretch(rope) ** (rope.dims / (rope.dims - 2))
    frequencies: Array = (rope.base * stretch) ** (-np.arange(0, rope.dims, 2) / rope.dims)
    return frequencies


def _stretched_base_lines(write: ArithmeticWriter, rope: ScaledRope) -> Iterator[str]:
    """The factor of the base: alpha, or a number that grows with the sequence."""
    if rope.scaling.get("alpha") is not None:
        return
    if rope.count <= rope.model_count:
        yield f"{rope.count} positions, no more than the {rope.model_count:g} of the model: r is 1"
        return
    factor = parameter(rope.scaling["factor"])
    yield write.computed("r", factor * rope.count / rope.model_count - (factor - 1)).line


def _dynamic_lines(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The plain frequency of the stretched base."""
    power = number(rope.dims) / (rope.dims - 2)
    base = write.computed("stretched base", parameter(rope.base) * number(_base_stretch(rope)) ** power)
    return [base.line, _frequency_line(write, pair, base ** -(number(2 * pair) / rope.dims), result)]


def _yarn_ends(rope: ScaledRope) -> tuple[float, float]:
    """The first and the last pair of the ramp of `yarn`, from pairs that stay to pairs that are slowed."""
    if rope.base <= 1:
        raise AttnError(f"yarn needs a base greater than 1, and it is {rope.base:g}", where="base")
    low, high = (_yarn_pair(rope, turns) for turns in _yarn_turns(rope))
    if rope.scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0), min(high, rope.dims - 1)


def _yarn_turns(rope: ScaledRope) -> tuple[float, float]:
    """The turns in training of the pairs at both ends of the ramp of `yarn`."""
    return rope.scaling.get("beta_fast", BETA_FAST), rope.scaling.get("beta_slow", BETA_SLOW)


def _yarn_pair(rope: ScaledRope, turns: float) -> float:
    """The fractional number of the pair that turns so often in training."""
    return rope.dims * math.log(rope.trained_count / (turns * TURN)) / (2 * math.log(rope.base))


def _ramp_lines(write: ArithmeticWriter, rope: ScaledRope) -> Iterator[str]:
    """The first and the last pair of YaRN's ramp."""
    length, truncates = number(rope.trained_count), rope.scaling.get("truncate", True)
    ends, roundings = _yarn_ends(rope), ("down", "up")
    for name, turns, end, rounding in zip(("low", "high"), _yarn_turns(rope), ends, roundings, strict=True):
        pair = number(rope.dims) * ln(length / (parameter(turns) * TURN)) / (number(2) * ln(parameter(rope.base)))
        yield write.equation(pair, _yarn_pair(rope, turns), name=f"the pair that turns {turns:g} times in training")
        rounded = f", rounded {rounding}" if truncates else ""
        yield f"{name} is that{rounded}, in [0, {rope.dims - 1}]: {end:g}"


def _kept_shares(plain: Array, rope: ScaledRope) -> Array:
    """The share of each pair's frequency that `yarn` and `llama3` keep, 0 to 1; the rest is divided by the factor."""
    if rope.scaling.type == "yarn":
        low, high = _yarn_ends(rope)
        ramp = (np.arange(len(plain)) - low) / (high - low or RAMP_WIDTH)
        return np.asarray(1 - np.clip(ramp, 0, 1))
    slow, fast = rope.scaling["low_freq_factor"], rope.scaling["high_freq_factor"]
    if fast <= slow:
        message = f"high_freq_factor is {fast:g}, and low_freq_factor is {slow:g}"
        raise AttnError(message, where="scaling", hint="expected a greater high_freq_factor")
    turns = rope.trained_count * plain / TURN
    return np.asarray(np.clip((turns - slow) / (fast - slow), 0, 1))


def _partly_kept(plain: Array, rope: ScaledRope) -> Array:
    """Fast pairs keep their frequency; slow ones divide it by the factor."""
    share = _kept_shares(plain, rope)
    return np.asarray(plain * share + plain / rope.factor * (1 - share))


def _kept_lines(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The frequency: a share of the plain one stays, the rest is divided by the factor."""
    plain = write.computed(f"θ₀ of pair {pair}", plain_frequency(rope.base, pair, rope.dims))
    share = _kept_shares(rope.base ** (-2 * np.arange(pair + 1) / rope.dims), rope)[pair]
    kept = plain * (number(share) + (number(1) - share) / parameter(rope.factor))
    return [plain.line, _frequency_line(write, pair, kept, result)]


def _yarn_lines(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The share of the pair's frequency that the ramp keeps, and the frequency."""
    low, high = _yarn_ends(rope)
    width = number(high) - low if high != low else number(RAMP_WIDTH)
    if pair <= low:
        line = f"pair {pair} is not after low: s is 1"
    elif pair >= low + (high - low or RAMP_WIDTH):
        line = f"pair {pair} is not before high: s is 0"
    else:
        line = write.computed("s", number(1) - (number(pair) - low) / width).line
    return [line, *_kept_lines(write, rope, pair, result)]


def _llama3_lines(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The turns of the pair in training, the share of its frequency that stays, and the frequency."""
    slow, fast = parameter(rope.scaling["low_freq_factor"]), parameter(rope.scaling["high_freq_factor"])
    plain = plain_frequency(rope.base, pair, rope.dims)
    turns = write.computed(f"turns of pair {pair} in training", number(rope.trained_count) * plain / TURN)
    (share,) = _kept_shares(np.array([rope.base ** (-2 * pair / rope.dims)]), rope)
    if share in (0, 1):
        name = "high_freq_factor" if share else "low_freq_factor"
        line = f"{'not less' if share else 'not more'} than {name}, {rope.scaling[name]:g}: s is {share:g}"
    else:
        line = write.computed("s", (turns - slow) / (fast - slow)).line
    return [turns.line, line, *_kept_lines(write, rope, pair, result)]


def magnitude(factor: float, weight: float = 1.0) -> float:
    """YaRN's attention factor for a factor of lengths: 0.1 · weight · ln(factor) + 1.

    >>> round(magnitude(4.0), 4), magnitude(0.5)
    (1.1386, 1.0)
    """
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1


def _yarn_attention_factor(rope: ScaledRope) -> float:
    """The magnitude of the factor; with both weights the ratio of their magnitudes."""
    above, below = rope.scaling.get("mscale"), rope.scaling.get("mscale_all_dim")
    if above and below:
        return magnitude(rope.factor, above) / magnitude(rope.factor, below)
    return magnitude(rope.factor)


def _yarn_attention_factor_lines(write: ArithmeticWriter, rope: ScaledRope, result: Any) -> list[str]:
    """The magnitude of the factor, or the ratio of two."""

    def term_of(weight: float = 1.0) -> Term:
        if rope.factor <= 1:
            return number(1)
        tenth = number(0.1) * parameter(weight) if weight != 1 else number(0.1)
        return tenth * ln(parameter(rope.factor)) + 1

    above, below = rope.scaling.get("mscale"), rope.scaling.get("mscale_all_dim")
    term = term_of(above) / term_of(below) if above and below else term_of()
    return [write.equation(term, result, name="attention factor")]


def _length_factors(rope: ScaledRope) -> tuple[str, tuple[float, ...]]:
    """The name and the numbers of `longrope`'s divisors, for short or for long sequences."""
    name = "long_factor" if rope.count > rope.trained_count else "short_factor"
    factors = rope.scaling[name]
    if 2 * len(factors) != rope.dims:
        message = f"{name} has {count_of(len(factors), 'number')}, and {rope.dims // 2} pairs turn"
        raise AttnError(message, where="scaling", hint="give one for each pair")
    return name, factors


def _list_line(write: ArithmeticWriter, rope: ScaledRope) -> Iterator[str]:
    """The choice between the two lists of `longrope`."""
    name, _ = _length_factors(rope)
    comparison = "more than" if name == "long_factor" else "no more than"
    yield f"{rope.count} positions, {comparison} the {rope.trained_count:g} of training: the factors are {name}"


def _given_attention_factor(rope: ScaledRope) -> Any:
    """The given attention factor of `longrope`, for short or for long sequences; None without one."""
    return rope.scaling.get("long_mscale" if rope.count > rope.trained_count else "short_mscale")


def _longrope_attention_factor(rope: ScaledRope) -> float:
    """√(1 + ln(factor) / ln(trained length)), or the given one for short or for long sequences."""
    given = _given_attention_factor(rope)
    if given is not None:
        return float(given)
    if rope.factor <= 1:
        return 1.0
    if rope.trained_count <= 1:
        message = f"longrope needs {TRAINED_LENGTH} greater than 1, and it is {rope.trained_count:g}"
        raise AttnError(message, where="scaling", hint="or give attention_factor")
    return math.sqrt(1 + math.log(rope.factor) / math.log(rope.trained_count))


def _longrope_attention_factor_lines(write: ArithmeticWriter, rope: ScaledRope, result: Any) -> list[str]:
    """The line of the root, or of the given factor."""
    if result == 1 or _given_attention_factor(rope) is not None:
        return [f"the attention factor is {write(result)}"]
    ratio = ln(parameter(rope.factor)) / ln(number(rope.trained_count))
    return [write.equation(sqrt(number(1) + ratio), result, name="attention factor")]


def _proportional_count(rope: ScaledRope) -> int:
    """The number of pairs that turn; the others have the frequency 0."""
    return int(rope.scaling.get(SHARE, 1.0) * rope.dims // 2)


def _proportional(plain: Array, rope: ScaledRope) -> Array:
    """The first pairs with the frequencies for all features, the others with 0."""
    turns = np.arange(len(plain)) < _proportional_count(rope)
    return np.asarray(np.where(turns, plain / rope.scaling.get("factor", 1.0), 0.0))


def _proportional_lines(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The plain frequency over the factor, or a line that the pair does not turn."""
    if pair >= _proportional_count(rope):
        return [f"pair {pair} does not turn: θ is 0"]
    factor = rope.scaling.get("factor", 1.0)
    return [_plain_line(write, rope, pair, result, parameter(factor) if factor != 1 else None)]


def _axial_steps(rope: ScaledRope) -> tuple[Array, int]:
    """The numerators 2g of the exponents of `axial`, and their denominator w.

    Each axis has the frequencies of a head with its share of the features. If they alternate, the first axis has every
    second frequency of the whole head from the first on, the other axis from the second on.
    """
    axes, pairs = rope.scaling.axis_count or 1, rope.dims // 2
    if rope.scaling.get(ALTERNATING):
        return 2 * np.arange(pairs).reshape(-1, axes).T.reshape(-1), rope.dims
    return np.tile(2 * np.arange(pairs // axes), axes), rope.dims // axes


def _axial(plain: Array, rope: ScaledRope) -> Array:
    """Frequencies of several axes, one after the other."""
    steps, width = _axial_steps(rope)
    return np.asarray(rope.base ** (-steps / width))


def _axial_lines(write: ArithmeticWriter, rope: ScaledRope, pair: int, result: Any) -> list[str]:
    """The frequency of a pair among those of its axis."""
    steps, width = _axial_steps(rope)
    return [_frequency_line(write, pair, parameter(rope.base) ** -(number(steps[pair]) / width), result)]


def _plain_code(rope: ScaledRope) -> str:
    """The plain frequencies as code."""
    return f"{rope.base} ** (-np.arange(0, {rope.dims}, 2) / {rope.dims})"


def _dynamic_code(rope: ScaledRope) -> str:
    """The plain frequencies of the larger base."""
    stretched = f"({rope.base} * {_base_stretch(rope)} ** ({rope.dims} / {rope.dims - 2}))"
    return f"{stretched} ** (-np.arange(0, {rope.dims}, 2) / {rope.dims})"


def _partly_kept_code(rope: ScaledRope, kept: str) -> str:
    """The plain frequencies, the share of each that is kept, and the frequencies."""
    return "\n".join([f"plain = {_plain_code(rope)}", kept, f"plain * kept + plain / {rope.factor} * (1 - kept)"])


def _yarn_code(rope: ScaledRope) -> str:
    """The share that is kept falls from low to high."""
    low, high = _yarn_ends(rope)
    ramp = f"((np.arange({rope.dims // 2}) - {low}) / {high - low or RAMP_WIDTH})"
    return _partly_kept_code(rope, f"kept = 1 - {ramp}.clip(0, 1)")


def _llama3_code(rope: ScaledRope) -> str:
    """The share that is kept grows with the turns."""
    slow, fast = rope.scaling["low_freq_factor"], rope.scaling["high_freq_factor"]
    turns = f"{rope.trained_count} * plain / {TURN}"
    return _partly_kept_code(rope, f"kept = (({turns} - {slow}) / {fast - slow}).clip(0, 1)")


def _axial_code(rope: ScaledRope) -> str:
    """The plain frequencies of each axis."""
    steps, width = _axial_steps(rope)
    return f"{rope.base} ** (-np.array({steps.tolist()}) / {width})"


def _proportional_code(rope: ScaledRope) -> str:
    """The plain frequencies of the first pairs."""
    turns, factor = f"np.arange({rope.dims // 2}) < {_proportional_count(rope)}", rope.scaling.get("factor", 1.0)
    return f"np.where({turns}, {_plain_code(rope)}{f' / {factor}' if factor != 1 else ''}, 0.0)"


TYPES: Mapping[str, ScalingType] = {
    "default": ScalingType(
        "θ = base^(−2f/dims)",
        "",
        lambda plain, rope: plain,
        lambda write, rope, pair, result: [_plain_line(write, rope, pair, result)],
        _plain_code,
    ),
    "linear": ScalingType(
        f"θ = θ₀ / factor, {PLAIN}",
        "",
        lambda plain, rope: plain / rope.scaling["factor"],
        lambda write, rope, pair, result: [_plain_line(write, rope, pair, result, parameter(rope.scaling["factor"]))],
        lambda rope: f"{_plain_code(rope)} / {rope.scaling['factor']}",
        ("factor",),
    ),
    "dynamic": ScalingType(
        "θ = (base r^(dims/(dims − 2)))^(−2f/dims), r = alpha, or factor N / max_position_embeddings − factor + 1",
        "Peng et al. 2023, §3.3 (NTK-aware)",
        _dynamic,
        _dynamic_lines,
        _dynamic_code,
        ("factor", "alpha"),
        common_lines=_stretched_base_lines,
        reads_position_count=True,
    ),
    "yarn": ScalingType(
        f"{PARTLY_KEPT}, s = 1 − min(max((f − low) / (high − low), 0), 1)",
        "Peng et al. 2023",
        _partly_kept,
        _yarn_lines,
        _yarn_code,
        ("factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
        common_lines=_ramp_lines,
        attention_factor=_yarn_attention_factor,
        attention_factor_lines=_yarn_attention_factor_lines,
    ),
    "llama3": ScalingType(
        f"{PARTLY_KEPT}, s = min(max((turns − low_freq_factor) / (high_freq_factor − low_freq_factor), 0), 1)",
        "the code of Llama 3.1",
        _partly_kept,
        _llama3_lines,
        _llama3_code,
        ("factor", "low_freq_factor", "high_freq_factor"),
    ),
    "longrope": ScalingType(
        f"θ = θ₀ / factors[f], {PLAIN}",
        "Ding et al. 2024",
        lambda plain, rope: np.asarray(plain / np.asarray(_length_factors(rope)[1])),
        lambda write, rope, pair, result: [
            _plain_line(write, rope, pair, result, number(_length_factors(rope)[1][pair]))
        ],
        lambda rope: f"{_plain_code(rope)} / np.array({list(_length_factors(rope)[1])})",
        ("short_factor", "long_factor", "factor", "short_mscale", "long_mscale"),
        common_lines=_list_line,
        attention_factor=_longrope_attention_factor,
        attention_factor_lines=_longrope_attention_factor_lines,
        reads_position_count=True,
    ),
    AXIAL: ScalingType(
        "θ = base^(−2f/w), f and w for the features of one axis",
        "the code of Qwen2-VL and Pixtral",
        _axial,
        _axial_lines,
        _axial_code,
        (AXES, ALTERNATING),
    ),
    "proportional": ScalingType(
        f"θ = θ₀ / factor of the first pairs, 0 of the others, {PLAIN}",
        "the code of Gemma 4",
        _proportional,
        _proportional_lines,
        _proportional_code,
        ("factor",),
    ),
}

OLD_TYPE = "type"  # older files' name for the type
OLD_TYPES = {"su": "longrope", "mrope": "default"}
# Parameters of rope in the same mapping of config.json, by their names there.
OF_ROPE = {"rope_theta": "base", "attention_factor": "attention_factor"}
# Parameters of every type: the share of a head that turns, and the lengths of sequences.
COMMON = (SHARE, TRAINED_LENGTH, MODEL_LENGTH, SECTIONS, SECTIONS_INTERLEAVED, AXES_OF_PAIRS)
BOOLEANS = ("truncate", SECTIONS_INTERLEAVED, ALTERNATING)
LISTS = ("short_factor", "long_factor", SECTIONS, AXES_OF_PAIRS)
COUNTS = (SECTIONS, AXES_OF_PAIRS, AXES)
POSITIVE = Range(above=0)
RANGES = {
    "mscale": Range(least=0),
    "mscale_all_dim": Range(least=0),
    SECTIONS: Range(least=0),
    AXES_OF_PAIRS: Range(least=0),
}


def read_scaling(entries: Mapping[str, Any]) -> RopeScaling:
    """The scaling of a mapping from config.json: numbers, booleans, texts and lists of numbers, by name.

    None counts as not given. Raises AttnError if there is a mapping for each kind of layer, if the type is missing or
    given twice, or if a parameter has an invalid value; UnknownNameError for an unknown type or parameter.

    >>> read_scaling({"type": "linear", "factor": 4.0, "rope_theta": None})
    RopeScaling(type='linear', parameters=(('factor', 4.0),))
    >>> read_scaling({"type": "linear", "beta_fast": 32})
    Traceback (most recent call last):
        ...
    attncli.base.errors.UnknownNameError: unknown parameter of linear 'beta_fast'; expected one of factor, ...
    """
    given = {name: value for name, value in entries.items() if value is not None}
    kinds = [name for name, value in given.items() if isinstance(value, Mapping)]
    if kinds:
        raise AttnError(f"has a mapping for each kind of layer: {', '.join(kinds)}", hint="give the one of this layer")
    types = {str(given.pop(name)) for name in (TYPE, OLD_TYPE) if name in given}
    if len(types) > 1:
        raise AttnError(f"{TYPE} and {OLD_TYPE} differ: {' and '.join(sorted(types))}", hint="leave out one of them")
    if not types and not set(given) <= {*OF_ROPE, *COMMON}:
        raise AttnError(f"has no {TYPE}", hint=f"expected one of {', '.join(TYPES)}")
    written = types.pop() if types else "default"
    name = OLD_TYPES.get(written, written)
    if name not in TYPES:
        raise UnknownNameError("type", written, TYPES, where=TYPE)
    known = (*TYPES[name].parameters, *COMMON, *OF_ROPE)
    for own, value in given.items():
        if own not in known:
            raise UnknownNameError(f"parameter of {name}", own, known)
        _check_value(own, value)
    lists = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return RopeScaling(name, tuple(lists.items()))


def _check_value(name: str, value: Any) -> None:
    """Raise AttnError if a parameter's value has the wrong type or is out of range."""
    if name in BOOLEANS:
        if not isinstance(value, bool):
            raise AttnError("is neither true nor false", where=name)
        return
    if (name in LISTS) != isinstance(value, list):
        raise AttnError(f"is {'not a' if name in LISTS else 'a'} list of numbers", where=name)
    if value == []:
        raise AttnError("has no numbers", where=name)
    numbers = value if isinstance(value, list) else [value]
    allowed = RANGES.get(name, POSITIVE)
    for entry in numbers:
        if isinstance(entry, bool) or not isinstance(entry, (int, float)):
            raise AttnError(f"{entry} is not a number", where=name)
        if name in COUNTS and entry != int(entry):
            raise AttnError(f"{entry:g} is not a whole number", where=name)
        if not allowed.holds(entry):
            raise AttnError(f"{entry:g} is out of range", where=name, hint=f"expected {allowed}")
    if name == SHARE and value > 1:
        raise AttnError(f"{value:g} is out of range", where=name, hint="expected a share of the features, up to 1")


def flatten_scaling(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of rope, with those from inside its scaling on the same level.

    A scaling without effect is left out. Raises AttnError if a parameter has two values.

    >>> flatten_scaling({"scaling": read_scaling({"rope_type": "default", "rope_theta": 500.0})})
    {'base': 500.0}
    """
    scaling = given.get("scaling")
    if not isinstance(scaling, RopeScaling):
        return given
    flat, kept = dict(given), dict[str, Any]()
    for name, value in scaling.parameters:
        own = OF_ROPE.get(name)
        if own is None:
            kept[name] = value
        elif flat.setdefault(own, value) != value:
            message = f"{own} is {flat[own]:g}, and {name} in scaling is {value:g}"
            raise AttnError(message, where="scaling", hint="leave out one of them")
    flat["scaling"] = RopeScaling(scaling.type, tuple(kept.items()))
    if scaling.type == "default" and not kept.keys() - {TRAINED_LENGTH, MODEL_LENGTH}:  # these have no effect
        del flat["scaling"]
    return flat
