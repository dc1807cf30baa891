"""Position schemes that act on vectors: added to embeddings, or rotating queries and keys; counted from 0."""

from collections.abc import Sequence
from typing import Annotated, Any

from attncli.base.arithmetic import ArithmeticWriter
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.terms import Term, cos, number, parameter, sin
from attncli.ops.decorators import position, structural
from attncli.ops.records import TABLE, Range
from attncli.ops.rules import OperatorUse

Positive = Annotated[float, Range(above=0)]

Even = Annotated[int | None, Range(least=2)]

ROTATION = "(u₁, u₂) → (u₁ cos φ − u₂ sin φ, u₂ cos φ + u₁ sin φ)"
QUARTER_TURN = 1.5707963267948966


def check_rope(use: OperatorUse) -> None:
    """Raise AttnError where the rotated features are not pairs, or are more than a head has."""
    frequencies, dims = use.parameters.get("frequencies"), use.parameters.get("dims")
    if frequencies is not None and dims is not None:
        raise AttnError("dims and frequencies both say how many features turn", where="dims")
    for letter in "dc":
        size = use.lengths[letter]
        rotated = 2 * len(frequencies) if frequencies is not None else dims or size
        if rotated % 2 or rotated > size:
            raise AttnError(
                f"rope turns pairs, and can't turn {rotated} of the {size} features of a head",
                hint="give dims, an even number",
            )


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
) -> list[str]:
    """The angle of each pair of one vector [d], and its rotation; of a long vector that of one pair."""
    count = (x.shape[-1] if dims is None else dims) // 2 if frequencies is None else len(frequencies)
    one, other = pair_slices(count, interleaved)
    lines = []
    features = range(2 * count)
    pairs: Sequence[int] = range(count)
    if write.is_long(2 * count):  # a feature behind those that turn is in no pair
        pairs = [pair for pair in pairs if write.feature in (features[one][pair], features[other][pair])] or [0]
    for pair in pairs:
        frequency: Term = _frequency(base, pair, 2 * count) if frequencies is None else number(frequencies[pair])
        position = _shifted(positions, offset)
        angle = write.computed(
            f"angle of pair {pair}", (position / parameter(scaling) if scaling != 1 else position) * frequency
        )
        first, second = number(x[one][pair]), number(x[other][pair])
        lines += [
            angle.line,
            write.equation(first * cos(angle) - second * sin(angle), result[one][pair]),
            write.equation(second * cos(angle) + first * sin(angle), result[other][pair]),
        ]
    return lines


def _frequency(base: float, pair: int, dims: int) -> Term:
    """The angle of a pair from one position to the next."""
    return parameter(base) ** -(number(2 * pair) / dims)


def _rope_formula(
    *,
    base: float,
    interleaved: bool,
    scaling: float,
    offset: float,
    dims: int | None = None,
    frequencies: bool = False,
) -> str:
    """The rotation of a pair by an angle from its position, as far as parameters have changed that."""
    angle = f"{'(pos + offset)' if offset else 'pos'} θ{' / scaling' if scaling != 1 else ''}"
    theta = "frequencies" if frequencies else f"base^(−2f/{'d' if dims is None else 'dims'})"
    return f"{ROTATION}, φ = {angle}, θ = {theta}"


def _shifted(positions: Any, offset: float) -> Term:
    """A position and what is added to it."""
    return number(positions) + parameter(offset) if offset else number(positions)


