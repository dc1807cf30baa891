"""Two things, timed in turn again and again; the ratio is taken pair by pair, and its median counts.

A machine that slows down slows both. Before each there is a pause: the threads of the one before may still be spinning.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

PAUSE, BURST = 0.05, 0.2  # seconds


@dataclass(frozen=True)
class Row:
    """What was compared: medians in milliseconds (or megabytes), the median ratio with the least and most, the aim."""

    title: str
    ours: float
    theirs: float
    ratio: float
    least: float
    most: float
    aim: str

    def __str__(self) -> str:
        numbers = f"{self.ours:10.4g}{self.theirs:10.4g}{self.ratio:8.2f}{self.least:8.2f}{self.most:8.2f}"
        return f"{self.title:58}{numbers}  {self.aim}"


HEADER = f"{'':58}{'ours':>10}{'peer':>10}{'ratio':>8}{'least':>8}{'most':>8}  aim"


def seconds(work: Callable[[], object], calls: int = 1) -> float:
    """How long one call takes, of so many in a row after a pause."""
    time.sleep(PAUSE)
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - start) / calls


def compare(
    title: str, ours: Callable[[], object], theirs: Callable[[], object], runs: int, aim: str, burst: float = BURST
) -> Row:
    """Time both in turn, once for nothing and then so many times; what is shorter than `burst` is called repeatedly."""
    seconds(ours), seconds(theirs)
    calls = max(1, int(burst / max(seconds(ours), seconds(theirs))))
    return _row(title, [(1e3 * seconds(ours, calls), 1e3 * seconds(theirs, calls)) for _ in range(runs)], aim)


def of_memory(title: str, ours: list[str], theirs: list[str], aim: str) -> Row:
    """The peak memory of two commands, in megabytes."""
    return _row(title, [(peak(ours), peak(theirs))], aim)


def against(title: str, measured: Iterable[float], allowed: float, aim: str) -> Row:
    """What was measured beside what is allowed."""
    return _row(title, [(one, allowed) for one in measured], aim)


def _row(title: str, pairs: Iterable[tuple[float, float]], aim: str) -> Row:
    ours, theirs = map(list, zip(*pairs, strict=True))
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    middle = statistics.median
    return Row(title, middle(ours), middle(theirs), middle(ratios), ratios[0], ratios[-1], aim)


def run(command: list[str]) -> None:
    """Run a command for its time alone."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def peak(command: list[str]) -> float:
    """The most memory that a command held, in megabytes: asked of a process whose only child it is."""
    ask = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    ran = subprocess.run([sys.executable, "-c", ask, *command], check=True, capture_output=True, text=True)
    return float(ran.stdout)
