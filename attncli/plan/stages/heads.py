"""Heads: split, normalized, rotated to positions, scaled, concatenated to the cache, and repeated."""

from dataclasses import replace

from attncli.ops import look_up, query_scales, structural
from attncli.ops.norm_uses import NORM, USES, is_after_rope, is_over_all
from attncli.ops.records import Operator, Parameter
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, Axis, Node
from attncli.plan.stages.indices import given_positions, has_given_positions, rotation_positions


def split_heads(builder: PlanBuilder) -> None:
    """Split the features of queries, keys and values into heads, unless the inputs have a head axis or there is one."""
    layout = builder.layout
    if not layout.splits_heads:
        return
    for role in builder.roles:
        count = layout.heads if role == "query" else layout.kv_heads
        letter = "h" if role == "query" else layout.with_kv_heads(("h",))[0]
        _split(builder, builder.current[role], f"{role}_heads", Axis(letter, count), role)


def _split(builder: PlanBuilder, source: str, name: str, heads: Axis, role: str | None = None) -> Node:
    """Add one array whose features are shared among heads."""
    whole = builder.nodes[source]
    *before, rows, features = whole.axes
    shares = "in one head" if heads.length == 1 else f"shared among {heads.length} heads"
    return builder.add(
        Node(
            name,
            f"{whole.symbol}ₕ",
            f"the features of {whole.symbol}, {shares}",
            (*before, heads, rows, Axis(features.letter, features.length // heads.length)),
            "split",
            structural.split_heads,
            {"x": source},
            {"heads": heads.length},
            role=role,
        )
    )


def rotate(builder: PlanBuilder) -> None:
    """Apply a position scheme that acts on queries and keys; cached keys have their positions already."""
    position = builder.problem.position
    if position is None or position.record.acts_on != "query_and_key" or not builder.reads("position"):
        return
    arrays = builder.add_arrays("position", position)
    derived = {name: x for name, x in position.record.derived.items() if name in builder.current}
    arrays |= {name: builder.current[name] for name in derived}
    used = {parameter for x in derived.values() for parameter in x.parameters}  # in the derived arrays already
    options = {name: value for name, value in position.options.items() if name not in used}
    for role in ("query", "key"):
        source, positions = builder.current_node(role), rotation_positions(builder, role)
        builder.add(
            Node(
                f"rotated_{role}",
                f"{source.symbol}ᵣ",
                "",
                source.axes,
                "position",
                position.record.function,
                {"x": source.name, "positions": positions, **arrays},
                options,
                role=role,
            )
        )


def concatenate_cache(builder: PlanBuilder) -> None:
    """Put cached keys and values before the new ones; `present_key` and `present_value` are the cache afterwards."""
    for role in _kv_roles(builder):
        new = builder.current_node(role)
        is_split_last = new.name == f"{role}_heads"
        builder.results[f"present_{role}"] = new.inputs["x"] if is_split_last else role
        if getattr(builder.problem, f"past_{role}") is not None:
            _concatenate(builder, role, new)
        elif new.name != role and not is_split_last:
            _add_present(builder, role, new)


def _kv_roles(builder: PlanBuilder) -> list[str]:
    """The roles of keys and values that the problem has."""
    return [role for role in builder.roles if role != "query"]


def _concatenate(builder: PlanBuilder, role: str, new: Node) -> None:
    """Add the cached and the new rows in one array; the cache may have a head axis or heads among its features."""
    past = _add_past(builder, role, new)
    is_split = past.axes[:-2] == new.axes[:-2]
    if not is_split:
        past = _split(builder, past.name, f"past_{role}_heads", new.axes[-3])
    concatenated = builder.add(
        Node(
            f"present_{role}" if is_split else f"concatenated_{role}",
            f"{new.symbol[0]}_all",
            f"{past.symbol}, then {new.symbol}",
            (*new.axes[:-2], Axis("m", builder.key_count), new.axes[-1]),
            "cache",
            structural.concat_cache,
            {"past": past.name, "new": new.name},
            role=role,
        )
    )
    builder.results[f"present_{role}"] = concatenated.name
    if not is_split:
        _add_present(builder, role, concatenated)


def _add_past(builder: PlanBuilder, role: str, new: Node) -> Node:
    """Add the cache as the user gave it, without an axis of one head that the other arrays lack."""
    name, layout = f"past_{role}", builder.layout
    shape = getattr(builder.problem, name).shape
    missing = (len(shape) - 3,) if not layout.has_heads and len(shape) > len(new.axes) else ()
    lengths = tuple(size for at, size in enumerate(shape) if at not in missing)
    letters = (*new.letters[:-2], "p", new.letters[-1])
    letters = letters if len(lengths) == len(letters) else (*layout.batch_axes, *letters[-2:])
    return builder.add(
        Node(
            name,
            f"{new.symbol[0]}ₚ",
            GIVEN,
            tuple(map(Axis, letters, lengths)),
            GIVEN,
            structural.drop_missing_axes if missing else None,
            options={"missing": missing} if missing else {},
            source=(name,),
        )
    )


def _add_present(builder: PlanBuilder, role: str, source: Node) -> None:
    """Add the keys or values for the next cache, in the layout of the inputs."""
    merges = builder.layout.splits_heads
    axes = source.axes
    if merges:
        *before, heads, rows, features = source.axes
        axes = (*before, rows, Axis(features.letter, heads.length * features.length))
    node = builder.add(
        Node(
            f"present_{role}",
            f"{source.symbol}ₜ",
            f"the heads of {source.symbol}, side by side" if merges else source.symbol,
            axes,
            "cache",
            structural.merge_heads if merges else structural.identity,
            {"x": source.name},
        )
    )
    builder.results[f"present_{role}"] = node.name


def repeat_kv_heads(builder: PlanBuilder) -> None:
    """Repeat key and value heads, one for each query head."""
    layout = builder.layout
    if layout.kv_heads == layout.heads:
        return
    for role in _kv_roles(builder):
        source = builder.current_node(role)
        builder.add(
            Node(
                f"repeated_{role}",
                f"{source.symbol}ₛ",
                f"query head h reads key head h // {layout.heads // layout.kv_heads}",
                (*source.axes[:-3], Axis("h", layout.heads), *source.axes[-2:]),
                "repeat",
                structural.repeat_kv,
                {"x": source.name},
                {"heads": layout.heads},
                role=role,
            )
        )


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


def scale_queries(builder: PlanBuilder) -> None:
    """Multiply each query by a factor that grows with its position, by `query_scale`."""
    scale, layout = builder.problem.query_scale, builder.layout
    if scale is None or not builder.reads("query_scale"):
        return
    given = given_positions(builder, "query") if has_given_positions(builder.problem) else None
    positions = builder.nodes[given or "query_positions"]
    axes, options = positions.axes, dict(scale.options)
    if "heads" in scale.record.arguments:
        options["heads"] = layout.heads if layout.has_heads else None
        before = tuple(axis for axis in axes[:-1] if axis.letter != "h")
        axes = (*before, Axis("h", layout.heads), axes[-1]) if layout.has_heads else axes
    inputs = {"positions": positions.name, **builder.add_arrays("query_scale", scale)}
    function = scale.record.function
    factors = builder.add(Node("query_scales", "κ", "", axes, "query_scale", function, inputs, options))
    source = builder.current_node("query")
    builder.add(
        Node(
            "scaled_query",
            f"{source.symbol[0]}ˢ",
            f"κ {source.symbol}",
            source.axes,
            "query_scale",
            query_scales.scale_rows,
            {"x": source.name, "factors": factors.name},
            role="query",
        )
    )
