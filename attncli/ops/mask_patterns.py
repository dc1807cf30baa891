"""Masks that are patterns: a prefix, blocks and their neighbors, every so many keys, global tokens, documents.

Like every mask they are rules on indices, true if the query sees the key. `ids` and `tokens` count all keys, also
cached ones.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops.code import CodeCall, NoCode
from attncli.ops.decorators import mask
from attncli.ops.masks import bounds_of_table, chunk_number, lines_on_chunks, verdict
from attncli.ops.records import COUNTS, TABLE, KeyBounds, MaskSign, OperatorUse, Range

EVERY_KEY = (0.0, float("inf"))
NO_KEY = (0.0, 0.0)
NO_DOCUMENT = -1  # of a position beyond the keys


@mask(
    formula="visible where j < size",
    shapes="key_positions[m] -> [n m]",
    source="Raffel et al. 2020 (T5), §3.2.1, causal masking with prefix; the prefix alone",
    example={"key_positions": [0, 1, 2], "size": 2, "gives": [[True, True, False]]},
    key_bounds=lambda key_positions, size: KeyBounds(any_visible=(0, size), all_visible=(0, size)),
    by_hand=lambda write, key_positions, result, size: verdict(
        f"key {key_positions} {'<' if result else '≥'} the prefix of {size}", result
    ),
    counts_from_first_key=True,
    sign=MaskSign("]", "after the prefix"),
)
def prefix(key_positions: Array, *, size: Annotated[int, Range(least=0)]) -> Array:
    """Every query sees the first keys; `causal | prefix:size=4` is a prefix language model.

    >>> prefix(np.arange(3), size=2)
    array([[ True,  True, False]])
    """
    visible: Array = key_positions[None, :] < size
    return visible


def block_key_bounds(
    query_positions: Array, key_positions: Array, real_key_starts: Array | None = None, *, size: int, around: int
) -> KeyBounds:
    """The blocks around some queries' blocks, from the first to the last; the intersection of all of them."""
    start = 0 if real_key_starts is None else real_key_starts[..., None]
    starts = start + chunk_number(query_positions, start, size) * size
    first, last = starts.min(), starts.max()
    return KeyBounds(
        any_visible=(first - around * size, last + (around + 1) * size),
        all_visible=(last - around * size, first + (around + 1) * size),
    )


def block_by_hand(
    write: ArithmeticWriter,
    query_positions: Any,
    key_positions: Any,
    result: Any,
    real_key_starts: Any = 0,
    *,
    size: int,
    around: int,
) -> list[str]:
    """The blocks of one query and of one key, and their distance."""
    lines, (own, other) = lines_on_chunks(write, "block", query_positions, key_positions, real_key_starts, size)
    distance = "in the same block" if own == other else f"{count_of(abs(own - other), 'block')} away"
    return [*lines, *verdict(f"key {key_positions} is {distance}", result)]


@mask(
    formula="visible where |⌊j / size⌋ − ⌊posᵢ / size⌋| ≤ around, both counted from the first real key",
    shapes="query_positions[n], key_positions[m], real_key_starts[b] -> [b n m]",
    source="Zaheer et al. 2020 (BigBird), appendix D, blocked sliding window: around=1",
    example={
        "query_positions": [0, 4],
        "key_positions": [0, 1, 2, 3, 4],
        "real_key_starts": [0],
        "size": 2,
        "around": 1,
        "gives": [[[True, True, True, True, False], [False, False, True, True, True]]],
    },
    formula_in_force=lambda size, around: (
        "visible where ⌊j / size⌋ = ⌊posᵢ / size⌋"
        if around == 0
        else "visible where |⌊j / size⌋ − ⌊posᵢ / size⌋| ≤ around"
    ),
    key_bounds=block_key_bounds,
    by_hand=block_by_hand,
    counts_from_first_key=True,
    sign=MaskSign("=", "in a block too far away"),
)
def block(
    query_positions: Array,
    key_positions: Array,
    real_key_starts: Array | None = None,
    *,
    size: Annotated[int, Range(least=1)],
    around: Annotated[int, Range(least=0)] = 0,
) -> Array:
    """A query sees the keys of its own block, and of some blocks on either side of it.

    The sequence is cut into blocks of one size; the first one begins at the first real key of each batch item. With
    `around=0` it is `chunked`. With `around=1` it is BigBird's blocked window: the query's own block, the one before it
    and the one after it.

    >>> block(np.array([0, 2]), np.arange(6), size=2, around=1)
    array([[ True,  True,  True,  True, False, False],
           [ True,  True,  True,  True,  True,  True]])
    """
    start = 0 if real_key_starts is None else real_key_starts[..., None]
    own, other = (chunk_number(positions, start, size) for positions in (query_positions, key_positions))
    visible: Array = abs(own[..., :, None] - other[..., None, :]) <= around
    return visible


