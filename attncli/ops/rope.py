"""Rope: rotations of queries and keys, in pairs of features, in proportion to their positions, counted from 0.

The frequency of a pair is its angle from one position to the next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, cos, number, parameter, sin, total
from attncli.ops.code import CodeCall
from attncli.ops.decorators import position, structural
from attncli.ops.derivatives import CONSTANT, derivative
from attncli.ops.records import DerivedInput, MayHave, OperatorUse, PositionAxes, Positive, Range, ReadsMapping
from attncli.ops.rope_scaling import RopeScaling, ScaledRope, axis_of_pair
from attncli.ops.rope_scaling_types import TYPES, flatten_scaling, plain_frequency, read_scaling

Even = Annotated[int | None, Range(least=2)]
Scaling = Annotated[float | RopeScaling, Range(above=0), ReadsMapping(read_scaling, "{rope_type: linear, factor: 4}")]

TURNED = "(u₁ cos φ − u₂ sin φ, u₂ cos φ + u₁ sin φ)"
TURNED_BACK = "(u₁ cos φ + u₂ sin φ, u₂ cos φ − u₁ sin φ)"
QUARTER_TURN = 1.5707963267948966


def rope_frequencies(dims: int, base: float, dtype: Any = None) -> Array:
    """The angle of each pair from one position to the next: base^(−2f/dims) radians, f = 0 … dims/2 − 1.

    Their type is `dtype`, by default float64.

    >>> rope_frequencies(4, 10000.0)
    array([1.  , 0.01])
    """
    dtype = np.dtype(np.float64) if dtype is None else dtype
    frequencies: Array = base ** (-np.arange(0, dims, 2) / dtype.type(dims))
    return frequencies


def pair_slices(count: int, interleaved: bool) -> tuple[slice, slice]:
    """Slices of the first and the second features of `count` pairs: neighbours, or one in each half.

    >>> pair_slices(2, interleaved=True)
    (slice(0, 4, 2), slice(1, 4, 2))
    >>> pair_slices(2, interleaved=False)
    (slice(0, 2, None), slice(2, 4, None))
    """
    if interleaved:
        return slice(0, 2 * count, 2), slice(1, 2 * count, 2)
    return slice(0, count), slice(count, 2 * count)


def angles(positions: Array, frequencies: Array, *, scaling: float = 1.0, offset: float = 0.0) -> Array:
    """Positions [… n] times frequencies [f]: [… n f]; for positions [… s n] on axes, with frequencies [s f], the sum.

    They have the frequencies' type, as far positions have large angles.

    >>> angles(np.array([0, 2]), np.array([1.0, 0.5]), offset=1)
    array([[1. , 0.5],
           [3. , 1.5]])
    >>> angles(np.array([[1, 2], [3, 4]]), np.array([[1.0, 0.0], [0.0, 0.5]]))
    array([[1. , 1.5],
           [2. , 2. ]])
    """
    shifted = (positions + offset) / scaling
    result: Array = shifted[..., None] * frequencies if frequencies.ndim == 1 else shifted.mT @ frequencies
    return result


def _frequencies_code(call: CodeCall) -> str:
    """The frequencies of the type, and each pair's axis if there are several."""
    scaling, pairs = call.options["scaling"], call.shape[-1]
    rope = ScaledRope(scaling, call.options["base"], 2 * pairs, call.values.get("position_count"))
    code, axes = TYPES[scaling.type].code(rope), axis_of_pair(scaling, pairs)
    if axes is None:
        return code
    *lines, last = code.split("\n")
    chosen = f"np.where(np.arange({call.shape[0]})[:, None] == np.array({axes.tolist()}), frequency, 0.0)"
    return "\n".join([*lines, f"frequency = {last}", chosen])


def _attention_factor_code(call: CodeCall) -> str:
    """The number, which depends only on the scaling."""
    return f"np.array({float(scaled_attention_factor(call.values.get('position_count'), **call.options))!r})"


