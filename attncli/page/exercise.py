"""The exercise of a page: the numbers to fill in, which the page leaves out and computes itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.base.text import count_of
from attncli.page.page_plans import is_computed_by_page
from attncli.plan.graph import Node, Plan
from attncli.render.blank_request import OPTION, BlankRequest
from attncli.render.view import View
from attncli.worksheet.blanks import Blanks, find_blanks

MAX_BLANKS = 2_000  # fields of a page: nobody fills in more
_WORKSHEET = "attn worksheet writes the exercise as a sheet"


@dataclass(frozen=True)
class PageExercise:
    """The blank cells of each step to fill in, by name, and the steps whose numbers it hides, in order."""

    cells: Mapping[str, Array]
    hidden: tuple[str, ...]


def find_exercise(view: View, can_compute: bool | str) -> PageExercise | None:
    """The exercise that a view requests; None if it requests none.

    Steps after blanks are hidden, and the requested ones among them have fields. Raises AttnError if the page can't
    compute the numbers that it hides, or has too many fields.
    """
    if view.blanks is None:
        return None
    trace = view.result.trace
    if can_compute is not True:
        raise AttnError("the page of this problem computes nothing", where=OPTION, hint=_WORKSHEET)
    shown = trace.plan.needed_for(trace.problem.default_selection)
    blanks = find_blanks(trace, view.blanks, view.decimals, sorted(shown))
    cells = {name: blanks.cells[name] for name in _steps_to_fill(trace.plan, blanks, view.blanks)}
    count = sum(int(blank.sum()) for blank in cells.values())
    if count > MAX_BLANKS:
        hint = f"at most {MAX_BLANKS:,}: name some, such as 'weights[0,*]', or a share, such as 0.1"
        raise AttnError(f"{count_of(count, 'field')} to fill in", where=OPTION, hint=hint)
    hidden = _hidden_steps(trace.plan, cells, blanks)
    foreign = [name for name in hidden if not is_computed_by_page(trace, trace[name])]
    if foreign:
        raise AttnError(f"a page can't compute {foreign[0]}", where=OPTION, hint=_WORKSHEET)
    return PageExercise(cells, hidden)


def exercise_object(exercise: PageExercise) -> dict[str, Any]:
    """The exercise for a page.

    - `answers`: the steps to fill in, in order.
    - `blanks`: the cells of them that are, as positions in the order of rows; null for all.
    - `hidden`: the steps whose numbers it hides.
    """
    positions = {
        name: None if blank.all() else blank.ravel().nonzero()[0].tolist() for name, blank in exercise.cells.items()
    }
    return {"answers": list(positions), "blanks": positions, "hidden": list(exercise.hidden)}


def _steps_to_fill(plan: Plan, blanks: Blanks, request: BlankRequest) -> list[str]:
    """The steps with fields: the requested ones, and the last among steps with the same numbers."""
    if request.share is not None:
        return list(blanks.answers)
    asked = {plan.resolve(name) for name in (*request.names, *(name for name, _ in request.cells))}
    for node in plan.nodes:
        if node.name in blanks.cells and _moves_numbers(node) and not asked.isdisjoint(node.inputs.values()):
            asked.add(node.name)
    # Another step may have the same numbers by chance, such as a context whose values are 1 and 0: it has no fields.
    return [name for name in blanks.answers if name in asked] or [name for name in blanks.cells if name in asked]


def _hidden_steps(plan: Plan, cells: Mapping[str, Array], blanks: Blanks) -> tuple[str, ...]:
    """The steps with fields, the steps whose numbers they only move, and all later ones."""
    hidden = {*cells}
    for node in reversed(plan.nodes):
        if node.name in hidden and _moves_numbers(node):
            hidden |= {*node.inputs.values()} & {*blanks.cells}
    found = _with_dependents(plan, hidden)
    return tuple(node.name for node in plan.nodes if node.name in found)


def _moves_numbers(node: Node) -> bool:
    """Whether a step only moves the numbers of one other step."""
    return node.is_exact and len(node.inputs) == 1


def _with_dependents(plan: Plan, names: Iterable[str]) -> set[str]:
    """Steps and all that depend on them; a step comes with its inner quantities."""
    found = {*names}
    for node in plan.nodes:
        if not found.isdisjoint(node.inputs.values()) or not found.isdisjoint(node.taps.values()):
            found.add(node.name)
        if node.name in found:
            found |= {*node.taps.values()}
    return found
