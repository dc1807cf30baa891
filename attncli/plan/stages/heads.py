"""Heads: split, normalized, rotated to positions, scaled, concatenated to the cache, and repeated for query heads."""

from collections.abc import Mapping

from attncli.ops import elementwise, look_up, structural
from attncli.ops.norms import NORM, USES, is_after_rope, is_over_all
from attncli.ops.records import Operator
from attncli.plan.builder import PlanBuilder, numbers_of, options_beside
from attncli.plan.graph import Axis, Node, axes_of
from attncli.plan.stages.differences import pair_values
from attncli.plan.stages.indices import given_positions, has_given_positions, rotation_positions

ROPE_KEY = "rope_key"  # the role of each key's last features, if all heads share them
_PLURALS = {"query": "queries", "key": "keys", "value": "values"}
_SHARE = "Each head gets its own share of the {}'s features."
STEPS = {
    "query_heads": f"{_SHARE.format('query').removesuffix('.')}, and looks for something of its own.",
    "key_heads": _SHARE.format("key"),
    "value_heads": _SHARE.format("value"),
    **{
        f"merged_{x}": f"The {many} of all heads side by side, to be normalized together."
        for x, many in _PLURALS.items()
    },
    "merged_context": "The heads' contexts, side by side, to be normalized together.",
    **{
        f"normalized_{x}_heads": f"Each head gets its share of the normalized {many} again."
        for x, many in {**_PLURALS, "context": "context"}.items()
    },
    "rope_key_heads": "The features that all heads share, with an axis of one head.",
    "nope_query": "The first features of each query, which no position rotates.",
    "rope_query": "The last features of each query, as many as all keys share: only they are rotated.",
    "joined_query": "Each whole query again: its own features, then the rotated ones.",
    "joined_key": "The key of each head: its own features, then those that all heads share.",
    "repeated_key": "Several query heads read the same key head, which saves memory in the cache.",
    "repeated_value": "Several query heads read the same value head, which saves memory in the cache.",
    "past_key": "The keys of earlier tokens, kept from the calls before.",
    "past_value": "The values of earlier tokens, kept from the calls before.",
    "past_key_heads": _SHARE.format("cached key"),
    "past_value_heads": _SHARE.format("cached value"),
    "concatenated_key": "Queries see the keys of earlier tokens, which were kept, and then the new ones.",
    "concatenated_value": "The values of earlier tokens, which were kept, and then the new ones.",
    "present_key": "The keys of all tokens so far, kept for the next call.",
    "present_value": "The values of all tokens so far, kept for the next call.",
    "scaled_query": "The queries times their factors: with more keys to choose from the scores are larger.",
}


def split_heads(builder: PlanBuilder) -> None:
    """Split the features of queries, keys and values into heads, unless the inputs have a head axis."""
    layout = builder.layout
    for role in builder.roles if layout.splits_heads else ():
        heads = Axis("h", layout.heads)
        if role != "query":
            heads = Axis(layout.with_kv_heads(("h",))[0], layout.kv_heads)
        _add_split(builder, builder.current_node(role), f"{role}_heads", heads, role)
    if layout.splits_heads and ROPE_KEY in builder.current:
        _add_split(builder, builder.current_node(ROPE_KEY), f"{ROPE_KEY}_heads", Axis("g", 1), ROPE_KEY)


