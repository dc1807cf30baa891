"""The cells of a spreadsheet that hold the numbers of each step."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from attncli.base.lazy_numpy import Array, np
from attncli.plan.trace import Step, Trace
from attncli.render.explanation import explained_steps

MAX_TITLE = 31  # characters of the name of a sheet
FIRST_ROW = 5  # first row of tables: the title, the purpose and the formula are above
_FORBIDDEN = str.maketrans(dict.fromkeys("[]:*?/\\'", "_"))

Index = tuple[int, ...]


class Cell(NamedTuple):
    """The location of a number."""

    title: str
    row: int
    column: int

    def __str__(self) -> str:
        from openpyxl.utils import get_column_letter  # noqa: PLC0415 - an extra

        return f"'{self.title}'!{get_column_letter(self.column)}{self.row}"


class Book:
    """The cells that hold the numbers of steps."""

    def __init__(self, trace: Trace, names: frozenset[str]) -> None:
        self.trace = trace
        self.cells: list[Cell] = []
        self.ids: dict[str, Array] = {}  # of cells, in the shape of each step's value
        self.sources: dict[str, Array] = {}  # the cells of the numbers that a step moves, in the shape of its value
        self.titles: dict[str, str] = {}
        self.constants: set[str] = set()  # the steps that depend on lengths alone, such as positions
        shown = {step.name: entry.title for entry in explained_steps(trace, names) for step in entry.steps[:1]}
        copies = {step.name for entry in explained_steps(trace, names) if entry.are_copies for step in entry.steps}
        for step in trace.steps:
            if self._is_constant(step):
                self.constants.add(step.name)
            source = self._moved(step)
            if source is not None:
                self.sources[step.name] = source
            if step.name in shown and step.name not in copies:
                self._place(step)
            elif source is not None:
                self.ids[step.name] = source

    def _is_constant(self, step: Step) -> bool:
        """Whether no cell can change an input of a step."""
        sources = {step.tapped_from} if step.tapped_from is not None else {*step.inputs.values()}
        return not step.node.is_input and sources <= self.constants

    def _place(self, step: Step) -> None:
        """Give a step its own sheet."""
        title = step.name.translate(_FORBIDDEN)[:MAX_TITLE]
        while title in self.titles.values():
            title = f"{title[: MAX_TITLE - 2]}_2"
        self.titles[step.name] = title
        value = np.atleast_1d(step.value)
        table = value.reshape(-1, *value.shape[-2:]) if value.ndim > 1 else value[None, None]
        first = len(self.cells)
        for at, rows in enumerate(table):
            top = FIRST_ROW + at * (len(rows) + 3) + 2
            self.cells += [Cell(title, top + row, 2 + column) for row, column in np.ndindex(rows.shape)]
        self.ids[step.name] = first + np.arange(value.size).reshape(step.value.shape)

    def _moved(self, step: Step) -> Array | None:
        """The cells of a step that only moves another step's numbers."""
        sources = [*step.inputs.values()]
        if not step.node.is_exact or step.function is None or not sources or not {*sources} <= self.ids.keys():
            return None
        moved: Array = step.function(**step.node.arguments(self.ids), **step.options)
        return moved

    def of(self, name: str, index: Sequence[Any]) -> Array:
        """The cells of a step at an index; axes of length 1 broadcast."""
        ids = self.ids[name]
        own = [*index][len(index) - ids.ndim :]
        fitted = (0 if size == 1 and isinstance(at, int) else at for at, size in zip(own, ids.shape, strict=True))
        return np.asarray(ids[tuple(fitted)])

    def ref(self, name: str, index: Sequence[int]) -> str:
        """The cell of one number."""
        return str(self.cells[int(self.of(name, index))])

    def range(self, ids: Array) -> str:
        """The range of adjacent cells in a row; otherwise an empty text."""
        cells = [self.cells[at] for at in ids.tolist()]
        first = cells[0]
        if cells != [first._replace(column=first.column + at) for at in range(len(cells))]:
            return ""
        return f"{first}:{str(cells[-1]).rpartition('!')[2]}"

    def arguments(self, ids: Array) -> str:
        """Numbers as the arguments of a function: a range if they are adjacent."""
        return self.range(ids) or ",".join(str(self.cells[at]) for at in ids.tolist())

    def products(self, left: Array, right: Array) -> str:
        """The sum of the products of numbers."""
        ranges = self.range(left), self.range(right)
        if all(ranges):
            return f"SUMPRODUCT({','.join(ranges)})"
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return "+".join(f"{self.cells[one]}*{self.cells[other]}" for one, other in pairs)
