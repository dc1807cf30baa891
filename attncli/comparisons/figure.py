"""The figure of a comparison: the tables of its variants side by side, and their differences below."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from attncli.comparisons.comparison import Comparison, equal_variants
from attncli.comparisons.tables import table_title, variant_labels
from attncli.figure.table_group import TableGroup
from attncli.render.document import LABEL_SEPARATOR, Grid
from attncli.render.figure_style import FigureStyle
from attncli.render.tables import selected_plain_grids, selected_tables
from attncli.render.view import ComparisonView, View

MINUS = "−"


@dataclass(frozen=True)
class ComparisonFigure:
    """A comparison to draw, and how."""

    comparison: Comparison
    view: ComparisonView

    @property
    def title(self) -> str:
        """The title of the figure."""
        return self.view.title

    @property
    def style(self) -> FigureStyle | None:
        """Its style; None for the usual one."""
        return self.view.style

    notes = ()
    hint = "choose some with --head N, --batch N or --select NAME"

    def groups(self) -> Iterator[TableGroup]:
        """A group of panels for each slice of each result, and one for the differences from the first variant.

        Variants of other shapes have their own groups; tables shared by all are drawn once.
        """
        comparison, labels = self.comparison, variant_labels(self.comparison)
        for name in comparison.select:
            tables = {
                position: list(_tables(comparison, position, name))
                for position, one in enumerate(comparison.variants)
                if name in one.result.select
            }
            count = len(comparison.variants)
            is_same = any(len(group) == count for group in equal_variants(comparison, name))
            if is_same:
                tables = {0: tables[0]}
            for at in range(max(map(len, tables.values()), default=0)):
                slices = {position: own[at] for position, own in tables.items() if at < len(own)}
                titled = f"{name}, the same in {'both' if count == 2 else f'all {count}'}" if is_same else name
                yield from _groups_of_slice(self, titled, labels, slices)


def _tables(comparison: Comparison, position: int, name: str) -> Iterator[Grid]:
    """The tables of a variant's result, repeated tokens without numbers: on an axis the position distinguishes them."""
    view = View(comparison.variants[position].result, positions=comparison.positions)
    tables = list(selected_tables(view, name))
    has_signs = any(table.signs is not None for table in tables)
    yield from tables if has_signs else selected_plain_grids(view, view.result.trace[name])


def _groups_of_slice(
    figure: ComparisonFigure, name: str, labels: Sequence[str], slices: dict[int, Grid]
) -> Iterator[TableGroup]:
    """The group of a slice of several variants' result, by position, and of the differences from the first."""
    shapes = dict.fromkeys(table.values.shape for table in slices.values())
    for shape in shapes:
        own = {position: table for position, table in slices.items() if table.values.shape == shape}
        first, *others = own
        title = LABEL_SEPARATOR.join(filter(None, [name, own[first].slice_label]))
        is_one = len(slices) == 1  # shared by all variants, or computed by only one
        names = {at: "" if is_one else table_title(figure.comparison, labels, at) for at in own}
        yield _group(figure, title, [replace(own[at], slice_label=names[at]) for at in own])
        if others and own[first].signs is None:
            changes = [replace(own[at], before=own[first], slice_label="").change for at in others]
            named = [
                replace(change, slice_label=f"{labels[at]} {MINUS} {labels[first]}")
                for at, change in zip(others, changes, strict=True)
            ]
            yield _group(figure, f"{title}{LABEL_SEPARATOR}difference", named)


def _group(figure: ComparisonFigure, title: str, tables: Sequence[Grid]) -> TableGroup:
    """Panels under a title; those in a row share their colours."""
    return TableGroup(
        title=title,
        subtitle="",
        tables=tuple(tables),
        per_slice=len(tables),
        decimals=figure.view.decimals,
        style=FigureStyle() if figure.style is None else figure.style,
    )
