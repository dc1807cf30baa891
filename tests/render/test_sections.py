"""The document of a view: every step with its numbers, and before and after edits."""

import functools
import itertools
import json
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.labels import number_equal_labels
from attncli.engine.run import run
from attncli.io import examples
from attncli.problem.edits import edit_problem, parse_edit
from attncli.render.document import Grid, Section
from attncli.render.formats import find_format, latex, markdown
from attncli.render.sections import sections
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import Cell, View
from tests.arrays import normal
from tests.render.explanations import explained, result_of, text_of

PARTS = [
    pytest.param(part, id=f"{name}-{part.title or 'whole'}")
    for name in examples.names()
    for part in examples.load(name).parts
]
LAYOUTS = [  # each has steps on axes that the others have not
    "causal, grouped heads",
    "a cache and a window",
    "heads in the features, padding on the left",
    "heads in the features, a cache",
    "one head, a softcap and a bias",
    "a batch without heads",
    "selected queries, a mask and a bias",
    "selected queries of another sequence",
    "rope on three axes of positions",
    "norms with gains of each head, before and after the context",
    "given scores alone",
    "an attentional context",
]
TEXTS = {
    "a screen": functools.partial(text_of, target=TextTarget(80)),
    "a file": text_of,
    "markdown": functools.partial(text_of, render=markdown.render),
    "latex": functools.partial(text_of, render=latex.render),
}


@pytest.mark.parametrize(("name", "target"), list(zip(LAYOUTS, itertools.cycle(TEXTS))))
def test_every_number_of_every_head_is_in_the_json_and_in_a_text(name: str, target: str) -> None:
    """The formats of text in turn."""
    view = View(result_of(name), explain=True, expanded_axes=frozenset("bh"))
    shown = {name: section for name, section in explained(view).items() if section.grids and name != "visible"}
    steps = {step["name"]: step for step in json.loads("".join(find_format("json").render(view, TEXT_FILE)))["steps"]}
    assert shown.keys() & steps.keys()
    for step in shown.keys() & steps.keys():
        stacked = np.array([grid.values for grid in shown[step].grids]).reshape(-1)
        np.testing.assert_array_equal(stacked, np.array(steps[step]["value"]).astype(float).reshape(-1), err_msg=step)
    tables = [replace(section, arithmetic=(), remarks=()) for section in shown.values()]
    numbers = Counter(
        text.strip() for section in tables for grid in section.grids for row in grid.cell_texts(4) for text in row
    )
    text = TEXTS[target](tables).replace(r"\infty", "∞").replace("−", "-").replace("$/$", "╱")
    words = Counter(re.split(r"[\s|*\[\]$}]+", text))
    assert {number for number in numbers if words[number.replace("−", "-")] < numbers[number]} == set()


@pytest.mark.parametrize(("key", "rotates"), [(0, False), (1, False), (2, True), (3, True)])
def test_the_rotation_of_new_keys_is_explained_and_not_of_cached_ones(key: int, rotates: bool) -> None:
    x = normal(2, 4)
    result = attncli.attention(x, x, past_key=x + 1, past_value=x, position="rope")
    shown = {section.title: section for section in sections(View(result, explain=True, cells=(Cell(0, key),)))}
    (rotated,) = [section for title, section in shown.items() if "rotated_key" in title]
    assert bool(rotated.arithmetic) == rotates
    if rotates:
        assert rotated.arithmetic[0].startswith(f"angle of pair 0 = {key}·10000^(−0/4) = ")


@pytest.mark.parametrize("part", PARTS)
def test_every_number_that_is_explained_is_in_the_json(part: examples.Part) -> None:
    view = View(run(part.problem), explain=True)
    steps = {step["name"]: step for step in json.loads("".join(find_format("json").render(view, TEXT_FILE)))["steps"]}
    for section in sections(view):
        if (numbered := re.match(r"\d+\. (\w+)", section.title)) is None or not section.grids:
            continue  # what was given, and what stands above already
        step = steps[numbered[1]]
        value = np.array(step["value"], dtype=float).reshape(-1, section.grids[0].values.shape[-1])
        for grid in section.grids:
            assert grid.rows == number_equal_labels(step["rows"]) or len(step["shape"]) < 2
            assert grid.columns == number_equal_labels(step["columns"]) or not step["shape"]
            for row in grid.values:
                assert (value == row).all(axis=-1).any(), section.title


