"""Masks as signs: for each query and key whether it is visible, and if not, which rule hides it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.ops.records import MaskSign, OperatorRecord
from attncli.plan.graph import Node, Plan
from attncli.plan.trace import AxisPositions, Step, Trace
from attncli.render.grid import Grid, leading_slices
from attncli.render.hidden_cells import VISIBLE_STEP
from attncli.render.marks import marked_cells

VISIBLE = "●"
UNSIGNED = "□"  # of a rule whose record has no sign


@dataclass(frozen=True)
class _Rule:
    """One input of the step `visible`: where it is true, and the sign of the cells that it hides."""

    visible: Array
    sign: MaskSign


def sign_grids(
    trace: Trace, step: Step, fixed: Mapping[str, int], worked: Sequence[AxisPositions] = ()
) -> Iterator[Grid]:
    """The tables of visible keys as signs, each with the legend that counts each of them.

    `step` is the step `visible` [… n m], whose inputs are the rules; a cell has the sign of the rule of the highest
    precedence that hides it, of equal ones the first. The cells at the positions in `worked` are marked. Of a large
    problem the rules may not have been kept: then a hidden cell has the sign of an unknown one.
    """
    signed = signs_of_rules(trace.plan, step.node)
    rules = [_Rule(trace[source].value, sign) for source, sign in signed if source in trace.by_name]
    meanings = _meanings([rule.sign for rule in rules], are_all=len(rules) == len(signed))
    shape = (len(trace.labels["n"]), step.value.shape[-1])  # one row may serve every query
    whole = replace(step, value=np.broadcast_to(step.value, (*step.value.shape[:-2], *shape)))
    for at, heading in leading_slices(trace, step, fixed):
        visible = step.value[at]
        signs = np.where(visible, VISIBLE, UNSIGNED)
        for rule in reversed(rules):
            signs[~_at(rule.visible, at, visible.shape)] = rule.sign.sign
        yield Grid(
            values=np.broadcast_to(visible, shape).astype(np.int64),
            rows=trace.numbered_labels["n"],
            columns=trace.numbered_labels["m"],
            corner="n\\m",
            slice_label=heading,
            signs=np.broadcast_to(signs, shape).tolist(),
            meanings=meanings,
            marked=marked_cells(trace, whole, at, worked),
        )


def rules_to_show(plan: Plan, names: Collection[str]) -> tuple[str, ...]:
    """The steps of the rules whose signs the tables of some results have: those of the step `visible`."""
    resolved = {plan.resolve(name) for name in names}
    return tuple(plan[VISIBLE_STEP].inputs.values()) if VISIBLE_STEP in resolved else ()


def signs_of_rules(plan: Plan, node: Node) -> Sequence[tuple[str, MaskSign]]:
    """The nodes of the rules that the node `visible` reads, each with its sign, in the order of precedence."""
    signs = [(source, _sign(name, plan[source].record)) for name, source in node.inputs.items()]
    return sorted(signs, key=lambda pair: -pair[1].precedence)


def _sign(name: str, record: OperatorRecord | None) -> MaskSign:
    """The sign and meaning of the cells that a rule hides; without a sign in its record a square and its name."""
    return record.sign if record is not None and record.sign is not None else MaskSign(UNSIGNED, name)


def _at(rule: Array, at: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    """A rule at a position on the leading axes, as wide as the table it is part of."""
    own = at[len(at) - (rule.ndim - 2) :]
    part = rule[tuple(min(index, size - 1) for index, size in zip(own, rule.shape, strict=False))]
    return np.broadcast_to(part, shape)


def _meanings(signs: Sequence[MaskSign], *, are_all: bool) -> Mapping[str, str]:
    """What each sign means; that of several rules means all of them."""
    meanings = {VISIBLE: "visible"}
    for sign in (*signs, *(() if are_all else (MaskSign(UNSIGNED, "hidden"),))):
        known = meanings.get(sign.sign)
        meanings[sign.sign] = f"{known}, {sign.meaning}" if known else sign.meaning
    return meanings
