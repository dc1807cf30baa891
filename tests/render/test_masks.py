"""Masks: which cells they hide, and the signs of their rules."""

import re
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from attncli import attention
from attncli.engine.run import run
from attncli.ops import operators
from attncli.plan.build import plan_of
from attncli.plan.trace import Trace
from attncli.render.document import Grid, Section
from attncli.render.formats import find_format, latex, markdown, terminal
from attncli.render.masks import hidden_cells, masks_to_show, rules_to_show
from attncli.render.sections import sections
from attncli.render.tables import sign_grids
from attncli.render.target import TEXT_FILE
from attncli.render.view import Cell, View
from tests.arrays import normal
from tests.problems import problem
from tests.render.explanations import text_of
from tests.traces import make_step, make_trace

SPEC = problem(embeddings=normal(3, 2), causal=True)
AFTER = np.triu(np.ones((3, 3), bool), 1)


def test_they_are_hidden_behind_the_mask_and_nowhere_else() -> None:
    trace = run(SPEC).trace
    hidden = {step.name: hidden_cells(trace, step, ()) for step in trace.computed}
    assert [name for name, cells in hidden.items() if cells is not None] == ["masked_scores", "exponentials", "weights"]
    np.testing.assert_array_equal(hidden["weights"], AFTER)


def test_a_batch_item_has_those_of_its_own_mask() -> None:
    spec = problem(query=normal(2, 3, 4), key=normal(2, 3, 4), heads=2, key_mask=[[1, 1, 0], [1, 1, 1]])
    trace = run(spec).trace
    first, second = (hidden_cells(trace, trace["weights"], (item, 1)) for item in (0, 1))
    assert first is not None
    assert second is not None
    assert (first.tolist(), second.any()) == ([[False, False, True]] * 3, False)


def test_without_masks_there_are_none() -> None:
    spec = problem(embeddings=normal(3, 2))
    trace = run(spec).trace
    assert hidden_cells(trace, trace["weights"], ()) is None
    assert masks_to_show(plan_of(spec), ["weights"]) == ()


def test_the_step_that_has_them_is_computed_too_where_a_table_needs_it() -> None:
    plan = plan_of(SPEC)
    asked = [["scores", "output"], ["weights"], ["visible", "weights"]]
    assert [masks_to_show(plan, names) for names in asked] == [(), ("visible",), ()]


N = 4
X = np.random.default_rng(0).standard_normal((N, 3))


def drawn(fixed: dict[str, int] | None = None, x: np.ndarray = X, **keys: object) -> list[tuple[list[str], str]]:
    """The rows of each picture, and its legend."""
    trace = attention(x, x, **keys).trace
    return [
        (["".join(row) for row in grid.signs or ()], grid.legend)
        for grid in sign_grids(trace, trace["visible"], fixed or {})
    ]


def test_every_mask_has_its_own_sign() -> None:
    mask = np.ones((N, N), dtype=bool)
    mask[3, 2] = False
    bias = np.zeros((N, N))
    bias[2, 1] = -np.inf
    ((rows, legend),) = drawn(mask=mask, bias=bias, causal=True, window=(2, 0), key_lengths=3)
    assert rows == ["●▷▷░", "●●▷░", "●−●░", "·●×░"]
    assert legend == (
        "● visible: 6   ░ padding: 4   × masked: 1   − bias −∞: 1   ▷ after the query (causal): 3   "
        "· outside the window: 1"
    )


def test_the_legend_has_only_the_masks_of_the_problem() -> None:
    ((_, legend),) = drawn(causal=True)
    assert legend == "● visible: 10   ▷ after the query (causal): 6"


def test_each_batch_item_has_its_picture_and_one_row_serves_every_query() -> None:
    found = drawn(x=np.stack([X, X]), key_lengths=[1, 4])
    assert [rows for rows, _ in found] == [["●░░░"] * N, ["●●●●"] * N]
    assert drawn(x=np.stack([X, X]), key_lengths=[1, 4], fixed={"b": 1}) == found[1:]


def test_heads_may_differ() -> None:
    x, mask = np.stack([X, X])[None], np.ones((2, 1, N), dtype=int)
    mask[1, 0, 2] = 0
    assert [rows[0] for rows, _ in drawn(x=x, mask=mask, causal=True)] == ["●▷▷▷", "●▷×▷"]


def test_of_a_large_problem_the_rules_are_asked_for_and_otherwise_the_sign_is_an_unknown_one() -> None:
    x = np.zeros((600, 1))
    plan = attention(X, X, causal=True, key_lengths=3).trace.plan
    assert rules_to_show(plan, ["visible", "weights"]) == ("visible_by_causal", "visible_by_key_lengths")
    assert rules_to_show(plan, ["weights"]) == ()
    trace = attention(x, x, causal=True, select=("visible",)).trace
    (grid,) = sign_grids(trace, trace["visible"], {})
    assert grid.signs is not None
    assert "".join(grid.signs[1][:3]) == "●●□"
    assert grid.legend == "● visible: 180300   □ hidden: 179700"


def test_the_picture_is_shown_where_it_is_selected_and_where_it_is_explained() -> None:
    result = attention(X, X, causal=True, select=("visible",))
    for view in (View(result), View(result, explain=True)):
        (section,) = [s for s in sections(view) if "visible" in s.title]
        assert section.grids[0].signs is not None
        assert section.grids[0].legend == "● visible: 10   ▷ after the query (causal): 6"


