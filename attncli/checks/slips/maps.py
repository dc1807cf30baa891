"""Slips that exchange heads, key heads, rows or layouts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array, np
from attncli.checks.slips.records import (
    Computation,
    FittedNumber,
    Function,
    Solve,
    Variant,
    add_slips,
    evaluate_names,
    plan_slip,
    tile_sizes,
)
from attncli.plan.graph import Node, gradient_name
from attncli.problem.layout import OWN_LAYOUTS, layout_text
from attncli.problem.spec import ProblemSpec

SAME, SAME_UNITS = 1e-3, 4  # share of a head's largest number, or units of it: closer heads count as equal
MAX_HEADS, MAX_ITEMS, MAX_ENTRIES = 64, 16, 512
FEW_NUMBERS = 64  # numbers by which two entries are compared
FEW_NAMED = 8  # entries that a sentence names


def _context(case: Computation) -> Node | None:
    """The node of the context, if it has several heads."""
    node = case.node("context")
    return node if node is not None and "h" in node.letters and node.shape[node.letters.index("h")] > 1 else None


def _head_count(case: Computation) -> int:
    node = _context(case)
    return 0 if node is None else node.shape[node.letters.index("h")]


def expected_context(case: Computation, expected: Mapping[str, Array]) -> Array | None:
    """The expected context, also from an output that is only its heads side by side."""
    context = case.node("context")
    if context is None or "context" in expected:
        return expected.get("context")
    numbers, problem = expected.get("output"), case.problem
    is_context = all(x is None for x in (problem.w_o, problem.b_o, problem.context_norm))
    if numbers is None or not is_context or "gated" in case.plan.by_name:
        return None
    if numbers.ndim == len(context.shape):
        return numbers
    at = context.letters.index("h")
    return np.moveaxis(numbers.reshape(*numbers.shape[:-1], context.shape[at], -1), -2, at)


def expected_by_head(case: Computation, expected: Mapping[str, Array]) -> Array | None:
    """The expected numbers of each head [h …], from the context, or an output of only its heads side by side."""
    context, found = _context(case), expected_context(case, expected)
    return None if context is None or found is None else np.moveaxis(found, context.letters.index("h"), 0)


def computed_by_head(case: Computation) -> Array | None:
    """A computation's context of each head [h … n e]."""
    context = _context(case)
    if context is None:
        return None
    value = evaluate_names(case.plan, case.problem, ["context"], case.problem.precision)["context"]
    return np.moveaxis(value, context.letters.index("h"), 0)


def same_part(case: Computation) -> float:
    """The distance below which two heads or rows count as equal, as a share of the largest number."""
    return max(SAME, SAME_UNITS * Precision(case.dtype).epsilon)


def _matches(case: Computation, expected: Array, computed: Array) -> bool:
    """Whether a head's expected numbers nearly equal another head's."""
    is_given = np.isfinite(expected)
    if not is_given.any():
        return False
    largest = float(np.max(abs(computed), initial=0, where=np.isfinite(computed))) or 1.0
    with np.errstate(invalid="ignore"):
        return bool((abs(expected - computed)[is_given] <= same_part(case) * largest).all())


def _order_along(letter: str) -> Solve:
    """The search for the entry along an axis of the context whose result each one has."""

    def solve(case: Computation, expected: Mapping[str, Array]) -> Iterator[tuple[int, ...]]:
        """The source entry of each result, if every one has a source, and not all their own."""
        context, found = case.node("context"), expected_context(case, expected)
        if context is None or found is None or found.shape != context.shape or _length(context, letter) < 2:
            return
        own = evaluate_names(case.plan, case.problem, ["context"], case.problem.precision)["context"]
        axis, length = context.letters.index(letter), _length(context, letter)
        found, own = (np.moveaxis(x, axis, 0).reshape(length, -1) for x in (found, own))
        few = np.unique(np.linspace(0, own.shape[1] - 1, FEW_NUMBERS).astype(int))
        largest = float(np.max(abs(own), initial=0, where=np.isfinite(own))) or 1.0
        near = np.isclose(found[:, None, few], own[None, :, few], rtol=0, atol=same_part(case) * largest)
        is_near = np.all(near | ~np.isfinite(found[:, None, few]), axis=-1)
        is_own = np.diagonal(is_near)
        if length <= MAX_ENTRIES and np.any(is_near, axis=1).all() and not is_own.all():
            yield tuple(np.where(is_own, np.arange(length), np.argmax(is_near, axis=1)).tolist())

    return solve


