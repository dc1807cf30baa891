"""Bugs of public projects in attention, as data in `bugs.yaml`: the mistake, its source, and its slip."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from attncli.io import yaml
from attncli.problem.numbers import to_number

FILE = "bugs.yaml"
DRAWN = ("query", "key", "value")  # for a problem without these and without embeddings
SEED = 1


@dataclass(frozen=True)
class Bug:
    """One bug: its source `owner/project#number`, the mistake, and its slip.

    `problem` has the keys of small inputs that show it, `parameters` the number that the check finds on them.
    """

    source: str
    sentence: str
    slip: str
    problem: Mapping[str, Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The page of the issue, or of the pull request, which has the same address on GitHub."""
        project, _, number = self.source.partition("#")
        return f"https://github.com/{project}/issues/{number}"


@cache
def bugs() -> Mapping[str, Bug]:
    """All bugs by their sources, in the order of the file.

    >>> bug = bugs()["ollama/ollama#13893"]
    >>> bug.slip, bug.url
    ('scale_factor', 'https://github.com/ollama/ollama/issues/13893')
    """
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    rows: Mapping[str, Mapping[str, Any]] = yaml.read(text, FILE)[0]
    return {source: _bug(source, **row) for source, row in rows.items()}


def _bug(source: str, *, problem: Mapping[str, Any], parameters: Mapping[str, Any] | None = None, **row: str) -> Bug:
    """The bug of a row, with its drawn arrays and evaluated expressions."""
    numbers = {name: _number(value, name) for name, value in (parameters or {}).items()}
    return Bug(source, problem=_with_drawn_arrays(problem), parameters=numbers, **row)


def _number(value: Any, name: str) -> float | tuple[float, ...]:
    """A number, or a map of several."""
    path = (FILE, name)
    return tuple(to_number(one, path) for one in value) if isinstance(value, list) else to_number(value, path)


def _with_drawn_arrays(problem: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keys, with normal random numbers for missing arrays."""
    drawn = {} if "embeddings" in problem else dict.fromkeys(DRAWN, "normal")
    sizes = {"d_v": problem["d_k"]} if "d_k" in problem else {}
    return {**drawn, **sizes, "seed": SEED, **problem}


def summaries_of_bugs() -> Iterator[tuple[str, str]]:
    """The source and summary of each bug, with its slip."""
    yield from ((bug.source, f"{bug.sentence} ({bug.slip})") for bug in bugs().values())
