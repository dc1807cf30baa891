"""Layers of a capture on the command line: `--layer`, or a part of the file by its name."""

from pathlib import Path

from tests.captures import write_tiny_capture
from tests.cli.running import Run

FILE = "captured.safetensors"


def test_each_layer_of_a_capture_is_checked(run: Run, tmp_path: Path) -> None:
    write_tiny_capture(tmp_path / FILE)
    assert "3 of 3 agree" in run("check", FILE).stdout
    assert run("check", FILE, "--layer", "1", "--scale", "0.3").returncode == 1


def test_a_capture_is_shown_with_its_tokens_and_layers(run: Run, tmp_path: Path) -> None:
    write_tiny_capture(tmp_path / FILE)
    lines = run("show", FILE).stdout.splitlines()
    assert "5 tokens: [CLS] the cat the [SEP]" in lines
    assert "  0: query, key, value, causal → weights, output" in lines
    assert "  1: query, key, value, scale 0.25 → weights, output" in lines
    assert lines[-1] == f"attn compute {FILE} --layer decoder.1.cross --head 0"


def test_what_a_capture_is_not_is_shown(run: Run, tmp_path: Path) -> None:
    write_tiny_capture(tmp_path / FILE, notes=["left out 2: attention in blocks"])
    assert "note: left out 2: attention in blocks" in run("show", FILE).stdout.splitlines()


def test_two_layers_of_a_capture_are_compared(run: Run, tmp_path: Path) -> None:
    write_tiny_capture(tmp_path / FILE)
    assert "first difference at scores" in run("compare", FILE, "--layer", "0", "--layer", "1").stdout


def test_one_layer_is_computed_and_without_one_the_layers_are_named(run: Run, tmp_path: Path) -> None:
    write_tiny_capture(tmp_path / FILE)
    shown = run("compute", FILE, "--layer", "decoder.1.cross", "--head", "3", "--select", "weights").stdout
    assert "the#2" in shown
    error = run("compute", FILE).stderr
    assert f"{FILE}: has 3 problems; name one: '{FILE}#0', '{FILE}#1', '{FILE}#decoder.1.cross'" in error
    assert "unknown part '9'; expected one of 0, 1, decoder.1.cross" in run("compute", FILE, "--layer", "9").stderr
