"""The gallery: every demo and sample as a page, and an index of them with a small picture of each.

It is written when it is asked for and is not kept: a page is half a megabyte, and follows from the program.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path

from attncli import cli
from attncli.base.lazy_numpy import Array, np
from attncli.engine.run import run
from attncli.io import examples
from attncli.page.document import style
from attncli.problem.fields import OUTPUT, WEIGHTS
from attncli.render.color_map import color_scale

from .console_blocks import ROOT

FOLDER = ROOT / "docs" / "gallery"
INDEX = "index.html"
PAGE = "gallery.md"  # the index on the site
SAMPLES = {"samples": "Samples", "samples/published": "Published examples", "samples/worked": "Worked examples"}
# Pages of other commands, by their names: what they show, and the words of the command.
REPORTS = {
    "check": ("An answer that is wrong, and why", ("check", "samples/answer.yaml")),
    "compare": (
        "Three words at five temperatures",
        ("compare", "samples/three_words.yaml", "--vary", "normalize.temperature=0.25,0.5,1,2,4"),
    ),
}
MOST_CELLS = 24  # rows and columns of a picture
HEAD = """# Gallery

Every demo and sample as a page, each in one file that needs no network: its numbers lead to their arithmetic, and can
be changed. The command below a title writes the same page.
"""
_LINK_STYLE = "margin: 0; padding: 0.625rem clamp(0.875rem, 2vw, 2rem) 0"  # beside the margins of a page
_STYLE = """
main { max-width: 80rem; margin: 0 auto; padding: 1.5rem clamp(0.875rem, 2vw, 2rem) 3rem; display: grid; gap: 1.5rem; }
main ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 1rem; }
main ul { grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr)); }
main section { display: grid; gap: 0.75rem; }
main li { display: grid; grid-template-columns: 6rem minmax(0, 1fr); gap: 0.625rem 0.875rem; align-content: start; }
main li { padding: 0.875rem; background: var(--panel); border: 1px solid var(--line); border-radius: var(--radius); }
main svg { width: 6rem; height: 6rem; }
main a { color: var(--accent); font-weight: 600; }
main code { grid-column: 1 / -1; color: var(--muted); font-size: 0.8125rem; overflow-wrap: anywhere; }
"""


@dataclass(frozen=True)
class Entry:
    """A page of the gallery: its name, its group, the words of the command that writes it, and what it is of.

    `problem` is the demo or the file of which the picture is; `shown` is a line in place of its title.
    """

    name: str
    group: str
    words: Sequence[str]
    problem: str
    shown: str = ""

    @cached_property
    def example(self) -> examples.Example:
        """The problem with its title and its parts."""
        return examples.load(self.problem)

    @property
    def title(self) -> str:
        """The line by which it is named."""
        return self.shown or (Path(self.problem).name if self.example.title == self.problem else self.example.title)

    @property
    def command(self) -> str:
        """The command that writes the page, as one types it."""
        return " ".join(("attn", *self.words, "-o", f"{self.name}.html"))

    def picture(self) -> str:
        """A small drawing of the weights of the first part, or of its output where it has no weights."""
        trace = run(self.example.parts[0].problem).trace
        name = WEIGHTS if WEIGHTS in trace.plan.results else OUTPUT
        value = np.atleast_2d(trace[name].value)
        return _drawing(value.reshape(-1, *value.shape[-2:])[0], are_weights=name == WEIGHTS)


def entries() -> Iterator[Entry]:
    """Every demo by topic, every sample that is not one of them, and pages of other commands."""
    names = examples.names()
    for topic, demos in examples.by_topic().items():
        for name in demos:
            yield Entry(name, topic, ("demo", name), name)
    for folder, group in SAMPLES.items():
        for file in sorted((ROOT / folder).glob("*.yaml")):
            if folder != "samples" or file.stem not in names:
                path = f"{folder}/{file.name}"
                yield Entry(f"{Path(folder).name}_{file.stem}", group, ("compute", path), path)
    for name, (shown, words) in REPORTS.items():
        yield Entry(name, "Reports", words, words[1], shown)


def write(folder: Path = FOLDER, names: Collection[str] | None = None) -> None:
    """Write the pages, of these names or all, and the index."""
    chosen = write_pages(folder, names)
    (folder / INDEX).write_text(index(chosen), encoding="utf-8")


def write_pages(folder: Path, names: Collection[str] | None = None, back: str = INDEX) -> Sequence[Entry]:
    """Write the pages, of these names or all, each with a link back to the index; returns what they are."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [entry for entry in entries() if names is None or entry.name in names]
    folder = folder.resolve()
    with chdir(ROOT):
        for entry in chosen:
            status = cli.run([*entry.words, "-o", str(folder / f"{entry.name}.html")])
            if status and entry.words[0] != "check":  # which says by its status that numbers differ
                raise SystemExit(f"{entry.command} ended with status {status}")
            page = folder / f"{entry.name}.html"
            page.write_text(_with_link(page.read_text(encoding="utf-8"), back), encoding="utf-8")
    return chosen


def _with_link(page: str, target: str) -> str:
    """A page with a link to the index above its heading."""
    return page.replace(
        "<header>",
        f'<p style="{_LINK_STYLE}"><a style="color: var(--accent)" href="{target}">← Gallery</a></p>\n<header>',
        1,
    )


def markdown() -> str:
    """The index as a page of the site."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries():
        groups.setdefault(entry.group, []).append(entry)
    parts = [HEAD]
    for group, found in groups.items():
        items = "\n".join(f"- {e.picture()} [{e.title}]({FOLDER.name}/{e.name}.html) `{e.command}`" for e in found)
        parts.append(f'## {group}\n\n<div class="gallery" markdown>\n\n{items}\n\n</div>\n')
    return "\n".join(parts)


def index(found: Sequence[Entry]) -> str:
    """The index as a document that opens without a network."""
    groups = dict.fromkeys(entry.group for entry in found)
    sections = "".join(_section(group, [entry for entry in found if entry.group == group]) for group in groups)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<title>attn: gallery</title>\n'
        f"<style>\n{style(())}{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Gallery</h1>\n"
        f"<p>Every demo and sample as a page, each in one file.</p>\n{sections}</main>\n</body>\n</html>\n"
    )


def _section(group: str, found: Sequence[Entry]) -> str:
    """The pages of a group."""
    items = "".join(
        f'<li>{entry.picture()}<a href="{entry.name}.html">{escape(entry.title)}</a>'
        f"<code>{escape(entry.command)}</code></li>\n"
        for entry in found
    )
    return f"<section>\n<h2>{escape(group)}</h2>\n<ul>\n{items}</ul>\n</section>\n"


def _drawing(table: Array, *, are_weights: bool) -> str:
    """A table as squares of colour, of a large one its first rows and columns."""
    cells = np.nan_to_num(table[:MOST_CELLS, :MOST_CELLS].astype(np.float64), posinf=0, neginf=0)
    scale = color_scale(float(cells.min()), float(cells.max()), are_weights=are_weights)
    span = (scale.largest - scale.least) or 1.0
    squares = "".join(
        f'<rect x="{column}" y="{row}" width="1" height="1" fill="rgb{scale.color((number - scale.least) / span)}"/>'
        for row, numbers in enumerate(cells.tolist())
        for column, number in enumerate(numbers)
    )
    rows, columns = cells.shape
    return f'<svg viewBox="0 0 {columns} {rows}" aria-hidden="true" shape-rendering="crispEdges">{squares}</svg>'
