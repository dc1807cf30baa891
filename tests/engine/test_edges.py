"""What blocks do with what is odd: infinite values, scores that overflow, rows that see nothing."""

import itertools
from typing import Any

import numpy as np
import pytest

import attncli
from attncli import AttnError
from attncli.engine import executors
from attncli.engine import run as run_module
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import LOCAL, run
from tests.problems import dense_trace, problem

Q, K, V = (np.random.default_rng(seed).standard_normal((400, 8)) for seed in range(3))


def both(options: RunOptions = LOCAL, **keys: Any) -> tuple[Any, Any]:
    """A large problem in blocks, and whole."""
    one = problem(**{"query": Q, "key": K, "value": V, **keys})
    return run(one, ("output",), options=options), dense_trace(one)


@pytest.mark.parametrize("normalize", ["softmax", "softmax1", "hardmax", "sigmoid", "none"])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 40.0, 1e4, 1e200])
def test_scores_of_any_size_are_safe(normalize: str, scale: float) -> None:
    result, whole = both(query=Q * scale, normalize=normalize)
    np.testing.assert_allclose(
        result.output, whole["output"].value, rtol=1e-9, atol=1e-9 * (scale if normalize == "none" else 1)
    )


@pytest.mark.parametrize("normalize", ["softmax", "softmax1", "hardmax"])
def test_a_value_that_is_infinite_reaches_those_who_attend_to_it(normalize: str) -> None:
    value, key = V.copy(), K * 1e5  # each query attends to the nearest key, and the others weigh exactly 0
    favourites = (Q @ K.T).argmax(axis=-1)
    value[favourites[0]], value[favourites[300]] = np.inf, np.nan
    result, whole = both(key=key, value=value, normalize=normalize)
    np.testing.assert_allclose(result.output, whole["output"].value, rtol=1e-9)
    assert np.isfinite(result.output).any()
    assert not np.isfinite(result.output).all()


def test_a_hidden_key_may_hold_anything() -> None:
    key, value = K.copy(), V.copy()
    key[350:], value[350:] = np.nan, np.inf
    result, whole = both(key=key, value=value, key_lengths=[350])
    np.testing.assert_allclose(result.output, whole["output"].value, rtol=1e-12, atol=1e-13)
    assert np.isfinite(result.output).all()


@pytest.mark.parametrize("hidden", [np.inf, -np.inf, np.nan, 1e300])
@pytest.mark.parametrize("query", [Q, 0 * Q], ids=["any query", "a query of zeros"])
def test_a_hidden_key_may_be_infinitely_far_away(hidden: float, query: np.ndarray) -> None:
    key, mask = K.copy(), np.random.default_rng(8).random((400, 400)) < 0.9
    key[350:], mask[:, 350:], mask[7, 350:] = hidden, False, True  # one query sees them
    result, whole = both(query=query, key=key, mask=mask)
    np.testing.assert_allclose(result.output, whole["output"].value, rtol=1e-11, atol=1e-13)
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
    result, whole = both(**keys)
    np.testing.assert_allclose(result.output, whole["output"].value, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("normalize", ["softmax", "sparsemax", "sigmoid", "sum"])
def test_who_attends_to_nothing_is_said(normalize: str) -> None:
    mask = np.ones((400, 400), bool)
    mask[[3, 250]] = False
    result, whole = both(mask=mask, normalize=normalize)
    assert list(result.trace.notes) == ["nothing is attended by query_4, query_251: weights 0, output 0"]
    assert list(whole.notes) == list(result.trace.notes)
    assert not result.output[[3, 250]].any()


def test_scores_that_cancel_beside_a_sink_are_attended_to() -> None:
    """They sum to 0, and the sink divides them: nobody attends to nothing."""
    query, key = np.ones((400, 1)), np.tile([[1.0], [-1.0]], (200, 1))
    result, whole = both(query=query, key=key, value=key, normalize="sum", sink=[2])
    np.testing.assert_allclose(result.output, whole["output"].value, rtol=1e-12)
    assert (result.output == 200).all()  # 400 of ±1 times ±1, over 2
    assert not result.trace.notes
    assert not whole.notes


def test_an_overflow_is_said() -> None:
    result, whole = both(query=Q * 1e160, key=K * 1e160)
    assert [note for note in result.trace.notes if "weights" in note or "scores" in note]
    assert set(result.trace.notes) <= set(whole.notes) | {
        "dot_products has numbers that are not finite: the arithmetic overflowed, or divided by 0"
    }


def test_a_large_problem_keeps_no_table_that_nobody_asked_for() -> None:
    result, _ = both()
    assert max(step.value.size for step in result.trace.steps) == Q.size
    assert {"weights", "scores"}.isdisjoint(step.name for step in result.trace.steps)


def test_a_small_problem_and_one_that_is_explained_keep_every_step() -> None:
    small = attncli.attention(Q[:5], K, V)
    assert "weights" in {step.name for step in small.trace.steps}
    explained = run(problem(query=Q, key=K, value=V), ("output",), every_step=True)
    assert "weights" in {step.name for step in explained.trace.steps}


@pytest.mark.parametrize(
    "names",
    [("merged_output",), ("output", "weight"), ("w_q",)],
    ids=["a step that is none", "a misspelling", "not given"],
)
def test_a_name_that_no_step_has_is_met_before_any_work(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "DenseEngine", lambda *_: pytest.fail("it worked"))
    monkeypatch.setattr(executors, "compute", lambda *_: pytest.fail("it worked"))
    with pytest.raises(AttnError, match="unknown result"):
        attncli.Problem(query=Q, key=K, value=V).compute(names)


def test_room_for_a_table_is_asked_for_once_and_filled() -> None:
    rooms: dict[str, np.ndarray] = {}

    def allocate(name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        rooms[name] = np.full(shape, np.nan, dtype)
        return rooms[name]

    one = problem(query=Q, key=K, value=V, causal=True)
    trace = run(one, ("weights",), options=RunOptions(allocate=allocate)).trace
    assert list(rooms) == ["weights"]
    assert trace["weights"].value is rooms["weights"]
    np.testing.assert_allclose(rooms["weights"], dense_trace(one)["weights"].value, rtol=1e-12)


@pytest.mark.parametrize(("heads", "kv_heads", "rows"), list(itertools.product([6], [1, 2, 3, 6], [7, 400])))
def test_query_heads_that_share_a_key_head_go_together_or_apart(heads: int, kv_heads: int, rows: int) -> None:
    options = RunOptions(sizes=BlockSizes(rows=rows, tile_cells=7 * rows))
    random = np.random.default_rng(5)
    apart = {
        "query": random.standard_normal((2, heads, 90, 4)),
        "key": random.standard_normal((2, kv_heads, 110, 4)),
        "value": random.standard_normal((2, kv_heads, 110, 3)),
    }
    result, whole = both(options, **apart)
    np.testing.assert_allclose(result.output, whole["output"].value, rtol=1e-11, atol=1e-13)
