"""The explanation of results: the inputs and steps that they depend on, each with its purpose and numbers."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.axes import AXIS_NOUNS, format_lengths, legend
from attncli.base.lazy_numpy import np
from attncli.base.text import join_words, transliterate
from attncli.ops import structural
from attncli.ops.derivatives import DerivativeRecord
from attncli.ops.records import format_value
from attncli.ops.registry import record_of
from attncli.plan.graph import GIVEN, GRADIENT, LOOK_UP, Node
from attncli.plan.trace import STEPS_OF_EVERY_PROBLEM, AxisPositions, Step, Trace
from attncli.render.by_hand import worked_cells, worked_lines, worked_positions
from attncli.render.document import Grid, Section
from attncli.render.masks import VISIBLE_STEP
from attncli.render.tables import OPTION_OF_AXIS, grids, sign_grids, with_changes
from attncli.render.view import View

_BACKWARD = (
    "From grad_output back to the inputs. The gradient of a step says how much the loss grows with each of its "
    "numbers. By the chain rule it follows from the gradients of the steps that read it."
)
_PLURALS = {"query": "queries", "key": "keys", "value": "values"}


def explain(view: View, names: Collection[str] = ()) -> Iterator[Section]:
    """The letters of the axes, the worked cells, and every input and step that the results need, in order.

    It does not repeat a table with numbers shown above. Named steps are shown alone, as they are among all.
    """
    entries = _explained(view, (*view.result.select, *names))
    return (section for section, steps in entries if not names or not steps.isdisjoint(names))


def _explained(view: View, names: Collection[str]) -> Iterator[tuple[Section, frozenset[str]]]:
    """Each section of the explanation of some steps, with the names of its steps."""
    trace, worked = view.result.trace, worked_positions(view)
    needed = trace.plan.needed_for(names)
    letters = legend(letter for step in trace.steps if step.name in needed for letter in step.axes)
    yield Section("letters", formula=letters), frozenset()
    noun = "pair" if trace.plan.has_weights else "token"
    subject = f"This {noun} is" if len(worked) == 1 else f"These {noun}s are"
    purpose = f"{subject} marked in every table and worked out below it; --cell QUERY,KEY picks others."
    yield replace(worked_cells(view, worked), purpose=purpose), frozenset()
    writer = _StepWriter(view, worked)
    is_backward = False
    for entry in explained_steps(trace, needed):
        if entry.steps[0].stage == GRADIENT and not is_backward:
            is_backward = True
            yield Section("backward pass", purpose=_BACKWARD), frozenset()
        own = section_of_copies(trace, entry) if entry.are_copies else writer.section(entry.steps[0], entry.title)
        yield own, frozenset(step.name for step in entry.steps)


@dataclass(frozen=True)
class ExplainedStep:
    """An entry of an explanation: a step, or queries, keys and values that are the sequences themselves.

    `number` counts computed steps; inputs have none.
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
    """The steps of these names in the order of explanation, inputs first, without omitted ones."""
    steps = [step for step in trace.steps if step.name in names]
    copies = [step for step in steps if step.is_identity and step.name in _PLURALS]  # without projection
    number = 0
    for step in sorted(steps, key=lambda step: not (_is_input(step) or step.stage == LOOK_UP)):
        are_copies = bool(copies) and step is copies[0]
        if _is_input(step) and not are_copies:
            yield ExplainedStep(None, (step,))
        elif are_copies or not is_left_out(trace, step):
            number += 1
            yield ExplainedStep(number, copies if are_copies else (step,), are_copies)


def is_left_out(trace: Trace, step: Step) -> bool:
    """Whether a step gets no section: it changes nothing, is 0, 1, 2 …, or is a mask in the table of signs."""
    is_row_number = step.inputs.keys() == {"rows"} and np.array_equal(step.value, trace[step.inputs["rows"]].value)
    changes_nothing = step.is_identity or _is_split_of_one(step.node) or is_row_number
    is_mask = step.node.is_boolean and step.name != VISIBLE_STEP
    return changes_nothing or step.stage == "index" or is_mask


def _is_input(step: Step) -> bool:
    """Whether a step is a given array that no problem computes: a parameter, a mask, a sequence."""
    return step.stage == GIVEN and step.name not in STEPS_OF_EVERY_PROBLEM


