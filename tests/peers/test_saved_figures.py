"""A figure that Python saves is the one that the command writes."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

import attncli
from tests.cli.running import run_in_process
from tests.problems import write_file

pytest.importorskip("matplotlib")

FILE = "scores: [[2, 0], [1, 3]]\ntokens: [cat, sat]\nvalue: [[1], [2]]\n"


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_a_figure_is_saved_as_the_command_writes_it(suffix: str, tmp_path: Path) -> None:
    problem = write_file(tmp_path, FILE)
    options = ["--select", "weights", "--title", "Who looks at whom", "--size", "5x4", "--precision", "3"]
    ran = run_in_process("compute", problem, "-o", f"command{suffix}", *options, folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    result = attncli.load(problem).compute("weights")
    result.save(tmp_path / f"saved{suffix}", title="Who looks at whom", size=(5, 4), decimals=3)
    assert (tmp_path / f"saved{suffix}").read_bytes() == (tmp_path / f"command{suffix}").read_bytes()


def test_an_explanation_is_a_figure_of_every_step(tmp_path: Path) -> None:
    attncli.load(write_file(tmp_path, FILE)).explain().save(tmp_path / "steps.svg")
    svg = (tmp_path / "steps.svg").read_text(encoding="utf-8")
    assert all(f". {name}<" in svg for name in ("exponentials", "weights", "context"))


def test_a_title_with_characters_that_no_xml_has_is_a_sound_figure(tmp_path: Path) -> None:
    result = attncli.load(write_file(tmp_path, FILE)).compute("weights")
    result.save(tmp_path / "x.svg", title="a\x1b[31mb\u202ec\x01")
    svg = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(svg).find("{*}title").text == r"a\x1b[31mb\u202ec\x01"
    assert svg.replace("\n", "").replace("\t", "").isprintable()
