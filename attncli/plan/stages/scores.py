"""The table of scores: given, or computed, times the scale, capped, with biases, and masked."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attncli.base.dtypes import square_root
from attncli.base.lazy_numpy import Array
from attncli.ops import elementwise, masks, structural
from attncli.ops.records import Operator, format_value
from attncli.ops.registry import look_up
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import Axes, Axis, Node
from attncli.problem.inputs import is_read
from attncli.problem.mask_expressions import AND, NOT, OR, MaskExpression, MaskLeaf, MaskPart, free_name, reads_rows
from attncli.problem.spec import FIELDS, ProblemSpec

STEPS = {
    "unscaled_scores": "How well each key answers each query, before the scale.",
    "scores": "How well each key answers each query: the higher, the more the query attends to it.",
    "capped_scores": "No score is farther from 0 than the cap, so that no key takes all the weight.",
    "positioned_scores": "The scores with the bias of the positions.",
    "biased_scores": "The scores with the bias that was given.",
    "bias": "Numbers that are added to the scores: prior knowledge of each pair.",
    "mask": "Which keys each query sees: 1 for visible, 0 for hidden.",
    "visible": "Which keys each query sees: those that no rule hides.",
    "candidates": "Which keys each query may choose from: those that no other rule hides.",
    "masked_scores": "A hidden key scores −∞, so that its weight is 0.",
}
SYMBOLS = {"scores": "S", "weights": "A"}
VISIBLE_BY = "visible_by_"  # the prefix of a rule's node name
# The combination of an expression's rules, by sign: its name, function and purpose.
_COMBINATIONS: Mapping[str, tuple[str, Callable[..., Array], str]] = {
    NOT: ("not_{}", masks.not_mask, "Which keys each query sees: those that the rule hides."),
    AND: ("every", masks.and_masks, "Which keys each query sees: those that none of these rules hides."),
    OR: ("any", masks.or_masks, "Which keys each query sees: those that one of these rules leaves visible."),
}
RULES = [name for name, field in FIELDS.items() if field.is_mask]  # the keys that hide keys


def add_given_table(builder: PlanBuilder) -> None:
    """Add the given scores or weights of the selected queries."""
    name, selected = builder.problem.given_table, builder.problem.selected_queries
    assert name is not None
    function, options = (None, {}) if selected is None else (structural.select_rows, {"at": selected})
    scale, axes = builder.problem.scale if name == "scores" else None, builder.table_axes
    node_name, symbol = (name, SYMBOLS[name]) if scale is None else ("unscaled_scores", "S₀")
    builder.add_given(node_name, symbol, axes, function, source=(name,), options=options, role=name)
    if scale is not None:
        _add_scale(builder, scale, f"S = {format_value(scale)} S₀")
    builder.set_result(name, name)


def _add_scale(builder: PlanBuilder, scale: float, formula: str) -> None:
    """Add the current scores times a scale, the problem's if it has one."""
    inputs, options = {"scores": builder.current["scores"]}, {"scale": scale}
    more: dict[str, Any] = {
        "role": "scores",
        "numbers": {"scale": ("scale",)} if builder.problem.scale is not None else {},
    }
    builder.add("scores", "S", formula, builder.table_axes, "scale", elementwise.scale, inputs, options, **more)


def score(builder: PlanBuilder) -> None:
    """The score of each pair, with relative keys, times the scale if the problem has one."""
    operator, scale = builder.problem.score, builder.problem.scale
    position = builder.problem.position
    relative = position is not None and position.record.acts_on == "products"
    if operator.record.unscaled and (relative or scale is not None):
        width = builder.problem.precision.scalar(builder.problem.scaled_features)
        scale = 1 / square_root(width) if scale is None else scale
        operator = Operator(look_up("score", operator.record.unscaled), operator.given)
    names = ["content_scores"] if relative else []
    names += ["unscaled_scores"] if scale is not None else []
    first, *rest = [*names, "scores"]
    symbol, axes = "S" if first == "scores" else "S₀", builder.table_axes
    builder.add_operator("score", operator, first, symbol, axes, role="scores")
    if position is not None and relative:
        builder.add_operator("position", position, "relative_scores", "R", axes)
        symbol = "S" if rest[0] == "scores" else "S₁"
        _add_sum(builder, rest[0], symbol, f"{symbol} = S₀ + R", "content_scores", "relative_scores")
    if scale is not None:
        symbol, is_own = builder.current_node("scores").symbol, builder.problem.scale is None
        added = 1 if position is None else position.scores_added
        root = "√d" if added == 1 else f"√({added} d)"
        _add_scale(builder, scale, f"S = {symbol} / {root}" if is_own else f"S = {format_value(scale)} {symbol}")
    builder.set_result("scores", "scores")


def _add_sum(builder: PlanBuilder, name: str, symbol: str, formula: str, left: str, right: str) -> None:
    """Add the sum of two tables, which becomes the current scores."""
    inputs = {"left": left, "right": right}
    builder.add(name, symbol, formula, builder.table_axes, "bias", elementwise.add, inputs, role="scores")


