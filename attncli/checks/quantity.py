"""One quantity of a check: whether it agrees, its errors, its worst cell with arithmetic, and where it differs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0, LEGEND
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of, join_words
from attncli.checks.error_shapes import shapes_of
from attncli.checks.patterns import AxisPart, Band, ErrorPattern, find_pattern, tables
from attncli.checks.report import CheckReport, QuantityCheck
from attncli.checks.tolerance import has_every_step
from attncli.engine.run import run
from attncli.ops import masks, structural
from attncli.ops.elementwise import fill_empty_rows
from attncli.plan.trace import RunResult, Step, Trace
from attncli.render.by_hand import positions_through, worked_lines
from attncli.render.document import Block, Fitted, Lines, Statement
from attncli.render.masks import VISIBLE_STEP
from attncli.render.tables import position_label
from attncli.render.target import TextTarget
from attncli.render.view import View

AGREES, DIFFERS = "bold green", "bold red"
INDENTATION = "    "
SIGNIFICANT = 3  # digits of errors and tolerances
MAX_UNITS = 1e6  # meaningful units in the last place: a larger error is not rounding
MIN_DIGITS, MAX_DIGITS = 6, 17  # digits of the worst cell's two numbers; 17 distinguish any eight-byte numbers

FEW = 3  # cells to name one by one
NEARLY_ALL = 0.9  # coverage called "nearly everywhere"
NO_SHARE = 0.995  # coverage above which no share is written
_DIAGONALS = {
    (0, 0): "the diagonal",
    (0, None): "on and above the diagonal",
    (1, None): "above the diagonal",
    (None, 0): "on and below the diagonal",
    (None, -1): "below the diagonal",
}

ALL, SOME, NONE, NOT_EXPECTED = "#+. "  # signs in every encoding
MAX_ROWS = 16
MAX_LABEL_WIDTH = 14
Position = tuple[int, ...]


def quantity_blocks(report: CheckReport, result: QuantityCheck, decimals: int, adjective: str = "") -> Iterator[Block]:
    """A line for a quantity that agrees; for one that differs also its errors, its worst cell and a picture.

    The `adjective` says whose numbers they are: `published`; without it they are expected.
    """
    trace = report.trace
    blank = report.blank.get(result.name, 0)
    if result.agrees:
        mark, style = ("✗", DIFFERS) if blank else ("✓", AGREES) if result.count else (" ", "")
        yield Statement(f"{mark} {result.name}", f": {_agreement(result, blank)}", style)
    else:
        source = f" from {'that' if result.count == 1 else 'those'} {adjective}" if adjective else ""
        text = f"{count_of_differences(result.differ, result.count)}{source}{_consequence(report, result)}"
        text += f"; {count_of(blank, 'number')} left blank" if blank else ""
        yield Statement(f"✗ {result.name}", f": {text}", DIFFERS)
        lines = (*_errors(result), *worst_cell_lines(trace, result, adjective), *_reading(report, result))
        yield Lines(_indented(lines))
        yield Lines(_indented(worst_arithmetic(trace, result, decimals), "  "), "cyan", "mathematics")
        pattern = find_pattern(result.differs, result.is_given, _query_positions(trace, result.name))
        shapes = () if report.explanations else shapes_of(trace, result)
        where = [f"where: {_where(trace, result, pattern)}"] if result.differ > 1 else []
        yield Lines(_indented([*where, *(shape.sentence for shape in shapes)]))
        if result.differ > 1:
            yield Fitted(lambda target: _picture(target, trace, result, pattern))
    half = result.half_type
    allows = () if half is None else (f"within the error of arithmetic in {half}: --dtype {half} allows it",)
    yield Lines(_indented((*allows, *result.remarks)), "dim")


def _indented(lines: Iterable[str], further: str = "") -> tuple[str, ...]:
    return tuple(INDENTATION + further + line for line in lines)


def _agreement(result: QuantityCheck, blank: int) -> str:
    """How many numbers agree, to how many digits, the permitted difference, and how many are blank."""
    if not result.count:
        return f"{count_of(blank, 'number')} left blank" if blank else "no number is compared"
    return _digits_of_agreement(result) + (f"; {count_of(blank, 'number')} left blank" if blank else "")


def _digits_of_agreement(result: QuantityCheck) -> str:
    """`12 numbers agree to 8 digits`; typed to different decimals, `11 numbers agree to 8 digits, 1 to 1`."""
    numbers = _agreeing(result.count)
    if result.max_abs == 0:
        return f"{numbers} exactly"
    if result.by_digits:
        first, *others = result.by_digits
        each = [f"{_agreeing(first.count)} to {count_of(first.digits, 'digit')}"]
        each += [f"{group.count} to {group.digits}" for group in others]
        errors, allowed = (
            join_words([short_number(getattr(group, name)) for group in result.by_digits])
            for name in ("max_abs", "tolerance")
        )
        return f"{', '.join(each)}; largest errors {errors}, allowed {allowed}"
    digits = f" to {count_of(result.digits, 'digit')}" if result.digits > 0 else ""
    return f"{numbers}{digits}; largest error {short_number(result.max_abs)}, allowed {short_number(result.tolerance)}"


def _agreeing(count: int) -> str:
    return "1 number agrees" if count == 1 else f"{count} numbers agree"


def count_of_differences(differ: int, count: int) -> str:
    """`3 of 16 numbers differ`, `1 of 16 numbers differs`, `the number differs`."""
    numbers = "the number" if count == 1 else f"{differ} of {count} numbers"
    return f"{numbers} {'differs' if differ == 1 else 'differ'}"


def _consequence(report: CheckReport, result: QuantityCheck) -> str:
    """Whether wrong numbers follow from earlier wrong ones."""
    if result.follows is None or result.reading is not None or result.name == report.first_difference:
        return ""
    return ", as the errors above explain" if result.follows else ", which the errors above do not explain"


def _errors(result: QuantityCheck) -> Iterator[str]:
    """The largest errors, and the similarity of both arrays."""
    if result.worst is None:  # the order of the axes is the difference
        return
    if np.isinf(result.max_abs):
        yield "largest error infinite: NaN or an infinity is on one side alone"
        return
    relative = f", relative {short_number(result.max_rel)}" if result.max_rel else ""  # none if the reference is 0
    units = f", {short_number(result.max_ulp)} units in the last place of {result.ulp_dtype}"
    yield f"largest error {short_number(result.max_abs)}{relative}{units if result.max_ulp < MAX_UNITS else ''}"
    likeness = {"correlation": result.correlation, "cosine": result.cosine}
    found = [f"{name} {number:.6f}" for name, number in likeness.items() if number is not None]
    if found and result.count > 1:
        yield ", ".join(found)


def short_number(number: float) -> str:
    """An error or a tolerance with few digits: `0.0021`, `1.3e-07`."""
    return f"{number:.{SIGNIFICANT}g}"


def worst_cell_lines(trace: Trace, result: QuantityCheck, adjective: str = "") -> Iterator[str]:
    """The worst cell and both of its numbers, with two more digits than distinguish them."""
    worst = result.worst
    if worst is not None:
        pairs = ([f"{x:.{digits}g}" for x in (worst.expected, worst.computed)] for digits in range(1, MAX_DIGITS + 1))
        apart = next((digits for digits, (one, other) in enumerate(pairs, 1) if one != other), 0)
        digits = min(max(apart + 2, MIN_DIGITS), MAX_DIGITS)
        step = trace[result.name]
        cell = ", ".join(_position(trace, step, axis, at) for axis, at in _own_positions(step, worst.position))
        allowed = f" ± {worst.allowed:.1g}" if np.isfinite(worst.expected) else ""
        whose, computed = (adjective, "computed") if adjective else ("yours", "correct")
        both = f"{whose} {worst.expected:.{digits}g}{allowed}, {computed} {worst.computed:.{digits}g}"
        yield f"{'worst at' if result.differ > 1 else 'at'} {cell}: {both}"


def _reading(report: CheckReport, result: QuantityCheck) -> Iterator[str]:
    """A reading of the wrong numbers, unless it covers all results, such as the step that has them.

    `2.4142 is in the same cell of dot_products: Qᵢ·Kⱼ`
    """
    trace, name, reading = report.trace, result.other_step, result.reading
    if reading is not None and reading.name != "other_step" and not report.is_read_plainly:
        yield reading.sentence.rstrip(".")
    if name is not None:
        numbers, is_one = result.expected[result.differs], result.differ == 1
        formula = f": {trace[name].formula}" if name in trace else ""
        what = f"{numbers[0]:.{MIN_DIGITS}g} is in the same cell" if is_one else "these numbers are in the same cells"
        yield f"{what} of {name}{formula}"


def worst_arithmetic(trace: Trace, result: QuantityCheck, decimals: int) -> tuple[str, ...]:
    """The arithmetic of the worst cell with enough decimals to show its error, at least the given number."""
    if result.worst is None:
        return ()
    error = abs(result.worst.expected - result.worst.computed)
    if np.isfinite(error) and error > 0:
        decimals = min(max(decimals, 1 - int(np.floor(np.log10(error)))), MAX_DIGITS - 1)
    return cell_arithmetic(trace, result.name, result.worst.position, decimals)


def _query_positions(trace: Trace, name: str) -> list[int] | None:
    """The positions of a table's queries among its keys; None for any other quantity."""
    if trace[name].axes[-2:] != ("n", "m"):
        return None
    rows = range(len(trace.labels["n"])) if trace.selected_queries is None else trace.selected_queries
    return [trace.problem.past_count + row for row in rows]


