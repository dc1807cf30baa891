"""Arrays drawn at random: their order, their shapes, and errors."""

from typing import Any

import numpy as np
import pytest

from attncli import Problem
from attncli.base.errors import AttnError


def test_the_stream_is_used_in_a_fixed_order() -> None:
    drawn = Problem(seed=5, token_count=3, dim=4, heads=2, init="normal:mean=1,std=2")
    stream = np.random.default_rng(5)
    np.testing.assert_array_equal(drawn.embeddings, stream.normal(1, 2, (3, 4)))
    for name in ("w_q", "w_k", "w_v", "w_o"):
        np.testing.assert_array_equal(getattr(drawn, name), stream.normal(1, 2, (4, 4)), err_msg=name)


def test_the_legacy_stream_draws_the_tutorials_matrices() -> None:
    drawn = Problem(seed=42, generator="legacy", init="randint:low=0,high=3", embeddings=[[1, 0, 0]])
    assert drawn.w_q is not None
    assert drawn.w_q.tolist() == [[2, 0, 2], [2, 0, 0], [2, 1, 2]]
    assert drawn.w_k is not None
    assert drawn.w_k.tolist() == [[2, 2, 2], [0, 2, 1], [0, 1, 1]]
    assert drawn.w_v is not None
    assert drawn.w_v.tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 0]]


def test_the_legacy_stream_is_used_in_the_same_order() -> None:
    drawn = Problem(seed=7, generator="legacy", token_count=3, dim=4, heads=2, init="uniform:low=-1,high=2")
    stream = np.random.RandomState(7)
    for name, rows in {"embeddings": 3, "w_q": 4, "w_k": 4, "w_v": 4, "w_o": 4}.items():
        np.testing.assert_array_equal(getattr(drawn, name), stream.uniform(-1, 2, (rows, 4)), err_msg=name)


def test_a_bias_of_a_linear_layer_is_drawn_right_after_its_weight() -> None:
    """As PyTorch makes the layers, one after the other."""
    names = ("w_q", "b_q", "w_k", "b_k")
    drawn = Problem(seed=5, embeddings=[[1, 2], [3, 4]], **dict.fromkeys(names, "linear")).spec
    stream = np.random.default_rng(5)
    for name in names:
        expected = stream.uniform(-1, 1, (2, 2) if name.startswith("w") else (2,)) / np.sqrt(2)
        np.testing.assert_allclose(getattr(drawn, name), expected.T, rtol=1e-12, err_msg=name)


def test_given_arrays_take_no_numbers_from_the_stream() -> None:
    drawn = Problem(seed=5, embeddings=[[1, 2]], w_q="identity", w_k="normal:std=0.1", init="uniform")
    stream = np.random.default_rng(5)
    assert drawn.w_q is not None
    assert drawn.w_q.tolist() == [[1, 0], [0, 1]]
    np.testing.assert_array_equal(drawn.w_k, stream.normal(0, 0.1, (2, 2)))
    np.testing.assert_array_equal(drawn.w_v, stream.uniform(0, 1, (2, 2)))


def test_a_drawn_table_has_a_column_for_each_head() -> None:
    drawn = Problem(seed=1, token_count=3, dim=8, heads=2, position="t5:table=randint")
    assert drawn.position.parameters["table"].shape == (4, 2)


def test_a_drawn_table_of_positions_has_a_row_for_each_token() -> None:
    drawn = Problem(seed=1, token_count=3, dim=8, heads=2, position="learned:table=randint")
    assert drawn.position.parameters["table"].shape == (3, 8)


def test_what_was_made_is_known_by_its_generator() -> None:
    spec = Problem(seed=1, embeddings=[[1, 2]], w_q="zeros", init="uniform", score="general:w=normal").spec
    made = {name: str(generator) for name, generator in spec.generators.items()}
    assert made == {"w_q": "zeros", "w_k": "uniform", "w_v": "uniform", "score.w": "normal"}


def test_a_matrix_made_by_rule_needs_no_seed() -> None:
    drawn = Problem(query=[[1.0, 2, 3]], key=[[1.0, 2]], score="general:w=identity", tokens=["a"])
    assert drawn.score.parameters["w"].tolist() == [[1, 0], [0, 1], [0, 0]]


SHAPES: dict[str, tuple[dict[str, Any], dict[str, tuple[int, ...]]]] = {
    "square by default": ({}, {"embeddings": (3, 4), "w_q": (4, 4), "w_k": (4, 4), "w_v": (4, 4)}),
    "d_k for queries and keys, d_v for values": (
        {"d_k": 5, "d_v": 7},
        {"w_q": (4, 5), "w_k": (4, 5), "w_v": (4, 7)},
    ),
    "d_v is dim where it is not given": ({"d_k": 5}, {"w_v": (4, 4)}),
    "stored as nn.Linear stores them": (
        {"d_k": 5, "d_v": 7, "weight_layout": "out_in"},
        {"embeddings": (3, 4), "w_q": (5, 4), "w_v": (7, 4)},
    ),
    "output weights where there are several heads": (
        {"heads": 2, "d_v": 6},
        {"w_q": (4, 4), "w_v": (4, 6), "w_o": (6, 4)},
    ),
    "queries as wide as the keys that are given": ({"w_k": [[0.0] * 5] * 4}, {"w_q": (4, 5)}),
    "a bias that is drawn": ({"b_q": "normal", "d_k": 5}, {"b_q": (5,)}),
    "another sequence of queries": (
        {"query_embeddings": [[1, 2]], "w_q": "normal"},
        {"w_q": (2, 4), "w_k": (4, 4)},
    ),
}


