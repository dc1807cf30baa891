"""A computation with a slip in it is checked at its own rounding error, in the type of the expected numbers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attncli.analysis.check.check import read_expected
from attncli.analysis.check.compare import Checker
from attncli.analysis.check.report import CheckOptions
from attncli.analysis.check.slips import matches_expected, matches_reference
from attncli.analysis.check.tolerance import compute_reference, in_type
from attncli.analysis.slips.parts import Part, problem_part
from attncli.analysis.slips.search import Attempt, attempts, own_attempt
from attncli.base.dtypes import Precision
from attncli.engine.run import run
from attncli.numbers.parsing import TypedNumber
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.problems import problem

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