def place_of_differences(report: CheckReport) -> Iterator[str]:
    """Where the first result that differs is wrong, and that the rest agrees; empty if all is wrong.

    `All differences are in heads 1 and 2; the other numbers agree.`
    """
    result = next(iter(report.differing), None)
    if result is None or result.differ == result.count:
        return
    pattern = find_pattern(result.differs, result.is_given, _query_positions(report.trace, result.name))
    if not pattern.is_everything or result.differ <= FEW:
        where, is_one = _where(report.trace, result, pattern), result.differ == 1
        of = f" of {result.name}" if len(report.results) > 1 else ""
        verb = "The difference is" if is_one else "All differences are"
        yield f"{verb} in {where}; the other numbers{of} agree."


def _where(trace: Trace, result: QuantityCheck, pattern: ErrorPattern) -> str:
    """Where the numbers differ: few cells by their labels, otherwise the pattern and its coverage.

    `(word_1, word_3) and (word_2, word_4)`; `head 3: above the diagonal`; `scattered, 12% of the numbers`.
    """
    step = trace[result.name]
    if result.differ <= FEW and pattern.coverage < 1:
        cells = [_own_positions(step, position) for position in np.argwhere(result.differs).tolist()]
        names = (", ".join(_label(trace, step, axis, at, has_number=False) for axis, at in cell) for cell in cells)
        return join_words([f"({name})" for name in names])
    parts = [describe_part(trace, step, part) for part in pattern.parts]
    parts += [] if pattern.band is None else [_describe_band(pattern.band)]
    share = f"{pattern.coverage:.0%} of the numbers"
    if parts:
        return ", ".join(parts) + ("" if pattern.coverage >= NO_SHARE else f"; {share} there")
    if pattern.coverage == 1:
        return "everywhere"
    return "nearly everywhere" if pattern.coverage >= NEARLY_ALL else f"scattered, {share}"


