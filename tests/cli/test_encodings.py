"""Streams whose encoding lacks signs: what attn writes is readable there, and labels are escaped at worst."""

import re
from pathlib import Path

import pytest
import yaml

from attncli.io import examples
from attncli.render.meanings import every_meaning, render_meanings
from attncli.render.target import TextTarget
from tests.cli.running import Run

ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
ENCODINGS = ["ascii", "cp1252", "latin-1"]
MASKED = ("--position", "rope", "--causal", "--window", "1,0", "--qk-norm", "l2", "--softcap", "3")
COMMANDS = [
    ("list",),
    ("--help",),
    ("compute", "--help"),
    ("demo", "--list"),
    ("compute", "p.yaml", "--plan"),
    *(("compute", "p.yaml", "--explain", "-f", name, *MASKED) for name in ("table", "markdown", "latex")),
    *(("demo", name) for name in examples.names()),
    ("show", "cosine"),
]


@pytest.fixture
def problem(run: Run) -> None:
    words = ("generate", "--seed", "1", "--token-count", "3", "--dim", "4", "--init", "normal", "-o", "p.yaml")
    assert run(*words).returncode == 0


@pytest.mark.usefixtures("problem")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_that_attn_writes_needs_an_escape(words: tuple[str, ...], run: Run) -> None:
    for encoding in ENCODINGS if words[0] == "compute" else ENCODINGS[:1]:
        ran = run(*words, env={"PYTHONIOENCODING": encoding})
        assert (ran.returncode, ran.stderr) == (0, "")
        assert not ESCAPE.search(ran.stdout)


def test_no_explanation_of_a_word_needs_an_escape() -> None:
    shown = render_meanings(every_meaning(), TextTarget(encoding="ascii"))
    assert "cosine  (score)" in shown
    assert shown.isascii()
    assert not ESCAPE.search(shown)


def test_errors_and_warnings_need_no_escape(run: Run) -> None:
    for words in (
        ("compute", "--embeddings", "[[1, 2], [3]]"),
        ("compute", "--embeddings", "1 2", "--score", "gaussian:sigma=-1"),
        ("compute", "--query", "[[-1]]", "--key", "[[1]]", "--normalize", "relu"),
    ):
        ran = run(*words, env={"PYTHONIOENCODING": "ascii"})
        assert ran.stderr.startswith("attn: ")
        assert ran.stderr.isascii()
        assert not ESCAPE.search(ran.stderr)


LABELS = ("--embeddings", "{猫: [1, 2], dog: [3.5, 4]}", "--causal")


def test_tables_stay_aligned_in_ascii(run: Run) -> None:
    ran = run("compute", *LABELS, "--select", "masked_scores", env={"PYTHONIOENCODING": "ascii"})
    assert ran.stdout.splitlines()[3:] == [
        "n\\m      \\u732b       dog",
        "-------------------------",
        "\\u732b   3.5355      -inf",
        "dog      8.1317   19.9758",
    ]


def test_a_file_is_utf8_whatever_the_encoding_of_the_terminal(run: Run, tmp_path: Path) -> None:
    run("compute", *LABELS, "-o", "x.txt", env={"PYTHONIOENCODING": "ascii"})
    text = (tmp_path / "x.txt").read_text(encoding="utf-8")
    assert text.startswith("scaled_dot → softmax → weighted_sum\n")
    assert "猫" in text


@pytest.mark.parametrize("words", [("compute", *LABELS, "-f", "yaml"), ("generate", *LABELS[:2])])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_yaml_in_any_encoding_is_the_same_data(words: tuple[str, ...], encoding: str, run: Run) -> None:
    plain = yaml.safe_load(run(*words, env={"PYTHONIOENCODING": encoding}).stdout)
    assert plain == yaml.safe_load(run(*words).stdout)
    assert "猫" in (plain["tokens"] if words[0] == "generate" else plain["key_tokens"])


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_yaml_is_ascii_where_a_stream_is_not_utf8_for_readers_of_utf8(encoding: str, run: Run) -> None:
    for words in (("generate",), ("compute", "-f", "yaml")):
        text = run(*words, "--embeddings", "{é: [1, 2], 猫: [3, 4]}", env={"PYTHONIOENCODING": encoding}).stdout
        assert '["\\xe9", "\\u732b"]' in text


@pytest.mark.parametrize("words", [("compute", *LABELS, "-f", "csv"), ("demo", "bahdanau", "--save", "-")])
def test_text_for_programs_that_an_encoding_lacks_is_an_error(words: tuple[str, ...], run: Run) -> None:
    """CSV has no escapes: a label would silently be another one."""
    ran = run(*words, env={"PYTHONIOENCODING": "ascii"})
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("attn: standard output: its encoding ascii has no '")
    assert ran.stderr.endswith("'; write to a file: it is UTF-8\n")


@pytest.mark.parametrize("words", [("--embeddings", "{\udcff: [1, 2]}"), ("--score", "general:w=[\udcff]")])
def test_an_argument_that_is_no_unicode_text_is_an_error(words: tuple[str, ...], run: Run) -> None:
    ran = run("compute", "--query", "[[1, 2]]", "--key", "[[1, 2]]", *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.endswith("is not Unicode text; write it in UTF-8\n")