def section_of_copies(trace: Trace, entry: ExplainedStep) -> Section:
    """One section for queries, keys and values without projections: `Q = K = V = X`."""
    by_source: dict[str, list[Step]] = {}
    for step in entry.steps:
        by_source.setdefault(step.inputs["x"], []).append(step)
    equalities = [" = ".join(step.symbol for step in (*own, trace[source])) for source, own in by_source.items()]
    roles = [
        f"the {join_words([_PLURALS[step.name] for step in own])} come from {source}"
        for source, own in by_source.items()
    ]
    purpose = f"Nothing projects these vectors: {', '.join(roles)}."
    return Section(entry.title, formula=", ".join(equalities), purpose=purpose)


class _StepWriter:
    """Writes the sections of steps one after the other, and knows which tables and axes came before."""

    def __init__(self, view: View, worked: Sequence[AxisPositions]) -> None:
        self.view = view
        self.worked = worked
        expanded_axes = view.expanded_axes | (frozenset("bh").difference(view.positions) if view.heatmap else set())
        # Key heads (g) appear as their query heads (h).
        self.slices = {
            letter: at
            for letter, at in worked[0].items()
            if letter in "bhg" and ("h" if letter == "g" else letter) not in expanded_axes
        }
        self.announced_axes: set[str] = set()
        self.shown: dict[str, tuple[Grid, ...]] = {}

    def section(self, step: Step, title: str) -> Section:
        """The section of one step, with its table or the name of an earlier step with the same one."""
        trace = self.view.result.trace
        tables = tuple(with_changes(self.view, step.name, lambda view: self._grids(view, step.name)))
        same_as = next((name for name, above in self.shown.items() if _is_shown(step, tables, above)), None)
        remarks = [*self._slice_remarks(step)]
        if same_as is None:
            self.shown[step.name] = tables
        else:
            remarks.append(f"the same numbers as {same_as}")
        return Section(
            title=title,
            symbol=step.symbol,
            grids=tables if same_as is None else (),
            formula=step.formula,
            shapes=shapes_of(trace, step),
            purpose=step.node.purpose,
            arithmetic=worked_lines(self.view, step, self.worked),
            remarks=(*remarks, *step_remarks(trace, step)),
        )

    def _grids(self, view: View, name: str) -> Iterator[Grid]:
        """The tables of a step, in the view or in the earlier result, with the worked cells marked."""
        is_earlier = view is not self.view and not view.edited_cells
        worked = () if is_earlier else self.worked  # the axes of an earlier result may be shorter
        make_grids = sign_grids if name == VISIBLE_STEP else grids
        for grid in make_grids(view.result.trace, view.result.trace[name], self.slices, worked):
            yield replace(grid, is_abridged=True)

    def _slice_remarks(self, step: Step) -> Iterator[str]:
        """At the first step with an axis of batch items or heads: which one is shown, and the option to choose it."""
        for letter, option in OPTION_OF_AXIS.items():
            count = dict(zip(step.axes, step.value.shape, strict=True)).get(letter, 1)
            if letter not in self.slices or letter in self.announced_axes or count == 1:
                continue
            self.announced_axes.add(letter)
            noun, shown = AXIS_NOUNS[letter], self.slices[letter]
            others = f"0 … {count - 1}" if count > 2 else str(1 - shown)
            yield f"{noun} {shown} of {count} is shown from here on; {option} {others} shows another, {option} all each"


def _is_shown(step: Step, tables: Sequence[Grid], above: Sequence[Grid]) -> bool:
    """Whether the tables of a step repeat numbers shown above; repeated heads each have the numbers of one."""
    if step.function is structural.repeat_kv:
        return all(any(_is_equal(one, table) for one in above) for table in tables)
    return len(above) == len(tables) and all(map(_is_equal, above, tables))


def _is_equal(above: Grid, grid: Grid) -> bool:
    """Whether a grid has the same numbers and row labels; never for one number or for signs."""
    has_numbers = above.signs is None and grid.signs is None and grid.values.size > 1
    is_same = has_numbers and above.rows == grid.rows and np.array_equal(above.values, grid.values)
    if above.before is None or grid.before is None:
        return is_same and above.before is grid.before
    return is_same and _is_equal(above.before, grid.before)