def _rope_code(call: CodeCall, x: str = "{x}") -> str:
    """The angles, the features of pairs, and their rotation; later features stay."""
    features, pairs = call.shape[-1], _pairs(call)
    end, offset, scaling = 2 * pairs, call.option("offset", 0.0), call.option("scaling", 1.0)
    positions = "{positions}" if not offset else "({positions} + {offset})"
    positions = f"({positions} / {{scaling}})" if scaling != 1 else positions
    if len(call.shapes.get("frequencies", ())) > 1:
        lines = [f"angles = ({positions} * 1.0).mT @ {{frequencies}}"]
    elif call.has("frequencies"):
        lines = [f"angles = {positions}[..., None] * {{frequencies}}"]
    else:
        lines = [f"angles = {positions}[..., None] * {{base}} ** (-np.arange(0, {end}, 2) / {end})"]
    parts = (f"0:{end}:2", f"1:{end}:2") if call.option("interleaved") else (f":{pairs}", f"{pairs}:{end}")
    lines.append(f"first, second = {x}[..., {parts[0]}], {x}[..., {parts[1]}]")
    minus, plus = ("+", "-") if call.option("reverse") else ("-", "+")
    turned = f"first * cos {minus} second * sin, second * cos {plus} first * sin"
    factor = "{attention_factor} * " if call.has("attention_factor") or call.option("attention_factor") else ""
    lines.append(f"cos, sin = {factor}np.cos(angles), {factor}np.sin(angles)")
    rest = f", {x}[..., {end}:]" if end < features else ""
    if not call.option("interleaved"):
        return "\n".join([*lines, f"np.concatenate([{turned}{rest}], axis=-1)"])
    stacked = f"np.stack([{turned}], axis=-1).reshape({(*call.shape[:-1], end)})"
    return "\n".join([*lines, f"np.concatenate([{stacked}{rest}], axis=-1)" if rest else stacked])


def _pairs(call: CodeCall) -> int:
    """The number of pairs that turn."""
    if call.has("frequencies"):
        return call.shapes["frequencies"][-1]
    return int(call.option("dims", call.shape[-1])) // 2


def frequencies_by_hand(
    write: ArithmeticWriter,
    result: Any,
    *,
    shape: tuple[int, ...],
    scaling: RopeScaling,
    base: float,
    position_count: Any = None,
) -> list[str]:
    """The frequency of each pair; of many pairs only one."""
    count, scaling_type = shape[-1], TYPES[scaling.type]
    rope = ScaledRope(scaling, base, 2 * count, position_count)
    middle = write.feature or count // 2  # the first pair is the same with most scalings
    pairs = [min(middle, count - 1)] if write.is_long(2 * count) else range(count)
    lines = list(scaling_type.common_lines(write, rope))
    for pair in pairs:
        frequency = result[pair] if result.ndim == 1 else result[:, pair].max()  # 0 on the other axes
        if result.ndim > 1:
            lines.append(f"pair {pair} reads axis {int(np.argmax(result[:, pair]))} of the positions")
        lines += scaling_type.pair_lines(write, rope, pair, frequency)
    return lines


@structural(is_exact=True, by_hand=frequencies_by_hand, code=_frequencies_code)
def scaled_frequencies(
    position_count: Array | None = None, *, shape: tuple[int, ...], scaling: RopeScaling, base: float
) -> Array:
    """The frequencies of rope with a scaling from config.json.

    The last length of the shape is the number of pairs that turn. The one before, if any, is the number of a position's
    axes: a pair has 0 on the axes that it does not read. `dynamic` and `longrope` read `position_count`, one more than
    the last position. Raises AttnError if the type needs a parameter or a length that is missing.

    >>> scaled_frequencies(shape=(2,), scaling=RopeScaling("linear", (("factor", 4.0),)), base=10000.0)
    array([0.25  , 0.0025])
    """
    rope = ScaledRope(scaling, base, 2 * shape[-1], position_count)
    axes = axis_of_pair(scaling, shape[-1])  # first, because it may raise that pairs can't be divided
    frequencies = TYPES[scaling.type].frequencies(rope_frequencies(rope.dims, base), rope)
    if axes is None:
        return frequencies
    return np.where(np.arange(scaling.axis_count or 1)[:, None] == axes, frequencies, 0.0)


