"""Saved maps of attention: the weights of every layer and head of a model, in `.npy`, `.npz` and `.safetensors` files.

A file has one array of all layers, [layers heads n m], or one for each layer, [heads n m] or [batch heads n m], as in
transformers' tuple of attentions.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of, join_words
from attncli.io.entries import ArchiveEntry
from attncli.io.formats import read_expected
from attncli.io.inputs import Input, Inputs
from attncli.io.paths import STDIN, is_there, locate, path_of
from attncli.problem.arrays import GivenArray, to_array
from attncli.problem.numbers import to_booleans, to_counts

TOKENS = ("tokens", "query_tokens")  # an archive's entries with the words of the keys and of the queries
SHAPES = "[layers heads n m], [heads n m], or an array of [heads n m] for each layer"
BATCH_OPTION = "--batch"
EAGER_HINT = 'load the model with attn_implementation="eager", and call it with output_attentions=True'
_NUMBER = re.compile(r"([0-9]+)")


@dataclass(frozen=True)
class LayerMaps:
    """The weights of one layer, [heads n m], under its name, and the words of its keys and queries, if known.

    Queries without words have the keys' words, if they are as many. `real_keys` [m] and `real_queries` [n] are false
    for padding, and `visible` [n m] is the mask; None if unknown. The weights belong to one of `items` batch items.
    """

    name: str
    weights: Array
    key_tokens: tuple[str, ...] | None = None
    query_tokens: tuple[str, ...] | None = None
    real_keys: Array | None = None
    real_queries: Array | None = None
    visible: Array | None = None
    items: int = 1


Maps = tuple[LayerMaps, ...]


def read_maps(file: str, inputs: Inputs, batch: int | None = None) -> Maps:
    """The maps in a file, or in an entry or a slice of it, for one batch item.

    Raises AttnError if the file has no maps, or if a batch item must be chosen.
    """
    name, entry = locate(file)
    source = inputs.open(name)
    found = _entry(source, entry) if entry else read_expected(source)
    if isinstance(found, GivenArray) and found.array.dtype.kind != "O":  # tables of texts have it
        return maps_of_arrays(found, file, batch)
    if isinstance(found, Mapping) and all(isinstance(each, ArchiveEntry) for each in found.values()):
        return _maps_of_entries(found, source, batch)
    hint = "expected a .npy, .npz or .safetensors file"
    raise AttnError("is not a file of saved maps", where=file, hint=hint)


def read_words(text: str, inputs: Inputs, option: str) -> tuple[str, ...]:
    """The words of a text: a file's, or the words between commas, or else between spaces.

    A file has a word on each line, or a JSON list. Raises AttnError if it can't be read.
    """
    name = path_of(text) if text and "\0" not in text else None
    if text == STDIN or (name is not None and is_there(name)):
        source = inputs.open(text)
        content = source.text()
        if content.lstrip().startswith("["):
            return tuple(_listed(content, source.name))
        return tuple(content.splitlines())
    if not text.strip():
        raise AttnError("there are no words", where=option, hint="write them between spaces or commas, or name a file")
    parts = text.split(",") if "," in text and " " not in text.strip() else text.split()
    return tuple(part.strip() for part in parts)


def _listed(content: str, where: str) -> list[str]:
    """The texts of a list in JSON; raises AttnError for anything else."""
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(word, str | int) for word in found):
        raise AttnError("is not a list of words", where=where, hint='expected ["the", "cat"], or a word on each line')
    return [str(word) for word in found]


def _entry(source: Input, entry: str) -> Any:
    """The array of an entry, or a slice of a file's only array."""
    from attncli.io.formats import read_array  # noqa: PLC0415 - most files are read whole

    return read_array(source, entry)


def _maps_of_entries(entries: Mapping[str, ArchiveEntry], source: Input, batch: int | None) -> Maps:
    """The maps of an archive: of its only array, or of an array for each layer, in the order of their numbers."""
    words = {name: tuple(map(str, _words(entries[name]))) for name in TOKENS if name in entries}
    arrays = {name: entry.read() for name, entry in entries.items() if name not in words}
    if not arrays:
        raise AttnError("has no arrays", where=source.name, hint=f"expected {SHAPES}")
    names = sorted(arrays, key=_in_order)
    given = {f"{source.name}#{name}": _as_array(arrays[name], f"{source.name}#{name}") for name in names}
    (first, *others) = given.values()
    layers = _layers(given, batch) if others else maps_of_arrays(first, source.name, batch)
    key_tokens, query_tokens = (words.get(name) for name in TOKENS)
    return with_words(layers, key_tokens, query_tokens)


def maps_of_arrays(given: GivenArray | Sequence[GivenArray], where: str, batch: int | None = None) -> Maps:
    """The maps in one array of all layers, or in an array for each layer, for one batch item."""
    if isinstance(given, GivenArray):
        return tuple(_layers_of_one(given, where, batch))
    if not given:
        raise AttnError("has no maps", where=where, hint=EAGER_HINT)
    return _layers({f"{where}, layer {number}": each for number, each in enumerate(given)}, batch)


def _layers(given: Mapping[str, GivenArray], batch: int | None) -> Maps:
    """The layers, one array each, by the array's origin."""
    return tuple(_layer(each, str(at), where, batch) for at, (where, each) in enumerate(given.items()))


def with_words(layers: Maps, key_tokens: Sequence[str] | None, query_tokens: Sequence[str] | None) -> Maps:
    """Layers with these words of keys and queries, if their numbers match; None keeps a layer's own."""
    found = []
    for layer in layers:
        queries, keys = layer.weights.shape[-2:]
        words = (key_tokens, layer.key_tokens, keys), (query_tokens, layer.query_tokens, queries)
        own_keys, own_queries = (own if given is None else _fitting(given, count) for given, own, count in words)
        found.append(replace(layer, key_tokens=own_keys, query_tokens=own_queries))
    return tuple(found)


