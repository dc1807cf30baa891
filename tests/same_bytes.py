"""`python -m tests.same_bytes`: the bytes that runs and samples write, as a JSON object of a digest for each.

They are the same whatever the machine has to do with them: with `--against FILE` they are compared with those that
another process wrote, of another Python or NumPy, and the exit status is 1 where a run wrote others.
"""

import argparse
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from attncli.cli import BLAS_THREAD_VARIABLES

os.environ |= dict.fromkeys(BLAS_THREAD_VARIABLES, "1")  # as the program does before it loads NumPy

from attncli.io import examples
from tests.cli.running import run_in_process
from tests.runs import LARGE_RUNS, RUNS, CommandRun

_SECONDS = re.compile(rb' time="[^"]*"')  # that a check took


def every_run(*, has_large: bool = True) -> Mapping[str, CommandRun]:
    """The runs of the tables, and each worked example with every step."""
    demos = {f"demo {name}": CommandRun(("demo", name, "--explain")) for name in examples.names()}
    return {**RUNS, **(LARGE_RUNS if has_large else {}), **demos}


def digest(run: CommandRun) -> str:
    """A digest of the status, the output and the files of a run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, raw in run.files.items():
            (folder / file).write_bytes(raw)
        ran = run_in_process(*run.words, folder=folder)
        hashed = hashlib.sha256(f"{ran.returncode}\n{ran.stdout}\n{ran.stderr}".encode())
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                hashed.update(str(path.relative_to(folder)).encode() + _SECONDS.sub(b"", path.read_bytes()))
    return hashed.hexdigest()[:16]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the digests, or the runs that differ from those of a file; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.same_bytes", description=__doc__)
    parser.add_argument("--against", type=Path, help="the digests of another process")
    about = "leave out large problems: other versions of NumPy have other libraries of matrix products"
    parser.add_argument("--without-large", action="store_true", help=about)
    given = parser.parse_args(arguments)
    found = {name: digest(run) for name, run in every_run(has_large=not given.without_large).items()}
    if given.against is None:
        print(json.dumps(found, indent=1))
        return 0
    others = json.loads(given.against.read_text(encoding="utf-8"))
    differing = sorted(name for name in found.keys() | others.keys() if found.get(name) != others.get(name))
    print("\n".join(differing) or f"{len(found)} runs write the same bytes")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
