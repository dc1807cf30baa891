"""A figure as TikZ: drawing commands and text for LaTeX, which sets the text in its own fonts; no TeX is run."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import IO, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.figure import Drawn, make_figure
from attncli.figure.drawing import drawing
from attncli.render.formats.latex_math import CHARACTER_COMMAND, CHARACTER_DEFINITION, latex_text

POINTS_PER_INCH = 72
MAX_COMMANDS = 60_000  # commands of one file: TeX takes a minute for so many
MAX_SHADES = 32  # shades of a colour bar
HEAD = r"% needs \usepackage{tikz} \usetikzlibrary{patterns}; \input of this file is the figure"
PATTERNS = {
    "/": "north east lines",
    "\\": "north west lines",
    "x": "crosshatch",
    ".": "crosshatch dots",
    "+": "grid",
    "-": "horizontal lines",
    "|": "vertical lines",
}
HORIZONTAL = {"left": "west", "right": "east", "center": ""}
# A text is aligned at the middle of its small letters, so that words side by side are on one line.
VERTICAL = {"top": "north", "bottom": "south", "center": "mid", "center_baseline": "mid", "baseline": "base"}
# For text turned by a right angle: its right end is on top.
TURNED_HORIZONTAL = {"left": "north", "right": "south", "center": "mid"}
TURNED_VERTICAL = {"top": "east", "bottom": "west"}


def write_tikz(view: Drawn, stream: IO[bytes]) -> None:
    """Write the figure of a view as a `tikzpicture`, whose unit is a point of PostScript.

    Raises AttnError if it has more cells than TeX can draw.
    """
    figure = make_figure(view, has_images=False)
    style = view.style
    figure.patch.set_visible(style is not None and style.is_dark and not style.is_transparent)
    with drawing():
        figure.set_dpi(POINTS_PER_INCH)
        renderer = _renderer()
        figure.draw(renderer)
    width, height = (number * POINTS_PER_INCH for number in figure.get_size_inches())
    stream.write(renderer.text(width, height).encode("ascii"))


class _TikzCommands:
    """The interface of a Matplotlib renderer, which collects TikZ commands: one pixel is one point."""

    def __init__(self) -> None:
        super().__init__()
        self.commands = list[str]()
        self.colors = set[str]()
        self.sizes = set[str]()

    def text(self, width: float, height: float) -> str:
        """The file: its packages, the colours, and the picture of a width and a height."""
        body = "\n".join(self.commands)
        definition = [CHARACTER_DEFINITION] if CHARACTER_COMMAND in body else []
        colors = [rf"\definecolor{{attn{color}}}{{HTML}}{{{color.upper()}}}" for color in sorted(self.colors)]
        sizes = [
            rf"  size {size}/.style={{font=\sffamily\fontsize{{{size}}}{{{size}}}\selectfont}},"
            for size in sorted(self.sizes)
        ]
        begin = [
            r"\begin{tikzpicture}[x=1bp, y=1bp, every node/.style={inner sep=0pt, outer sep=0pt},",
            *sizes,
            "]",
        ]
        box = rf"\useasboundingbox (0,0) rectangle {_point(width, height)};"
        return "\n".join([HEAD, *definition, *colors, *begin, box, body, r"\end{tikzpicture}", ""])

    def draw_path(self, gc: Any, path: Any, transform: Any, rgbFace: Any = None) -> None:  # noqa: N803
        """Fill, hatch and stroke a path."""
        outline = " ".join(_outline(path, transform))
        if not outline:
            return
        alpha = gc.get_alpha() if gc.get_forced_alpha() else None
        if rgbFace is not None:
            opacity = alpha if alpha is not None else (rgbFace[3] if len(rgbFace) > 3 else 1.0)
            self._add("fill", [self._color(rgbFace), *_opacity("fill", opacity)] if opacity else [], outline)
        if (hatch := gc.get_hatch()) is not None:
            line = self._color(gc.get_hatch_color())
            self._add("fill", [f"pattern={PATTERNS[hatch[0]]}", f"pattern color={line}"], outline)
        red, green, blue, opacity = gc.get_rgb()
        if gc.get_linewidth() and opacity:
            look = [self._color((red, green, blue)), f"line width={_number(gc.get_linewidth())}bp"]
            look += _opacity("draw", opacity if alpha is None else alpha)
            _, dashes = gc.get_dashes()
            if dashes is not None:
                on, off = dashes[0], dashes[1]
                look.append(f"dash pattern=on {_number(on)}bp off {_number(off)}bp")
            self._add("draw", look, outline)

    def draw_quad_mesh(self, gc: Any, master_transform: Any, *mesh: Any, **more: Any) -> None:
        """Fill the cells of a table; adjacent cells of one colour become one rectangle."""
        width, height, coordinates, _, _, faces = mesh[:6]
        colors = np.asarray(faces).reshape(height, width, 4)
        corners = master_transform.transform(np.asarray(coordinates).reshape(-1, 2)).reshape(*np.shape(coordinates))
        step = -(-height // MAX_SHADES) if width == 1 else 1  # a colour bar
        for row in range(0, height, step):
            for start, end in _runs(colors[row]):
                rgba = colors[row, start]
                if rgba[3]:
                    (left, top), (right, bottom) = corners[row, start], corners[min(row + step, height), end]
                    box = f"{_point(left, top)} rectangle {_point(right, bottom)}"
                    self._add("fill", [self._color(rgba), *_opacity("fill", float(rgba[3]))], box)

    def draw_text(self, gc: Any, x: float, y: float, s: str, prop: Any, angle: float, *more: Any, **named: Any) -> None:
        """Write a line of text at a point, with an alignment."""
        mtext = named.get("mtext")
        size = _number(prop.get_size_in_points())
        self.sizes.add(size)
        anchor, at = "base west", (x, y)
        if mtext is not None:
            at = mtext.get_transform().transform(mtext.get_unitless_position())
            anchor = _anchor(mtext.get_horizontalalignment(), mtext.get_verticalalignment(), is_turned=angle == 90)
        weight = r"\bfseries " if prop.get_weight() == "bold" else ""
        look = [f"size {size}", self._color(gc.get_rgb()), f"anchor={anchor}"]
        look += [f"rotate={_number(angle)}"] if angle else []
        self._add("node", look, f"at {_point(*at)} {{{weight}{latex_text(s)}}}")

    def _color(self, rgb: Sequence[float]) -> str:
        """The name of a colour, defined at the head of the file."""
        color = "".join(f"{round(part * 255):02x}" for part in rgb[:3])
        self.colors.add(color)
        return f"attn{color}"

    def _add(self, command: str, options: Sequence[str], rest: str) -> None:
        """Add a command; raises AttnError if there are too many."""
        if not options:
            return
        if len(self.commands) >= MAX_COMMANDS:
            message = f"the figure has more than {MAX_COMMANDS:,} cells and lines, which TeX can't draw"
            raise AttnError(message, hint="write a .pdf, or show less: --head N, --select NAME")
        self.commands.append(rf"\{command}[{', '.join(options)}] {rest};")


def _renderer() -> Any:
    """A Matplotlib renderer that collects the drawing as TikZ commands."""
    from matplotlib.backend_bases import RendererBase  # noqa: PLC0415 - an extra

    return type("TikzRenderer", (_TikzCommands, RendererBase), {})()


def _outline(path: Any, transform: Any) -> Iterator[str]:
    """A path in TikZ: rectangles as such, other pieces point by point."""
    for part in _parts(path, transform):
        points = [points for _, points in part]
        flat = np.array([numbers[-2:] for numbers in points if len(numbers)])
        if len(part) == 5 and _is_rectangle(flat[:4]):
            yield f"{_point(*flat[0])} rectangle {_point(*flat[2])}"
            continue
        for code, numbers in part:
            if code == "M":
                yield _point(*numbers)
            elif code == "Z":
                yield "-- cycle"
            elif len(numbers) == 2:
                yield f"-- {_point(*numbers)}"
            else:  # a curve of one control point or of two
                controls = " and ".join(_point(*pair) for pair in np.reshape(numbers[:-2], (-1, 2)))
                yield f".. controls {controls} .. {_point(*numbers[-2:])}"


def _parts(path: Any, transform: Any) -> Iterator[list[tuple[str, Array]]]:
    """The connected pieces of a path, as letters and numbers."""
    from matplotlib.path import Path  # noqa: PLC0415 - an extra

    letters = {Path.MOVETO: "M", Path.CLOSEPOLY: "Z"}
    part = list[tuple[str, Array]]()
    for points, code in path.iter_segments(transform, simplify=False, curves=True):
        if code == Path.MOVETO and part:
            yield part
            part = []
        letter = letters.get(code, "L")
        part.append((letter, np.asarray(points) if letter != "Z" else np.asarray(())))
    if len(part) > 1:
        yield part


def _is_rectangle(corners: Array) -> bool:
    """Whether four points are the corners of a rectangle with level edges, in their order."""
    if corners.shape != (4, 2):
        return False
    steps = np.abs(np.diff(corners, axis=0)) < 1e-6
    return bool((steps.sum(axis=1) >= 1).all() and steps[0, 0] == steps[2, 0] and steps[0, 0] != steps[1, 0])


def _runs(colors: Array) -> Iterator[tuple[int, int]]:
    """The first cell and the end of each run of equal colours in a row [columns 4].

    >>> list(_runs(np.array([[0, 0, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]])))
    [(0, 2), (2, 3)]
    """
    edges = np.nonzero((colors[1:] != colors[:-1]).any(axis=1))[0] + 1
    bounds = [0, *map(int, edges), len(colors)]
    yield from pairwise(bounds)


def _anchor(horizontal: str, vertical: str, *, is_turned: bool) -> str:
    """The anchor of a node for an alignment.

    >>> _anchor("right", "center", is_turned=False), _anchor("left", "baseline", is_turned=False)
    ('mid east', 'base west')
    >>> _anchor("center", "top", is_turned=True)
    'mid east'
    """
    first, second = VERTICAL[vertical], HORIZONTAL[horizontal]
    if is_turned:
        first, second = TURNED_HORIZONTAL[horizontal], TURNED_VERTICAL.get(vertical, "")
    return " ".join(part for part in (first, second) if part)


def _opacity(of: str, opacity: float) -> list[str]:
    """The option of an opacity below 1."""
    return [f"{of} opacity={_number(opacity)}"] if opacity < 1 else []


def _point(x: float, y: float) -> str:
    """A point: `(1,2.5)`."""
    return f"({_number(x)},{_number(y)})"


def _number(number: float) -> str:
    """A number with two decimals at most.

    >>> _number(2.0), _number(0.125), _number(-0.001)
    ('2', '0.12', '0')
    """
    text = f"{number:.2f}".rstrip("0").rstrip(".")
    return re.sub(r"^-0$", "0", text)
