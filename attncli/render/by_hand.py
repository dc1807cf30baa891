"""Cells worked out by hand: which cells, and the arithmetic of each step with its numbers."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import product
from typing import Any

from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import repr_excerpt
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import number, products, total
from attncli.ops.derivatives import DerivativeRecord
from attncli.ops.records import ByHand, OperatorRecord, StructuralRecord
from attncli.ops.registry import failures_named, is_recorded, record_of
from attncli.ops.rope import rope_x
from attncli.ops.structural import project, project_x
from attncli.plan.builder import symbols_of
from attncli.plan.graph import GRADIENT
from attncli.plan.trace import AxisPositions, Step, Trace, add_dependent_axes
from attncli.problem.fields import LSE
from attncli.render.aligned_numbers import needs_exponents
from attncli.render.document import Section
from attncli.render.masks import VISIBLE_STEP, rules_below
from attncli.render.tables import name_of_number, position_label
from attncli.render.view import DECIMALS, Cell, View

MAX_TOKENS = 4  # a recurrence of at most this many tokens is worked out whole
LEADING = set(COUNTED_FROM_0)
ROW_STAGES = {"normalize", LSE, "context"}  # stages that read all keys of a query at once
EVERY_KEY_IS_HIDDEN = "every key is hidden: all weights are 0"
A_SCORE_IS_NAN = "a score of the row is NaN: the weights of all visible keys are NaN"
INDEX_HEADS = "ι"  # only the first head of the indexer's queries and keys is worked out
_KEY_LETTERS = {"k": "m", "p": "m", "m+1": "m"}  # new keys, cached keys, and keys before a sink are all keys


def worked_positions(view: View) -> Sequence[AxisPositions]:
    """The positions of each worked cell: the cells of the view in its order, otherwise one instructive cell.

    If all batch items or heads are shown, each is worked out in turn.
    """
    trace, default = view.result.trace, _default_positions(view)
    lengths = dict(trace.plan.pair_axes)

    def every(letter: str) -> range:
        return range(lengths[letter])

    leading = [
        [(letter, at) for at in (every(letter) if letter in view.expanded_axes else (default[letter],))]
        for letter, _ in trace.plan.pair_axes[:-2]
    ]
    pairs: dict[tuple[int, int], None] = {}
    for cell in view.cells:
        queries, keys = (every(letter) if at is None else (at,) for letter, at in (("n", cell.query), ("m", cell.key)))
        pairs |= dict.fromkeys(product(queries, keys))
    if not trace.plan.has_weights:
        pairs = pairs or dict.fromkeys((at, at) for at in _default_tokens(lengths["n"]))
        pairs = dict.fromkeys((token, token) for token, _ in pairs)
    return [
        add_dependent_axes(trace, {**dict(at), "n": query, "m": key})
        for at in product(*leading)
        for query, key in pairs or [(default["n"], default["m"])]
    ]


def _default_tokens(count: int) -> Sequence[int]:
    """The worked tokens of a recurrence: all if they are few, otherwise the last, which reads what all wrote."""
    return range(count) if count <= MAX_TOKENS else (count - 1,)


def _default_positions(view: View) -> AxisPositions:
    """The positions of the default cell, among those of the view; in a recurrence the last token."""
    trace = view.result.trace
    if not trace.plan.has_weights:
        last = trace.plan.pair_axes[-1].length - 1
        return {**{axis.letter: 0 for axis in trace.plan.pair_axes}, "n": last, "m": last, **view.positions}
    weights = trace["weights"]
    index = tuple(slice(at, at + 1) if (at := view.positions.get(x)) is not None else slice(None) for x in weights.axes)
    has_scores = "scores" in trace and trace["scores"].value.shape == weights.value.shape
    found = default_cell(weights.value[index], trace["scores"].value[index] if has_scores else None)
    return {**dict(zip(weights.axes, found, strict=True)), **view.positions}


def positions_through(trace: Trace, at: AxisPositions) -> AxisPositions:
    """The query, key and head whose arithmetic uses a position on the axes of a step.

    An axis that the step lacks has the first position.
    """
    found: AxisPositions = {axis.letter: 0 for axis in trace.plan.pair_axes} | {
        letter: index for letter, index in at.items() if letter in ("b", "h", "n", "q")
    }
    if "g" in at:
        found["h"] = at["g"] * trace.plan.axis_length("h") // max(trace.plan.axis_length("g"), 1)
    key = next((at[letter] for letter in ("m", *_KEY_LETTERS) if letter in at), 0)
    found["m"] = key + len(trace.labels["p"]) if "k" in at else key
    return add_dependent_axes(trace, found)


def worked_cells(view: View, worked: Sequence[AxisPositions]) -> Section:
    """Names the worked cells: `cell  head 0, query word_1, key word_3`."""
    trace = view.result.trace

    def label(letter: str, at: int | None) -> str:
        return f"every {AXIS_NOUNS[letter]}" if at is None else position_label(trace, letter, at)

    slices = [
        label(letter, None if letter in view.expanded_axes else worked[0][letter])
        for letter in worked[0]
        if letter in [axis.letter for axis in trace.plan.pair_axes[:-2]]
    ]
    if not trace.plan.has_weights:
        rows = dict.fromkeys(at["n"] for at in worked)
        tokens = "; ".join(position_label(trace, "n", row) for row in rows)
        return Section("token" if len(rows) == 1 else f"{len(rows)} tokens", formula=", ".join([*slices, tokens]))
    cells = view.cells or (Cell(worked[0]["n"], worked[0]["m"]),)
    pairs = "; ".join(f"{label('n', cell.query)}, {label('m', cell.key)}" for cell in cells)
    return Section("cell" if len(worked) == 1 else f"{len(worked)} cells", formula=", ".join([*slices, pairs]))


def worked_lines(view: View, step: Step, worked: Sequence[AxisPositions]) -> tuple[str, ...]:
    """The arithmetic of a step in the worked cells; for the combined mask, the arithmetic of each mask.

    Lines that cells share, such as the projection of a query, appear once. Among several cells whose lines do not name
    them, a line identifies each: `head 0, key word_3:`.
    """
    trace = view.result.trace
    sources = [trace[name] for name in rules_below(trace.plan)] if step.name == VISIBLE_STEP else []
    letters = _letters([*sources, step])
    cells: dict[tuple[int, ...], AxisPositions] = {}
    for at in worked:
        cells.setdefault(tuple(at[letter] for letter in letters if letter in at), at)
    blocks: dict[tuple[str, ...], list[AxisPositions]] = {}
    for at in cells.values():
        lines = tuple(line for source in (*sources, step) for line in _lines(view, source, at))
        if lines:
            blocks.setdefault(lines, []).append(at)
    every_cell = [at for own in blocks.values() for at in own]
    varying = [letter for letter in letters if len({at.get(letter) for at in every_cell}) > 1]
    rows = [tuple(own[0].get(letter) for letter in letters if letter != "m") for own in blocks.values()]

    def is_named(line: str, at: AxisPositions) -> bool:  # for example `Q(word_1)·K(word_3) = …`
        labels = trace.numbered_labels
        return all(letter in trace.labels and f"({labels[letter][at[letter]]})" in line for letter in varying)

    shown = list[str]()
    for lines_of_block, own in zip(once_a_row(list(blocks), rows), blocks.values(), strict=True):
        if len(blocks) > 1 and not all(is_named(lines_of_block[0], at) for at in own):
            names = (", ".join(position_label(trace, x, at[x]) for x in varying if x in at) for at in own)
            shown.append(f"{'; '.join(names)}:")
        shown += lines_of_block
    return tuple(shown)


def once_a_row(blocks: Sequence[Sequence[str]], rows: Sequence[Hashable]) -> Iterator[Sequence[str]]:
    """The lines of each block; the first block alone has the lines that all blocks of a row share."""
    common: dict[Hashable, set[str]] = {}
    for row, lines in zip(rows, blocks, strict=True):
        common[row] = common[row].intersection(lines) if row in common else set(lines)
    begun = set[Hashable]()
    for row, lines in zip(rows, blocks, strict=True):
        own_lines = [line for line in lines if line not in common[row]] if row in begun else lines
        begun.add(row)
        yield own_lines or lines


def _letters(steps: Sequence[Step]) -> list[str]:
    """The letters of the axes on which cells of these steps differ."""
    axes = (pair for step in steps for pair in zip(step.axes, step.value.shape, strict=True))
    letters = {_KEY_LETTERS.get(letter, letter) for letter, size in axes if size > 1}
    return [letter for letter in ("b", "h", "g", "n", "m") if letter in letters]


def _lines(view: View, step: Step, at: AxisPositions) -> Sequence[str]:
    """The arithmetic of a step in one cell; a normalizer's has no numbers if there are none to show."""
    if step.stage == "normalize" and step.function is not None:
        scores = view.result.trace["masked_scores"]
        row = scores.value[tuple(at[letter] for letter in scores.axes[:-1])]
        if np.isneginf(row).all():
            return [EVERY_KEY_IS_HIDDEN]
        if np.isnan(row).any() and view.result.trace.problem.normalize.record.is_distribution:
            return [A_SCORE_IS_NAN]
    return cell_lines(view, step, at)