def shapes_of(trace: Trace, step: Step) -> str:
    """The shapes of a step's inputs and of the step, `Q [n d] 4 × 3, … → [n m] 4 × 4`, and its operator's options."""
    inputs = ", ".join(f"{trace[name].symbol} {format_shape(trace[name])}" for name in _read_by(trace, step))
    if _is_input(step) or step.tapped_from is not None or not inputs:
        shapes = format_shape(step)
    else:
        shapes = f"{inputs} → {format_shape(step)}"
    return shapes if _is_input(step) else "; ".join([shapes, *_parameters_in_force(step)])


def _read_by(trace: Trace, step: Step) -> Sequence[str]:
    """The steps whose numbers a step reads; a derivative does not read those it takes only the shape of."""
    record: Any = None if step.function is None else record_of(step.function)
    if not isinstance(record, DerivativeRecord) or not record.is_recorded:
        return list(step.inputs.values())
    from attncli.render.recorded_lines import arrays_read  # noqa: PLC0415 - few steps are read off

    read = arrays_read(trace, step)
    return [name for argument, name in step.inputs.items() if argument in read]


def format_shape(step: Step) -> str:
    """The axes of a step and their lengths: `[n d] 4 × 3`."""
    return f"[{' '.join(step.axes)}] {format_lengths(step.value.shape)}" if step.axes else "one number"


def _parameters_in_force(step: Step) -> Iterator[str]:
    """The given parameters of an operator, and those in its formula: `sigma = 1` if it has a σ."""
    names_in_formula = transliterate(step.formula, "ascii")
    for parameter in () if step.record is None else step.record.parameters:
        value = step.options.get(parameter.name)
        if value is None:  # an array, or an unused parameter
            continue
        if value != parameter.default or re.search(rf"\b{parameter.name}\b", names_in_formula):
            yield f"{parameter.name} = {format_value(value)}"


def step_remarks(trace: Trace, step: Step, *, says_drawn: bool = True) -> Iterator[str]:
    """Remarks on the numbers of a step: selected words and queries, equal steps, notes.

    With `says_drawn` also the generator that drew them.
    """
    if step.stage == LOOK_UP:
        yield from _word_remarks(trace, step)
    selected = step.node.options.get("at")
    if step.node.function is structural.select_rows and selected is not None:
        labels = zip(trace.numbered_labels["n"], selected, strict=True)
        names = join_words([f"{label} (row {row})" for label, row in labels])
        yield f"of {len(trace.labels['q'])} queries, `only` selects {names}, counted from 0"
    if says_drawn and step.name in trace.problem.generators:
        yield f"drawn: {trace.problem.generators[step.name]}"
    yield from equality_remarks(trace, step)
    yield from step.notes


def equality_remarks(trace: Trace, step: Step) -> Iterator[str]:
    """The steps after the projections that are the same as this one: `output = context: one head, no w_o`."""
    for node in trace.plan.nodes:
        if node.inputs.get("x") != step.name:
            continue
        if _is_split_of_one(node):
            yield f"{node.name} {node.symbol} = {step.name}: one head"
        elif node.name == "output" and node.is_identity:
            heads = "" if step.name != "context" else "the heads stay apart, " if "h" in step.axes else "one head, "
            yield f"output = {step.name}: {heads}no w_o"
        elif node.is_identity and node.stage != "project":
            yield f"{node.name} = {step.name}"


def _is_split_of_one(node: Node) -> bool:
    """Whether a node splits features into one head, which changes nothing."""
    return node.function is structural.split_heads and node.options["heads"] == 1


def _word_remarks(trace: Trace, step: Step) -> Iterator[str]:
    """The row of the vocabulary for each looked-up word, and the words with equal vectors."""
    numbered, rows = trace.numbered_labels_of(step, -2), step.value.reshape(-1, *step.value.shape[-2:])[0]
    row_of = {word: row for row, word in enumerate(trace.labels.get("v", ()))}
    positions: dict[str, list[int]] = {}
    looked_up = []
    for at, word in enumerate(trace.labels_of(step, -2)):
        positions.setdefault(word, []).append(at)
        row = row_of.get(numbered[at], row_of.get(word))
        if row is not None:  # the vocabulary lacks the user's own tokens
            looked_up.append(f"{numbered[at]} {row}")
    if looked_up:
        yield f"rows of the vocabulary, counted from 0: {', '.join(looked_up)}"
    for equal in positions.values():
        if len(equal) > 1 and (rows[equal] == rows[equal[0]]).all():
            yield f"{join_words([numbered[at] for at in equal])} are one word, and have the same vector"
