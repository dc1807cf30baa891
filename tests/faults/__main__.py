"""`python -m tests.faults`: everything fails in turn in each run; what ends otherwise than it should is printed.

With `--serve` it reads lines `[run, fault, trials]` and answers each with a line: a process without threads, whose
children are forks of it.
"""

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from tests.cli.running import run_in_process
from tests.faults.trials import FAULTS, NEVER, Ended, fill, run
from tests.runs import RUNS, CommandRun

OBJECTS = 300_000  # more than the objects that any run makes


def trials(row: CommandRun, fault: str, most: int, folder: Path) -> Iterator[tuple[int, Ended, Ended]]:
    """The trials of a run, at most so many, evenly over its calls: the number of the call, and how both ended."""
    sound = run(row.words, row.files, folder, "array" if fault in ("write", "object") else fault)
    written = [len(raw) for name, raw in sound.files.items() if sound.files[name] != row.files.get(name)]
    longest = max([*written, len(sound.stdout)])
    last = {"write": longest - 1, "object": OBJECTS}.get(fault, sound.calls)
    first = 0 if fault == "write" else 1
    count = min(most, last - first + 1)
    at = [first + (last - first) * number // count for number in range(1, count + 1)]
    if fault == "object":  # most runs make fewer: more of the first ones
        at = sorted({round(OBJECTS ** (number / max(count - 1, 1))) for number in range(count)})
    for number in at:
        yield number, sound, run(row.words, row.files, folder, fault, number)


def complaint(row: CommandRun, sound: Ended, ended: Ended) -> str | None:
    """What is wrong with how a run with a fault ended; None where all is right."""
    lines = ended.stderr.splitlines()
    errors = [line for line in lines if not line.startswith("attn: warning: ")]
    is_done = ended.status == sound.status
    own, complete = (_without_times(files) for files in (ended.files, sound.files))
    broken = [name for name in own.keys() | row.files.keys() if not _is_whole(name, own, complete, row.files)]
    wrong = {
        f"status {ended.status}": ended.status not in (sound.status, 2, 70),
        "standard error has lines that are not of attn": any(not line.startswith("attn: ") for line in lines),
        f"{len(errors)} lines of errors": not is_done and len(errors) != 1,
        f"half written, gone, or left over: {broken}": bool(broken),
        "another output": is_done and not _is_output(ended.stdout, sound.stdout),
        "a file is missing": is_done and own != complete,
    }
    found = [said for said, is_wrong in wrong.items() if is_wrong]
    return f"{'; '.join(found)} (status {ended.status}): {ended.stderr[-300:]}" if found else None


def _is_whole(name: str, own: Mapping[str, bytes], complete: Mapping[str, bytes], before: Mapping[str, bytes]) -> bool:
    """Whether a file is as it was before, or as the run without a fault writes it, or a report that it could not."""
    return own.get(name) in (complete.get(name), before.get(name)) or (name in own and _is_report(own[name]))


def _is_output(own: bytes, complete: bytes) -> bool:
    """Whether an output is that of the run without a fault, or says of a mistake that it could not be tried."""
    return own == complete or b"not enough memory" in own


def _without_times(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files without the seconds that a report says a check took."""
    return {name: re.sub(rb' time="[^"]*"', b"", raw) for name, raw in files.items()}


def _is_report(raw: bytes) -> bool:
    """Whether a file is a whole report of JUnit, which says of a problem that it could not be checked."""
    try:
        return ElementTree.fromstring(raw).tag == "testsuites"
    except ElementTree.ParseError:
        return False


def complaints(name: str, fault: str, most: int, folder: Path) -> list[str]:
    """What is wrong in the trials of a run."""
    row = RUNS[name]
    fill(folder / "work", row.files)
    run_in_process(*row.words, folder=folder / "work")  # imports what it needs, once
    found = []
    for number, sound, ended in trials(row, fault, most, folder):
        if sound.status not in (0, 1) or sound.stderr.count("internal error"):
            return [f"{name}: fails without a fault: {sound.stderr}"]
        if (said := complaint(row, sound, ended)) is not None:
            found.append(f"{name}, {fault} {number}: {said}")
    return found


def main(arguments: Sequence[str]) -> int:
    """Serve requests, or try everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work").mkdir()
        if arguments[:1] == ["--serve"]:
            for line in sys.stdin:
                print(json.dumps(complaints(*json.loads(line), folder)), flush=True)
            return 0
        found = [
            said
            for fault in FAULTS
            for run_name in RUNS
            for said in complaints(run_name, fault, 150 if fault == "object" else NEVER, folder)
        ]
        print("\n".join(found) or f"{len(RUNS)} runs are as they should be")
        return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
