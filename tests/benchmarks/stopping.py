"""How long it takes from Ctrl-C to the end, in milliseconds beside a second's thousand."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from computing import arrays
from pairs import Row, against

RUNS, BEFORE = 5, 1.0  # seconds from the start to the interrupt: all of these take longer
LONG = {
    "attending in tiles": "--query q.npy --key q.npy --select output -o o.npy",
    "attending in whole rows": "--query q.npy --key q.npy --normalize sparsemax --select output -o o.npy",
    "attending into a file": "--query s.npy --key s.npy --normalize sparsemax --select weights -o w.npy",
    "reading CSV": "--query q.csv --key s.npy --select output -o o.npy",
    "writing CSV": "--query s.npy --key s.npy --select weights -o w.csv",
}


def rows() -> Iterator[Row]:
    """A command at each stage of its work, interrupted in the middle of it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which jobs in the background ignore, and so do commands
    with TemporaryDirectory() as name:
        folder = Path(name)
        (query, *_) = arrays(65536, "float32")
        np.save(folder / "q.npy", query)
        np.save(folder / "s.npy", query[:12000])
        text = "\n".join(",".join(map(repr, row)) for row in query[:8192].tolist())
        (folder / "q.csv").write_text("\n".join([text] * 64))
        for title, words in LONG.items():
            yield against(f"Ctrl-C while {title}", [ending(words, folder) for _ in range(RUNS)], 1000.0, "≤ 1")


def ending(words: str, folder: Path) -> float:
    """The milliseconds from an interrupt to the end of a command."""
    attn = str(Path(sys.executable).with_name("attn"))
    command = [attn, "compute", *words.split()]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(BEFORE)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    if process.wait() != 130:
        raise RuntimeError(f"{words}: it was over before it could be interrupted")
    return 1e3 * (time.perf_counter() - start)
