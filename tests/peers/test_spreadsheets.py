"""Work sheets as spreadsheets: what other programs compute of their formulas is what the steps have."""

import csv
import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.engine.run import run
from attncli.io import examples
from attncli.problem.build import build
from attncli.problem.spec import ProblemSpec
from attncli.render.blank_request import parse_blanks
from attncli.worksheet.blanks import find_blanks
from attncli.worksheet.sheets import Sheet, render_sheet, shown_steps

pytestmark = pytest.mark.peer


def student(query: Any, key: Any, nu: float = 2.0) -> Any:
    squared = ((query[..., :, None, :] - key[..., None, :, :]) ** 2).sum(axis=-1)
    return -np.log1p(squared / nu)


def shares(scores: Any) -> Any:
    kept = np.where(np.isfinite(scores), np.maximum(scores + 4, 0), 0) ** 2
    return kept / kept.sum(axis=-1, keepdims=True)


SMALL = {"query": [[1, 0, 2, 1], [0, 1, 1, 0]], "key": [[1, 1, 0, 0], [0, 2, 1, 1], [1, 0, 0, 1]]}
VALUE = {"value": [[1, 0, 3, 1], [0, 2, 1, 5], [3, 1, 2, 2]]}
NARROW = [[1, 2], [3, 4], [0, 5]]
EMPTY = {"mask": [[0, 0, 0], [1, 0, 1]], "bias": [[1, 0, 1], [2, 1, 0]]}
OPTIONS: dict[str, Any] = {"scale": 0.5, "normalize": {"softmax": {"temperature": 2}}}
LABELS = {"tokens": ["=1+1", "-2", "@cmd"]}
DEMOS = ["tutorial", "bahdanau", "causal", "content_based", "multi_head", "one_query", "sentence"]
PROBLEMS = {
    **{name: examples.load(name).parts[0].problem for name in DEMOS},
    "groups": build({"query": SMALL["query"], "key": NARROW, "value": NARROW, "heads": 2, "kv_heads": 1}),
    "an empty row": build({**SMALL, **VALUE, **EMPTY, "softcap": 2}),
    "rope, a norm, top-k": build(
        {
            **{**SMALL, **VALUE, "causal": True, "position": {"rope": {"interleaved": True, "dims": 2, "scaling": 2}}},
            **{"qk_norm": {"rms": {"query_gain": [1, 2, 3, 4]}}, "normalize": {"topk": {"k": 2}}},
        }
    ),
    "a norm of layers, sparsemax": build({**SMALL, **VALUE, **EMPTY, "qk_norm": "layer", "normalize": "sparsemax"}),
    "a sink": build({**SMALL, **VALUE, "heads": 2, "sink": [0.5, 1], "position": "alibi", "qk_norm": {"l2": {}}}),
    "distances": build({**SMALL, **VALUE, "score": "laplacian", "normalize": "softmax1"}),
    "a kernel": build({**SMALL, **VALUE, "score": {"gaussian": {"sigma": 2}}}),
    "the best key": build({**SMALL, **VALUE, "score": "euclidean", "normalize": "hardmax", "context": "argmax"}),
    "formulas": build({**SMALL, **VALUE, **LABELS, **OPTIONS}),
}


def make(problem: ProblemSpec, *asked: str) -> Sheet:
    result = run(problem, every_step=True)
    blanks = find_blanks(result.trace, parse_blanks(asked), 4, sorted(shown_steps(result.trace)))
    return Sheet(result, blanks, 4)


def open_workbook(content: bytes) -> Any:
    openpyxl = pytest.importorskip("openpyxl")
    return openpyxl.load_workbook(io.BytesIO(content))


def calculated(content: bytes, folder: Path) -> dict[str, list[list[Any]]]:
    """The rows of cells of each sheet, as the package `formulas` computes them."""
    formulas = pytest.importorskip("formulas")
    path = folder / "book.xlsx"
    path.write_bytes(content)
    values = formulas.ExcelModel().loads(str(path)).finish().calculate()
    found = {}
    for page in open_workbook(content):
        cells = [[(cell, f"'[book.xlsx]{page.title.upper()}'!{cell.coordinate}") for cell in row] for row in page]
        found[page.title] = [
            [values[name].value[0, 0] if cell.data_type == "f" else cell.value for cell, name in row] for row in cells
        ]
    return found


def table(rows: list[list[Any]], shape: tuple[int, ...]) -> np.ndarray:
    """The numbers of a sheet, from its tables one below the other."""
    numbers = [[-np.inf if cell == "−∞" else cell for cell in row[1:]] for row in rows[4:]]
    kept = [[c for c in row if c is not None] for row in numbers]
    flat = [float(c) for row in kept for c in row if row and not isinstance(c, str)]
    return np.array(flat).reshape(shape)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_formulas_of_a_key_compute_every_step(name: str, tmp_path: Path) -> None:
    check_formulas(PROBLEMS[name], tmp_path)


@pytest.mark.usefixtures("restored_registry")
def test_functions_of_somebody_else_have_formulas(tmp_path: Path) -> None:
    check_formulas(build({**SMALL, **VALUE, "causal": True, "score": student, "normalize": shares}), tmp_path)


def check_formulas(problem: ProblemSpec, tmp_path: Path) -> None:
    sheet = make(problem)
    _, key = render_sheet(sheet, ".xlsx")
    found, trace = calculated(key, tmp_path), sheet.result.trace
    compared = [step for step in trace if step.name in found]
    assert {"weights", "scores"} & {step.name for step in compared}
    for step in compared:
        np.testing.assert_allclose(table(found[step.name], step.value.shape), step.value, atol=1e-9)


