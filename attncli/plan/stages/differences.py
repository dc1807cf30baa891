"""Differences: the weights of each pair's first head minus λ times the second's, and the context after that."""

from typing import Any

from attncli.ops import differences
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import Axes, Axis, Node
from attncli.problem.fields import DIFFERENCE

STEPS = {
    "first_map": "The weights of the first head of each pair.",
    "second_map": "The weights of the second head of each pair; λ times them is subtracted.",
    DIFFERENCE: "Noise that both maps of a pair share cancels: each row adds up to 1 − λ.",
    "paired_value": "Both maps of a pair read the values of both of its heads, side by side.",
    "scaled_context": "The context times 1 − λ_init: as large as for one map.",
}
MAPS = (("first_map", "P₁"), ("second_map", "P₂"))


def pair_values(builder: PlanBuilder) -> None:
    """Put the values of both heads of each pair side by side, before they are repeated for query heads."""
    if not builder.reads("difference") or "value" not in builder.current:
        return
    source = builder.current_node("value")
    formula = f"the features of both heads of each pair of {source.symbol}, side by side"
    axes = _paired(source.axes)
    axes = (*axes[:-1], source.axes[-1]._replace(length=2 * source.axes[-1].length))
    options, function = {"pairs": builder.problem.head_pairs}, differences.pair_heads
    symbol = f"{source.symbol[0]}ᵖ"
    builder.add_made_of(source, "paired_value", symbol, formula, "pair", function, options, axes=axes, role="value")


def _paired(axes: Axes) -> Axes:
    """The axes with half as many heads."""
    *before, heads, rows, last = axes
    return (*before, Axis(heads.letter, heads.length // 2), rows, last)


def subtract_maps(builder: PlanBuilder) -> None:
    """Take both maps of each pair of heads, and subtract λ times the second from the first."""
    operator = builder.problem.difference
    if operator is None or not builder.reads("difference"):
        return
    maps = [_add_map(builder, which) for which in (0, 1)]
    factor = builder.add_operator("difference", operator, "lambda", "λ", ())
    inputs = {"first": maps[0].name, "second": maps[1].name, "factor": factor.name}
    formula, function = f"D = {maps[0].symbol} − λ {maps[1].symbol}", differences.subtract_map
    builder.add(DIFFERENCE, "D", formula, maps[0].axes, "difference", function, inputs, role="weights")


def _add_map(builder: PlanBuilder, which: int) -> Node:
    """Add the weights of the first head (0) of each pair, or the second (1)."""
    name, symbol = MAPS[which]
    source, pairs = builder.current_node("weights"), builder.problem.head_pairs
    heads = ", ".join(map(str, differences.heads_of_map(source.axes[-3].length, pairs, which)))
    formula = f"{source.symbol} of head{'s' if ',' in heads else ''} {heads}"
    options, axes = {"pairs": pairs, "which": which}, _paired(source.axes)
    return builder.add_made_of(source, name, symbol, formula, "pair", differences.take_heads, options, axes=axes)


def scale_context(builder: PlanBuilder) -> None:
    """Multiply the context of each pair by 1 − λ_init, after its norm, if λ_init is given."""
    operator = builder.problem.difference
    if operator is None or not builder.reads("difference"):
        return
    options: dict[str, Any] = {
        name: operator.options[name] for name in ("lambda_init", "layer") if name in operator.options
    }
    if not options:
        return
    source = builder.current_node("context")
    numbers = {"lambda_init": ("difference", "lambda_init")} if "lambda_init" in options else {}
    symbol, formula = f"{source.symbol[0]}ˢ", f"(1 − λ_init) {source.symbol}"
    function, more = differences.scale_context, {"role": "context", "numbers": numbers}
    builder.add_made_of(source, "scaled_context", symbol, formula, "difference", function, options, **more)


STAGES = {"output": (subtract_maps,)}
