"""Indices and positions of keys and queries, if operators or masks read them."""

from collections.abc import Mapping, Sequence
from typing import Any

from attncli.ops import indices, structural
from attncli.ops.records import DerivedInput, Operator
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import Axes, Axis, Node
from attncli.plan.stages.scores import mask_rules
from attncli.problem.mask_expressions import MaskExpression, MaskLeaf
from attncli.problem.spec import ProblemSpec, position_axes, positions_of, rotated_lengths

STEPS = {
    "key_positions": "The position of each key, counted from 0.",
    "new_key_positions": "The position of each new key, counted after the cached ones.",
    "cu_seqlens": "The first row of each packed sequence, and the number of all rows.",
    "cu_seqlens_k": "The first key of each packed sequence, and the number of all keys.",
    "query_sequences": "The number of each query's packed sequence.",
    "key_sequences": "The number of each key's packed sequence.",
    "query_rows": "The number of each query, counted from 0.",
    "query_positions": "The position of each query among the keys, from which causal masks and windows count.",
    "positions": "The position of each key, as given.",
    "positions_of_queries": "The position of each query, as given.",
    "positions_on_axes": "The position of each key on each axis: its number on all of them.",
    "query_positions_on_axes": "The position of each query on each axis: its number on all of them.",
    "position_count": "The length of the sequence: some scalings of positions depend on it.",
    "key_mask": "Which keys are real, 1, and which are padding, 0.",
    "key_lengths": "The number of real keys in each batch item, the rest is padding; or of keys that each query sees.",
    "longest_key_lengths": "The largest number of keys that a query sees: the last query is at the last of them.",
    "real_key_ends": "The end of the real keys of each batch item; padding follows.",
    "real_key_starts": "The first real key of each batch item; padding precedes it.",
}


def add_indices(builder: PlanBuilder) -> None:
    """Add the indices that this problem's masks and operators read, and the operators' derived arrays."""
    read = _read_indices(builder)
    if builder.reads("key_lengths"):
        _add_key_lengths(builder, has_positions="query_positions" in read)
    if builder.reads("key_mask"):
        _add_per_item(builder, "key_mask", "Mₖ", (Axis("m", builder.key_count),))
        if "real_key_starts" in read:
            key_mask, name, formula = builder.nodes["key_mask"], "real_key_starts", "the first key that is real"
            function, inputs = indices.real_key_starts, {"key_mask": key_mask.name}
            builder.add(name, "F", formula, key_mask.axes[:-1], "align", function, inputs, role=name)
    if read & {"key_positions", "query_positions", "query_rows"}:
        past, new = builder.problem.past_count, builder.problem.new_key_count
        _add_count(builder, "key_positions", "j", "j = 0, 1, … each key", "m", range(past + new))
        if past:
            _add_count(builder, "new_key_positions", "jₖ", "the keys after the cache", "k", range(past, past + new))
    if read & {"query_positions", "query_rows"}:
        _add_query_rows(builder)
    if "query_sequences" in read:
        _add_sequences(builder)
    if "query_positions" in read:
        _add_query_positions(builder)
    if "position_count" in read:
        _add_position_count(builder)
    for _, operator in builder.operators():
        _add_derived(builder, operator)


def _read_indices(builder: PlanBuilder) -> set[str]:
    """The names of the arrays that masks and operators read, and of the inputs of derived arrays."""
    problem, operators = builder.problem, dict(builder.operators())
    leaves = (rule.leaves if isinstance(rule, MaskExpression) else [rule] for _, rule in mask_rules(problem))
    rules = [leaf.operator if isinstance(leaf, MaskLeaf) else leaf for rule in leaves for leaf in rule]
    records = [operator.record for operator in (*rules, *operators.values())]
    read = {name for record in records for name in record.shapes.arrays}
    for operator in operators.values():
        read |= {role for derived in _needed(operator).values() for role in derived.inputs(operator.parameters)}
    if builder.reads("bias") or builder.reads("cu_seqlens"):
        read |= {"query_rows", "key_positions"}
    position = operators.get("position")
    if position is not None and position.record.acts_on == "query_and_key":
        read |= {f"{role}_positions" for role in ("query", "key") if positions_of(problem, role) is None}
    if "query_scale" in operators and not has_given_positions(problem):
        read.add("query_positions")
    return read | ({"key_positions"} if builder.reads("key_lengths") else set())


def _needed(operator: Operator) -> Mapping[str, DerivedInput]:
    """The derived arrays of an operator that its parameters need, and that the user did not give."""
    derived, parameters = operator.record.derived, operator.parameters
    return {name: x for name, x in derived.items() if name not in operator.given and x.is_needed(parameters)}