def test_an_input_that_is_changed_changes_what_follows(tmp_path: Path) -> None:
    problem = {**SMALL, **VALUE}
    _, key = render_sheet(make(build(problem)), ".xlsx")
    workbook = open_workbook(key)
    assert workbook["query"]["B7"].value == 1
    workbook["query"]["B7"] = 5
    workbook.save(changed := io.BytesIO())
    query = np.array(SMALL["query"], float)
    query[0, 0] = 5
    expected = attncli.attention(query, np.array(SMALL["key"], float), np.array(VALUE["value"], float)).output
    found = calculated(changed.getvalue(), tmp_path)
    np.testing.assert_allclose(table(found["context"], expected.shape), expected)


def test_blanks_are_marked_and_empty_and_labels_are_text() -> None:
    exercise, _ = render_sheet(make(PROBLEMS["formulas"]), ".xlsx")
    workbook = open_workbook(exercise)
    assert "exponentials" not in workbook.sheetnames
    cells = [cell for row in workbook["weights"]["B7:D8"] for cell in row]
    assert {cell.value for cell in cells} == {None}
    assert {cell.fill.fgColor.rgb for cell in cells} == {"FFFFF2CC"}
    labels = [workbook["weights"][name] for name in ("B6", "C6", "D6")]
    assert [(cell.value, cell.data_type) for cell in labels] == [("=1+1", "s"), ("-2", "s"), ("@cmd", "s")]


def test_a_sheet_that_is_filled_in_is_checked_as_a_problem(tmp_path: Path) -> None:
    problem = PROBLEMS["formulas"]
    exercise, _ = render_sheet(make(problem, "weights", "output[0,*]"), ".xlsx")
    workbook = open_workbook(exercise)
    right = attncli.Problem(**{**SMALL, **VALUE, **LABELS, **OPTIONS}).compute(("weights", "output"))
    assert workbook["attn"].sheet_state == "hidden"
    for (row, column), number in np.ndenumerate(right.weights):
        workbook["weights"].cell(7 + row, 2 + column).value = round(float(number), 3)
    for column, number in enumerate(right.output[0]):
        workbook["context"].cell(7, 2 + column).value = float(number)
    workbook.save(tmp_path / "sheet.xlsx")
    assert repr(attncli.check(attncli.load(tmp_path / "sheet.xlsx"))) == "Report(All 10 numbers agree)"
    workbook["query"]["B7"], workbook["weights"]["C7"] = 5, "0,5"
    workbook.save(tmp_path / "sheet.xlsx")
    assert attncli.load(tmp_path / "sheet.xlsx").query[0, 0] == 5
    with pytest.raises(AttnError, match=r'sheet\.xlsx, expected, weights, .*"0,5" is not a number'):
        attncli.check(attncli.load(tmp_path / "sheet.xlsx"))


def test_a_sheet_of_any_spreadsheet_is_a_matrix(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    workbook = openpyxl.Workbook()
    workbook.active.title = "words"
    for row in (("word", "x1", "x2"), ("cat", 1, 2.5), ("dog", 0, -1)):
        workbook.active.append(row)
    workbook.save(tmp_path / "book.xlsx")
    (tmp_path / "p.yaml").write_text("embeddings: book.xlsx\n")
    problem = attncli.load(tmp_path / "p.yaml")
    assert problem.embeddings.tolist() == [[1, 2.5], [0, -1]]
    assert problem.compute("weights").key_tokens == ("cat", "dog")
    with pytest.raises(AttnError, match="is a spreadsheet that attn worksheet did not write"):
        attncli.load(tmp_path / "book.xlsx")
    (tmp_path / "book.xlsx").write_bytes(b"PK")
    with pytest.raises(AttnError, match=r"is not a valid spreadsheet \(BadZipFile\)"):
        attncli.load(tmp_path / "p.yaml")


def test_what_has_no_formula_is_refused_by_name() -> None:
    pytest.importorskip("openpyxl")
    with pytest.raises(AttnError, match="weights has no formulas of a spreadsheet"):
        render_sheet(make(build({**SMALL, **VALUE, "normalize": {"entmax": {"alpha": 1.5}}})), ".xlsx")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(AttnError, match=r"pip install 'attncli\[sheet\]'"):
        render_sheet(make(build({**SMALL, **VALUE})), ".xlsx")


@pytest.mark.skipif(shutil.which("soffice") is None, reason="needs LibreOffice")
def test_libreoffice_computes_the_same(tmp_path: Path) -> None:
    sheet = make(PROBLEMS["causal"])
    (tmp_path / "key.xlsx").write_bytes(bytes(render_sheet(sheet, ".xlsx")[1]))
    every_sheet = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    words = ["soffice", profile, "--headless", "--convert-to", every_sheet, "--outdir", str(tmp_path), "key.xlsx"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    for name in ("masked_scores", "weights", "context"):
        step, text = sheet.result.trace[name], (tmp_path / f"key-{name}.csv").read_text(encoding="utf-8")
        rows = [[number_of(cell) for cell in row] for row in csv.reader(io.StringIO(text))]
        np.testing.assert_allclose(table(rows, step.value.shape), step.value, atol=1e-9)


def number_of(cell: str) -> float | str | None:
    try:
        return float(cell)
    except ValueError:
        return cell or None
