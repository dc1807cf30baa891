"""From a cell that is not finite back through the steps, to the cell that it came from."""

from collections.abc import Mapping

from attncli.base.lazy_numpy import Array, np
from attncli.engine.evaluate import evaluate
from attncli.plan.diagnostics import Cell
from attncli.plan.graph import Node, Plan
from attncli.plan.trace import Trace


def cells_not_finite(plan: Plan, node: Node, value: Array) -> Array:
    """Where a value is NaN or infinite; in the user's bias or scores, and in scores after masks, −∞ is a hidden key."""
    if value.dtype.kind != "f":
        return np.zeros(value.shape, dtype=bool)
    found: Array = ~np.isfinite(value)
    is_masked = node.role == "scores" and "visible" in plan.by_name and not is_before_mask(plan, node)
    is_masked = is_masked or (node.role == "scores" and plan.by_name["scores"].is_input)  # they may be masked already
    may_hide = is_masked or node.source in (("bias",), ("sink",))
    return found & (value != -np.inf) if may_hide else found


def is_before_mask(plan: Plan, node: Node) -> bool:
    """Whether a node is a table of the scores' axes that a mask is applied to later."""
    names = list(plan.by_name)
    has_masks = "visible" in plan.by_name
    return has_masks and node.axes == plan["scores"].axes and names.index(node.name) < names.index("visible")


def computing_node(plan: Plan, node: Node) -> Node:
    """The node whose function computes a node: of an inner quantity the one that it is tapped from."""
    return node if node.tapped_from is None else plan.by_name[node.tapped_from]


def cause_of(trace: Trace, cell: Cell) -> Cell:
    """The cell that a cell is not finite because of: one of an input, or of the step where finite numbers made it.

    Every step that the cell depends on is in the trace.
    """
    while not trace[cell.name].node.is_input:
        source = _source_of(trace, cell)
        if source is None:
            break
        cell = source
    return cell


def _source_of(trace: Trace, cell: Cell) -> Cell | None:
    """The cell of an input of a step that made a cell of it not finite; None where its function did.

    A number has reached the cell where it alone, with 1 in place of all others that are not finite, makes it not
    finite too.
    """
    plan = trace.plan
    node = computing_node(plan, plan.by_name[cell.name])
    values = {name: trace[name].value for name in node.inputs.values()}
    masks = {name: cells_not_finite(plan, plan.by_name[name], value) for name, value in values.items()}
    cells_of = {name: np.argwhere(mask) for name, mask in masks.items() if mask.any()}
    finite = values | {name: np.where(masks[name], np.ones_like(values[name]), values[name]) for name in cells_of}

    def reaches(name: str, cells: Array) -> bool:
        """Whether these cells of one input [cells axes] alone make the cell not finite."""
        array, index = finite[name].copy(), tuple(cells.T)
        array[index] = values[name][index]
        return _is_result_nonfinite(trace, node, {**finite, name: array}, cell)

    if not cells_of or _is_result_nonfinite(trace, node, finite, cell):
        return None
    for name, cells in cells_of.items():  # the first along common axes, which mostly is the one
        near = cells[_is_near(plan.by_name[name], cells, plan.by_name[cell.name], cell)][:1]
        if len(near) and reaches(name, near):
            return Cell(name, tuple(map(int, near[0])))
    for name, cells in cells_of.items():
        if reaches(name, cells):
            some = cells
            while len(some) > 1:
                half = some[: len(some) // 2]
                some = half if reaches(name, half) else some[len(half) :]
            return Cell(name, tuple(map(int, some[0])))
    return None


def _is_result_nonfinite(trace: Trace, node: Node, values: Mapping[str, Array], cell: Cell) -> bool:
    """Whether a cell is not finite where the node that computes it is evaluated with these values."""
    inner: dict[str, Array] = {}
    with np.errstate(all="ignore"):
        value = evaluate(node, values, trace.precision, inner.__setitem__)
    return not np.isfinite(inner.get(cell.name, value)[cell.at])


def _is_near(node: Node, cells: Array, result: Node, cell: Cell) -> Array:
    """Which cells of a node [cells axes] have the indices of a cell of the result along the axes that both have."""
    index_of = dict(zip(result.letters, cell.at, strict=True))
    near = np.ones(len(cells), dtype=bool)
    for axis, (letter, length) in enumerate(node.axes):
        if index_of.get(letter, length) < length:
            near &= cells[:, axis] == index_of[letter]
    return near
