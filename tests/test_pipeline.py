"""The pipeline as a whole: published numbers, and heads and operators together."""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from attncli import Problem, attention
from attncli.ops import operators
from tests.arrays import normal

# Distinct primes, so that a swapped axis can't hide: queries, keys, and the features of a head.
N, M, D, E, HEADS = 3, 5, 7, 11, 2

TUTORIAL = {
    "tokens": ["word_1", "word_2", "word_3", "word_4"],
    "embeddings": [[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]],
    "w_q": [[2, 0, 2], [2, 0, 0], [2, 1, 2]],
    "w_k": [[2, 2, 2], [0, 2, 1], [0, 1, 1]],
    "w_v": [[1, 1, 0], [0, 1, 1], [0, 0, 0]],
}
PUBLISHED_OUTPUT = [
    [0.98522025, 1.74174051, 0.75652026],
    [0.90965265, 1.40965265, 0.5],
    [0.99851226, 1.75849334, 0.75998108],
    [0.99560386, 1.90407309, 0.90846923],
]


def test_the_tutorial_gives_its_published_numbers() -> None:
    result = Problem(**TUTORIAL).compute()
    assert result.trace["dot_products"].value[0].tolist() == [8, 2, 10, 2]
    np.testing.assert_allclose(result.weights[0], [0.23608986, 0.00738988, 0.74913039, 0.00738988], rtol=0, atol=0.5e-8)
    np.testing.assert_allclose(result.output, PUBLISHED_OUTPUT, rtol=0, atol=0.5e-8)


def test_the_tutorials_matrices_come_from_its_seed() -> None:
    drawn = Problem(embeddings=TUTORIAL["embeddings"], seed=42, generator="legacy", init="randint:low=0,high=3")
    np.testing.assert_array_equal(drawn.w_q, TUTORIAL["w_q"])
    np.testing.assert_allclose(drawn.compute().output, PUBLISHED_OUTPUT, rtol=0, atol=0.5e-8)


@pytest.mark.parametrize(
    ("only", "rows"),
    [(["word_1"], [0]), (["word_3", "word_1"], [2, 0]), ([1], [1]), ([-1], [3]), (["word_2", "3"], [1, 3])],
)
def test_selected_queries_have_the_results_that_they_have_among_all(only: list[str], rows: list[int]) -> None:
    alone, among_all = Problem(**TUTORIAL, only=only).compute(), Problem(**TUTORIAL).compute()
    assert alone.query_tokens == tuple(TUTORIAL["tokens"][row] for row in rows)
    assert alone.key_tokens == tuple(TUTORIAL["tokens"])
    np.testing.assert_allclose(alone.weights, among_all.weights[rows], rtol=1e-15)
    np.testing.assert_allclose(alone.output, among_all.output[rows], rtol=1e-15)


def test_one_head_is_the_plain_formula() -> None:
    query, key, value = normal(N, D), normal(M, D), normal(M, E)
    output = attention(query, key, value).output
    for i in range(N):
        scores = [math.fsum(a * b for a, b in zip(query[i], key[j], strict=True)) / math.sqrt(D) for j in range(M)]
        total = math.fsum(map(math.exp, scores))
        for e in range(E):
            expected = math.fsum(math.exp(s) / total * value[j, e] for j, s in enumerate(scores))
            assert output[i, e] == pytest.approx(expected, rel=1e-14)


def test_each_head_attends_with_its_slice_of_the_features() -> None:
    query, key, value = normal(N, HEADS * D), normal(M, HEADS * D), normal(M, HEADS * E)
    together = attention(query, key, value, heads=HEADS, select=("weights", "context", "output"))
    assert together.weights.shape == (HEADS, N, M)
    assert together.context.shape == (HEADS, N, E)
    for head in range(HEADS):
        of_d, of_e = slice(head * D, (head + 1) * D), slice(head * E, (head + 1) * E)
        alone = attention(query[:, of_d], key[:, of_d], value[:, of_e], select=("weights", "output"))
        np.testing.assert_allclose(together.weights[head], alone.weights, rtol=1e-14)
        np.testing.assert_allclose(together.output[:, of_e], alone.output, rtol=1e-14)


def test_weight_layout_transposes_weights_only() -> None:
    x, w, parameters = normal(M, D), normal(D, E), {"w": normal(E, E)}
    given = {"embeddings": x, "w_q": w, "w_k": w, "b_q": normal(E)}
    stored = {key: value.T if key.startswith("w_") else value for key, value in given.items()}
    in_out = Problem(**given, score={"general": parameters}).compute()
    out_in = Problem(**stored, score={"general": {"w": parameters["w"].T}}, weight_layout="out_in").compute()
    np.testing.assert_allclose(in_out.output, out_in.output, rtol=1e-13)


