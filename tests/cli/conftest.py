"""The command as a process: what it prints, what it says, and how it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from attncli.io import examples

Ran = subprocess.CompletedProcess[str]
Run = Callable[..., Ran]


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> Iterator[None]:
    """What is started here can be interrupted, also where the tests run in the background, whose shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `attn` with these words in an empty folder; `env` adds to the environment, `input` is standard input."""

    def run(*words: str, input: str = "", env: dict[str, str] | None = None) -> Ran:
        plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
        return subprocess.run(
            [sys.executable, "-m", "attncli", *words],
            cwd=tmp_path,
            env=plain | {"PYTHONIOENCODING": "utf-8", **(env or {})},
            input=input,
            capture_output=True,
            encoding=(env or {}).get("PYTHONIOENCODING", "utf-8"),
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture
def tutorial(tmp_path: Path) -> str:
    """The tutorial's file, in the folder where `run` runs."""
    (tmp_path / "t.yaml").write_text(examples.text("tutorial"), encoding="utf-8")
    return "t.yaml"