def tutorial(**keys: Any) -> attncli.Result:
    word = examples.load("tutorial").parts[1].problem
    given = {name: getattr(word, name) for name in ("embeddings", "tokens", "w_q", "w_k", "w_v")}
    return attncli.Problem(**{**given, "only": ("word_1",), **keys}).compute()


def test_the_explanation_of_the_tutorial() -> None:
    shown = {section.title: section for section in sections(View(tutorial(), explain=True))}
    assert [title for title in shown if title[0].isdigit()] == [
        "1. query", "2. key", "3. value", "4. dot_products", "5. scores", "6. exponentials",
        "7. weights", "8. context",
    ]  # fmt: skip
    assert shown["1. query"].arithmetic == ("query(word_1) = 1·[2 0 2] + 0·[2 0 0] + 0·[2 1 2] = [2 0 2]",)
    assert shown["1. query"].shapes == "Xₒ [n x] 1 × 3, W_Q [x d] 3 × 3 → [n d] 1 × 3"
    assert shown["5. scores"].arithmetic == (
        "Q(word_1)·K(word_1) = 2·2 + 0·2 + 2·2 = 8",
        "8/√3 = 4.6188",
    )
    assert shown["7. weights"].arithmetic == (
        "exp(4.6188 − 5.7735) = 0.3152",
        "Σⱼ exp = 0.31515 + 0.00986 + 1 + 0.00986 = 1.3349",
        "0.3152/1.3349 = 0.2361",
        "Σⱼ Aᵢⱼ = 0.2361 + 0.0074 + 0.7491 + 0.0074 = 1.0000",
    )
    assert shown["8. context"].arithmetic == (
        "C(word_1) = 0.2361·[1 1 0] + 0.0074·[0 1 1] + 0.7491·[1 2 1] + 0.0074·[0 0 0] = [0.9852 1.7417 0.7565]",
    )
    assert shown["8. context"].remarks == ("output = context: one head, no w_o",)


def test_another_cell_may_be_worked_out() -> None:
    shown = {section.title: section for section in sections(View(tutorial(), explain=True, cells=(Cell(0, 1),)))}
    assert shown["5. scores"].arithmetic[0] == "Q(word_1)·K(word_2) = 2·0 + 0·2 + 2·1 = 2"


def test_steps_that_do_nothing_are_not_shown() -> None:
    result = attncli.attention([[1.0, 2.0]], [[3.0, 4.0]])
    shown = {section.title: section for section in sections(View(result, explain=True))}
    assert not any("output" in title for title in shown)
    assert (shown["3. value"].formula, shown["3. value"].grids) == ("V = K", ())


def test_the_first_head_is_shown_or_the_given_one() -> None:
    result = run(examples.load("multi_head").parts[0].problem)
    for head, expected in ((None, 0), (0, 0), (1, 1)):
        positions = {} if head is None else {"h": head}
        shown = {section.title: section for section in sections(View(result, explain=True, positions=positions))}
        (grid,) = shown["10. weights"].grids
        np.testing.assert_array_equal(grid.values, result.weights[expected])
        assert grid.slice_label == f"head {expected}"


def test_overflow_is_explained_without_a_python_warning() -> None:
    result = attncli.attention([[1e200, 1.0]], [[1e200, 1.0], [-1e200, 2.0]], score="dot")
    lines = [line for section in sections(View(result, explain=True)) for line in section.arithmetic]
    assert any("∞" in line for line in lines)
    assert any("overflowed" in note for note in result.trace.notes)


def test_the_letters_of_the_shapes_are_explained_first() -> None:
    first = next(iter(sections(View(tutorial(), explain=True))))
    assert first.formula == ("n queries, m keys, d query features, e value features, x embedding features")


def test_an_option_that_does_not_take_part_is_not_shown() -> None:
    """The number of heads, where there is no axis of heads."""
    result = attncli.attention([[1.0]], [[1.0], [2.0]], position="alibi")
    shown = {section.title: section for section in sections(View(result, explain=True))}
    assert [section.shapes for title, section in shown.items() if title.endswith("position_bias")] == [
        "pos [n] 1, j [m] 2, λ [h] 1 → [n m] 1 × 2"
    ]


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
