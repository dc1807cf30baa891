"""Notebooks: text, code and tables of each step; they run from top to bottom."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attncli.io import examples
from attncli.plan.trace import RunResult
from attncli.render.view import View
from tests.code.scripts import cells_of, code_of_cells, every_step, run_script
from tests.problems import dense_trace, problem


def lesson(name: str) -> View:
    """The view of a worked example with its parts."""
    example = examples.load(name)
    parts = tuple(
        View(RunResult(dense_trace(part.problem), part.show), title=part.title, about=part.about)
        for part in example.parts
    )
    return replace(parts[0], title=example.title, about=example.about, parts=parts)


@pytest.fixture(scope="module")
def view() -> View:
    return every_step(problem(query=[[1, 0]], key=[[1, 0], [0, 1]]))


def test_each_step_has_its_purpose_its_formula_its_code_and_its_table(view: View) -> None:
    cells = cells_of(view)
    at = next(at for at, cell in enumerate(cells) if "### scores\n" in cell["source"])
    text, code = cells[at], cells[at + 1]
    assert text["source"][2:] == [
        "The dot product, divided by the square root of the number of features.\n",
        "\n",
        "$S_{ij} = Q_{i}\\cdot K_{j} / \\sqrt{d}$",
    ]
    assert code["source"][-1] == "Shaded(scores, query_tokens, columns=key_tokens)"
    (output,) = code["outputs"]
    assert "<table" in "".join(output["data"]["text/html"])
    assert output["data"]["text/plain"] == ["[[0.7071 0.    ]]"]


@pytest.mark.parametrize("keys", [{}, {"recurrence": "gated:slopes=retnet", "value": [[1.0], [2.0]]}], ids=["", "attn"])
def test_what_is_given_is_said_to_be_before_its_code(keys: dict[str, Any]) -> None:
    cells = cells_of(every_step(problem(query=[[1, 0], [0, 1]], key=[[1, 0], [0, 1]], **keys)))
    at = next(at for at, cell in enumerate(cells) if cell["source"] == ["What is given:"])
    assert cells[at]["cell_type"] == "markdown"
    assert any("[1" in line for line in cells[at + 1]["source"])


def test_a_notebook_has_what_jupyter_requires(view: View) -> None:
    cells = cells_of(view)
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cell["id"]) for cell in cells)
    required = {"markdown": {"cell_type", "id", "metadata", "source"}}
    required["code"] = required["markdown"] | {"execution_count", "outputs"}
    assert all(cell.keys() == required[cell["cell_type"]] for cell in cells)


@pytest.mark.parametrize("name", ["tutorial", "luong"])
def test_a_worked_example_has_a_section_for_each_part_and_runs(name: str, tmp_path: Path) -> None:
    view = lesson(name)
    cells = cells_of(view)
    headings = [cell["source"][0] for cell in cells if cell["source"][0].startswith("## ")]
    assert len(headings) == len(view.parts)
    code = code_of_cells(cells)
    assert "attncli" not in code
    assert run_script(code, tmp_path)["output"].shape == view.parts[-1].result.trace["output"].value.shape


def test_a_step_that_no_part_changes_is_written_once() -> None:
    assert code_of_cells(cells_of(lesson("luong"))).count("\nquery = ") == 1


def test_the_table_that_runs_is_shaded(view: View, tmp_path: Path) -> None:
    shaded = run_script(code_of_cells(cells_of(view)), tmp_path)["Shaded"]
    assert 'rgba(33,113,181,0.50)">2</td>' in shaded([[1, 2]])._repr_html_()
    assert ">1</td>" in shaded([[True, False]])._repr_html_()
    assert repr(shaded([0.123456])) == "array([0.1235])"


def test_with_attn_a_notebook_imports_it(view: View, tmp_path: Path) -> None:
    code = code_of_cells(cells_of(replace(view, with_attn=True)))
    assert code.startswith("import attncli\n")
    assert run_script(code, tmp_path)["result"].output.tolist() == view.result.output.tolist()
