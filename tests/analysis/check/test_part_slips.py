"""What explains a part of the numbers: some heads, batch items or queries, where nothing explains all of them."""

import json

import numpy as np
import pytest

import attncli
from attncli.api.check import Report
from attncli.render.objects import report_object
from attncli.render.reports.check import verdict
from tests.arrays import normal

B, H, N, D = 2, 4, 24, 8
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


def check(output: np.ndarray, **keys: object) -> Report:
    """The check of an output."""
    return attncli.check(query=QUERY, key=KEY, value=VALUE, against={"output": output}, **keys)


ALL = slice(None)
PARTS = {
    "heads": ((ALL, slice(2, 4)), -3, (2, 3), attention(1.41), "scale_factor"),
    "one head": ((ALL, 1), -3, (1,), attention(causal=True), "causal_added"),
    "one batch item": ((1,), -4, (1,), attention(0.25), "scale_factor"),
    "queries": ((ALL, ALL, slice(16, None)), -2, tuple(range(16, 24)), attention(3.0), "scale_factor"),
}


@pytest.mark.parametrize("name", PARTS)
def test_what_is_wrong_in_a_part_is_named_there(name: str) -> None:
    part, axis, positions, wrong, slip = PARTS[name]
    report = check(with_part(part, wrong))
    assert report.explained_by == ()
    (found,) = report.explained_in_part
    assert (found.part.axis, tuple(found.part.positions)) == (axis, positions)
    assert found.explanation.slips == (slip,)
    assert found.others_agree
    assert f"; explained by {slip} in " in verdict(report._data)


def test_two_parts_may_have_mistakes_of_their_own() -> None:
    report = check(with_part((ALL, slice(2, 4)), attention(1.41), attention(0.6)))
    found = {tuple(one.part.positions): one.explanation.parameters["factor"] for one in report.explained_in_part}
    assert found == {(2, 3): pytest.approx(1.41), (0, 1): pytest.approx(0.6)}
    assert not any(one.others_agree for one in report.explained_in_part)


def test_noise_in_a_part_is_not_explained_and_the_rest_is() -> None:
    noise = attention() + 0.01 * normal(B, H, N, D, seed=9)
    report = check(with_part((ALL, 0), noise, attention(2.5)))
    (found,) = report.explained_in_part
    assert tuple(found.part.positions) == (1, 2, 3)
    assert not found.others_agree
    assert "Other numbers differ otherwise." in str(report)
    assert check(with_part((ALL, 0), noise)).explained_in_part == ()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_part_is_named_through_the_rounding_of_a_type(dtype: str) -> None:
    output = with_part((ALL, slice(2, 4)), attention(1.41))
    (found,) = check(output.astype(dtype)).explained_in_part
    assert tuple(found.part.positions) == (2, 3)
    assert found.explanation.parameters["factor"] == pytest.approx(1.41, rel=1e-2)


def test_the_report_says_where_and_what_of_the_others() -> None:
    report = check(with_part((ALL, slice(2, 4)), attention(1.41)))
    shown = str(report)
    assert "In heads 2 and 3:\n scale_factor  The scores are 1.41 times too large" in shown
    assert "All other numbers agree.\n" in shown
    (content,) = json.loads(json.dumps(report_object(report._data)))["explained_in_part"]
    sentence = content.pop("sentence")
    assert sentence.startswith("The scores are 1.41 times too large: ")
    assert content == {
        "result": "output",
        "axis": "head",
        "positions": [2, 3],
        "others_agree": True,
        "slips": ["scale_factor"],
        "parameters": {"factor": pytest.approx(1.41)},
    }