@position(
    formula=f"{ROTATION}, φ = pos θ, θ = base^(−2f/dims)",
    shapes="x[n d], positions[n], frequencies[f] -> [n d]",
    source="Su et al. 2021 (RoFormer), eq. 34; in halves: GPT-NeoX and Llama; scaling: Chen et al. 2023",
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
)
def rope(
    x: Array,
    positions: Array,
    *,
    base: Positive = 10000.0,
    dims: Even = None,
    interleaved: bool = False,
    scaling: Positive = 1.0,
    offset: float = 0.0,
    frequencies: Array | None = None,
) -> Array:
    """Rotates pairs of features in proportion to the position: of two positions only the distance counts in a score.

    Parameters
    ----------
    x : array [… n d]
        A vector in each row.
    positions : array [… n]
        The position of each row.
    base : float > 0, optional
        The slowest pair makes about one turn in 2π · `base` positions.
    dims : int ≥ 2, optional
        How many features are rotated, an even number; the others stay. Without it all.
    interleaved : bool, optional
        Pairs are neighbours; without it one feature in each half.
    scaling : float > 0, optional
        Positions are divided by it.
    offset : float, optional
        Added to the positions.
    frequencies : array [f], optional
        The angle of each of f pairs from one position to the next, instead of `base` and `dims`.

    Returns
    -------
    array [… n d]
        A copy; the norm of each row stays.

    Examples
    --------
    >>> rope(np.array([[1.0, 2, 3, 4]]), np.array([1]), frequencies=np.array([np.pi / 2, 0])).round(4)
    array([[-3.,  2.,  1.,  4.]])
    >>> rope(np.array([[1.0, 0, 0, 0]]), np.array([2]), interleaved=True).round(4)
    array([[-0.4161,  0.9093,  0.    ,  0.    ]])
    """
    rotated_count = x.shape[-1] if dims is None else dims
    angles = _angles(positions, rotated_count, base, scaling, offset, frequencies, np.result_type(x, np.float64))
    cosine, sine = np.cos(angles), np.sin(angles)
    one, other = pair_slices(angles.shape[-1], interleaved)
    first, second = x[..., one], x[..., other]
    rotated = x.copy()  # features beyond `dims` stay
    rotated[..., one] = first * cosine - second * sine
    rotated[..., other] = second * cosine + first * sine
    return rotated


def rope_frequencies(dims: int, base: float, dtype: Any = None) -> Array:
    """The angle of each pair from one position to the next: base^(−2f/dims) radians, f = 0 … dims/2 − 1.

    They are of `dtype`, by default float64.

    Examples
    --------
    >>> rope_frequencies(4, 10000.0)
    array([1.  , 0.01])
    """
    dtype = np.dtype(np.float64) if dtype is None else dtype
    frequencies: Array = base ** (-np.arange(0, dims, 2) / dtype.type(dims))
    return frequencies


def pair_slices(count: int, interleaved: bool) -> tuple[slice, slice]:
    """Slices of the first and of the second feature of each of `count` pairs: neighbours, or one in each half.

    Examples
    --------
    >>> pair_slices(2, interleaved=True)
    (slice(0, 4, 2), slice(1, 4, 2))
    >>> pair_slices(2, interleaved=False)
    (slice(0, 2, None), slice(2, 4, None))
    """
    if interleaved:
        return slice(0, 2 * count, 2), slice(1, 2 * count, 2)
    return slice(0, count), slice(count, 2 * count)


def _angles(
    positions: Array, dims: int, base: float, scaling: float, offset: float, frequencies: Array | None, dtype: Any
) -> Array:
    """Position times frequency, [… n f]; in double precision or wider: far positions have large angles."""
    wide = rope_frequencies(dims, base, dtype) if frequencies is None else frequencies.astype(dtype)
    angles: Array = ((positions + offset) / scaling)[..., None] * wide
    return angles


def sinusoidal_by_hand(
    write: ArithmeticWriter, positions: Any, result: Any, *, features: int, base: float = 10000.0, offset: float = 0.0
) -> list[str]:
    """The sine or cosine in each feature of one position; of a long vector two of them."""
    lines = []
    first = write.feature - write.feature % 2
    for feature in range(features)[first : first + 2] if write.is_long(features) else range(features):
        angle = _shifted(positions, offset) / parameter(base) ** (number(feature - feature % 2) / features)
        lines.append(write.equation((cos if feature % 2 else sin)(angle), result[feature], name=f"P[x{feature + 1}]"))
    return lines


def _sinusoidal_formula(*, base: float, offset: float) -> str:
    """The sine and the cosine, with what is added to the position."""
    angle = f"{'(pos + offset)' if offset else 'pos'} / base^(2f/x)"
    return f"P[pos, 2f] = sin({angle}), P[pos, 2f + 1] = cos({angle})"


