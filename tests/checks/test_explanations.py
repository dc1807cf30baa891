"""A computation with a slip in it is judged at its own rounding error; slips explain numbers, or go unnoticed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.checks.check import check, read_expected
from attncli.checks.compare import Checker
from attncli.checks.explanations import matches_expected, matches_reference
from attncli.checks.report import CheckOptions, CheckReport
from attncli.checks.slips.parts import Part, problem_part
from attncli.checks.slips.search import Attempt, attempts, own_attempt
from attncli.checks.tolerance import compute_reference, in_type
from attncli.engine.run import run
from attncli.numbers.parsing import TypedNumber
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.problems import dense_trace, problem

OPTIONS = CheckOptions()
QUERY, KEY, VALUE = normal(3, 5, 16), normal(3, 7, 16), normal(3, 7, 11)


def checker(spec: ProblemSpec, expected: dict[str, Any]) -> Checker:
    quantities = read_expected(spec, expected, OPTIONS)
    return Checker(spec, compute_reference(spec, list(quantities), OPTIONS), quantities, OPTIONS)


def attempt(spec: ProblemSpec, name: str) -> Attempt:
    wide = in_type(spec, "float64")
    return next(found for found in attempts(wide, spec.precision.name) if found.slips == (name,))


def without_scale(dtype: str) -> np.ndarray:
    """The output of a kernel that forgets the scale, accumulated exactly and rounded at its end."""
    query, key, value = (Precision(dtype).round(x).astype(float) for x in (QUERY, KEY, VALUE))
    scores = query @ key.swapaxes(-1, -2)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return Precision(dtype).round(weights / weights.sum(axis=-1, keepdims=True) @ value)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_the_slip_that_was_made_is_accepted_and_others_are_not(dtype: str) -> None:
    spec = problem(query=QUERY, key=KEY, value=VALUE, dtype=dtype)
    checked = checker(spec, {"output": without_scale(dtype)})
    accepted = {found.slips for found in attempts(in_type(spec, "float64"), dtype) if matches_expected(checked, found)}
    assert accepted == {("no_scale",)}


def test_what_is_computed_in_half_precision_is_accepted_where_single_is_expected() -> None:
    spec = problem(query=QUERY, key=KEY, value=VALUE, dtype="float32")
    half = [Precision("float16").round(x).astype(float) for x in (QUERY, KEY, VALUE)]
    scores = half[0] @ half[1].swapaxes(-1, -2) / 4
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    output = (weights @ half[2]).astype(np.float32)
    checked = checker(spec, {"output": output.astype(np.float16).astype(np.float32)})
    assert matches_expected(checked, attempt(spec, "half_precision"))
    assert not matches_reference(checked, attempt(spec, "half_precision"))
    assert not matches_expected(
        checker(spec, {"output": output}), attempt(spec, "half_precision")
    )  # they are no half numbers
    assert matches_expected(checker(spec, {"output": output}), attempt(spec, "inputs_rounded"))


def test_what_changes_other_numbers_than_those_that_differ_explains_nothing() -> None:
    spec = problem(query=QUERY, key=KEY, value=VALUE, dtype="float16")
    expected = run(spec, "output").output.copy()
    expected[0, 1] += 0.005  # within the error of exponentials of float16 without the maximum
    checked = checker(spec, {"output": expected})
    exact = in_type(spec, "float64")
    assert [found.slips for found in attempts(exact, "float16") if matches_expected(checked, found)] == []
    assert not matches_expected(checked, own_attempt(exact, "float16"))


def test_one_wrong_number_was_not_computed_in_half_precision() -> None:
    spec = problem(query=QUERY, key=KEY, value=VALUE)
    expected = run(spec, "output").output.copy()
    expected[0, 1, 2] += 1e-3
    assert not matches_expected(checker(spec, {"output": expected}), attempt(spec, "half_precision"))


@pytest.mark.parametrize(
    "errors",
    [2e-5 * np.sign(normal(3, 5, 11)), 1e-3, 1e-2, [[0], [0], [1e-2], [1e-2], [1e-2]]],
    ids=["too small", "in proportion", "in proportion and large", "in proportion for some queries"],
)
def test_errors_that_are_too_small_or_in_proportion_are_not_those_of_half_precision(errors: object) -> None:
    spec = problem(query=QUERY, key=KEY, value=VALUE, dtype="float32")
    ours = run(replace(spec, dtype="float64"), "output").output
    checked = checker(spec, {"output": (ours * (1 + np.asarray(errors))).astype(np.float32)})
    for variant in attempts(spec, "float32"):
        assert variant.slips != ("half_precision",) or not matches_expected(checked, variant)


@pytest.mark.parametrize(("shift", "accepted"), [(0.0, True), (2e-5, False)])
def test_numbers_typed_with_digits_that_no_half_precision_number_has_were_not_computed_in_it(
    shift: float, accepted: bool
) -> None:
    spec = problem(query=QUERY[0], key=KEY[0], value=VALUE[0])
    numbers = Precision("float16").round(run(spec, "weights").weights).astype(float) + shift
    checked = checker(spec, {"weights": [[TypedNumber(f"{number:.6f}") for number in row] for row in numbers]})
    assert matches_expected(checked, attempt(spec, "half_precision")) == accepted


def test_every_quantity_has_to_be_explained() -> None:
    spec = problem(query=QUERY[0], key=KEY[0], value=VALUE[0])
    wrong = checker(spec, {"output": without_scale("float64")[0], "scores": QUERY[0] @ KEY[0].T / 4})
    right = checker(spec, {"output": without_scale("float64")[0], "scores": QUERY[0] @ KEY[0].T})
    assert not matches_expected(wrong, attempt(spec, "no_scale"))
    assert matches_expected(right, attempt(spec, "no_scale"))


def test_numbers_typed_by_hand_are_explained_to_the_digits_typed() -> None:
    spec = problem(query=QUERY[0], key=KEY[0], value=VALUE[0])
    expected = {"query_2": {"e3": TypedNumber(f"{without_scale('float64')[0, 1, 2]:.3f}")}}
    checked = checker(spec, {"output": expected})
    assert matches_expected(checked, attempt(spec, "no_scale"))


def test_some_of_the_queries_are_checked_alone() -> None:
    spec = problem(query=QUERY, key=KEY, value=VALUE)
    expected = without_scale("float64")
    expected[:, 0] = 0
    checked = checker(spec, {"output": expected})
    assert not matches_expected(checked, attempt(spec, "no_scale"))
    part = Part(rows=[1, 4])
    assert matches_expected(checked, replace(attempt(problem_part(spec, part), "no_scale"), part=part))


def test_a_slip_goes_unnoticed_where_its_numbers_agree_with_ours() -> None:
    spec = problem(query=QUERY, key=np.ones((3, 7, 16)), value=VALUE, bias=normal(5, 7))
    checked = checker(spec, {"output": np.zeros((3, 5, 11))})
    assert matches_reference(checked, attempt(spec, "no_scale"))
    assert not matches_reference(checked, attempt(spec, "no_bias"))
    assert not matches_expected(checked, attempt(spec, "no_scale"))


QUERIES, KEYS, VALUES = normal(2, 3, 11, 16), normal(2, 3, 11, 16), normal(2, 3, 11, 7)
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
    query, key, value = (Precision(dtype).round(x).astype(float) for x in (QUERIES, KEYS, VALUES))
    spec = problem(query=query, key=key, value=value, causal=True, dtype=dtype)
    report = check(spec, {"output": Precision(dtype).round(kernel(query, key, value))}, MANY)
    assert ("no_causal",) in names(report)
    assert report.tried_count > 10
    assert check(spec, {"output": Precision(dtype).round(kernel(query, key, value, np.tri(11, dtype=bool)))}).agrees


@pytest.mark.deep
def test_two_slips_are_named_together() -> None:
    query, key, value = QUERIES[0, 0], KEYS[0, 0], VALUES[0, 0]
    spec = problem(query=query, key=key, value=value, causal=True)
    report = check(spec, {"output": kernel(query, key, value, scale=1)}, MANY)
    assert sorted(map(sorted, names(report))) == [["no_causal", "no_scale"]]
    assert 0 < report.pair_count < report.tried_count


def test_nothing_is_tried_where_the_numbers_agree_or_nobody_asks() -> None:
    spec = problem(query=QUERIES, key=KEYS, value=VALUES)
    right, wrong = kernel(QUERIES, KEYS, VALUES), kernel(QUERIES, KEYS, VALUES, scale=1)
    assert check(spec, {"output": right}).tried_count == 0
    assert check(spec, {"output": wrong}, CheckOptions(tries_slips=False)).tried_count == 0


def test_numbers_that_no_slip_gives_are_explained_by_none() -> None:
    spec = problem(scores=normal(3, 5), value=normal(5, 2))
    report = check(spec, {"output": normal(3, 2)}, MANY)
    assert names(report) == []
    assert report.tried_count > 20


@pytest.mark.deep
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
    spec = problem(query=QUERIES, key=KEYS, value=VALUES)
    report = check(spec, {"output": kernel(QUERIES, KEYS, VALUES)}, CheckOptions(finds_unnoticed=True, seconds=120))
    assert "no_scale" not in {name for found in report.unnoticed or () for name in found.slips}
    assert check(spec, {"output": kernel(QUERIES, KEYS, VALUES)}).unnoticed is None


def test_a_mask_that_is_expected_is_explained_too() -> None:
    spec = problem(query=QUERIES[0, 0], key=KEYS[0, 0], value=VALUES[0, 0], mask=np.tri(11, dtype=bool))
    inverted = ~np.tri(11, dtype=bool)
    expected = {"visible": inverted, "masked_scores": np.where(inverted, QUERIES[0, 0] @ KEYS[0, 0].T / 4, -np.inf)}
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