def _length(node: Node, letter: str) -> int:
    """The number of entries a node has along an axis; 1 if it lacks the axis."""
    return node.shape[node.letters.index(letter)] if letter in node.letters else 1


def _ordered(case: Computation, order: Sequence[int], letter: str, sentence: str) -> Iterator[Variant]:
    """The plan whose context has other entries along an axis; the sentence ends with them."""
    context = case.node("context")
    if context is not None and _length(context, letter) == len(order):
        options = {"order": tuple(order), "axis": context.letters.index(letter)}
        changed = case.with_changed_value("context", _taken, options=options)
        yield Variant(changed, f"{sentence}: {others_of(order)}.")


def others_of(order: Sequence[int], most: int = FEW_NAMED) -> str:
    """The entries that have other entries' numbers, the first few of them."""
    others = [f"{at} has {other}'s" for at, other in enumerate(order) if at != other]
    more = f", and {len(others) - most} more" if len(others) > most else ""
    return ", ".join(others[:most]) + more


def _own_first(head: int, count: int) -> Sequence[int]:
    return [head, *(other for other in range(count) if other != head)]


def _taken(x: Array, *, order: Sequence[int], axis: int) -> Array:
    return x.take(order, axis)


def _with_heads(case: Computation, name: str, order: Sequence[int]) -> Computation:
    """The computation with a node's heads reordered."""
    options = {"order": tuple(order), "axis": case.plan.by_name[name].letters.index("h")}
    return case.with_changed_value(name, _taken, options=options)


@plan_slip("there are several heads", needs_all="h", number=FittedNumber("heads", solve=_order_along("h")))
def heads_permuted(case: Computation, number: Sequence[int]) -> Iterator[Variant]:
    """The results of the heads are in another order."""
    return _ordered(case, number, "h", "The results of the heads are in another order")


@plan_slip("there are several batch items", needs_all="b", number=FittedNumber("items", solve=_order_along("b")))
def batch_items_permuted(case: Computation, number: Sequence[int]) -> Iterator[Variant]:
    """The results of the batch items are in another order, or one is repeated."""
    return _ordered(case, number, "b", "The results of the batch items are in another order")


@plan_slip("values have several features", number=FittedNumber("features", solve=_order_along("e")))
def features_permuted(case: Computation, number: Sequence[int]) -> Iterator[Variant]:
    """The features of the values, and so of each head's result, are in another order."""
    return _ordered(case, number, "e", "The features of the values are in another order")


def _other_items(*words: str) -> Solve:
    """The search for the batch item from which each one reads its keys or values."""

    def solve(case: Computation, expected: Mapping[str, Array]) -> Iterator[tuple[int, ...]]:
        """The item that each one reads, if every one has the result of one, and not all of their own."""
        context, found, names = case.node("context"), expected_context(case, expected), _read_items(case)
        if context is None or found is None or found.shape != context.shape or not {*words} <= names.keys():
            return
        items, contexts = len(found), []
        for item in range(items if items <= MAX_ITEMS else 0):
            plan = _reading_items(case, [item] * items, words).plan
            contexts.append(evaluate_names(plan, case.problem, ["context"], case.problem.precision)["context"])
        read = [
            next((other for other in _own_first(item, items) if _matches(case, found[item], contexts[other][item])), -1)
            for item in range(len(contexts))
        ]
        if -1 not in read and read != list(range(len(read))):
            yield tuple(read)

    return solve


def _read_items(case: Computation) -> Mapping[str, str]:
    """The nodes of keys and values with several batch items, under these names."""
    nodes = {word: case.plan.by_name[name] for word, name in read_rows(case).items()}
    return {word: node.name for word, node in nodes.items() if node.letters[0] == "b" and node.shape[0] > 1}


def _reading_items(case: Computation, read: Sequence[int], words: Sequence[str]) -> Computation:
    """The computation in which batch items read these items' rows."""
    return case.with_changed_values([_read_items(case)[word] for word in words], _taken, order=tuple(read), axis=0)


