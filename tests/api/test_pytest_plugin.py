"""The plugin for pytest: the fixture `attn_check`, and files `*.attn.yaml` as tests."""

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import rich.console  # noqa: F401 - first imported while pytest runs in a test it would be dropped, and made anew

import attncli
from attncli.api import pytest_plugin
from attncli.api.pytest_plugin import AttnCheck
from docs.generation import console_blocks
from tests.arrays import normal
from tests.cli.running import run_in_process
from tests.documents.reading import DOCUMENTS, ROOT

PLUGIN = pytest_plugin.__name__
QUERY, KEY, VALUE = normal(3, 2), normal(5, 2), normal(5, 2)
ARRAYS: Mapping[str, Any] = {"query": QUERY, "key": KEY, "value": VALUE}
FILE = "query: [[2, 0]]\nkey: [[1, 0], [0, 1]]\nscore: dot\n"
RIGHT, WRONG = "expected: {weights: [[0.8808, 0.1192]]}\n", "expected: {weights: [[0.8044, 0.1956]]}\n"


@pytest.fixture
def attn_check(tmp_path: Path) -> AttnCheck:
    """What the fixture of the plugin is in a test of this folder, which has two problem files."""
    (tmp_path / "right.yaml").write_text(FILE + RIGHT)
    (tmp_path / "wrong.yaml").write_text(FILE + WRONG)
    return AttnCheck(tmp_path)


