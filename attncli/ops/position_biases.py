"""Position schemes of pairs: a number for the distance of a key from a query, added to their score.

`query_positions` [… n] and `key_positions` [m] count from the first key; `heads` is None without an axis of heads.
"""

import math
from bisect import bisect_left
from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import ln, number, total
from attncli.ops.code import CodeCall
from attncli.ops.decorators import position, structural
from attncli.ops.derivatives import CONSTANT, Derivatives
from attncli.ops.records import TABLE, DerivedInput, OperatorUse, Range
from attncli.ops.structural import per_head

OF_POSITIONS: Derivatives = {"query_positions": CONSTANT, "key_positions": CONSTANT}


def published_slopes_by_hand(write: ArithmeticWriter, result: Any, *, shape: tuple[int]) -> list[str]:
    """The slope of one head, by its number."""
    power, head = 2 ** int(math.log2(shape[0])), write.head
    step = number(8) * (head + 1) / power if head < power else number(4) * (2 * (head - power) + 1) / power
    return [write.equation(number(2) ** -step, result, name=f"slope of head {head}")]


def _slopes_code(call: CodeCall) -> str:
    """Powers of two; for other numbers of heads also those in between."""
    (heads,) = call.options["shape"]
    power = 2 ** int(math.log2(heads))
    first = f"2.0 ** (-8 / {power} * np.arange(1, {power + 1}))"
    if power == heads:
        return first
    return f"np.concatenate([{first}, 2.0 ** (-4 / {power} * np.arange(1, {2 * power}, 2))])[:{heads}]"


@structural(is_exact=True, by_hand=published_slopes_by_hand, code=_slopes_code)
def published_slopes(*, shape: tuple[int]) -> Array:
    """2^(−8/h), 2^(−16/h), … for h heads, h a power of two.

    For other counts: the slopes for the power of two below, then every second one for the power above.

    Source: Press, Smith & Lewis 2022, §3; the slopes of other head counts: their code, get_slopes.

    >>> published_slopes(shape=(4,))
    array([0.25      , 0.0625    , 0.015625  , 0.00390625])
    """
    (heads,) = shape
    power = 2 ** int(math.log2(heads))
    first = 2.0 ** (-8 / power * np.arange(1, power + 1))
    between = 2.0 ** (-4 / power * np.arange(1, 2 * power + 1, 2))
    slopes: Array = np.concatenate([first, between])[:heads]
    return slopes


@position(
    formula="Bᵢⱼ = −λₕ |posᵢ − j|",
    shapes="query_positions[n], key_positions[m], slopes[h] -> [n m]",
    source="Press, Smith & Lewis 2022, §3; the slopes of other head counts: their code, get_slopes",
    example={"query_positions": [0, 2], "key_positions": [0, 2], "slopes": [0.5], "gives": [[0, -1], [-1, 0]]},
    derivatives={**OF_POSITIONS, "slopes": "{d_slopes}ₕ = −Σᵢⱼ {d_result}ᵢⱼ |posᵢ − j|"},
    derived={
        "slopes": DerivedInput(
            published_slopes,
            "λ",
            lambda shape: f"the published ones of {shape[0]} head{'s' if shape[0] > 1 else ''}",
            ("h",),
            purpose="How fast the score falls with the distance in each head: some heads look near, others far.",
        )
    },
    acts_on="scores",
)
def alibi(
    query_positions: Array, key_positions: Array, heads: int | None = None, *, slopes: Array | float | None = None
) -> Array:
    """The farther a key, the lower its score; each head has its own slope.

    By default `slopes` are `published_slopes`.

    >>> alibi(np.array([0, 2]), np.array([0, 2]), slopes=np.array([0.5]))
    array([[-0., -1.],
           [-1., -0.]])
    >>> alibi(np.array([1]), np.array([0, 1]), heads=2, slopes=np.array([0.5, 0.25]))
    array([[[-0.5 , -0.  ]],
    <BLANKLINE>
           [[-0.25, -0.  ]]])
    """
    if slopes is None:
        slopes = published_slopes(shape=(heads or 1,))
    slope = per_head(np.atleast_1d(slopes), heads)
    distances = abs(query_positions[..., :, None] - key_positions)
    # Convert once to the type of the slopes: integers times float32 would be float64, for each head.
    bias: Array = slope * -distances.astype(np.result_type(slope, np.float32))
    return bias


def check_t5(use: OperatorUse) -> None:
    """Raise AttnError if the table's rows can't be divided into buckets."""
    rows, bidirectional = len(use.parameters["table"]), use.parameters["bidirectional"]
    half = rows // 2 if bidirectional else rows
    if half < 2 or (bidirectional and rows % 2):
        raise AttnError(f"{rows} buckets can't be divided", where="table", hint="expected an even number ≥ 4")
    if use.parameters["max_distance"] <= half // 2:
        raise AttnError(
            f"max_distance is not beyond the {half // 2} buckets of one distance each", where="max_distance"
        )


