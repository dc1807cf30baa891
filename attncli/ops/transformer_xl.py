"""Transformer-XL's position scheme: a key for each distance, and two learned vectors that replace queries.

`query_positions` [… n] and `key_positions` [m] count from the first key.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import cos, number, products, sin, total
from attncli.ops.code import CodeCall
from attncli.ops.decorators import position, structural
from attncli.ops.position_biases import OF_POSITIONS
from attncli.ops.records import TABLE, DerivedInput, MayHave, OperatorUse, Positive, Symbol, format_value
from attncli.ops.relative_keys import (
    check_width,
    plus_of_each_head,
    products_with_rows,
    projected,
    relative_row,
)
from attncli.ops.rope import angles, rope_frequencies


def check_transformer_xl(use: OperatorUse) -> None:
    """Raise AttnError if the table has no middle row, or is not as wide as the queries."""
    if "table" in use.parameters and use.parameters["table"].shape[-2] % 2 == 0:
        hint = "expected an odd number: the middle is distance 0"
        raise AttnError(f"has {count_of(len(use.parameters['table']), 'row')}", where="table", hint=hint)
    check_width(use, "w_position")


def distances_by_hand(
    write: ArithmeticWriter, result: Array, *, shape: tuple[int, int], base: float, interleaved: bool
) -> list[str]:
    """The sine and the cosine of one row's slowest angle, the last row of the table."""
    half, features = shape[0] // 2, shape[1]
    lines = []
    for feature in (0, 1) if interleaved else (0, (features + 1) // 2):
        name = f"P(−{half})[x{feature + 1}]"
        lines.append(write.equation((cos if feature else sin)(number(-half)), result[-1, feature], name=name))
    return lines


def _distances_code(call: CodeCall) -> str:
    """The angles of all distances, then their sines and cosines."""
    (rows, features), base = call.options["shape"], call.options["base"]
    steps = f"{base} ** (-np.arange(0, {features}, 2) / {features})"
    angle = f"angle = ({rows // 2} - np.arange({rows}))[:, None] * {steps}"
    if call.options["interleaved"]:
        return f"{angle}\nnp.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape({rows}, -1)[:, :{features}]"
    return f"{angle}\nnp.concatenate([np.sin(angle), np.cos(angle)[:, :{features // 2}]], axis=-1)"


@structural(is_exact=True, by_hand=distances_by_hand, code=_distances_code)
def sinusoids_of_distances(*, shape: tuple[int, int], base: float, interleaved: bool) -> Array:
    """The sines and cosines of the distances from queries to keys [r x]: the first row is the farthest before.

    >>> sinusoids_of_distances(shape=(3, 2), base=10000.0, interleaved=False).round(4)
    array([[ 0.8415,  0.5403],
           [ 0.    ,  1.    ],
           [-0.8415,  0.5403]])
    """
    rows, features = shape
    angle = angles(rows // 2 - np.arange(rows), rope_frequencies(features, base))
    table = np.empty((rows, features))
    sines = slice(0, features, 2) if interleaved else slice(0, angle.shape[1])
    cosines = slice(1, features, 2) if interleaved else slice(angle.shape[1], features)
    table[:, sines], table[:, cosines] = np.sin(angle), np.cos(angle)[:, : features // 2]
    return table


def _lengths_of_table(parameters: Mapping[str, Any], lengths: Mapping[str, int]) -> Mapping[str, int]:
    """A row for each distance, and as many features as are projected."""
    farthest = lengths.get("p", 0) + max(lengths["n"], lengths["m"])
    weights = parameters.get("w_position")
    return {"r": 2 * farthest - 1, "x": lengths["d"] if weights is None else weights.shape[-2]}


def _transformer_xl_formula(**given: Any) -> str:
    """The terms in force."""
    terms = ["Qᵢ·R(posᵢ − j)"]
    terms += ["u·Kⱼ"] if given.get("content_bias") is not None else []
    terms += ["v·R(posᵢ − j)"] if given.get("position_bias") is not None else []
    where = ", R = table W_P" if given.get("w_position") is not None else ", R = table"
    return " + ".join(terms) + where


def transformer_xl_by_hand(
    write: ArithmeticWriter,
    query: Array,
    key: Array,
    query_positions: Any,
    key_positions: Any,
    result: Any,
    *,
    table: Array,
    w_position: Array | None = None,
    content_bias: Array | None = None,
    position_bias: Array | None = None,
    **_: Any,
) -> list[str]:
    """The distance of one query [d] and one key [d], its vector, and each term of the score with it."""
    distance = int(query_positions - key_positions)
    row = table[int(relative_row(np.array(-distance), table.shape[-2]))]
    lines = [write.equation(number(int(query_positions)) - int(key_positions), distance, name="distance")]
    entries, name = row, f"R({write(distance)})"
    if w_position is not None:
        vector = write.computed(name, products(row, w_position), letter="d")
        lines, entries = [*lines, vector.line], vector.entries
    own, keys = f"{write.symbol('query')}({write.query})", f"{write.symbol('key')}({write.key})"
    found = [write.computed(f"{own}·{name}", products(query, entries))]
    if content_bias is not None:
        found.append(write.computed(f"u·{keys}", products(content_bias, key)))
    if position_bias is not None:
        found.append(write.computed(f"v·{name}", products(position_bias, entries)))
    added = [write.equation(total(found), result)] if len(found) > 1 else []
    return [*lines, *(term.line for term in found), *added]


def _rows_of_pairs(query_positions: Array, key_positions: Array, table: Array) -> Array:
    """The row of a table for each query and key [… n m]."""
    return relative_row(key_positions - query_positions[..., :, None], table.shape[-2])


@position(
    formula="Qᵢ·R(posᵢ − j) + u·Kⱼ + v·R(posᵢ − j), R = table W_P",
    shapes=(
        "query[n d], key[m d], query_positions[n], key_positions[m], table[r x], w_position[x d], "
        "content_bias[d], position_bias[d] -> [n m]"
    ),
    source="Dai et al. 2019 (Transformer-XL), §3.3: terms (b), (c) and (d) of A^rel",
    example={
        "query": [[1, 2], [3, 1]],
        "key": [[1, 0], [0, 1]],
        "query_positions": [0, 1],
        "key_positions": [0, 1],
        "table": [[1, 0], [0, 0], [0, 1]],
        "content_bias": [2, 5],
        "position_bias": [10, 20],
        "gives": [[2, 27], [15, 5]],
    },
    formula_in_force=_transformer_xl_formula,
    by_hand=transformer_xl_by_hand,
    derivatives={
        **OF_POSITIONS,
        "query": "{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ R(posᵢ − j)",
        "key": "{d_key}ⱼ = Σᵢ {d_result}ᵢⱼ u",
        "table": "{d_table}(r) = Σᵢⱼ {d_result}ᵢⱼ ({query}ᵢ + v) W_Pᵀ of the pairs with the distance r",
        "w_position": "{d_w_position} = Σᵢⱼ {d_result}ᵢⱼ table(posᵢ − j)ᵀ ({query}ᵢ + v)",
        "content_bias": "{d_content_bias} = Σᵢⱼ {d_result}ᵢⱼ {key}ⱼ",
        "position_bias": "{d_position_bias} = Σᵢⱼ {d_result}ᵢⱼ R(posᵢ − j)",
    },
    derived={
        "table": DerivedInput(
            sinusoids_of_distances,
            "P",
            lambda shape, base, interleaved: (
                f"sines and cosines of {'neighbours' if interleaved else 'halves'}, "
                f"of the distances {shape[0] // 2} to −{shape[0] // 2}; base {format_value(base)}"
            ),
            ("r", "x"),
            ("base", "interleaved"),
            lengths=_lengths_of_table,
            purpose="A vector for each distance from a query to a key, of sines and cosines.",
        )
    },
    check=check_transformer_xl,
    acts_on="products",
)
def transformer_xl(
    query: Array,
    key: Array,
    query_positions: Array,
    key_positions: Array,
    *,
    table: Annotated[Array | None, TABLE, MayHave("h"), Symbol("P")] = None,
    w_position: Annotated[Array | None, MayHave("h"), Symbol("W_P")] = None,
    content_bias: Annotated[Array | None, MayHave("h"), Symbol("u")] = None,
    position_bias: Annotated[Array | None, MayHave("h"), Symbol("v")] = None,
    base: Positive = 10000.0,
    interleaved: bool = False,
) -> Array:
    """A key for each distance, made of sines and cosines or of a table, and a bias of content and one of positions.

    Three dot products are added to the query's with the key: the query's with the vector R of their distance,
    `content_bias` u's with the key, and `position_bias` v's with R. The table's rows begin with the key farthest before
    the query; the middle is distance 0, and farther distances get the ends. By default the table has the sines and then
    the cosines of each distance, or with `interleaved` a sine and a cosine in turn. `w_position` projects it for each
    head, [x d] or [h x d]; a matrix [x h·d] of all heads is split.

    >>> table, positions = np.array([[1, 0], [0, 0], [0, 1]]), np.arange(2)
    >>> transformer_xl(np.array([[1, 2], [3, 1]]), np.eye(2), positions, positions, table=table)
    array([[0, 2],
           [3, 0]])
    """
    if table is None:
        lengths = {"n": query.shape[-2], "m": key.shape[-2], "d": query.shape[-1]}
        sizes = _lengths_of_table({"w_position": w_position}, lengths)
        table = sinusoids_of_distances(shape=(sizes["r"], sizes["x"]), base=base, interleaved=interleaved)
    vectors = projected(table, w_position)
    scores = products_with_rows(
        plus_of_each_head(query, position_bias), vectors, _rows_of_pairs(query_positions, key_positions, table)
    )
    return scores if content_bias is None else scores + content_bias[..., None, :] @ key.mT
