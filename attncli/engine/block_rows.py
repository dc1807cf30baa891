"""Whole rows: the nodes of a block of queries evaluated over all visible keys, as in the whole table."""

from collections.abc import Mapping, Sequence

from attncli.base.lazy_numpy import Array
from attncli.engine.block_plan import BlockPlan
from attncli.engine.evaluate import evaluate, evaluate_wide
from attncli.ops.records import KeyBounds
from attncli.plan.graph import Node

Values = dict[str, Array]


def compute(plan: BlockPlan, arrays: Values, names: Sequence[str]) -> Values:
    """The values of the named nodes of a block, as the dense engine computes them; those of half types not yet rounded.

    `arrays` are the parts of all inputs that belong to the block.
    """
    values, selected = dict(arrays), set(names)
    compute_node = evaluate_wide if plan.precision.has_wide_tables else evaluate
    for node in plan.nodes:
        keep = values.__setitem__ if selected & set(node.taps.values()) else None
        values[node.name] = compute_node(node, values, plan.precision, keep)
    return {name: values[name] for name in names}


def key_bounds(nodes: Sequence[Node], arrays: Mapping[str, Array], keys: int) -> KeyBounds:
    """The ranges of `keys` keys outside which all cells are masked, and inside which none is, by all masks together.

    Masks are among the nodes; `arrays` are those of a block.
    """
    first, end, all_visible = 0.0, float(keys), (0.0, float(keys))
    for node in nodes:
        record = node.record
        if record is None or record.kind != "mask":
            continue
        if record.key_bounds is None:  # it may mask any cell
            all_visible = (0.0, 0.0)
            continue
        bounds = record.key_bounds(**node.arguments(arrays), **node.options)
        first, end = max(first, bounds.any_visible[0]), min(end, bounds.any_visible[1])
        all_visible = max(all_visible[0], bounds.all_visible[0]), min(all_visible[1], bounds.all_visible[1])
    return KeyBounds((first, max(end, first)), all_visible if all_visible[0] < all_visible[1] else (first, first))
