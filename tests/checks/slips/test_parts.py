"""Parts of a problem: what is computed of one is what the whole has there."""

from typing import Any

import numpy as np
import pytest

from attncli.checks.slips.parts import (
    Part,
    Priority,
    SearchLimits,
    all_parts,
    first_part,
    has_batch_parts,
    has_head_parts,
)
from attncli.checks.slips.search import Attempt, attempts, explain, own_attempt, run_attempt
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.problems import HEAD_AXIS, B, G, H, N, R, problem

NAMES = ("scores", "masked_scores", "weights", "context", "output")
SMALL = SearchLimits(part_cells=1, whole_cells=1)


def parts_of(spec: ProblemSpec) -> list[Part]:
    """Each kind of part that a problem has."""
    rows = [] if spec.recurrence is not None else [Part(rows=[0])]  # no query of a recurrence is computed alone
    parts = [*rows, first_part(spec, SMALL, Priority(item=B - 1, head=H - 1))]
    return parts + [part for at, part in enumerate(all_parts(spec, SMALL)) if at % 7 == 3]


def test_what_is_computed_of_a_part_is_what_the_whole_has_there(spec: ProblemSpec) -> None:
    whole = own_attempt(spec)
    names = [name for name in NAMES if name in whole.plan.results]
    values = run_attempt(whole, names)
    for part in parts_of(spec):
        attempt = own_attempt(spec, part=part)
        found = run_attempt(attempt, names)
        for name in names:
            expected = part.take(values[name], whole.plan[name].letters)
            np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-12, err_msg=f"{name} {part}")


def test_a_kernels_problem_is_taken_apart_by_queries_batch_items_and_key_heads() -> None:
    spec = problem(**HEAD_AXIS)
    assert first_part(spec, SMALL, Priority(item=1, head=H - 1)).positions("h") == range(H - R, H)
    assert first_part(spec, SMALL, needs_all="h").positions("h") is None
    assert first_part(spec, SMALL, needs_all="n").positions("n") is None
    assert len(list(all_parts(spec, SMALL))) == B * G * N
    assert len(list(all_parts(spec, SMALL, "nh"))) == B
    assert first_part(spec, SearchLimits()) == Part()


@pytest.mark.parametrize(
    "keys",
    [
        {"w_o": normal(66, 3)},
        {"position": "alibi"},
        {"position": {"t5": {"table": normal(8, H)}}},
        {"qk_norm": "l2:over=all"},
        {"context_norm": {"rms": {"gain": normal(H, 11)}}},
    ],
    ids=["merged and projected", "slopes by heads", "a table by heads", "heads together", "gains by heads"],
)
def test_heads_whose_results_depend_on_the_others_are_not_taken_apart(keys: dict[str, Any]) -> None:
    spec = problem(**HEAD_AXIS, **keys)
    assert has_batch_parts(spec)
    assert not has_head_parts(spec)


@pytest.mark.parametrize(
    ("slip", "cells"),
    [
        pytest.param("no_scale", 1, id="by rows"),
        pytest.param("softmax_over_heads", 1, id="of all heads, by rows"),
        pytest.param("weights_transposed", 150, id="of all rows, by heads"),
        pytest.param("kv_heads_tiled", 150, id="by heads"),
        pytest.param("no_mask", 2**22, id="at once"),
    ],
)
def test_a_slip_is_found_on_a_part_and_confirmed_on_the_whole(slip: str, cells: int) -> None:
    square = {"query": normal(B, H, 7, 4), "key": HEAD_AXIS["key"], "value": HEAD_AXIS["value"]}
    spec = problem(**square, key_lengths=[7, 4])  # the first item has no padding
    wrong = next(a for a in attempts(spec) if a.slips == (slip,))
    expected = run_attempt(wrong, ["output"])["output"]

    def accepts(attempt: Attempt) -> bool:
        part = attempt.part.take(expected, attempt.plan["output"].letters)
        return np.allclose(run_attempt(attempt, ["output"])["output"], part, rtol=1e-9)

    limits = SearchLimits(part_cells=1, whole_cells=cells)
    found = explain(spec, accepts, limits, priority=Priority(range(7), item=1, head=1))
    assert [attempt.slips for attempt in found.explanations] == [(slip,)]
    assert ("weights_transposed" in " ".join(found.untried)) == (cells == 1)
