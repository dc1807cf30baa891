"""`attn check`: verdicts of files, folders, parts and options, where numbers are given, JUnit, JSON, exit statuses."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import attncli
import attncli.cli
from tests.cli.running import Ran, Run

INPUTS = "tokens: [the, cat, sat]\nembeddings: [[1, 0], [0, 1], [1, 1]]\ncausal: true\n"
# Softmax over the keys up to the query's own of scores 0, 1/√2 or √2, by hand: e^0.7071 = 2.0281, e^1.4142 = 4.1133.
WEIGHTS = "[[1, 0, 0], [0.3302, 0.6698, 0], [0.2483, 0.2483, 0.5035]]"
AGREES = f"{INPUTS}expected: {{weights: {WEIGHTS}}}\n"
# Where the scores are not scaled, they are 0 and 1: of 1 / (1 + e) the search for slips has only one to make.
DIFFERS = f"{INPUTS}expected: {{weights: {{cat: {{the: 0.2689}}}}, output: {{the: [1.00, 0.00]}}}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the run, with problems, and results that agree and that differ."""
    cases = tmp_path / "cases"
    (cases / "more").mkdir(parents=True)
    files = {"p.yaml": INPUTS, "agrees.yaml": AGREES, "differs.yaml": DIFFERS, "broken.yaml": "embeddings: [[1\n"}
    files |= {"cases/a.yaml": AGREES, "cases/more/b.yaml": DIFFERS, "cases/inputs.yaml": INPUTS}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    result = attncli.load(tmp_path / "p.yaml").compute(select=("weights", "output"))
    np.save(tmp_path / "output.npy", result.output)
    np.savez(tmp_path / "results.npz", weights=result.weights, output=result.output)
    uncausal = attncli.load(tmp_path / "p.yaml").replace(causal=False).compute(select=("weights", "output"))
    np.savez(tmp_path / "wrong.npz", weights=uncausal.weights, output=uncausal.output)
    return tmp_path


def verdict(ran: Ran) -> str:
    """The first line of a report."""
    return ran.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "status", "last"),
    [
        (("agrees.yaml",), 0, "All 9 numbers agree."),
        (("differs.yaml",), 1, "1 of 3 numbers differs; the first step that differs is weights"),
        (("p.yaml", "--against", "output=output.npy"), 0, "All 6 numbers agree."),
        (("p.yaml", "--against", "results.npz"), 0, "All 15 numbers agree."),
        (("p.yaml", "--against", "output=results.npz#output"), 0, "All 6 numbers agree."),
        (("p.yaml", "--against", "wrong.npz"), 1, "10 of 15 numbers differ; the first step that differs is weights"),
        (("p.yaml", "--against", "weights={cat: {the: .33}}", "--against", "output=output.npy"), 0, "All 7 numbers"),
        (("differs.yaml", "--against", "output=output.npy"), 0, "All 6 numbers agree."),
        (("differs.yaml", "--atol", "0.2"), 0, "All 3 numbers agree."),
        (("differs.yaml", "--rtol", "1/2"), 0, "All 3 numbers agree."),
        (("agrees.yaml", "--rtol", "1e-9"), 1, "5 of 9 numbers differ"),
        (("agrees.yaml", "--no-causal"), 1, "6 of 9 numbers differ"),
        (("agrees.yaml", "--only", "cat", "--against", "weights=.3302 .6698 0"), 0, "All 3 numbers agree."),
        (("--embeddings", "1 0; 0 1; 1 1", "--causal", "--against", "results.npz"), 0, "All 15 numbers agree."),
    ],
)
def test_one_problem_has_a_verdict_and_an_exit_status(
    words: tuple[str, ...], status: int, last: str, run: Run, folder: Path
) -> None:
    ran = run("check", *words)
    assert (ran.returncode, ran.stderr) == (status, "")
    assert verdict(ran).startswith(last)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("-",), AGREES),
        (("p.yaml", "--against", "weights=-"), WEIGHTS),
        (("p.yaml", "--against", "-"), f"weights: {WEIGHTS}\n"),
    ],
)
def test_standard_input_may_be_the_problem_or_what_is_expected(
    words: tuple[str, ...], text: str, run: Run, folder: Path
) -> None:
    ran = run("check", *words, input=text)
    assert (ran.returncode, verdict(ran)) == (0, "All 9 numbers agree.")