def attention_factor_by_hand(
    write: ArithmeticWriter, result: Any, *, shape: tuple[()], scaling: RopeScaling, position_count: Any = None
) -> list[str]:
    """The attention factor from the ratio of lengths."""
    lines = TYPES[scaling.type].attention_factor_lines
    return [] if lines is None else lines(write, ScaledRope(scaling, 1.0, 0, position_count), result)


@structural(is_exact=True, by_hand=attention_factor_by_hand, code=_attention_factor_code)
def scaled_attention_factor(
    position_count: Array | None = None, *, shape: tuple[()] = (), scaling: RopeScaling
) -> Array:
    """The attention factor of a scaling, which multiplies cosines and sines; 1 for types without one.

    `position_count` is one more than the last position. Raises AttnError if the type needs a parameter or a length that
    is missing.

    >>> scaled_attention_factor(scaling=RopeScaling("yarn", (("factor", 4.0),))).round(4).item()
    1.1386
    """
    rope = ScaledRope(scaling, 1.0, 0, position_count)
    factor = TYPES[scaling.type].attention_factor
    return np.asarray(1.0 if factor is None else factor(rope))


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
    """The angle of each pair of one vector [d], and its rotation; for a long vector only one pair."""
    count = (x.shape[-1] if dims is None else dims) // 2 if frequencies is None else frequencies.shape[-1]
    one, other = pair_slices(count, interleaved)
    lines = []
    features = range(2 * count)
    pairs: Sequence[int] = range(count)
    if write.is_long(2 * count):  # a feature after the rotated ones is in no pair
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
    """A position plus the offset, over the scaling."""
    shifted = number(position) + parameter(offset) if offset else number(position)
    return shifted / parameter(scaling) if scaling != 1 else shifted


def _positions_and_frequencies(
    positions: Any, frequencies: Array | None, base: float, pair: int, count: int
) -> list[tuple[Any, Term]]:
    """The position and the frequency of a pair; on several axes, for each that it reads."""
    if frequencies is None:
        return [(positions, plain_frequency(base, pair, 2 * count))]
    if frequencies.ndim == 1:
        return [(positions, number(frequencies[pair]))]
    axes = np.flatnonzero(frequencies[:, pair])
    return [(positions[axis], number(frequencies[axis, pair])) for axis in axes] or [(0, number(0))]


def _stretched(turned: Term, attention_factor: Any) -> Term:
    """A rotated feature, times the attention factor if there is one."""
    return turned if attention_factor is None else number(attention_factor) * turned


def rotated_count(features: int, parameters: Mapping[str, Any]) -> int:
    """The number of a head's features that turn, for these parameters of rope.

    >>> rotated_count(8, {}), rotated_count(8, {"dims": 4})
    (8, 4)
    >>> rotated_count(8, {"scaling": read_scaling({"type": "default", "partial_rotary_factor": 0.5})})
    4
    """
    frequencies, scaling = parameters.get("frequencies"), parameters.get("scaling")
    if frequencies is not None:
        return 2 * int(frequencies.shape[-1])
    if isinstance(scaling, RopeScaling) and scaling.type != "proportional":
        share = scaling.get("partial_rotary_factor")
        if share is not None:
            return int(features * share)
    return int(parameters.get("dims") or features)


def position_axes(parameters: Mapping[str, Any]) -> PositionAxes | None:
    """The axes of positions that the pairs read, for these parameters of rope; None for one."""
    frequencies, scaling = parameters.get("frequencies"), parameters.get("scaling")
    if frequencies is not None:
        return PositionAxes(len(frequencies)) if np.ndim(frequencies) > 1 else None
    return scaling.position_axes if isinstance(scaling, RopeScaling) else None


def check_rope(use: OperatorUse) -> None:
    """Raise AttnError if the rotated features are not pairs, or are more than a head has."""
    frequencies, dims = use.parameters.get("frequencies"), use.parameters.get("dims")
    if frequencies is not None and dims is not None:
        raise AttnError("dims and frequencies both give the number of rotated features", where="dims")
    for letter in "dc":
        size = use.lengths[letter]
        rotated = rotated_count(size, use.parameters)
        if rotated % 2 or rotated > size:
            raise AttnError(
                f"rope rotates pairs; it can't rotate {rotated} of a head's {size} features",
                hint="give dims, an even number",
            )
    scaling = use.parameters["scaling"]
    if isinstance(scaling, RopeScaling):
        _check_scaling(scaling, use)


