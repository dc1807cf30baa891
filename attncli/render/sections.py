"""What is shown, in which order, before anybody decides how: a heading, grids and arithmetic for each quantity."""

from collections.abc import Iterator
from dataclasses import dataclass

from attncli.arrays import np
from attncli.render import by_hand
from attncli.render.grid import Grid, grids
from attncli.render.view import View
from attncli.shapes import LEGEND
from attncli.trace import Step, Trace


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
        fixed = {} if view.head is None else {"h": view.head}
        for name in view.result.select:
            step = trace[name]
            yield Section(name, tuple(grids(trace, step, fixed)))
        return
    at = focus(view)
    yield Section("letters", (), formula=_letters(trace))
    for step in trace.given:
        yield Section(
            f"{step.name}  {step.symbol}",
            tuple(grids(trace, step)),
            formula=step.formula,
            shapes=_shape(step),
        )
    shown = [step for step in trace.computed if not step.does_nothing]
    for number, step in enumerate(shown, 1):
        yield Section(
            title=f"{number}. {step.name}  {step.symbol}",
            grids=tuple(grids(trace, step, {letter: at[letter] for letter in step.axes[:-2]})),
            formula=step.formula,
            shapes=_shapes(trace, step),
            arithmetic=tuple(by_hand.lines(trace, step, at, view.places)),
            remarks=tuple(_remarks(trace, step)),
        )


def focus(view: View) -> dict[str, int]:
    """The cell that is worked out by hand: the one asked for, or the largest weight."""
    weights = view.result.trace["weights"]
    value = weights.value if view.head is None else weights.value[view.head]
    if view.cell is not None:
        value = value[..., view.cell[0] : view.cell[0] + 1, view.cell[1] : view.cell[1] + 1]
    largest = np.unravel_index(int(np.nanargmax(np.where(np.isnan(value), -np.inf, value))), value.shape)
    at = dict(zip(weights.axes[-value.ndim :], map(int, largest), strict=True))
    if view.cell is not None:
        at |= {"n": view.cell[0], "m": view.cell[1]}
    if view.head is not None and "h" in weights.axes:
        at["h"] = view.head
    return at


def _letters(trace: Trace) -> str:
    """What the letters of the shapes stand for: `n queries, m keys, d query features`."""
    used = {letter for step in trace.steps for letter in step.axes}
    return ", ".join(f"{letter} {meaning}" for letter, meaning in LEGEND.items() if letter in used)


def _shape(step: Step) -> str:
    """`[n d] 4 × 3`."""
    return f"[{' '.join(step.axes)}] {' × '.join(map(str, step.value.shape))}"


def _shapes(trace: Trace, step: Step) -> str:
    """What goes in and what comes out, in letters and lengths."""
    inputs = ", ".join(f"{trace[name].symbol} {_shape(trace[name])}" for name in step.inputs.values())
    shapes = f"{inputs} → {_shape(step)}" if inputs and step.inside is None else _shape(step)
    options = [f"{name} = {value}" for name, value in step.options.items() if step.entry is not None]
    return "; ".join([shapes, *options])


def _remarks(trace: Trace, step: Step) -> Iterator[str]:
    """Which part is shown, what follows without a step of its own, and the step's notes."""
    first_of_heads = next((s.name for s in trace.computed if s.axes[0] == "h"), None)
    if step.name == first_of_heads:
        yield f"one of {len(step.value)} heads is shown from here on; --head 0 … {len(step.value) - 1} chooses"
    same = [other.name for other in trace.computed if other.does_nothing and other.inputs["x"] == step.name]
    if same:
        yield f"{' and '.join(same)} is the same: there is nothing to do"
    yield from step.notes
