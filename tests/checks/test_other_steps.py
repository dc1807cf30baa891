"""Few numbers that differ are those of another step in the same cells: of which, and when that is not said."""

import math
from typing import Any

import pytest

from attncli.checks.check import check
from attncli.checks.report import CheckOptions
from attncli.numbers.parsing import TypedNumber
from tests.problems import problem

WITHOUT_SLIPS = CheckOptions(tries_slips=False)
# Products of the words: 1, 0, 1; 0, 4, 2; 1, 2, 2.
WORDS = problem(embeddings=[[1, 0], [0, 2], [1, 1]], tokens=["the", "cat", "sat"])
CAUSAL = problem(embeddings=[[1, 0], [0, 2], [1, 1]], tokens=["the", "cat", "sat"], causal=True)
ROOT = f"{math.sqrt(2):.4f}"


def typed(value: Any) -> Any:
    """The same with its texts as numbers that were typed."""
    if isinstance(value, dict):
        return {key: typed(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [typed(entry) for entry in value]
    return value if value is None else TypedNumber(value)


@pytest.mark.parametrize(
    ("spec", "name", "given", "step"),
    [
        (WORDS, "scores", {"cat": {"cat": "4.0"}}, "dot_products"),
        (WORDS, "scores", {"cat": {"cat": "4.0", "sat": "2.0"}}, "dot_products"),
        (WORDS, "weights", {"sat": {"cat": ROOT}}, "scores"),
        (CAUSAL, "weights", {"sat": {"cat": ROOT}}, "scores"),  # as masked_scores has it: the first of both
        (WORDS, "weights", {"sat": {"the": "0.4931"}}, "exponentials"),  # exp(1/√2 − √2)
        (WORDS, "weights", {"sat": {"cat": "4.1133"}}, "exp(scores)"),  # exp(√2)
        (WORDS, "scores", {"cat": {"cat": "4.0", "sat": "2.5"}}, None),  # one of both alone
        (WORDS, "weights", {"cat": {"the": "0.0"}}, None),  # 0 says nothing
        (WORDS, "weights", {"sat": {"cat": "1.5"}}, None),  # near √2, but not to its digits
        (WORDS, "weights", {"cat": {"sat": "0.2"}}, None),  # of too few digits
        (WORDS, "weights", {"sat": {"cat": "0.4011"}}, None),  # it agrees
        (problem(query=[[1, 1]], key=[[1, 0]], scale=1.0), "weights", [["1.5"]], None),
        (problem(scores=[[2.0, 1.0]], bias=[[2.0, 0.0]]), "weights", [["2.0", None]], None),  # the scores and the bias
    ],
)
def test_few_numbers_may_be_those_of_another_step(spec: Any, name: str, given: Any, step: str | None) -> None:
    (result,) = check(spec, {name: typed(given)}, WITHOUT_SLIPS).results
    assert result.other_step == step


def test_many_numbers_may_be_those_of_another_step_too() -> None:
    (result,) = check(WORDS, {"scores": [[1, 0, 1], [0, 4, 2], [1, 2, 2]]}, WITHOUT_SLIPS).results
    assert (result.differ, result.other_step) == (7, "dot_products")
    larger = problem(embeddings=[[1, 2], [2, 2], [1, 1]])
    (result,) = check(larger, {"scores": [[5, 6, 3], [6, 8, 4], [3, 4, 2]]}, WITHOUT_SLIPS).results
    assert (result.differ, result.other_step) == (9, "dot_products")
    report = check(larger, {"scores": [[5, 6, 3], [6, 8, 4], [3, 4, 2]]})
    assert ("no_scale",) in [found.slips for found in report.explanations]
