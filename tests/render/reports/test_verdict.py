"""The verdict of a worked example: whose the numbers are, how many differ, and to which digits they agree."""

from typing import Any

import pytest

from attncli.analysis.check.check import check
from attncli.analysis.check.report import CheckOptions, CheckReport
from attncli.render.reports.example import EXPECTED, PUBLISHED, verdict
from tests.problems import problem

QUERY, KEY = [[1.0, 0.0]], [[0.5, 0.0], [0.25, 1.0]]


def checked(scores: Any, **keys: Any) -> CheckReport:
    """The check of the scores [[0.5, 0.25]]."""
    spec = problem(query=QUERY, key=KEY, score="dot", **keys)
    return check(spec, {"scores": scores}, CheckOptions(tries_slips=False))


@pytest.mark.parametrize(
    ("checks", "adjective", "text"),
    [
        ([checked([[0.5, 0.25]])], PUBLISHED, "All 2 published numbers agree, to every printed digit."),
        ([checked([[0.5, 0.25]])] * 2, EXPECTED, "All 4 expected numbers agree, to every printed digit."),
        ([checked({"query_1": {"key_2": 0.25}})], EXPECTED, "The expected number agrees, to every printed digit."),
        ([checked([[0.5, 0.26]])], PUBLISHED, "1 of 2 numbers differs from the published ones."),
        ([checked([[0.5, 0.25]]), checked([[0.6, 0.26]])], EXPECTED, "2 of 4 numbers differ from the expected ones."),
        (
            [checked([[0.500123, 0.25]], dtype="bfloat16")],
            PUBLISHED,
            "All 2 published numbers agree, to the digits that their type has.",
        ),
    ],
    ids=["published", "expected", "one", "one differs", "several differ", "few digits"],
)
def test_the_verdict_says_whose_the_numbers_are_and_how_many_differ(
    checks: list[CheckReport], adjective: str, text: str
) -> None:
    found = verdict(checks, adjective)
    assert found is not None
    assert found[0] == text


def test_without_expected_numbers_there_is_no_verdict() -> None:
    assert verdict([], EXPECTED) is None
