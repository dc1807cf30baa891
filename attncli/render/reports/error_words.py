"""Where numbers differ, in words: `head 3: above the diagonal`, `the last half of the value features, from e3 on`."""

from collections.abc import Iterator, Sequence

from attncli.analysis.check.error_patterns import AxisPart, Band, ErrorPattern
from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0, LEGEND
from attncli.base.text import join_words
from attncli.render.tables import position_label
from attncli.trace.steps import Step, Trace

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
