"""The line that counts what changed in each result."""

from typing import Any

import numpy as np
import pytest

from attncli import Problem, attention
from attncli.render.reports import change_summary
from attncli.render.reports.change_summary import count_changes

ONE = {"query": [[1.0]], "key": [[1.0], [1.0]], "value": [[0.0, 1.0], [1.0, 1.0]]}


@pytest.mark.parametrize(
    ("changes", "summary"),
    [
        ({}, "no number changed"),
        ({"value": [[0.0, 1.0], [1.0, 3.0]]}, "changed: output 1 of 2"),
        ({"query": [[1.0], [2.0]]}, "changed: weights is 2 × 2 (was 1 × 2), output is 2 × 2 (was 1 × 2)"),
        ({"key": [[2.0], [1.0]]}, "changed: weights 2 of 2, output 1 of 2"),
    ],
    ids=["nothing", "a number", "a query more", "several results"],
)
def test_what_changed_is_counted_for_each_result(changes: dict[str, Any], summary: str) -> None:
    select = ("weights", "output")
    before, after = attention(**ONE, select=select), attention(**{**ONE, **changes}, select=select)
    assert change_summary.change_summary(before, after) == summary


def test_a_result_that_was_not_computed_before_is_new() -> None:
    before, after = Problem(scores=[[1.0, 2.0]]), Problem(scores=[[1.0, 2.0]], value=[[1.0], [1.0]])
    assert change_summary.change_summary(before.compute(), after.compute()) == "changed: output is new"


@pytest.mark.parametrize("shape", [(2, 3, 5), (7,), (), (3, 0)])
@pytest.mark.parametrize("max_numbers", [1, 4, 2**20])
def test_numbers_are_counted_in_parts(
    shape: tuple[int, ...], max_numbers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_summary, "MAX_NUMBERS", max_numbers)
    before = np.ones(shape)
    assert count_changes(before, before + 1) == before.size
    assert count_changes(before, before) == 0
