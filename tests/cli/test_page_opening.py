"""--open: the page in a private file, opened in the browser that BROWSER names."""

import stat
import sys
import tempfile
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import attncli
from attncli.cli.commands.compute import compute_and_open
from attncli.cli.option_values import edited_problem
from attncli.cli.output_options import OutputOptions
from tests.cli.running import Ran, Run
from tests.problems import write_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the browser of these tests is a shell script")

KERNEL = """
import numpy as np
def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return {factor} * (weights / weights.sum(axis=-1, keepdims=True) @ v)
"""
NO_BROWSER = {"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": ""}


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment with a browser that writes the addresses it opens to `opened`, and a folder of temporary files.

    Python looks for both again, as it does in a new process.
    """
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    monkeypatch.setattr(webbrowser, "_browsers", {})
    monkeypatch.setattr(tempfile, "tempdir", None)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/opened\n', encoding="utf-8")
    browser.chmod(0o700)
    (tmp_path / "temporary").mkdir()
    return {"BROWSER": str(browser), "TMPDIR": str(tmp_path / "temporary")}


@pytest.fixture
def small(tmp_path: Path) -> str:
    """A problem with few steps, whose page is made quickly."""
    return write_file(tmp_path, "weights: [[1, 0]]\nvalue: [[1], [2]]\n", "t.yaml")


def opened(folder: Path) -> list[Path]:
    """The files that the browser has opened."""
    addresses = (folder / "opened").read_text(encoding="utf-8").splitlines()
    assert all(address.startswith("file:///") for address in addresses)
    return [Path(unquote(urlsplit(address).path)) for address in addresses]


def page_of(ran: Ran) -> Path:
    """The file that the command says the page is in."""
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("attn: the page is ")]
    return Path(line.removeprefix("attn: the page is "))


def test_the_page_is_in_a_private_folder_and_opened(run: Run, small: str, env: dict[str, str], tmp_path: Path) -> None:
    Path(small).rename(tmp_path / "my words.yaml")
    ran = run("compute", "my words.yaml", "--open", env=env)
    assert (ran.returncode, ran.stdout) == (0, "")
    page = page_of(ran)
    assert opened(tmp_path) == [page]
    assert page.name == "my words.html"
    assert page.parent.parent == tmp_path / "temporary"
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.usefixtures("small")
def test_the_file_of_output_is_opened(run: Run, env: dict[str, str], tmp_path: Path) -> None:
    ran = run("compute", "t.yaml", "-o", "page.html", "--open", env=env)
    assert ran.returncode == 0
    assert opened(tmp_path) == [page_of(ran)] == [tmp_path / "page.html"]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_the_page_of_a_problem_without_a_file_has_a_name_too(run: Run, env: dict[str, str]) -> None:
    ran = run("compute", "--weights", "1 0", "--value", "1;2", "--open", env=env)
    assert page_of(ran).name == "attention.html"


@pytest.mark.usefixtures("small")
def test_without_a_browser_the_page_is_written_and_a_warning_says_what_to_do(run: Run, env: dict[str, str]) -> None:
    ran = run("compute", "t.yaml", "--open", env={**env, **NO_BROWSER})
    assert ran.returncode == 0
    assert ran.stderr.startswith(
        "attn: warning: --open found no browser: open the file in one, or name one in BROWSER\n"
    )
    assert page_of(ran).is_file()


@pytest.mark.usefixtures("small")
def test_a_browser_that_cannot_be_started_is_a_warning(run: Run, env: dict[str, str]) -> None:
    ran = run("compute", "t.yaml", "--open", env={**env, **NO_BROWSER, "BROWSER": "/no/browser"})
    assert ran.returncode == 0
    assert f"attn: warning: the browser did not start: open {page_of(ran)} in one\n" in ran.stderr


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-f", "json"], "attn: --open and --format json contradict each other;"),
        (["--json"], "attn: --open and --json contradict each other;"),
        (["-o", "-"], "attn: --open and --output - contradict each other;"),
        (["-o", "x.json"], "attn: --output x.json: --open shows the page, which is HTML; name a .html file"),
        (["--plan"], "attn: --plan computes nothing, so --open would have no effect;"),
        (["--select", "nothing"], "attn: --select: unknown result 'nothing'"),
        (["--strict"], "attn: --strict: --open found no browser:"),
    ],
)
def test_what_contradicts_it_is_an_error_and_leaves_no_file(
    words: list[str], error: str, run: Run, env: dict[str, str], tmp_path: Path
) -> None:
    ran = run("compute", "t.yaml", "--open", *words, env={**env, **NO_BROWSER})
    assert (ran.returncode, ran.stdout) == (2, "")
    assert error in ran.stderr
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.usefixtures("small")
def test_a_watched_page_is_opened_once_and_written_each_time(
    env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    addresses = list[str]()
    monkeypatch.setenv("BROWSER", env["BROWSER"])
    monkeypatch.setattr("webbrowser.open", lambda address: addresses.append(address) or True)
    options = OutputOptions(output=str(tmp_path / "page.html"), open=True)
    problem = edited_problem(attncli.load(tmp_path / "t.yaml").spec, ())
    result = compute_and_open(problem, options, None)
    (tmp_path / "page.html").unlink()
    compute_and_open(problem, options, result)
    assert (tmp_path / "page.html").is_file()
    assert addresses == [(tmp_path / "page.html").as_uri()]
    assert capsys.readouterr().err == f"attn: the page is {tmp_path / 'page.html'}\n"


WORDS = ("--inputs", "0", "--dtype", "float64", "--dim", "2", "--lengths", "20", "--quiet", "--open")


def test_the_page_of_a_failing_kernel_names_the_mistake(run: Run, env: dict[str, str], tmp_path: Path) -> None:
    write_file(tmp_path, KERNEL.format(factor=2), "kernel.py")
    ran = run("try", "kernel.py:attention", *WORDS, env=env)
    assert ran.returncode == 1
    assert opened(tmp_path) == [page_of(ran)]
    assert "output_factor" in page_of(ran).read_text(encoding="utf-8")


def test_of_a_kernel_that_fails_on_no_input_there_is_no_page(run: Run, env: dict[str, str], tmp_path: Path) -> None:
    write_file(tmp_path, KERNEL.format(factor=1), "kernel.py")
    ran = run("try", "kernel.py:attention", *WORDS, env=env)
    assert ran.stderr == "attn: warning: --open has no effect: the function fails on no input\n"
    assert not (tmp_path / "opened").exists()