def _check_scaling(scaling: RopeScaling, use: OperatorUse) -> None:
    """Raise AttnError if a scaling lacks a parameter, or contradicts other parameters of rope."""
    parameters, features = use.parameters, use.lengths["d"]
    if parameters.get("frequencies") is not None:
        message = "frequencies and a mapping both give the frequencies of the pairs"
        raise AttnError(message, where="scaling", hint="leave out one of them, or give a number")
    dims, rotated = parameters.get("dims"), rotated_count(features, parameters)
    if dims not in (None, rotated):
        share = scaling["partial_rotary_factor"]
        raise AttnError(
            f"is {dims}, and partial_rotary_factor {share:g} of {features} features are {rotated}", where="dims"
        )
    if scaling.type == "proportional" and dims not in (None, features):
        raise AttnError("proportional gives the number of rotated features by partial_rotary_factor", where="dims")
    count = np.asarray(use.positions[-1] + 1)
    shape = tuple(_frequency_lengths(parameters, use.lengths).values())
    scaled_frequencies(count, shape=shape, scaling=scaling, base=parameters["base"])
    if "attention_factor" not in parameters:
        scaled_attention_factor(count, scaling=scaling)


def _rope_formula(
    *,
    base: float,
    interleaved: bool,
    scaling: float,
    offset: float,
    dims: int | None = None,
    frequencies: bool = False,
    attention_factor: float | None = None,
    reverse: bool | None = None,
) -> str:
    """The rotation of a pair by an angle from its position, with the parameters that change it."""
    angle = f"{'(pos + offset)' if offset else 'pos'} θ{' / scaling' if scaling != 1 else ''}"
    theta = "frequencies" if frequencies else f"base^(−2f/{'d' if dims is None else 'dims'})"
    factor = "" if attention_factor is None else "a " if attention_factor is True else "attention_factor "
    return f"(u₁, u₂) → {factor}{TURNED_BACK if reverse else TURNED}, φ = {angle}, θ = {theta}"


def _is_scaled(parameters: Mapping[str, Any]) -> bool:
    """Whether frequencies follow from a scaling of config.json."""
    return isinstance(parameters["scaling"], RopeScaling)


def _has_attention_factor(parameters: Mapping[str, Any]) -> bool:
    """Whether the type of the scaling has an attention factor."""
    return _is_scaled(parameters) and TYPES[parameters["scaling"].type].attention_factor is not None


