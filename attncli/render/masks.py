"""The masks of a result: the cells of scores and weights that they hide, and the signs of their rules."""

from collections.abc import Collection, Sequence

from attncli.base.lazy_numpy import Array, np
from attncli.ops.records import MaskSign
from attncli.plan.graph import Node, Plan
from attncli.plan.trace import Step, Trace

VISIBLE_STEP = "visible"  # where every mask permits the pair
VISIBLE, UNSIGNED = "●", "□"  # sign of a visible cell, and of a rule whose record has no sign


def masks_to_show(plan: Plan, names: Collection[str]) -> tuple[str, ...]:
    """The step with the hidden cells of some results, if there are any and the results don't include it."""
    found = any(_has_hidden_cells(plan, plan[name]) for name in names)
    return (VISIBLE_STEP,) if found and VISIBLE_STEP not in names else ()


def _has_hidden_cells(plan: Plan, node: Node) -> bool:
    """Whether a node is a table of queries and keys after the masks."""
    is_table = node.letters[-2:] == ("n", "m") and node.name != VISIBLE_STEP
    return is_table and VISIBLE_STEP in plan.needed_for([node.name])


def hidden_cells(trace: Trace, step: Step, index: Sequence[int]) -> Array | None:
    """True [n m] where masks hide cells in a slice of a step [… n m]; None if no mask acts before the step.

    `index` is the slice's position on the axes before the last two. A large problem may not have kept the masks: then
    it is None too.
    """
    if VISIBLE_STEP not in trace.by_name or not _has_hidden_cells(trace.plan, step.node):
        return None
    visible = trace.by_name[VISIBLE_STEP]
    position_of = dict(zip(step.axes[:-2], index, strict=True))
    at = tuple(
        0 if size == 1 else position_of[letter]
        for letter, size in zip(visible.axes[:-2], visible.value.shape[:-2], strict=True)
    )
    cells = visible.value[at]
    if any(own not in (1, size) for own, size in zip(cells.shape, step.value.shape[-2:], strict=True)):
        return None  # a table that all queries share, such as the gradient of a bias
    return ~np.broadcast_to(cells, step.value.shape[-2:])


def rules_to_show(plan: Plan, names: Collection[str]) -> tuple[str, ...]:
    """The steps of the rules whose signs appear in the tables of some results: the rules of the step `visible`."""
    resolved = {plan.resolve(name) for name in names}
    return tuple(plan[VISIBLE_STEP].inputs.values()) if VISIBLE_STEP in resolved else ()


def rules_below(plan: Plan) -> Sequence[str]:
    """The inputs of the step `visible`: its rules, and before a combined rule its own inputs."""
    needed = plan.needed_for([VISIBLE_STEP]) if VISIBLE_STEP in plan.by_name else ()
    return [node.name for node in plan.nodes if node.name in needed and node.is_boolean and node.name != VISIBLE_STEP]


def signs_of_rules(plan: Plan, node: Node) -> Sequence[tuple[str, MaskSign]]:
    """The nodes of the rules that the node `visible` reads, each with its sign, in the order of precedence."""
    signs = []
    for name, source in node.inputs.items():
        record, formula = plan[source].record, plan[source].formula
        own = None if record is None else record.sign
        own = MaskSign(UNSIGNED, f"outside {formula}") if record is None and formula else own
        signs.append((source, MaskSign(UNSIGNED, name) if own is None else own))
    return sorted(signs, key=lambda pair: -pair[1].precedence)