def softcap(builder: PlanBuilder) -> None:
    """Limit the scores to between −softcap and softcap."""
    cap, axes = builder.problem.softcap, builder.table_axes
    if cap is not None:
        name, formula = "capped_scores", f"{format_value(cap)} tanh(S / {format_value(cap)})"
        inputs, options = {"scores": builder.current["scores"]}, {"cap": cap}
        more: dict[str, Any] = {"role": "scores", "numbers": {"cap": ("softcap",)}}
        builder.add(name, "Sᶜ", formula, axes, "cap", elementwise.softcap, inputs, options, **more)
    builder.set_result("capped_scores", "scores")


def add_biases(builder: PlanBuilder) -> None:
    """Add the bias of positions, then the user's; there −∞ is a mask, and adds 0."""
    _add_position_bias(builder)
    builder.set_result("positioned_scores", "scores")
    if builder.problem.bias is not None:
        table, before = _add_table(builder, "bias"), builder.current_node("scores")
        inputs = {"scores": before.name, "table": table.name}
        inputs |= {name: builder.current[name] for name in ("query_rows", "key_positions")}
        formula, function = f"{before.symbol} + {table.symbol}", elementwise.add_bias
        builder.add("biased_scores", "Sᵇ", formula, builder.table_axes, "bias", function, inputs, role="scores")
    builder.set_result("biased_scores", "scores")


def _add_position_bias(builder: PlanBuilder) -> None:
    """Add the bias of a position scheme that acts on scores, and the scores with it."""
    position = builder.problem.position
    if position is None or position.record.acts_on != "scores":
        return
    layout, before = builder.layout, builder.current_node("scores")
    per_item = "b" in builder.nodes["query_positions"].letters
    # Only an operator that takes `heads` has numbers per head.
    has_heads = "heads" in position.record.arguments
    reads_queries = "query" in position.record.arguments
    kept = {"n", "m", *("b" if per_item or reads_queries else ""), *("h" if has_heads or reads_queries else "")}
    axes = tuple(axis for axis in builder.table_axes if axis.letter in kept)
    options = {"heads": layout.heads if layout.has_heads else None} if has_heads else {}
    node = builder.add_operator("position", position, "position_bias", "B", axes, stage="bias", options=options)
    _add_sum(builder, "positioned_scores", "Sᵖ", f"{before.symbol} + B", before.name, node.name)


def mask_rules(problem: ProblemSpec) -> Iterator[tuple[str, Operator | MaskExpression]]:
    """The masks of a problem by name: from keys named like a mask, and from `mask`.

    `mask` has an operator, or the rules of an expression. A key's value is the mask's table or lengths, which the plan
    adds as inputs, or its parameters in order.
    """
    for name in RULES:
        value = getattr(problem, name) if is_read(problem, name) else None
        if isinstance(value, MaskExpression):
            yield name, value
        elif isinstance(value, Operator):
            yield value.record.name, value
        elif value is not None and value is not False:
            is_per_query = name == "key_lengths" and problem.has_length_per_query
            record = look_up("mask", "query_key_lengths" if is_per_query else name)
            parameters = dict(zip((p.name for p in record.parameters), value, strict=True)) if record.parameters else {}
            yield name, Operator(record, parameters)


def apply_masks(builder: PlanBuilder) -> None:
    """Set the scores that any rule hides to −∞; they are −∞ only between this stage and the normalizer."""
    rules: list[Node] = []
    choices: list[Callable[[], Node]] = []  # rules that choose among the keys that others leave
    for name, rule in mask_rules(builder.problem):
        if isinstance(rule, MaskExpression):
            names = {id(leaf): leaf_name for leaf_name, leaf in rule.named_leaves.items()}
            for part in rule.rules:
                add = partial(_add_part, builder, part, names)
                if reads_rows(part):
                    choices.append(add)
                else:
                    rules.append(add())
        elif rule.record.reads_rows:
            choices.append(partial(_add_rule, builder, name, rule))
        else:
            rules.append(_add_rule(builder, name, rule))
    if choices and rules:
        formula = f"visible where {' and '.join(rule.symbol for rule in rules)}"
        inputs, axes, name = _by_rule_name(rules), _axes_of_all(rules), "candidates"
        builder.add(name, "M_c", formula, axes, "mask", masks.and_masks, inputs, role=name)
    rules += [add() for add in choices]
    if not rules:
        return
    inputs = _by_rule_name(rules)
    formula, axes = f"visible where every rule says so: {', '.join(inputs)}", _axes_of_all(rules)
    builder.add("visible", "M_all", formula, axes, "mask", masks.and_masks, inputs, role="visible")
    scores, axes = builder.current_node("scores"), builder.table_axes
    name, formula = "masked_scores", f"{scores.symbol} where visible, −∞ elsewhere"
    inputs = {"scores": scores.name, "visible": "visible"}
    builder.add(name, "Sᵐ", formula, axes, "mask", masks.apply_mask, inputs, role="scores")


def _length(node: Node, letter: str) -> int:
    """The length of a node's axis; 0 if it has none of that letter."""
    axis = node.axis(letter)
    return 0 if axis is None else axis.length


