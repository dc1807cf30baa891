"""Arrays of the problem as nodes: as they were given, their selected rows, and the columns of packed projections."""

from collections.abc import Mapping
from typing import Any

from attncli.base.axes import Letters
from attncli.ops import structural
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, Axes, Axis, Node
from attncli.problem.fields import Field
from attncli.problem.packing import PackedPart, columns_letter, packed_key, parts_of_problem
from attncli.problem.spec import FIELDS

MAX_RANGES = 2  # of the columns of a part that a formula names


def add_given(
    builder: PlanBuilder,
    name: str,
    symbol: str,
    letters: Letters,
    *,
    role: str | None = None,
    selected: list[int] | None = None,
) -> Node:
    """Add an array of the problem, or the selected rows of it."""
    axes = axes_of(letters, getattr(builder.problem, name).shape)
    node = Node(name, symbol, GIVEN, axes, GIVEN, source=(name,), role=role)
    if selected is None:
        return builder.add(node)
    options: Mapping[str, Any] = {"at": selected}
    axes = (*axes[:-2], Axis(axes[-2].letter, len(selected)), axes[-1])
    return builder.add(
        Node(name, symbol, GIVEN, axes, GIVEN, structural.select_rows, options=options, source=(name,), role=role)
    )


def add_parameter(builder: PlanBuilder, name: str, symbol: str, letters: Letters) -> Node | None:
    """Add weights or a bias, given alone or packed with others; None where the problem has neither."""
    if getattr(builder.problem, name) is not None:
        return add_given(builder, name, symbol, letters)
    owner = packed_key(vars(builder.problem), name)
    return None if owner is None else _add_part(builder, owner, name, symbol, letters)


def _add_part(builder: PlanBuilder, owner: str, name: str, symbol: str, letters: Letters) -> Node:
    """Add the columns of one projection, after the packed array that has them."""
    if owner in builder.nodes:
        packed = builder.nodes[owner]
    else:
        packed_symbol = f"{symbol[0]}_{owner.partition('_')[2].upper()}"
        packed = add_given(builder, owner, packed_symbol, (*letters[:-1], columns_letter(builder.problem, owner)))
    part = next(part for part in parts_of_problem(builder.problem, owner) if part.key == name)
    return builder.add(
        Node(
            name,
            symbol,
            f"{_columns(part, FIELDS[owner], packed.axes[-1].length)} of {packed.symbol}",
            (*packed.axes[:-1], Axis(letters[-1], part.size)),
            GIVEN,
            structural.unpack,
            {"x": packed.name},
            {"blocks": part.blocks, "first": part.first, "count": part.count},
        )
    )


def _columns(part: PackedPart, field: Field, columns: int) -> str:
    """The columns of a part in words: `columns 0:2, 6:8`, as NumPy counts them."""
    ranges = [f"{block.start}:{block.stop}" for block in part.ranges(columns)]
    more = [] if len(ranges) <= MAX_RANGES else ["…"]
    return f"{'columns' if field.is_weight else 'numbers'} {', '.join([*ranges[:MAX_RANGES], *more])}"


def axes_of(letters: Letters, shape: tuple[int, ...]) -> Axes:
    """Letters with the lengths of an array's axes."""
    return tuple(map(Axis, letters, shape))
