"""The panels of a figure: what of a view is drawn, in groups of panels that share their axes and a range of colours."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from attncli.base.axes import LEGEND
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import escape_control, shorten
from attncli.plan.trace import Trace
from attncli.problem.results import CONTEXT, OUTPUT
from attncli.render.change_marks import LEGEND as CHANGES
from attncli.render.curve import Plot
from attncli.render.data_fit import has_data_fit
from attncli.render.edits_text import edits_text
from attncli.render.grid import LABEL_SEPARATOR, Grid
from attncli.render.section import Section
from attncli.render.sections import sections
from attncli.render.view import View

LIMIT = 1e300  # beyond it a range of colours would be an infinity
MAX_LABEL = 24  # characters of a label; the rest of a longer one is left out


@dataclass(frozen=True)
class Plots:
    """Curves and points, a plot for each head and feature."""

    title: str
    plots: tuple[Plot, ...]


@dataclass(frozen=True)
class Panels:
    """Tables of one quantity, of the same rows and columns, side by side: one for each head, or before and after."""

    title: str
    subtitle: str
    tables: tuple[Grid, ...]
    per_slice: int  # 2 where each table is shown before and after

    @property
    def row_labels(self) -> Sequence[str]:
        """The labels of the rows."""
        return [_label(text) for text in self.tables[0].rows]

    @property
    def column_labels(self) -> Sequence[str]:
        """The labels of the columns."""
        return [_label(text) for text in self.tables[0].columns]

    @property
    def axis_names(self) -> tuple[str, str]:
        """What the rows and the columns are: `queries`, `keys`; empty where the table does not say it."""
        letters = self.tables[0].corner.split("\\")
        names = ["" if letter == "" else _axis_name(letter) for letter in letters]
        return (names[0], names[1]) if len(names) == 2 else ("", "")

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest number that is drawn; of weights, none of which is negative, from 0."""
        drawn = [shown_numbers(table) for table in self.tables]
        numbers = np.concatenate([array[np.isfinite(array)] for array in drawn])
        if not numbers.size:
            return 0.0, 1.0
        least, largest = (float(number) for number in np.clip([numbers.min(), numbers.max()], -LIMIT, LIMIT))
        least = 0.0 if self.tables[0].is_heatmap and least >= 0 else least
        if least < largest:
            return least, largest
        return (0.0, 1.0) if self.tables[0].is_heatmap and least == 0 else (least - 0.5, largest + 0.5)


def _axis_name(letter: str) -> str:
    """The meaning of the letters of an axis: `value features`, of `h·e` that of both."""
    return " · ".join(LEGEND.get(part, part) for part in letter.split("·"))


def _label(text: str) -> str:
    """A label on one line, not longer than MAX_LABEL."""
    return shorten(escape_control(text), MAX_LABEL)


def shown_numbers(table: Grid) -> Array:
    """The numbers of a table [rows columns] as float64, NaN where a mask hides the cell."""
    numbers = table.values.astype(np.float64)
    return numbers if table.hidden is None else np.where(table.hidden, np.nan, numbers)


def panels_of(view: View) -> Iterator[Panels | Plots]:
    """The groups of panels of a view: one for each of its sections that has tables or plots.

    An output of one feature over one axis is a curve, as with `curve`.
    """
    is_curve = not view.curve and _is_curve(view)
    content = replace(view, cells=(), statistics=False, curve=view.curve or is_curve)
    for section in sections(content):
        if section.plots:
            yield Plots(section.title, section.plots)
        elif any(grid.values.size for grid in section.grids) and not (is_curve and section.title == OUTPUT):
            yield _panels_of_section(section, _plain_labels(view.result.trace), is_explained=view.explain)


def _is_curve(view: View) -> bool:
    """Whether the output is selected, and is a curve over one axis."""
    trace = view.result.trace
    is_selected = not view.explain and OUTPUT in view.result.select and CONTEXT in trace
    return is_selected and trace[CONTEXT].value.shape[-1] == 1 and has_data_fit(trace)


def _plain_labels(trace: Trace) -> Mapping[str, str]:
    """The tokens as they are by their numbered labels: `the` by `the#1`; on an axis the place tells them apart."""
    pairs = [zip(trace.numbered_labels[letter], labels, strict=True) for letter, labels in trace.labels.items()]
    return dict(chain.from_iterable(pairs))


def _with_plain_labels(table: Grid, plain: Mapping[str, str]) -> Grid:
    """A table with the tokens as they are."""
    rows, columns = (tuple(plain.get(label, label) for label in labels) for labels in (table.rows, table.columns))
    return replace(table, rows=rows, columns=columns)


def _panels_of_section(section: Section, plain: Mapping[str, str], *, is_explained: bool) -> Panels:
    """The tables of a section, each that changed before and after; what all of their labels say is in the title."""
    tables = tuple(_with_plain_labels(part, plain) for grid in section.grids for part in grid.before_and_after)
    has_both = any(grid.before is not None for grid in section.grids)
    labels = [table.slice_label.split(LABEL_SEPARATOR) for table in tables]
    common = [part for part in labels[0] if part and all(part in parts for parts in labels)]
    own = [LABEL_SEPARATOR.join(part for part in parts if part not in common) for parts in labels]
    tables = tuple(replace(table, slice_label=label) for table, label in zip(tables, own, strict=True))
    title = LABEL_SEPARATOR.join([section.title, *common])
    return Panels(title, section.formula if is_explained else "", tables, 2 if has_both else 1)


def notes_of(view: View, groups: Iterable[Panels | Plots]) -> Sequence[str]:
    """The lines below the panels: what was set, and what the marks of changes mean."""
    tables = [table for group in groups if isinstance(group, Panels) for table in group.tables]
    has_marks = any(table.changes is not None and (table.changes != "").any() for table in tables)
    edits = [edits_text(view.edited_cells, view.decimals)] if view.edited_cells else []
    return [*edits, *([CHANGES] if has_marks else [])]
