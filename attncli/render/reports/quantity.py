"""One quantity of a check as text: whether it agrees, how far it differs, its worst cell, and where the errors are."""

from collections.abc import Iterator, Sequence

from attncli.analysis.check.patterns import AxisPart, Band, ErrorPattern, find_pattern, tables
from attncli.analysis.check.report import CheckReport, QuantityCheck
from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0, LEGEND
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import join_words
from attncli.render.formats.text_page import TextPage
from attncli.render.grid import position_label
from attncli.render.reports.cell_arithmetic import cell_arithmetic
from attncli.trace.steps import Step, Trace

ALL, SOME, NONE, NOT_EXPECTED = "#+. "  # signs that every encoding has
MAX_ROWS = 16
MAX_LABEL_WIDTH = 14


@dataclass(frozen=True)
class ErrorPicture:
    """Lines of signs, and how many rows and columns of the table a sign is for."""

    lines: tuple[str, ...]
    rows_per_sign: int
    columns_per_sign: int

    @property
    def is_whole(self) -> bool:
        """Whether every number of a table has a sign of its own."""
        return (self.rows_per_sign, self.columns_per_sign) == (1, 1)

    @property
    def scale(self) -> str:
        """For how many numbers a sign stands."""
        return "one sign a number" if self.is_whole else f"one sign for {self.rows_per_sign} × {self.columns_per_sign}"

    @property
    def legend(self) -> str:
        """What the signs in the picture mean."""
        meanings = {ALL: "# differs", SOME: "+ some differ", NONE: ". agrees", NOT_EXPECTED: "blank: not expected"}
        if not self.is_whole:
            meanings |= {ALL: "# all differ", NONE: ". all agree"}
        signs = set("".join(self.lines))
        return ", ".join(text for sign, text in meanings.items() if sign in signs)

    def with_labels(self, rows: Sequence[str], columns: Sequence[str], width: int) -> Iterator[str]:
        """The lines under the labels of the columns, where these have room, and behind the labels of the rows.

        A line that stands for several rows has the label of the first; long labels are cut.
        """
        label_width = min(max(map(len, rows)), MAX_LABEL_WIDTH)
        cells = [max(map(len, columns))] * len(columns)
        has_room = self.is_whole and label_width + sum(cells) + 2 * len(cells) <= width
        if has_room:
            yield " " * label_width + "".join(f"  {label:>{cells[0]}}" for label in columns)
        for label, signs in zip(rows[:: self.rows_per_sign], self.lines, strict=True):
            text = "".join(f"  {sign:>{cells[0]}}" for sign in signs) if has_room else f" {signs}"
            yield f"{label[:label_width]:{label_width}}{text}".rstrip()


