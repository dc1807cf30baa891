"""Fixtures that run `attn` in an empty folder."""

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from attncli.io import examples
from tests.cli import running
from tests.cli.running import Run


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> Iterator[None]:
    """Started processes can be interrupted, also where the tests run in the background, whose shell ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Call `attn` with these words in this process; `env` adds to the environment, `input` is standard input."""
    return partial(running.run_in_process, folder=tmp_path)


@pytest.fixture
def run_process(tmp_path: Path) -> Run:
    """Start `attn` with these words in its own process: for start-up, real streams and other numbers of threads."""
    return partial(running.run_process, folder=tmp_path)


@pytest.fixture
def tutorial(tmp_path: Path) -> str:
    """The tutorial's file, in the folder where `run` runs."""
    (tmp_path / "t.yaml").write_text(examples.text("tutorial"), encoding="utf-8")
    return "t.yaml"
