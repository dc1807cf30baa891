"""Results before and after edits: which steps are shown, side by side or one below the other, in every format."""

import json
import re
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.engine.run import run
from attncli.io.edit import parse_edit
from attncli.problem.edits import edit_problem
from attncli.render.document import Grid, Section
from attncli.render.formats import find_format
from attncli.render.sections import sections
from attncli.render.target import TextTarget
from attncli.render.view import Cell, View

# One query, and two keys that are as near to it until the second is set to 3: then its weight is 0.9.
KEYS = {"query": [[1.0]], "key": [[0.0], [0.0]], "value": [[1.0], [2.0]], "tokens": ["a", "b"], "query_tokens": ["q"]}
LN_9 = "key[b,d1]=2.1972245773362196"
STYLES = re.compile("\x1b\\[[0-9;]*m")


def what_if(keys: dict[str, Any], *texts: str, select: tuple[str, ...] | None = None, **options: Any) -> View:
    """The view of a problem after edits, with the result before."""
    edited = edit_problem(attncli.Problem(**keys).spec, list(map(parse_edit, texts)))
    before = run(edited.before, select)
    return View(run(edited.after, select), before=before, edited_cells=edited.cells, **options)


def text(view: View, width: int | None = 80, name: str = "table") -> str:
    return "".join(find_format(name).render(view, TextTarget(width)))


WEIGHTS = """\
dot → softmax → weighted_sum

set key[b,d1]: 0 → 2.1972
  changed: key, scores, exponentials, weights
  the same: query
  ▲ rose   ▼ fell   ◆ changed otherwise

weights  A  Aᵢⱼ = exp(Sᵢⱼ) / Σⱼ exp(Sᵢⱼ)
before             after
n\\m     a     b    n\\m      a      b
───────────────    ─────────────────
q     0.5   0.5    q     0.1▼   0.9▲
"""
STACKED = """\
before
n\\m     a     b
───────────────
q     0.5   0.5

after
n\\m      a      b
─────────────────
q     0.1▼   0.9▲
"""


def test_every_step_that_changed_is_shown_with_the_default_results() -> None:
    first, *others = sections(what_if(KEYS, LN_9))
    steps = ["key", "dot_products", "scores", "exponentials", "weights", "output"]
    assert [section.title for section in others] == steps
    assert first.remarks[:2] == (f"changed: {', '.join(steps)}", "the same: query, value")


def test_tables_stand_side_by_side_where_the_page_holds_both() -> None:
    view = what_if(KEYS | {"score": "dot"}, LN_9, select=("weights",), decimals=1)
    assert text(view) == WEIGHTS.replace("2.1972", "2.2")
    assert text(view, 30).endswith(STACKED)


def test_a_selection_is_shown_alone() -> None:
    shown = [section.title for section in sections(what_if(KEYS, LN_9, select=("weights",)))]
    assert shown[1:] == ["weights"]


@pytest.mark.parametrize(
    ("text", "name"), [("value[b,e1]=5", "value"), ("bias[q,b]=1", "bias"), ("mask[q,b]=0", "visible_by_mask")]
)
def test_an_input_or_a_mask_that_is_selected_is_shown(text: str, name: str) -> None:
    keys = KEYS | {"bias": [[0, 0]], "mask": [[1, 1]]}
    first, section = sections(what_if(keys, text, select=(name,)))
    assert first.remarks[0] == f"changed: {name}"
    assert (section.title, section.grids[0].before is not None) == (name, True)


def test_a_result_that_did_not_change_is_shown_once_and_said_to_be_the_same() -> None:
    by_title = {section.title: section for section in sections(what_if(KEYS, "value[b,e1]=5"))}
    assert "changed: value, output" in by_title["set value[b,e1]: 2 → 5"].remarks
    assert by_title["scores"].remarks == ("the same before and after",)
    assert by_title["scores"].grids[0].before is None
    assert by_title["output"].grids[0].before is not None


def test_a_remark_stands_below_the_last_result() -> None:
    *_, last = sections(what_if(KEYS, LN_9, remark="one remark"))
    assert (last.title, last.remarks[-1]) == ("output", "one remark")