def _add_derived(builder: PlanBuilder, operator: Operator) -> None:
    """Add the derived arrays of an operator that the user did not give."""
    parameters = operator.parameters
    for name, derived in _needed(operator).items():
        lengths = {"n": builder.query_count, "m": builder.key_count, "h": builder.layout.heads}
        lengths |= derived.lengths(parameters, rotated_lengths(builder.problem))
        axes: Axes = ()
        for letter in derived.axes:
            own = (Axis(letter, lengths[letter]),) if letter in lengths else ()
            axes += builder.score_axes if letter == "…" else own
        options: dict[str, Any] = {"shape": tuple(axis.length for axis in axes)}
        options |= {key: parameters[key] for key in derived.parameters}
        inputs = {role: builder.current[role] for role in derived.inputs(parameters)}
        formula, purpose = derived.formula(**options), derived.purpose
        function = derived.function
        builder.add(
            name, derived.symbol, formula, axes, "derive", function, inputs, options, role=name, purpose=purpose
        )


def _item_axes(builder: PlanBuilder) -> Axes:
    """The axes of an array with entries per batch item, but not per head."""
    layout = builder.layout
    if layout.batch is None:
        return ()
    return (Axis("b", layout.batch), *((Axis("h", 1),) if layout.has_heads else ()))


def _add_per_item(builder: PlanBuilder, name: str, symbol: str, own: Axes) -> None:
    """Add an array of the problem with entries, or rows with the axes `own`, per batch item, but not per head."""
    axes = (*_item_axes(builder), *own)
    options = {"shape": tuple(axis.length for axis in axes)}
    builder.add_given(name, symbol, axes, structural.reshape, options=options, role=name)


def _add_key_lengths(builder: PlanBuilder, *, has_positions: bool) -> None:
    """Add the number of real keys, per batch item or per query; for positions from the end the largest."""
    problem, items, name = builder.problem, _item_axes(builder), "key_lengths"
    if not problem.has_length_per_query:
        _add_per_item(builder, name, "L", ())
        return
    selected, function, shape = problem.selected_queries, structural.reshape, tuple(axis.length for axis in items)
    options = {"shape": (*shape, problem.query_count), "at": selected}
    axes = (*items, Axis("n", problem.query_count if selected is None else len(selected)))
    builder.add_given(name, "L", axes, function, options=options, role="query_key_lengths")
    if has_positions and problem.align == "bottom_right":
        more = {"source": (name,), "options": {"shape": shape}, "role": name}
        builder.add_given("longest_key_lengths", "L_max", items, indices.longest, **more)


def _add_count(builder: PlanBuilder, name: str, symbol: str, formula: str, letter: str, numbers: range) -> None:
    """Add consecutive numbers."""
    axes, options = (Axis(letter, len(numbers)),), {"first": numbers.start, "length": len(numbers)}
    builder.add(name, symbol, formula, axes, "index", indices.count, options=options, role=name)


def _add_query_rows(builder: PlanBuilder) -> None:
    """Add the rows of the computed queries."""
    name, symbol, formula, selected = "query_rows", "i", "i = 0, 1, … each query", builder.problem.selected_queries
    if selected is None:
        _add_count(builder, name, symbol, formula, "n", range(builder.query_count))
        return
    axes, options = (Axis("n", len(selected)),), {"at": selected}
    builder.add(name, symbol, formula, axes, "index", indices.selected_positions, options=options, role=name)


def _add_position_count(builder: PlanBuilder) -> None:
    """Add the number of positions up to the last key or query."""
    problem, name, formula = builder.problem, "position_count", "one more than the last position"
    given = {role: given_positions(builder, role) for role in ("query", "key")}
    if any(given.values()):
        inputs = {role: own or builder.current[f"{role}_positions"] for role, own in given.items()}
        builder.add(name, "N", formula, (), "index", indices.last_position_count, inputs, role=name)
        return
    first = problem.past_count if problem.align == "top_left" else 0
    options = {"length": max(builder.key_count, first + problem.query_count)}
    builder.add(name, "N", formula, (), "index", indices.position_count, options=options, role=name)


def _add_sequences(builder: PlanBuilder) -> None:
    """Add the bounds of packed sequences, and each query's and each key's sequence number."""
    for name, symbol in (("cu_seqlens", "z_Q"), ("cu_seqlens_k", "z_K")):
        array = getattr(builder.problem, name)
        if array is not None:
            options = {"shape": array.shape}
            builder.add_given(name, symbol, (Axis("z", len(array)),), structural.reshape, options=options, role=name)
    bounds_of_keys = builder.current.get("cu_seqlens_k", "cu_seqlens")
    for name, symbol, rows, bounds in (
        ("query_sequences", "s_Q", "query_rows", "cu_seqlens"),
        ("key_sequences", "s_K", "key_positions", bounds_of_keys),
    ):
        node, inputs = builder.nodes[rows], {"rows": rows, "bounds": bounds}
        formula = f"the last that begins at {node.symbol} or before"
        builder.add(name, symbol, formula, node.axes, "index", indices.sequence_numbers, inputs, role=name)


