"""A problem before and after edits, and what each of them replaced."""

from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.problem.spec import ProblemSpec


@dataclass(frozen=True)
class EditedCell:
    """What an edit replaced: the cell as it was named, its number before, or a list of several, and that after."""

    cell: str
    before: Any
    after: float | bool


@dataclass(frozen=True)
class EditedProblem:
    """A problem, the same one after some edits, and what each of them replaced; without edits it is that twice.

    `title` is that of its file, where it has one.
    """

    before: ProblemSpec
    after: ProblemSpec
    cells: tuple[EditedCell, ...] = ()
    title: str = ""