def _own_positions(step: Step, position: Sequence[int]) -> list[tuple[int, int]]:
    """The axes and the position of a cell on each, except the only batch item and the only head."""
    pairs = zip(range(-len(position), 0), position, strict=True)
    return [(axis, at) for axis, at in pairs if step.axes[axis] not in COUNTED_FROM_0 or step.value.shape[axis] > 1]


def _position(trace: Trace, step: Step, axis: int, at: int) -> str:
    """A position on an axis: `query word_1`, `head 0`; a label that begins with its noun stands alone: `query_1`."""
    label = _label(trace, step, axis, at, has_number=False)
    noun = AXIS_NOUNS.get(step.axes[axis], "")
    return label if not noun or label.startswith(noun) else f"{noun} {label}"


def _label(trace: Trace, step: Step, axis: int, at: int, *, has_number: bool) -> str:
    """The label of a position; a head or a batch item with its noun, unless it `has_number` alone."""
    letter = step.axes[axis]
    if letter in COUNTED_FROM_0:
        return str(at) if has_number else position_label(trace, letter, at)
    return trace.numbered_labels_of(step, axis)[at]


def _plural(letter: str) -> str:
    """The plural noun of the entries along an axis: `queries`, `heads`, `value features`."""
    return f"{AXIS_NOUNS[letter]}s" if letter in COUNTED_FROM_0 else LEGEND.get(letter, f"entries along {letter}")