def test_the_line_of_each_mask_for_the_cell_is_below_the_picture() -> None:
    result = attention(X, X, causal=True, window=(1, 0), key_lengths=4)
    (section,) = [s for s in sections(View(result, explain=True, cells=(Cell(3, 1),))) if "visible" in s.title]
    assert section.arithmetic == (
        "key 1 ≤ position 3 of query_4: visible",
        "the window of query_4 goes from 2 to 3; key 1: hidden",
        "key 1 < 4 real keys: visible",
    )


def test_each_table_has_its_own_legend() -> None:
    result = attention(np.stack([X, X]), np.stack([X, X]), key_lengths=[1, 4], select=("visible",))
    (section,) = sections(View(result))
    assert [grid.legend for grid in section.grids] == ["● visible: 4   ░ padding: 12", "● visible: 16   ░ padding: 0"]
    lines = [line.strip() for line in text_of([section]).splitlines()]
    assert [lines[lines.index(grid.legend) - 1].split()[0] for grid in section.grids] == ["query_4", "query_4"]


def test_latex_has_the_picture_in_its_own_symbols() -> None:
    result = attention(X, X, causal=True, select=("visible",))
    text = text_of(sections(View(result)), render=latex.render)
    assert r"query\_1 & $\bullet$ & $\triangleright$ & $\triangleright$ & $\triangleright$ \\" in text
    assert r"$\bullet$ visible: 10 \ \ $\triangleright$ after the query (causal): 6" in text


def strided(query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
    """Every second key, counted from the query."""
    return (query_positions[..., :, None] - key_positions) % 2 == 0


def trace_with_rules(**rules: np.ndarray) -> Trace:
    """The steps of masks whose records have no sign."""
    visible = np.logical_and.reduce(list(rules.values()))
    steps = [make_step(f"visible_by_{name}", ("n", "m"), rule, "mask") for name, rule in rules.items()]
    inputs = {name: f"visible_by_{name}" for name in rules}
    steps.append(make_step("visible", ("n", "m"), visible, "mask", inputs))
    return make_trace(steps, {"n": ("a", "b", "c"), "m": ("a", "b", "c")})


def test_a_mask_without_a_sign_is_shown_and_in_the_legend() -> None:
    trace = trace_with_rules(strided=strided(np.arange(3), np.arange(3)))
    (grid,) = sign_grids(trace, trace["visible"], {})
    assert ["".join(row) for row in grid.signs or ()] == ["●□●", "□●□", "●□●"]
    assert grid.legend == "● visible: 5   □ strided: 4"


def test_masks_without_a_sign_share_one_sign_and_count() -> None:
    own = {"strided": strided(np.arange(3), np.arange(3)), "first": np.arange(3) < np.full((3, 1), 1)}
    trace = trace_with_rules(**own)
    (grid,) = sign_grids(trace, trace["visible"], {})
    assert ["".join(row) for row in grid.signs or ()] == ["●□□", "□□□", "●□□"]
    assert grid.legend == "● visible: 2   □ strided, first: 7"


def test_each_rule_of_an_expression_has_its_sign_where_it_alone_hides() -> None:
    pictures = drawn(mask="causal & (window:left=0,right=0 | prefix:size=1) & document:ids=0 0 0 1")
    assert pictures == [
        (
            ["●▷▷:", "●●▷:", "●□●:", ":::●"],
            "● visible: 6   : in another document: 6   ▷ after the query (causal): 3   "
            "□ outside window:left=0,right=0 | prefix:size=1: 1",
        )
    ]


def test_every_new_mask_has_a_sign_of_its_own() -> None:
    signs = [record.sign.sign for record in operators("mask").values() if record.sign is not None]
    own = [sign for sign in signs if sign != "░"]  # padding, however it is given
    assert len(set(own)) == len(own)


def test_a_cell_is_worked_out_by_each_part_of_an_expression() -> None:
    spec = problem(embeddings=normal(4, 2), mask="~dilated:step=2 & (causal | prefix:size=3)")
    lines = text_of(sections(View(run(spec, ("visible",)), explain=True, cells=(Cell(0, 1),))))
    assert "from position 0 of token_1 to key 1: 1, 0 steps of 2 and 1: hidden" in lines
    assert "not dilated: visible" in lines
    assert "one of causal, prefix: visible" in lines


@pytest.mark.parametrize("write", [terminal.render, markdown.render, latex.render])
def test_a_hidden_cell_of_a_text_has_no_number(write: Callable[..., Iterable[str]]) -> None:
    """One that takes part after all keeps its number, and so does a 0 that nothing hides."""
    grid = Grid(
        np.array([[1.0, 0.0, 0.0], [0.25, 0.75, 0.5]]), ("a", "b"), ("x", "y", "z"), hidden=AFTER[:2], corner="n\\m"
    )
    text = text_of([Section("weights", (grid,))], render=write).replace("$/$", "╱")
    cells = [re.findall(r"[╱\d.]+", line) for line in text.splitlines() if re.match(r"(\| )?[ab]\b", line)]
    assert [[cell.rstrip("0.") or cell for cell in row] for row in cells] == [["1", "╱", "╱"], ["0.25", "0.75", "0.5"]]
    assert "╱ masked" in text


def test_hidden_weights_are_0_in_what_programs_read() -> None:
    result = attention(np.eye(2), np.eye(2), causal=True, select=("weights",))
    assert result.weights.tolist()[0] == [1.0, 0.0]
    assert "".join(find_format("csv").render(View(result), TEXT_FILE)).splitlines()[1] == "query_1,1.0,0.0"


def test_a_work_sheet_says_what_the_sign_of_a_masked_cell_means() -> None:
    signs = [["1.0", "……"], ["╱  ", "0.5"]]
    assert Section("weights", (Grid(np.eye(2), ("a", "b"), ("x", "y"), signs=signs),)).legend == "╱ masked"
