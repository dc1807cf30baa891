"""Every command that a page, a report or a hint writes runs as it is typed, and is about what it was written for."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from attncli import load
from tests.captures import write_tiny_capture
from tests.cli.running import Ran, Run, Terminal
from tests.problems import write_file

TWINS = """
embeddings: [[1, 0], [0, 1]]
parts:
- title: one head
  score: dot
- {title: "scores, a sigmoid: #2 of 3", score: dot, normalize: sigmoid}
- {title: twice, scale: 2}
- {title: twice, scale: 3}
- {scale: 4}
"""
SAMPLES = Path(__file__).parents[2] / "samples"
PARTS_ALONE = "parts:\n- embeddings: [[1, 0]]\n- {title: the cat sat, embeddings: [[1, 0], [0, 1]]}\n"
OFF = "query: [[1, 0]]\nkey: [[1, 0], [0, 1]]\nexpected: {weights: [[0.5, 0.5]]}\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in {
        "twins.yaml": TWINS,
        "parts.yaml": PARTS_ALONE,
        "off.yaml": OFF,
        "tokens.yaml": "tokens: [a, b]\n",
    }.items():
        write_file(tmp_path, text, name)
    write_file(tmp_path, "def attention(q, k, v):\n    return v\n", "kernel.py")
    return tmp_path


def written_commands(text: str) -> list[str]:
    """The commands after `Next:`, after a prompt, and after `name one:` of the hint of a file with several problems."""
    found = re.findall(r"(?:Next: (?:[\w ]+: )?|^ *\$ )(attn .*?)\.?$", text, re.MULTILINE)
    hints = re.findall(r"name one: (.*)", text)
    return found + [f"attn compute {name}" for hint in hints for name in hint.split(", ")]


def answer(run: Run, command: str, *more: str) -> Ran:
    program, *words = shlex.split(command)
    assert program == "attn"
    return run(*words, *more)


def page_commands(page: str) -> list[list[str]]:
    return [json.loads(found) for found in re.findall(r'"command": (\[[^\]]*\])', page)]


def test_the_command_of_each_part_on_a_page_computes_that_part(run: Run, files: Path) -> None:
    assert run("compute", "twins.yaml", "-o", "twins.html").returncode == 0
    commands = page_commands((files / "twins.html").read_text(encoding="utf-8"))
    # By hand: of two equal unit vectors one has the score 1, the other 0, times the scale of the part.
    first_rows = [[1, 0], [1, 0], [2, 0], [3, 0], [4, 0]]
    assert len(commands) == len(first_rows)
    for command, expected in zip(commands, first_rows, strict=True):
        found = json.loads(answer(run, shlex.join(command), "--json").stdout)
        assert found["scores"][0] == expected, command


def test_a_part_of_a_sample_is_never_a_sentence(run: Run) -> None:
    name = f"{SAMPLES}/journey.yaml#Without weights"
    tokens = ["Your", "journey", "starts", "with", "one", "step"]
    for words in ((name,), ("compute", name), ("compute", f"{SAMPLES}/journey.yaml#1")):
        found = json.loads(run(*words, "--json").stdout)
        assert found["key_tokens"] == tokens
        np.testing.assert_allclose(found["output"], [[0.4419, 0.6515, 0.5683]], atol=5e-5)
    assert run("check", name).stdout.startswith("All 15 numbers agree.")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no.yaml#a b c", "attn: no.yaml: there is no such file"),
        ("twins.yaml#a b c", "attn: twins.yaml: unknown part 'a b c'"),
        ("twins.yaml#0", "attn: twins.yaml: unknown part '0'"),
        ("twins.yaml#6", "attn: twins.yaml: unknown part '6'"),
        ("twins.yaml#twice", "attn: twins.yaml: 2 parts are called 'twice'; name one by its number: 'twins.yaml#3'"),
    ],
)
def test_a_part_that_is_not_there_is_an_error(name: str, message: str, run: Run, files: Path) -> None:
    ran = run("compute", name)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(message)


def test_what_names_no_file_before_the_mark_is_a_sentence(run: Run) -> None:
    found = json.loads(run("the C# cat #2 sat", "--json").stdout)
    assert found["query_tokens"][-1] == "sat"


@pytest.mark.parametrize("number", ["1", "2", "3", "5"])
def test_a_number_chooses_a_part_that_has_a_title_too(number: str, files: Path) -> None:
    right = {"1": 1, "2": 1, "3": 2, "5": 4}
    assert load(files / f"twins.yaml#{number}").compute(select=["scores"]).scores[0, 0] == right[number]


def test_the_layers_of_a_capture_are_chosen_by_their_names_alone(run: Run, tmp_path: Path) -> None:
    write_tiny_capture(tmp_path / "c.safetensors")  # layers 0, 1 and decoder.1.cross
    assert run("compute", "c.safetensors#2").stderr.startswith("attn: c.safetensors: unknown part '2'")
    assert run("compute", "c.safetensors", "--layer", "decoder.1.cross", "--head", "0").returncode == 0


WRITERS = {
    "an unnamed part": ("compute", "parts.yaml"),
    "a new file": ("init", "new.yaml"),
    "a drawn file": ("generate", "--by-hand", "-o", "drawn by hand.yaml"),
    "samples": ("init", "--samples", "some samples"),
    "an example": ("demo", "tutorial"),
    "a saved example": ("demo", "luong", "--save", "my luong.yaml"),
    "sheets of a class": ("worksheet", "tokens.yaml", "--by-hand", "--variants", "2", "-o", "a class"),
    "a layer": ("model", str(SAMPLES / "tiny_model"), "--layer", "0", "-o", "a layer.yaml"),
    "a fit": ("fit", "off.yaml", "--learn", "key", "--target", "weights=0.4 0.6", "-o", "the fit.yaml"),
    "a trial": ("try", "kernel.py:attention", "--inputs", "0", "-o", "small case.yaml"),
}


@pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS)
def test_each_command_that_is_written_runs(words: tuple[str, ...], run: Run, files: Path) -> None:
    ran = run(*words, env={"COLUMNS": "500"}, errors_to=Terminal)
    commands = written_commands(f"{ran.stdout}\n{ran.stderr}")
    assert commands
    for command in sorted({*commands}, key=lambda command: "--save" not in command):  # a demo's file is saved first
        states = SAMPLES / "tiny_run" / "hidden_states.npy"
        following = answer(run, re.sub(r"\bFILE$", shlex.quote(str(states)), command))
        assert (following.returncode, following.stdout == "") in ((0, False), (1, False)), (command, following.stderr)
