"""Sequences of different lengths: packed into one array with bounds, or with keys in pages of a pool."""

from collections.abc import Mapping
from typing import Any

from attncli.base.axes import Length
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.ops.records import Operator
from attncli.problem.layout import PAGED
from attncli.problem.mask_expressions import operators_of_mask
from attncli.problem.spec import ProblemSpec


def with_positions(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a problem with the positions of rows in their sequences, if they are needed and not given.

    Biases and masks don't need them: they only read distances within a sequence, which the row numbers also give.
    """
    bounds, position = values.get("cu_seqlens"), values.get("position")
    is_at_positions = isinstance(position, Operator) and position.record.acts_on in ("embeddings", "query_and_key")
    is_read = is_at_positions or values.get("query_scale") is not None
    is_given = any(values.get(key) is not None for key in ("positions", "positions_of_queries"))
    if bounds is None or not is_read or is_given:
        return dict(values)
    keys = values.get("cu_seqlens_k")
    if keys is None and values.get("query_embeddings") is None:
        return {**values, "positions": positions_in_sequences(bounds)}
    keys = bounds if keys is None else keys
    lengths, of_keys = np.diff(bounds), np.diff(keys)
    is_at_end = values.get("align") == "bottom_right" and len(lengths) == len(of_keys)
    first = of_keys - lengths if is_at_end else np.zeros_like(lengths)
    own = positions_in_sequences(bounds) + np.repeat(first, lengths)
    return {**values, "positions": positions_in_sequences(keys), "positions_of_queries": own}


def positions_in_sequences(bounds: Array) -> Array:
    """The position of each row in its sequence.

    >>> positions_in_sequences(np.array([0, 2, 2, 5])).tolist()
    [0, 1, 0, 1, 2]
    """
    positions: Array = np.arange(bounds[-1]) - np.repeat(bounds[:-1], np.diff(bounds))
    return positions


def check_packed_sequences(spec: ProblemSpec, lengths: Mapping[str, Length]) -> None:
    """Raise AttnError if the bounds don't match the rows, or an operator counts from the first of all keys."""
    bounds, bounds_of_keys = spec.cu_seqlens, spec.cu_seqlens_k
    if bounds is None:
        return
    if (spec.leading.batch or 1) > 1:
        raise AttnError(f"{lengths['b'].owner}; packed sequences are one", where="cu_seqlens")
    if bounds_of_keys is not None and len(bounds) != len(bounds_of_keys):
        counts = [count_of(len(x) - 1, "sequence") for x in (bounds, bounds_of_keys)]
        raise AttnError(f"cu_seqlens has {counts[0]}; cu_seqlens_k has {counts[1]}", where="cu_seqlens_k")
    of_keys = ("cu_seqlens", bounds) if bounds_of_keys is None else ("cu_seqlens_k", bounds_of_keys)
    for letter, (name, array) in {"n": ("cu_seqlens", bounds), "m": of_keys}.items():
        if array[-1] != lengths[letter].size:
            advice = "cu_seqlens_k is for the keys" if letter == "m" and bounds_of_keys is None else None
            raise AttnError(f"{name} ends at {array[-1]}; {lengths[letter].owner}", where=name, hint=advice)
    operators = [("mask", operator) for operator in operators_of_mask(spec.mask)]
    operators += [("position", spec.position)] if spec.position is not None else []
    for key, operator in operators:
        if operator.record.counts_from_first_key:
            message = f"{operator.record.name} counts from the first key, not from each sequence's first"
            raise AttnError(message, where=key, hint="give the sequences one by one", keys=(key, "cu_seqlens"))


def read_pages(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a problem with the keys and values of each batch item, [b h m d], instead of pages.

    Their length is the longest of `key_lengths`, or all pages; beyond its own length an item has zeros, whatever its
    pages contain. In packed sequences all keys follow one another, [1 h m d], with the bounds `cu_seqlens_k`. Raises
    AttnError if a page is missing, or does not exist.
    """
    read, table = dict(values), values["page_table"]
    arrays = {name: values[name] for name in PAGED if getattr(values.get(name), "ndim", 0)}
    if not arrays:
        hint = "key and value are pages (pages, page size, heads, features)"
        raise AttnError("page_table is given without key", where="page_table", hint=hint)
    if values.get("past_key") is not None:
        message, hint = "page_table and past_key are both given", "put all keys into pages"
        raise AttnError(message, where="past_key", hint=hint, keys=("page_table", "past_key"))
    pages = {name: _pages(name, array, values.get("page_size")) for name, array in arrays.items()}
    lengths = _lengths(values, next(iter(pages.values())).shape[1])
    for name, array in pages.items():
        read[name] = _gathered(name, array, table, lengths)
    if values.get("cu_seqlens") is None:
        return read
    read["cu_seqlens_k"] = np.concatenate([[0], np.cumsum(lengths)])
    packed = {
        name: np.concatenate([item[:, :length] for item, length in zip(read[name], lengths, strict=True)], axis=1)[None]
        for name in pages
    }
    return {name: value for name, value in {**read, **packed}.items() if name != "key_lengths"}


def _pages(name: str, array: Array, page_size: int | None) -> Array:
    """Pages [pages, page size, heads, features], also from consecutive rows [rows, heads, features]."""
    if 0 in array.shape:
        raise AttnError("has no numbers", where=name)
    if array.ndim == 4:
        if page_size not in (None, array.shape[1]):
            message = f"page_size is {page_size}; {name} has pages of {array.shape[1]}"
            raise AttnError(message, where="page_size", hint="expected (pages, page size, heads, features)")
        return array
    if array.ndim != 3:
        hint = "expected (pages, page size, heads, features)"
        raise AttnError(f"{name} has {count_of(array.ndim, 'axis')}, so it can't be pages", where=name, hint=hint)
    if page_size is None:
        hint = "give page_size, or key and value as (pages, page size, heads, features)"
        raise AttnError(f"{name} has 3 axes, and the size of a page is not given", where="page_size", hint=hint)
    if len(array) % page_size:
        raise AttnError(f"{name} has {len(array)} rows, not a multiple of the page size {page_size}", where="page_size")
    return array.reshape(-1, page_size, *array.shape[1:])


def _lengths(values: Mapping[str, Any], page_size: int) -> list[int]:
    """The number of keys to read for each batch item."""
    table, given = values["page_table"], values.get("key_lengths")
    available = table.shape[1] * page_size
    if given is None:
        return [available] * len(table)
    rows = given.reshape(len(given), -1) if len(given) == len(table) else given.reshape(-1, 1)
    if len(rows) != len(table):
        message = f"key_lengths has {len(rows)} entries; page_table has {count_of(len(table), 'row')}"
        raise AttnError(message, where="key_lengths", keys=("key_lengths", "page_table"))
    lengths: list[int] = rows.max(axis=1).tolist()
    if max(lengths) > available:
        message = f"{max(lengths)} keys; page_table has {count_of(table.shape[1], 'page')} of {page_size}"
        raise AttnError(message, where="key_lengths", keys=("key_lengths", "page_table"))
    return lengths


def _gathered(name: str, pages: Array, table: Array, lengths: list[int]) -> Array:
    """The keys or values of each batch item, [b h m d]; zeros beyond its length."""
    count, size, heads, features = pages.shape
    gathered = np.zeros((len(table), max(lengths), heads, features), pages.dtype)
    for item, length in enumerate(lengths):
        numbers = table[item, : -(-length // size)]
        wrong = np.flatnonzero((numbers < 0) | (numbers >= count))
        if wrong.size:
            place, number = int(wrong[0]), int(numbers[wrong[0]])
            first, last = place * size, min((place + 1) * size, length) - 1
            keys = f"keys {first} to {last}" if first < last else f"key {first}"
            what = f"{keys} of batch item {item}"
            message = f"there is no page for {what}" if number < 0 else f"page {number} of {what} does not exist"
            hint = "give each item's number of keys by key_lengths" if number < 0 else None
            raise AttnError(message, where="page_table", hint=hint or f"{name} has the pages 0 to {count - 1}")
        gathered[item, :length] = pages[numbers].reshape(-1, heads, features)[:length]
    turned: Array = gathered.swapaxes(1, 2)
    return turned