def test_standard_input_has_its_name_in_a_suite_and_in_errors(run: Run, folder: Path) -> None:
    assert (
        run("check", "-", "agrees.yaml", input=AGREES).stdout.splitlines()[1] == "✓ standard input: all 9 numbers agree"
    )
    assert run("check", "-", input=INPUTS).stderr.startswith("attn: standard input: no expected numbers")


def test_what_attn_compute_writes_agrees(run: Run, folder: Path) -> None:
    (folder / "r.json").write_text(run("compute", "p.yaml", "--json", "--explain").stdout)
    (folder / "o.csv").write_text(run("compute", "p.yaml", "--format", "csv", "--select", "output").stdout)
    for words in (("--against", "r.json"), ("--against", "output=r.json"), ("--against", "output=o.csv")):
        assert run("check", "p.yaml", *words).returncode == 0


def test_a_dump_of_inputs_and_results_is_a_problem_with_what_is_expected(run: Run, folder: Path) -> None:
    rows = np.eye(3, 4, dtype=np.float32)
    output = np.float32(attncli.attention(rows, rows, causal=True).output)
    np.savez(folder / "dump.npz", query=rows, key=rows, value=rows, output=output, causal=True)
    assert verdict(run("check", "dump.npz")) == "All 12 numbers agree."
    assert run("compute", "dump.npz", "--select", "output").returncode == 0


def test_a_dump_of_weights_without_queries_is_a_problem_that_begins_with_them(run: Run, folder: Path) -> None:
    np.savez(folder / "dump.npz", weights=[[0.5, 0.5]], value=np.eye(2), output=[[0.5, 0.5]])
    assert verdict(run("check", "dump.npz")) == "All 2 numbers agree."


def test_several_problems_have_a_summary_and_a_line_each(run: Run, folder: Path) -> None:
    ran = run("check", "agrees.yaml", "differs.yaml")
    summary, first, second = ran.stdout.splitlines()
    assert first == "✓ agrees.yaml: all 9 numbers agree"
    assert second.startswith("✗ differs.yaml: 1 of 3 numbers differs, first in weights")
    assert summary == "1 of 2 agree, 1 differs."
    assert (ran.returncode, ran.stderr) == (1, "")


def test_one_that_cannot_be_read_does_not_hide_the_others(run: Run, folder: Path) -> None:
    ran = run("check", "broken.yaml", "agrees.yaml", "none.yaml", "p.yaml")
    assert ran.stdout.splitlines() == ["1 of 4 agree, 3 can't be checked.", "✓ agrees.yaml: all 9 numbers agree"]
    starts = ["attn: broken.yaml, line 1: `[` is not closed", "attn: none.yaml: there is no such file"]
    starts += ["attn: p.yaml: no expected numbers; write expected: {output: …} in the file, or give --against out"]
    assert [line.startswith(start) for line, start in zip(ran.stderr.splitlines(), starts, strict=True)] == [True] * 3
    assert ran.returncode == 2


def test_a_folder_is_a_suite_of_the_files_that_expect_something(run: Run, folder: Path) -> None:
    ran = run("check", "cases")
    assert [line.partition(":")[0] for line in ran.stdout.splitlines()] == [
        "1 of 2 agree, 1 differs.",
        "✓ cases/a.yaml",
        "✗ cases/more/b.yaml",
        "No expected numbers in cases/inputs.yaml.",
    ]
    assert run("check", "cases", "--against", "results.npz").stdout.startswith("3 of 3 agree.\n")