def _add_split(builder: PlanBuilder, source: Node, name: str, heads: Axis, role: str | None = None) -> Node:
    """Add an array with its features split into heads."""
    *before, rows, features = source.axes
    axes = (*before, heads, rows, Axis(features.letter, features.length // heads.length))
    shares = "in one head" if heads.length == 1 else f"shared among {heads.length} heads"
    symbol, formula = f"{source.symbol}ₕ", f"the features of {source.symbol}, {shares}"
    function, options = structural.split_heads, {"heads": heads.length}
    return builder.add_made_of(source, name, symbol, formula, "split", function, options, axes=axes, role=role)


def add_merged(builder: PlanBuilder, source: Node, name: str, symbol: str, stage: str, role: str | None) -> Node:
    """Add the heads of an array side by side."""
    *before, heads, rows, features = source.axes
    axes = (*before, rows, Axis(features.letter, heads.length * features.length))
    formula = f"the heads of {source.symbol}, side by side"
    return builder.add_made_of(source, name, symbol, formula, stage, structural.merge_heads, axes=axes, role=role)


def normalize_features(builder: PlanBuilder) -> None:
    """Apply norms over the features of all heads to queries, keys and values, before the split."""
    if not builder.layout.has_input_head_axis:
        _normalize_projected(builder, over_all=True)


def normalize_heads(builder: PlanBuilder) -> None:
    """Normalize each head's queries, keys and values; given ones with a head axis also over all heads."""
    _normalize_projected(builder, over_all=False)
    if builder.layout.has_input_head_axis:
        _normalize_projected(builder, over_all=True)


def normalize_rotated(builder: PlanBuilder) -> None:
    """Normalize queries and keys by a norm that comes after the rotation."""
    for over_all in (False, True):
        _normalize_projected(builder, over_all=over_all, after_rope=True)


def normalize_context(builder: PlanBuilder, *, over_all: bool = False) -> None:
    """Normalize each head's context, or the merged heads."""
    _normalize(builder, "context_norm", over_all=over_all)


def _normalize_projected(builder: PlanBuilder, *, over_all: bool, after_rope: bool = False) -> None:
    """Add the norms of queries, keys and values for one point of the plan."""
    for key in ("qk_norm", "value_norm"):
        _normalize(builder, key, over_all=over_all, after_rope=after_rope)


def _normalize(builder: PlanBuilder, key: str, *, over_all: bool, after_rope: bool = False) -> None:
    """Add the norm of a key, if it belongs to this point of the plan."""
    operator = getattr(builder.problem, key)
    if not builder.reads(key) or is_over_all(operator) != over_all or is_after_rope(operator) != after_rope:
        return
    for role in USES[key].letters:
        source = before = builder.current_node(role)
        heads = source.axes[-3] if over_all and source.letters[-3:-2] in (("h",), ("g",)) else None
        if heads is not None:
            before = add_merged(builder, source, f"merged_{role}", f"{source.symbol}_all", "merge", role)
        normalized = add_norm(builder, key, before, f"normalized_{role}", f"{before.symbol}̂", role, role)
        if heads is not None:
            _add_split(builder, normalized, f"normalized_{role}_heads", heads, role)


def add_norm(builder: PlanBuilder, key: str, source: Node, name: str, symbol: str, role: str, new_role: str) -> Node:
    """Add the norm of a key, on the rows of `source`, with the key's arrays for a role."""
    operator: Operator = getattr(builder.problem, key)
    norm, use = look_up(NORM, operator.record.name), USES[key]
    given = use.parameters_of(norm, role, operator.parameters)
    inputs = {"x": source.name}
    *before, features = source.axes
    for parameter in norm.parameters:
        if parameter.kind == "array" and parameter.name in given:
            path = (key, use.name_of(role, parameter.name))
            array = operator.given[path[1]]
            letters = tuple(features.letter if letter == "d" else letter for letter in parameter.letters)
            letters = (before[-2].letter, *letters) if array.ndim > len(letters) else letters
            own_symbol = f"{parameter.symbol}_{source.symbol[0]}"
            inputs[parameter.name] = builder.add_parameter(path, own_symbol, letters, array, norm).name
    options = {parameter: value for parameter, value in given.items() if parameter not in inputs}
    more = {"role": new_role, "numbers": numbers_of(key, operator)}
    return builder.add(name, symbol, "", source.axes, key, norm.function, inputs, options, **more)


def rotate(builder: PlanBuilder) -> None:
    """Apply a position scheme that acts on queries and keys; cached keys already have their positions.

    If heads share the last features of each key, only these are rotated, and as many of each query.
    """
    position, shares = builder.problem.position, ROPE_KEY in builder.current
    if position is not None and position.record.acts_on == "query_and_key" and builder.reads("position"):
        if shares:
            _split_query(builder)
        _rotate(builder, position, {"query": "rope_query", "key": ROPE_KEY} if shares else {})
        if shares:
            _join(builder, "query", "nope_query", "rotated_query")
    if shares:
        _join(builder, "key", builder.current["key"], builder.current[ROPE_KEY])


def _split_query(builder: PlanBuilder) -> None:
    """Add the features of each query that are not rotated, and those that are."""
    source, width = builder.current_node("query"), builder.current_node(ROPE_KEY).axes[-1].length
    *before, features = source.axes
    own = features.length - width
    for name, symbol, first, count in (("nope_query", "Qᴺ", 0, own), ("rope_query", "Qᴿ", own, width)):
        letter = "ρ" if first else "d"
        formula = f"columns {first}:{first + count} of {source.symbol}"
        options, function = {"blocks": 1, "first": first, "count": count}, structural.unpack
        axes = (*before, Axis(letter, count))
        builder.add_made_of(source, name, symbol, formula, "split", function, options, axes=axes, role=name)


def _join(builder: PlanBuilder, role: str, own: str, shared: str) -> None:
    """Add queries or keys with each head's own features, then the rotated ones."""
    left, right = builder.nodes[own], builder.nodes[shared]
    *before, features = left.axes
    axes = (*before, Axis(features.letter, features.length + right.axes[-1].length))
    formula, inputs = f"{left.symbol}, then {right.symbol}", {"x": own, "shared": shared}
    symbol, function = f"{role[0].upper()}⁺", structural.join_features
    builder.add(f"joined_{role}", symbol, formula, axes, "join", function, inputs, role=role)


def _rotate(builder: PlanBuilder, position: Operator, parts: Mapping[str, str]) -> None:
    """Add the rotated queries and keys, or features of them."""
    arrays = builder.add_arrays("position", position)
    arrays |= {name: builder.current[name] for name in position.record.derived if name in builder.current}
    options = options_beside(position, arrays)
    for role in ("query", "key"):
        part = parts.get(role, role)
        source = builder.current_node(part)
        name, symbol, function = f"rotated_{role}", f"{source.symbol}ᵣ", position.record.function
        inputs = {"x": source.name, "positions": rotation_positions(builder, role), **arrays}
        more = {"role": part, "numbers": numbers_of("position", position)}
        builder.add(name, symbol, "", source.axes, "position", function, inputs, options, **more)


def normalize_table(builder: PlanBuilder) -> None:
    """Normalize the rows of the table of a position scheme, given or derived, by `position_norm`."""
    position = builder.problem.position
    if position is not None and builder.reads("position_norm"):
        table = builder.nodes[builder.inputs_of("position", position)["table"]]
        name, symbol = "normalized_position_table", f"{table.symbol}̂"
        add_norm(builder, "position_norm", table, name, symbol, "position_table", "position.table")


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
    stage, function = "query_scale", scale.record.function
    numbers = numbers_of("query_scale", scale)
    factors = builder.add("query_scales", "κ", "", axes, stage, function, inputs, options, numbers=numbers)
    source = builder.current_node("query")
    symbol, formula = f"{source.symbol[0]}ˢ", f"κ {source.symbol}"
    inputs = {"x": source.name, "factors": factors.name}
    builder.add("scaled_query", symbol, formula, source.axes, stage, elementwise.scale_rows, inputs, role="query")


def concatenate_cache(builder: PlanBuilder) -> None:
    """Put cached keys and values before the new ones; `present_key` and `present_value` are the next cache."""
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
        past = _add_split(builder, past, f"past_{role}_heads", new.axes[-3])
    name = f"present_{role}" if is_split else f"concatenated_{role}"
    symbol, formula = f"{new.symbol[0]}_all", f"{past.symbol}, then {new.symbol}"
    axes = (*new.axes[:-2], Axis("m", builder.key_count), new.axes[-1])
    inputs, function = {"past": past.name, "new": new.name}, structural.concat_cache
    concatenated = builder.add(name, symbol, formula, axes, "cache", function, inputs, role=role)
    builder.results[f"present_{role}"] = name
    if not is_split:
        _add_present(builder, role, concatenated)


def _add_past(builder: PlanBuilder, role: str, new: Node) -> Node:
    """Add the cache as the user gave it, without an axis of one head that the other arrays lack."""
    name, symbol = f"past_{role}", f"{new.symbol[0]}ₚ"
    shape = getattr(builder.problem, name).shape
    axes = axes_of(builder.letters(name, len(shape)), shape)
    if builder.layout.has_heads or len(shape) <= len(new.axes):
        return builder.add_given(name, symbol, axes)
    missing = (len(shape) - 3,)
    axes = tuple(axis for at, axis in enumerate(axes) if at not in missing)
    return builder.add_given(name, symbol, axes, structural.drop_missing_axes, options={"missing": missing})


def _add_present(builder: PlanBuilder, role: str, source: Node) -> None:
    """Add the keys or values for the next cache, in the layout of the inputs."""
    name, symbol = f"present_{role}", f"{source.symbol}ₜ"
    if builder.layout.splits_heads:
        add_merged(builder, source, name, symbol, "cache", None)
    else:
        builder.add_made_of(source, name, symbol, source.symbol, "cache", structural.identity)
    builder.results[name] = name


def repeat_kv_heads(builder: PlanBuilder) -> None:
    """Repeat key and value heads, one for each query head."""
    groups = builder.layout.heads // builder.layout.kv_heads
    for role in _kv_roles(builder) if groups > 1 else ():
        source = builder.current_node(role)
        heads = groups * source.axes[-3].length  # half as many for paired values
        axes = (*source.axes[:-3], Axis("h", heads), *source.axes[-2:])
        name, symbol = f"repeated_{role}", f"{source.symbol}ₛ"
        formula, function = f"query head h reads key head h // {groups}", structural.repeat_kv
        options = {"heads": heads}
        builder.add_made_of(source, name, symbol, formula, "repeat", function, options, axes=axes, role=role)


STAGES = {
    "inputs": (
        normalize_features,
        split_heads,
        normalize_heads,
        rotate,
        normalize_rotated,
        scale_queries,
        concatenate_cache,
        pair_values,
        repeat_kv_heads,
        normalize_table,
    )
}