def cell_lines(view: View, step: Step, at: AxisPositions) -> list[str]:
    """The arithmetic of a step at the query, key and head in `at`; empty if the step has none.

    The `by_hand` function of the step's record gets the arguments of one cell: queries and keys at the index in `at`. A
    normalizer or a context gets all keys; array parameters and look-up tables stay whole.
    """
    is_gradient = step.stage == GRADIENT
    if is_gradient:
        at = {"k": 0, "p": 0, **at}  # the first key, if the key is neither new nor cached
    elif not all(letter in at for letter in step.axes[:-1] if letter in ("n", "m", "k", "p")):
        return []  # a cached key is not among the new ones
    if step.stage == "recurrence":
        at = {**at, "m": at["n"]}  # the token's own key
    if INDEX_HEADS in step.axes[:-1]:
        at = {**at, INDEX_HEADS: 0}
    trace, write = view.result.trace, _writer(view, step, at)
    if step.function is project:
        return [_projection(trace, step, at, write)]
    lines = _lines_of_record(trace, step, at, write)
    if not lines and is_read_off(step):
        from attncli.render.recorded_lines import recorded_step_lines  # noqa: PLC0415 - most functions have lines

        lines = recorded_step_lines(trace, step, at, write)
        lines += _row_sum(step, at, write)
    return lines


