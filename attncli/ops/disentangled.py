"""DeBERTa's position scheme: a key and a query for each distance, or for each bucket of distances.

`query_positions` [… n] and `key_positions` [m] count from the first key.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter, Computed
from attncli.numbers.terms import number, products, total
from attncli.ops.decorators import position
from attncli.ops.position_biases import OF_POSITIONS
from attncli.ops.records import TABLE, MayHave, OperatorUse, Range, Symbol
from attncli.ops.relative_keys import (
    check_width,
    products_with_rows,
    projected,
)

MIN_ROWS_OF_BUCKETS = 8  # in a table: two buckets of one distance on either side, and two wider ones
ROUNDING = 1e-9  # of a logarithm: less above a whole number counts as that number


Terms = Literal["both", "c2p", "p2c"]
SCORES_OF_TERMS: Mapping[str, int] = {"both": 3, "c2p": 2, "p2c": 2}  # terms of a score, with content to content


def check_disentangled(use: OperatorUse) -> None:
    """Raise AttnError if the table's rows are not distances, or not as wide as the queries."""
    rows, farthest = use.parameters["table"].shape[-2], use.parameters.get("max_distance")
    if rows % 2:
        hint = "expected an even number: as many distances below 0 as from 0 on"
        raise AttnError(f"has {count_of(rows, 'row')}", where="table", hint=hint)
    if farthest is not None and (rows % 4 or rows < MIN_ROWS_OF_BUCKETS or farthest <= rows // 4 + 1):
        hint = f"expected a multiple of 4 from {MIN_ROWS_OF_BUCKETS} on, and a distance beyond {rows // 4 + 1}"
        message = f"{count_of(rows, 'row')} can't be buckets of distances up to {farthest}"
        raise AttnError(message, where="max_distance", hint=hint)
    for term, weights in (("c2p", "w_position_k"), ("p2c", "w_position_q")):
        if _has(use.parameters["terms"], term):
            check_width(use, weights)


def distance_bucket(distance: Array, rows: int, max_distance: int | None) -> Array:
    """The bucket of a distance i − j, negative for later keys; without `max_distance` the distance itself.

    On either side half of the buckets have one distance each; the others grow wider up to `max_distance`.

    Source: He et al. 2020, their code, make_log_bucket_position.

    >>> distance_bucket(np.array([-100, -3, 2, 3, 6, 7, 15]), rows=16, max_distance=16).tolist()
    [-12, -3, 2, 3, 5, 6, 7]
    """
    if max_distance is None:
        return distance
    exact = rows // 4
    far = np.maximum(abs(distance), exact) / exact
    steps = np.log(far) / np.log((max_distance - 1) / exact) * (exact - 1)
    wider = exact + np.ceil(steps - ROUNDING).astype(np.int64)
    return np.where(abs(distance) <= exact, distance, np.sign(distance) * wider)


def distance_row(query_positions: Array, key_positions: Array, rows: int, max_distance: int | None) -> Array:
    """The row of a table for each query and key [… n m]: the first is distance −r/2; farther ones get the ends.

    >>> distance_row(np.array([0, 2]), np.arange(3), rows=4, max_distance=None).tolist()
    [[2, 1, 0], [3, 3, 2]]
    """
    distance = query_positions[..., :, None] - key_positions
    row: Array = np.clip(distance_bucket(distance, rows, max_distance) + rows // 2, 0, rows - 1)
    return row


def _disentangled_formula(**given: Any) -> str:
    """The terms in force."""
    terms = {"c2p": "Qᵢ·Kᴿ(δ)", "p2c": "Kⱼ·Qᴿ(δ)"}
    kept = [term for term in terms if _has(given.get("terms", "both"), term)]
    vectors = []
    for symbol, letter in [{"c2p": ("Kᴿ", "k"), "p2c": ("Qᴿ", "q")}[term] for term in kept]:
        weights = "" if given.get(f"w_position_{letter}") is None else f" W_{symbol}"
        bias = "" if given.get(f"b_position_{letter}") is None else f" + b_{symbol}"
        vectors.append(f"{symbol} = table{weights}{bias}")
    distance = "posᵢ − j" if given.get("max_distance") is None else "bucket(posᵢ − j)"
    return ", ".join([" + ".join(terms[term] for term in kept), f"δ = {distance}", *vectors])


def disentangled_by_hand(
    write: ArithmeticWriter,
    query: Array,
    key: Array,
    query_positions: Any,
    key_positions: Any,
    result: Any,
    *,
    table: Array,
    w_position_k: Array | None = None,
    b_position_k: Array | None = None,
    w_position_q: Array | None = None,
    b_position_q: Array | None = None,
    max_distance: int | None = None,
    terms: Terms = "both",
) -> list[str]:
    """The distance of one query [d] and one key [d], its bucket, and each term of the score with its vectors."""
    rows, distance = table.shape[-2], int(query_positions - key_positions)
    row = int(distance_row(np.array([query_positions]), np.array([key_positions]), rows, max_distance)[0, 0])
    line = write.equation(number(int(query_positions)) - int(key_positions), distance, name="distance")
    own_row = row - rows // 2
    lines, found = [line], list[Computed]()
    if own_row != distance and max_distance is not None:
        lines.append(f"the bucket of distance {write(distance)} is {write(own_row)}")
    elif own_row != distance:
        lines = [f"{line}: beyond the table, so {write(own_row)}"]
    for term, symbol, w, b, role, label, vector in (
        ("c2p", "Kᴿ", w_position_k, b_position_k, "query", write.query, query),
        ("p2c", "Qᴿ", w_position_q, b_position_q, "key", write.key, key),
    ):
        if not _has(terms, term):
            continue
        name, entries = f"{symbol}({write(own_row)})", table[row]
        if w is not None or b is not None:
            made = number(entries) if w is None else products(entries, w)
            own = write.computed(name, made if b is None else made + number(b), letter="d")
            lines, entries = [*lines, own.line], own.entries
        found.append(write.computed(f"{write.symbol(role)}({label})·{name}", products(vector, entries)))
    added = [write.equation(total(found), result)] if len(found) > 1 else []
    return [*lines, *(term.line for term in found), *added]


def _has(terms: str, term: str) -> bool:
    """Whether a term is added."""
    return terms in ("both", term)


@position(
    formula="Qᵢ·Kᴿ(δ) + Kⱼ·Qᴿ(δ), δ = bucket(posᵢ − j), Kᴿ = table W_Kᴿ, Qᴿ = table W_Qᴿ",
    shapes=(
        "query[n d], key[m d], query_positions[n], key_positions[m], table[r x], w_position_k[x d], b_position_k[d], "
        "w_position_q[x d], b_position_q[d] -> [n m]"
    ),
    source="He et al. 2020 (DeBERTa), eq. 4; the row of Qᴿ is that of their code: δ(i, j), where the paper has δ(j, i)",
    example={
        "query": [[1, 2], [3, 1]],
        "key": [[1, 0], [0, 1]],
        "query_positions": [0, 1],
        "key_positions": [0, 1],
        "table": [[9, 9], [0, 1], [0, 0], [1, 0]],
        "gives": [[0, 3], [4, 0]],
    },
    formula_in_force=_disentangled_formula,
    by_hand=disentangled_by_hand,
    derivatives={
        **OF_POSITIONS,
        "query": "{d_query}ᵢ = Σⱼ {d_result}ᵢⱼ Kᴿ(δ)",
        "key": "{d_key}ⱼ = Σᵢ {d_result}ᵢⱼ Qᴿ(δ)",
        "table": "{d_table}(δ) = Σᵢⱼ {d_result}ᵢⱼ ({query}ᵢ W_Kᴿᵀ + {key}ⱼ W_Qᴿᵀ) of the pairs with the row δ",
        "w_position_k": "{d_w_position_k} = Σᵢⱼ {d_result}ᵢⱼ table(δ)ᵀ {query}ᵢ",
        "b_position_k": "{d_b_position_k} = Σᵢⱼ {d_result}ᵢⱼ {query}ᵢ",
        "w_position_q": "{d_w_position_q} = Σᵢⱼ {d_result}ᵢⱼ table(δ)ᵀ {key}ⱼ",
        "b_position_q": "{d_b_position_q} = Σᵢⱼ {d_result}ᵢⱼ {key}ⱼ",
    },
    check=check_disentangled,
    scores_added=lambda parameters: SCORES_OF_TERMS[parameters["terms"]],
    acts_on="products",
)
def disentangled(
    query: Array,
    key: Array,
    query_positions: Array,
    key_positions: Array,
    *,
    table: Annotated[Array, TABLE, MayHave("h")],
    w_position_k: Annotated[Array | None, MayHave("h"), Symbol("W_Kᴿ")] = None,
    b_position_k: Annotated[Array | None, MayHave("h"), Symbol("b_Kᴿ")] = None,
    w_position_q: Annotated[Array | None, MayHave("h"), Symbol("W_Qᴿ")] = None,
    b_position_q: Annotated[Array | None, MayHave("h"), Symbol("b_Qᴿ")] = None,
    max_distance: Annotated[int | None, Range(least=2)] = None,
    terms: Terms = "both",
) -> Array:
    """A key and a query for each distance: queries are multiplied by the one, keys by the other.

    Scores are divided by √(3 d), since three numbers are added: content to content, content to position (c2p), position
    to content (p2c); with only one of the latter by √(2 d). The table's rows are the distances i − j from −r/2 to r/2 −
    1; farther ones get the ends. With `max_distance` they are buckets, wider for farther keys. The matrices project
    them to each head's keys and queries, [x d] or [h x d]; a matrix [x h·d] of all heads is split. If a model shares
    its projections (share_att_key), pass w_k and w_q again.

    >>> table, positions = np.array([[9, 9], [0, 1], [0, 0], [1, 0]]), np.arange(2)
    >>> disentangled(np.array([[1, 2], [3, 1]]), np.eye(2, dtype=int), positions, positions, table=table)
    array([[0, 3],
           [4, 0]])
    """
    row = distance_row(query_positions, key_positions, table.shape[-2], max_distance)
    found = []
    if _has(terms, "c2p"):
        found.append(products_with_rows(query, projected(table, w_position_k, b_position_k), row))
    if _has(terms, "p2c"):
        found.append(products_with_rows(key, projected(table, w_position_q, b_position_q), row.mT).mT)
    total: Array = sum(found[1:], found[0])
    return total
