"""Rows: a block of queries over all keys that they see, every step as the whole table has it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.engine.recipe import Move, Recipe
from attncli.ops.registry import OperatorRecord, record_of
from attncli.ops.rules import KeyBounds

Values = dict[str, Array]


def compute(recipe: Recipe, arrays: Values, wanted: Sequence[str]) -> Values:
    """The wanted steps of a block; `arrays` are what belongs to it of every source.

    What the steps make is rounded as the plain path rounds it.
    """
    values, precision = dict(arrays), recipe.precision
    for move in recipe.moves:
        if move.exact:
            values[move.name] = move.function(**move.read(values), **move.options)
            continue
        listening = _listening(move, values, wanted, precision.stored)
        arguments = {name: precision.computing(x) for name, x in move.read(values).items()}
        values[move.name] = precision.stored(np.asarray(move.function(**arguments, **move.options, **listening)))
    return {name: values[name] for name in wanted}


def _listening(move: Move, values: Values, wanted: Sequence[str], stored: Callable[[Array], Array]) -> dict[str, Any]:
    """A tap that keeps the steps on the way, where one of them is wanted."""
    if not set(move.taps.values()) & set(wanted):
        return {}

    def tap(name: str, value: Array) -> Array:
        values[move.taps[name]] = stored(value)
        return value

    return {"tap": tap}


def seen(recipe: Recipe, arrays: Mapping[str, Array]) -> KeyBounds:
    """Which keys some of a block's queries may see, and which all of them see, as far as the masks say."""
    first, end, every = 0.0, float(recipe.lengths.keys), (0.0, float(recipe.lengths.keys))
    for move in recipe.scoring:
        record = record_of(move.function)
        rule = record.key_bounds if isinstance(record, OperatorRecord) else None
        if rule is None:
            continue
        reach = rule(**move.read(arrays), **move.options)
        first, end = max(first, reach.any_visible[0]), min(end, reach.any_visible[1])
        every = max(every[0], reach.all_visible[0]), min(every[1], reach.all_visible[1])
    return KeyBounds((first, max(end, first)), every if every[0] < every[1] else (first, first))