def describe_part(trace: Trace, step: Step, part: AxisPart) -> str:
    """`query word_1`, `keys key_1 and key_3`, `queries from query_513 on`, `every second value feature from e1`."""
    positions, noun = part.positions, _plural(step.axes[part.axis])
    labels = [_label(trace, step, part.axis, at, has_number=True) for at in positions]
    first, last = labels[0], labels[-1]
    if not isinstance(positions, range):
        return _position(trace, step, part.axis, positions[0]) if not labels[1:] else f"{noun} {join_words(labels)}"
    if positions.step > 1:
        return f"every second of the {noun}, from {first} on"
    is_last = positions.stop == part.size
    is_half = 2 * len(positions) == part.size and (is_last or positions.start == 0)
    half = f"the {'last' if is_last else 'first'} half of the " if is_half else ""
    limit = f"from {first} on" if is_last else f"up to {last}" if positions.start == 0 else f"from {first} to {last}"
    return f"{half}{noun}{', ' if half else ' '}{limit}"


def _describe_band(band: Band) -> str:
    """`above the diagonal`, `the line 2 keys below the diagonal that ends at the last query and key`."""
    end = " that ends at the last query and key" if band.offset else ""
    text = _DIAGONALS.get((band.low, band.high))
    if text is not None:
        return text + end
    distance = band.low or 0  # a line of cells next to the diagonal: low and high are equal
    side = "above" if distance > 0 else "below"
    return f"the line {count_of(abs(distance), 'key')} {side} the diagonal{end}"


@dataclass(frozen=True)
class ErrorPicture:
    """Lines of signs, one for a cell or a block of cells, and the rows and columns of the table per sign."""

    lines: tuple[str, ...]
    rows_per_sign: int
    columns_per_sign: int

    @property
    def is_whole(self) -> bool:
        """Whether every number of a table has its own sign."""
        return (self.rows_per_sign, self.columns_per_sign) == (1, 1)

    @property
    def scale(self) -> str:
        """The numbers per sign."""
        return "one sign a number" if self.is_whole else f"one sign for {self.rows_per_sign} × {self.columns_per_sign}"

    @property
    def legend(self) -> str:
        """The meaning of the signs in the picture."""
        meanings = {ALL: "# differs", SOME: "+ some differ", NONE: ". agrees", NOT_EXPECTED: "blank: not expected"}
        if not self.is_whole:
            meanings |= {ALL: "# all differ", NONE: ". all agree"}
        signs = set("".join(self.lines))
        return ", ".join(text for sign, text in meanings.items() if sign in signs)

    def with_labels(self, rows: Sequence[str], columns: Sequence[str], width: int) -> Iterator[str]:
        """The lines under the labels of the columns, if these fit, and after the labels of the rows.

        A line for several rows has the label of the first; long labels are cut.
        """
        label_width, cell_width = min(max(map(len, rows)), MAX_LABEL_WIDTH), max(map(len, columns))
        has_room = self.is_whole and label_width + (cell_width + 2) * len(columns) <= width
        if has_room:
            yield " " * label_width + "".join(f"  {label:>{cell_width}}" for label in columns)
        for label, signs in zip(rows[:: self.rows_per_sign], self.lines, strict=True):
            text = "".join(f"  {sign:>{cell_width}}" for sign in signs) if has_room else f" {signs}"
            yield f"{label[:label_width]:{label_width}}{text}".rstrip()