def is_read_off(step: Step) -> bool:
    """Whether the lines of a step come from a recording of its function."""
    record: Any = None if step.function is None else record_of(step.function)
    if step.stage == GRADIENT:
        return bool(step.inputs)
    moves = isinstance(record, StructuralRecord) and (record.is_exact or record.is_boolean)
    return not moves and is_recorded(record) and record.by_hand is None


def _lines_of_record(trace: Trace, step: Step, at: AxisPositions, write: ArithmeticWriter) -> list[str]:
    """The lines of the `by_hand` function of a step's record; none if the record has no such function."""
    if step.function is None:
        return []
    record: object = record_of(step.function)
    write_by_hand = record_of(step.function).by_hand
    if write_by_hand is None:
        return []
    if step.function is project_x:  # projected rows have the query's index, rows of keys the key's
        at = {**at, trace[step.inputs["grad"]].axes[-2]: at[step.axes[-2]]}
    summed = set(record.sums_over) if isinstance(record, DerivativeRecord) else set()
    summed |= {letter for letter, key in _KEY_LETTERS.items() if key in summed}
    reads_row = step.stage in ROW_STAGES or (step.record is not None and step.record.reads_rows)
    indexed_axes = (LEADING | ({"n"} if reads_row else set(at))) - summed
    whole = {p.name for p in step.record.parameters} if step.record is not None else set()
    if step.inputs and step.axes[-2:-1] == ("r",):  # of a table of distances, the first row
        at, indexed_axes = {**at, "r": 0}, indexed_axes | {"r"}
    else:
        whole |= {name for name, source in step.inputs.items() if trace[source].node.is_lookup}
    arguments = {
        name: _part(trace[source], at, LEADING if name in whole else indexed_axes)
        for name, source in (*step.inputs.items(), *step.node.taps.items())
    }
    result = _part(step, at, LEADING | ({"n"} if step.stage in ("context", "recurrence") else set(at)))
    with np.errstate(all="ignore"):  # the step that overflowed has a note about it
        worked = _call(step.record, write_by_hand, write, **arguments, result=result, **step.options)
    if isinstance(record, DerivativeRecord) and worked and " = " in worked[-1] and step.function is not rope_x:
        one = {} if worked[-1].endswith("]") else dict.fromkeys(step.axes[step.value.ndim - np.ndim(result) :], 0)
        if len(one) == 1:  # in a vector
            one = {step.axes[-1]: min(write.feature, np.size(result) - 1)}
        worked = [*worked[:-1], f"{name_of_number(trace, step, {**at, **one})} = {worked[-1]}"]
    return [*worked, *_row_sum(step, at, write)]


def has_lines(step: Step) -> bool:
    """Whether a step has arithmetic."""
    if step.function is None:
        return False
    return is_read_off(step) or step.function is project or record_of(step.function).by_hand is not None


