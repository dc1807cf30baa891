"""Worked examples: they agree with expected numbers, and the commands that they print show the same."""

import json
import re
import shlex
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attncli.io import examples
from tests.cli.running import Ran, Run, run_in_process

COMMAND = re.compile(r"^\$ attn (compute .*)$", re.MULTILINE)
NUMBERS = re.compile(r"[-−]?\d+\.\d+")
EVERY_DIGIT = ", to every printed digit."
# Weights of OWN where the scores are not divided by √2: 1 / (1 + e^−1) = 0.7311, not 1 / (1 + e^−0.7071) = 0.6698.
UNSCALED = "[[0.7311, 0.2689], [0.2689, 0.7311]]"
OWN = "embeddings: [[1, 0], [0, 1]]\n"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Ran]:
    """What `attn demo` shows of an example, which is run once."""
    folder = tmp_path_factory.mktemp("demo")
    return cache(lambda name: run_in_process("demo", name, folder=folder))


@pytest.mark.parametrize("name", examples.names())
def test_every_example_agrees_with_its_expected_numbers(name: str, demo: Callable[[str], Ran]) -> None:
    ran = demo(name)
    assert (ran.returncode, ran.stderr) == (0, "")
    adjective = "published" if examples.load(name).source else "expected"
    assert re.search(rf"^All \d+ {adjective} numbers agree, to every printed digit\.$", ran.stdout, re.MULTILINE)
    assert "✗" not in ran.stdout


@pytest.mark.parametrize("name", examples.names())
def test_the_text_of_every_example_has_at_most_80_columns_and_says_what_to_see(
    name: str, demo: Callable[[str], Ran]
) -> None:
    shown = demo(name).stdout
    assert [line for line in shown.splitlines() if len(line) > 80 and not line.startswith("$ ")] == []
    assert shown.splitlines()[1].startswith("See ")


def test_the_tutorial_has_72_lines_of_80_columns_with_every_published_number(run: Run) -> None:
    shown = run("demo").stdout
    lines = shown.splitlines()
    assert len(lines) <= 72
    assert max(map(len, lines)) <= 80
    parts = examples.load("tutorial").parts
    expected = [part.expected.value["output"] for part in parts if part.expected.value]
    assert sum(map(np.size, expected)) == 15
    for row in np.concatenate(expected):
        assert " ".join(f"{number:.8f}" for number in row) in re.sub(r" +", " ", shown)
    assert shown == run("demo", "tutorial").stdout


def test_the_lines_of_numpy_of_the_tutorial_compute_what_it_shows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = re.findall(r"^(?:>>>|\.\.\.) ?(.*)", run("demo").stdout, re.M)

    def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
        powers = np.exp(scores)
        return powers / powers.sum(axis=axis, keepdims=True)

    special = SimpleNamespace(softmax=softmax)  # the tests do without SciPy
    monkeypatch.setitem(sys.modules, "scipy", SimpleNamespace(special=special))
    monkeypatch.setitem(sys.modules, "scipy.special", special)
    first, second, third = examples.load("tutorial").parts
    names: dict[str, Any] = {}  # those of a Python that has just been started
    *before, last = lines
    exec("\n".join(before), names)
    np.testing.assert_array_equal(names["words"], first.problem.embeddings)
    for name in ("w_q", "w_k", "w_v"):
        np.testing.assert_array_equal(names[name.upper()], getattr(first.problem, name))
    np.testing.assert_allclose(names["attention"], second.expected.value["output"][0], atol=5e-9)
    exec(last, names)
    np.testing.assert_allclose(names["attention"], third.expected.value["output"], atol=5e-9)


