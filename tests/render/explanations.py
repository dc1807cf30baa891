"""The problems of all tests as a reader sees them: each is computed and explained once for every test of what shows it.

What is shared is read alone.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attncli
from attncli.engine.run import run
from attncli.plan.trace import RunResult
from attncli.render.document import Document, Section
from attncli.render.formats import terminal
from attncli.render.sections import sections
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import View
from tests.problems import PROBLEMS, problem


def text_of(
    parts: Iterable[Section],
    target: TextTarget = TEXT_FILE,
    decimals: int = 4,
    render: Callable[[Document, TextTarget], Iterable[str]] = terminal.render,
    **document: Any,
) -> str:
    """Sections as the text of a terminal, a pipe or a file, or as another format writes them."""
    return "".join(render(Document(parts, decimals, **document), target))


@functools.cache
def result_of(name: str, dtype: str | None = None) -> RunResult:
    """The result of one of PROBLEMS, of another type of numbers where one is given."""
    return run(problem(**{**PROBLEMS[name], **({"dtype": dtype} if dtype else {})}))


@functools.cache
def explanation_of(name: str) -> tuple[Section, ...]:
    """The explanation of one of PROBLEMS."""
    return tuple(sections(View(result_of(name), explain=True)))


def every_line() -> Iterator[str]:
    """The lines of arithmetic, formulas and remarks of all explanations; of those that differ in digits alone, one."""
    seen = set[str]()
    for section in (section for name in PROBLEMS for section in explanation_of(name)):
        for line in (section.formula, section.symbol, *section.arithmetic, *section.remarks):
            form = re.sub(r"(\d[\d.]* )+", "1 ", re.sub(r"\d[\d.]*", "1", line))
            if form not in seen:
                seen.add(form)
                yield line


def explained(view: View) -> dict[str, Section]:
    """The sections of a view by the name of the input or step."""
    return {section.title.partition("  ")[0].split(". ")[-1]: section for section in sections(view)}


def explanation(keys: Mapping[str, Any], **view: Any) -> dict[str, Section]:
    """The sections of the explanation of a problem with these keys by the name of the input or step."""
    return explained(View(attncli.Problem(**keys).compute(), **{"explain": True, **view}))
