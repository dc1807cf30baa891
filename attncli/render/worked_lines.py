"""The worked lines of a step in several cells: each once, under the names of the cells where these differ."""

from collections.abc import Hashable, Iterator, Sequence

from attncli.base.lazy_numpy import np
from attncli.plan.trace import AxisPositions, Step, Trace
from attncli.render import by_hand
from attncli.render.grid import position_label
from attncli.render.hidden_cells import VISIBLE_STEP
from attncli.render.view import View

EVERY_KEY_IS_HIDDEN = "every key is hidden: all weights are 0"
A_SCORE_IS_NAN = "a score of the row is NaN: the weights of all visible keys are NaN"
_KEY_LETTERS = {"k": "m", "p": "m", "m+1": "m"}  # new keys, cached keys, and keys before a sink are keys


def worked_lines(view: View, step: Step, worked: Sequence[AxisPositions]) -> tuple[str, ...]:
    """The arithmetic of a step in the worked cells; of all masks together that of each.

    What cells have in common stands once, as the projection of a query and the sum of its exponentials do. Where there
    are several cells, and the lines do not name them, each has a line with what tells it from the others:
    `head 0, key word_3:`.
    """
    trace = view.result.trace
    sources = [trace[name] for name in step.inputs.values()] if step.name == VISIBLE_STEP else []
    letters = _letters([*sources, step])
    cells: dict[tuple[int, ...], AxisPositions] = {}
    for at in worked:
        cells.setdefault(tuple(at[letter] for letter in letters if letter in at), at)
    blocks: dict[tuple[str, ...], list[AxisPositions]] = {}
    for at in cells.values():
        lines = tuple(line for source in (*sources, step) for line in _lines(view, source, at))
        if lines:
            blocks.setdefault(lines, []).append(at)
    every_cell = [at for cells_of_block in blocks.values() for at in cells_of_block]
    varying = [letter for letter in letters if len({at.get(letter) for at in every_cell}) > 1]
    rows = [
        tuple(cells_of_block[0].get(letter) for letter in letters if letter != "m")
        for cells_of_block in blocks.values()
    ]
    shown = list[str]()
    for own_lines, cells_of_block in zip(once_a_row(list(blocks), rows), blocks.values(), strict=True):
        if len(blocks) > 1 and not all(_is_named(trace, own_lines[0], at, varying) for at in cells_of_block):
            shown.append(f"{'; '.join(_cell_label(trace, at, varying) for at in cells_of_block)}:")
        shown += own_lines
    return tuple(shown)


def once_a_row(blocks: Sequence[Sequence[str]], rows: Sequence[Hashable]) -> Iterator[Sequence[str]]:
    """The lines of each block; those that all blocks of a row have are in the first of them alone."""
    common: dict[Hashable, set[str]] = {}
    for row, lines in zip(rows, blocks, strict=True):
        common[row] = common[row].intersection(lines) if row in common else set(lines)
    begun = set[Hashable]()
    for row, lines in zip(rows, blocks, strict=True):
        own_lines = [line for line in lines if line not in common[row]] if row in begun else lines
        begun.add(row)
        yield own_lines or lines


def _lines(view: View, step: Step, at: AxisPositions) -> Sequence[str]:
    """The arithmetic of a step in one cell; that of a normalizer has no numbers where there are none to show."""
    if step.stage == "normalize" and step.function is not None:
        scores = view.result.trace["masked_scores"]
        row = scores.value[tuple(at[letter] for letter in scores.axes[:-1])]
        if np.isneginf(row).all():
            return [EVERY_KEY_IS_HIDDEN]
        if np.isnan(row).any() and view.result.trace.problem.normalize.record.is_distribution:
            return [A_SCORE_IS_NAN]
    return by_hand.lines(view, step, at)


def _letters(steps: Sequence[Step]) -> list[str]:
    """The letters of the axes that cells of these steps differ in."""
    letters = [
        _KEY_LETTERS.get(letter, letter)
        for step in steps
        for letter, size in zip(step.axes, step.value.shape, strict=True)
        if size > 1
    ]
    return [letter for letter in ("b", "h", "g", "n", "m") if letter in letters]


def _is_named(trace: Trace, line: str, at: AxisPositions, letters: Sequence[str]) -> bool:
    """Whether a line names the position of a cell on each of these axes: `Q(word_1)·K(word_3) = …`."""
    return all(
        letter in trace.labels and f"({trace.numbered_labels[letter][at[letter]]})" in line for letter in letters
    )


def _cell_label(trace: Trace, at: AxisPositions, letters: Sequence[str]) -> str:
    """`head 0, query word_1`."""
    return ", ".join(position_label(trace, letter, at[letter]) for letter in letters if letter in at)
