"""The explanation of results: the inputs and steps that they are computed from, each with its purpose and numbers."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from attncli.base.axes import AXIS_NOUNS, format_lengths, legend
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import np
from attncli.base.text import join_words
from attncli.base.transliteration import transliterate
from attncli.ops import structural
from attncli.ops.records import format_value
from attncli.plan.graph import GIVEN, LOOK_UP, Node
from attncli.plan.purposes import purpose_of
from attncli.render.by_hand import worked_lines, worked_positions
from attncli.render.document import Grid, Section
from attncli.render.masks import VISIBLE_STEP
from attncli.render.tables import grids, position_label, sign_grids, with_changes
from attncli.render.view import Cell, View
from attncli.trace.positions import AxisPositions
from attncli.trace.steps import STEPS_OF_EVERY_PROBLEM, Step, Trace

# The axes of which one position is shown by default, and the option that chooses it.
OPTION_OF_AXIS = {"b": "--batch", "h": "--head"}
_PLURALS = {"query": "queries", "key": "keys", "value": "values"}


def explain(view: View) -> Iterator[Section]:
    """The letters of the axes, the worked cells, and every input and step that the results need, in order.

    A table whose numbers stand above already is not repeated.
    """
    trace, worked = view.result.trace, worked_positions(view)
    needed = trace.plan.needed_for(view.result.select)
    yield Section("letters", formula=axis_legend(step for step in trace.steps if step.name in needed))
    yield replace(worked_cells(view, worked), purpose=_purpose_of_cells(view, worked))
    writer = _StepWriter(view, worked)
    for entry in explained_steps(trace, needed):
        step = entry.steps[0]
        if entry.are_copies:
            yield section_of_copies(trace, entry)
        else:
            yield writer.section(step, entry.title, shapes_of(trace, step))


@dataclass(frozen=True)
class ExplainedStep:
    """An entry of an explanation: a step, or the queries, keys and values that are the sequences themselves.

    `number` counts those that are computed; inputs have none.
    """

    number: int | None
    steps: Sequence[Step]
    are_copies: bool = False

    @property
    def title(self) -> str:
        """The number and the names: `2. scores`."""
        names = ", ".join(step.name for step in self.steps)
        return names if self.number is None else f"{self.number}. {names}"


def explained_steps(trace: Trace, names: Collection[str]) -> Iterator[ExplainedStep]:
    """The steps of these names in the order in which they are explained, inputs first, without those left out."""
    steps = [step for step in trace.steps if step.name in names]
    number = 0
    for step in sorted(steps, key=lambda step: not (_is_input(step) or step.stage == LOOK_UP)):
        copies = _unprojected(steps, step)
        if copies and step is copies[0]:
            number += 1
            yield ExplainedStep(number, copies, are_copies=True)
        elif _is_input(step):
            yield ExplainedStep(None, (step,))
        elif not is_left_out(trace, step):
            number += 1
            yield ExplainedStep(number, (step,))


def shapes_of(trace: Trace, step: Step) -> str:
    """The shapes that stand beside a step: those of its inputs and its own, of an array that was given its own."""
    return format_shape(step) if _is_input(step) else format_signature(trace, step)


def _is_input(step: Step) -> bool:
    """Whether a step is an array that was given and that no problem computes: a parameter, a mask, a sequence."""
    return step.stage == GIVEN and step.name not in STEPS_OF_EVERY_PROBLEM


def worked_cells(view: View, worked: Sequence[AxisPositions]) -> Section:
    """Which cells are worked out: `cell  head 0, query word_1, key word_3`."""
    trace = view.result.trace
    lengths = dict(zip(trace["weights"].axes, trace["weights"].value.shape, strict=True))
    slices = [
        f"every {AXIS_NOUNS[letter]}" if letter in view.expanded_axes else position_label(trace, letter, at)
        for letter, at in worked[0].items()
        if letter in lengths and letter not in ("n", "m")
    ]
    cells = view.cells or (Cell(worked[0]["n"], worked[0]["m"]),)
    pairs = "; ".join(_cell_label(trace, cell) for cell in cells)
    return Section("cell" if len(worked) == 1 else f"{len(worked)} cells", formula=", ".join([*slices, pairs]))


def _cell_label(trace: Trace, cell: Cell) -> str:
    """`query word_1, key word_3`, or `query word_1, every key`."""
    pairs = (("n", cell.query), ("m", cell.key))
    return ", ".join(
        f"every {AXIS_NOUNS[letter]}" if at is None else position_label(trace, letter, at) for letter, at in pairs
    )


def _purpose_of_cells(view: View, worked: Sequence[AxisPositions]) -> str:
    """What is done with the worked cells, and what picks others."""
    subject = "This pair is" if len(worked) == 1 else "These pairs are"
    return f"{subject} marked in every table and worked out below it; {view.cell_option} picks others."


def is_left_out(trace: Trace, step: Step) -> bool:
    """Whether a step gets no section: what changes nothing, positions 0, 1, 2 …, a mask that the table of signs has."""
    is_row_number = step.inputs.keys() == {"rows"} and np.array_equal(step.value, trace[step.inputs["rows"]].value)
    changes_nothing = step.is_identity or is_split_of_one(step.node) or is_row_number
    is_mask = step.record is not None and step.record.kind == "mask"
    return changes_nothing or step.stage == "index" or is_mask


class _StepWriter:
    """Writes the sections of steps, one after the other; it knows which tables and axes were shown before."""

    def __init__(self, view: View, worked: Sequence[AxisPositions]) -> None:
        self.view = view
        self.worked = worked
        expanded_axes = view.expanded_axes | (frozenset("bh").difference(view.positions) if view.heatmap else set())
        # Key heads (g) are shown as their query heads (h) are.
        self.slices = {
            letter: worked[0][letter]
            for letter in worked[0]
            if letter in "bhg" and ("h" if letter == "g" else letter) not in expanded_axes
        }
        self.announced_axes: set[str] = set()
        self.shown: dict[str, tuple[Grid, ...]] = {}

    def section(self, step: Step, title: str, shapes: str) -> Section:
        """The section of one step, with its table or the name of the step above that has the same."""
        trace = self.view.result.trace
        step_grids = tuple(with_changes(self.view, step.name, lambda view: self._grids(view, step.name)))
        is_copy = _are_copies if step.function is structural.repeat_kv else _are_equal
        same_as = next((name for name, above in self.shown.items() if is_copy(above, step_grids)), None)
        remarks = [*slice_remarks(step, self.slices, self.announced_axes)]
        if same_as is None:
            self.shown[step.name] = step_grids
        else:
            remarks.append(f"the same numbers as {same_as}")
        remarks += word_remarks(trace, step) if step.stage == LOOK_UP else ()
        remarks += selection_remarks(trace, step)
        return Section(
            title=title,
            symbol=step.symbol,
            grids=step_grids if same_as is None else (),
            formula=step.formula,
            shapes=shapes,
            purpose=purpose_of(trace.plan, step.node),
            arithmetic=worked_lines(self.view, step, self.worked),
            remarks=(*remarks, *equality_remarks(trace, step), *step.notes),
        )

    def _grids(self, view: View, name: str) -> Iterator[Grid]:
        """The tables of a step of the view or of its result before, with the worked cells marked."""
        is_earlier = view is not self.view and not view.edited_cells
        worked = () if is_earlier else self.worked  # the axes of an earlier result may be shorter
        make_grids = sign_grids if name == VISIBLE_STEP else grids
        for grid in make_grids(view.result.trace, view.result.trace[name], self.slices, worked):
            yield replace(grid, is_abridged=True)


def _are_equal(above: Sequence[Grid], grids_of_step: Sequence[Grid]) -> bool:
    """Whether each grid has the same numbers as the one above in its place."""
    return len(above) == len(grids_of_step) and all(map(_is_equal, above, grids_of_step))


def _are_copies(above: Sequence[Grid], grids_of_step: Sequence[Grid]) -> bool:
    """Whether each grid has the same numbers as one above: heads that are repeated."""
    return all(any(_is_equal(grid, copy) for grid in above) for copy in grids_of_step)


def _is_equal(above: Grid, grid: Grid) -> bool:
    """Whether a grid has the same numbers in rows of the same labels; a table of one number or of signs has not."""
    has_numbers = above.signs is None and grid.signs is None and grid.values.size > 1
    is_same = has_numbers and above.rows == grid.rows and np.array_equal(above.values, grid.values)
    if above.before is None or grid.before is None:
        return is_same and above.before is grid.before
    return is_same and _is_equal(above.before, grid.before)


def _unprojected(steps: Sequence[Step], step: Step) -> Sequence[Step]:
    """The queries, keys and values that are the sequences themselves, where the step is one of them."""
    copies = [other for other in steps if other.is_identity and other.name in _PLURALS]
    return copies if step in copies else ()


def section_of_copies(trace: Trace, entry: ExplainedStep) -> Section:
    """One section for the queries, keys and values that nothing projects: `Q = K = V = X`."""
    by_source: dict[str, list[Step]] = {}
    for step in entry.steps:
        by_source.setdefault(step.inputs["x"], []).append(step)
    equalities = [" = ".join(step.symbol for step in (*own, trace[source])) for source, own in by_source.items()]
    roles = [
        f"those of {source} are the {join_words([_PLURALS[step.name] for step in own])}"
        for source, own in by_source.items()
    ]
    return Section(
        title=entry.title,
        formula=", ".join(equalities),
        purpose=f"Nothing projects these vectors: {', '.join(roles)}.",
    )


def axis_legend(steps: Iterable[Step]) -> str:
    """The meaning of the letters of the axes: `n queries, m keys, d query features`."""
    return legend(letter for step in steps for letter in step.axes)


def format_shape(step: Step) -> str:
    """The axes of a step and their lengths: `[n d] 4 × 3`."""
    return f"[{' '.join(step.axes)}] {format_lengths(step.value.shape)}".rstrip()


def format_signature(trace: Trace, step: Step) -> str:
    """The shapes of a step's inputs and result, and its operator's options: `Q [n d] 4 × 3, … → [n m] 4 × 4`."""
    inputs = ", ".join(f"{trace[name].symbol} {format_shape(trace[name])}" for name in step.inputs.values())
    shapes = f"{inputs} → {format_shape(step)}" if inputs and step.tapped_from is None else format_shape(step)
    return "; ".join([shapes, *_parameters_in_force(step)])


def _parameters_in_force(step: Step) -> Iterator[str]:
    """The parameters of an operator that were given, and those that its formula has: `sigma = 1`, where it has a σ."""
    if step.record is None:
        return
    names_in_formula = transliterate(step.formula, "ascii")
    for parameter in step.record.parameters:
        value = step.options.get(parameter.name)
        if value is None:  # an array, or one that does not take part
            continue
        if value != parameter.default or re.search(rf"\b{parameter.name}\b", names_in_formula):
            yield f"{parameter.name} = {format_value(value)}"


def slice_remarks(step: Step, slices: Mapping[str, int], announced_axes: set[str]) -> Iterator[str]:
    """At the first step with an axis of batch items or heads: which of them is shown, and which option chooses."""
    for letter, option in OPTION_OF_AXIS.items():
        count = dict(zip(step.axes, step.value.shape, strict=True)).get(letter, 1)
        if letter not in slices or letter in announced_axes or count == 1:
            continue
        announced_axes.add(letter)
        noun, shown = AXIS_NOUNS[letter], slices[letter]
        others = f"0 … {count - 1}" if count > 2 else str(1 - shown)
        yield f"{noun} {shown} of {count} is shown from here on; {option} {others} shows another, {option} all each"


def equality_remarks(trace: Trace, step: Step) -> Iterator[str]:
    """The steps after the projections that are the same as this one: `output = context: one head, no w_o`."""
    for node in trace.plan.nodes:
        if node.inputs.get("x") != step.name:
            continue
        if is_split_of_one(node):
            yield f"{node.name} {node.symbol} = {step.name}: one head"
        elif node.name == "output" and node.is_identity:
            heads = "" if step.name != "context" else "the heads stay apart, " if "h" in step.axes else "one head, "
            yield f"output = {step.name}: {heads}no w_o"
        elif node.is_identity and node.stage != "project":
            yield f"{node.name} = {step.name}"


def is_split_of_one(node: Node) -> bool:
    """Whether a node splits features into one head, which changes nothing."""
    return node.function is structural.split_heads and node.options["heads"] == 1


def word_remarks(trace: Trace, step: Step) -> Iterator[str]:
    """The row of the vocabulary of each looked-up word, and which words have the same vector."""
    numbered, rows = trace.numbered_labels_of(step, -2), step.value.reshape(-1, *step.value.shape[-2:])[0]
    row_of = {word: row for row, word in enumerate(trace.labels.get("v", ()))}
    positions: dict[str, list[int]] = {}
    looked_up = []
    for at, word in enumerate(trace.labels_of(step, -2)):
        positions.setdefault(word, []).append(at)
        row = row_of.get(numbered[at], row_of.get(word))
        if row is not None:  # the user's own tokens are not in the vocabulary
            looked_up.append(f"{numbered[at]} {row}")
    if looked_up:
        yield f"rows of the vocabulary, counted from 0: {', '.join(looked_up)}"
    for equal in positions.values():
        if len(equal) > 1 and (rows[equal] == rows[equal[0]]).all():
            yield f"{join_words([numbered[at] for at in equal])} are one word, and have the same vector"


def selection_remarks(trace: Trace, step: Step) -> Iterator[str]:
    """Which queries `only` selects, at the step that selects them."""
    selected = step.node.options.get("at")
    if step.node.function is structural.select_rows and selected is not None:
        names = join_words(
            [f"{label} (row {row})" for label, row in zip(trace.numbered_labels["n"], selected, strict=True)]
        )
        yield f"of {len(trace.labels['q'])} queries, `only` selects {names}, counted from 0"