def run_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, *words: str) -> pytest.RunResult:
    """Run pytest in this process with the plugin alone, whether attncli is installed or not."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("CI", raising=False)  # with which pytest shortens no line
    return pytester.runpytest_inprocess(*words, plugins=[pytest_plugin])


def outputs(**problem: Any) -> Any:
    """What a right kernel returns."""
    return attncli.attention(**{**ARRAYS, **problem}).output


def test_an_output_is_checked_by_the_keys_of_the_problem(attn_check: AttnCheck) -> None:
    report = attn_check(outputs(causal=True), **ARRAYS, mask="causal")
    assert [(result.name, result.count) for result in report.results] == [("output", 6)]


def test_an_output_is_checked_by_a_file_and_a_problem_in_which_keywords_win(attn_check: AttnCheck) -> None:
    assert attn_check([[0.8808, 0.1192]], "right.yaml", value=[[1, 0], [0, 1]]).agrees
    assert attn_check(outputs(scale=3), attncli.Problem(**ARRAYS, scale=2), scale=3).agrees
    assert attn_check(outputs(scale=2), attncli.Problem(**ARRAYS, scale=2)).agrees


@pytest.mark.parametrize("given", ["right.yaml", Path("right.yaml")], ids=["text", "path"])
def test_a_file_alone_is_checked_by_what_it_expects(attn_check: AttnCheck, given: str | Path) -> None:
    assert [result.name for result in attn_check(given).results] == ["weights"]


def test_a_loaded_problem_is_checked_by_what_its_file_expects(attn_check: AttnCheck, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="2 of 2 numbers differ"):
        attn_check(attncli.load(tmp_path / "wrong.yaml"))


def test_other_results_are_checked_with_the_output_or_without_it(attn_check: AttnCheck) -> None:
    right = attncli.attention(**ARRAYS, select=("weights", "lse", "grad_query"), gradient=True)
    both = attn_check(outputs(), against={"weights": right.weights, "lse": right.lse}, **ARRAYS)
    assert [result.name for result in both.results] == ["lse", "weights", "output"]
    assert attn_check(against={"dq": right.grad_query}, **ARRAYS).results[0].name == "grad_query"


def test_the_message_names_the_mistake_in_its_first_line(attn_check: AttnCheck) -> None:
    with pytest.raises(AssertionError) as caught:
        attn_check(outputs(score="dot"), **ARRAYS)
    first, *others = str(caught.value).splitlines()
    assert first == "6 of 6 numbers differ; the first step that differs is output; explained by no_scale."
    assert "✗ output: 6 of 6 numbers differ" in others


@pytest.mark.parametrize("name", ["rtol", "atol", "ulp"])
def test_a_tolerance_takes_the_place_of_the_derived_one(attn_check: AttnCheck, name: str) -> None:
    assert attn_check(outputs() + 1e-9, **ARRAYS, **{name: 1e12}).results[0].tolerance_reason.startswith(name)


@pytest.mark.parametrize(
    ("arguments", "keys", "message"),
    [
        ((outputs(), "missing.yaml"), {}, "missing.yaml: there is no such file"),
        ((outputs(),), {"mask": "casual"}, "mask: 'casual' is neither an array nor a mask; did you mean 'causal'?"),
        ((outputs(),), {"against": {"output": QUERY}}, "against: the output is given twice; leave out one of them"),
        ((QUERY[:2],), {}, r"against, output: has 2 × 2 numbers"),
        ((), {}, "against: no expected numbers"),
        ((outputs(),), {"convention": "torch"}, "convention: unknown convention 'torch'"),
    ],
)
def test_what_can_not_be_checked_is_an_error_in_one_line(
    attn_check: AttnCheck, arguments: tuple[Any, ...], keys: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(attncli.AttnError, match=message) as caught:
        attn_check(*arguments, **({**ARRAYS, **keys} if len(arguments) < 2 else keys))
    assert [entry.name for entry in caught.traceback][1:] == ["__call__"]  # which pytest does not show


def test_a_failing_test_shows_its_own_line_and_the_report(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pytester.mkdir("kernels")
    (folder / "case.yaml").write_text(FILE + WRONG)
    (folder / "test_case.py").write_text("def test_case(attn_check):\n    attn_check('case.yaml')\n")
    found = run_pytest(pytester, monkeypatch)
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines([">       attn_check('case.yaml')", "E       AssertionError: 2 of 2 numbers differ; *"])
    assert "pytest_plugin.py" not in found.stdout.str()


def test_files_are_tests_of_which_each_part_has_its_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = f"parts:\n- title: right\n  {RIGHT}- {WRONG}- title: nothing expected\n"
    files = {
        "one.attn.yaml": FILE + RIGHT,
        "parts.attn.yaml": FILE + parts,
        "other.yaml": FILE + WRONG,
        "broken.attn.yaml": "qery: [[1]]\n",
        "nothing.attn.yaml": FILE,
        "shapes.attn.yaml": FILE + "expected: {weights: [[1, 2, 3]]}\n",
        "unanswered.attn.yaml": FILE + "expected: {weights: [[null, null]]}\n",
    }
    for name, text in files.items():
        (pytester.path / name).write_text(text)
    found = run_pytest(pytester, monkeypatch, "-rA")
    found.assert_outcomes(passed=2, failed=5)
    lines = found.stdout.lines
    assert [line for line in lines if line.startswith("PASSED")] == [
        "PASSED one.attn.yaml::check",
        "PASSED parts.attn.yaml::right",
    ]
    for line in (
        "broken.attn.yaml, line 1: unknown key 'qery'; did you mean 'query'?",
        "nothing.attn.yaml: no expected numbers; write expected: {output: …} in the file",
        "shapes.attn.yaml, line 4, expected, weights: has 1 × 3 numbers; expected 1 query × 2 keys",
        "unanswered.attn.yaml: no number is filled in",
    ):
        assert line in lines
    assert not any("Traceback" in line or ".py:" in line for line in lines)


def test_the_failure_of_a_file_is_what_attn_check_prints(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    masked = "query: [[1, 1], [2, 0]]\nkey: [[1, 0], [0, 1]]\nmask: [[0, 0], [1, 1]]\n"
    (pytester.path / "case.attn.yaml").write_text(f"{masked}expected: {{weights: [[0, 0], [0.8808, 0.1192]]}}\n")
    printed = run_in_process("check", "case.attn.yaml", folder=pytester.path)
    found = run_pytest(pytester, monkeypatch)
    assert printed.stdout in found.stdout.str() + "\n"
    note = printed.stderr.removeprefix("attn: warning: case.attn.yaml: ").strip()
    assert note.startswith("no key is visible to query_1")
    assert note in found.stdout.lines


def test_the_heading_of_a_failed_part_is_the_command_that_prints_the_same(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = f"parts:\n- title: the cat\n  {WRONG}- {WRONG}- title: twice\n  {WRONG}- title: twice\n  {WRONG}"
    (pytester.path / "my parts.attn.yaml").write_text(FILE + parts)
    commands = [["check", f"my parts.attn.yaml#{name}"] for name in ("the cat", "2", "3", "4")]
    printed = [run_in_process(*words, folder=pytester.path) for words in commands]
    assert [(ran.returncode, ran.stderr) for ran in printed] == [(1, "")] * 4
    found = run_pytest(pytester, monkeypatch).stdout
    headings = [shlex.split(line.strip("_ ")) for line in found.lines if line.startswith("_")]
    assert headings == [["attn", *words] for words in commands]
    assert all(ran.stdout in found.str() + "\n" for ran in printed)


def blocks_of_the_guide() -> list[tuple[str, str]]:
    """The fenced blocks of the section on pytest, each with its language."""
    _, section = DOCUMENTS["docs/check.md"].split("### In pytest\n")
    return console_blocks.FENCE.findall(section.partition("\n## ")[0])


@pytest.mark.parametrize("at", [0, 2], ids=["fixture", "file"])
def test_pytest_prints_what_the_guide_shows(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """A line … of the guide leaves out some lines."""
    pytester.syspathinsert(ROOT / "samples")
    (_, text), (_, shown) = blocks_of_the_guide()[at : at + 2]
    command, *lines = shown.splitlines()
    match = re.fullmatch(r"\$ pytest (-q) (\S+)", command)
    assert match
    (pytester.path / match[2]).write_text(text)
    printed = run_pytest(pytester, monkeypatch, *match.groups()).stdout.str()
    start = 0
    for group in "\n".join(lines).split("…"):
        found = printed.find(group.strip("\n"), start)
        assert found >= 0, f"change this in docs/check.md by hand:\n{group}"
        start = found + len(group.strip("\n"))


def test_pytest_starts_without_what_checks() -> None:
    code = f"import {PLUGIN}, sys; print(*sorted(name for name in sys.modules if name.startswith('attncli')))"
    loaded = subprocess.run([sys.executable, "-c", code], text=True, stdout=subprocess.PIPE, check=True).stdout.split()
    assert loaded == ["attncli", "attncli.api", PLUGIN, "attncli.base", "attncli.base.program"]


def test_the_package_names_its_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"attncli": PLUGIN}
