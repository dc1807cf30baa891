"""Rope: queries and keys are rotated in pairs of features, in proportion to their positions, counted from 0."""

from collections.abc import Mapping
from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.decorators import position
from attncli.ops.records import MayHave, Range, ReadsMapping
from attncli.ops.rope_frequencies import (
    angles,
    angles_on_axes,
    pair_slices,
    rope_frequencies,
    scaled_attention_factor,
    scaled_frequencies,
)
from attncli.ops.rope_lines import rope_by_hand
from attncli.ops.rope_scaling import RopeScaling
from attncli.ops.rope_scaling_reading import flatten_scaling, read_scaling
from attncli.ops.rope_scaling_types import TYPES
from attncli.ops.rules import DerivedInput, OperatorUse, PositionAxes

Positive = Annotated[float, Range(above=0)]
Even = Annotated[int | None, Range(least=2)]
Scaling = Annotated[float | RopeScaling, Range(above=0), ReadsMapping(read_scaling, "{rope_type: linear, factor: 4}")]

TURNED = "(u₁ cos φ − u₂ sin φ, u₂ cos φ + u₁ sin φ)"
TURNED_BACK = "(u₁ cos φ + u₂ sin φ, u₂ cos φ − u₁ sin φ)"
QUARTER_TURN = 1.5707963267948966


def rotated_count(features: int, parameters: Mapping[str, Any]) -> int:
    """How many of the features of a head turn, by the parameters of rope that are in force.

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
    """The axes of positions that the pairs read, by the parameters of rope that are in force; None for one."""
    frequencies, scaling = parameters.get("frequencies"), parameters.get("scaling")
    if frequencies is not None:
        return PositionAxes(len(frequencies)) if frequencies.ndim > 1 else None
    return scaling.position_axes if isinstance(scaling, RopeScaling) else None


def check_rope(use: OperatorUse) -> None:
    """Raise AttnError where the rotated features are not pairs, or are more than a head has."""
    frequencies, dims = use.parameters.get("frequencies"), use.parameters.get("dims")
    if frequencies is not None and dims is not None:
        raise AttnError("dims and frequencies both say how many features turn", where="dims")
    for letter in "dc":
        size = use.lengths[letter]
        rotated = rotated_count(size, use.parameters)
        if rotated % 2 or rotated > size:
            raise AttnError(
                f"rope turns pairs, and can't turn {rotated} of the {size} features of a head",
                hint="give dims, an even number",
            )
    scaling = use.parameters["scaling"]
    if isinstance(scaling, RopeScaling):
        _check_scaling(scaling, use)


def _check_scaling(scaling: RopeScaling, use: OperatorUse) -> None:
    """Raise AttnError where a scaling lacks a parameter, or contradicts other parameters of rope."""
    parameters, features = use.parameters, use.lengths["d"]
    if parameters.get("frequencies") is not None:
        message = "frequencies and a mapping both say how fast the pairs turn"
        raise AttnError(message, where="scaling", hint="leave out one of them, or give a number")
    dims, rotated = parameters.get("dims"), rotated_count(features, parameters)
    if dims not in (None, rotated):
        share = scaling["partial_rotary_factor"]
        raise AttnError(
            f"is {dims}, and partial_rotary_factor {share:g} of {features} features are {rotated}", where="dims"
        )
    if scaling.type == "proportional" and dims not in (None, features):
        raise AttnError("proportional says by partial_rotary_factor how many features turn", where="dims")
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
    """The rotation of a pair by an angle from its position, as far as parameters have changed that."""
    angle = f"{'(pos + offset)' if offset else 'pos'} θ{' / scaling' if scaling != 1 else ''}"
    theta = "frequencies" if frequencies else f"base^(−2f/{'d' if dims is None else 'dims'})"
    factor = "" if attention_factor is None else "a " if attention_factor is True else "attention_factor "
    return f"(u₁, u₂) → {factor}{TURNED_BACK if reverse else TURNED}, φ = {angle}, θ = {theta}"


def _is_scaled(parameters: Mapping[str, Any]) -> bool:
    """Whether frequencies are computed from a scaling of config.json."""
    return isinstance(parameters["scaling"], RopeScaling)


def _has_attention_factor(parameters: Mapping[str, Any]) -> bool:
    """Whether the type of the scaling has an attention factor."""
    return _is_scaled(parameters) and TYPES[parameters["scaling"].type].attention_factor is not None


def _read_positions(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """The number of positions, where the type of the scaling reads it."""
    return ("position_count",) if TYPES[parameters["scaling"].type].reads_position_count else ()


def _frequencies_formula(shape: tuple[int, ...], scaling: RopeScaling, base: float) -> str:
    """The frequencies by the type of the scaling."""
    return TYPES[scaling.type].formula


def _attention_factor_formula(shape: tuple[()], scaling: RopeScaling) -> str:
    """The attention factor by the type of the scaling."""
    return f"that of {scaling.type}, by the factor of the lengths"


def _frequency_lengths(parameters: Mapping[str, Any], lengths: Mapping[str, int]) -> Mapping[str, int]:
    """How many pairs turn, and how many axes they read, where there are several."""
    axes = position_axes(parameters)
    return ({} if axes is None else {"s": axes.count}) | {"f": rotated_count(lengths["d"], parameters) // 2}


DERIVED = {
    "frequencies": DerivedInput(
        scaled_frequencies,
        "θ",
        _frequencies_formula,
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
        _attention_factor_formula,
        (),
        ("scaling",),
        is_needed=_has_attention_factor,
        inputs=_read_positions,
        purpose="Rotated queries and keys are multiplied by it, so that scores of longer sequences are as sharp.",
    ),
}


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
    check=check_rope,
    acts_on="query_and_key",
    derived=DERIVED,
    position_axes=position_axes,
    flatten=flatten_scaling,
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

    Parameters
    ----------
    x : array [… n d]
        A vector in each row.
    positions : array [… n] or [… s n]
        The position of each row, or its positions on several axes.
    base : float > 0, optional
        The slowest pair makes about one turn in 2π · `base` positions.
    dims : int ≥ 2, optional
        How many features are rotated, an even number; the others stay. Without it all.
    interleaved : bool, optional
        Pairs are neighbours; without it one feature in each half.
    scaling : float > 0 or RopeScaling, optional
        Positions are divided by it; of a RopeScaling frequencies and attention factor are those of its type.
    offset : float, optional
        Added to the positions.
    frequencies : array [f] or [s f], optional
        The angle of each of f pairs from one position to the next, instead of `base` and `dims`; on several axes, 0
        where a pair does not read an axis.
    attention_factor : float > 0, optional
        Multiplied into cosines and sines, so that scores are multiplied by its square.
    reverse : bool, optional
        The pairs turn the other way, by −φ.

    Returns
    -------
    array [… n d]
        A copy; the norm of each row stays, but for the attention factor.

    Examples
    --------
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
    turn = angles if frequencies.ndim == 1 else angles_on_axes
    angle = turn(positions, frequencies.astype(dtype), scaling=scaling, offset=offset)
    cosine, sine = np.cos(angle), -np.sin(angle) if reverse else np.sin(angle)
    if attention_factor is not None:
        cosine, sine = attention_factor * cosine, attention_factor * sine
    one, other = pair_slices(angle.shape[-1], interleaved)
    first, second = x[..., one], x[..., other]
    rotated = x.copy()  # features beyond `dims` stay
    rotated[..., one] = first * cosine - second * sine
    rotated[..., other] = second * cosine + first * sine
    return rotated