@pytest.mark.parametrize(
    ("words", "line", "status"),
    [
        (("agrees.yaml",), "All 9 numbers agree.", 0),
        (
            ("differs.yaml",),
            "1 of 3 numbers differs; the first step that differs is weights; explained by no_scale.",
            1,
        ),
        (
            ("agrees.yaml", "differs.yaml"),
            "1 of 2 agree, 1 differs.\n✗ differs.yaml: 1 of 3 numbers differs, first in weights (no_scale)",
            1,
        ),
        (("agrees.yaml", "broken.yaml"), "1 of 2 agree, 1 can't be checked.", 2),
    ],
)
def test_quiet_is_the_verdict_and_of_several_what_differs(
    words: tuple[str, ...], line: str, status: int, run: Run, folder: Path
) -> None:
    (folder / "broken.yaml").write_text("embeddings: [[1")
    ran = run("check", *words, "-q")
    assert (ran.stdout, ran.returncode) == (f"{line}\n", status)
    assert run("check", *words, "--quiet", "--json").returncode == 2


def test_each_part_of_a_file_has_a_report(run: Run, folder: Path) -> None:
    parts = (
        f"parts:\n- title: causal\n  expected: {{weights: {WEIGHTS}}}\n- causal: false\n- expected: {{output: [[1]]}}\n"
    )
    (folder / "parts.yaml").write_text(INPUTS + parts)
    ran = run("check", "parts.yaml")
    assert "\n\nparts.yaml, part causal\nAll 9 numbers agree.\n\n✓ weights: 9 numbers agree" in ran.stdout
    assert verdict(ran) == "1 of 2 agree, 1 can't be checked."
    assert ran.stderr.startswith("attn: parts.yaml, part 3, line 8, expected, output: has 1 × 1 numbers")
    assert ran.returncode == 2


def test_of_one_part_alone_the_verdict_is_below_its_name(run: Run, folder: Path) -> None:
    (folder / "part.yaml").write_text(f"{INPUTS}parts:\n- expected: {{weights: {WEIGHTS}}}\n- causal: false\n")
    assert run("check", "part.yaml").stdout.startswith("part.yaml, part 1\nAll 9 numbers agree.\n")


def test_json_has_one_object(run: Run, folder: Path) -> None:
    found = json.loads(run("check", "differs.yaml", "--json").stdout)
    assert (found["format"], found["problem"], found["agrees"]) == ("attn.check/1", "differs.yaml", False)
    assert found["first_difference"] == "weights"
    weights, output = found["results"]
    assert (weights["name"], weights["count"], weights["differ"]) == ("weights", 1, 1)
    assert (weights["worst"]["labels"], weights["worst"]["expected"]) == (["cat", "the"], 0.2689)
    assert weights["worst"]["computed"] == pytest.approx(0.3302, abs=5e-5)
    assert (output["differ"], output["worst"]) == (0, None)
    keys = {"name", "count", "differ", "digits", "tolerance", "max_abs", "max_rel", "max_ulp", "correlation", "cosine"}
    assert keys | {"worst"} <= weights.keys()
    assert {"explained_by", "unnoticed"} <= found.keys()


@pytest.mark.parametrize("file", ["differs.yaml", "cases"])
def test_every_format_of_documents_and_objects_has_the_verdict(run: Run, folder: Path, file: str) -> None:
    parts = {
        "table": "",
        "markdown": "**",
        "latex": "\\textbf{",
        "json": '"format": "attn.check/1"',
        "yaml": "agrees: false",
    }
    for form, part in parts.items():
        ran = run("check", file, "--format", form)
        assert ran.returncode == 1, form
        assert part in ran.stdout, form
        assert "differ" in ran.stdout, form


def test_a_format_of_arrays_has_no_check(run: Run, folder: Path) -> None:
    ran = run("check", "differs.yaml", "--format", "csv")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "no check is written as csv; expected one of table, json, yaml, markdown, latex" in ran.stderr


def test_json_of_several_has_a_list_and_its_errors(run: Run, folder: Path) -> None:
    ran = run("check", "agrees.yaml", "broken.yaml", "cases", "--json")
    found = json.loads(ran.stdout)
    assert (found["format"], found["agrees"], found["left_out"]) == ("attn.check/1", False, ["cases/inputs.yaml"])
    assert [(check["problem"], check["agrees"]) for check in found["checks"]] == [
        ("agrees.yaml", True),
        ("broken.yaml", False),
        ("cases/a.yaml", True),
        ("cases/more/b.yaml", False),
    ]
    assert found["checks"][1]["error"].startswith("broken.yaml, line 1: `[` is not closed")
    assert ran.returncode == 2
    assert ran.stderr.startswith("attn: broken.yaml")


