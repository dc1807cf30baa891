"""`python -m tests.fuzz --inputs 200000 --seed 1`: that many inputs at random; what fails is made small and kept.

Each input is a whole command line in this process, with 5 seconds and 1 GiB. It may not end in an exception that nobody
foresaw, and no number and no mask may be read otherwise than it is written. Where a failure is new, its smallest input
is written into `tests/fuzz/corpus`, whose files the quick tests run. The exit status is 1 where anything fails.
"""

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.cases import Case, commands_made_once, failure
from tests.fuzz.kinds import KINDS, make_case
from tests.fuzz.shrink import shrink

CORPUS = Path(__file__).parent / "corpus"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the inputs of the arguments, and print what fails; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", dest="first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--kind", choices=KINDS, help="inputs of this kind alone")
    parser.add_argument("--keep", type=Path, default=CORPUS, help="the folder of what fails")
    given = parser.parse_args(arguments)
    if find_spec("openpyxl") is None:
        parser.error("inputs of work sheets need openpyxl: pip install '.[sheet]'")
    found: Counter[str] = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name, commands_made_once():
        folder = Path(name)
        for number in range(given.first, given.first + given.inputs):
            kind, case = make_case(given.seed, number, given.kind)
            said = failure(case, folder)
            if said is not None:
                found[said] += 1
                if found[said] == 1:
                    _keep(given.keep, kind, number, said, shrink(case, lambda other: failure(other, folder) == said))  # noqa: B023
            if (number + 1) % 10_000 == 0:
                print(f"{number + 1:,} inputs, {len(found)} failures, {time.monotonic() - began:.0f} s", flush=True)
    for said, count in found.most_common():
        print(f"{count:6} {said}")
    print(f"{given.inputs:,} inputs of seed {given.seed}, {time.monotonic() - began:.0f} s: {len(found)} failures")
    return 1 if found else 0


def _keep(folder: Path, kind: str, number: int, said: str, case: Case) -> None:
    """Write a case that fails into a folder, and say so."""
    folder.mkdir(parents=True, exist_ok=True)
    words = re.sub(r"[^a-z0-9]+", "-", said.lower()).strip("-")[:60]
    path = folder / f"{kind}-{words}-{number}.json"
    path.write_text(case.to_json(), encoding="utf-8")
    print(f"input {number}: {said}\n  {path}: attn {' '.join(case.words)[:150]!r}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
