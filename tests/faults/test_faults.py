"""Whatever fails in a run, it ends with one line, no file is half written, and files that were there stay."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.__main__ import complaint
from tests.faults.trials import Ended
from tests.runs import OLD, RUNS, CommandRun

QUICK = [name for name, row in RUNS.items() if not row.is_slow]
Try = Callable[[str, str, int], list[str]]


@pytest.fixture(scope="session")
def try_faults() -> Iterator[Try]:
    """What is wrong in some trials of a run, by a process without threads, which can be forked."""
    command = [sys.executable, "-m", "tests.faults", "--serve"]
    folder = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def request(run: str, fault: str, trials: int) -> list[str]:
            print(json.dumps([run, fault, trials]), file=server.stdin, flush=True)
            return json.loads(server.stdout.readline())

        yield request
        server.stdin.close()


@pytest.mark.parametrize(("run", "fault"), [*zip(QUICK, itertools.cycle(["array", "file", "write"]), strict=False)])
def test_a_run_in_which_something_fails_leaves_nothing_half_done(run: str, fault: str, try_faults: Try) -> None:
    assert try_faults(run, fault, 1) == []


@pytest.mark.deep
@pytest.mark.parametrize("run", RUNS)
def test_whatever_fails_leaves_nothing_half_done(run: str, try_faults: Try) -> None:
    for fault, trials in (("array", 12), ("file", 25), ("write", 9), ("object", 20)):
        assert try_faults(run, fault, trials) == []


ROW = CommandRun(("compute",), {"p.yaml": b"a", "out.csv": OLD})
SOUND = Ended(0, b"1\n", "", {"p.yaml": b"a", "out.csv": b"1,2\n"}, 9)
LEFT = {"p.yaml": b"a", "out.csv": OLD}
RIGHT = {
    "a lack of memory": Ended(2, b"", "attn: there is not enough memory\n", LEFT, 3),
    "an internal error": Ended(70, b"", "attn: internal error: x\n", LEFT, 3),
    "a fault that changes nothing": Ended(0, b"1\n", "attn: warning: x\n", SOUND.files, 3),
    "a file that was complete": Ended(2, b"", "attn: x\n", SOUND.files, 3),
}
WRONG = {
    "a traceback": Ended(1, b"", "Traceback\nMemoryError\n", LEFT, 3),
    "a signal": Ended(None, b"", "", LEFT, 3),
    "no line": Ended(2, b"", "", LEFT, 3),
    "two lines": Ended(2, b"", "attn: a\nattn: b\n", LEFT, 3),
    "half a file": Ended(2, b"", "attn: x\n", {**LEFT, "out.csv": b"1"}, 3),
    "no file": Ended(2, b"", "attn: x\n", {"p.yaml": b"a"}, 3),
    "a file left over": Ended(2, b"", "attn: x\n", {**LEFT, ".attn-1": b"1"}, 3),
    "another output": Ended(0, b"2\n", "", SOUND.files, 3),
    "an output without its file": Ended(0, b"1\n", "", LEFT, 3),
}


@pytest.mark.parametrize("ended", RIGHT.values(), ids=RIGHT)
def test_a_run_may_end_so(ended: Ended) -> None:
    assert complaint(ROW, SOUND, ended) is None


@pytest.mark.parametrize("ended", WRONG.values(), ids=WRONG)
def test_a_run_may_not_end_so(ended: Ended) -> None:
    assert complaint(ROW, SOUND, ended) is not None
