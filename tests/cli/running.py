"""`attn` called in this process or started in one of its own; both return what it printed and how it ended."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import attncli.cli

Ran = subprocess.CompletedProcess[str]
Run = Callable[..., Ran]

STYLE_VARIABLES = ("NO_COLOR", "FORCE_COLOR", "TERM")


def environment(env: dict[str, str] | None) -> dict[str, str]:
    """This process's environment without what changes styles, with UTF-8, and with `env`."""
    plain = {name: value for name, value in os.environ.items() if name not in STYLE_VARIABLES}
    return plain | {"PYTHONIOENCODING": "utf-8", **(env or {})}


def run_in_process(*words: str, folder: Path, input: str = "", env: dict[str, str] | None = None) -> Ran:
    """Call `attn` with these words in a folder; its standard streams are real text streams over bytes in memory."""
    variables = environment(env)
    encoding = variables["PYTHONIOENCODING"]
    stdin = io.TextIOWrapper(io.BytesIO(input.encode()), encoding=encoding)
    stdout = io.TextIOWrapper(output := io.BytesIO(), encoding=encoding)
    stderr = io.TextIOWrapper(errors := io.BytesIO(), encoding=encoding, errors="backslashreplace")
    with (
        patch.dict(os.environ, variables, clear=True),
        chdir(folder),
        patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr, argv=["attn", *words]),
    ):
        status = attncli.cli.run()
        stdout.flush()
        stderr.flush()
    return Ran(list(words), status, output.getvalue().decode(encoding), errors.getvalue().decode(encoding))


def run_process(*words: str, folder: Path, input: str = "", env: dict[str, str] | None = None) -> Ran:
    """Start `python -m attncli` with these words in a folder, and wait until it ends."""
    variables = environment(env)
    return subprocess.run(
        [sys.executable, "-m", "attncli", *words],
        cwd=folder,
        env=variables,
        input=input,
        capture_output=True,
        encoding=variables["PYTHONIOENCODING"],
        timeout=60,
        check=False,
    )