def dilated_by_hand(
    write: ArithmeticWriter, query_positions: Any, key_positions: Any, result: Any, *, step: int
) -> list[str]:
    """The distance of the key from the query, in steps and a remainder."""
    distance = abs(int(query_positions) - int(key_positions))
    steps = f"{count_of(distance // step, 'step')} of {step}" + (f" and {distance % step}" if distance % step else "")
    ends = f"from position {query_positions} of {write.query} to key {key_positions}"
    return verdict(f"{ends}: {distance}, {steps}", result)


@mask(
    formula="visible where step divides posᵢ − j",
    shapes="query_positions[n], key_positions[m] -> [n m]",
    source="Beltagy, Peters & Cohan 2020 (Longformer), §3.1, dilated sliding window; the gaps alone",
    example={
        "query_positions": [0, 1],
        "key_positions": [0, 1, 2],
        "step": 2,
        "gives": [[True, False, True], [False, True, False]],
    },
    key_bounds=lambda query_positions, key_positions, step: KeyBounds(EVERY_KEY, EVERY_KEY if step == 1 else NO_KEY),
    by_hand=dilated_by_hand,
    sign=MaskSign("/", "between two steps"),
)
def dilated(query_positions: Array, key_positions: Array, *, step: Annotated[int, Range(least=1)]) -> Array:
    """A query sees its own key and every so many keys before and after it.

    The dilated window of Longformer is `dilated:step=2 & window:left=8,right=8`.

    >>> dilated(np.array([1]), np.arange(5), step=2)
    array([[False,  True, False,  True, False]])
    """
    visible: Array = (query_positions[..., :, None] - key_positions) % step == 0
    return visible


def check_tokens(use: OperatorUse) -> None:
    """Raise AttnError if a token is not a key."""
    keys, last = use.lengths["m"], use.parameters["tokens"].max()
    if last >= keys:
        raise AttnError(f"there is no key {last}", where="tokens", hint=f"expected 0 to {keys - 1}")


def global_key_bounds(query_positions: Array, key_positions: Array, *, tokens: Array) -> KeyBounds:
    """From the first of the tokens to the last; every key if a query is one of them."""
    are_global = np.isin(query_positions, tokens)
    if are_global.all():
        return KeyBounds(EVERY_KEY, EVERY_KEY)
    of_tokens = bounds_of_table(np.isin(key_positions, tokens)[None, :])
    return KeyBounds(EVERY_KEY, of_tokens.all_visible) if are_global.any() else of_tokens


def global_by_hand(
    write: ArithmeticWriter, query_positions: Any, key_positions: Any, result: Any, *, tokens: Array
) -> list[str]:
    """Whether the query or the key is one of the tokens."""
    names = ((f"position {query_positions} of {write.query}", query_positions), (f"key {key_positions}", key_positions))
    found = [name for name, position in names if np.isin(position, tokens)]
    said = f"global: {', '.join(found)}" if found else f"neither {names[0][0]} nor {names[1][0]} is global"
    return verdict(said, result)


@mask(
    formula="visible where posᵢ or j is one of the tokens",
    shapes="query_positions[n], key_positions[m], tokens[w] -> [n m]",
    source="Beltagy, Peters & Cohan 2020 (Longformer), §3.1, global attention; Zaheer et al. 2020 (BigBird), §2",
    example={
        "query_positions": [0, 1],
        "key_positions": [0, 1, 2],
        "tokens": [0],
        "gives": [[True, True, True], [True, False, False]],
    },
    check=check_tokens,
    key_bounds=global_key_bounds,
    by_hand=global_by_hand,
    counts_from_first_key=True,
    sign=MaskSign("+", "not global"),
    code="np.isin({query_positions}, {tokens})[..., None] | np.isin({key_positions}, {tokens})",
)
def global_(query_positions: Array, key_positions: Array, *, tokens: Annotated[Array, TABLE, COUNTS]) -> Array:
    """Some tokens see every key and are seen by every query.

    Their numbers count all keys from 0. With a window: `window:left=2,right=2 | global:tokens=0`.

    >>> global_(np.array([0, 1]), np.arange(3), tokens=np.array([0]))
    array([[ True,  True,  True],
           [ True, False, False]])
    """
    visible: Array = np.isin(query_positions, tokens)[..., :, None] | np.isin(key_positions, tokens)
    return visible


def _documents(ids: Array | None, lengths: Array | None) -> Iterator[Array]:
    """The document of each key, by ids and by lengths, if given."""
    if ids is not None:
        yield ids
    if lengths is not None:
        yield np.repeat(np.arange(len(lengths)), lengths)