@position(
    formula="P[pos, 2f] = sin(pos / base^(2f/x)), P[pos, 2f + 1] = cos(pos / base^(2f/x))",
    shapes="positions[n] -> [n x]",
    source="Vaswani et al. 2017, §3.5",
    example={"positions": [0], "features": 4, "gives": [[0, 1, 0, 1]]},
    formula_in_force=_sinusoidal_formula,
    by_hand=sinusoidal_by_hand,
    acts_on="embeddings",
)
def sinusoidal(positions: Array, features: int, *, base: Positive = 10000.0, offset: float = 0.0) -> Array:
    """Sines and cosines of the position, from fast to slow, added to the embeddings.

    Parameters
    ----------
    positions : array [n]
        The position of each row.
    features : int
        How many features an embedding has.
    base : float > 0, optional
        The slowest pair makes about one turn in 2π · `base` positions.
    offset : float, optional
        Added to the positions.

    Returns
    -------
    array [n x]
        Sines in even columns, cosines in odd ones.

    Examples
    --------
    >>> sinusoidal(np.array([0, 1]), 4).round(4)
    array([[0.    , 1.    , 0.    , 1.    ],
           [0.8415, 0.5403, 0.01  , 1.    ]])
    """
    angles = _angles(positions, features, base, 1.0, offset, None, np.result_type(positions, np.float64))
    table = np.empty((*positions.shape, features), dtype=angles.dtype)
    table[..., 0::2] = np.sin(angles)
    table[..., 1::2] = np.cos(angles)[..., : features // 2]
    return table


def check_learned(use: OperatorUse) -> None:
    """Raise AttnError where the table has no row for a position, or its rows are not as wide as the embeddings."""
    table, offset = use.parameters["table"], use.parameters["offset"]
    width = use.lengths.get("y", table.shape[-1])
    if width != table.shape[-1]:
        raise AttnError(f"query_embeddings has {width} columns (y); the table has {table.shape[-1]} (x)", where="table")
    first, last = use.positions[0] + offset, use.positions[-1] + offset
    if first < 0 or last >= len(table):
        raise AttnError(
            f"the table has positions 0 to {len(table) - 1}; {first} to {last} are asked for", where="table"
        )


def learned_by_hand(
    write: ArithmeticWriter, positions: Any, result: Any, *, table: Array, features: int | None = None, offset: int = 0
) -> list[str]:
    """The row of the table at one position."""
    return [f"P = table[{int(positions) + offset}] = {write(result)}"]


@position(
    formula="P[pos] = table[pos]",
    shapes="positions[n], table[t x] -> [n x]",
    source="Gehring et al. 2017, §3.1; Devlin et al. 2019 (BERT), §3",
    example={"positions": [2, 0], "table": [[1, 2], [3, 4], [5, 6]], "gives": [[5, 6], [1, 2]]},
    formula_in_force=lambda table, offset: f"P[pos] = table[pos{' + offset' if offset else ''}]",
    by_hand=learned_by_hand,
    check=check_learned,
    acts_on="embeddings",
)
def learned(positions: Array, features: int | None = None, *, table: Annotated[Array, TABLE], offset: int = 0) -> Array:
    """A learned vector for each position, added to the embeddings.

    Parameters
    ----------
    positions : array of int [n]
        The position of each row.
    features : int, optional
        Not read: the table says how many there are.
    table : array [t x]
        A row for each position.
    offset : int, optional
        Added to the positions.

    Returns
    -------
    array [n x]

    Raises
    ------
    IndexError
        Where the table has no row for a position.

    Examples
    --------
    >>> learned(np.array([2, 0]), table=np.array([[1, 2], [3, 4], [5, 6]]))
    array([[5, 6],
           [1, 2]])
    """
    vectors: Array = table[positions + offset]
    return vectors


def add_positions_by_hand(write: ArithmeticWriter, x: Array, positions: Array, result: Any) -> list[str]:
    """One embedding [x] and the vector of its position."""
    return [
        write.equation(
            number(x) + positions, result, name=f"{write.symbol('x')} + {write.symbol('positions')}", letter="x"
        )
    ]


@structural(by_hand=add_positions_by_hand)
def add_positions(x: Array, positions: Array) -> Array:
    """The embeddings [… n x] and the vectors of their positions [n x], together.

    Examples
    --------
    >>> add_positions(np.array([[1.0, 2.0]]), np.array([[0.0, 1.0]]))
    array([[1., 3.]])
    """
    return x + positions
