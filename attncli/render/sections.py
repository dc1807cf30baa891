"""The content of a view, independent of its format: a title, grids and arithmetic for each quantity, in order."""

from collections.abc import Iterator
from dataclasses import dataclass

from attncli.base.axes import LEGEND
from attncli.ops.records import format_value
from attncli.render import by_hand
from attncli.render.focus import AxisPositions, add_dependent_axes, focus_positions
from attncli.render.grid import Grid, grids
from attncli.render.mask_signs import sign_grids
from attncli.render.view import View
from attncli.trace.steps import Step, Trace

# The axes of which one position is shown by default: what they count, and the option that chooses.
OPTION_OF_AXIS = {"b": ("batch items", "--batch"), "h": ("heads", "--head")}
VISIBLE_STEP = "visible"  # the step that is shown as a table of mask signs; each mask is a step `visible_by_…`


@dataclass(frozen=True)
class Section:
    """One quantity: its title, formula and shapes, its grids, the arithmetic of one cell, and remarks."""

    title: str
    grids: tuple[Grid, ...]
    formula: str = ""
    shapes: str = ""
    arithmetic: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def sections(view: View) -> Iterator[Section]:
    """A section for each selected result, or with `explain` for each step that computes something."""
    return _explanation(view) if view.explain else _selection(view)


def _selection(view: View) -> Iterator[Section]:
    """The selected results."""
    trace = view.result.trace
    for name in view.result.select:
        step_grids, legends = _grids(trace, trace[name], add_dependent_axes(trace, dict(view.positions)))
        yield Section(name, step_grids, formula=trace.same_as(name), remarks=legends)


def _explanation(view: View) -> Iterator[Section]:
    """The legend of the axes, the inputs, and every step with the arithmetic of one cell."""
    trace = view.result.trace
    focus = focus_positions(view)
    yield Section("letters", (), formula=_axis_legend(trace))
    slices = {letter: focus[letter] for letter in focus if letter in "bhg" and not _is_expanded(view, letter)}
    for step in trace.given:
        step_grids, _ = _grids(trace, step, slices)
        yield Section(f"{step.name}  {step.symbol}", step_grids, formula=step.formula, shapes=_format_shape(step))
    announced_axes: set[str] = set()
    for number, step in enumerate((step for step in trace.computed if not _is_left_out(step)), 1):
        step_grids, legends = _grids(trace, step, slices)
        yield Section(
            title=f"{number}. {step.name}  {step.symbol}",
            grids=step_grids,
            formula=step.formula,
            shapes=_format_signature(trace, step),
            arithmetic=(
                *_mask_arithmetic(trace, step, focus, view.decimals),
                *by_hand.lines(trace, step, focus, view.decimals),
            ),
            remarks=(*legends, *_slice_remarks(step, slices, announced_axes), *_step_remarks(trace, step)),
        )


def _is_left_out(step: Step) -> bool:
    """Whether a step gets no section: an identity, positions 0, 1, 2 …, or a mask that the table of signs has."""
    return step.is_identity or step.stage == "index" or step.name.startswith(f"{VISIBLE_STEP}_by_")


def _is_expanded(view: View, letter: str) -> bool:
    """Whether all positions on an axis are shown; key heads (g) as their query heads (h) are."""
    return ("h" if letter == "g" else letter) in view.expanded_axes


def _grids(trace: Trace, step: Step, positions: AxisPositions) -> tuple[tuple[Grid, ...], tuple[str, ...]]:
    """The grids of a step, and the legends of mask signs."""
    if step.name != VISIBLE_STEP:
        return tuple(grids(trace, step, positions)), ()
    pairs = list(sign_grids(trace, step, positions))
    return tuple(grid for grid, _ in pairs), tuple(dict.fromkeys(legend for _, legend in pairs))


def _mask_arithmetic(trace: Trace, step: Step, focus: AxisPositions, decimals: int) -> Iterator[str]:
    """The arithmetic of each mask in one cell, below the table of mask signs."""
    if step.name == VISIBLE_STEP:
        for source in step.inputs.values():
            yield from by_hand.lines(trace, trace[source], focus, decimals)


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