def t5_by_hand(
    write: ArithmeticWriter,
    query_positions: Any,
    key_positions: Any,
    result: Any,
    *,
    table: Array,
    max_distance: int,
    bidirectional: bool,
    heads: int | None = None,
) -> list[str]:
    """The bucket of one distance, and its number in the table."""
    distance = int(key_positions - query_positions)
    bucket = int(t5_bucket(np.array(distance), len(table), max_distance, bidirectional))
    half = len(table) // 2 if bidirectional else len(table)
    exact = half // 2
    first = half if bidirectional and distance > 0 else 0
    away = abs(distance) if bidirectional else max(-distance, 0)
    lines = [write.equation(number(int(key_positions)) - int(query_positions), distance, name="distance")]
    if away < exact:
        addends, explanation = [first, away], f"a bucket for each distance below {exact}"
    else:
        wider = write.computed("", ln(number(away) / exact) / ln(number(max_distance) / exact) * (half - exact))
        step = bucket - first - exact
        limit = f", but at most {step}" if wider.entries[0] >= step + 1 else ""
        lines.append(f"{wider.line}, rounded down{limit}")
        addends, explanation = [first, exact, step], "bucket"
    lines.append(f"{explanation}: {write.equation(total(addend for addend in addends if addend), bucket)}")
    return [*lines, f"table[{bucket}] = {write(result)}"]


@position(
    formula="Bᵢⱼ = table[bucket(j − posᵢ), h]",
    shapes="query_positions[n], key_positions[m], table[r h] -> [n m]",
    source="Raffel et al. 2020, §2.1; the buckets: their code, _relative_position_bucket",
    example={
        "query_positions": [0, 1],
        "key_positions": [0, 1],
        "table": [[5], [7], [0], [3]],
        "gives": [[5, 3], [7, 5]],
    },
    by_hand=t5_by_hand,
    derivatives={
        **OF_POSITIONS,
        "table": "{d_table}[r, h] = Σᵢⱼ {d_result}ᵢⱼ of the pairs whose distance is in bucket r",
    },
    check=check_t5,
    acts_on="scores",
)
def t5(
    query_positions: Array,
    key_positions: Array,
    heads: int | None = None,
    *,
    table: Annotated[Array, TABLE],
    max_distance: Annotated[int, Range(least=2)] = 128,
    bidirectional: bool = True,
) -> Array:
    """A learned number for each head and each range of distances; far distances share one.

    The table has a row for each bucket of distances, and a column for each head; distances from `max_distance` on share
    the last bucket. Half of the buckets are for keys after the query; unless `bidirectional`, those keys share the
    first bucket.

    >>> t5(np.arange(2), np.arange(2), table=np.array([[5], [7], [0], [3]]))
    array([[5, 3],
           [7, 5]])
    """
    distance = key_positions - query_positions[..., :, None]
    bucket = t5_bucket(distance, len(table), max_distance, bidirectional)
    return table[bucket, per_head(np.arange(table.shape[-1]), heads)]


def t5_bucket(distance: Array, buckets: int, max_distance: int, bidirectional: bool) -> Array:
    """The bucket of a distance j − i: one each for near ones, then logarithmically wider ones up to the last.

    Half of the buckets are for keys after the query; unless `bidirectional`, those keys share bucket 0.

    Source: Raffel et al. 2020, §2.1; their code, _relative_position_bucket.

    >>> t5_bucket(np.array([0, -1, -5, -100, 1]), buckets=8, max_distance=16, bidirectional=True)
    array([0, 1, 2, 3, 5])
    """
    half = buckets // 2 if bidirectional else buckets
    away = abs(distance) if bidirectional else np.maximum(-distance, 0)
    exact = half // 2
    begins = _t5_begins(half, max_distance)
    bucket = np.where(away < exact, away, exact + np.searchsorted(np.array(begins, dtype=np.int64), away, side="right"))
    return bucket + (half * (distance > 0) if bidirectional else 0)


def _t5_begins(half: int, max_distance: int) -> list[int]:
    """The first distances of the wider buckets except the first, for so many buckets on one side.

    The bucket exact + k begins where away^wide ≥ exact^wide (max_distance / exact)^k: whole numbers, no rounding.
    """
    exact = half // 2
    wide = half - exact
    distances = range(max(exact, max_distance) + 1)
    return [
        bisect_left(distances, exact ** (wide - k) * max_distance**k, key=lambda away: away**wide)
        for k in range(1, wide)
    ]