def test_an_edit_without_effect_says_so() -> None:
    first, *others = sections(what_if(KEYS, "key[b,d1]=0"))
    assert first.remarks[0] == "changed: nothing"
    assert all("the same before and after" in section.remarks for section in others)


def test_a_step_that_was_not_there_before_is_said_to_be_new() -> None:
    by_title = {section.title: section for section in sections(what_if(KEYS, "mask[q,b]=0"))}
    assert by_title["visible"].remarks == ("before there was no such step",)
    assert by_title["masked_scores"].grids[0].before is not None


def test_of_several_heads_those_without_a_change_say_so() -> None:
    ones = np.ones((1, 2, 3, 2))
    view = what_if({"query": ones, "key": ones}, "query[0,1,0,0]=5", select=("scores",))
    (section,) = list(sections(view))[1:]
    assert [grid.slice_label for grid in section.grids] == [
        "batch item 0, head 0, the same before and after",
        "batch item 0, head 1",
    ]
    assert [grid.slice_label for grid in section.grids[1].before_and_after] == [
        "batch item 0, head 1, before",
        "batch item 0, head 1, after",
    ]


def test_worked_cells_have_the_lines_of_both() -> None:
    by_title = {section.title: section for section in sections(what_if(KEYS, "key[b,d1]=3", cells=(Cell(0, 1),)))}
    before, after = ("Q(q)·K(b) = 1·0 = 0", "0/√1 = 0"), ("Q(q)·K(b) = 1·3 = 3", "3/√1 = 3")
    assert by_title["scores"].arithmetic == ("before:", *before, "after:", *after)
    assert by_title["context"].arithmetic[0] == "before:"
    assert "rose" not in str(by_title["set key[b,d1]: 0 → 3"].remarks)  # there are no tables with marks
    assert "value" not in by_title


def test_an_explanation_has_the_table_before_beside_that_after() -> None:
    by_title = {section.title: section for section in sections(what_if(KEYS, "key[b,d1]=3", explain=True))}
    assert next(iter(by_title)) == "set key[b,d1]: 0 → 3"
    grids = {title.split(". ")[-1]: section.grids for title, section in by_title.items() if section.grids}
    assert grids["key"][0].before is not None
    assert grids["key"][0].before.values.tolist() == [[0], [0]]
    assert grids["query"][0].before is None


@pytest.mark.parametrize("name", ["markdown", "latex"])
def test_documents_have_both_tables_one_after_the_other(name: str) -> None:
    shown = text(what_if(KEYS, LN_9, select=("weights",)), name=name)
    positions = [shown.index(part) for part in ("before", "0.5", "after", "0.9")]
    assert positions == sorted(positions)


def test_an_object_has_what_was_set_and_the_results_before() -> None:
    content = json.loads(text(what_if(KEYS, LN_9, select=("weights",)), name="json"))
    assert content["set"] == [{"cell": "key[b,d1]", "before": 0, "after": 2.1972245773362196}]
    assert content["before"] == {"weights": [[0.5, 0.5]]}
    np.testing.assert_allclose(content["weights"], [[0.1, 0.9]])


def test_an_object_of_an_explanation_has_every_step_before() -> None:
    content = json.loads(text(what_if(KEYS, LN_9, explain=True), name="json"))
    assert {step["name"] for step in content["steps"]} <= content["before"].keys()
    assert content["before"]["key"] == [[0], [0]]


def test_a_screen_and_a_pipe_show_the_same() -> None:
    view = what_if(KEYS, LN_9)
    screen = "".join(find_format("table").render(view, TextTarget(80, has_styles=True)))
    lines = [line.rstrip() for line in STYLES.sub("", screen).split("\n")]
    assert lines == [line.rstrip() for line in text(view, None).split("\n")]


def test_tables_of_rows_that_are_selected_keep_the_table_before() -> None:
    before = Grid(np.array([[1.0, 2.0], [3.0, 4.0]]), ("a", "b"), ("x", "y"))
    after = Grid(before.values + 1, before.rows, before.columns, before=before).select([1], [0])
    assert after.before is not None
    assert after.before.values.tolist() == [[3.0]]
    assert Section("title", (after,)).grids[0].before_and_after[0].slice_label == "before"