def _items_exchanged(case: Computation, number: Sequence[int], *, words: Sequence[str]) -> Iterator[Variant]:
    """The plan in which batch items read other items' keys, values or both."""
    nodes = [case.plan.by_name[name] for word, name in _read_items(case).items() if word in words]
    if len(nodes) == len(words) and all(node.shape[0] == len(number) for node in nodes):
        what, items = " and ".join(f"{word}s" for word in words), ", ".join(map(str, number))
        sentence = f"Batch items read the {what} of others: those numbered {items}."
        yield Variant(_reading_items(case, number, words), sentence)


for _name, _words, _what in (
    ("key_items_exchanged", ("key", "value"), "keys and values of others"),
    ("key_items_alone_exchanged", ("key",), "keys, but not the values, of others"),
    ("value_items_exchanged", ("value",), "values, but not the keys, of others"),
):
    add_slips(
        plan_slip(
            "there are several batch items",
            needs_all="b",
            number=FittedNumber("items", solve=_other_items(*_words)),
        ),
        {_name: (f"Batch items read the {_what}.", partial(_items_exchanged, words=_words))},
    )


def readers_by_head(case: Computation) -> Mapping[str, str]:
    """The nodes with the keys and the values that each query head reads, under these names."""
    return {  # with a difference of maps, keys have as many heads as queries, and values half of them
        word: node.name
        for word, node in _read_nodes(case).items()
        if "h" in node.letters and node.shape[node.letters.index("h")] == _head_count(case)
    }


