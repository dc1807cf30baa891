"""A check from Python: its report, and an assertion whose message is the report."""

import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from tests.arrays import normal

QUERY, KEY, VALUE = normal(5, 4), normal(7, 4), normal(7, 3)


@cache
def right_and_wrong() -> tuple[attncli.Problem, np.ndarray, np.ndarray]:
    """A problem, its weights, and weights of which two differ."""
    problem = attncli.Problem(query=QUERY, key=KEY, value=VALUE)
    weights = problem.compute("weights").weights
    wrong = weights.copy()
    wrong[3, :2] += 0.25
    return problem, weights, wrong


@cache
def report_of_wrong_weights() -> attncli.Report:
    """The report on those weights."""
    problem, _, wrong = right_and_wrong()
    return attncli.check(problem, against={"weights": wrong})


def test_numbers_that_agree_are_no_assertion() -> None:
    problem, weights, _ = right_and_wrong()
    report = attncli.check(problem, against={"weights": weights})
    report.raise_for_difference()
    assert report
    assert (report.agrees, report.first_difference, report.unnoticed) == (True, None, None)
    assert repr(report) == "Report(All 35 numbers agree)"


def test_the_message_of_the_assertion_is_the_report_after_the_verdict() -> None:
    report = report_of_wrong_weights()
    assert not report
    assert report.results[0].differ == 2
    with pytest.raises(AssertionError) as caught:
        report.raise_for_difference()
    first, *_ = str(caught.value).splitlines()
    assert first.startswith("2 of 35 numbers differ; the first step that differs is weights")
    assert str(caught.value).split() == str(report).split()  # the report wraps its first line
    assert "worst at query_4, key_" in str(report)
    assert max(map(len, str(report).splitlines())) <= 80


def test_a_notebook_shows_the_report_with_tables() -> None:
    html = unescape(report_of_wrong_weights()._repr_html_())
    assert "<p><b>2 of 35 numbers differ; the first step that differs is weights" in html
    assert html.count("<table") == 3  # of the quantities, of the wrong weights and of the right ones
    assert ["✗ weights" in html, "weights, yours" in html, "weights, correct" in html] == [True] * 3
    assert html.count("outline:2px") == 4  # both numbers in both tables
    assert "<math" in html


def test_numbers_that_are_not_given_are_empty_in_a_notebook() -> None:
    problem, _, _ = right_and_wrong()
    html = attncli.check(problem, against={"weights": {"query_1": {"key_2": 0.9}}})._repr_html_()
    yours = html.split("weights, yours")[1].split("</table>")[0]
    assert re.findall("<td[^>]*>([^<]*)</td>", yours) == ["", "0.9", *[""] * 33]


def test_the_keys_of_a_problem_stand_in_its_place() -> None:
    _, weights, wrong = right_and_wrong()
    keys = {"query": QUERY, "key": KEY, "value": VALUE}
    assert attncli.check(**keys, against={"weights": weights})
    assert str(attncli.check(**keys, against={"weights": wrong})) == str(report_of_wrong_weights())


def test_a_tolerance_replaces_the_derived_one() -> None:
    problem, weights, _ = right_and_wrong()
    off = {"weights": weights + 1e-3}
    assert attncli.check(problem, against=off, atol=0.002)
    assert attncli.check(problem, against=off, ulp=1e16)
    assert not attncli.check(problem, against=off, rtol=1e-6)


def test_one_head_may_be_checked_alone() -> None:
    problem = attncli.Problem(query=normal(1, 3, 5, 4), key=normal(1, 3, 7, 4))
    scores = problem.compute("scores").scores.copy()
    scores[0, 2] = 0
    assert not attncli.check(problem, against={"scores": scores})
    assert attncli.check(problem, against={"scores": scores}, head=1)


NESTED: list[Any] = []
NESTED.append(NESTED)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"against": {"outputs": [[1.0]]}}, "unknown result 'outputs'; .*'output'"),
        ({"against": {}}, "against: {} has no names; give the expected numbers by the names of results"),
        ({"against": None}, "against: no expected numbers; give the expected numbers by the names of results"),
        ({"against": [[1.0]]}, r"against: \[\[1.0\]\] has no names"),
        ({"against": {1: [[1.0]]}}, "against: 1 is not the name of a result"),
        ({"against": {"output": NESTED}}, "against, output: lists are nested too deep"),
        ({"against": {"output": [[1.0, 2.0]]}}, "against, output: has 1 × 2 numbers"),
        ({"rtol": -1}, "rtol: -1 is out of range; expected 0 or more"),
        ({"ulp": "many"}, "ulp: 'many' is not a finite number"),
        ({"head": 0.5}, "head: 0.5 is not a whole number"),
        ({"causal": True}, "problem: a Problem has its keys already; causal would change it"),
        ({"problem": "p.yaml"}, "problem: 'p.yaml' is not a Problem; attncli.load reads a file"),
    ],
)
def test_what_can_not_be_checked_is_an_error(arguments: dict[str, Any], message: str) -> None:
    problem, weights, _ = right_and_wrong()
    with pytest.raises(attncli.AttnError, match=message):
        attncli.check(**{"problem": problem, "against": {"weights": weights}, **arguments})


def test_the_slip_that_explains_the_numbers_is_named() -> None:
    unscaled = attncli.attention(QUERY, KEY, VALUE, score="dot", select="output").output
    report = attncli.check(query=QUERY, key=KEY, value=VALUE, against={"output": unscaled})
    assert report.explained_by[0].slips == ("no_scale",)
    assert repr(report).endswith("explained by no_scale)")
    assert "The scores are not scaled" in str(report)


def test_slips_that_these_inputs_can_not_tell_are_named_where_it_is_asked() -> None:
    """Where all keys are the same every weight is 1/7, with any scale."""
    keys = {"query": QUERY, "key": np.ones((7, 4)), "value": VALUE}
    output = attncli.attention(**keys).output
    unnoticed = attncli.check(**keys, against={"output": output}, slips=True).unnoticed
    assert unnoticed is not None
    assert ("no_scale",) in [explanation.slips for explanation in unnoticed]


def test_whether_inputs_can_tell_is_asked_without_expected_numbers() -> None:
    report = attncli.check(query=QUERY, key=np.ones((7, 4)), value=VALUE, slips=True)
    assert report.unnoticed is not None
    assert ("no_scale",) in [explanation.slips for explanation in report.unnoticed]
    assert repr(report).startswith("Report(No expected numbers; these inputs would not reveal no_scale or")


@pytest.mark.parametrize(("typed", "differ"), [("0.8808", 0), ("0.8880", 1)])
def test_a_file_says_itself_what_is_expected(tmp_path: Path, typed: str, differ: int) -> None:
    np.save(tmp_path / "o.npy", attncli.attention([[2, 0]], [[1, 0], [0, 1]], score="dot").output)
    path = tmp_path / "problem.yaml"
    path.write_text(
        "query: [[2, 0]]\nkey: [[1, 0], [0, 1]]\nscore: dot\n"
        f"expected: {{weights: {{query_1: {{key_1: {typed}}}}}, output: o.npy}}\n"
    )
    report = attncli.check(attncli.load(path))
    assert [(result.name, result.differ) for result in report.results] == [("weights", differ), ("output", 0)]


def test_what_a_file_expects_wrongly_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "problem.yaml"
    path.write_text("query: [[2, 0]]\nkey: [[1, 0], [0, 1]]\nexpected: {weights: [[1, 2, 3]]}\n")
    with pytest.raises(attncli.AttnError, match=r"problem.yaml, line 3, expected, weights: "):
        attncli.check(attncli.load(path))