def _call(record: OperatorRecord | None, write_by_hand: ByHand, *args: Any, **arguments: Any) -> list[str]:
    """Call a `by_hand` function; raises AttnError if one from another package fails or returns no lines."""
    if record is None or record.is_built_in:
        return write_by_hand(*args, **arguments)
    with failures_named(record, "by_hand"):
        lines = write_by_hand(*args, **arguments)
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        message = f"its by_hand returned {repr_excerpt(lines)}"
        raise AttnError(message, where=record.title, hint="expected a list of lines")
    return lines


def _writer(view: View, step: Step, at: AxisPositions) -> ArithmeticWriter:
    """The writer of a step's lines, which formats numbers as the step's table does."""
    trace, row, column = view.result.trace, at["n"], at["m"]
    table = np.atleast_1d(_part(step, at, LEADING))
    return ArithmeticWriter(
        decimals=view.decimals,
        query=trace.numbered_labels["n"][row],
        keys=trace.numbered_labels["m"],
        row=row,
        column=column,
        head=at.get("h", 0),
        max_terms=view.max_terms,
        feature=view.feature,
        dtype=trace.precision.name,
        has_exponents=table.dtype.kind == "f" and needs_exponents(table, view.decimals),
        symbols=symbols_of(step.node, trace.plan.by_name),
    )


def _row_sum(step: Step, at: AxisPositions, write: ArithmeticWriter) -> list[str]:
    """States that the weights of a distribution sum to 1; empty if all of them are 0."""
    if step.record is None or not step.record.is_distribution:
        return []
    weights = _part(step, at, LEADING | {"n"})
    name = f"Σⱼ {write.symbol('weights')}ᵢⱼ"
    return [write.computed(name, total(weights, write.column)).line] if np.count_nonzero(weights) > 1 else []


def _part(step: Step, at: AxisPositions, letters: set[str]) -> Array:
    """A step's value at the indices on some of its axes; on an axis of length 1, which broadcasts, the index is 0.

    Numbers of any floating-point type become Python floats, so that the arithmetic does not round them.
    """
    index = zip(step.axes, step.value.shape, strict=True)
    part = step.value[tuple(min(at[x], size - 1) if x in letters and x in at else slice(None) for x, size in index)]
    return np.asarray(part, dtype=np.float64) if step.value.dtype.kind == "f" else part


def _projection(trace: Trace, step: Step, at: AxisPositions, write: ArithmeticWriter) -> str:
    """The line `query(word_1) = 1·[2 0 2] + 0·[2 0 0] + 0·[2 1 2] = [2 0 2]`: one row of `x @ w + b`."""
    letter = step.axes[-2]
    values = {name: trace[source] for name, source in step.inputs.items()}
    source = values["x"]
    rows: dict[str, Any] = {**at, source.axes[-2]: at[letter]}
    x, result = _part(source, rows, set(rows)), _part(step, at, set(at))
    term = products(x, _part(values["w"], at, set())) if "w" in values else number(x)
    if "b" in values:
        term += number(_part(values["b"], at, set()))
    name = f"{step.name}({trace.numbered_labels[letter][at[letter]]})"
    return write.equation(term, result, name=name, letter=step.axes[-1])


def default_cell(weights: Array, scores: Array | None = None) -> tuple[int, ...]:
    """The index of the most instructive weight [… n m]; `scores`, if given, have the same shape.

    It is the second largest weight of the first row that has one which meets these conditions, with the decimals of a
    table:

    - is neither 0 nor 1: the key is not hidden, and it is not the only visible one;
    - is smaller than the largest of the row, whose exponential is exp(0);
    - has a score that is not 0.

    If no row meets them, the score may be 0; if still none does, it is the largest weight of all.
    """
    found = next(_second_largest(weights, scores), None) or next(_second_largest(weights, None), None)
    if found is not None:
        return found
    largest = int(np.argmax(np.where(np.isnan(weights), -np.inf, weights)))
    return tuple(map(int, np.unravel_index(largest, weights.shape)))


def _second_largest(weights: Array, scores: Array | None) -> Iterator[tuple[int, ...]]:
    """The index of the second largest weight, with a score other than 0, of each row that has one."""
    for row in np.ndindex(weights.shape[:-1]):
        own = _as_shown(weights[row])
        counts = np.isfinite(own) & (own != 0) & (own != 1)
        counts &= own < own.max(initial=-np.inf, where=counts)
        if scores is not None:
            counts &= _as_shown(scores[row]) != 0
        if counts.any():
            yield (*row, int(np.argmax(np.where(counts, own, -np.inf))))


def _as_shown(numbers: Array) -> Array:
    """Numbers with the decimals of a table."""
    with np.errstate(over="ignore"):  # an integer of more than 300 digits is infinite here
        return np.round(numbers.astype(np.float64), DECIMALS)
