"""Norms of queries, keys, values and contexts: of each head, or of the features of all heads together."""

from dataclasses import replace

from attncli.ops import look_up, structural
from attncli.ops.norms import NORM, USES, is_after_rope, is_over_all
from attncli.ops.records import Operator, Parameter
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, Axis, Node


def normalize_features(builder: PlanBuilder) -> None:
    """Normalize queries, keys and values by the norms that take the features of all heads, before they are split."""
    if not builder.layout.has_input_head_axis:
        _normalize_projected(builder, over_all=True, after_rope=False)


def normalize_heads(builder: PlanBuilder) -> None:
    """Normalize queries, keys and values of each head; those that come with an axis of heads also over all heads."""
    _normalize_projected(builder, over_all=False, after_rope=False)
    if builder.layout.has_input_head_axis:
        _normalize_projected(builder, over_all=True, after_rope=False)


def normalize_rotated(builder: PlanBuilder) -> None:
    """Normalize queries and keys by a norm that comes after the rotation."""
    for over_all in (False, True):
        _normalize_projected(builder, over_all=over_all, after_rope=True)


def normalize_context(builder: PlanBuilder) -> None:
    """Normalize the context of each head."""
    _normalize(builder, "context_norm", over_all=False, after_rope=False)


def normalize_merged(builder: PlanBuilder) -> None:
    """Normalize the context of all heads together, after they were merged where they are."""
    _normalize(builder, "context_norm", over_all=True, after_rope=False)


def _normalize_projected(builder: PlanBuilder, *, over_all: bool, after_rope: bool) -> None:
    """Add the norms of queries, keys and values that belong at a place of the plan."""
    for key in ("qk_norm", "value_norm"):
        _normalize(builder, key, over_all=over_all, after_rope=after_rope)


def _normalize(builder: PlanBuilder, key: str, *, over_all: bool, after_rope: bool) -> None:
    """Add the norm of a key, where it is one of this place of the plan."""
    operator = getattr(builder.problem, key)
    if not builder.reads(key) or is_over_all(operator) != over_all or is_after_rope(operator) != after_rope:
        return
    for role in USES[key].letters:
        source = builder.current_node(role)
        heads = source.axes[-3] if over_all and source.letters[-3:-2] in (("h",), ("g",)) else None
        if heads is not None:
            _add_merged(builder, role, source)
        before = builder.current_node(role)
        add_norm(
            builder, key, role, before, Node(f"normalized_{role}", f"{before.symbol}̂", "", before.axes, key, role=role)
        )
        if heads is not None:
            _add_split(builder, role, source)


def add_norm(builder: PlanBuilder, key: str, role: str, source: Node, node: Node) -> Node:
    """Add the norm of a key, on the rows of `source`, with the arrays that the key has for a role.

    The name, the symbol, the axes and the role of what it gives are those of `node`.
    """
    operator: Operator = getattr(builder.problem, key)
    norm = look_up(NORM, operator.record.name)
    given = USES[key].parameters_of(norm, role, operator.parameters)
    inputs = {"x": source.name}
    for parameter in norm.parameters:
        if parameter.kind == "array" and parameter.name in given:
            array = _add_array(builder, (key, USES[key].name_of(role, parameter.name)), parameter, source)
            inputs[parameter.name] = array.name
    options = {name: value for name, value in given.items() if name not in inputs}
    return builder.add(replace(node, stage=key, function=norm.function, inputs=inputs, options=options))


def _add_array(builder: PlanBuilder, path: tuple[str, str], parameter: Parameter, source: Node) -> Node:
    """Add an array of a norm: a vector for all heads, or one for each head of the source."""
    shape = getattr(builder.problem, path[0]).given[path[1]].shape
    *before, features = source.axes
    letters = [features.letter if letter == "d" else letter for letter in parameter.letters]
    if len(shape) > len(letters):
        letters = [before[-2].letter, *letters]
    axes = tuple(map(Axis, letters, shape))
    symbol = f"{parameter.symbol}_{source.symbol[0]}"
    return builder.add(Node(".".join(path), symbol, GIVEN, axes, GIVEN, source=path))


def _add_merged(builder: PlanBuilder, role: str, source: Node) -> None:
    """Add the heads of an array side by side."""
    *before, heads, rows, features = source.axes
    axes = (*before, rows, Axis(features.letter, heads.length * features.length))
    formula = f"the heads of {source.symbol}, side by side"
    symbol = f"{source.symbol}_all"
    inputs = {"x": source.name}
    builder.add(Node(f"merged_{role}", symbol, formula, axes, "merge", structural.merge_heads, inputs, role=role))


def _add_split(builder: PlanBuilder, role: str, like: Node) -> None:
    """Add an array whose features are shared among heads again, with the axes of another."""
    source, heads = builder.current_node(role), like.axes[-3].length
    name, symbol = f"normalized_{role}_heads", f"{source.symbol}ₕ"
    formula = f"the features of {source.symbol}, shared among {heads} heads"
    inputs, options = {"x": source.name}, {"heads": heads}
    builder.add(Node(name, symbol, formula, like.axes, "split", structural.split_heads, inputs, options, role=role))