def test_the_file_of_junit_has_a_test_for_each_problem(run: Run, folder: Path) -> None:
    assert run("check", "agrees.yaml", "differs.yaml", "broken.yaml", "--junit", "report.xml").returncode == 2
    root = ElementTree.parse(folder / "report.xml").getroot()
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "1", "1", "0"]
    agrees, differs, broken = suite
    assert [case.get("classname") for case in suite] == ["agrees.yaml", "differs.yaml", "broken.yaml"]
    assert len(agrees) == 0
    assert "\n\n✗ weights: the number differs" in str(differs[0].text)
    assert str(differs[0].get("message")).startswith("1 of 3 numbers differs")
    assert str(broken[0].get("message")).startswith("broken.yaml, line 1: `[` is not closed")
    assert [case[0].tag for case in (differs, broken)] == ["failure", "error"]


def test_the_file_of_junit_is_written_of_one_problem_that_cannot_be_read(run: Run, folder: Path) -> None:
    ran = run("check", "broken.yaml", "--junit", "report.xml")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ElementTree.parse(folder / "report.xml").getroot().get("errors") == "1"


@pytest.mark.parametrize("words", [("agrees.yaml", "differs.yaml"), ("differs.yaml",), ("differs.yaml", "--json")])
def test_a_reader_that_stops_changes_neither_the_verdict_nor_the_file_of_junit(
    words: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        assert attncli.cli.run(["check", *words, "--junit", "report.xml"]) == 1
    assert ElementTree.parse(folder / "report.xml").getroot().get("failures") == "1"


@pytest.mark.parametrize("name", ["p.yaml", "output.npy"])
def test_the_file_of_junit_is_no_input(name: str, run: Run, folder: Path) -> None:
    before = (folder / name).read_bytes()
    ran = run("check", "p.yaml", "--against", "output=output.npy", "--junit", name)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: --junit {name}: is the input {name}")
    assert (folder / name).read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no input; type attn check problem.yaml or attn check problem.yaml --against"),
        (("p.yaml",), "p.yaml: no expected numbers"),
        (("none.yaml", "--against", "output=output.npy"), "none.yaml: there is no such file"),
        (("p.yaml", "--against", "output=weights.npy"), "weights.npy: there is no such file"),
        (("p.yaml", "--against", "output=results.npz#weights"), "--against, output: has 3 × 3 numbers; expected"),
        (("p.yaml", "--against", "output={dog: [1, 2]}"), "--against, output: unknown query 'dog'; expected one of th"),
        (("p.yaml", "--against", "output={the: null}"), "--against, output: has no number to compare"),
        (("differs.yaml", "--only", "sat"), "differs.yaml, expected, weights: has no number to compare; the expected"),
        (("-", "--against", "output=-"), "standard input: is named twice"),
        (("agrees.yaml", "--rtol", "-1"), "--rtol: -1 is out of range; expected 0 or more"),
        (("agrees.yaml", "--atol", "nan"), "--atol: nan is not a finite number"),
        (("agrees.yaml", "--ulp", "few"), "--ulp: 'few' is not a finite number"),
        (("agrees.yaml", "--ulp", ""), "--ulp: '' is not a finite number"),
        (("agrees.yaml", "--head", "3"), "--head: there is only head 0"),
        (("agrees.yaml", "--precision", "18"), "--precision: 18 digits can't be shown"),
        (("agrees.yaml", "--junit", "-"), "--junit: standard output has the report; name a file"),
        (("agrees.yaml", "--junit", "no/such/folder.xml"), "no/such/folder.xml: can't be written"),
        (("agrees.yaml", "--junit", ""), "--junit: the name is empty"),
        (("agrees.yaml", "--seed", "1", "--strict"), "--strict"),
        (("empty",), "empty: has no problem with expected numbers"),
    ],
)
def test_what_cannot_be_done_is_one_line(words: tuple[str, ...], message: str, run: Run, folder: Path) -> None:
    (folder / "empty").mkdir()
    ran = run("check", *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: {message}")
    assert len(ran.stderr.splitlines()) == 1


def test_entries_that_are_no_results_are_warned_of(run: Run, folder: Path) -> None:
    np.savez(folder / "more.npz", output=np.load(folder / "output.npy"), row_max=np.zeros(3))
    ran = run("check", "p.yaml", "--against", "more.npz")
    assert (ran.returncode, ran.stderr) == (
        0,
        "attn: warning: p.yaml: more.npz#row_max is not a result, and is not checked\n",
    )


def test_an_error_of_an_option_names_the_file_of_a_suite(run: Run, folder: Path) -> None:
    ran = run("check", "agrees.yaml", "p.yaml", "--against", "output=1 2")
    assert [line.partition(": --against, output: ")[0] for line in ran.stderr.splitlines()] == [
        "attn: agrees.yaml",
        "attn: p.yaml",
    ]


ARRAYS = "q.npy k.npy v.npy output.npy"
ONE_BY_ONE = "--query q.npy --key k.npy --value v.npy"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ARRAYS,
            "q.npy, k.npy, v.npy and output.npy are files of numbers, not of a problem; "
            f"type attn check {ONE_BY_ONE} --against output=output.npy",
        ),
        ("q.npy k.npy v.npy", f"type attn check {ONE_BY_ONE} --against output=FILE"),
        ("q.npy k.npy", "type attn check --query q.npy --key k.npy --against weights=FILE"),
        ("q.npy k.npy v.npy --against output=output.npy", f"type {ONE_BY_ONE}"),
        (
            f"output.npy {ONE_BY_ONE}",
            "output.npy is a file of numbers, not of a problem; type --against output=output.npy",
        ),
        ("q.npy", "q.npy: is a NumPy array, not a problem; give it as an option: --embeddings q.npy"),
        ("p.yaml --against weights=1 0 2", "the shell splits a value at spaces; type --against 'weights=1 0 2'"),
        ("p.yaml --against weights=[.1, .2]", "the shell splits a value at spaces; type --against 'weights=[.1, .2]'"),
    ],
)
def test_numbers_in_the_wrong_place_have_what_to_type(words: str, message: str, run: Run, folder: Path) -> None:
    for name in "qkv":
        np.save(folder / f"{name}.npy", np.eye(3))
    ran = run("check", *words.split())
    assert (ran.returncode, ran.stdout, ran.stderr.endswith(f"{message}\n")) == (2, "", True), ran.stderr