def with_padding(layers: Maps, lengths: Any, mask: Any, batch: int | None, options: Sequence[str]) -> Maps:
    """Layers with padding marked, by the `lengths` of the batch items, or a `mask` [items m] of 0 and 1.

    In self-attention it also marks the queries. `options` are their names in errors. Raises AttnError if there are not
    as many lengths or rows as batch items, or no layer has so many keys.
    """
    if lengths is None and mask is None:
        return layers
    if lengths is not None and mask is not None:
        raise AttnError("contradict each other", where=" and ".join(options), hint="give one of them")
    where = options[mask is not None]
    if mask is None:
        lengths = [lengths] if isinstance(lengths, int) else lengths
    given = to_array(lengths if mask is None else mask, (where,)).array
    own = given[None] if given.ndim == 1 and mask is not None else given
    if own.ndim != (1 if mask is None else 2):
        hint = "expected a length for each batch item" if mask is None else "expected [items tokens], or one row"
        raise AttnError(f"has the shape {given.shape}", where=where, hint=hint)
    if len(own) != layers[0].items:
        noun = "length" if mask is None else "row"
        message = f"{count_of(len(own), noun)}, but the maps have {count_of(layers[0].items, 'batch item')}"
        raise AttnError(message, where=where, hint="one for each batch item")
    item = own[batch or 0]
    counts = [layer.weights.shape[-1] for layer in layers]
    if mask is None:
        length = int(to_counts(item[None], (where,), None)[0])
        fits = [0 < length <= count for count in counts]
        message = f"{length} is not a number of tokens"
        rows = [np.arange(count) < length for count in counts]
    else:
        row = to_booleans(item, (where,), None, "1 for a token, 0 for padding")
        fits = [len(row) == count for count in counts]
        message = f"{count_of(len(row), 'number')} in a row"
        rows = [row] * len(layers)
    if not any(fits):
        raise AttnError(f"{message}, but the maps have {count_of(min(counts), 'key')}", where=where)
    return tuple(
        replace(layer, real_keys=own_row) if is_fitting else layer
        for layer, own_row, is_fitting in zip(layers, rows, fits, strict=True)
    )


def _fitting(words: Sequence[str], count: int) -> tuple[str, ...] | None:
    """The words, if their number matches."""
    return tuple(words) if len(words) == count else None


def _in_order(name: str) -> list[tuple[bool, int, str]]:
    """The sort key of names with numbers: layer 10 comes after layer 9."""
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in _NUMBER.split(name)]


def _words(entry: ArchiveEntry) -> Sequence[Any]:
    """The words of an entry; raises AttnError if it has numbers."""
    found = entry.read()
    if isinstance(found, GivenArray) or not isinstance(found, list):
        raise AttnError("holds no words", where=entry.where, hint="save an array of texts")
    return found


def _as_array(found: Any, where: str) -> GivenArray:
    """An entry's array; raises AttnError if it has words."""
    if isinstance(found, GivenArray):
        return found
    raise AttnError("holds words", where=where, hint=f"words are in the entries {join_words(list(TOKENS))}")


def _layers_of_one(given: GivenArray, where: str, batch: int | None) -> Iterator[LayerMaps]:
    """The layers of one array: [layers heads n m], [layers batch heads n m], or a single layer."""
    array = given.array
    items = array.shape[1] if array.ndim == 5 else 1
    if array.ndim == 5:  # a stack of transformers' attentions
        array = _of_batch(array, 1, where, batch)
    elif array.ndim in (2, 3):
        array = array.reshape(1, *([1] * (3 - array.ndim)), *array.shape)
    _check(array, where)
    if array.ndim != 4:
        raise AttnError(f"has the shape {given.array.shape}", where=where, hint=f"expected {SHAPES}")
    if batch is not None and given.array.ndim != 5:
        raise AttnError("there are no batch items", where=BATCH_OPTION, hint="leave it out")
    for number, weights in enumerate(array):
        yield LayerMaps(str(number), weights, items=items)


def _layer(given: GivenArray, name: str, where: str, batch: int | None) -> LayerMaps:
    """One layer of several: [heads n m], [batch heads n m], or [n m] for a single head."""
    array = given.array
    items = len(array) if array.ndim == 4 else 1
    if array.ndim == 4:
        array = _of_batch(array, 0, where, batch)
    elif array.ndim == 2:
        array = array[None]
    _check(array, where)
    if array.ndim != 3:
        raise AttnError(f"has the shape {given.array.shape}", where=where, hint=f"expected {SHAPES}")
    return LayerMaps(name, array, items=items)


def _of_batch(array: Array, axis: int, where: str, batch: int | None) -> Array:
    """The slice of one batch item; raises AttnError if there are several and none is chosen."""
    count = array.shape[axis]
    if batch is None and count != 1:
        hint = f"choose one: {BATCH_OPTION} 0"
        raise AttnError(f"has {count} batch items", where=where, hint=hint)
    if batch is not None and not -count <= batch < count:
        raise AttnError(f"there is no batch item {batch}", where=BATCH_OPTION, hint=f"there are {count}, from 0")
    part: Array = array.take(batch or 0, axis=axis)
    return part


def _check(array: Array, where: str) -> None:
    """Raise AttnError if an array has no numbers, or booleans."""
    if not array.size:
        raise AttnError(f"has no numbers, its shape is {array.shape}", where=where, hint=f"expected {SHAPES}")
    if array.dtype.kind != "f":
        raise AttnError(f"holds {array.dtype.name}, not weights", where=where, hint=f"expected {SHAPES}")
