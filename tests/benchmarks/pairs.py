"""Two things, timed in turn again and again; the ratio is taken pair by pair, and its median counts.

A machine that slows down slows both. Before each there is a pause: the threads of the one before may still be spinning.
"""

import statistics
import subprocess
import time
from collections.abc import Callable

PAUSE, BURST = 0.05, 0.2  # seconds
HEADER = f"{'':62}{'ours':>10}{'peer':>10}{'ratio':>8}{'least':>8}{'most':>8}  aim"
Work = Callable[[], object]


def compare(title: str, ours: Work, theirs: Work, aim: str, runs: int = 7) -> str:
    """A row: medians in milliseconds, the median ratio with the least and the most, and the aim.

    Each is called once for nothing; what is shorter than `BURST` is called repeatedly.
    """
    seconds(ours), seconds(theirs)
    calls = max(1, int(BURST / max(seconds(ours), seconds(theirs))))
    pairs = [(1e3 * seconds(ours, calls), 1e3 * seconds(theirs, calls)) for _ in range(runs)]
    ratios = sorted(a / b for a, b in pairs)
    first, second = (statistics.median(times) for times in zip(*pairs, strict=True))
    numbers = f"{first:10.4g}{second:10.4g}{statistics.median(ratios):8.2f}{ratios[0]:8.2f}{ratios[-1]:8.2f}"
    return f"{title:62}{numbers}  {aim}"


def seconds(work: Work, calls: int = 1) -> float:
    """How long one call takes, of so many in a row after a pause."""
    time.sleep(PAUSE)
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - start) / calls


def run(command: list[str]) -> None:
    """Run a command for its time alone."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
