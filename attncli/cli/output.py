"""Where a result goes and in which format: a table on the screen, or a file by its suffix."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from attncli.base.errors import AttnError, UnknownNameError
from attncli.cli import streams
from attncli.cli.progress import Progress
from attncli.problem.labels import find_label
from attncli.trace.result import DEFAULT_SELECTION

if TYPE_CHECKING:
    from attncli.io.writers.npy_memmap import NpyTarget
    from attncli.problem.spec import ProblemSpec
    from attncli.render.view import View

ALL = "all"
FORMATS = ("table", "json", "yaml", "csv", "markdown", "latex")
SUFFIXES = {
    ".txt": "table",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".csv": "csv",
    ".tsv": "tsv",
    ".md": "markdown",
    ".tex": "latex",
    ".npy": "npy",
    ".npz": "npz",
    ".safetensors": "safetensors",
}
NPY = "npy"
ARRAYS = (NPY, "npz", "safetensors")


@dataclass(frozen=True)
class OutputOptions:
    """What is to be shown, and how: the options of `attn compute` that do not describe the problem."""

    explain: bool = False
    cell: str | None = None
    head: str | None = None
    batch: str | None = None
    precision: int = 4
    format: str | None = None
    json: bool = False
    output: str | None = None
    select: str | None = None
    executor: str = "threads"

    @property
    def selection(self) -> tuple[str, ...]:
        """The names of the results."""
        names = tuple(name.strip() for name in (self.select or "").split(",") if name.strip())
        return tuple(dict.fromkeys(names)) or DEFAULT_SELECTION

    @property
    def form(self) -> str:
        """The format: the one asked for, else the file's suffix', else a table."""
        if self.json and self.format not in (None, "json"):
            raise AttnError(f"--json and --format {self.format} contradict each other", hint="leave out one of them")
        if self.format is not None and self.format not in FORMATS:
            raise UnknownNameError("format", self.format, FORMATS, where="--format")
        if self.json or self.format:
            return self.format or "json"
        if self.output in (None, "-"):
            return "table"
        suffix = Path(str(self.output)).suffix.lower()
        if suffix not in SUFFIXES:
            raise AttnError(
                f"the suffix {suffix!r} names no format",
                where=f"--output {self.output}",
                hint=f"expected one of {', '.join(SUFFIXES)}, or --format",
            )
        return SUFFIXES[suffix]


def show(problem: "ProblemSpec", wanted: OutputOptions) -> None:
    """Compute a problem and show what is wanted of it."""
    form = wanted.form  # a format that does not exist is met before any work
    if wanted.output in (None, "-"):
        view = look(problem, wanted)
        streams.warn(view.result.trace.notes)
        with Progress("writing", is_shown=not streams.is_screen()) as progress:
            streams.put(_told(render(view, form, to_file=False), view, progress))
    else:
        from attncli.io.writers.atomic import whole
        from attncli.io.writers.npy_memmap import NpyTarget

        with whole(str(wanted.output)) as stream:
            straight = NpyTarget(stream) if form == NPY and len(wanted.selection) == 1 else None
            view = look(problem, wanted, straight)
            streams.warn(view.result.trace.notes)
            if straight is None or not straight.is_used:
                save(view, form, stream)


def look(problem: "ProblemSpec", wanted: OutputOptions, straight: "NpyTarget | None" = None) -> "View":
    """The result of a problem, with the cell and the head that are asked for."""
    from attncli.engine.options import EXECUTORS, RunOptions, in_memory, is_executor
    from attncli.engine.run import run
    from attncli.render.view import View

    if not 0 <= wanted.precision <= 17:
        raise AttnError(f"{wanted.precision} digits can't be shown", where="--precision", hint="expected 0 to 17")
    if not is_executor(wanted.executor):
        raise UnknownNameError("executor", wanted.executor, EXECUTORS, where="--executor")
    with Progress("attending") as progress:
        allocate = in_memory if straight is None else straight.allocate
        means = RunOptions(wanted.executor, allocate, progress, blas_is_held=True)
        result = run(problem, wanted.selection, every_step=wanted.explain, means=means)
    cell = _cell(wanted.cell, result.query_tokens, result.key_tokens) if wanted.cell is not None else None
    layout = problem.layout
    asked = {"b": (wanted.batch, "--batch", layout.batch or 1), "h": (wanted.head, "--head", layout.heads)}
    places = {
        letter: _place(text, option, count) for letter, (text, option, count) in asked.items() if text is not None
    }
    chosen = {letter: at for letter, at in places.items() if at is not None and letter in layout.score_axes}
    every = frozenset(letter for letter, at in places.items() if at is None)
    return View(result, wanted.explain, wanted.precision, cell, chosen, every)


def _place(text: str, option: str, count: int) -> int | None:
    """The position that `--head 3` or `--batch 0` names; None for `all`."""
    if text == ALL:
        return None
    if not text.isdecimal():
        raise AttnError(f"{text!r} is no position", where=option, hint=f"expected 0 to {count - 1}, or {ALL}")
    if int(text) >= count:
        what = {"--head": "head", "--batch": "batch item"}[option]
        raise AttnError(f"there is no {what} {text}", where=option, hint=f"expected 0 to {count - 1}, or {ALL}")
    return int(text)


def _cell(text: str, queries: tuple[str, ...], keys: tuple[str, ...]) -> tuple[int, int]:
    """The query and the key that `word_1,word_3` names."""
    parts = text.split(",")
    if len(parts) != 2:
        raise AttnError(f"{text!r} is no cell", where="--cell", hint="expected QUERY,KEY, such as word_1,word_3")
    found = []
    for wanted, labels in zip(parts, (queries, keys), strict=True):
        at = find_label(wanted.strip(), labels, where="--cell")
        if len(at) > 1:
            hint = f"say which one: {wanted.strip()}#1 is the first"
            raise AttnError(f"{wanted.strip()!r} stands {len(at)} times", where="--cell", hint=hint)
        found.append(at[0])
    return found[0], found[1]


def render(view: "View", form: str, *, to_file: bool) -> str | Iterable[str]:
    """The view in a format of text, whole or in pieces."""
    if form == "json":
        from attncli.render.formats import json

        return json.render(view, ascii_only=not (to_file or streams.is_utf8()))
    if form == "yaml":
        from attncli.io.writers.problem_text import yaml_text
        from attncli.render.formats import json

        return yaml_text(json.plain(json.payload(view)))
    if form in ("csv", "tsv"):
        from attncli.render.formats import csv

        return csv.render(view, delimiter="\t" if form == "tsv" else ",")
    return prose(view, form, to_file=to_file)


def save(view: "View", form: str, stream: IO[bytes]) -> None:
    """Write the view to a file: arrays under their names (every step with --explain), or text."""
    if form in ARRAYS:
        from attncli.io.writers.array_files import pack

        trace = view.result.trace
        pack(stream, {name: trace[name].value for name in view.names}, f".{form}", trace.precision)
        return
    with Progress("writing") as progress:
        for piece in streams.pieces(_told(render(view, form, to_file=True), view, progress)):
            stream.write(piece.encode("utf-8", "surrogateescape"))


def _told(contents: str | Iterable[str], view: "View", progress: Progress) -> str | Iterable[str]:
    """A text, of whose pieces the progress is told as they are taken: rows of numbers are lines."""
    if isinstance(contents, str):
        return contents
    shapes = [view.result.trace[name].value.shape for name in view.names]
    return progress.over(contents, sum(math.prod(shape[:-1]) for shape in shapes))


def prose(view: "View", form: str, *, to_file: bool) -> str:
    """The view for a reader: a terminal, Markdown or LaTeX."""
    from attncli.render.sections import sections

    heading = " → ".join(view.result.trace.pipeline.values())
    if form == "markdown":
        from attncli.render.formats import markdown

        return markdown.render(sections(view), view.places, heading)
    if form == "latex":
        from attncli.render.formats import latex

        return latex.render(sections(view), view.places, heading)
    from attncli.render.formats import terminal

    screen = terminal.TextTarget() if to_file else streams.screen()
    return terminal.render(sections(view), screen, view.places, heading)
