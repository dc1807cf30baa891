"""The figure of the maps of heads, a panel for each, a row for each layer, as tables or as lines between words."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from attncli.figure.lines_group import LinesGroup
from attncli.figure.table_group import TableGroup
from attncli.models.heads import Head
from attncli.models.heads_document import LARGE_MAPS, ModelHeads, logarithm_remarks, map_of
from attncli.render.document import Grid
from attncli.render.figure_style import FigureStyle

GRID_TITLE = "weights: layers down, heads across"


@dataclass(frozen=True)
class HeadsFigure:
    """The maps of heads to draw, and how: as tables, or as lines between words."""

    model: ModelHeads
    style: FigureStyle | None = None
    has_lines: bool = False
    hint = "choose some with --layer N, --head N or --top N"

    @property
    def title(self) -> str:
        """The title of the figure."""
        return self.model.title

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes below the maps."""
        return logarithm_remarks(self.model)

    def groups(self) -> Iterator[TableGroup | LinesGroup]:
        """The panels, a group for each choice of words: a row for each layer, unless heads are picked."""
        model, style = self.model, FigureStyle() if self.style is None else self.style
        maps = [(head, _with_plain_words(model, head)) for head in model.heads]
        for _, found in groupby(maps, key=lambda pair: (pair[1].rows, pair[1].columns)):
            heads, grids = zip(*found, strict=True)
            layers = [model.layer_name(head) for head in heads]
            numbers = tuple(map(model.number_of, heads))
            is_grid = len(set(layers)) > 1 and not model.view.selects
            if len(heads) <= LARGE_MAPS or model.view.selects:
                labels = list(map(model.label_of, heads))
            else:
                labels = [f"{layer}.{number}" for layer, number in zip(layers, numbers, strict=True)]
            tables = tuple(replace(grid, slice_label=label) for grid, label in zip(grids, labels, strict=True))
            title, per_row = (GRID_TITLE, max(Counter(layers).values())) if is_grid else ("weights", 1)
            if self.has_lines:
                yield LinesGroup(title, tables, numbers, per_row, keeps_rows=is_grid)
            else:
                yield TableGroup(title, "", tables, per_row, model.view.decimals, style, keeps_rows=is_grid)


def _with_plain_words(model: ModelHeads, head: Head) -> Grid:
    """The map of a head with its original words: on an axis the position distinguishes equal ones."""
    grid, own = map_of(model, head), model.sequences_of(model.maps[model.layers[head.layer]])
    return replace(grid, rows=tuple(own.query_tokens or grid.rows), columns=tuple(own.key_tokens or grid.columns))
