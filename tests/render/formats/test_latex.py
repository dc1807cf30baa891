"""LaTeX: balanced tables, and labels that are no commands."""

import re

import numpy as np

from attncli.render.formats import latex
from attncli.render.grid import Grid
from attncli.render.sections import Section

EVIL = "a|b_c*[x]<y>&%$#{}~^\\"
GRID = Grid(np.array([[0.25, -np.inf]]), (EVIL,), ("one", "two"), corner="n\\m", slice_label="head 0")
SECTION = Section("weights", (GRID,), formula="aᵢⱼ = x", arithmetic=("1 + 1 = 2",), remarks=("a_remark",))


def test_a_latex_table_is_balanced_and_reads_no_command_in_a_label() -> None:
    text = latex.render_sections([SECTION], 4, heading="scaled_dot → softmax")
    assert text.count(r"\begin{tabular}{lrr}") == text.count(r"\end{tabular}") == 1
    assert r"\section*{scaled\_dot $\to$ softmax}" in text
    assert (
        r"a|b\_c*[x]<y>\&\%\$\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{} & $0.25$ & $-\infty$ \\" in text
    )
    unescaped = re.sub(r"\\.", "", text)
    assert unescaped.count("{") == unescaped.count("}")