FORGOTTEN = "no value is given, so the keys are used as values; only output depends on value"


@pytest.mark.parametrize(
    ("against", "is_said"),
    [("output=5 6", True), ("output=1 2 3", True), ("output=1 2", False), ("weights=.3", False)],
)
def test_a_forgotten_value_is_said_where_the_output_differs(against: str, is_said: bool, run: Run) -> None:
    ran = run("check", "--query", "1 2", "--key", "1 2", "--against", against)
    assert (FORGOTTEN in ran.stdout + ran.stderr) == is_said
    assert (
        FORGOTTEN not in run("check", "--query", "1 2", "--key", "1 2", "--value", "1 2", "--against", against).stdout
    )


def test_a_folder_without_a_problem_does_not_hide_the_others(run: Run, folder: Path) -> None:
    (folder / "empty").mkdir()
    ran = run("check", "empty", "agrees.yaml")
    assert ran.returncode == 2
    assert ran.stderr.startswith("attn: empty: has no problem with expected numbers; expected a file")
    assert verdict(ran) == "1 of 2 agree, 1 can't be checked."
    assert ran.stdout.splitlines()[1].startswith("✓ agrees.yaml: ")


def test_a_warning_names_the_file_and_is_an_error_where_that_is_asked_for(run: Run, folder: Path) -> None:
    (folder / "empty_row.yaml").write_text(
        f"{INPUTS}mask: [[0, 0, 0], [1, 1, 1], [1, 1, 1]]\nexpected: {{output: [[0, 0]]}}\n"
    )
    ran = run("check", "agrees.yaml", "empty_row.yaml", "--against", "output={the: [0, 0]}")
    assert ran.stderr.startswith("attn: warning: empty_row.yaml: ")
    ran = run("check", "agrees.yaml", "empty_row.yaml", "--against", "output={the: [0, 0]}", "--strict")
    assert ran.stderr.startswith("attn: --strict: empty_row.yaml: ")
    assert verdict(ran) == "0 of 2 agree, 1 differs, 1 can't be checked."


