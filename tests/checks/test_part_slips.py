"""What explains a part of the numbers: some heads, batch items or queries, where nothing explains all of them."""

import json

import numpy as np
import pytest

from attncli.checks.check import check as check_problem
from attncli.checks.document import check_document, verdict
from attncli.checks.objects import report_object
from attncli.checks.report import CheckOptions, CheckReport
from attncli.render.formats import terminal
from attncli.render.target import TextTarget
from tests.arrays import normal
from tests.problems import problem

B, H, N, D = 2, 4, 16, 4
QUERY, KEY, VALUE = (normal(B, H, N, D, seed=seed) for seed in range(3))


def attention(factor: float = 1.0, window: int = N, causal: bool = False) -> np.ndarray:
    """The output [b h n e], the scores multiplied by a factor and keys hidden, by hand."""
    scores = factor * QUERY @ KEY.swapaxes(-1, -2) / np.sqrt(D)
    distance = np.arange(N) - np.arange(N)[:, None]
    hidden = (abs(distance) > window) | (causal & (distance > 0))
    powers = np.where(hidden, 0, np.exp(scores))
    return powers / powers.sum(axis=-1, keepdims=True) @ VALUE


def with_part(part: tuple[slice | int, ...], wrong: np.ndarray, right: np.ndarray | None = None) -> np.ndarray:
    """Right numbers, and wrong ones in a part of them."""
    output = (attention() if right is None else right).copy()
    output[part] = wrong[part]
    return output


def check(output: np.ndarray) -> CheckReport:
    """The check of an output, on machines as slow as they like."""
    spec = problem(query=QUERY, key=KEY, value=VALUE)
    return check_problem(spec, {"output": output}, CheckOptions(seconds=300))


def shown(report: CheckReport) -> str:
    """The text of a report."""
    return "".join(terminal.render(check_document(report), TextTarget(80)))


ALL = slice(None)
PARTS = {
    "heads": ((ALL, slice(2, 4)), -3, (2, 3), attention(causal=True), "causal_added"),
    "one head": ((ALL, 1), -3, (1,), attention(causal=True), "causal_added"),
    "queries": ((ALL, ALL, slice(10, None)), -2, tuple(range(10, 16)), attention(3.0), "scale_factor"),
}


@pytest.mark.parametrize("name", ["heads", *(pytest.param(name, marks=pytest.mark.deep) for name in [*PARTS][1:])])
def test_what_is_wrong_in_a_part_is_named_there(name: str) -> None:
    part, axis, positions, wrong, slip = PARTS[name]
    report = check(with_part(part, wrong))
    assert report.explanations == ()
    (found,) = report.parts
    assert (found.part.axis, tuple(found.part.positions)) == (axis, positions)
    assert found.explanation.slips == (slip,)
    assert found.others_agree
    assert f"; explained by {slip} in " in verdict(report)


@pytest.mark.deep
def test_two_parts_may_have_mistakes_of_their_own() -> None:
    report = check(with_part((ALL, slice(2, 4)), attention(causal=True), attention(0.6)))
    found = {tuple(one.part.positions): one.explanation.slips for one in report.parts}
    assert found == {(2, 3): ("causal_added",), (0, 1): ("scale_factor",)}
    assert not any(one.others_agree for one in report.parts)


@pytest.mark.deep
def test_noise_in_a_part_is_not_explained_and_the_rest_is() -> None:
    noise = attention() + 0.01 * normal(B, H, N, D, seed=9)
    report = check(with_part((ALL, 0), noise, attention(causal=True)))
    (found,) = report.parts
    assert tuple(found.part.positions) == (1, 2, 3)
    assert not found.others_agree
    assert "The others that differ are not explained." in shown(report)


@pytest.mark.deep
def test_a_part_is_named_through_the_rounding_of_a_type() -> None:
    (found,) = check(with_part((1,), attention(3.3)).astype("float16")).parts
    assert (found.part.axis, tuple(found.part.positions)) == (-4, (1,))
    assert found.explanation.parameters["factor"] == pytest.approx(3.3, rel=1e-2)


@pytest.mark.deep
def test_the_report_says_where_and_what_of_the_others() -> None:
    report = check(with_part((1,), attention(3.3)))
    text = shown(report)
    assert "In batch item 1:\n scale_factor  The scores are 3.3 times too large" in text
    assert "All other numbers agree.\n" in text
    (content,) = json.loads(json.dumps(report_object(report)))["explained_in_part"]
    sentence = content.pop("sentence")
    assert sentence.startswith("The scores are 3.3 times too large: ")
    assert content == {
        "result": "output",
        "axis": "batch item",
        "positions": [1],
        "others_agree": True,
        "slips": ["scale_factor"],
        "parameters": {"factor": pytest.approx(3.3)},
    }


def test_the_mistake_that_explains_most_numbers_is_named_where_none_explains_all() -> None:
    scores = np.array([[1.0, 0, 2, 1], [0, 1, 1, 0]]) @ np.array([[1.0, 1, 0, 0], [0, 2, 1, 1], [1, 0, 0, 1]]).T
    powers = np.exp(scores)  # not scaled
    weights = powers / powers.sum(axis=-1, keepdims=True)
    weights[1, 1:] += -0.03, 0.03  # and copied wrongly
    spec = problem(query=[[1, 0, 2, 1], [0, 1, 1, 0]], key=[[1, 1, 0, 0], [0, 2, 1, 1], [1, 0, 0, 1]])
    report = check_problem(spec, {"weights": weights}, CheckOptions(seconds=300))
    assert (report.explanations, report.parts) == ((), ())
    assert report_object(report)["nearest"]["slips"] == ["no_scale"]
    text = shown(report)
    assert "Explains 4 of 6 numbers of weights that differ:\n no_scale  The scores are not scaled" in text
    assert "No known mistake explains all of these numbers" in text
