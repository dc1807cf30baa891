"""A check says which of the expected numbers differ, and which quantity differs first."""

from attncli.analysis.check.check import check
from tests.problems import problem

UNIT = problem(query=[[1.0, 0.0]], key=[[1.0, 0.0], [0.0, 1.0]], score="dot")


def test_numbers_of_the_computation_agree() -> None:
    report = check(UNIT, {"scores": [[1.0, 0.0]]})
    assert report.agrees
    assert report.first_difference is None


def test_the_first_quantity_that_differs_is_named_in_the_order_of_the_computation() -> None:
    report = check(UNIT, {"weights": [[0.5, 0.5]], "scores": [[1.0, 0.5]]})
    assert [result.name for result in report.results] == ["scores", "weights"]
    assert report.first_difference == "scores"
    worst = report.results[0].worst
    assert worst is not None
    assert worst.labels == ("query_1", "key_2")
