"""The blockwise engine on infinite values, overflow, queries without visible keys, and large limits."""

import itertools
from typing import Any

import numpy as np
import pytest

import attncli
from attncli import AttnError
from attncli.engine import run as run_module
from attncli.engine import threads
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import LOCAL, run
from tests.problems import dense_trace, problem

Q, K, V = (np.random.default_rng(seed).standard_normal((400, 8)) for seed in range(3))


def both(options: RunOptions = LOCAL, **keys: Any) -> tuple[Any, Any]:
    """The result in blocks and the trace of the dense engine."""
    one = problem(**{"query": Q, "key": K, "value": V, **keys})
    return run(one, ("output",), options=options), dense_trace(one)


@pytest.mark.parametrize(
    ("normalize", "scale"),
    [
        *(("softmax", scale) for scale in (1e-9, 1.0, 40.0, 1e4, 1e200)),
        *itertools.product(["softmax1", "sigmoid", "hardmax", "none"], [40.0, 1e200]),
    ],
)
def test_scores_of_any_size_are_safe(normalize: str, scale: float) -> None:
    result, dense = both(query=Q * scale, normalize=normalize)
    np.testing.assert_allclose(
        result.output, dense["output"].value, rtol=1e-9, atol=1e-9 * (scale if normalize == "none" else 1)
    )


@pytest.mark.parametrize("normalize", ["softmax", "softmax1", "hardmax"])
def test_an_infinite_value_reaches_only_queries_that_attend_to_it(normalize: str) -> None:
    value, key = V.copy(), K * 1e5  # each query attends to the nearest key, and the others weigh exactly 0
    favourites = (Q @ K.T).argmax(axis=-1)
    value[favourites[0]], value[favourites[300]] = np.inf, np.nan
    result, dense = both(key=key, value=value, normalize=normalize)
    np.testing.assert_allclose(result.output, dense["output"].value, rtol=1e-9)
    assert np.isfinite(result.output).any()
    assert not np.isfinite(result.output).all()


def test_a_masked_key_may_be_nan_or_infinite() -> None:
    key, value = K.copy(), V.copy()
    key[350:], value[350:] = np.nan, np.inf
    result, dense = both(key=key, value=value, key_lengths=[350])
    np.testing.assert_allclose(result.output, dense["output"].value, rtol=1e-12, atol=1e-13)
    assert np.isfinite(result.output).all()


@pytest.mark.parametrize(("hidden", "factor"), [(np.inf, 1), (-np.inf, 0), (np.nan, 1), (1e300, 0)])
def test_a_key_masked_for_most_queries_may_be_infinite(hidden: float, factor: int) -> None:
    """Also where queries are zeros."""
    query = factor * Q
    key, mask = K.copy(), np.random.default_rng(8).random((400, 400)) < 0.9
    key[350:], mask[:, 350:], mask[7, 350:] = hidden, False, True  # visible to one query
    result, dense = both(query=query, key=key, mask=mask)
    np.testing.assert_allclose(result.output, dense["output"].value, rtol=1e-11, atol=1e-13)
    assert np.isfinite(np.delete(result.output, 7, axis=0)).all()


