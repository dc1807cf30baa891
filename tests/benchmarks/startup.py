"""How long `attn` takes to start, as ratios to bare programs: `python tests/benchmarks/startup.py`.

Each command runs in turn with its peer, again and again, so that a machine that slows down slows both; the ratio is
taken pair by pair and its median is shown. The peers are written here: a Typer program of one command that imports
NumPy, and one with as many commands as `attn` that does not.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 25
BARE = """
import typer, numpy
app = typer.Typer()

@app.command()
def main(x: int = 3):
    print(x)

app()
"""
MANY = """
import typer
app = typer.Typer()
for name in ("compute", "demo", "generate", "list", "show"):
    def command(x: str = "3"):
        print(x)
    app.command(name)(command)
app()
"""


def seconds(command: list[str]) -> float:
    """How long one process takes, from start to end."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Print one line a command: the medians in milliseconds, and the median, least and greatest ratio."""
    attn = str(Path(sys.executable).with_name("attn"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bare.py").write_text(BARE)
        (folder / "many.py").write_text(MANY)
        problem = str(folder / "tutorial.yaml")
        subprocess.run([attn, "demo", "tutorial", "--save", problem], check=True)
        bare, many = [sys.executable, str(folder / "bare.py")], [sys.executable, str(folder / "many.py")]
        pairs = {
            "attn compute tutorial.yaml --json": ([attn, "compute", problem, "--json"], bare),
            "attn --help": ([attn, "--help"], [*many, "--help"]),
            "attn --version": ([attn, "--version"], [*many, "--help"]),
        }
        print(f"{'command':36}{'ms':>7}{'peer ms':>9}{'ratio':>7}{'least':>7}{'most':>7}")
        for title, (ours, theirs) in pairs.items():
            seconds(ours), seconds(theirs)
            times = [(seconds(ours), seconds(theirs)) for _ in range(RUNS)]
            ratios = sorted(a / b for a, b in times)
            a, b = (statistics.median(column) * 1e3 for column in zip(*times, strict=True))
            print(f"{title:36}{a:7.0f}{b:9.0f}{statistics.median(ratios):7.2f}{ratios[0]:7.2f}{ratios[-1]:7.2f}")


if __name__ == "__main__":
    main()
