"""Recurrences: the context of each token from a state, instead of scores and weights."""

from collections.abc import Mapping
from typing import Any

from attncli.ops import structural
from attncli.ops.recurrences import present_state
from attncli.ops.states import CHUNK
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import Axis, Node, axes_of
from attncli.plan.stages.heads import normalize_context
from attncli.problem.inputs import STATE_ARRAYS
from attncli.problem.recurrences import state_array_letters

STEPS = {
    "decay": "The share of the state that each token keeps, as a logarithm: 0 keeps all of it.",
    "beta": "The fraction of the difference that each token writes.",
    "past_state": "The state that earlier tokens have left.",
    **{
        f"repeated_{name}": "Several query heads share one key head, and the arrays of its state."
        for name in STATE_ARRAYS
    },
    "present_state": "The state after the last token, kept for the next call.",
}
SYMBOLS = {"decay": "δ", "beta": "β", "past_state": "S₀"}
STATE = "present_state"


def recur(builder: PlanBuilder) -> None:
    """From queries, keys and values to the context of each head by a recurrence, and the state after it."""
    problem = builder.problem
    operator = problem.recurrence
    if operator is None:
        return
    for name in STATE_ARRAYS:
        if getattr(problem, name) is not None and name in operator.record.shapes.arrays:
            _add_array(builder, name)
    inputs = builder.inputs_of("recurrence", operator)
    letters = {"n": builder.query_count, "e": builder.current_node("value").axes[-1].length}
    axes = (*builder.score_axes, *(Axis(letter, letters[letter]) for letter in operator.record.shapes.result))
    options = {"scale": problem.scale} if "scale" in operator.record.arguments else {}
    inner = {quantity.name for quantity in operator.record.inner} - _left_out(operator.options)
    inner = inner if builder.query_count <= CHUNK else set()
    builder.add_operator("recurrence", operator, "context", "C", axes, role="context", options=options, inner=inner)
    builder.set_result("context", "context")
    if operator.record.is_built_in and "feature_map" in operator.options:
        _add_present_state(builder, inputs, operator.options)
    normalize_context(builder)


def _left_out(options: Mapping[str, Any]) -> set[str]:
    """The inner quantities that are trivial with these options."""
    mapped = {"mapped_query", "mapped_key"} if options.get("feature_map") == "identity" else set[str]()
    return mapped if options.get("normalize") else mapped | {"key_sums"}


def _add_array(builder: PlanBuilder, name: str) -> Node:
    """Add an array of a recurrence; key heads are repeated, one for each query head."""
    letters, array = state_array_letters(builder.problem, name), getattr(builder.problem, name)
    assert letters is not None  # it was checked
    node = builder.add_given(name, SYMBOLS[name], axes_of(letters, array.shape), role=name)
    if "g" not in letters:
        return node
    heads = builder.layout.heads
    axes = tuple(Axis("h", heads) if axis.letter == "g" else axis for axis in node.axes)
    symbol, formula = f"{node.symbol}ₛ", f"query head h reads key head h // {heads // builder.layout.kv_heads}"
    function = structural.repeat_kv if letters[-3:-2] == ("g",) else structural.repeat_numbers
    more: dict[str, Any] = {"axes": axes, "role": name}
    return builder.add_made_of(node, f"repeated_{name}", symbol, formula, "repeat", function, {"heads": heads}, **more)


def _add_present_state(builder: PlanBuilder, inputs: Mapping[str, str], options: Mapping[str, Any]) -> None:
    """Add the state after the last token, which is computed only if selected.

    It has key heads, like `past_state`, unless an array has query heads, such as a decay.
    """
    made_of = {name: builder.nodes[node] for name, node in inputs.items() if name != "query"}
    sources = {name: node.inputs["x"] if node.stage == "repeat" else node.name for name, node in made_of.items()}
    before = {name: builder.nodes[source] for name, source in sources.items()}
    of_keys = before if not any("h" in node.letters for node in before.values()) else made_of
    value = of_keys["value"]
    axes = (*value.axes[:-2], Axis("d", builder.current_node("query").axes[-1].length), value.axes[-1])
    sources = {name: node.name for name, node in of_keys.items()}
    own = {name: options[name] for name in ("feature_map", "eps")}
    builder.add(
        STATE, "Sₙ", "the state after the last token", axes, "cache", present_state, sources, own, is_on_demand=True
    )
    builder.results[STATE] = STATE


STAGES = {"output": (recur,)}