@pytest.mark.parametrize(
    "keys",
    [
        {"window": (10**12, 3)},
        {"window": (3, 2**31)},
        {"position": {"t5": {"table": V[:8, :1], "max_distance": 10**12}}},
        {"position": {"t5": {"table": V[:8, :1], "max_distance": 2**31 - 1, "bidirectional": False}}},
    ],
    ids=["far to the left", "far to the right", "t5", "t5 to the left"],
)
def test_a_limit_may_lie_beyond_every_key(keys: dict[str, Any]) -> None:
    result, dense = both(**keys)
    np.testing.assert_allclose(result.output, dense["output"].value, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("normalize", ["softmax", "sparsemax", "sigmoid", "sum"])
def test_queries_that_attend_to_nothing_are_named_in_a_note(normalize: str) -> None:
    mask = np.ones((400, 400), bool)
    mask[[3, 250]] = False
    result, dense = both(mask=mask, normalize=normalize)
    assert [note.count("query_4, query_251") for note in result.trace.notes] == [1]
    assert list(dense.notes) == list(result.trace.notes)
    assert not result.output[[3, 250]].any()


@pytest.mark.parametrize("select", ["masked_scores", "exponentials", "weights", "output"])
def test_they_are_named_whichever_step_is_selected_of_those_after_the_mask(select: str) -> None:
    """Of a large problem nothing else is computed; of a small one every step is."""
    mask = np.ones((400, 400), bool)
    mask[[3, 250]] = False
    result = attncli.attention(Q[:400], K[:400], V[:400], mask=mask, select=(select,))
    assert [note.count("query_4, query_251") for note in result.trace.notes] == [1]


@pytest.mark.parametrize(
    ("select", "noted"),
    [
        (("masked_scores", "scores"), "masked_scores"),
        (("context", "masked_scores"), "context"),
        (("output", "weights"), "weights"),
    ],
    ids=str,
)
def test_the_note_is_on_the_weights_or_on_the_last_step_before_the_output(select: tuple[str, ...], noted: str) -> None:
    """In whatever order steps are selected."""
    mask = np.ones((400, 400), bool)
    mask[3] = False
    trace = attncli.attention(Q, K, V, mask=mask, select=select).trace
    assert [step.name for step in trace if step.notes] == [noted]


def test_a_context_that_a_half_type_has_no_number_for_is_told_by_a_note_alone() -> None:
    """NumPy's own warning would name no cell."""
    ones = np.ones((400, 8))
    result = attncli.attention(ones, ones, 1000 * ones, normalize="none", dtype="float16")
    assert np.isposinf(result.output).all()
    assert ["where the arithmetic overflowed" in note for note in result.trace.notes] == [True]


def test_scores_that_cancel_are_divided_by_the_sink() -> None:
    """They sum to 0, and the sink is their denominator: no query attends to nothing."""
    query, key = np.ones((400, 1)), np.tile([[1.0], [-1.0]], (200, 1))
    result, dense = both(query=query, key=key, value=key, normalize="sum", sink=[2])
    np.testing.assert_allclose(result.output, dense["output"].value, rtol=1e-12)
    assert (result.output == 200).all()  # 400 of ±1 times ±1, over 2
    assert not result.trace.notes
    assert not dense.notes


def test_an_overflow_is_noted() -> None:
    result, dense = both(query=Q * 1e160, key=K * 1e160)
    assert [note for note in result.trace.notes if "weights" in note or "scores" in note]
    assert set(result.trace.notes) <= set(dense.notes) | {
        "dot_products has numbers that are not finite: the arithmetic overflowed, or divided by 0"
    }


def test_a_large_problem_keeps_no_table_that_is_not_selected() -> None:
    result, _ = both()
    assert max(step.value.size for step in result.trace.steps) == Q.size
    assert {"weights", "scores"}.isdisjoint(step.name for step in result.trace.steps)


def test_a_small_problem_and_every_step_true_keep_every_step() -> None:
    small = attncli.attention(Q[:5], K, V)
    assert "weights" in {step.name for step in small.trace.steps}
    explained = run(problem(query=Q, key=K, value=V), ("output",), every_step=True)
    assert "weights" in {step.name for step in explained.trace.steps}


@pytest.mark.parametrize(
    "names",
    [("merged_output",), ("output", "weight"), ("w_q",)],
    ids=["a step that is none", "a misspelling", "not given"],
)
def test_an_unknown_result_is_an_error_before_anything_is_computed(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "DenseEngine", lambda *_: pytest.fail("something was computed"))
    monkeypatch.setattr(threads, "compute", lambda *_: pytest.fail("something was computed"))
    with pytest.raises(AttnError, match="unknown result"):
        attncli.Problem(query=Q, key=K, value=V).compute(names)


def test_the_allocator_is_called_once_for_a_table() -> None:
    tables: dict[str, np.ndarray] = {}

    def allocate(name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        tables[name] = np.full(shape, np.nan, dtype)
        return tables[name]

    one = problem(query=Q, key=K, value=V, causal=True)
    trace = run(one, ("weights",), options=RunOptions(allocate=allocate)).trace
    assert list(tables) == ["weights"]
    assert trace["weights"].value is tables["weights"]
    np.testing.assert_allclose(tables["weights"], dense_trace(one)["weights"].value, rtol=1e-12)


@pytest.mark.parametrize(("heads", "kv_heads", "rows"), list(itertools.product([6], [1, 2, 3, 6], [7, 400])))
def test_query_heads_that_share_a_key_head_are_in_one_block_or_several(heads: int, kv_heads: int, rows: int) -> None:
    options = RunOptions(sizes=BlockSizes(rows=rows, tile_cells=7 * rows))
    random = np.random.default_rng(5)
    inputs = {
        "query": random.standard_normal((2, heads, 90, 4)),
        "key": random.standard_normal((2, kv_heads, 110, 4)),
        "value": random.standard_normal((2, kv_heads, 110, 3)),
    }
    result, dense = both(options, **inputs)
    np.testing.assert_allclose(result.output, dense["output"].value, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("options", [LOCAL, RunOptions(sizes=BlockSizes(dense_cells=0, rows=1))])
def test_the_largest_weighted_value_leaves_out_what_masks_hide_and_nothing_that_is_rounded_to_0(
    dtype: str, options: RunOptions
) -> None:
    keys = {"query": [[1.0]] * 2, "key": [[0.0], [-120.0]], "value": [[-1.0], [5.0]], "context": "max", "dtype": dtype}
    seen = run(problem(**keys), ("output",), options=options).output
    np.testing.assert_allclose(seen.astype(float), [[0], [0]], atol=1e-50)
    hidden = run(problem(**keys, causal=True), ("output",), options=options).output
    np.testing.assert_allclose(hidden.astype(float), [[-1], [0]], atol=1e-50)
