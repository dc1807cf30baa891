"""An input of the fuzzer, a command line with its files: how it is kept, run within limits, and judged."""

import base64
import io
import json
import math
import os
import re
import shutil
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

import attncli.cli
from attncli.checks.report import CheckOptions
from attncli.cli import command_group
from attncli.cli.commands import COMMANDS
from tests.cli.running import environment

TIME_LIMIT = 5  # seconds of processor time, of which a busy machine takes no more
SEARCH_LIMIT = 2 * CheckOptions().seconds  # how long a check tries mistakes, on all numbers and on parts of them
WAIT_LIMIT = 60  # seconds, for what only waits
MEMORY_LIMIT = 2**30  # bytes, in addition to what the process has when a command begins
PACKAGE = Path(attncli.__file__).parent

# The commands whose standard output and status tell of several problems, some of which may be right.
HELP = {"-h", "--help", "--help-all"}
SUITES = ("check",)
SAYING_MORE = (*SUITES, "model")  # of a model that is not known its tensors are listed
DIFFERING = ("check", "demo")  # the commands that may end with 1

Number = float | None
Grid = Sequence[Sequence[Number]]


@dataclass(frozen=True)
class Case:
    """A command line with the files in its folder and its standard input.

    `numbers` are those that are written in its matrix, None where what is written is not a number: the first step that
    `--explain --json` shows is what was read. `must_be_read` says that every one of them is a plain decimal number.
    `visible` is which keys its mask shows to each query.
    """

    words: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""
    numbers: Grid | None = None
    must_be_read: bool = False
    visible: Sequence[Sequence[bool]] | None = None

    def to_json(self) -> str:
        """The case as it is kept: text as text, other bytes in base64."""
        kept: dict[str, Any] = {"words": list(self.words)}
        if self.files:
            kept["files"] = {name: _to_text(raw) for name, raw in self.files.items()}
        if self.stdin:
            kept["stdin"] = _to_text(self.stdin)
        if self.numbers is not None:
            kept["numbers"] = [[None if number is None else repr(number) for number in row] for row in self.numbers]
            kept["must_be_read"] = self.must_be_read
        if self.visible is not None:
            kept["visible"] = [[int(cell) for cell in row] for row in self.visible]
        return json.dumps(kept, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Case":
        """The case that was kept."""
        kept = json.loads(text)
        numbers = kept.get("numbers")
        return cls(
            words=tuple(kept["words"]),
            files={name: _to_bytes(value) for name, value in kept.get("files", {}).items()},
            stdin=_to_bytes(kept.get("stdin", "")),
            numbers=numbers and [[None if cell is None else float(cell) for cell in row] for row in numbers],
            must_be_read=kept.get("must_be_read", False),
            visible=kept.get("visible"),
        )


def _to_text(raw: bytes) -> Any:
    """Bytes as JSON has them."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def _to_bytes(value: Any) -> bytes:
    """Bytes as they were kept."""
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])


class TooSlowError(BaseException):
    """A command takes longer than the limit."""


@dataclass(frozen=True)
class Ran:
    """How a command ended: its status, its streams and the files that it made; the exception that nobody foresaw."""

    status: int
    stdout: bytes
    stderr: str
    new_files: frozenset[str]
    error: BaseException | None = None


@contextmanager
def limits(seconds: float) -> Iterator[None]:
    """A block that takes no more processor time and memory than an input may."""

    def stop(_number: int, _frame: Any) -> NoReturn:
        raise TooSlowError

    import resource  # not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    timers = ((signal.ITIMER_PROF, signal.SIGPROF, seconds), (signal.ITIMER_REAL, signal.SIGALRM, WAIT_LIMIT))
    handlers = {number: signal.signal(number, stop) for _, number, _ in timers}
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_LIMIT, hard))
    try:
        for timer, _, limit in timers:
            signal.setitimer(timer, limit)
        yield
    finally:
        for timer, number, _ in timers:
            signal.setitimer(timer, 0)
            signal.signal(number, handlers[number])
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def commands_made_once() -> Iterator[None]:
    """A block in which the options of a command are made once, which takes longer than most commands."""
    made: dict[str, Any] = {}
    make = command_group.CommandGroup.get_command

    def get_command(group: Any, context: Any, name: str) -> Any:
        if group.is_listing or name not in COMMANDS:
            return make(group, context, name)
        if name not in made:
            made[name] = make(group, context, name)
        return made[name]

    with patch.object(command_group.CommandGroup, "get_command", get_command):
        yield


def run(case: Case, folder: Path) -> Ran:
    """Call `attn` in this process, in a folder that has the files of the case and nothing else."""
    for old in folder.iterdir():
        shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    for name, raw in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)
    before = _names(folder)
    stdin = io.TextIOWrapper(io.BytesIO(case.stdin), encoding="utf-8")
    stdout = io.TextIOWrapper(output := io.BytesIO(), encoding="utf-8")
    stderr = io.TextIOWrapper(errors := io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    status, error = 0, None
    with (
        patch.dict(os.environ, environment(None), clear=True),
        chdir(folder),
        patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr, argv=["attn", *case.words]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("always")
        try:
            with limits(TIME_LIMIT + (SEARCH_LIMIT if "check" in case.words else 0)):
                status = attncli.cli.run(list(case.words))
        except (Exception, TooSlowError) as found:  # noqa: BLE001 - it is what is searched for
            error = found
        stdout.flush()
        stderr.flush()
    return Ran(status, output.getvalue(), errors.getvalue().decode(), _names(folder) - before, error)


def _names(folder: Path) -> frozenset[str]:
    """The files in a folder and in those inside it."""
    return frozenset(str(path.relative_to(folder)) for path in folder.rglob("*"))


def failure(case: Case, folder: Path) -> str | None:
    """What is wrong with how a case ended, without what differs between two inputs; None where all is right."""
    ran = run(case, folder)
    if ran.error is not None:
        return f"{type(ran.error).__name__}{_place(ran.error)}"
    command = next((word for word in case.words if word in COMMANDS), "compute")
    failures = (partial(check, case, ran, command) for check in CHECKS)
    return next((found for one in failures if (found := one())), None)


def _place(error: BaseException) -> str:
    """The innermost function of the package that an exception came through."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(PACKAGE):
            return f" in {path.relative_to(PACKAGE.parent)}, {frame.name}"
    return ""


def _check_status(_case: Case, ran: Ran, command: str) -> str | None:
    """0, 2, or 1 where numbers can differ."""
    allowed = (0, 1, 2) if command in DIFFERING else (0, 2)
    return None if ran.status in allowed else f"status {ran.status} of attn {command}"


def _check_errors(_case: Case, ran: Ran, command: str) -> str | None:
    """Every line on standard error is ours; where a command fails exactly one is no warning."""
    lines = ran.stderr.splitlines()
    strange = [line for line in lines if not line.startswith("attn: ")]
    if strange:
        return f"a line on standard error does not begin with attn: {re.sub(r'[0-9]+', 'N', strange[0])[:60]!r}"
    errors = [line for line in lines if not line.startswith("attn: warning: ")]
    if ran.status == 2 and not errors:
        return f"attn {command} fails and says nothing"
    if ran.status == 2 and len(errors) > 1 and command not in SAYING_MORE:
        return f"attn {command} fails with {len(errors)} lines"
    return None


def _check_output(case: Case, ran: Ran, command: str) -> str | None:
    """Nothing is written where a command fails, no file is half written, and JSON is JSON."""
    if ran.status == 2 and command not in SUITES and (ran.stdout or ran.new_files):
        return f"attn {command} fails and has written {'something' if ran.stdout else 'a file'}"
    if any(Path(name).name.startswith((".attn-", "tmp")) for name in ran.new_files):
        return f"attn {command} leaves a temporary file"
    if ran.status < 2 and "--json" in case.words and ran.stdout and not set(case.words) & HELP:
        try:
            json.loads(ran.stdout, parse_constant=_refuse)
        except ValueError:
            return f"attn {command} --json writes what is not JSON"
    return None


def _refuse(constant: str) -> NoReturn:
    """Raise ValueError for NaN and Infinity, which JSON does not have."""
    raise ValueError(constant)


def _check_numbers(case: Case, ran: Ran, _command: str) -> str | None:
    """The numbers that were read are those that are written.

    A row above them and a column beside them may be names, where nothing in them is a number.
    """
    if case.numbers is None:
        return None
    if ran.status != 0:
        return "numbers are not read" if case.must_be_read else None
    steps = json.loads(ran.stdout)["steps"]
    found = [[float(cell) for cell in row] for row in steps[0]["value"]]
    top, left = len(case.numbers) - len(found), len(case.numbers[0]) - len(found[0])
    if top not in (0, 1) or left not in (0, 1):
        return "a matrix is read in another shape"
    names = [*case.numbers[:top], *[row[:left] for row in case.numbers[top:]]]
    if any(cell is not None and math.isfinite(cell) for row in names for cell in row):
        return "a number is read as a name"
    written = [row[left:] for row in case.numbers[top:]]
    if not all(_are_equal(*pair) for rows in zip(found, written, strict=True) for pair in zip(*rows, strict=True)):
        return "a number is read otherwise than written"
    return None


def _are_equal(found: float, written: Number) -> bool:
    """Whether a number is the one that is written; the sign of 0 counts, that of NaN does not."""
    if written is None:
        return False
    return math.isnan(written) if math.isnan(found) else repr(found) == repr(float(written))


def _check_mask(case: Case, ran: Ran, _command: str) -> str | None:
    """The keys that a query sees are those of the mask that is written."""
    if case.visible is None:
        return None
    if ran.status != 0:
        return "a mask is not read"
    found = json.loads(ran.stdout)
    scores = found.get("masked_scores", found.get("scores"))
    seen = [[cell != "-Infinity" for cell in row] for row in scores]
    return None if seen == [[bool(cell) for cell in row] for row in case.visible] else "a mask is read otherwise"


CHECKS: Sequence[Callable[[Case, Ran, str], str | None]] = (
    _check_status,
    _check_errors,
    _check_output,
    _check_numbers,
    _check_mask,
)
