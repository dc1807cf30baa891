"""What a terminal shows: the command writes to a pseudo-terminal of a given width."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.running import STYLE, Run, on_a_terminal


@pytest.fixture
def big(run: Run, tmp_path: Path) -> str:
    words = ("generate", "--seed", "1", "--token-count", "60", "--dim", "2", "--init", "normal", "-o", "b.yaml")
    assert run(*words).returncode == 0
    return "b.yaml"


@pytest.mark.parametrize("width", [80, 132])
def test_no_line_is_wider_than_the_terminal_and_no_number_is_left_out(width: int, big: str, tmp_path: Path) -> None:
    shown = STYLE.sub("", on_a_terminal("compute", big, "--select", "weights", folder=tmp_path, width=width))
    lines = shown.splitlines()
    assert max(map(len, lines)) <= width
    headings = [line.split()[1:] for line in lines if line.startswith("n\\m")]
    assert [name for heading in headings for name in heading] == [f"token_{number}" for number in range(1, 61)]
    rows = Counter(line.split()[0] for line in lines if line.startswith("token_"))
    assert rows == {f"token_{number}": len(headings) for number in range(1, 61)}
    assert "…" not in shown


@pytest.mark.parametrize("width", [1, 10, 20])
@pytest.mark.parametrize(
    "words", [("compute", "t.yaml", "--explain"), ("demo", "luong", "--all")], ids=["compute", "demo"]
)
def test_a_narrow_terminal_shows_the_numbers_of_a_usual_one(
    width: int, words: tuple[str, ...], tutorial: str, tmp_path: Path
) -> None:
    def numbers(width: int) -> Counter[str]:
        shown = on_a_terminal(*words, folder=tmp_path, width=width, env={"TERM": "dumb"})
        return Counter(re.findall(r"(?<![\w.])\d+\.\d{4}(?!\d)", shown))

    usual = numbers(80)
    assert usual
    assert numbers(width) == usual


def test_a_pipe_gets_everything(big: str, run: Run) -> None:
    lines = run("compute", big, "--select", "weights", env={"COLUMNS": "20"}).stdout.splitlines()
    header = next(line for line in lines if line.startswith("n\\m"))
    assert header.split()[1:] == [f"token_{number}" for number in range(1, 61)]
    assert len([line for line in lines if line.startswith("token_")]) == 60
    assert "…" not in "".join(lines)


def test_weights_are_shaded_and_the_numbers_stay(tutorial: str, tmp_path: Path) -> None:
    shown = on_a_terminal("compute", tutorial, "--select", "weights", folder=tmp_path, is_process=True)
    first = next(line for line in shown.splitlines() if "0.7491" in line)
    assert re.search(r"48;[0-9;]+m0\.7491", first)  # on a background
    assert re.search(r"48;[0-9;]+m0\.2361", first)
    assert not re.search(r"48;[0-9;]+m0\.0074", first)
    assert "word_1   0.2361   0.0074   0.7491   0.0074" in STYLE.sub("", shown)


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colour_the_numbers_stay(env: dict[str, str], tutorial: str, tmp_path: Path) -> None:
    shown = on_a_terminal("compute", tutorial, "--select", "weights", folder=tmp_path, env=env)
    assert not re.search(r"\x1b\[[0-9;]*[34]8;", shown)
    assert "word_1   0.2361   0.0074   0.7491   0.0074" in STYLE.sub("", shown)


def test_a_dumb_terminal_gets_no_escape_sequences(tutorial: str, tmp_path: Path) -> None:
    assert "\x1b" not in on_a_terminal("compute", tutorial, "--explain", folder=tmp_path, env={"TERM": "dumb"})


def test_a_pipe_gets_styles_only_when_they_are_forced(tutorial: str, run: Run) -> None:
    assert "\x1b" not in run("compute", tutorial).stdout
    assert "\x1b[" in run("compute", tutorial, env={"FORCE_COLOR": "1", "TERM": "xterm-256color"}).stdout


def test_text_of_the_user_is_shown_literally(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(
        'tokens: ["[red]x[/]", ":smile:", "a\\e[31mb"]\nembeddings: [[1, 0], [0, 1], [1, 1]]\n'
    )
    shown = STYLE.sub("", on_a_terminal("compute", "e.yaml", "--select", "weights", folder=tmp_path))
    assert shown.count("[red]x[/]") == shown.count(":smile:") == shown.count("a\\x1b[31mb") == 2
    assert "\x1b" not in shown


def test_an_error_is_broken_between_words(tmp_path: Path) -> None:
    shown = on_a_terminal("hello", folder=tmp_path, status=2)
    assert shown == (
        "attn: unknown command 'hello'; attn --help lists the commands; for a sentence of\n"
        "one word: attn compute --sentence hello\n"
    )


def test_a_command_that_waits_for_a_terminal_says_so(tmp_path: Path) -> None:
    shown = on_a_terminal("compute", "-", folder=tmp_path, typed="embeddings: [[1, 2]]\n\x04")
    assert "attn: reading standard input from the terminal; Ctrl-D on its own line ends it\n" in shown
    assert "token_1    1    2" in shown


def test_a_demo_has_the_lines_on_a_terminal_that_it_has_in_a_pipe(run: Run, tmp_path: Path) -> None:
    for name in ("tutorial", "data_fitting", "multi_head"):
        shown, piped = STYLE.sub("", on_a_terminal("demo", name, "--all", folder=tmp_path)), run("demo", name).stdout
        plot_and_tables = [line for line in piped.splitlines() if re.search(r"[┤│─┬]|^ *\S+( +-?\d+\.\d+)+$", line)]
        assert len(plot_and_tables) > 8
        assert set(plot_and_tables) <= set(shown.splitlines())
        assert max(map(len, shown.splitlines())) <= 80 or name == "multi_head"  # whose commands are long
        assert name != "tutorial" or len(shown.splitlines()) <= 72
