"""--transpose: tables of queries and keys with a row for each key; other tables stay."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from attncli.render.document import Grid
from tests.cli.running import Run

PROBLEM = (
    "compute",
    "--weights",
    "0.5 0.5 0; 0 0 1",
    "--value",
    "1; 2; 3",
    "--query-tokens",
    "a,b",
    "--tokens",
    "x,y,z",
)
ALONE = (*PROBLEM, "--select", "weights", "--transpose")


def test_a_table_has_keys_down_and_queries_across_and_the_output_stays(run: Run) -> None:
    assert (
        run(*PROBLEM, "--transpose").stdout
        == """\
weighted_sum

weights
m\\n     a     b
───────────────
x     0.5     0
y     0.5     0
z       0   1.0

output
n\\e    e1
─────────
a     1.5
b     3.0
"""
    )


@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_csv_has_a_line_for_each_key(suffix: str, delimiter: str, run: Run, tmp_path: Path) -> None:
    run(*ALONE, "-o", f"out.{suffix}")
    rows = list(csv.reader(io.StringIO((tmp_path / f"out.{suffix}").read_text()), delimiter=delimiter))
    assert rows == [["", "a", "b"], ["x", "0.5", "0.0"], ["y", "0.5", "0.0"], ["z", "0.0", "1.0"]]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--format", "markdown"), "| z | 0 | 1.0 |"),
        (("--format", "latex"), r"z & $0$ & $1.0$ \\"),
        (("--heatmap",), "z       0 █ 1.0"),
    ],
)
def test_documents_and_heat_maps_have_a_row_for_each_key(options: tuple[str, ...], line: str, run: Run) -> None:
    assert line in run(*ALONE, *options).stdout


def test_an_explanation_has_marks_signs_and_hidden_cells_in_their_places(run: Run) -> None:
    table = run(
        *("compute", "--query", "1;1", "--key", "1;2;3", "--causal", "--explain", "--cell", "1,0", "--transpose")
    ).stdout
    visible = table.partition("visible  M_all")[2].partition("m\\n")[2].splitlines()
    assert [line.split() for line in visible[2:5]] == [["*key_1", "●", "[●]"], ["key_2", "▷", "●"], ["key_3", "▷", "▷"]]


def test_numbers_before_and_after_are_transposed_both(run: Run) -> None:
    shown = run(*ALONE, "--set", "weights[0,2]=1").stdout
    assert "z       0   1.0    z     1.0▲   1.0" in shown


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("out.json", "json has arrays, not tables"),
        ("out.npz", "npz has arrays, not tables"),
        ("out.html", "html has queries down and keys across"),
    ],
)
def test_a_format_without_such_tables_warns(file: str, reason: str, run: Run) -> None:
    assert run(*PROBLEM, "--transpose", "-o", file).stderr == f"attn: warning: --transpose has no effect: {reason}\n"


def test_only_tables_of_queries_and_keys_are_transposed() -> None:
    values = np.arange(6.0).reshape(2, 3)
    labels = (("a", "b"), ("x", "y", "z"))
    for corner, shape in {"n\\m": (3, 2), "q\\m": (3, 2), "n\\m+1": (3, 2), "n\\e": (2, 3), "m\\e": (2, 3)}.items():
        assert Grid(values, *labels, corner).with_keys_down.values.shape == shape