def draw_errors(differs: Array, is_given: Array, columns: int, rows: int = MAX_ROWS) -> ErrorPicture:
    """The picture of two boolean arrays [… r c]: which numbers differ, and which ones are expected.

    It has at most so many rows and columns; a sign combines the cells of all slices before the last two axes.

    >>> import numpy
    >>> every = numpy.ones((4, 6), dtype=bool)
    >>> draw_errors(numpy.triu(every, 1), every, columns=3, rows=2)
    ErrorPicture(lines=('+##', '.+#'), rows_per_sign=2, columns_per_sign=2)
    """
    differ, given = (np.count_nonzero(tables(array), axis=0) for array in (differs, is_given))
    scale = [-(-size // limit) for size, limit in zip(differ.shape, (rows, columns), strict=True)]
    for axis, size in enumerate(scale):
        starts = range(0, differ.shape[axis], size)
        differ, given = (np.add.reduceat(counts, starts, axis=axis) for counts in (differ, given))
    signs = np.select([given == 0, differ == 0, differ == given], [NOT_EXPECTED, NONE, ALL], SOME)
    return ErrorPicture(tuple(map("".join, signs)), *scale)


def _picture(target: TextTarget, trace: Trace, result: QuantityCheck, pattern: ErrorPattern) -> Iterator[Block]:
    """The picture of the errors in the heads that have any; empty if nearly all numbers differ."""
    if pattern.is_everything and pattern.coverage >= NEARLY_ALL:
        return
    step, width = trace[result.name], target.page_width - 2 * len(INDENTATION)
    differs, is_given = pattern.in_slices(result.differs), pattern.in_slices(result.is_given)
    picture = draw_errors(differs, is_given, columns=max(width - MAX_LABEL_WIDTH - 1, 1))
    if len(set("".join(picture.lines))) == 1:
        return
    rows = trace.numbered_labels_of(step, -2) or (step.symbol,)
    axes = ", ".join(map(_plural, step.axes[-2:-1])) + " down, " + _plural(step.axes[-1]) + " across"
    yield Lines(_indented([f"{axes}, {picture.scale}: {picture.legend}"]), "dim")
    lines = picture.with_labels(rows, trace.numbered_labels_of(step, -1), width)
    yield Lines(_indented(lines, INDENTATION), kind="code", wrapped="never")


def cell_arithmetic(trace: Trace, name: str, position: Sequence[int], decimals: int) -> tuple[str, ...]:
    """The worked lines of a cell of the quantity `name`, at its position on every axis; empty if a step has none.

    If a large problem's trace lacks steps, it computes the query of the cell again.
    """
    if not has_every_step(trace):
        queries = [index for letter, index in zip(trace[name].axes, position, strict=True) if letter == "n"]
        position = tuple(0 if letter == "n" else at for letter, at in zip(trace[name].axes, position, strict=True))
        label = trace.problem.numbered_query_labels[queries[0] if queries else 0]
        trace = run(replace(trace.problem, only=(label,)), (), every_step=True).trace
    step, position = _source_of(trace, trace[name], tuple(position))
    if step.function is masks.apply_mask:  # a visible score is unchanged
        return _lines(trace, trace[VISIBLE_STEP], position, decimals) + _lines(trace, step, position, decimals)
    return _lines(trace, step if step.tapped_from is None else trace[step.tapped_from], position, decimals)


def _lines(trace: Trace, step: Step, position: Position, decimals: int) -> tuple[str, ...]:
    """The worked lines of one cell of a step; a mask may have fewer axes than the position."""
    at = dict(zip(step.axes[::-1], position[::-1], strict=False))
    view = View(RunResult(trace, ()), decimals=decimals, feature=position[-1])
    return worked_lines(view, step, [positions_through(trace, at)])


def _source_of(trace: Trace, step: Step, position: Position) -> tuple[Step, Position]:
    """The step that computes the number of a cell, if later ones only move it, and its position there."""
    while (source := _moved_from(trace, step, position)) is not None:
        step, position = source
    return step, position


def _moved_from(trace: Trace, step: Step, position: Position) -> tuple[Step, Position] | None:
    """The step and the position that a number was moved from; None if the step computes it.

    It applies the step's function to the cells' numbers in place of their values, which shows the source of each.
    """
    if step.function is fill_empty_rows:
        before = trace[step.inputs["weights"]]
        return (before, position) if before.value[position] == step.value[position] else None
    moves = step.function is not None and step.function.__module__ == structural.__name__ and step.stage != "project"
    if step.function is None or not (moves or step.is_identity or step.function is masks.apply_mask):
        return None
    cells: dict[str, Array] = {}
    first = 0
    for argument, source in step.inputs.items():
        value = trace[source].value
        is_mask = value.dtype.kind == "b" and not moves
        cells[argument] = value if is_mask else np.arange(first, first + value.size, dtype=float).reshape(value.shape)
        first += 0 if is_mask else value.size
    cell = float(step.function(**cells, **step.options)[position])
    for argument, numbers in cells.items():
        if numbers.size and numbers.dtype.kind == "f" and numbers.flat[0] <= cell <= numbers.flat[-1]:
            found = np.unravel_index(int(cell - numbers.flat[0]), numbers.shape)
            return trace[step.inputs[argument]], tuple(map(int, found))
    return None  # −∞ in place of a hidden score
