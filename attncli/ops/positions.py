"""Position schemes that are added to embeddings; positions are counted from 0."""

from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import cos, number, parameter, sin
from attncli.ops.code import CodeCall
from attncli.ops.decorators import position
from attncli.ops.derivatives import CONSTANT
from attncli.ops.records import TABLE, OperatorUse, Positive
from attncli.ops.rope import angles, rope_frequencies


def sinusoidal_by_hand(
    write: ArithmeticWriter, positions: Any, result: Any, *, features: int, base: float, offset: float
) -> list[str]:
    """The sine or cosine in each feature of one position; for a long vector two of them."""
    lines = []
    first = write.feature - write.feature % 2
    for feature in range(features)[first : first + 2] if write.is_long(features) else range(features):
        shifted = number(positions) + parameter(offset) if offset else number(positions)
        angle = shifted / parameter(base) ** (number(feature - feature % 2) / features)
        lines.append(write.equation((cos if feature % 2 else sin)(angle), result[feature], name=f"P[x{feature + 1}]"))
    return lines


def _sinusoidal_formula(*, base: float, offset: float) -> str:
    """The sine and the cosine, with the position's offset."""
    angle = f"{'(pos + offset)' if offset else 'pos'} / base^(2f/x)"
    return f"P[pos, 2f] = sin({angle}), P[pos, 2f + 1] = cos({angle})"


def _sinusoidal_code(call: CodeCall) -> str:
    """The angles, then their sines and cosines in turn."""
    *leading, features = call.shape
    shifted = "({positions}[..., None] + {offset})" if call.options["offset"] else "{positions}[..., None]"
    both = f"np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape({(*leading, features + features % 2)})"
    cut = f"[..., :{features}]" if features % 2 else ""
    return f"angles = {shifted} / {{base}} ** (np.arange(0, {features}, 2) / {features})\n{both}{cut}"


@position(
    formula="P[pos, 2f] = sin(pos / base^(2f/x)), P[pos, 2f + 1] = cos(pos / base^(2f/x))",
    shapes="positions[n] -> [n x]",
    source="Vaswani et al. 2017, §3.5",
    example={"positions": [0], "features": 4, "gives": [[0, 1, 0, 1]]},
    formula_in_force=_sinusoidal_formula,
    by_hand=sinusoidal_by_hand,
    derivatives={"positions": CONSTANT},
    acts_on="embeddings",
    code=_sinusoidal_code,
)
def sinusoidal(positions: Array, features: int, *, base: Positive = 10000.0, offset: float = 0.0) -> Array:
    """Sines and cosines of the position, from fast to slow, added to the embeddings.

    Sines are in even columns, cosines in odd ones. The slowest pair makes about one turn in 2π · `base` positions.

    >>> sinusoidal(np.array([0, 1]), 4).round(4)
    array([[0.    , 1.    , 0.    , 1.    ],
           [0.8415, 0.5403, 0.01  , 1.    ]])
    """
    frequencies = rope_frequencies(features, base, np.result_type(positions, base, np.float64))
    angle = angles(positions, frequencies, offset=offset)
    table = np.empty((*positions.shape, features), dtype=angle.dtype)
    table[..., 0::2] = np.sin(angle)
    table[..., 1::2] = np.cos(angle)[..., : features // 2]
    return table


def check_learned(use: OperatorUse) -> None:
    """Raise AttnError if the table has no row for a position, or its rows are not as wide as the embeddings."""
    table, offset = use.parameters["table"], use.parameters["offset"]
    width = use.lengths.get("y", table.shape[-1])
    if width != table.shape[-1]:
        raise AttnError(
            f"query_embeddings has {count_of(width, 'column')} (y); the table has {table.shape[-1]} (x)", where="table"
        )
    first, last = use.positions[0] + offset, use.positions[-1] + offset
    if first < 0 or last >= len(table):
        raise AttnError(
            f"the table has positions 0 to {len(table) - 1}; {first} to {last} are asked for", where="table"
        )


@position(
    formula="P[pos] = table[pos]",
    shapes="positions[n], table[t x] -> [n x]",
    source="Gehring et al. 2017, §3.1; Devlin et al. 2019 (BERT), §3",
    example={"positions": [2, 0], "table": [[1, 2], [3, 4], [5, 6]], "gives": [[5, 6], [1, 2]]},
    formula_in_force=lambda table, offset: f"P[pos] = table[pos{' + offset' if offset else ''}]",
    by_hand=lambda write, positions, result, *, offset, **_: [
        f"P = table[{int(positions) + offset}] = {write(result)}"
    ],
    check=check_learned,
    derivatives={"positions": CONSTANT, "table": "{d_table}: the rows of {d_result}, added where their position is"},
    acts_on="embeddings",
)
def learned(positions: Array, features: int | None = None, *, table: Annotated[Array, TABLE], offset: int = 0) -> Array:
    """A learned vector for each position, added to the embeddings.

    `features` is unused: the table's width gives the number.

    >>> learned(np.array([2, 0]), table=np.array([[1, 2], [3, 4], [5, 6]]))
    array([[5, 6],
           [1, 2]])
    """
    vectors: Array = table[positions + offset]
    return vectors