def _axes_of_all(rules: Sequence[Node]) -> Axes:
    """The axes of a table to which rules broadcast."""
    letters = max((rule.letters for rule in rules), key=len)
    return tuple(Axis(letter, max(_length(rule, letter) for rule in rules)) for letter in letters)


def _by_rule_name(rules: Sequence[Node]) -> dict[str, str]:
    """The nodes of rules, by the rules' names."""
    return {rule.name.removeprefix(VISIBLE_BY): rule.name for rule in rules}


def _add_part(builder: PlanBuilder, part: MaskPart, names: Mapping[int, str]) -> Node:
    """Add an operand of an expression as one rule: a leaf, or a combination of its own operands' rules.

    `names` has the name of each leaf in its expression.
    """
    if isinstance(part, MaskLeaf):
        return _add_rule(builder, part.name, part.operator, part, names[id(part)])
    inputs = _by_rule_name(rules := [_add_part(builder, inner, names) for inner in part.parts])
    own, function, purpose = _COMBINATIONS[part.sign]
    name = free_name(VISIBLE_BY + own.format(next(iter(inputs))), builder.nodes)
    return builder.add(
        name,
        f"M_{name.removeprefix(VISIBLE_BY)}",
        part.outline,
        _axes_of_all(rules),
        "mask",
        function,
        inputs,
        purpose=purpose,
    )


def _add_rule(
    builder: PlanBuilder, name: str, operator: Operator, leaf: MaskLeaf | None = None, leaf_name: str = ""
) -> Node:
    """Add one rule for every query and key: from a key of the problem, or from an expression's leaf of that name."""
    record = operator.record
    inputs = {argument: builder.current[argument] for argument in record.shapes.arrays if argument in builder.current}
    if "table" in record.shapes.arrays:
        if leaf is None:
            table = _add_table(builder, name)
        else:
            table = _add_given_table(builder, f"mask.{leaf_name}", leaf.value.shape, ("mask", leaf_name))
        inputs["table"] = table.name
    inputs |= builder.add_arrays("mask", operator, leaf_name)
    of_inputs = ([x for x in builder.nodes[name].axes if x.letter in ("b", "h")] for name in inputs.values())
    leading = max(of_inputs, key=len, default=[])
    reads_queries = any(name.startswith("query_") for name in record.shapes.arrays)
    axes = (*leading, Axis("n", builder.query_count if reads_queries else 1), Axis("m", builder.key_count))
    if record.reads_rows:
        axes = _axes_of_all([builder.nodes[name] for name in inputs.values()])
    function, options = record.function, operator.options
    own = free_name(VISIBLE_BY + name, builder.nodes)  # `window: 2,0` and `mask: window:left=1,right=1`
    return builder.add(own, f"M_{own.removeprefix(VISIBLE_BY)}", "", axes, "mask", function, inputs, options)


def _add_table(builder: PlanBuilder, name: str) -> Node:
    """Add the user's mask or bias, without axes of length 1 that the scores lack."""
    if name in builder.nodes:
        return builder.nodes[name]
    return _add_given_table(builder, name, getattr(builder.problem, name).shape, (name,))


def _add_given_table(builder: PlanBuilder, name: str, shape: tuple[int, ...], source: tuple[str, ...]) -> Node:
    """Add a table of the problem."""
    key = source[0]
    letters = builder.letters(key, len(shape))
    missing = tuple(axis for axis, letter in enumerate(letters[:-2]) if letter not in builder.layout.score_axes)
    axes = [
        Axis(builder.query_letter if letter == "n" else letter, size)
        for at, (letter, size) in enumerate(zip(letters, shape, strict=True))
        if at not in missing
    ]
    if len(axes) == 1:
        axes.insert(0, Axis(builder.query_letter, 1))
    symbol, function, options = "B⁺" if key == "bias" else "M", structural.drop_missing_axes, {"missing": missing}
    more = {"options": options, "is_lookup": True, "notes": tuple(_table_warnings(builder, name, shape))}
    return builder.add_given(name, symbol, tuple(axes), function, source=source, purpose=STEPS[key], **more)


def _table_warnings(builder: PlanBuilder, name: str, shape: tuple[int, ...]) -> Iterator[str]:
    """Notes on ambiguous tables: missing columns, and a first axis that may be batch items."""
    layout, keys = builder.layout, builder.key_count
    columns = shape[-1]
    if columns < keys:  # in other programs one column may broadcast to every key
        count = "one column" if columns == 1 else f"{columns} columns"
        yield f"{name} has {count} for {keys} keys: the others are hidden"
    if layout.batch is None or layout.batch == 1 or shape[0] != layout.batch:
        return
    if len(shape) == 2:
        yield f"{name} is read as [queries, keys]; for padding in the shape [batch, keys] give key_mask"
    elif len(shape) == 3 and layout.has_heads:
        yield f"{name} is read as [heads, queries, keys]; [batch, queries, keys] is written [batch, 1, queries, keys]"


STAGES = {"scores": (score,), "weights": (softcap, add_biases, apply_masks)}
