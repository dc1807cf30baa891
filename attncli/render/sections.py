"""The content of a view, independent of its format: a title, grids and arithmetic for each quantity, in order."""

from collections.abc import Iterator
from dataclasses import dataclass

from attncli.base.axes import LEGEND
from attncli.ops.records import format_value
from attncli.plan.purposes import purpose_of
from attncli.render import by_hand
from attncli.render.focus import AxisPositions, add_dependent_axes, focus_positions
from attncli.render.grid import Grid, grids, position_label
from attncli.render.mask_signs import sign_grids
from attncli.render.selection import selected_grids
from attncli.render.view import View
from attncli.trace.steps import Step, Trace

# The axes of which one position is shown by default: what they count, and the option that chooses.
OPTION_OF_AXIS = {"b": ("batch items", "--batch"), "h": ("heads", "--head")}
VISIBLE_STEP = "visible"  # the step that is shown as a table of mask signs; each mask is a step `visible_by_…`


@dataclass(frozen=True)
class Section:
    """One quantity: its title, purpose, formula and shapes, its grids, the arithmetic of some cells, and remarks."""

    title: str
    grids: tuple[Grid, ...] = ()
    symbol: str = ""
    formula: str = ""
    shapes: str = ""
    purpose: str = ""  # what it is for, in one sentence
    arithmetic: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The title and the symbol."""
        return "  ".join(part for part in (self.title, self.symbol) if part)


def sections(view: View) -> Iterator[Section]:
    """A section for each step to explain, for each step that the chosen cell is computed in, or for each result."""
    if view.explain:
        return _explanation(view)
    return _selection(view) if view.cell is None else _worked_cell(view)


def _selection(view: View) -> Iterator[Section]:
    """The selected results."""
    trace, positions = view.result.trace, add_dependent_axes(view.result.trace, dict(view.positions))
    for name in view.result.select:
        step = trace[name]
        is_mask = step.name == VISIBLE_STEP
        step_grids = tuple(sign_grids(trace, step, positions) if is_mask else selected_grids(view, step))
        yield Section(name, step_grids, formula=trace.same_as(name))


def _worked_cell(view: View) -> Iterator[Section]:
    """The arithmetic of one cell in each step, without tables: the cell, then a section for each step that has any."""
    trace = view.result.trace
    focus = focus_positions(view)
    axes = [letter for letter in (*trace["weights"].axes[:-2], "n", "m") if letter in focus]
    yield Section("cell", formula=", ".join(position_label(trace, letter, focus[letter]) for letter in axes))
    for step in trace.computed:
        arithmetic = () if _is_left_out(step) else _arithmetic(trace, step, focus, view.decimals)
        if arithmetic:
            yield Section(step.name, symbol=step.symbol, formula=step.formula, arithmetic=arithmetic)


def _explanation(view: View) -> Iterator[Section]:
    """The legend of the axes, the inputs, and every step with the arithmetic of one cell."""
    trace = view.result.trace
    focus = focus_positions(view)
    yield Section("letters", formula=_axis_legend(trace))
    slices = {letter: focus[letter] for letter in focus if letter in "bhg" and not _is_expanded(view, letter)}
    for step in trace.given:
        step_grids = _grids(trace, step, slices)
        purpose = purpose_of(trace.plan, step.node)
        yield Section(step.name, step_grids, step.symbol, step.formula, _format_shape(step), purpose)
    announced_axes: set[str] = set()
    for number, step in enumerate((step for step in trace.computed if not _is_left_out(step)), 1):
        yield Section(
            title=f"{number}. {step.name}",
            symbol=step.symbol,
            grids=_grids(trace, step, slices),
            formula=step.formula,
            shapes=_format_signature(trace, step),
            purpose=purpose_of(trace.plan, step.node),
            arithmetic=_arithmetic(trace, step, focus, view.decimals),
            remarks=(*_slice_remarks(step, slices, announced_axes), *_step_remarks(trace, step)),
        )


def _is_left_out(step: Step) -> bool:
    """Whether a step gets no section: an identity, positions 0, 1, 2 …, or a mask that the table of signs has."""
    return step.is_identity or step.stage == "index" or step.name.startswith(f"{VISIBLE_STEP}_by_")


def _is_expanded(view: View, letter: str) -> bool:
    """Whether all positions on an axis are shown; key heads (g) as their query heads (h) are."""
    return ("h" if letter == "g" else letter) in view.expanded_axes


def _grids(trace: Trace, step: Step, positions: AxisPositions) -> tuple[Grid, ...]:
    """The grids of a step; of masks those of their signs."""
    return tuple((sign_grids if step.name == VISIBLE_STEP else grids)(trace, step, positions))


def _arithmetic(trace: Trace, step: Step, focus: AxisPositions, decimals: int) -> tuple[str, ...]:
    """The arithmetic of a step in one cell; of all masks together that of each."""
    sources = [trace[name] for name in step.inputs.values()] if step.name == VISIBLE_STEP else []
    return tuple(line for source in (*sources, step) for line in by_hand.lines(trace, source, focus, decimals))


def _axis_legend(trace: Trace) -> str:
    """The meaning of the letters of the axes: `n queries, m keys, d query features`."""
    letters = {letter for step in trace.steps for letter in step.axes}
    return ", ".join(f"{letter} {meaning}" for letter, meaning in LEGEND.items() if letter in letters)


def _format_shape(step: Step) -> str:
    """The axes of a step and their lengths: `[n d] 4 × 3`."""
    return f"[{' '.join(step.axes)}] {' × '.join(map(str, step.value.shape))}".rstrip()


def _format_signature(trace: Trace, step: Step) -> str:
    """The shapes of a step's inputs and result, and its operator's options: `Q [n d] 4 × 3, … → [n m] 4 × 4`."""
    inputs = ", ".join(f"{trace[name].symbol} {_format_shape(trace[name])}" for name in step.inputs.values())
    shapes = f"{inputs} → {_format_shape(step)}" if inputs and step.tapped_from is None else _format_shape(step)
    options = step.options if step.record is not None else {}  # one that is None does not take part
    texts = [f"{name} = {format_value(value)}" for name, value in options.items() if value is not None]
    return "; ".join([shapes, *texts])


def _slice_remarks(step: Step, slices: AxisPositions, announced_axes: set[str]) -> Iterator[str]:
    """At the first step with an axis of batch items or heads: that one of them is shown, and which option chooses."""
    for letter, (plural, option) in OPTION_OF_AXIS.items():
        if letter in step.axes and letter in slices and letter not in announced_axes:
            count = step.value.shape[step.axes.index(letter)]
            if count == 1:
                continue
            announced_axes.add(letter)
            yield f"one of {count} {plural} is shown from here on; {option} 0 … {count - 1} or {option} all chooses"


def _step_remarks(trace: Trace, step: Step) -> Iterator[str]:
    """The steps that are the same as this one, and its notes."""
    same = [other.name for other in trace.computed if other.is_identity and other.inputs["x"] == step.name]
    if same:
        names = " and ".join([", ".join(same[:-1]), same[-1]] if len(same) > 1 else same)
        yield f"{names} {'are' if len(same) > 1 else 'is'} the same: there is nothing to do"
    yield from step.notes
