"""Registered operators in blocks agree with the dense engine, whatever their parameters are called."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli import AttnError
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.ops.records import OnlineNormalizer, Quantity, Tap, no_tap
from attncli.render.sections import sections
from attncli.render.view import View
from tests.arrays import normal
from tests.problems import dense_trace, problem


def sharpened(
    scores: np.ndarray, running_max: np.ndarray | None, *, sharpness: float, out: object = None
) -> np.ndarray:
    """The numerators of a softmax of `sharpness · scores`."""
    return np.exp(sharpness * (scores if running_max is None else scores - running_max))


@pytest.fixture
def sharp_softmax(restored_registry: None) -> None:
    """A normalizer whose parameter is not called `temperature`, registered for one test."""

    @attncli.normalizer(
        formula="Aᵢⱼ = exp(β Sᵢⱼ) / Σⱼ exp(β Sᵢⱼ)",
        shapes="scores[n m] -> [n m]",
        source="this test",
        example={"scores": [[0, 0]], "sharpness": 2, "gives": [[0.5, 0.5]]},
        is_distribution=True,
        online=OnlineNormalizer(sharpened, exp_scale=lambda parameters: parameters["sharpness"]),
    )
    def sharp_softmax(scores: np.ndarray, *, sharpness: float = 1.0) -> np.ndarray:
        """Softmax of the scores times a sharpness."""
        numerator = sharpened(scores, scores.max(axis=-1, keepdims=True), sharpness=sharpness)
        return numerator / numerator.sum(axis=-1, keepdims=True)


@pytest.mark.usefixtures("sharp_softmax")
@pytest.mark.parametrize("sharpness", [1.0, 2.5, 0.3, 40.0])
def test_the_parameter_of_an_exponential_normalizer_may_have_any_name(sharpness: float) -> None:
    keys = {"query": normal(5, 4), "key": normal(7, 4), "value": normal(7, 3), "causal": True}
    keys["normalize"] = {"sharp_softmax": {"sharpness": sharpness}}
    one = problem(**keys)
    options = RunOptions("serial", sizes=BlockSizes(dense_cells=0))
    dense, in_blocks = dense_trace(one)["output"].value, run(one, ("output",), options=options).output
    np.testing.assert_allclose(in_blocks, dense, rtol=1e-12, atol=1e-13)


IN_BLOCKS = RunOptions("serial", sizes=BlockSizes(dense_cells=0, rows=2, masked_rows=2, tile_cells=6, row_cells=14))
PAIRS = "query_positions[n], key_positions[m] -> [n m]"
EXAMPLE = {"query_positions": [0], "key_positions": [0], "gives": [[0]]}
HEADS = {"query": normal(2, 6, 5, 4), "key": normal(2, 2, 7, 4), "value": normal(2, 2, 7, 3)}


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize("normalize", ["softmax", "sparsemax"], ids=["tiles", "whole rows"])
def test_a_position_of_ones_own_may_compute_with_the_number_of_heads(normalize: str) -> None:
    """In blocks too it gets the number of all heads, and not of those that a block happens to have."""

    @attncli.position(
        formula="−|posᵢ − j| / (h + 1)", shapes=PAIRS, source="this test", example=EXAMPLE, acts_on="scores"
    )
    def slower(query_positions: np.ndarray, key_positions: np.ndarray, heads: int | None = None) -> np.ndarray:
        """Each head falls more slowly with the distance than the one before."""
        distance = abs(query_positions[..., :, None] - key_positions)
        return -distance / np.arange(1, heads + 1).reshape(-1, 1, 1) if heads else -distance

    one = problem(**HEADS, position="slower", normalize=normalize)
    whole = dense_trace(one)
    expected = -abs(np.arange(5)[:, None] - np.arange(7)) / np.arange(1, 7).reshape(6, 1, 1)
    np.testing.assert_allclose(whole["position_bias"].value, expected)
    np.testing.assert_allclose(run(one, ("output",), options=IN_BLOCKS).output, whole["output"].value, rtol=1e-12)


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize("count", [380, 1300], ids=["few", "many"])
def test_a_position_of_ones_own_gets_neighbouring_queries_and_keys(count: int) -> None:
    """Also where some of them are tried first, which the size of the scores makes worth while."""

    @attncli.position(
        formula="biasⱼ",
        shapes="query_positions[n], key_positions[m], row[t] -> [n m]",
        source="this test",
        example=EXAMPLE | {"row": [0]},
        acts_on="scores",
    )
    def by_key(query_positions: np.ndarray, key_positions: np.ndarray, *, row: np.ndarray) -> np.ndarray:
        """A bias of each key, of which those between the first and the last are taken."""
        for positions in (query_positions, key_positions):
            np.testing.assert_array_equal(np.diff(positions), 1)
        part = row[int(key_positions[0]) : int(key_positions[-1]) + 1]
        return np.broadcast_to(part, (len(query_positions), len(part)))

    given = {"query": normal(count, 16), "key": normal(count, 16, seed=1), "value": normal(count, 16, seed=2)}
    one = problem(**given, position={"by_key": {"row": 9 * normal(count)}})
    expected = dense_trace(one)["output"].value
    np.testing.assert_allclose(run(one, ("output",)).output, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("restored_registry")
def test_a_position_of_ones_own_need_not_take_the_number_of_heads() -> None:
    @attncli.position(formula="−(posᵢ − j)²", shapes=PAIRS, source="this test", example=EXAMPLE, acts_on="scores")
    def squared(query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
        """The squared distance, negative."""
        return -((query_positions[..., :, None] - key_positions) ** 2)

    one = problem(**HEADS, position="squared")
    whole = dense_trace(one)
    assert whole["position_bias"].axes == ("n", "m")
    np.testing.assert_array_equal(whole["position_bias"].value, -((np.arange(5)[:, None] - np.arange(7)) ** 2))
    np.testing.assert_allclose(run(one, ("output",), options=IN_BLOCKS).output, whole["output"].value, rtol=1e-12)


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize("options", [RunOptions(), IN_BLOCKS], ids=["whole", "blocks"])
def test_an_operator_of_ones_own_that_fails_is_named(options: RunOptions) -> None:
    @attncli.score(formula="0", shapes="query[n d], key[m d] -> [n m]", source="this test", example={"gives": [[0]]})
    def fails(query: np.ndarray, key: np.ndarray) -> np.ndarray:
        """Fails."""
        raise ZeroDivisionError("not today")

    message = r"score fails: its function failed \(ZeroDivisionError: not today\); fix it in .*own_operators"
    with pytest.raises(AttnError, match=message):
        run(problem(**HEADS, score="fails"), options=options)


def fail(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("not today")


def without_the_inner_step(write: Any, query: np.ndarray, key: np.ndarray, result: Any) -> list[str]:
    return [write.equation(query @ key, result)]


FAILURES: dict[str, tuple[dict[str, Any], str]] = {
    "the check": ({"check": fail}, r"its check failed \(ZeroDivisionError: not today\); fix it in .*own_oper"),
    "the formula": ({"formula_in_force": fail}, r"its formula_in_force failed \(ZeroDivisionError: not today\)"),
    "the worked lines": ({"by_hand": fail}, r"its by_hand failed \(ZeroDivisionError: not today\)"),
    "their arguments": ({"by_hand": without_the_inner_step}, r"its by_hand failed \(TypeError: .*'products'\)"),
    "what they are": ({"by_hand": lambda *_, **__: "2"}, r"its by_hand returned '2'; expected a list of lines"),
}


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize(("functions", "message"), FAILURES.values(), ids=FAILURES)
def test_every_function_of_an_operator_of_ones_own_that_fails_is_named(functions: dict[str, Any], message: str) -> None:
    @attncli.score(
        formula="Sᵢⱼ = Qᵢ·Kⱼ",
        shapes="query[n d], key[m d] -> [n m]",
        source="this test",
        example={"query": [[1]], "key": [[2]], "gives": [[2]]},
        inner=(Quantity("products", "P", "Qᵢ·Kⱼ", ("n", "m")),),
        **functions,
    )
    def mine(query: np.ndarray, key: np.ndarray, *, tap: Tap = no_tap) -> np.ndarray:
        """The dot product."""
        return tap("products", query @ key.mT)

    with pytest.raises(AttnError, match=f"mine: {message}"):
        list(sections(View(run(problem(query=[[1.0]], key=[[2.0]], score="mine")), explain=True)))


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize("options", [RunOptions(), IN_BLOCKS], ids=["whole", "blocks"])
def test_a_mask_of_ones_own_returns_truths_and_nothing_else(options: RunOptions) -> None:
    """A mask of 0 and −∞, to be added, would hide what it should show."""

    @attncli.mask(formula="0 or −∞", shapes=PAIRS, source="this test", example=EXAMPLE)
    def additive_mask(query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
        """0 where the query may attend, −∞ elsewhere."""
        return np.where(key_positions <= query_positions[..., :, None], 0, -np.inf)

    message = r"mask additive_mask: its function returned 2 axes of float64; expected true and false with the axes"
    with pytest.raises(AttnError, match=message):
        run(problem(**HEADS, mask="additive_mask"), ("output",), options=options)


@pytest.mark.usefixtures("restored_registry")
def test_a_result_with_other_axes_than_its_kind_has_is_refused() -> None:
    @attncli.score(formula="0", shapes="query[n d], key[m d] -> [n m]", source="this test", example={"gives": [[0]]})
    def flat(query: np.ndarray, key: np.ndarray) -> np.ndarray:
        """One number for each query."""
        return query.sum(axis=-1)

    with pytest.raises(AttnError, match=r"score flat: its function returned 3 axes of float64; expected real numbers"):
        run(problem(**HEADS, score="flat"))


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize("scale", [1.0, 4.0], ids=["small scores", "large scores, which are tried on some queries"])
@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_an_operator_may_itself_compute_a_problem_in_blocks(executor: str, scale: float) -> None:
    inner = [scale * normal(700, 8, seed=seed) for seed in range(3)]

    @attncli.mask(formula="all", shapes=PAIRS, source="this test", example=EXAMPLE | {"gives": [[True]]})
    def computing(query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
        """Every key, after other attention."""
        if len(key_positions) > 1:
            attncli.attention(*inner, executor=executor)
        return query_positions[..., :, None] + key_positions >= 0

    given = [scale * normal(700, 8, seed=seed) for seed in range(3, 6)]
    expected = attncli.attention(*given).output
    output = attncli.attention(*given, mask="computing", executor=executor).output
    np.testing.assert_allclose(output, expected, atol=1e-12)


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize("normalize", ["softmax", "sigmoid", "hardmax", "relu"])
@pytest.mark.parametrize("given", [{}, {"mask": normal(9, 7) < 0}, {"causal": True}], ids=["free", "dense", "causal"])
@pytest.mark.parametrize("is_writable", [True, False])
def test_a_score_of_ones_own_may_be_a_view_of_what_it_reads(
    normalize: str, given: dict[str, Any], is_writable: bool
) -> None:
    """The memory of scores is used for what follows from them, that of queries and keys is not."""

    @attncli.score(
        formula="Sᵢⱼ = Qᵢⱼ",
        shapes="query[n d], key[m d] -> [n m]",
        source="this test",
        example={"query": [[1]], "key": [[2]], "gives": [[1]]},
    )
    def numbers_of_the_query(query: np.ndarray, key: np.ndarray) -> np.ndarray:
        """The numbers of the query, one for each key."""
        numbers = query[..., : key.shape[-2]]
        numbers.flags.writeable = numbers.flags.writeable and is_writable
        return numbers

    query = normal(9, 7)
    one = problem(
        query=query, key=normal(7, 7), value=normal(7, 3), score="numbers_of_the_query", normalize=normalize, **given
    )
    expected = dense_trace(one)["output"].value
    all_keys_at_once = RunOptions("serial", sizes=BlockSizes(dense_cells=0, rows=4, masked_rows=4))
    for _ in range(2):
        in_blocks = run(one, ("output",), options=all_keys_at_once).output
        np.testing.assert_allclose(in_blocks, expected, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(one.query, query)