@pytest.mark.parametrize("name", examples.names())
def test_every_command_that_a_demo_prints_shows_the_numbers_of_the_demo(
    name: str, demo: Callable[[str], Ran], run: Run
) -> None:
    shown = demo(name).stdout
    assert run("demo", name, "--save", f"{name}.yaml").returncode == 0
    commands = COMMAND.findall(shown)
    assert commands
    printed = set()
    for command in commands:
        ran = run(*shlex.split(command))
        assert (ran.returncode, ran.stderr) == (0, ""), command
        printed |= set(map(float, re.findall(r"-?\d+(?:\.\d+)?", ran.stdout)))
    results = shown.partition("\n$ attn compute ")[2].rpartition("\n\n")[0]
    without_plots_and_arrows = re.sub(r"^.*[┤│→].*$|^.*└.*\n.*$|^[$>.].*$", "", results, flags=re.MULTILINE)
    assert set(map(float, NUMBERS.findall(without_plots_and_arrows))) <= printed


def test_a_number_that_differs_is_named_and_the_exit_status_is_1(run: Run, tmp_path: Path) -> None:
    """The weights of scores that are not divided by √2: 1 / (1 + e^−1) = 0.7311, where 1 / (1 + e^−0.7071) = 0.6698."""
    text = (
        f"{OWN}source: a book\nexpected: {{weights: [[0.7311, 0.2689], [0.2689, 0.7311]], query: [[1, 0], [0, 1]]}}\n"
    )
    (tmp_path / "wrong.yaml").write_text(text, encoding="utf-8")
    ran = run("demo", "wrong.yaml")
    assert ran.returncode == 1
    assert "✗ weights: 4 of 4 numbers differ from those published" in ran.stdout
    assert "at query token_1, key token_2: published 0.2689 ± 5e-05, computed 0.330238" in ran.stdout
    assert ran.stdout.endswith("\n4 of 8 numbers differ from the published ones.\n")


