"""Pictures of shapes in characters: each array is a box with the letters of its rows and columns."""

from collections.abc import Sequence

from rich.cells import cell_len

from attncli.base.axes import Letters
from attncli.base.dataclasses import dataclass
from attncli.render.target import TextTarget

GAP = "  "
ARROW = " → "
LINES = "┌─┐│└┘"


@dataclass(frozen=True)
class ShapePicture:
    """The arrays that something is made of, and what it is, each a symbol and the letters of its axes."""

    inputs: Sequence[tuple[str, Letters]]
    result: tuple[str, Letters]


def draw(picture: ShapePicture, target: TextTarget) -> list[str]:
    r"""The lines of a picture, as wide as they are: `X [n x]  W_Q [x d] → Q [n d]` as boxes.

    >>> picture = ShapePicture([("X", ("n", "x")), ("W_Q", ("x", "d"))], ("Q", ("n", "d")))
    >>> print("\n".join(draw(picture, TextTarget(encoding="ascii"))))
        x         d           d
      +---+    +-----+      +---+
    n | X |  x | W_Q | -> n | Q |
      +---+    +-----+      +---+
    """
    boxes = [_box(*array, target) for array in picture.inputs]
    columns = [column for box in boxes for column in (box, _joint(GAP))][:-1]
    if columns:
        columns.append(_joint(target.encodable(ARROW)))
    columns.append(_box(*picture.result, target))
    return ["".join(parts).rstrip() for parts in zip(*columns, strict=True)]


def _box(symbol: str, letters: Letters, target: TextTarget) -> list[str]:
    """The four lines of one box: the letter of its columns, the edge, its name after the letters of its rows, the edge.

    The letters before the last two, such as those of batch items and heads, stand before that of the rows.
    """
    symbol = target.encodable(symbol)
    rows, columns = " ".join(letters[:-1]), "".join(letters[-1:])
    left_top, line, right_top, side, left_bottom, right_bottom = map(target.encodable, LINES)
    edge, margin = line * (cell_len(symbol) + 2), " " * (len(rows) + 1)
    return [
        f"{margin}{columns:^{len(edge) + 2}}",
        f"{margin}{left_top}{edge}{right_top}",
        f"{rows} {side} {symbol} {side}",
        f"{margin}{left_bottom}{edge}{right_bottom}",
    ]


def _joint(text: str) -> list[str]:
    """The four lines between two boxes."""
    return [text if number == 2 else " " * len(text) for number in range(4)]