def _read_positions(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """The number of positions, if the type of the scaling reads it."""
    return ("position_count",) if TYPES[parameters["scaling"].type].reads_position_count else ()


def _frequency_lengths(parameters: Mapping[str, Any], lengths: Mapping[str, int]) -> Mapping[str, int]:
    """The number of pairs that turn, and of axes that they read, if several."""
    axes = position_axes(parameters)
    return ({} if axes is None else {"s": axes.count}) | {"f": rotated_count(lengths["d"], parameters) // 2}


DERIVED = {
    "frequencies": DerivedInput(
        scaled_frequencies,
        "θ",
        lambda shape, scaling, base: TYPES[scaling.type].formula,
        ("s", "f"),
        ("scaling", "base"),
        is_needed=_is_scaled,
        lengths=_frequency_lengths,
        inputs=_read_positions,
        purpose="How fast each pair of features turns from one position to the next.",
    ),
    "attention_factor": DerivedInput(
        scaled_attention_factor,
        "a",
        lambda shape, scaling: f"{scaling.type}'s, by the ratio of lengths",
        (),
        ("scaling",),
        is_needed=_has_attention_factor,
        inputs=_read_positions,
        purpose="It multiplies rotated queries and keys, so that scores of longer sequences stay sharp.",
    ),
}


def _turned_back(_symbols: Mapping[str, str], options: Mapping[str, Any]) -> str:
    """The formula of the gradient: the reverse rotation."""
    turn = TURNED if options.get("reverse") else TURNED_BACK
    return f"{{d_x}}: (u₁, u₂) → {turn} of {{d_result}}, by the same angles and factor"


def rope_x_by_hand(
    write: ArithmeticWriter, grad: Array, positions: Any, result: Any, *, reverse: bool | None = None, **options: Any
) -> list[str]:
    """The angle of each pair of one gradient [d], and its reverse rotation."""
    return rope_by_hand(write, grad, positions, result, reverse=not reverse, **options)


def _rope_gradient_code(call: CodeCall) -> str:
    """The same, in reverse."""
    turned = replace(call, options={**call.options, "reverse": not call.option("reverse", False)})
    return _rope_code(turned, "{grad}")


@derivative(_turned_back, by_hand=rope_x_by_hand, code=_rope_gradient_code)
def rope_x(
    grad: Array,
    positions: Array,
    frequencies: Array | None = None,
    attention_factor: Any = None,
    *,
    base: float = 10000.0,
    dims: int | None = None,
    interleaved: bool = False,
    scaling: Scaling = 1.0,
    offset: float = 0.0,
    reverse: bool | None = None,
) -> Array:
    """The gradient of the vectors: rotated back, and multiplied by the same factor."""
    return rope(
        grad,
        positions,
        base=base,
        dims=dims,
        interleaved=interleaved,
        scaling=scaling,
        offset=offset,
        frequencies=frequencies,
        attention_factor=attention_factor,
        reverse=not reverse,
    )


def _frequencies_gradient_code(call: CodeCall) -> str:
    """The gradients of the angles, times the positions."""
    pairs, offset, scaling = call.shapes["frequencies"][-1], call.option("offset", 0.0), call.option("scaling", 1.0)
    parts = [f":{pairs}", f"{pairs}:{2 * pairs}"]
    if call.option("interleaved"):
        parts = [f"0:{2 * pairs}:2", f"1:{2 * pairs}:2"]
    one, other = (f"[..., {part}]" for part in parts)
    angles = f"of_angles = {{grad}}{other} * {{forward}}{one} - {{grad}}{one} * {{forward}}{other}"
    positions = f"({{positions}} + {offset}) / {scaling}" if offset or scaling != 1 else "{positions} * 1.0"
    positions = f"-({positions})" if call.option("reverse") else f"({positions})"
    if len(call.shapes["frequencies"]) > 1:
        return f"{angles}\n{positions} @ of_angles"
    return f"{angles}\n({positions}[..., None] * of_angles).sum(axis=-2)"


def rope_frequencies_by_hand(
    write: ArithmeticWriter,
    grad: Array,
    forward: Array,
    positions: Array,
    frequencies: Array,
    result: Array,
    *,
    interleaved: bool = False,
    scaling: float = 1.0,
    offset: float = 0.0,
    reverse: bool | None = None,
) -> list[str]:
    """One frequency: the positions of all rows [n d] on the first axis, times the gradients of their angles."""
    count = frequencies.shape[-1]
    pair = min(write.feature, count - 1) if frequencies.ndim == 1 else 0
    one, other = (range(2 * count)[part][pair] for part in pair_slices(count, interleaved))
    rows = zip(np.atleast_2d(positions)[0], grad, forward, strict=True)
    angles = [
        parameter((position + offset) / scaling)
        * (number(g[other]) * number(y[one]) - number(g[one]) * number(y[other]))
        for position, g, y in rows
    ]
    return [write.equation(-total(angles) if reverse else total(angles), result.flat[pair])]


@derivative(
    "{d_frequencies}[f] = Σ pos ({d_result}₂ {result}₁ − {d_result}₁ {result}₂) over the rows, of pair f",
    sums_over=("n", "m"),
    by_hand=rope_frequencies_by_hand,
    code=_frequencies_gradient_code,
)
def rope_frequencies_gradient(
    grad: Array,
    forward: Array,
    positions: Array,
    frequencies: Array,
    *,
    interleaved: bool = False,
    scaling: float = 1.0,
    offset: float = 0.0,
    reverse: bool | None = None,
) -> Array:
    """The gradient of the frequencies: the angles' gradient, times the positions."""
    one, other = pair_slices(frequencies.shape[-1], interleaved)
    of_angles = grad[..., other] * forward[..., one] - grad[..., one] * forward[..., other]
    of_angles = -of_angles if reverse else of_angles
    shifted = (positions + offset) / scaling
    if frequencies.ndim > 1:
        of_axes: Array = shifted @ of_angles
        return of_axes
    total: Array = (shifted[..., None] * of_angles).sum(axis=-2)
    return total


@position(
    formula=f"(u₁, u₂) → {TURNED}, φ = pos θ, θ = base^(−2f/dims)",
    shapes="x[n d], positions[n], frequencies[f] -> [n d]",
    source="Su et al. 2021 (RoFormer), eq. 34; in halves: GPT-NeoX and Llama; scaling: Chen et al. 2023, "
    + ", ".join(f"{name}: {scaling_type.source}" for name, scaling_type in TYPES.items() if scaling_type.source)
    + "; several axes: Wang et al. 2024 (Qwen2-VL), §2.1",
    example={
        "x": [[1, 2, 3, 4], [1, 2, 3, 4]],
        "positions": [0, 1],
        "frequencies": [QUARTER_TURN, 0],
        "gives": [[1, 2, 3, 4], [-3, 2, 1, 4]],
    },
    formula_in_force=_rope_formula,
    by_hand=rope_by_hand,
    derivatives={
        "x": rope_x,
        "positions": CONSTANT,
        "frequencies": rope_frequencies_gradient,
        "attention_factor": CONSTANT,
    },
    check=check_rope,
    acts_on="query_and_key",
    derived=DERIVED,
    position_axes=position_axes,
    flatten=flatten_scaling,
    code=_rope_code,
)
def rope(
    x: Array,
    positions: Array,
    *,
    base: Positive = 10000.0,
    dims: Even = None,
    interleaved: bool = False,
    scaling: Scaling = 1.0,
    offset: float = 0.0,
    frequencies: Annotated[Array | None, MayHave("s")] = None,
    attention_factor: Annotated[float | None, Range(above=0)] = None,
    reverse: bool | None = None,
) -> Array:
    """Rotates pairs of features in proportion to the position: of two positions only the distance counts in a score.

    The slowest pair makes about one turn in 2π · `base` positions. `interleaved` pairs are neighbours; others have one
    feature in each half of the first `dims` features. Features beyond `dims` stay. Positions are divided by `scaling`;
    a RopeScaling has the frequencies and the attention factor of its type. `frequencies` replace `base` and `dims`:
    [f], or [s f] for positions on several axes [… s n], 0 where a pair does not read an axis. `attention_factor`
    multiplies cosines and sines, so scores by its square. In `reverse` pairs turn by −φ. The result is a copy.

    >>> rope(np.array([[1.0, 2, 3, 4]]), np.array([1]), frequencies=np.array([np.pi / 2, 0])).round(4)
    array([[-3.,  2.,  1.,  4.]])
    >>> rope(np.array([[1.0, 0, 0, 0]]), np.array([2]), interleaved=True).round(4)
    array([[-0.4161,  0.9093,  0.    ,  0.    ]])
    >>> rope(np.array([[1.0, 0]]), np.array([8]), scaling=read_scaling({"type": "linear", "factor": 4})).round(4)
    array([[-0.4161,  0.9093]])
    """
    dtype = np.result_type(x, np.float64)
    if isinstance(scaling, RopeScaling):
        count, own = np.max(positions, initial=-1) + 1, {"dims": dims, "scaling": scaling}
        shape = tuple(_frequency_lengths(own, {"d": x.shape[-1]}).values())
        if attention_factor is None:
            attention_factor = float(scaled_attention_factor(count, scaling=scaling))
        frequencies, scaling = scaled_frequencies(count, shape=shape, scaling=scaling, base=base), 1.0
    if frequencies is None:
        frequencies = rope_frequencies(x.shape[-1] if dims is None else dims, base, dtype)
    angle = angles(positions, frequencies.astype(dtype), scaling=scaling, offset=offset)
    cosine, sine = np.cos(angle), -np.sin(angle) if reverse else np.sin(angle)
    if attention_factor is not None:
        cosine, sine = attention_factor * cosine, attention_factor * sine
    one, other = pair_slices(angle.shape[-1], interleaved)
    first, second = x[..., one], x[..., other]
    rotated = x.copy()  # features beyond `dims` stay
    rotated[..., one] = first * cosine - second * sine
    rotated[..., other] = second * cosine + first * sine
    return rotated