def _at(positions: Array, documents: Array) -> Array:
    """The document of the key at each position, −1 beyond the keys."""
    inside = (positions >= 0) & (positions < len(documents))
    return np.where(inside, documents[np.where(inside, positions, 0)], NO_DOCUMENT)


def check_documents(use: OperatorUse) -> None:
    """Raise AttnError if neither ids nor lengths are given, or if they don't match the number of keys."""
    ids, lengths = (use.parameters.get(name) for name in ("ids", "lengths"))
    if ids is None and lengths is None:
        raise AttnError("document needs ids or lengths", hint="for example document:ids=0 0 1 1 1")
    keys = use.lengths["m"]
    if lengths is not None and lengths.sum() != keys:
        raise AttnError(f"the lengths add up to {lengths.sum()}; there are {count_of(keys, 'key')}", where="lengths")


def document_key_bounds(
    query_positions: Array, key_positions: Array, *, ids: Array | None = None, lengths: Array | None = None
) -> KeyBounds:
    """From the first key of some queries' documents to the last; for a single document, its keys."""
    seen, are_of_one = np.ones(len(key_positions), dtype=bool), True
    for documents in _documents(ids, lengths):
        own = np.unique(_at(query_positions, documents))
        seen &= np.isin(_at(key_positions, documents), own)
        are_of_one &= len(own) == 1
    bounds = bounds_of_table(seen[None, :])
    return bounds if are_of_one else KeyBounds(bounds.any_visible, NO_KEY)


def document_by_hand(
    write: ArithmeticWriter,
    query_positions: Any,
    key_positions: Any,
    result: Any,
    *,
    ids: Array | None = None,
    lengths: Array | None = None,
) -> list[str]:
    """The documents of the query and of the key."""
    lines = []
    for documents in _documents(ids, lengths):
        own, other = (int(_at(np.asarray(position), documents)) for position in (query_positions, key_positions))
        own_text = "no document" if own == NO_DOCUMENT else f"document {own}"
        lines.append(f"{write.query} is in {own_text}, {write.key} in {other}")
    return verdict("; ".join(lines), result)


def _document_code(call: CodeCall) -> str | NoCode:
    """The ids of the keys at both positions, or the number of documents that end before them."""
    (keys,) = call.shapes["key_positions"]
    known = [call.values.get(name) for name in ("query_positions", "key_positions")]
    if any(at is None or at.min() < 0 or at.max() >= keys for at in known):
        return NoCode("a query is at none of the keys")
    lines, rules = list[str](), list[str]()
    if call.has("ids"):
        rules.append("{ids}[{query_positions}][..., None] == {ids}[{key_positions}]")
    if call.has("lengths"):
        lines.append("ends = {lengths}.cumsum(axis=-1)")
        numbers = [f"np.searchsorted(ends, {{{name}}}, side='right')" for name in ("query_positions", "key_positions")]
        rules.append(f"{numbers[0]}[..., None] == {numbers[1]}")
    return "\n".join([*lines, rules[0] if len(rules) == 1 else f"({rules[0]}) & ({rules[1]})"])


@mask(
    formula="visible where j and posᵢ are of one document: ids[j] = ids[posᵢ]",
    shapes="query_positions[n], key_positions[m], ids[m], lengths[w] -> [n m]",
    source="PyTorch 2.13, FlexAttention, document masking; the same sequences as cu_seqlens, by the number of each key",
    example={
        "query_positions": [0, 2],
        "key_positions": [0, 1, 2],
        "ids": [0, 0, 1],
        "gives": [[True, True, False], [False, False, True]],
    },
    check=check_documents,
    key_bounds=document_key_bounds,
    by_hand=document_by_hand,
    counts_from_first_key=True,
    sign=MaskSign(":", "in another document", precedence=1),
    code=_document_code,
)
def document(
    query_positions: Array,
    key_positions: Array,
    *,
    ids: Annotated[Array | None, TABLE, COUNTS] = None,
    lengths: Annotated[Array | None, TABLE, COUNTS] = None,
) -> Array:
    """A query sees the keys of its own document.

    `ids` has the document of each key, also of cached ones; `lengths` has the number of keys of consecutive documents.
    With both a query sees the keys of its document according to both. Positions continue from document to document,
    unless `positions` are given; `cu_seqlens` restarts them in each.

    >>> document(np.array([0, 2]), np.arange(3), ids=np.array([0, 0, 1]))
    array([[ True,  True, False],
           [False, False,  True]])
    """
    visible: Array = np.ones((1, 1), dtype=bool)
    for documents in _documents(ids, lengths):
        visible = visible & (_at(query_positions, documents)[..., :, None] == _at(key_positions, documents))
    return visible