@pytest.mark.parametrize(("keys", "shapes"), SHAPES.values(), ids=SHAPES)
def test_a_drawn_array_has_the_shape_that_the_others_imply(
    keys: dict[str, Any], shapes: dict[str, tuple[int, ...]]
) -> None:
    drawn = Problem(seed=1, embeddings="normal", token_count=3, dim=4, init="normal", **keys)
    assert {name: getattr(drawn, name).shape for name in shapes} == shapes


def test_without_init_integers_from_0_to_2_are_drawn() -> None:
    drawn = Problem(seed=1, token_count=50, dim=9)
    for name in ("embeddings", "w_q", "w_k", "w_v"):
        assert set(getattr(drawn, name).ravel()) == {0, 1, 2}, name
    assert drawn.w_o is None


def test_given_arrays_are_not_drawn() -> None:
    drawn = Problem(seed=1, embeddings=[[1, 2]], w_k="identity", init="ones")
    assert drawn.w_k is not None
    assert drawn.w_k.tolist() == [[1, 0], [0, 1]]
    assert drawn.w_v is not None
    assert drawn.w_v.tolist() == [[1, 1], [1, 1]]
    assert Problem(embeddings=[[1, 2]]).w_q is None


def test_queries_that_are_given_need_no_weights() -> None:
    drawn = Problem(query=[[1.0, 2.0]], key=[[1.0, 2.0]], seed=1, init="normal")
    assert (drawn.w_q, drawn.w_k, drawn.w_v) == (None, None, None)


def test_a_score_may_have_its_own_matrix_drawn() -> None:
    drawn = Problem(
        query=[[1.0, 2, 3]],
        key=[[1.0, 2]],
        seed=3,
        score={"additive": {"w1": "normal", "w2": "normal", "v": [1, 2, 3, 4, 5]}},
    )
    stream = np.random.default_rng(3)
    np.testing.assert_array_equal(drawn.score.parameters["w1"], stream.normal(size=(2, 5)))
    np.testing.assert_array_equal(drawn.score.parameters["w2"], stream.normal(size=(3, 5)))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"token_count": 3, "dim": 2}, "seed: embeddings is drawn at random and there is no seed"),
        (
            {"embeddings": "normal", "dim": 2, "tokens": ["464", "3797"]},
            "there is no seed; without a token_table, which a model's first layer has, tokens are only labels",
        ),
        ({"seed": 2**32, "generator": "legacy", "token_count": 3, "dim": 2}, "seed"),
        (
            {"seed": 1, "token_count": 10**13, "dim": 2},
            "token_count: embeddings of 10000000000000 × 2 numbers needs 160.0 TB",
        ),
        ({"seed": 1, "token_count": 10**30, "dim": 2}, "token_count: embeddings of 1"),
        ({"seed": 1, "token_count": 2, "dim": 1e13}, "dim: embeddings of 2 × 10000000000000 numbers needs"),
        ({"seed": 1, "token_count": 2, "dim": 2, "d_k": 10**20}, "d_k: w_q of 2 × 100000000000000000000 numbers needs"),
        ({"seed": 1, "token_count": 2, "dim": 2, "d_v": 10**18}, "d_v: w_v of 2 × 1000000000000000000 numbers needs"),
        ({"embeddings": [[1]], "heads": 10**12}, "heads: 1000000000000 heads can't share the 1 feature"),
        ({"embeddings": [[1]], "kv_heads": 10**30}, "kv_heads: 1 query head can't share 1"),
        ({"seed": 1, "dim": 2}, "token_count: embeddings is drawn and its size is not known"),
        ({"seed": 1, "token_count": 2}, "dim: embeddings is drawn and its size is not known"),
        ({"embeddings": [[1]], "w_q": "normal:std=-1", "seed": 1}, "w_q: normal:std=-1 can't be drawn"),
        ({"embeddings": [[1]], "w_q": "randint:low=3,high=3", "seed": 1}, "can't be drawn"),
        (
            {"embeddings": [[1]], "w_q": "normal:sdt=1", "seed": 1},
            "unknown parameter of normal 'sdt'; did you mean 'std'",
        ),
    ],
)
def test_an_array_that_can_not_be_drawn_is_an_error(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        Problem(**keys)
    assert message in str(caught.value)


def test_a_drawn_parameter_has_the_layout_of_given_ones() -> None:
    drawn = Problem(
        query=[[1.0, 2, 3]],
        key=[[1.0, 2]],
        seed=3,
        score={"additive": {"w1": np.ones((5, 2)), "w2": "normal", "v": [1, 2, 3, 4, 5]}},
        weight_layout="out_in",
    )
    np.testing.assert_array_equal(drawn.spec.score.parameters["w2"], np.random.default_rng(3).normal(size=(5, 3)).T)
