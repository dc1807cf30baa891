"""The documents hold: every command of the README prints what the README shows, every sample runs."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from attncli.cli.command_table import COMMANDS
from attncli.io import examples
from tests.cli.running import run_in_process

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SAMPLES = sorted((ROOT / "samples").glob("*.yaml"))
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)


def shell(command: str, folder: Path, input: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command of the README as a reader would, with this Python's `attn` first on the path."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder, env=environment, input=input, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a block, each with the output that is shown below it."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def shown() -> list[tuple[str, str]]:
    """Every command of the README with its output."""
    return [pair for block in CONSOLE.findall(README) for pair in commands(block)]


def attn(command: str, folder: Path) -> str:
    """What a command prints, `attn` called in this process, and what follows it (`| tail`, `&& cat`) by a shell."""
    words, pipe, rest = re.fullmatch(r"(.*?)(?: (\||&&) (.*))?", command.removeprefix("attn "), re.DOTALL).groups()
    ran = run_in_process(*shlex.split(words), folder=folder)
    piped = shell(rest, folder, input=ran.stdout if pipe == "|" else "").stdout if rest else ""
    return (piped if pipe == "|" else ran.stdout + piped) + ran.stderr


@pytest.mark.slow
def test_every_command_of_the_readme_prints_what_it_shows(tmp_path: Path) -> None:
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    assert len(shown()) > 15
    for command, expected in shown():
        ran = shell(command, tmp_path)
        assert ran.stdout + ran.stderr == expected, command


def test_every_small_attn_of_the_readme_prints_what_it_shows_also_in_this_process(tmp_path: Path) -> None:
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    small = [pair for pair in shown() if pair[0].startswith("attn ") and "q.npy" not in pair[0]]
    assert len(small) > 15
    for command, expected in small:
        assert attn(command, tmp_path) == expected, command


def test_every_command_there_is_stands_in_the_readme() -> None:
    for name in COMMANDS:
        assert f"$ attn {name} " in README


def test_the_picture_shows_what_the_command_prints() -> None:
    picture = unescape(re.sub(r"<[^>]+>", " ", (ROOT / "samples/weights.svg").read_text(encoding="utf-8")))
    printed = attn("compute samples/tutorial.yaml --select weights,output", ROOT)
    numbers = re.findall(r"\d\.\d{4}", printed)
    assert len(numbers) == 28
    assert sorted(numbers) == sorted(re.findall(r"\d\.\d{4}", picture))


def test_the_page_of_the_api_is_what_the_docstrings_say() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    assert page["PAGE"].read_text(encoding="utf-8") == page["generate"](), "python docs/generate.py writes it anew"


def test_the_architecture_names_every_package_and_no_file_that_is_not_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = [path.name for path in (ROOT / "attncli").iterdir() if (path / "__init__.py").exists()]
    assert all(f"| `{package}` |" in text for package in packages)
    for name in re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", text):
        assert (ROOT / "attncli" / name).exists() or (ROOT / name).exists(), name


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_every_sample_computes(sample: Path) -> None:
    ran = run_in_process("compute", str(sample), "--json", folder=ROOT)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith('{\n  "format": "attn.result/1"')


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.stem in examples.names()], ids=lambda path: path.name)
def test_a_sample_of_a_worked_examples_name_is_what_its_demo_hands_over(sample: Path) -> None:
    assert sample.read_text(encoding="utf-8") == examples.text(sample.stem)


@pytest.mark.parametrize("sample", ["tutorial", "tutorial_csv", "tutorial_seed"])
def test_the_tutorial_is_the_same_from_numbers_from_tables_and_from_the_seed(sample: str) -> None:
    printed = attn(f"compute samples/{sample}.yaml --select output --precision 8 -f csv", ROOT)
    rows = [[round(float(cell), 8) for cell in line.split(",")[1:]] for line in printed.splitlines()[1:]]
    assert rows == [
        [0.98522025, 1.74174051, 0.75652026],
        [0.90965265, 1.40965265, 0.5],
        [0.99851226, 1.75849334, 0.75998108],
        [0.99560386, 1.90407309, 0.90846923],
    ]