def test_a_file_of_what_is_expected_is_relative_to_the_problem(run: Run, folder: Path) -> None:
    (folder / "output.npy").rename(folder / "cases" / "o.npy")
    (folder / "cases" / "c.yaml").write_text(f"{INPUTS}expected: {{output: o.npy}}\n")
    assert verdict(run("check", "cases/c.yaml")) == "All 6 numbers agree."


def test_an_error_names_the_line_of_what_is_expected(run: Run, folder: Path) -> None:
    (folder / "row.yaml").write_text(f"{INPUTS}expected:\n  weights:\n  - [1, 0, 0]\n  - [1, x, 0]\n  - [1, 0, 0]\n")
    assert run("check", "row.yaml").stderr.startswith("attn: row.yaml, line 7, expected, weights, row 2, number 2: ")


# With these inputs every difference of two scores is far from 0: no other slip than the last goes unnoticed.
UNNOTICED = "no expected numbers; these inputs would not reveal no_maximum"


def test_where_nothing_is_expected_slips_that_would_go_unnoticed_may_be_asked_for(run: Run, folder: Path) -> None:
    ran = run("check", "p.yaml", "--slips", "--junit", "report.xml")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "\n\nMistakes are looked for in output. Tolerance: twice the error" in ran.stdout
    assert verdict(ran) == "No expected numbers; these inputs would not reveal no_maximum."
    suite = ElementTree.parse(folder / "report.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("skipped"), suite.get("failures")) == ("1", "1", "0")
    found = json.loads(run("check", "p.yaml", "--slips", "--json").stdout)
    assert (found["agrees"], found["results"], found["unnoticed"]) == (None, [], ["no_maximum"])
    assert found["searched"] == "output"


def test_in_a_suite_slips_that_would_go_unnoticed_are_named_of_every_problem(run: Run, folder: Path) -> None:
    (folder / "cases" / "results.yaml").write_text("output: [[1, 0]]\n")
    ran = run("check", "p.yaml", "cases", "--slips")
    lines = ran.stdout.splitlines()
    assert lines[:2] == ["1 of 2 agree, 1 differs.", f"  p.yaml: {UNNOTICED}"]
    assert lines[2].startswith("✓ cases/a.yaml: all 9 numbers agree; these inputs would not reveal weights_tran")
    assert lines[3] == f"  cases/inputs.yaml: {UNNOTICED}"
    assert lines[-1] == "No expected numbers in p.yaml, cases/inputs.yaml and cases/results.yaml."
    assert ran.returncode == 1
    found = run("check", "p.yaml", "cases/inputs.yaml", "--slips", "-q").stdout
    assert found == "No expected numbers in p.yaml and cases/inputs.yaml.\n"


NOTE = "attn: dump.npz: q, k, v and out are read as query, key, value and output\n"


def test_a_dump_with_the_names_of_kernels_is_read_and_that_is_said(run: Run, folder: Path) -> None:
    q = np.eye(3, 4, dtype=np.float32)
    out = np.float32(attncli.attention(q, q, causal=True).output)
    np.savez(folder / "dump.npz", q=q, k=q, v=q, out=out)
    for words in (("check", "dump.npz", "--causal", "-q"), ("check", "dump.npz", "--causal", "-q", "--strict")):
        ran = run(*words)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "All 12 numbers agree.\n", NOTE)
    assert run("compute", "dump.npz", "--select", "output").stderr == NOTE
    assert run("check", "dump.npz", "--causal", "--against", "output=dump.npz", "-q").stderr == NOTE
    assert run("check", "dump.npz", "--causal", "--against", "dump.npz", "-q").stderr == NOTE


