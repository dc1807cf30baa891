"""Heads: split, rotated to positions, concatenated to the cache, and repeated for query heads."""

from attncli.ops import structural
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, Axis, Node
from attncli.plan.stages.positions import rotation_positions


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
