"""Numbers with decimal commas: read from files and options, written in tables, sheets and CSV."""

import csv
from pathlib import Path

import numpy as np
import pytest

import attncli
from tests.cli.running import run_in_process
from tests.problems import write_file

POINTS = "embeddings: [[0.5, 1], [1, -2.25]]\nscale: 0.5\nbias: [[0, 0.5], [1.5, 0]]\n"
COMMAS = {
    "rows in a list": "decimal_comma: true\nembeddings:\n- 0,5 1\n- 1 -2,25\nscale: 0,5\nbias: [[0, 0.5], [1.5, 0]]\n",
    "rows in a text": "decimal_comma: true\nembeddings: 0,5 1; 1 -2,25\nscale: 0,5\nbias: |\n  0 0,5\n  1,5 0\n",
}


@pytest.mark.parametrize("text", COMMAS.values(), ids=list(COMMAS))
def test_a_file_with_commas_is_the_problem_with_points(tmp_path: Path, text: str) -> None:
    points, commas = (attncli.load(write_file(tmp_path, each)).compute() for each in (POINTS, text))
    np.testing.assert_array_equal(commas.output, points.output)


def test_an_option_says_it_of_a_file_and_of_other_options(tmp_path: Path) -> None:
    path = write_file(tmp_path, COMMAS["rows in a text"].replace("decimal_comma: true\n", ""))
    options = ["--decimal-comma", "--scale", "0,25", "--select", "scores", "--format", "csv"]
    ran = run_in_process("compute", path, *options, folder=tmp_path)
    rows = list(csv.reader(ran.stdout.splitlines(), delimiter=";"))
    assert rows == [["", "token_1", "token_2"], ["token_1", "0,3125", "-0,4375"], ["token_2", "-0,4375", "1,515625"]]


def test_tables_and_arithmetic_have_commas_and_labels_keep_their_points(tmp_path: Path) -> None:
    path = write_file(tmp_path, f"decimal_comma: true\ntokens: [v1.0, v2.0]\n{POINTS}")
    table = run_in_process("compute", path, "--cell", "v1.0,v2.0", folder=tmp_path).stdout
    assert "  Q(v1.0)·K(v2.0) = 0,5·1 + 1·(−2,25) = −1,75" in table
    assert "  0,5·(−1,75) = −0,875" in table
    latex = run_in_process("compute", path, "--select", "scores", "--format", "latex", folder=tmp_path).stdout
    assert "$0{,}6250$" in latex


def test_a_sheet_is_answered_with_commas(tmp_path: Path) -> None:
    path = write_file(tmp_path, "query: [[0]]\nkey: [[1], [2]]\nvalue: [[1], [2]]\ndecimal_comma: true\n")
    names = write_file(tmp_path, "Anna\n", "class.csv")
    ran = run_in_process(
        "worksheet", path, "--blank", "output", "--names", names, "-o", str(tmp_path / "exams"), folder=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    answers = tmp_path / "exams" / "Anna.yaml"
    text = answers.read_text(encoding="utf-8")
    assert text.endswith("output:\n    query_1:\n      e1: null\n"), text
    answers.write_text(text.replace("null\n", "1,5\n"), encoding="utf-8")
    checked = run_in_process("check", str(answers), folder=tmp_path)
    assert (checked.returncode, checked.stdout.splitlines()[0]) == (0, "The number agrees."), checked.stdout


def test_numbers_to_check_have_commas_too(tmp_path: Path) -> None:
    path = write_file(tmp_path, "query: [[0]]\nkey: [[1], [2]]\nvalue: [[1], [2]]\ndecimal_comma: true\n")
    checked = run_in_process("check", path, "--against", "output=1,5", "--against", "weights=0,5 0,5", folder=tmp_path)
    assert (checked.returncode, checked.stdout.splitlines()[0]) == (0, "All 3 numbers agree."), checked.stderr


def test_a_row_of_numbers_between_commas_is_told_what_it_is(tmp_path: Path) -> None:
    ran = run_in_process(
        "compute", write_file(tmp_path, "decimal_comma: true\nembeddings: ['0,5 x', '1 2']\n"), folder=tmp_path
    )
    assert ran.returncode == 2
    assert "embeddings" in ran.stderr