def test_the_bounds_of_the_queries_of_a_dump_are_those_of_its_sequences(run: Run, folder: Path) -> None:
    q, bounds = np.eye(5, 4)[:, None], np.array([0, 2, 5])
    out = attncli.attention(q, q, cu_seqlens=bounds, cu_seqlens_k=bounds, layout="nhd").output
    np.savez(folder / "packed.npz", q=q, k=q, v=q, out=out, cu_seqlens_q=bounds, cu_seqlens_k=bounds)
    ran = run("check", "packed.npz", "--layout", "nhd", "-q")
    assert (ran.returncode, ran.stdout) == (0, "All 20 numbers agree.\n")
    assert "cu_seqlens_q and out are read as query, key, value, cu_seqlens and output" in ran.stderr


def test_the_log_sum_exp_of_a_dump_is_checked_where_the_problem_has_one(run: Run, folder: Path) -> None:
    q = np.eye(3, 4)
    result = attncli.attention(q, q, causal=True, select=("output", "lse"))
    for name in ("lse", "softmax_lse", "logsumexp"):
        np.savez(folder / "q.npz", query=q, key=q, output=result.output, **{name: result.lse})
        assert run("check", "q.npz", "--causal", "-q").stdout == "All 15 numbers agree.\n"
    np.savez(folder / "q.npz", query=q, key=q, output=attncli.attention(q, q, normalize="relu").output, lse=result.lse)
    assert run("check", "q.npz", "--normalize", "relu", "-q").stderr == (
        "attn: warning: q.npz: q.npz#lse is not a result, and is not checked\n"
    )
    ran = run("check", "q.npz", "--normalize", "relu", "--against", "lse=1 2 3")
    assert (ran.returncode, ran.stderr) == (2, "attn: q.npz: relu has no lse; softmax and softmax1 have one\n")


def test_a_log_sum_exp_may_have_its_heads_last(run: Run, folder: Path) -> None:
    """As [b n h]; where there are as many heads as queries it is read as [b h n]."""
    shapes = {"query": (2, 3, 5, 4), "key": (2, 3, 7, 4), "value": (2, 3, 7, 4)}
    arrays = {name: np.random.default_rng(0).standard_normal(shape) for name, shape in shapes.items()}
    lse = attncli.attention(**arrays, select="lse").lse
    np.savez(folder / "in.npz", **arrays)
    np.save(folder / "lse.npy", lse.swapaxes(1, 2))
    ran = run("check", "in.npz", "--against", "lse=lse.npy")
    assert verdict(ran) == "All 30 numbers agree."
    assert "2 × 5 × 3 numbers are read as [b n h] of [b h n]" in ran.stdout


@pytest.mark.parametrize("against", ["out.npz", "output=out.npz", "output=out.npz#o"])
def test_expected_numbers_may_have_the_name_of_a_kernel_too(against: str, run: Run, folder: Path) -> None:
    rows = np.eye(3, 4)
    np.savez(folder / "out.npz", o=attncli.attention(rows, rows).output, q=rows)
    np.savez(folder / "in.npz", q=rows, k=rows)
    assert verdict(run("check", "in.npz", "--against", against)).startswith("All ")


def test_a_file_has_the_report_and_quiet_the_verdict_too(folder: Path, run: Run) -> None:
    ran = run("check", "differs.yaml", "-o", "report.html", "--quiet")
    assert (ran.returncode, ran.stdout) == (1, run("check", "differs.yaml", "--quiet").stdout)
    assert "attn.check_page/1" in (folder / "report.html").read_text(encoding="utf-8")
    ran = run("check", "differs.yaml", "-o", "report.json")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert json.loads((folder / "report.json").read_text()) == json.loads(run("check", "differs.yaml", "--json").stdout)
    assert run("check", "differs.yaml", "-o", "differs.yaml").returncode == 2  # an input


def test_a_suffix_of_what_no_check_is_written_as_lists_those_that_there_are(folder: Path, run: Run) -> None:
    ran = run("check", "differs.yaml", "-o", "report.npz")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ".md, .tex, .html" in ran.stderr