def _add_positions_in_sequences(builder: PlanBuilder) -> None:
    """Add the position of each query among all keys, counted within its packed sequence."""
    rows, name, at_end = builder.nodes["query_rows"], "query_positions", builder.problem.align == "bottom_right"
    inputs = {"rows": rows.name, "sequences": "query_sequences", "bounds": "cu_seqlens"}
    inputs |= {"bounds_of_keys": "cu_seqlens_k"} if "cu_seqlens_k" in builder.nodes else {}
    end = "the last query is at the last key" if at_end else "the first query is at the first key"
    function, options = indices.query_positions_in_sequences, {"at_end": at_end}
    builder.add(name, "pos", f"of each sequence {end}", rows.axes, "align", function, inputs, options, role=name)


def _add_query_positions(builder: PlanBuilder) -> None:
    """Add the position of each query among the keys, by `align`."""
    if "query_sequences" in builder.nodes:
        _add_positions_in_sequences(builder)
        return
    problem, rows = builder.problem, builder.nodes["query_rows"]
    count, keys = problem.query_count, builder.key_count
    at_end = problem.align == "bottom_right"
    end = ": the last query is at the last real key" if at_end else ""
    ends = _real_key_ends(builder) if at_end else None
    inputs, axes = {"rows": rows.name}, rows.axes
    if ends is not None:
        inputs, axes = {**inputs, "key_lengths": ends.name}, (*ends.axes, *axes)
        first, shifted = -count, f"i − {count} + {ends.symbol}"
    else:
        first = {"top_left": problem.past_count, "first_key": 0, "bottom_right": keys - count}[problem.align]
        shifted = f"i − {-first}" if first < 0 else f"i + {first}" if first else "i"
    function = indices.query_positions if ends is None else indices.query_positions_at_end
    name, formula, options = "query_positions", f"posᵢ = {shifted}{end}", {"first": first}
    builder.add(name, "pos", formula, axes, "align", function, inputs, options, role=name)


def _real_key_ends(builder: PlanBuilder) -> Node | None:
    """The node of the index after the last real key of each batch item; None if all keys are real."""
    if "key_mask" not in builder.current:
        return builder.nodes.get(builder.current.get("key_lengths", ""))
    axes = builder.current_node("key_mask").axes[:-1]
    names: Sequence[str] = ("key_mask", "key_lengths")
    inputs = {name: builder.current[name] for name in names if name in builder.current}
    formula, function = "the index after the last real key", indices.real_key_ends
    return builder.add("real_key_ends", "Lᵣ", formula, axes, "align", function, inputs)


def has_given_positions(problem: ProblemSpec) -> bool:
    """Whether query scales read given positions; positions on several axes are not numbers of keys."""
    return positions_of(problem, "query") is not None and position_axes(problem) is None


def given_positions(builder: PlanBuilder, role: str) -> str | None:
    """Add the given positions of queries or keys, once; returns the node's name, or None without positions."""
    key = positions_of(builder.problem, role)
    if key is None:
        return None
    name, symbol = ("positions_of_queries", "p_Q") if role == "query" else ("positions", "p_K")
    if name in builder.nodes:
        return name
    array, position = getattr(builder.problem, key), position_axes(builder.problem)
    has_axes = position is not None
    axes: Axes = ()
    if array.ndim - has_axes > 1:
        axes = (Axis("b", array.shape[-2]), *((Axis("h", 1),) if builder.layout.has_heads else ()))
    axes += () if position is None else (Axis("s", position.count),)
    axes += (Axis("n" if role == "query" else builder.problem.new_key_letter, array.shape[-1]),)
    options: dict[str, Any] = {"shape": tuple(axis.length for axis in axes), "has_axes": has_axes}
    selected = builder.problem.selected_queries if role == "query" else None
    if selected is not None:
        axes, options["at"] = (*axes[:-1], Axis("n", len(selected))), selected
    builder.add_given(name, symbol, axes, indices.given_positions, options=options, source=(key,))
    return name


def rotation_positions(builder: PlanBuilder, role: str) -> str:
    """The node of the positions that rotate queries or keys: given, or row numbers, repeated on several axes."""
    given = given_positions(builder, role)
    if given is not None:
        return given
    keys = "new_key_positions" if builder.problem.past_count else "key_positions"
    rows = builder.nodes["query_positions" if role == "query" else keys]
    position = position_axes(builder.problem)
    if position is None:
        return rows.name
    name, symbol = "query_positions_on_axes" if role == "query" else "positions_on_axes", f"{rows.symbol}ₛ"
    axes = (*rows.axes[:-1], Axis("s", position.count), rows.axes[-1])
    formula, options = f"{rows.symbol} on each of {position.count} axes", {"count": position.count}
    inputs = {"positions": rows.name}
    return builder.add(name, symbol, formula, axes, "index", indices.on_axes, inputs, options).name


STAGES = {"inputs": (add_indices,)}
