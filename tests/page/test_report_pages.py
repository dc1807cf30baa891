"""The objects of the pages of comparisons and checks: their numbers and words are those of the results and reports."""

from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.checks import page as check_pages
from attncli.checks.check import check
from attncli.checks.document import check_answer, verdict
from attncli.checks.page import check_page
from attncli.checks.report import CheckOptions, CheckOutcome
from attncli.comparisons import page as comparison_pages
from attncli.comparisons.page import comparison_page
from attncli.io.documents import json_text
from attncli.render.formats import find_format, format_of_file
from attncli.render.target import TEXT_FILE
from tests.arrays import normal
from tests.comparisons.comparing import comparison_of, weights_of
from tests.problems import dense_trace, problem

HEADS: dict[str, Any] = {"query": normal(1, 2, 3, 2), "key": normal(1, 2, 3, 2, seed=1), "causal": True}
SCALES = {f"scale={scale}": {**HEADS, "scale": scale} for scale in (0.5, 1, 2)}


def outcome(keys: dict[str, Any], name: str, wrong: Any, file: str = "answer.yaml") -> CheckOutcome:
    """The outcome of a check of a result of a problem, after `wrong` has changed its numbers."""
    spec = problem(**keys)
    numbers = np.array(dense_trace(spec)[name].value)
    wrong(numbers)
    return CheckOutcome(file, "", check(spec, {name: numbers}, CheckOptions(tries_slips=False)), None, 0.0)


def larger(*position: int) -> Any:
    """What makes one number of an array larger by ½."""
    return lambda numbers: numbers.__setitem__(position, numbers[position] + 0.5)


def test_a_comparison_has_the_numbers_of_every_variant_and_what_masks_hide() -> None:
    page = comparison_page(comparison_of(SCALES, ["weights"]), 4)
    assert page["keys"] == [{"name": "scale", "values": ["0.5", "1", "2"], "numbers": [0.5, 1.0, 2.0]}]
    (weights,) = page["results"]
    assert (weights["name"], weights["are_weights"], weights["nouns"]) == ("weights", True, ["query", "key"])
    for keys, tables in zip(SCALES.values(), weights["tables"], strict=True):
        assert [table["label"] for table in tables] == ["batch item 0, head 0", "batch item 0, head 1"]
        expected = dense_trace(problem(**keys))["weights"].value[0]
        np.testing.assert_array_equal([table["data"].reshape(3, 3) for table in tables], expected)
        assert tables[0]["hidden"].tolist() == [0, 1, 1, 0, 0, 1, 0, 0, 0]


def test_names_are_no_numbers_of_a_slider_and_a_result_that_a_variant_lacks_has_no_table() -> None:
    variants = {"mode=given": weights_of([0.5, 0.5]), "mode=made": {**HEADS, "value": normal(1, 2, 3, 2)}}
    page = comparison_page(comparison_of(variants, ["scores"]), 4)
    assert page["keys"][0]["numbers"] is None
    assert page["results"][0]["tables"][0] == []
    assert "".join(json_text(page))
    assert page["variants"][1]["statistics"]["entropy"] > 0


def test_too_many_numbers_of_a_comparison_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison_pages, "MOST_NUMBERS", 50)
    with pytest.raises(AttnError, match="54 numbers together, and a page has room for 50") as caught:
        comparison_page(comparison_of(SCALES, ["weights"]), 4)
    assert "or one head" in str(caught.value)


def test_a_check_has_its_verdict_and_the_tables_in_which_numbers_differ() -> None:
    found = outcome(HEADS, "weights", larger(0, 1, 2, 0))
    page = check_page([found], (), 4)
    (own,) = page["outcomes"]
    assert found.report is not None
    assert (page["summary"], own["state"], own["verdict"]) == ([], "differs", f"{verdict(found.report)}.")
    assert own["map"]["worst"]["cell"] == [2, 0]
    assert "yours" in own["map"]["worst"]["lines"][0]
    assert own["map"]["worst"]["arithmetic"]
    (table,) = own["map"]["tables"]
    assert (table["label"], table["differs"].tolist()) == ("batch item 0, head 1", [0, 0, 0, 0, 0, 0, 1, 0, 0])
    np.testing.assert_allclose(table["yours"] - table["correct"], 0.5 * table["differs"], atol=1e-15)
    assert table["is_given"] is None


def test_a_number_that_is_not_given_is_neither_right_nor_wrong() -> None:
    first_key = [[[[1, None, None]] * 3] * 2]  # right in the first row alone, which sees one key
    report = check(problem(**HEADS), {"weights": first_key}, CheckOptions(tries_slips=False))
    (own,) = check_page([CheckOutcome("", "", report, None, 0.0)], (), 4)["outcomes"]
    assert [table["is_given"].tolist() for table in own["map"]["tables"]] == [[1, 0, 0] * 3] * 2
    assert [table["differs"].tolist() for table in own["map"]["tables"]] == [[0, 0, 0, 1, 0, 0, 1, 0, 0]] * 2


def test_several_problems_have_a_line_each_and_an_error_is_a_line_too() -> None:
    right = outcome(HEADS, "weights", lambda numbers: None, "right.yaml")
    wrong = outcome(HEADS, "scores", larger(0, 0, 0, 0), "wrong.yaml")
    failed = CheckOutcome("lost.yaml", "", None, AttnError("there is no such file", where="lost.yaml"), 0.0)
    page = check_page([right, wrong, failed], ("empty.yaml",), 4)
    assert [own["state"] for own in page["outcomes"]] == ["agrees", "differs", "failed"]
    assert [own["name"] for own in page["outcomes"]] == ["right.yaml", "wrong.yaml", "lost.yaml"]
    assert page["summary"][0]["start"] == "1 of 3 agree, 1 differs, 1 can't be checked."


def test_a_map_without_room_has_the_table_of_the_worst_cell_or_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome(HEADS, "weights", lambda numbers: numbers.__iadd__(0.5))
    for room, tables in ((18, 2), (9, 1), (8, None)):
        monkeypatch.setattr(check_pages, "MOST_NUMBERS", room)
        own = check_page([found], (), 4)["outcomes"][0]["map"]
        assert (None if own is None else len(own["tables"])) == tables


def test_the_format_of_a_page_writes_the_page_of_an_answer_and_others_its_document() -> None:
    answer = check_answer([outcome(HEADS, "weights", larger(0, 1, 2, 0))], (), 4, is_suite=False)
    page = "".join(format_of_file("page.html").render_answer(answer, TEXT_FILE))
    assert page.startswith("<!DOCTYPE html>")
    assert "attn.check_page/1" in page
    assert len(page) < 100_000  # it has no functions of plans
    assert "".join(find_format("markdown").render_answer(answer, TEXT_FILE)).startswith("**1 of 18 numbers differs")
    assert answer.page is not None
    assert "".join(json_text(answer.page()))
