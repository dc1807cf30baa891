"""Worked examples: they agree with published numbers, and the commands that they print show the same."""

import re
import shlex
from pathlib import Path

import pytest

from attncli.io import examples
from tests.cli.running import Run

COMMAND = re.compile(r"^\$ attn (compute .*)$", re.MULTILINE)


@pytest.mark.parametrize("name", examples.names())
def test_every_example_agrees_with_its_published_numbers(name: str, run: Run) -> None:
    ran = run("demo", name)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.search(r"^All \d+ published numbers agree, to every printed digit\.$", ran.stdout, re.MULTILINE)
    assert "✗" not in ran.stdout


def test_without_a_name_it_is_the_tutorial(run: Run) -> None:
    shown = run("demo").stdout
    assert shown == run("demo", "tutorial").stdout
    for part in ("The words and the weight matrices", "The first word alone", "All four words, in matrix form"):
        assert part in shown
    for line in ("word_1        8        2       10        2", "word_1   0.2361   0.0074   0.7491   0.0074"):
        assert line in shown
    assert "✓ weights: 4 numbers as published, to 8 decimals" in shown


@pytest.mark.parametrize("name", ["tutorial", "luong", "multi_head", "normalizers"])
def test_every_command_that_a_demo_prints_shows_what_the_demo_shows(name: str, run: Run) -> None:
    shown = run("demo", name).stdout
    assert run("demo", name, "--save", f"{name}.yaml").returncode == 0
    commands = COMMAND.findall(shown)
    assert len(commands) >= 2
    for command in commands:
        ran = run(*shlex.split(command))
        assert ran.returncode == 0, ran.stderr
        for block in ran.stdout.split("\n\n")[1:]:
            assert block.strip() in shown, command


def test_a_number_that_differs_is_named_and_the_exit_status_is_1(run: Run, tmp_path: Path) -> None:
    text = examples.text("tutorial").replace("0.74913039", "0.74913038")
    (tmp_path / "wrong.yaml").write_text(text, encoding="utf-8")
    ran = run("demo", "wrong.yaml")
    assert ran.returncode == 1
    assert "✗ weights: 1 of 4 numbers differ from those published" in ran.stdout
    assert "weights[0][2]: published 0.74913038, computed 0.7491303" in ran.stdout
    assert "1 of 50 numbers differ from the published ones." in ran.stdout


def test_the_list_has_every_example_and_its_title(run: Run) -> None:
    lines = run("demo", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == examples.names()
    assert "general attention over four words" in lines[0]


def test_an_example_is_saved_unchanged_and_never_over_a_file(run: Run, tmp_path: Path) -> None:
    assert run("demo", "luong", "--save", "mine.yaml").stdout == ""
    assert (tmp_path / "mine.yaml").read_text(encoding="utf-8") == examples.text("luong")
    (tmp_path / "mine.yaml").write_text("changed")
    assert run("demo", "luong", "--save", "mine.yaml").returncode == 2
    assert (tmp_path / "mine.yaml").read_text() == "changed"
    assert run("demo", "luong", "--save", "-").stdout == examples.text("luong")


def test_three_ways_to_fit_a_curve_are_columns_of_one_table(run: Run) -> None:
    table = run("demo", "data_fitting").stdout.partition("output, side by side\n")[2].splitlines()
    assert table[0].split("  ")[-1].strip() == "kernel regression"
    rows = [line for line in table if line.startswith("at ")]
    assert len(rows) == 12
    assert all(len(re.findall(r"\d\.\d{4}", row)) == 3 for row in rows)
