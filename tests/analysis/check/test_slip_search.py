"""A check names the slips that explain the numbers that differ, and those that would go unnoticed."""

from typing import Any

import numpy as np
import pytest

from attncli.analysis.check.check import check
from attncli.analysis.check.report import CheckOptions, CheckReport
from attncli.base.dtypes import Precision
from tests.arrays import normal
from tests.problems import dense_trace, problem

QUERY, KEY, VALUE = normal(2, 3, 11, 16), normal(2, 3, 11, 16), normal(2, 3, 11, 7)
MANY = CheckOptions(seconds=120)


def kernel(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, visible: Any = True, scale: float | None = None
) -> np.ndarray:
    """Attention by another program, accumulated exactly."""
    scores = query @ key.swapaxes(-1, -2) * (1 / np.sqrt(query.shape[-1]) if scale is None else scale)
    scores = np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def names(report: CheckReport) -> list[tuple[str, ...]]:
    return [explanation.slips for explanation in report.explanations]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_a_slip_is_named_in_every_type(dtype: str) -> None:
    query, key, value = (Precision(dtype).round(x).astype(float) for x in (QUERY, KEY, VALUE))
    spec = problem(query=query, key=key, value=value, causal=True, dtype=dtype)
    report = check(spec, {"output": Precision(dtype).round(kernel(query, key, value))}, MANY)
    assert ("no_causal",) in names(report)
    assert report.tried_count > 10
    assert check(spec, {"output": Precision(dtype).round(kernel(query, key, value, np.tri(11, dtype=bool)))}).agrees


def test_two_slips_are_named_together() -> None:
    query, key, value = QUERY[0, 0], KEY[0, 0], VALUE[0, 0]
    spec = problem(query=query, key=key, value=value, causal=True)
    report = check(spec, {"output": kernel(query, key, value, scale=1)}, MANY)
    assert sorted(map(sorted, names(report))) == [["no_causal", "no_scale"]]
    assert 0 < report.pair_count < report.tried_count


def test_nothing_is_tried_where_the_numbers_agree_or_nobody_asks() -> None:
    spec = problem(query=QUERY, key=KEY, value=VALUE)
    right, wrong = kernel(QUERY, KEY, VALUE), kernel(QUERY, KEY, VALUE, scale=1)
    assert check(spec, {"output": right}).tried_count == 0
    assert check(spec, {"output": wrong}, CheckOptions(tries_slips=False)).tried_count == 0


def test_numbers_that_no_slip_gives_are_explained_by_none() -> None:
    spec = problem(scores=normal(3, 5), value=normal(5, 2))
    report = check(spec, {"output": normal(3, 2)}, MANY)
    assert names(report) == []
    assert report.tried_count > 20


def test_a_slip_in_a_large_problem_is_found_on_some_queries_and_held_to_all() -> None:
    scores, value = normal(260, 260).astype(np.float32), normal(260, 3).astype(np.float32)  # more cells than a part has
    spec = problem(scores=scores, value=value, causal=True, dtype="float32")
    wrong = kernel(scores.astype(float), np.eye(260), value, scale=1).astype(np.float32)
    assert names(check(spec, {"output": wrong}, MANY)) == [("no_causal",)]
    wrong[150] += 1
    assert names(check(spec, {"output": wrong}, MANY)) == []


def test_one_key_can_not_tell_how_scores_are_made() -> None:
    spec = problem(query=normal(3, 4), key=normal(1, 4), value=normal(1, 7), bias=[[0.5]])
    report = check(spec, {"output": np.tile(normal(1, 7), (3, 1))}, CheckOptions(finds_unnoticed=True))
    assert report.agrees
    assert report.unnoticed is not None
    assert {"no_scale", "no_bias"} <= {name for found in report.unnoticed for name in found.slips}


def test_random_inputs_can_tell() -> None:
    spec = problem(query=QUERY, key=KEY, value=VALUE)
    report = check(spec, {"output": kernel(QUERY, KEY, VALUE)}, CheckOptions(finds_unnoticed=True, seconds=120))
    assert "no_scale" not in {name for found in report.unnoticed or () for name in found.slips}
    assert check(spec, {"output": kernel(QUERY, KEY, VALUE)}).unnoticed is None


def test_a_mask_that_is_expected_is_explained_too() -> None:
    spec = problem(query=QUERY[0, 0], key=KEY[0, 0], value=VALUE[0, 0], mask=np.tri(11, dtype=bool))
    inverted = ~np.tri(11, dtype=bool)
    expected = {"visible": inverted, "masked_scores": np.where(inverted, QUERY[0, 0] @ KEY[0, 0].T / 4, -np.inf)}
    assert ("mask_inverted",) in names(check(spec, expected, MANY))
    assert check(spec, {"visible": np.tri(11, dtype=bool)}).agrees


@pytest.mark.parametrize(
    ("name", "keys"),
    [("exponentials", {"scores": normal(5, 7)}), ("dot_products", {"query": normal(5, 4), "key": normal(7, 4)})],
)
def test_inner_quantities_alone_are_explained_too(name: str, keys: dict[str, Any]) -> None:
    spec = problem(**keys)
    expected = {name: 3 + dense_trace(spec)[name].value}
    report = check(spec, expected, CheckOptions(seconds=120, finds_unnoticed=True))
    assert (report.agrees, report.explanations) == (False, ())
    assert report.tried_count


def test_a_step_may_have_its_name_of_an_older_version() -> None:
    spec = problem(query=normal(5, 4), key=normal(7, 4), position="rope")
    of_pairs = dense_trace(problem(query=normal(5, 4), key=normal(7, 4), position="rope:interleaved=true"))
    expected = of_pairs["rotated_query"].value
    found = [names(check(spec, {name: expected}, MANY)) for name in ("rotated_query", "turned_query")]
    assert found == [[("rope_interleaved",)]] * 2
