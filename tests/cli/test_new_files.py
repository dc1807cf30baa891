"""What is said of a file that was written; commands that make a problem never replace one unless --force says so."""

import re
from pathlib import Path

import pytest

from tests.checkpoints import write_checkpoint
from tests.cli.running import Run, Terminal, run_in_process

# The words of each command, the file that it makes, and the name that says where.
MAKING = {
    "init": ("init new/p.yaml", "new/p.yaml", "new/p.yaml"),
    "demo --save": ("demo tutorial --save new/p.yaml", "new/p.yaml", "new/p.yaml"),
    "model": ("model tiny --layer 0 -o new/p.yaml", "new/p.yaml", "new/p.yaml"),
    "generate, YAML": ("generate --seed 1 --token-count 2 --dim 2 -o new/p.yaml", "new/p.yaml", "new/p.yaml"),
    "generate, JSON": ("generate --seed 1 --token-count 2 --dim 2 -o new/p.json", "new/p.json", "new/p.json"),
    "generate, a folder": ("generate --seed 1 --token-count 2 --dim 2 -o new", "new/problem.yaml", "new"),
}


@pytest.mark.parametrize(("words", "file", "name"), MAKING.values(), ids=MAKING)
def test_a_file_is_replaced_where_force_says_so_and_nowhere_else(
    words: str, file: str, name: str, run: Run, tmp_path: Path
) -> None:
    write_checkpoint(tmp_path / "tiny")
    (tmp_path / "new").mkdir()
    made = run(*words.split())
    assert made.returncode == 0, made.stderr
    whole = (tmp_path / file).read_text()
    (tmp_path / file).write_text("mine")
    (tmp_path / "new" / "other").write_text("mine")
    refused = run(*words.split())
    said = f"attn: {name}: already exists; choose another name, or --force\n"
    assert (refused.returncode, refused.stdout, refused.stderr) == (2, "", said)
    assert (tmp_path / file).read_text() == "mine"
    assert run(*words.split(), "--force").returncode == 0
    assert (tmp_path / file).read_text() == whole
    assert (tmp_path / "new" / "other").read_text() == "mine"


# The words of a command, and what it says on standard error of the file where that is a terminal.
SAID = {
    "compute p.yaml --select output -o o.npy": "Wrote o.npy ({size} bytes).\n",
    "compute p.yaml --plan -o plan.txt": "Wrote plan.txt ({size} bytes).\n",
    "compare p.yaml --vary scale=1,2 -o o.csv": "Wrote o.csv ({size} bytes).\n",
    "generate p.yaml -o new.yaml": "Wrote new.yaml ({size} bytes). Next: attn compute new.yaml\n",
    "generate p.yaml -o folder": "Wrote folder. Next: attn compute folder/problem.yaml\n",
    "compute p.yaml -o /dev/null": "",
    "compute p.yaml": "",
}


@pytest.mark.parametrize("words", SAID)
def test_a_terminal_is_told_of_a_file_and_a_script_is_not(words: str, run: Run, tmp_path: Path) -> None:
    assert run("generate", "--seed", "1", "--token-count", "2", "--dim", "2", "-o", "p.yaml").stderr == ""
    told = run_in_process(*words.split(), folder=tmp_path, errors_to=Terminal)
    written = tmp_path / words.rsplit(maxsplit=1)[-1]
    said = SAID[words].format(size=written.stat().st_size if written.is_file() else "")
    assert (told.returncode, re.sub("\r.*\r", "", told.stderr)) == (0, said)
    assert run(*words.split(), *(["--force"] if "generate" in words else [])).stderr == ""


@pytest.mark.parametrize("words", ["init -", "demo", "model tiny", "model tiny --layer 0", "generate --seed 1 --dim 1"])
def test_force_without_a_file_is_a_warning(words: str, run: Run, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "tiny")
    ran = run(*words.split(), *(["--token-count", "1"] if "generate" in words else []), "--force")
    assert (ran.returncode, ran.stderr) == (0, "attn: warning: --force has no effect: no file is written\n")


def test_force_with_the_page_of_a_demo_says_that_such_files_are_replaced(run: Run) -> None:
    ran = run("demo", "one_query", "-o", "page.html", "--force")
    reason = "--output replaces a file without it"
    assert (ran.returncode, ran.stderr) == (0, f"attn: warning: --force has no effect: {reason}\n")


@pytest.mark.parametrize("output", ["in", "in/problem.yaml"])
def test_an_input_is_never_replaced(output: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "problem.yaml").write_text("embeddings: [[1]]\n")
    ran = run("generate", "in/problem.yaml", "-o", output, "--force")
    assert ran.returncode == 2
    assert "is the input in/problem.yaml; attn never overwrites an input" in ran.stderr
    assert (tmp_path / "in" / "problem.yaml").read_text() == "embeddings: [[1]]\n"
