"""Weights that are packed, and weights that are stored out_in."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli import AttnError, Problem
from attncli.problem.weights import column_labels, parts_of_problem
from tests.arrays import normal
from tests.problems import problem

# Features of the sequence, query heads, key heads, features of a query or key and of a value of one head.
X, H, G, D, E = 5, 6, 2, 3, 4
RESULTS = ("scores", "weights", "output")


def heads_of(letter: str, count: int, width: int) -> dict[str, np.ndarray]:
    """The weights and the bias of each head: `q0`, `q1` …"""
    return {f"{letter}{h}": normal(X + 1, width, seed=ord(letter) + h) for h in range(count)}


# The columns of each head, with the bias as the last row.
COLUMNS = {**heads_of("q", H, D), **heads_of("k", H, D), **heads_of("v", H, E)}
CONCATENATED = "q0 q1 q2 q3 q4 q5 k0 k1 v0 v1"
PER_GROUP = "q0 q1 q2 k0 v0 q3 q4 q5 k1 v1"
PER_HEAD = "q0 k0 v0 q1 k1 v1 q2 k2 v2 q3 k3 v3 q4 k4 v4 q5 k5 v5"
SEQUENCE = {"embeddings": normal(2, 7, X), "heads": H, "d_k": H * D}


def side_by_side(names: str) -> dict[str, np.ndarray]:
    """The weights and the bias of heads in an order."""
    columns = np.concatenate([COLUMNS[name] for name in names.split()], axis=1)
    return {"w": columns[:-1], "b": columns[-1]}


def parts(kv_heads: int) -> dict[str, np.ndarray]:
    """The weights and biases of queries, keys and values, each by itself."""
    counts = {"q": H, "k": kv_heads, "v": kv_heads}
    made = {x: side_by_side(" ".join(f"{x}{h}" for h in range(count))) for x, count in counts.items()}
    return {f"{kind}_{x}": array for x, arrays in made.items() for kind, array in arrays.items()}


def assert_same(keys: dict[str, Any], others: dict[str, Any]) -> None:
    found, expected = (attncli.Problem(**k).compute(select=RESULTS) for k in (keys, others))
    for name in RESULTS:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("packing", "order", "kv_heads"),
    [("concatenated", CONCATENATED, G), ("per_group", PER_GROUP, G), ("per_head", PER_HEAD, H)],
)
@pytest.mark.parametrize("layout", ["in_out", "out_in"])
def test_packed_projections_are_their_parts(packing: str, order: str, kv_heads: int, layout: str) -> None:
    packed, others = side_by_side(order), parts(kv_heads)
    if layout == "out_in":
        packed["w"] = packed["w"].T
    counts = {"kv_heads": kv_heads}
    own = {"w_qkv": packed["w"], "b_qkv": packed["b"], "packing": packing, "weight_layout": layout}
    assert_same({**SEQUENCE, **counts, **own}, {**SEQUENCE, **counts, **others})


def test_codegen_packs_four_blocks_with_values_before_keys() -> None:
    heads = {"embeddings": normal(7, X), "heads": 8, "kv_heads": 4, "d_k": 8 * D}
    columns = {**heads_of("q", 8, D), **heads_of("k", 4, D), **heads_of("v", 4, E)}
    joined = {
        kind: np.concatenate([columns[name] for name in names.split()], axis=1)
        for kind, names in {
            "qkv": "q0 q1 v0 k0 q2 q3 v1 k1 q4 q5 v2 k2 q6 q7 v3 k3",
            "q": "q0 q1 q2 q3 q4 q5 q6 q7",
            "k": "k0 k1 k2 k3",
            "v": "v0 v1 v2 v3",
        }.items()
    }
    of_each = {f"w_{kind}": array[:-1] for kind, array in joined.items() if kind != "qkv"}
    assert_same({**heads, "w_qkv": joined["qkv"][:-1], "packing": "four_blocks"}, {**heads, **of_each})


@pytest.mark.parametrize(("packing", "order"), [("concatenated", "k0 k1 v0 v1"), ("per_group", "k0 v0 k1 v1")])
def test_keys_and_values_are_packed_beside_queries_of_another_sequence(packing: str, order: str) -> None:
    packed, others = side_by_side(order), parts(G)
    queries = {"query_embeddings": normal(2, 4, 11), "w_q": normal(11, H * D), "b_q": others["b_q"], "kv_heads": G}
    own = {"w_kv": packed["w"], "b_kv": packed["b"], "packing": packing}
    alone = {name: others[name] for name in ("w_k", "w_v", "b_k", "b_v")}
    assert_same({**SEQUENCE, **queries, **own}, {**SEQUENCE, **queries, **alone})


def test_the_parts_of_one_matrix_project_two_sequences() -> None:
    packed, others = side_by_side(PER_HEAD), parts(H)
    cross = {**SEQUENCE, "query_embeddings": normal(2, 4, X)}
    assert_same({**cross, "w_qkv": packed["w"], "b_qkv": packed["b"], "packing": "per_head"}, {**cross, **others})


def test_heads_are_equally_wide_unless_a_size_says_otherwise() -> None:
    grouped = {"embeddings": normal(3, X), "heads": 4, "kv_heads": 2, "w_qkv": normal(X, 24)}
    sizes = {part.key: part.size for part in parts_of_problem(problem(**grouped), "w_qkv")}
    assert sizes == {"w_q": 12, "w_k": 6, "w_v": 6}
    sizes = {part.key: part.size for part in parts_of_problem(problem(**grouped, d_v=12), "w_qkv")}
    assert sizes == {"w_q": 12, "w_k": 6, "w_v": 6}
    sizes = {part.key: part.size for part in parts_of_problem(problem(**grouped, d_k=4), "w_qkv")}
    assert sizes == {"w_q": 4, "w_k": 2, "w_v": 18}


def test_columns_are_labelled_by_their_part_and_their_number_there() -> None:
    spec = problem(embeddings=normal(3, 2), w_qkv=normal(2, 8), heads=2, kv_heads=1, packing="per_group")
    assert column_labels(parts_of_problem(spec, "w_qkv")) == ("q1", "q2", "q3", "q4", "k1", "k2", "v1", "v2")
    spec = problem(embeddings=normal(3, 2), w_kv=normal(2, 4), heads=2, packing="per_head")
    assert column_labels(parts_of_problem(spec, "w_kv")) == ("k1", "v1", "k2", "v2")


def test_concatenated_parts_are_views_of_the_array_that_was_given() -> None:
    found = attncli.Problem(embeddings=normal(3, 2), w_qkv=normal(2, 6)).compute(select=("w_qkv", "w_k"))
    assert np.shares_memory(found.w_qkv, found.w_k)


def test_packed_weights_are_drawn_in_the_shape_of_their_parts() -> None:
    spec = problem(embeddings=normal(3, X), w_qkv="normal", b_qkv="zeros", heads=4, kv_heads=2, d_k=8, d_v=4, seed=1)
    assert (spec.w_qkv.shape, spec.b_qkv.shape) == ((X, 8 + 4 + 2), (14,))
    drawn = problem(embeddings=normal(3, X), w_kv=normal(X, 8), init="normal", seed=1)
    assert (drawn.w_q.shape, drawn.w_k, drawn.w_v) == ((X, 4), None, None)


def test_one_number_is_set_by_the_label_of_its_column_in_either_order() -> None:
    for layout, shape in (("in_out", (2, 6)), ("out_in", (6, 2))):
        given = attncli.Problem(embeddings=np.eye(2), w_qkv=np.zeros(shape), weight_layout=layout)
        for cell in ("x1,k2", *(["k2,x1"] if layout == "out_in" else [])):
            found = given.set({f"w_qkv[{cell}]": 3}).compute(select=("key",))
            np.testing.assert_array_equal(found.key, [[0, 3], [0, 0]])


TOKENS = {"embeddings": normal(3, 4)}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"w_qkv": normal(4, 7)},
            "w_qkv: 7 columns can't be divided among 1 query head, 1 key head and 1 value head of equal width; "
            "give d_k or d_v if they are not equal",
        ),
        (
            {"w_kv": normal(4, 6), "heads": 2, "d_k": 8},
            "w_kv: 6 columns can't be divided among 2 key heads and 2 value heads with d_k 8; "
            "d_k and d_v count the columns of all query heads",
        ),
        (
            {"w_qkv": normal(4, 6), "heads": 2, "d_k": 3},
            "d_k: it counts the columns of all 2 heads, which can't share 3 evenly; choose a multiple of 2",
        ),
        (
            {"w_qkv": normal(4, 8), "heads": 2, "kv_heads": 1, "packing": "per_head"},
            "packing: per_head has a key and a value for each of 2 query heads; kv_heads is 1; "
            "per_group has each key head's queries, then its key and value",
        ),
        (
            {"w_qkv": normal(4, 12), "heads": 2, "packing": "four_blocks"},
            "packing: four_blocks has equally many heads in each of 4 blocks; there are 2 and 2 and 2; "
            "choose multiples of 4",
        ),
        (
            {"w_qkv": normal(4, 12), "w_k": normal(4, 4)},
            "w_k: w_qkv includes w_k, so w_k would not be used; leave out w_k or w_qkv",
        ),
        (
            {"b_qkv": normal(12), "b_kv": normal(8)},
            "b_kv: b_qkv includes b_k, so b_kv would not be used; leave out b_kv or b_qkv",
        ),
        (
            {"w_qkv": normal(4, 12), "query": normal(2, 4)},
            "w_qkv: query is already projected, so w_q of w_qkv would not be used; "
            "leave out w_qkv, or give embeddings instead of query",
        ),
        (
            {"w_qkv": normal(4, 12), "b_q": normal(3)},
            "b_q has 3 numbers (d); w_qkv has 4 columns of w_q (d)",
        ),
        (
            {"w_qkv": normal(12, 4)},
            "w_qkv has 12 rows (x); embeddings has 4 columns (x); with weight_layout out_in it fits",
        ),
    ],
)
def test_what_contradicts_a_packed_projection_is_an_error_that_says_what_to_do(
    keys: dict[str, Any], message: str
) -> None:
    with pytest.raises(AttnError) as caught:
        problem(**TOKENS, **keys)
    assert str(caught.value) == message


def test_a_packing_without_a_packed_projection_is_not_read() -> None:
    assert problem(**TOKENS, packing="per_head").unread == {"packing": "there is no packed projection"}
    assert problem(**TOKENS, w_qkv=normal(4, 12), packing="per_head", d_k=4).unread == {}


def test_beside_given_scores_the_values_of_a_packed_projection_are_used() -> None:
    packed = side_by_side("q0 k0 v0")
    keys = {"embeddings": normal(3, X), "scores": normal(2, 3), "d_k": D}
    found = attncli.Problem(**keys, w_qkv=packed["w"]).compute(select=("output",))
    expected = attncli.Problem(**keys, w_v=COLUMNS["v0"][:-1]).compute(select=("output",))
    np.testing.assert_array_equal(found.output, expected.output)


IN_OUT, OUT_IN = np.ones((3, 5)), np.ones((5, 3))
ONE = {"embeddings": np.ones((2, 3))}
ALL_OUT_IN = {"w_q": OUT_IN, "w_k": OUT_IN, "w_v": OUT_IN}

CASES = {
    "all are out_in": (
        {**ONE, **ALL_OUT_IN},
        "w_q has 5 rows (x); embeddings has 3 columns (x); with weight_layout out_in it fits",
    ),
    "all are in_out": (
        {**ONE, "weight_layout": "out_in", "w_q": IN_OUT, "w_k": IN_OUT},
        "w_q has 5 columns (x); embeddings has 3 columns (x); with weight_layout in_out it fits",
    ),
    "the key weights": (
        {**ONE, "w_q": IN_OUT, "w_k": OUT_IN},
        "w_k has 5 rows (x); embeddings has 3 columns (x); it fits if w_k is transposed",
    ),
    "the value weights": (
        {**ONE, "weight_layout": "out_in", **ALL_OUT_IN, "w_v": IN_OUT},
        "w_v has 5 columns (x); embeddings has 3 columns (x); it fits if w_v is transposed",
    ),
    "the output weights": (
        {**ONE, "w_o": np.ones((5, 3))},
        "w_o has 5 rows (e); embeddings has 3 columns (x); with weight_layout out_in it fits",
    ),
    "weights of a score": (
        {"query": np.ones((2, 3)), "key": np.ones((2, 5)), "score": {"general": {"w": OUT_IN}}},
        "score, w has 5 rows (d); query has 3 columns (d); with weight_layout out_in it fits",
    ),
    "weights of a score that are stored in_out": (
        {
            "query": np.ones((2, 3)),
            "key": np.ones((2, 5)),
            "weight_layout": "out_in",
            "score": {"general": {"w": IN_OUT}},
        },
        "score, w has 3 rows (c); key has 5 columns (c); with weight_layout in_out it fits",
    ),
    "neither way": (
        {**ONE, "w_q": np.ones((7, 5)), "w_k": IN_OUT},
        "w_q has 7 rows (x); embeddings has 3 columns (x)",
    ),
    "keys of another width": (
        {**ONE, "w_q": IN_OUT, "w_k": np.ones((3, 2))},
        "w_k has 2 columns (d); w_q has 5 columns (d)",
    ),
    "keys of another width that are not projected": (
        {**ONE, "w_q": IN_OUT},
        "embeddings has 3 columns (d); w_q has 5 columns (d)",
    ),
    "keys of another width in two heads": (
        {**ONE, "heads": 2, "w_q": np.ones((3, 4)), "w_k": np.ones((3, 6)), "w_v": np.ones((3, 2))},
        "w_k has 6 columns (d), over 2 heads; w_q has 4 columns (d), over 2 heads",
    ),
}


@pytest.mark.parametrize(("keys", "message"), CASES.values(), ids=CASES)
def test_weights_that_do_not_fit_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        Problem(**keys)
    assert str(caught.value) == message
