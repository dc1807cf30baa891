"""Markdown and LaTeX, and grids of more than two axes."""

import re

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.ops.registry import Quantity
from attncli.render.formats import latex, markdown
from attncli.render.grid import Grid, grids
from attncli.render.sections import Section
from attncli.trace.steps import Step, Trace

EVIL = "a|b_c*[x]<y>&%$#{}~^\\"
GRID = Grid(np.array([[0.25, -np.inf]]), (EVIL,), ("one", "two"), corner="n\\m", slice="head 0")
SECTION = Section("weights", (GRID,), formula="aᵢⱼ = x", arithmetic=("1 + 1 = 2",), remarks=("a_remark",))


def test_a_markdown_table_has_a_cell_for_every_number() -> None:
    lines = markdown.render([SECTION], 4).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [4, 4, 4]
    assert rows[1] == "| --- | --: | --: |"
    assert rows[2].endswith("| 0.25 | −∞ |")
    assert "1 + 1 = 2" in lines[lines.index("```") + 1]


def test_markdown_reads_no_markup_in_a_label() -> None:
    (row,) = [line for line in markdown.render([SECTION], 4).splitlines() if "0.25" in line]
    label = row.split(" | 0.25")[0].removeprefix("| ")
    assert re.sub(r"\\(.)", r"\1", label) == EVIL
    assert not re.search(r"(?<!\\)(?:\\\\)*[|_*\[\]<>#`]", label)


def test_a_latex_table_is_balanced_and_reads_no_command_in_a_label() -> None:
    text = latex.render([SECTION], 4, heading="scaled_dot → softmax")
    assert text.count(r"\begin{tabular}{lrr}") == text.count(r"\end{tabular}") == 1
    assert r"\section*{scaled\_dot $\to$ softmax}" in text
    assert (
        r"a|b\_c*[x]<y>\&\%\$\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{} & $0.25$ & $-\infty$ \\" in text
    )
    unescaped = re.sub(r"\\.", "", text)
    assert unescaped.count("{") == unescaped.count("}")


@pytest.mark.parametrize("shape", [(3,), (2, 3), (5, 2, 3), (2, 5, 2, 3)])
def test_an_array_of_any_number_of_axes_is_shown_whole(shape: tuple[int, ...]) -> None:
    value = np.arange(np.prod(shape), dtype=float).reshape(shape)
    axes = ("h", "n", "m", "a")[-len(shape) :] if len(shape) > 2 else ("m", "a")[-len(shape) :]
    labels = {"n": tuple("pqrst"[: shape[-3]]) if len(shape) > 2 else (), "m": ("x", "y")}
    step = Step(Quantity("hidden", "H", "", axes), "score", value)
    shown = list(grids(Trace({}, labels, (step,), Precision()), step))
    np.testing.assert_array_equal(np.concatenate([grid.values for grid in shown]).ravel(), value.ravel())
    assert len({grid.slice for grid in shown}) == len(shown)
    assert shown[0].columns == ("a1", "a2", "a3")


def test_a_fixed_place_picks_one_grid() -> None:
    value = np.arange(24.0).reshape(2, 3, 4)
    step = Step(Quantity("weights", "A", "", ("h", "n", "m")), "normalize", value)
    trace = Trace({}, {"n": tuple("abc"), "m": tuple("wxyz")}, (step,), Precision())
    (grid,) = grids(trace, step, {"h": 1})
    np.testing.assert_array_equal(grid.values, value[1])
    assert grid.slice == "head 1"
