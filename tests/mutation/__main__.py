"""`python -m tests.mutation --coverage .coverage --sample 300`: the share of mutants that the tests notice.

A mutant is a copy of the package with one expression changed. It is tested by the quick tests that ran its line, as
`pytest -n 2 --cov=attncli --cov-context=test --cov-report=` writes down; it is killed where one of them fails or does
not end. Mutants are drawn from a seed, as many of each folder; survivors are printed. (mutmut and cosmic-ray rename or
wrap the functions, whose names, signatures and docstrings the registry reads, and run every test for each mutant.)
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import coverage
import hypothesis  # noqa: F401 - loaded once, and not by the process of each mutant
import numpy  # noqa: F401 - the same
import pytest

from tests.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "attncli/ops",
    "attncli/engine",
    "attncli/io",
    "attncli/numbers",
    "attncli/problem",
    "attncli/checks/slips",
)
FIRST_FILES = 2  # whose tests a mutant is tested by, one after the other, before those of all others
MOST_TESTS, FEW_TESTS = 60, 15  # of each of the first files, and of each other one
SECONDS = 120  # that the tests of a mutant may take
IGNORED = ("tests/test_architecture.py", "tests/documents")  # which read the source

Lines = Mapping[int, Sequence[str]]


def covering_tests(path: Path) -> dict[str, Lines]:
    """The tests that ran each line, by the files of the package."""
    data = coverage.CoverageData(str(path))
    data.read()
    found: dict[str, Lines] = {}
    for file in data.measured_files():
        name = file[file.index("attncli/") :]
        contexts = data.contexts_by_lineno(file)
        found[name] = {line: sorted({_test_of(one) for one in names if one}) for line, names in contexts.items()}
    return found


def _test_of(context: str) -> str:
    """The test of a context, which has its phase behind it."""
    return context.rpartition("|")[0]


def drawn(tests: Mapping[str, Lines], sample: int, choose: random.Random) -> Iterator[tuple[str, Mutant]]:
    """Mutants of lines that tests run: as many of each folder."""
    for folder in FOLDERS:
        every = [
            (file, mutant)
            for file in sorted(tests)
            if file.startswith(f"{folder}/")
            for mutant in mutants((ROOT / file).read_text(encoding="utf-8"))
            if tests[file].get(mutant.line)
        ]
        yield from choose.sample(every, min(sample // len(FOLDERS), len(every)))


def batches_of_tests(file: str, names: Sequence[str], choose: random.Random) -> list[list[str]]:
    """The tests of a line, those of the file that mirrors its own first: to collect a file's tests takes the time."""
    by_file: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if not name.startswith(IGNORED):
            by_file[name.partition("::")[0]].append(name)
    mirror = f"test_{Path(file).name}"
    ordered = sorted(by_file, key=lambda tests: (Path(tests).name != mirror, -len(by_file[tests]), tests))
    drawn_tests = [choose.sample(by_file[tests], min(MOST_TESTS, len(by_file[tests]))) for tests in ordered]
    others = [name for some in drawn_tests[FIRST_FILES:] for name in some[:FEW_TESTS]]
    return [some for some in [*drawn_tests[:FIRST_FILES], others] if some]


def is_killed(tree: Path, names: Sequence[str]) -> bool:
    """Whether one of the tests fails in a tree, or they do not end."""
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.alarm(SECONDS)
        os.chdir(tree)
        sys.path[:] = [str(tree), *[entry for entry in sys.path if entry not in ("", str(ROOT))]]
        for module in [name for name in sys.modules if name.split(".")[0] in ("tests", "attncli")]:
            del sys.modules[module]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", ""]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is loaded above
        status = 1  # where an exception ends it, which must not clean up what the parent uses
        try:
            status = int(pytest.main([*options, *names]))
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    with suppress(ProcessLookupError):  # what its tests started
        os.killpg(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(ended)
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise RuntimeError(f"there are no tests such as {names[0]}")
    return status != 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Test mutants, and print the survivors and the share that was killed of each folder."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--coverage", type=Path, default=ROOT / ".coverage")
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    choose = random.Random(given.seed)
    tests = covering_tests(given.coverage)
    every = list(drawn(tests, given.sample, choose))
    choose.shuffle(every)
    began, tried, killed = time.monotonic(), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".coverage", "__pycache__"))
        for file, mutant in every[:5]:
            if is_killed(tree, batches_of_tests(file, tests[file][mutant.line], choose)[0]):
                raise RuntimeError(f"the tests of {file}, line {mutant.line} fail without a mutant")
        for file, mutant in every:
            folder = next(folder for folder in FOLDERS if file.startswith(folder))
            source = (ROOT / file).read_text(encoding="utf-8")
            (tree / file).write_text(mutant.apply(source), encoding="utf-8")
            batches = batches_of_tests(file, tests[file][mutant.line], choose)
            is_dead = any(is_killed(tree, some) for some in batches)
            (tree / file).write_text(source, encoding="utf-8")
            tried[folder] += 1
            killed[folder] += is_dead
            if not is_dead:
                print(
                    f"{file}:{mutant.line}: {mutant.before!r} -> {mutant.after!r} ({sum(map(len, batches))} tests)",
                    flush=True,
                )
            if tried.total() % 25 == 0:
                print(f"{killed.total()} of {tried.total()} killed, {time.monotonic() - began:.0f} s", flush=True)
    for folder in FOLDERS:
        print(f"{folder}: {killed[folder]} of {tried[folder]} killed")
    print(f"{killed.total()} of {tried.total()} killed: {killed.total() / tried.total():.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
