"""What is shown, in which order, before anybody decides how: a heading, grids and arithmetic for each quantity."""

from collections.abc import Iterator
from dataclasses import dataclass

from attncli.base.axes import LEGEND
from attncli.ops.registry import format_value
from attncli.render import by_hand
from attncli.render.focus import Place, along, focus
from attncli.render.grid import Grid, grids
from attncli.render.mask_signs import pictures
from attncli.render.view import View
from attncli.trace.steps import Step, Trace

AXES = {"b": ("batch items", "--batch"), "h": ("heads", "--head")}
PICTURE = "visible"


@dataclass(frozen=True)
class Section:
    """One quantity: `title`, how it comes about, its grids, one cell by hand, and what else is to be said."""

    title: str
    grids: tuple[Grid, ...]
    formula: str = ""
    shapes: str = ""
    arithmetic: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def sections(view: View) -> Iterator[Section]:
    """Every step that does something, with --explain; the selected results without."""
    trace = view.result.trace
    if not view.explain:
        for name in view.result.select:
            shown, legends = _grids(trace, trace[name], along(trace, dict(view.chosen)))
            yield Section(name, shown, remarks=legends)
        return
    at = focus(view)
    yield Section("letters", (), formula=_letters(trace))
    fixed = {letter: at[letter] for letter in at if letter in "bhg" and not _every(view, letter)}
    for step in trace.given:
        shown, _ = _grids(trace, step, fixed)
        yield Section(f"{step.name}  {step.symbol}", shown, formula=step.formula, shapes=_shape(step))
    numbered = [step for step in trace.computed if not _is_plain(step)]
    told: set[str] = set()
    for number, step in enumerate(numbered, 1):
        shown, legends = _grids(trace, step, fixed)
        yield Section(
            title=f"{number}. {step.name}  {step.symbol}",
            grids=shown,
            formula=step.formula,
            shapes=_shapes(trace, step),
            arithmetic=(*_rules(trace, step, at, view), *by_hand.lines(trace, step, at, view.places)),
            remarks=(*legends, *_parts(step, fixed, told), *_remarks(trace, step)),
        )


def _is_plain(step: Step) -> bool:
    """Whether a step has nothing to tell: it hands on what it got, counts 0, 1, 2 …, or is a part of the picture."""
    return step.is_identity or step.stage == "index" or step.name.startswith(f"{PICTURE}_by_")


def _every(view: View, letter: str) -> bool:
    """Whether all parts along an axis are shown; key heads go with their query heads."""
    return ("h" if letter == "g" else letter) in view.every


def _grids(trace: Trace, step: Step, fixed: Place) -> tuple[tuple[Grid, ...], tuple[str, ...]]:
    """The grids of a step and what their signs mean; masks are a picture."""
    if step.name != PICTURE:
        return tuple(grids(trace, step, fixed)), ()
    drawn = list(pictures(trace, step, fixed))
    return tuple(grid for grid, _ in drawn), tuple(dict.fromkeys(legend for _, legend in drawn))


def _rules(trace: Trace, step: Step, at: Place, view: View) -> Iterator[str]:
    """Under the picture of the masks, what each rule says of the cell that is followed."""
    if step.name == PICTURE:
        for source in step.inputs.values():
            yield from by_hand.lines(trace, trace[source], at, view.places)


def _letters(trace: Trace) -> str:
    """What the letters of the shapes stand for: `n queries, m keys, d query features`."""
    used = {letter for step in trace.steps for letter in step.axes}
    return ", ".join(f"{letter} {meaning}" for letter, meaning in LEGEND.items() if letter in used)


def _shape(step: Step) -> str:
    """`[n d] 4 × 3`."""
    return f"[{' '.join(step.axes)}] {' × '.join(map(str, step.value.shape))}".rstrip()


def _shapes(trace: Trace, step: Step) -> str:
    """What goes in and what comes out, in letters and lengths."""
    inputs = ", ".join(f"{trace[name].symbol} {_shape(trace[name])}" for name in step.inputs.values())
    shapes = f"{inputs} → {_shape(step)}" if inputs and step.tapped_from is None else _shape(step)
    options = [f"{name} = {format_value(value)}" for name, value in step.options.items() if step.record is not None]
    return "; ".join([shapes, *options])


def _parts(step: Step, fixed: Place, told: set[str]) -> Iterator[str]:
    """Where an axis of heads or batch items first comes, that one part of it is shown, and how to choose."""
    for letter, (what, option) in AXES.items():
        if letter in step.axes and letter in fixed and letter not in told:
            count = step.value.shape[step.axes.index(letter)]
            if count == 1:
                continue
            told.add(letter)
            yield f"one of {count} {what} is shown from here on; {option} 0 … {count - 1} or {option} all chooses"


def _remarks(trace: Trace, step: Step) -> Iterator[str]:
    """What follows without a step of its own, and the step's notes."""
    same = [other.name for other in trace.computed if other.is_identity and other.inputs["x"] == step.name]
    if same:
        names = " and ".join([", ".join(same[:-1]), same[-1]] if len(same) > 1 else same)
        yield f"{names} {'are' if len(same) > 1 else 'is'} the same: there is nothing to do"
    yield from step.notes
