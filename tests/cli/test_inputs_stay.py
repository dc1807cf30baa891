"""An input is never overwritten: the problem, the files that it and the options name, under any name."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import attncli.cli
from tests.cli.running import Run

PROBLEM = """
vocabulary: vocabulary.yaml
sentence: a b
w_q: w.npy
w_k: w.npz#w_k
score: {general: {w: w.csv}}
"""
FILES = ["p.yaml", "vocabulary.yaml", "w.npy", "w.npz", "w.csv", "v.json"]


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, bytes]:
    """A problem whose file names others, in a folder; their contents by name."""
    w = np.array([[1.0, 2.0], [3.0, 4.0]])
    (tmp_path / "p.yaml").write_text(PROBLEM)
    (tmp_path / "vocabulary.yaml").write_text("a: [1, 2]\nb: [3, 4]\n")
    (tmp_path / "v.json").write_text("[[1, 0], [0, 1]]")
    (tmp_path / "w.csv").write_text("1,2\n3,4\n")
    np.save(tmp_path / "w.npy", w)
    np.savez(tmp_path / "w.npz", w_k=w, other=w)
    return contents(tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(
    "command", ["compute --json", "compute --plan", "generate", "compute --select output --format csv"]
)
def test_an_output_that_is_an_input_is_refused(
    command: str, file: str, run: Run, inputs: dict[str, bytes], tmp_path: Path
) -> None:
    name, *options = command.split()
    ran = run(name, "p.yaml", "--w-v", "v.json", *options, "-o", file)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        f"attn: --output {file}: is the input {file}; attn never overwrites an input: name another file\n"
    )
    assert contents(tmp_path) == inputs


@pytest.mark.parametrize("link", ["symbolic", "hard", "with a dot", "absolute", "through a folder"])
def test_another_name_of_an_input_is_refused(link: str, run: Run, inputs: dict[str, bytes], tmp_path: Path) -> None:
    names = {"with a dot": "./p.yaml", "absolute": str(tmp_path / "p.yaml"), "through a folder": "sub/../p.yaml"}
    name = names.get(link, "q.yaml")
    if link == "symbolic":
        (tmp_path / "q.yaml").symlink_to("p.yaml")
    elif link == "hard":
        (tmp_path / "q.yaml").hardlink_to(tmp_path / "p.yaml")
    elif link == "through a folder":
        (tmp_path / "sub").mkdir()
    ran = run("compute", "p.yaml", "-o", name)
    assert ran.stderr.startswith(f"attn: --output {name}: is the input p.yaml; ")
    assert (tmp_path / "p.yaml").read_bytes() == inputs["p.yaml"]


@pytest.mark.parametrize(
    ("words", "stream", "message"),
    [
        ("compute - -o p.yaml", "stdin", "--output p.yaml: is the input standard input; "),
        ("compute p.yaml", "stdout", "standard output: is the input p.yaml; "),
        ("demo p.yaml", "stdout", "standard output: is the input p.yaml; "),
    ],
)
def test_an_input_that_the_shell_opened_is_refused(
    words: str, stream: str, message: str, inputs: dict[str, bytes], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with Path("p.yaml").open("r" if stream == "stdin" else "a") as opened:
        monkeypatch.setattr(sys, stream, opened)
        assert attncli.cli.run(words.split()) == 2
    assert capsys.readouterr().err.startswith(f"attn: {message}")
    assert contents(tmp_path) == inputs


@pytest.mark.deep
def test_an_output_that_the_shell_opened_is_refused_by_its_name_too(inputs: dict[str, bytes], tmp_path: Path) -> None:
    command = f"{sys.executable} -m attncli generate p.yaml -o /dev/stdout >> p.yaml"
    ran = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith("attn: --output /dev/stdout: is the input p.yaml; ")
    assert contents(tmp_path) == inputs


def test_a_file_that_is_no_input_is_replaced(run: Run, inputs: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("old")
    assert run("compute", "p.yaml", "-o", "old.json").returncode == 0
    assert (tmp_path / "old.json").read_text().startswith("{")