def _other_heads(*words: str) -> Callable[[Computation, Mapping[str, Array]], Iterator[tuple[int, ...]]]:
    """The search for the key head from which each query head reads its keys or values."""

    def solve(case: Computation, expected: Mapping[str, Array]) -> Iterator[tuple[int, ...]]:
        """The key head of each query head, if every head has the result of one, and not all of their own."""
        found, heads, groups = expected_by_head(case, expected), _head_count(case), case.problem.leading.kv_heads
        if found is None or not {*words} <= readers_by_head(case).keys() or not 1 < groups <= min(heads, MAX_HEADS):
            return
        per_group, contexts = heads // groups, []
        for group in range(groups):
            changed = case
            for word in words:
                changed = _with_heads(changed, readers_by_head(case)[word], [group * per_group] * heads)
            contexts.append(computed_by_head(changed))
        read = []
        for head in range(heads):
            own = head // per_group
            fits = [
                group
                for group in _own_first(own, groups)
                if (context := contexts[group]) is not None and _matches(case, found[head], context[head])
            ]
            read.append(fits[0] if fits else -1)
        if -1 not in read and read != [head // per_group for head in range(heads)]:
            yield tuple(read)

    return solve


def _reading(case: Computation, read: Sequence[int], words: Sequence[str], what: str) -> Iterator[Variant]:
    """The computation in which query heads read these key heads."""
    readers, per_group = readers_by_head(case), case.problem.leading.heads // max(case.problem.leading.kv_heads, 1)
    if not {*words} <= readers.keys() or len(read) != _head_count(case):
        return
    for word in words:
        case = _with_heads(case, readers[word], [group * per_group for group in read])
    yield Variant(case, f"Query heads read the {what} of other key heads: those numbered {', '.join(map(str, read))}.")


@plan_slip(
    "there are several key heads",
    needs_all="h",
    number=FittedNumber("key_heads", solve=_other_heads("key", "value"), is_whole=True),
)
def key_heads_exchanged(case: Computation, number: Sequence[int]) -> Iterator[Variant]:
    """Query heads read the keys and values of other key heads."""
    yield from _reading(case, number, ("key", "value"), "keys and values")


@plan_slip(
    "there are several key heads",
    needs_all="h",
    number=FittedNumber("key_heads", solve=_other_heads("value"), is_whole=True),
)
def value_heads_exchanged(case: Computation, number: Sequence[int]) -> Iterator[Variant]:
    """Query heads read the values, but not the keys, of other key heads."""
    yield from _reading(case, number, ("value",), "values")


def read_rows(case: Computation) -> Mapping[str, str]:
    """The nodes of the keys and values that the scores and the context read, under these names."""
    return {word: node.name for word, node in _read_nodes(case).items() if node.letters[-2:-1] == ("m",)}


def _read_nodes(case: Computation) -> Mapping[str, Node]:
    """The nodes of the keys that the scores read, and of the values that the context reads, under these names."""
    readers = {"key": case.node_of_stage("score"), "value": case.node("context")}
    names = {word: "" if reader is None else reader.inputs.get(word, "") for word, reader in readers.items()}
    return {word: case.plan.by_name[name] for word, name in names.items() if name in case.plan.by_name}


def with_changed_rows(
    case: Computation, choices: Sequence[Sequence[str]], function: Function, **options: Any
) -> Iterator[tuple[Computation, str]]:
    """The computations with changed keys, values or both, and their name in a sentence, if all are read."""
    names = read_rows(case)
    for words in choices:
        if names.keys() >= {*words}:
            changed = case.with_changed_values([names[word] for word in words], function, **options)
            yield changed, " and ".join(f"{word}s" for word in words)


SHIFTS = FittedNumber(  # of rows, as far as tiles and pages are long, both ways
    "rows", lambda case: [by for size in tile_sizes(case.key_count) for by in (size, -size)], is_whole=True
)


@plan_slip("there are several keys and values", number=SHIFTS)
def values_shifted(case: Computation, number: int) -> Iterator[Variant]:
    """The values belong to other keys: their rows are shifted, the last ones first."""
    for changed, _ in with_changed_rows(case, [["value"]], np.roll, shift=-number, axis=-2):
        where = "after" if number > 0 else "before"
        rows = "one row" if abs(number) == 1 else f"{abs(number)} rows"
        yield Variant(changed, f"The values are shifted by {rows}: each key has the value of a key {where} it.")


@plan_slip("the output has an axis of heads, as many as queries", needs_all="nh")
def output_axes_exchanged(case: Computation) -> Iterator[Variant]:
    """The heads and the queries of the output are exchanged: it is (batch, tokens, heads, features)."""
    node = case.node(case.plan.results.get("output", ""))
    if node is not None and node.letters[-3:-1] == ("h", "n") and node.shape[-3] == node.shape[-2] > 1:
        yield Variant(case.with_changed_value(node.name, _exchanged_axes))


@plan_slip("queries, keys and values have an axis of heads, and several of both", needs_all="nh")
def layout_misread(case: Computation) -> Iterator[Variant]:
    """Queries, keys and values (batch, heads, tokens, features) are read as (batch, tokens, heads, features)."""
    names = [name for name in ("query", "key", "value") if name in case.plan.by_name]
    if not case.problem.leading.has_input_head_axis or len(names) < 2 or not all(map(_has_both(case), names)):
        return
    yield Variant(case.with_changed_values(names, _other_layout))
    # Slips of a backward pass read steps of both layouts; `check` itself tries the other layout.
    is_alone = not {"visible", gradient_name("context")} & case.plan.by_name.keys()
    if case.plan.has_weights and _is_plain(case.problem) and is_alone:
        exchanged = case.with_changed_values([*names, "context"], _exchanged_axes)
        own = case.problem.layout or OWN_LAYOUTS[0]
        other = own.translate(str.maketrans("hn", "nh"))
        sentence = (
            f"Queries, keys and values {layout_text(own)} are taken for {layout_text(other)}: heads attend to one "
        )
        sentence += "another within each token."
        advice = f" With layout {other} arrays are read so." if case.problem.layout is None else ""
        yield Variant(exchanged, f"{sentence}{advice}")


def _has_both(case: Computation) -> Callable[[str], bool]:
    """Whether an array has an axis of heads before its rows, with several of both."""

    def has_both(name: str) -> bool:
        node = case.plan.by_name[name]
        return node.is_input and len(node.shape) >= 3 and min(node.shape[-3:-1]) > 1

    return has_both


def _is_plain(problem: ProblemSpec) -> bool:
    """Whether only queries, keys and values have a head axis, with equal heads and rows, and there is no cache."""
    norms = (problem.qk_norm, problem.value_norm, problem.context_norm)
    others = (problem.sink, problem.bias, problem.position, problem.past_key, *norms)
    lengths, layout = problem.lengths, problem.leading
    is_square = layout.heads == layout.kv_heads and lengths.get("n") == lengths.get("m")
    return is_square and not problem.score.arrays and all(value is None for value in others)


def _exchanged_axes(x: Array, **_: Any) -> Array:
    """An array with exchanged axes of heads and tokens."""
    return x.swapaxes(-3, -2)


def _other_layout(x: Array, **_: Any) -> Array:
    """An array whose memory is reinterpreted in another layout."""
    *leading, heads, rows, features = x.shape
    return x.reshape(*leading, rows, heads, features).swapaxes(-3, -2)