def draw_errors(differs: Array, is_given: Array, columns: int, rows: int = MAX_ROWS) -> ErrorPicture:
    """The picture of two boolean arrays [… r c]: which numbers differ, and of which one is expected.

    It has at most so many rows and columns; a sign is for the cells of all slices before the last two axes.

    >>> import numpy
    >>> every = numpy.ones((4, 6), dtype=bool)
    >>> draw_errors(numpy.triu(every, 1), every, columns=3, rows=2)
    ErrorPicture(lines=('+##', '.+#'), rows_per_sign=2, columns_per_sign=2)
    """
    differ, given = (np.count_nonzero(tables(array), axis=0) for array in (differs, is_given))
    scale = [-(-size // limit) for size, limit in zip(differ.shape, (rows, columns), strict=True)]
    differ, given = (_block_sums(counts, scale) for counts in (differ, given))
    signs = np.select([given == 0, differ == 0, differ == given], [NOT_EXPECTED, NONE, ALL], SOME)
    return ErrorPicture(tuple(map("".join, signs)), *scale)


def _block_sums(counts: Array, scale: Sequence[int]) -> Array:
    """The sums of the blocks of a table, so many rows and columns each."""
    for axis, size in enumerate(scale):
        counts = np.add.reduceat(counts, range(0, counts.shape[axis], size), axis=axis)
    return counts


FEW = 3  # cells that are named one by one
NEARLY_ALL = 0.9  # coverage that is called nearly everywhere
NO_SHARE = 0.995  # coverage of which no share is written
_DIAGONALS = {
    (0, 0): "the diagonal",
    (0, None): "on and above the diagonal",
    (1, None): "above the diagonal",
    (None, 0): "on and below the diagonal",
    (None, -1): "below the diagonal",
}


def describe_pattern(trace: Trace, step: Step, pattern: ErrorPattern) -> str:
    """The sentence of a pattern: the parts of axes or the band that have all differences, and how full they are."""
    parts = [_describe_part(trace, step, part) for part in pattern.parts]
    if pattern.band is not None:
        parts.append(_describe_band(pattern.band))
    share = f"{pattern.coverage:.0%}"
    if not parts:
        if pattern.coverage == 1:
            return "everywhere"
        return "nearly everywhere" if pattern.coverage >= NEARLY_ALL else f"scattered, {share} of the numbers"
    return ", ".join(parts) + ("" if pattern.coverage >= NO_SHARE else f"; {share} of the numbers there")


def describe_cell(trace: Trace, step: Step, position: Sequence[int]) -> str:
    """A cell by its labels: `head 1, query word_1, key word_3`."""
    axes = range(-len(position), 0)
    pairs = [(axis, at) for axis, at in zip(axes, position, strict=True) if not _is_single(step, axis)]
    return ", ".join(_position(trace, step, axis, at) for axis, at in pairs)


def _is_single(step: Step, axis: int) -> bool:
    """Whether an axis is that of the only batch item, or of the only head."""
    return step.axes[axis] in COUNTED_FROM_0 and step.value.shape[axis] == 1


def plural(letter: str) -> str:
    """The noun of the entries along an axis, in the plural: `queries`, `heads`, `value features`."""
    return f"{AXIS_NOUNS[letter]}s" if letter in COUNTED_FROM_0 else LEGEND.get(letter, f"entries along {letter}")


def _position(trace: Trace, step: Step, axis: int, at: int) -> str:
    """A position on an axis: `query word_1`, `head 0`, and without a word that its label has: `query_1`, `e2`."""
    letter = step.axes[axis]
    if letter in COUNTED_FROM_0:
        return position_label(trace, letter, at)
    label = trace.numbered_labels_of(step, axis)[at]
    noun = AXIS_NOUNS.get(letter, "")
    return label if not noun or label.startswith(noun) else f"{noun} {label}"


def _label(trace: Trace, step: Step, axis: int, at: int) -> str:
    """The label of a position without the noun of its axis."""
    return str(at) if step.axes[axis] in COUNTED_FROM_0 else trace.numbered_labels_of(step, axis)[at]


def _describe_part(trace: Trace, step: Step, part: AxisPart) -> str:
    """`query word_1`, `keys key_1 and key_3`, `queries from query_513 on`, `every second value feature from e1`."""
    letter, positions = step.axes[part.axis], part.positions
    first, last = (_label(trace, step, part.axis, positions[end]) for end in (0, -1))
    if not isinstance(positions, range):
        if len(positions) == 1:
            return _position(trace, step, part.axis, positions[0])
        return f"{plural(letter)} {join_words([_label(trace, step, part.axis, at) for at in positions])}"
    if positions.step > 1:
        return f"every second of the {plural(letter)}, from {first} on"
    is_last = positions.stop == part.size
    is_half = 2 * len(positions) == part.size and (is_last or positions.start == 0)
    half = f"the {'last' if is_last else 'first'} half of the " if is_half else ""
    limit = f"from {first} on" if is_last else f"up to {last}" if positions.start == 0 else f"from {first} to {last}"
    return f"{half}{plural(letter)}{', ' if half else ' '}{limit}"


def _describe_band(band: Band) -> str:
    """`above the diagonal`, `the diagonal 2 keys before that of the first query and key`."""
    end = " that ends at the last query and key" if band.offset else ""
    text = _DIAGONALS.get((band.low, band.high))
    if text is not None:
        return text + end
    distance = band.low or 0  # of a line of cells beside the diagonal: low and high are the same
    side = "above" if distance > 0 else "below"
    return f"the line {abs(distance)} {'key' if abs(distance) == 1 else 'keys'} {side} the diagonal{end}"


def cells_in_words(trace: Trace, step: Step, positions: Iterator[Sequence[int]] | Sequence[Sequence[int]]) -> str:
    """Cells by their labels alone: `(word_1, word_3) and (word_2, word_4)`."""
    axes = range(-len(step.axes), 0)
    names = [
        ", ".join(
            position_label(trace, step.axes[axis], at)
            if step.axes[axis] in COUNTED_FROM_0
            else _label(trace, step, axis, at)
            for axis, at in zip(axes, position, strict=True)
            if not _is_single(step, axis)
        )
        for position in positions
    ]
    return join_words([f"({name})" for name in names])


AGREES, DIFFERS = "bold green", "bold red"
USUAL_WIDTH = 80
INDENTATION = "    "
SIGNIFICANT = 3  # digits of errors and tolerances
MAX_UNITS = 1e6  # in the last place that say something: a larger error has nothing to do with rounding
MIN_DIGITS, MAX_DIGITS = 6, 17  # of the two numbers of the worst cell; 17 tell any numbers of eight bytes apart


def print_quantity(
    page: TextPage, report: CheckReport, result: QuantityCheck, decimals: int, adjective: str = ""
) -> None:
    """Print a line for a quantity that agrees; for one that differs its errors, its worst cell and a picture too.

    The `adjective` says whose the numbers are: `published`; without it they are expected.
    """
    trace = report.trace
    if result.agrees:
        mark = (f"✓ {result.name}", AGREES) if result.count else f"  {result.name}"
        page.print(mark, f": {_agreement(result)}")
    else:
        source = f" from {'that' if result.count == 1 else 'those'} {adjective}" if adjective else ""
        page.print(
            (f"✗ {result.name}", DIFFERS),
            f": {count_of_differences(result.differ, result.count)}{source}{_consequence(report, result)}",
        )
        page.print_lines(INDENTATION + line for line in _errors(result))
        page.print_lines(INDENTATION + line for line in _worst_cell(trace, result, adjective))
        page.print_lines((INDENTATION + "  " + line for line in _arithmetic(trace, result, decimals)), "cyan")
        pattern = find_pattern(result.differs, result.is_given, _query_positions(trace, result.name))
        page.print_lines(INDENTATION + line for line in _place(trace, result, pattern))
        _print_picture(page, trace, result, pattern)
    page.print_lines((INDENTATION + remark for remark in result.remarks), "dim")


def _agreement(result: QuantityCheck) -> str:
    """How many numbers agree, to how many digits, and what difference was allowed."""
    if not result.count:
        return "no number is compared"
    numbers = "1 number agrees" if result.count == 1 else f"{result.count} numbers agree"
    if result.max_abs == 0:
        return f"{numbers} exactly"
    digits = f" to {result.digits} {'digit' if result.digits == 1 else 'digits'}" if result.digits > 0 else ""
    return f"{numbers}{digits}; largest error {_short(result.max_abs)}, allowed {_short(result.tolerance)}"


def count_of_differences(differ: int, count: int) -> str:
    """`3 of 16 numbers differ`, `1 of 16 numbers differs`, `the number differs`."""
    numbers = "the number" if count == 1 else f"{differ} of {count} numbers"
    return f"{numbers} {'differs' if differ == 1 else 'differ'}"


def _consequence(report: CheckReport, result: QuantityCheck) -> str:
    """Whether numbers that differ follow from others that differ before them."""
    if result.follows is None or result.name == report.first_difference:
        return ""
    return ", as they must with those expected above" if result.follows else ", and not because of those above"


def _errors(result: QuantityCheck) -> Iterator[str]:
    """The largest errors, and how alike both arrays are."""
    if np.isinf(result.max_abs):
        yield "largest error infinite: NaN or an infinity stands on one side alone"
        return
    relative = f", relative {_short(result.max_rel)}" if result.max_rel else ""  # none where ours is 0
    units = f", {_short(result.max_ulp)} units in the last place of {result.ulp_dtype}"
    yield f"largest error {_short(result.max_abs)}{relative}{units if result.max_ulp < MAX_UNITS else ''}"
    likeness = {"correlation": result.correlation, "cosine": result.cosine}
    found = [f"{name} {number:.6f}" for name, number in likeness.items() if number is not None]
    if found and result.count > 1:
        yield ", ".join(found)


def _worst_cell(trace: Trace, result: QuantityCheck, adjective: str) -> Iterator[str]:
    """The worst cell and both of its numbers."""
    if result.worst is not None:
        expected, computed = _distinct(result.worst.expected, result.worst.computed)
        place = describe_cell(trace, trace[result.name], result.worst.position)
        at = "worst at" if result.differ > 1 else "at"
        allowed = f" ± {result.worst.allowed:.1g}" if np.isfinite(result.worst.expected) else ""
        yield f"{at} {place}: {adjective or 'expected'} {expected}{allowed}, computed {computed}"


def _arithmetic(trace: Trace, result: QuantityCheck, decimals: int) -> tuple[str, ...]:
    """The arithmetic of the worst cell with as many decimals as show its error, at least those given."""
    if result.worst is None:
        return ()
    error = abs(result.worst.expected - result.worst.computed)
    if np.isfinite(error) and error > 0:
        decimals = min(max(decimals, 1 - int(np.floor(np.log10(error)))), MAX_DIGITS - 1)
    return cell_arithmetic(trace, result.name, result.worst.position, decimals)


def _place(trace: Trace, result: QuantityCheck, pattern: ErrorPattern) -> Iterator[str]:
    """Where the numbers differ, in words; nothing for one number, whose cell stands above."""
    step = trace[result.name]
    if 1 < result.differ <= FEW and pattern.coverage < 1:
        yield f"where: {cells_in_words(trace, step, np.argwhere(result.differs).tolist())}"
    elif result.differ > 1:
        yield f"where: {describe_pattern(trace, step, pattern)}"


def _query_positions(trace: Trace, name: str) -> list[int] | None:
    """The positions of the queries of a table of queries and keys among the keys; None for any other quantity."""
    if trace[name].axes[-2:] != ("n", "m"):
        return None
    selected = trace.selected_queries
    rows = range(len(trace.labels["n"])) if selected is None else selected
    return [trace.problem.past_count + row for row in rows]


def _print_picture(page: TextPage, trace: Trace, result: QuantityCheck, pattern: ErrorPattern) -> None:
    """Print the picture of the errors in the heads that have any; nothing of one number, or where nearly all differ."""
    if result.differ == 1 or (pattern.is_everything and pattern.coverage >= NEARLY_ALL):
        return
    step = trace[result.name]
    width = (page.target.width or USUAL_WIDTH) - 2 * len(INDENTATION)
    differs, is_given = (_in_parts(array, pattern) for array in (result.differs, result.is_given))
    picture = draw_errors(differs, is_given, columns=max(width - MAX_LABEL_WIDTH - 1, 1))
    if len(set("".join(picture.lines))) == 1:
        return
    rows = trace.numbered_labels_of(step, -2) or (step.symbol,)
    axes = ", ".join(map(plural, step.axes[-2:-1])) + " down, " + plural(step.axes[-1]) + " across"
    page.print_lines([f"{INDENTATION}{axes}, {picture.scale}: {picture.legend}"], "dim")
    for line in picture.with_labels(rows, trace.numbered_labels_of(step, -1), width):
        page.print(f"{INDENTATION * 2}{line}", is_wrapped=False)


def _in_parts(array: Array, pattern: ErrorPattern) -> Array:
    """The slices of an array that have differences: those of the heads and batch items of a pattern."""
    for part in pattern.parts:
        if part.axis < -2:
            array = array.take(part.positions, axis=part.axis)
    return array


def _short(number: float) -> str:
    """An error or a tolerance with few digits: `0.0021`, `1.3e-07`."""
    return f"{number:.{SIGNIFICANT}g}"


def _distinct(expected: float, computed: float) -> tuple[str, str]:
    """Two numbers with as many digits as tell them apart, and two more."""
    apart = (digits for digits in range(1, MAX_DIGITS + 1) if f"{expected:.{digits}g}" != f"{computed:.{digits}g}")
    digits = min(max(next(apart, 0) + 2, MIN_DIGITS), MAX_DIGITS)
    return f"{expected:.{digits}g}", f"{computed:.{digits}g}"
