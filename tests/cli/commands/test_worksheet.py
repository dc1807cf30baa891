"""`attn worksheet` and the grades of `attn check --csv`: from nothing to a graded class."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.io.yaml import yaml_text
from attncli.numbers.formatting import format_whole
from tests.cli.running import Run
from tests.problems import write_file

PROBLEM = """\
title: Two words
about: The second word gets 0.8808 of the first query.
query: [[2, 0], [0, 2]]
key: [[0, 1], [{x}, 0]]
value: [[1, 0], [0, 3]]
scale: 1
"""


def load(path: Path) -> dict[str, Any]:
    import yaml

    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def solve(problem: dict[str, Any], *, root: bool = True, decimals: int = 4) -> dict[str, Any]:
    """The weights and the output by NumPy, as a student computes them; without the root with its mistake."""
    x, w_q, w_k, w_v = (np.array(problem[key]) for key in ("embeddings", "w_q", "w_k", "w_v"))
    scores = x @ w_q @ (x @ w_k).T / (np.sqrt(w_k.shape[1]) if root else 1)
    terms = np.exp(scores)
    weights = terms / terms.sum(axis=1, keepdims=True)
    return {"weights": weights.round(decimals).tolist(), "output": (weights @ (x @ w_v)).round(decimals).tolist()}


def hand_in(path: Path, answer: dict[str, Any]) -> None:
    """Fill in the file of answers."""
    path.write_text("".join(yaml_text({**load(path), "expected": answer}, format_whole)), encoding="utf-8")


def test_a_class_goes_from_nothing_to_its_grades(run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, 'name,mail\n"Ann, B.",a\nBo,\n../Cy,\nDi,\nEd,\n', "class.csv")
    ran = run("worksheet", "--by-hand", "--seed", "1", "--names", "class.csv", "-o", "exams/")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    names, folder = ["Ann, B.", "Bo", "Di", "Ed", "_Cy"], tmp_path / "exams"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["class.csv", "exams"]
    files = [f"{name}{suffix}" for name in names for suffix in (".key.md", ".md", ".yaml")]
    assert sorted(path.name for path in folder.iterdir()) == sorted(files)
    problems = {name: load(folder / f"{name}.yaml") for name in names}
    assert problems["Bo"]["expected"] == {"weights": [[None] * 3] * 3, "output": [[None] * 4] * 3}
    assert "Bo" in (folder / "Bo.md").read_text()
    hand_in(folder / "Ann, B..yaml", solve(problems["Ann, B."]))
    hand_in(folder / "Bo.yaml", solve(problems["Bo"], root=False))
    write_file(folder, "expected: {output: [[1]]}\nembeddings: [[1, x]]\n", "Di.yaml")
    almost = solve(problems["Ed"])
    almost["output"][2][3] = None
    hand_in(folder / "Ed.yaml", almost)
    ran = run("check", "exams", "--csv", "grades.csv")
    assert ran.returncode == 2
    assert re.fullmatch(r"attn: exams/Di\.yaml, line 2, .*\n", ran.stderr)
    assert list(csv.reader(io.StringIO((tmp_path / "grades.csv").read_text()))) == [
        ["name", "right", "of", "first_wrong", "explained_by"],
        ["Ann, B.", "21", "21", "", ""],
        ["Bo", str(21 - differing(problems["Bo"])), "21", "weights[token_1,token_1]", "no_scale"],
        ["Di", "", "", 'can\'t be checked: line 2, embeddings, row 1, number 2: "x" is not a number', ""],
        ["Ed", "20", "21", "output: 1 number not filled in", ""],
        ["_Cy", "0", "21", "weights: 9 numbers not filled in", ""],
    ]


def test_answers_are_held_against_what_was_handed_out(run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, "ID,Last name,First name\n1,,Ann\n2,,Bo\n3,,Cy\n", "class.csv")
    run("worksheet", "--by-hand", "--seed", "1", "--names", "class.csv", "-o", "exams", "--format", "html")
    folder, answers = tmp_path / "exams", tmp_path / "answers"
    assert sorted(path.name for path in folder.glob("Ann*")) == ["Ann.html", "Ann.key.html", "Ann.yaml"]
    answers.mkdir()
    ran = run("check", "exams/Cy.yaml")
    assert "drawn" not in (folder / "Cy.html").read_text(encoding="utf-8")
    assert (ran.returncode, ran.stdout) == (1, "✗ exams/Cy.yaml: no number is filled in\n")
    ann, bo = load(folder / "Ann.yaml"), load(folder / "Bo.yaml")
    was = ann["embeddings"][1][0]
    ann["expected"] = solve(ann)
    ann["embeddings"][1][0] = was + 1
    (answers / "Ann.yaml").write_text("".join(yaml_text(ann, format_whole)))
    bo["expected"] = {"weights": solve(bo)["weights"]}  # and not what else was asked for
    (answers / "bo.yaml").write_text("".join(yaml_text(bo, format_whole)))
    ran = run("check", "answers", "--handed-out", "exams", "--csv", "grades.csv", "--quiet")
    change = f"embeddings[1, 0] is {was + 1}, and was {was}; it is checked as it was handed out"
    assert ran.stderr == f"attn: warning: answers/Ann.yaml: {change}\n"
    assert (tmp_path / "grades.csv").read_text().splitlines()[1:] == [
        "Ann,21,21,,",
        "bo,9,21,output: 12 numbers not filled in,",
        "Cy,0,21,weights: 9 numbers not filled in,",
    ]


@pytest.mark.parametrize("handed_out", [False, True])
def test_a_half_empty_sheet_does_not_pass(handed_out: bool, run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, "name\nAnn\nBo\n", "class.csv")
    run("worksheet", "--by-hand", "--seed", "1", "--names", "class.csv", "-o", "exams")
    answers = tmp_path / "answers"
    answers.mkdir()
    for name, first in (("Ann", 1.0), ("Bo", 5.0)):
        sheet = load(tmp_path / "exams" / f"{name}.yaml")
        weights = solve(sheet)["weights"]
        weights[0][0] = round(weights[0][0] * first, 4)
        sheet["expected"]["weights"] = weights
        (answers / f"{name}.yaml").write_text("".join(yaml_text(sheet, format_whole)))
    words = ("--handed-out", "exams") if handed_out else ()
    ran = run("check", "answers/Ann.yaml", *words)
    assert (ran.returncode, ran.stdout.splitlines()[0]) == (1, "9 of 21 numbers agree, 12 are blank.")
    assert "✗ output: 12 numbers left blank" in ran.stdout
    ran = run("check", "answers", "-q", "--csv", "grades.csv", *words)
    assert ran.returncode == 1
    lines = ran.stdout.splitlines()
    assert lines[:2] == ["0 of 2 agree, 2 differ.", "✗ answers/Ann.yaml: 9 of 21 numbers agree, 12 are blank"]
    assert lines[2].startswith("✗ answers/Bo.yaml: 1 of 21 numbers differs, 12 are blank, first in weights")
    ann, bo = csv.DictReader(io.StringIO((tmp_path / "grades.csv").read_text()))
    assert (ann["right"], ann["of"], ann["first_wrong"]) == ("9", "21", "output: 12 numbers not filled in")
    assert (bo["right"], bo["of"], bo["first_wrong"]) == ("8", "21", "weights[token_1,token_1]; 12 blank")
    report = json.loads(run("check", "answers/Ann.yaml", "--json", *words).stdout)
    assert (report["agrees"], report["blank"]) == (False, 12)
    run("check", "answers", "--junit", "out.xml", *words)
    assert 'failures="2"' in (tmp_path / "out.xml").read_text()


def test_a_class_that_cuts_is_told_so_once(run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, "name\nAnn\nBo\n", "class.csv")
    run("worksheet", "--by-hand", "--seed", "1", "--names", "class.csv", "-o", "exams")
    for name in ("Ann", "Bo"):
        path = tmp_path / "exams" / f"{name}.yaml"
        exact = solve(load(path), decimals=15)
        hand_in(path, {key: (np.trunc(np.array(table) * 1e3) / 1e3).tolist() for key, table in exact.items()})
    ran = run("check", "exams")
    assert ran.stdout.count("cut, not rounded") == 1
    assert [line.rpartition(" ")[2] for line in ran.stdout.splitlines()[2:]] == ["(cut)", "(cut)"]


def test_candidates_are_the_same_in_a_list_a_report_and_the_grades(run: Run, tmp_path: Path) -> None:
    inputs = "query: [[2, 1]]\nkey: [[1, 0], [0, 1]]\nscore: scaled_dot\n"
    write_file(
        tmp_path, f"{inputs}expected: {{scores: [[1.0, 0.5]]}}\n", "a.yaml"
    )  # divided by d, or twice by its root
    write_file(tmp_path, f"{inputs}expected: {{scores: [[1.4142, 0.7071]]}}\n", "b.yaml")
    both = "scaled_twice or scale_by_d"
    assert both in run("check", "a.yaml").stdout.splitlines()[0]
    assert (
        f"✗ a.yaml: 2 of 2 numbers differ, first in scores ({both}"
        in run("check", "a.yaml", "b.yaml", "--csv", "g.csv").stdout
    )
    assert f",{both}" in (tmp_path / "g.csv").read_text().splitlines()[1]


def test_a_file_that_a_student_named_is_no_formula_in_the_grades(run: Run, tmp_path: Path) -> None:
    names = ["=cmd()", "+1+2", "-2-3", "@sum", "Ann", "-7"]
    (tmp_path / "answers").mkdir()
    for name in names:
        write_file(tmp_path, "query: [[1]]\nkey: [[1]]\nexpected: {output: [[1]]}\n", f"answers/{name}.yaml")
    assert run("check", "answers", "--csv", "grades.csv").returncode == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "grades.csv").read_text())))
    assert sorted(row["name"] for row in rows) == ["'+1+2", "'-2-3", "'=cmd()", "'@sum", "-7", "Ann"]


def test_grades_replace_a_file_where_they_are_told_to(run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, "query: [[1]]\nkey: [[1]]\nexpected: {output: [[1]]}\n", "p.yaml")
    write_file(tmp_path, "mine", "grades.csv")
    ran = run("check", "p.yaml", "--csv", "grades.csv")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "attn: grades.csv: already exists; choose another name, or --force\n"
    assert (tmp_path / "grades.csv").read_text() == "mine"
    assert run("check", "p.yaml", "--csv", "grades.csv", "--force").returncode == 0
    assert (tmp_path / "grades.csv").read_text().splitlines()[1:] == ["p,1,1,,"]
    ran = run("check", "p.yaml", "--force", "--quiet")
    assert (ran.returncode, ran.stderr) == (0, "attn: warning: --force has no effect: only --csv needs it\n")


def differing(problem: dict[str, Any]) -> int:
    """How many numbers the forgotten root changes."""
    right, wrong = solve(problem), solve(problem, root=False)
    return sum(int((np.abs(np.subtract(right[name], wrong[name])) > 1e-4).sum()) for name in right)


def test_thirty_variants_are_different_and_can_be_done_by_hand(run: Run, tmp_path: Path) -> None:
    run("worksheet", "--by-hand", "--variants", "30", "--seed", "1", "-o", "exams")
    found = [load(path) for path in sorted((tmp_path / "exams").glob("*.yaml"))]
    keys = ("embeddings", "w_q", "w_k", "w_v")
    assert len({str([problem[key] for key in keys]) for problem in found}) == len(found) == 30
    for problem in found:
        assert {type(number) for key in keys for row in problem[key] for number in row} == {int}
        assert np.shape(problem["w_k"])[1] in (1, 4, 9)
        weights = np.array(solve(problem)["weights"])
        assert weights.min() >= 0.005
        assert all(len({*row}) == len(row) for row in weights.tolist())


@pytest.mark.parametrize("suffix", ["md", "tex", "html"])
def test_the_key_is_beside_the_exercise(suffix: str, run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, PROBLEM.format(x=1), "p.yaml")
    ran = run("worksheet", "p.yaml", "-o", f"sheet.{suffix}")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr == "attn: warning: about has a number that is asked for: it is left out of the exercise\n"
    exercise, key = ((tmp_path / f"sheet{part}.{suffix}").read_text() for part in ("", ".key"))
    assert "Two words" in exercise
    assert "0.8808" not in exercise
    assert key.count("0.8808") >= 2
    assert "exp" in key


def test_columns_keep_the_names_of_their_files(run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, "word,size,age\ncat,1,2\ndog,3,4\n", "x.csv")
    write_file(tmp_path, "km,eur\n1,2\n3,5\n", "v.csv")
    write_file(tmp_path, "query: x.csv\nkey: x.csv\nvalue: v.csv\n", "q.yaml")
    write_file(tmp_path, "embeddings: x.csv\nw_q: [[1, 0], [0, 2]]\n", "x.yaml")
    for file, count in (("q", 3), ("x", 2)):
        assert run("worksheet", f"{file}.yaml", "-o", f"{file}.md").returncode == 0
        text = (tmp_path / f"{file}.md").read_text()
        assert text.count("size") == count - (file == "q")
    assert "|  | km | eur |" in (tmp_path / "q.md").read_text()


def test_hints_can_be_left_out(run: Run, tmp_path: Path) -> None:
    write_file(tmp_path, PROBLEM.format(x=1), "p.yaml")
    assert run("worksheet", "p.yaml", "--no-formulas", "-o", "sheet.md").returncode == 0
    text = (tmp_path / "sheet.md").read_text()
    assert "exp" not in text
    assert "√" not in text


ERRORS = [
    ("p.yaml", "attn: --output: no file is named; name one, such as -o sheet.md"),
    ("p.yaml -o -", "attn: --output: standard output has the report; name a file"),
    ("p.yaml -o a.pdf", "attn: --output a.pdf: a work sheet has another suffix; expected .md, .tex, .html or .xlsx"),
    ("p.yaml -o a.md --blank value", "attn: --blank: value is given, or has no numbers; computed are "),
    ("p.yaml -o a.md --blank 1.5", "attn: --blank: 1.5 is not a share; expected a number above 0, at most 1"),
    ("p.yaml -o a.md --blank weights[zebra,*]", "attn: --blank: unknown token 'zebra'"),
    ("p.yaml -o a.md --blank wieghts", "attn: --blank: unknown result 'wieghts'; did you mean 'weights'?"),
    ("p.yaml -o a --variants 3", "attn: --variants: needs --by-hand, which draws them; add --by-hand"),
    ("--by-hand -o a --variants 0", "attn: --variants: 0 is not a number of variants; expected a number from 1"),
    ("--by-hand -o a --names twice.csv", "attn: --names, twice.csv: 'Ann' is there twice; tell both apart"),
    (
        "--by-hand -o a --names long.csv",
        "attn: --names, long.csv: is not a list of names (field larger than",
    ),
    (
        "--by-hand -o a --names b.csv",
        f"attn: --names, b.csv: '{37 * 'é'}...' is too long for the name of a ",
    ),
    ("--by-hand -o a.tex --variants 2", "attn: --output a.tex: must be a folder of sheets; write -o a --format tex"),
    ("--by-hand -o a --variants 2 --format doc", "attn: --format: unknown format 'doc'; expected one of md, tex, "),
    ("p.yaml -o a.md --format md", "attn: --format: the suffix of the file says it; leave out --format"),
    ("--by-hand -o full --variants 2", "attn: full: already exists; choose another name, or --force"),
    ("p.yaml -o p.md", "attn: --output p.md: is the input p.md; attn never overwrites an input: name another file"),
]


@pytest.mark.parametrize(("words", "error"), ERRORS, ids=[words for words, _ in ERRORS])
def test_what_cannot_be_written_is_said_and_no_file_is_touched(
    words: str, error: str, run: Run, tmp_path: Path
) -> None:
    write_file(tmp_path, PROBLEM.format(x=1).replace("value: [[1, 0], [0, 3]]", "value: {file: v.csv}"), "q.yaml")
    write_file(tmp_path, PROBLEM.format(x=1), "p.yaml")
    write_file(tmp_path, "Ann\nann\n", "twice.csv")
    write_file(tmp_path, f"Ann\n{140_000 * 'b'}\n", "long.csv")
    write_file(tmp_path, f"Ann\n{101 * 'é'}\n", "b.csv")
    (tmp_path / "full").mkdir()
    write_file(tmp_path, "x", "full/x")
    if words.endswith("-o p.md"):
        (tmp_path / "p.md").symlink_to("p.yaml")
    before = sorted(tmp_path.rglob("*"))
    ran = run("worksheet", *words.split())
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines()[-1].startswith(error.replace("input p.md", "input p.yaml"))
    assert sorted(tmp_path.rglob("*")) == before