@pytest.mark.parametrize(
    ("keys", "end"),
    [
        (f"expected: {{weights: {UNSCALED}}}\n", "4 of 4 numbers differ from the expected ones."),
        ("source: a book\nexpected: {query: [[1, 0], [0, 1]]}\n", "All 4 published numbers agree" + EVERY_DIGIT),
        ("expected: {query: [[1, 0], [0, 1]]}\n", "All 4 expected numbers agree" + EVERY_DIGIT),
        ("only: [token_1]\nexpected: {dot_products: [[1, 0]]}\n", "All 2 expected numbers agree" + EVERY_DIGIT),
        ("", "token_2   0.3302   0.6698"),
    ],
    ids=["differ", "published", "expected", "some", "none"],
)  # fmt: skip
def test_the_verdict_says_whose_the_numbers_are_and_is_silent_without_any(
    keys: str, end: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(OWN + keys)
    shown = run("demo", "mine.yaml").stdout
    assert shown.splitlines()[-1].endswith(end)
    assert "All 0" not in shown


def test_the_list_has_every_example_under_its_topic_in_80_columns(run: Run) -> None:
    lines = run("demo", "--list").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "First steps"
    assert lines[1].split()[0] == "tutorial"
    assert sorted(line.split()[0] for line in lines if line.startswith(" ")) == sorted(examples.names())
    assert len([line for line in lines if line and not line.startswith(" ")]) == len(examples.by_topic())


def test_an_example_is_saved_unchanged_and_never_over_a_file(run: Run, tmp_path: Path) -> None:
    assert run("demo", "luong", "--save", "mine.yaml").stdout == "Wrote mine.yaml. Next: attn demo mine.yaml\n"
    assert (tmp_path / "mine.yaml").read_text(encoding="utf-8") == examples.text("luong")
    (tmp_path / "mine.yaml").write_text("changed")
    assert run("demo", "luong", "--save", "mine.yaml").returncode == 2
    assert (tmp_path / "mine.yaml").read_text() == "changed"
    assert run("demo", "luong", "--save", "-").stdout == examples.text("luong")


def test_an_example_is_written_to_a_file_of_any_format(run: Run, tmp_path: Path) -> None:
    for file, start in (
        ("d.md", "# Luong"),
        ("d.json", "{"),
        ("d.py", '"""Luong'),
        ("d.html", "<!DOCTYPE"),
        ("d.txt", "Lu"),
    ):
        ran = run("demo", "luong", "-o", file)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
        assert (tmp_path / file).read_text(encoding="utf-8").startswith(start)
    sections = []
    for words in ((), ("--part", "2")):
        assert run("demo", "luong", *words, "-o", "d.ipynb").returncode == 0
        cells = json.loads((tmp_path / "d.ipynb").read_text(encoding="utf-8"))["cells"]
        sections.append(sum(cell["source"][0].startswith("## ") for cell in cells))
    assert sections == [3, 0]


@pytest.mark.parametrize(
    ("name", "arrows"),
    [
        ("bahdanau", ["the → das 0.81", "house → Haus 0.85", "is → ist 0.85", "small → klein 0.81"]),
        ("sentence", ["the#1 → cat, mat 0.27", "sat → cat 0.60", "cat → sat 0.60", "on → mat 0.47"]),
        ("sentence_positions", ["the#1 → cat 0.37", "the#2 → mat 0.35"]),
        ("multi_head", ["head 0: the → cat 0.47", "head 1: the → the 0.59"]),
    ],
)
def test_the_largest_weights_are_named(name: str, arrows: list[str], run: Run) -> None:
    shown = run("demo", name).stdout
    assert all(arrow in shown for arrow in arrows)


def test_ten_normalizers_are_rows_of_one_table(run: Run) -> None:
    table = run("demo", "normalizers").stdout.rpartition("weights\n")[2].splitlines()
    rows = {line[:16].strip(): NUMBERS.findall(line.replace("-1.00", "")) for line in table[2:14]}
    assert list(rows)[:3] == ["scores", "softmax", "softmax, T = 0.5"]
    assert len(rows) == 12
    assert rows["softmax"] == ["0.4516", "0.2739", "0.2133", "0.0611"]


def test_the_data_fit_draws_three_curves_against_the_points(run: Run) -> None:
    shown = run("demo", "data_fitting").stdout
    plot = [line for line in shown.splitlines() if "┤" in line or "│" in line]
    assert sum(line.count("●") for line in plot) == 8
    assert all(any(mark in line for line in plot) for mark in "-+*")
    assert "● values   - average   + softmax of the products   * kernel regression" in shown
    assert not any(line.isascii() for line in plot)
    assert run("demo", "data_fitting", env={"PYTHONIOENCODING": "ascii"}).stdout.isascii()


@pytest.mark.parametrize("name", examples.names())
def test_each_part_can_be_shown_alone_explained_and_with_other_decimals(name: str, run: Run) -> None:
    for number, part in enumerate(examples.load(name).parts, 1):
        ran = run("demo", name, "--part", str(number), "--explain", "--precision", "3")
        assert (ran.returncode, ran.stderr) == (0, "")
        assert part.title in ran.stdout
        assert "1. " in ran.stdout
        (command,) = COMMAND.findall(ran.stdout)
        assert command.endswith("--precision 3 --explain")


def test_a_part_that_is_shown_alone_has_its_results(run: Run) -> None:
    shown = run("demo", "normalizers", "--part", "4").stdout
    assert "── 4. sparsemax" in shown
    assert "the query   0.75   0.25" in shown
    assert "All 6 expected numbers agree, to every printed digit.\n" in shown
    assert shown.endswith("Next: change it: attn demo normalizers --save normalizers.yaml\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tutorial", "--part", "4"), "--part: there is no part 4; expected 1 to 3"),
        (("tutorial", "--part", "0"), "--part: there is no part 0; expected 1 to 3"),
        (("bahdanau", "--part", "2"), "--part: there is no part 2; there is one part"),
        (("--precision", "18"), "--precision: 18 digits can't be shown; expected 0 to 17"),
        (("--step",), "--step: standard input is not a terminal, so nobody can press a key; leave out --step"),
        (("--list", "--part", "1"), "--list computes nothing, so --part would have no effect; leave out one of them"),
        (("--save", "x.yaml", "--step"), "--save computes nothing, so --step would have no effect"),
        (("--step", "--all"), "--step and --all contradict each other"),
        (("--list", "--all"), "--list computes nothing, so --all would have no effect"),
        (("--save", "luong"), "--save: luong is a worked example itself; write --save luong.yaml"),
        (("--part", "4", "-o", "x.py"), "--part: there is no part 4; expected 1 to 3"),
        (("--list", "--save", "x.yaml"), "--list and --save contradict each other"),
    ],
)
def test_what_can_not_be_shown_is_one_line(words: tuple[str, ...], message: str, run: Run) -> None:
    ran = run("demo", *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert message in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_worked_cells_of_a_users_file_stand_under_their_formula(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(OWN + "cell: token_1,token_2\nshow: [scores]\nprecision: 2\n")
    shown = run("demo", "mine.yaml").stdout
    assert (
        "$ attn compute mine.yaml --precision 2 --cell token_1,token_2\nscores  S  Sᵢⱼ = Qᵢ·Kⱼ / √d\n  Q(token_1)"
        in shown
    )


def test_parts_of_a_users_file_have_the_shown_keys_of_the_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        OWN + "arrows: query_to_key\nparts:\n  - {title: a}\n  - {title: b, arrows: key_to_query, show: [scores]}\n"
    )
    shown = run("demo", "mine.yaml").stdout
    assert shown.count("token_1 → token_1") == 2
    tables = [re.findall(r"\w+", line) for line in shown.splitlines() if line.startswith("scores")]
    assert tables == [["scores", "weights"], ["scores"]]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("show: [weigths]\n", "mine.yaml, show: unknown result 'weigths'"),
        ("parts: [{title: a, show: [weigths]}]\n", "mine.yaml, part 'a', show: unknown result 'weigths'"),
        ("parts: []\n", "mine.yaml, parts: is not a list of parts; expected - title: … and the part's keys"),
        ("numpy: {foo: x}\n", "mine.yaml, numpy: unknown result 'foo'"),
        ("together: foo\n", "mine.yaml, together: unknown result 'foo'"),
        ("curve: foo\n", "mine.yaml, curve: unknown result 'foo'"),
        ("curve: output\n", "mine.yaml, curve: the label 'token_1' is not a number; a curve needs tokens"),
        ("cell: a,b\n", "mine.yaml, cell: unknown token 'a'; expected one of token_1, token_2"),
        (
            "parts: [{title: a, cell: token_1}]\n",
            "mine.yaml, part 'a', cell: 'token_1' is not a cell; expected QUERY,KEY",
        ),
        ("expected: {foo: [[1]]}\n", "mine.yaml, expected: unknown result 'foo'"),
        ("expected: {weights: [[1]]}\n", "mine.yaml, line 2, expected, weights: has 1 × 1 numbers"),
        ("precision: 44\n", "mine.yaml, precision: 44 digits can't be shown; expected 0 to 17"),
    ],
)  # fmt: skip
def test_an_error_names_the_file_the_part_and_the_key(keys: str, message: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(OWN + keys)
    ran = run("demo", "mine.yaml")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: {message}")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("markdown", "## 1. Causal"),
        ("latex", r"\paragraph{1. Causal}\leavevmode"),
        ("json", '  "format": "attn.demo/1",'),
        ("yaml", "format: attn.demo/1"),
    ],
)
def test_every_format_of_documents_and_objects_has_the_parts(form: str, line: str, run: Run) -> None:
    ran = run("demo", "causal", "--format", form)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert line in ran.stdout.splitlines()


def test_heads_stand_side_by_side(run: Run) -> None:
    lines = run("demo", "multi_head", "--part", "1").stdout.splitlines()
    assert "weights, head 0                   weights, head 1" in lines