def test_without_values_the_keys_are_the_values() -> None:
    query, key = normal(N, D), normal(M, D)
    np.testing.assert_array_equal(attention(query, key).output, attention(query, key, key).output)


def test_a_missing_projection_is_the_identity() -> None:
    x = normal(M, D)
    np.testing.assert_array_equal(Problem(embeddings=x).compute().output, attention(x, x, x).output)


@pytest.mark.parametrize(("score", "unscaled"), [("scaled_dot", "dot"), ("dot", "dot"), ("euclidean", "euclidean")])
def test_a_scale_replaces_that_of_the_score(score: str, unscaled: str) -> None:
    query, key = normal(N, D), normal(M, D)
    scaled = attention(query, key, score=score, scale=0.3, select=("scores",)).scores
    plain = attention(query, key, score=unscaled, select=("scores",)).scores
    np.testing.assert_allclose(scaled, 0.3 * plain, rtol=1e-15)


def test_a_score_may_have_a_matrix_for_each_head() -> None:
    query, key = normal(N, HEADS * D), normal(M, HEADS * D)
    w = normal(HEADS, D, D)
    together = attention(query, key, heads=HEADS, score={"general": {"w": w}}, select=("scores",)).scores
    for head in range(HEADS):
        share = slice(head * D, (head + 1) * D)
        expected = query[:, share] @ w[head] @ key[:, share].T
        np.testing.assert_allclose(together[head], expected, rtol=1e-13)


PARAMETERS = {
    "general": {"w": normal(D, D)},
    "additive": {"w1": normal(D, 13), "w2": normal(D, 13), "v": normal(13), "b": normal(13)},
    "location": {"w": normal(D, M)},
    "topk": {"k": 2},
    "attentional": {"w": normal(E + D, 17)},
    "softmax": {"temperature": 0.7},
    "entmax": {"alpha": 1.3},
}
SCORES, NORMALIZERS, CONTEXTS = (list(operators(kind)) for kind in ("score", "normalize", "context"))


def pipelines() -> Iterator[tuple[str, str, str]]:
    """Every score with every normalizer once; the contexts take turns."""
    for (i, score), (j, normalize) in product(enumerate(SCORES), enumerate(NORMALIZERS)):
        context = CONTEXTS[(i + j) % len(CONTEXTS)]
        can_draw = context != "sample" or operators("normalize")[normalize].is_distribution
        yield score, normalize, context if can_draw else "weighted_sum"


@pytest.mark.parametrize(("score", "normalize", "context"), list(pipelines()))
def test_a_head_has_the_results_of_its_slice_with_any_operators(score: str, normalize: str, context: str) -> None:
    stages = {
        stage: {name: PARAMETERS[name]} if name in PARAMETERS else name
        for stage, name in (("score", score), ("normalize", normalize), ("context", context))
    }
    query, key, value = normal(N, HEADS * D), normal(M, HEADS * D), normal(M, HEADS * E)
    names = ("scores", "weights", "context")
    together = attention(query, key, value, heads=HEADS, select=names, **stages)
    alone = attention(query[:, D:], key[:, D:], value[:, E:], select=names, **stages)
    for name in names if context != "sample" else names[:2]:
        np.testing.assert_allclose(getattr(together, name)[1], getattr(alone, name), rtol=1e-12, atol=1e-14)
    if context == "sample":  # each head draws on its own
        assert set(map(tuple, together.context[1])) <= set(map(tuple, value[:, E:]))
    assert together.context.shape == (HEADS, N, 17 if context == "attentional" else E)


def test_a_query_that_attends_to_nothing_gets_zeros_and_a_note() -> None:
    result = attention([[1.0], [-1.0]], [[1.0], [2.0]], normalize="relu", select=("weights", "output"))
    assert result.weights.tolist() == [[1, 2], [0, 0]]
    assert result.output[1].tolist() == [0]
    (note,) = result.trace.notes
    assert "query_2" in note


@pytest.mark.parametrize("dtype", ["float32", "float64", "longdouble"])
def test_arrays_keep_their_floating_type(dtype: str) -> None:
    query, key = normal(N, D).astype(dtype), normal(M, D).astype(dtype)
    for name in ("scores", "weights", "output"):
        assert getattr(attention(query, key, select=(name,)), name).dtype == dtype


def test_large_integers_become_floating_point_before_they_are_multiplied() -> None:
    large = 2**62
    scores = attention(np.array([[large]]), np.array([[large]]), score="dot", select=("scores",)).scores
    assert scores.tolist() == [[float(large) ** 2]]
