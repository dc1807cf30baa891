"""Pages: keys and values that lie in pages of one pool, gathered by the page table of each batch item."""

from collections.abc import Mapping
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.problem.layout import PAGED


def read_pages(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a problem with the keys and values of each batch item, [b h m d], in place of pages.

    They go as far as the longest of `key_lengths`, or to the end of the pages; beyond its own length an item has zeros,
    whatever its pages have there. Of packed sequences the keys of all follow one another, [1 h m d], and
    `cu_seqlens_k` has their bounds. Raises AttnError where a page is missing, or there is none of a number.
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
    """Pages [pages, page size, heads, features], also of rows [rows, heads, features] one page after the other."""
    if array.ndim == 4:
        if page_size not in (None, array.shape[1]):
            message = f"page_size is {page_size}; {name} has pages of {array.shape[1]}"
            raise AttnError(message, where="page_size", hint="expected (pages, page size, heads, features)")
        return array
    if array.ndim != 3:
        hint = "expected (pages, page size, heads, features)"
        raise AttnError(f"{name} has {count_of(array.ndim, 'axis')}, and does not hold pages", where=name, hint=hint)
    if page_size is None:
        hint = "give page_size, or key and value as (pages, page size, heads, features)"
        raise AttnError(f"{name} has 3 axes, and the size of a page is not given", where="page_size", hint=hint)
    if len(array) % page_size:
        raise AttnError(f"{name} has {len(array)} rows, which are not whole pages of {page_size}", where="page_size")
    return array.reshape(-1, page_size, *array.shape[1:])


def _lengths(values: Mapping[str, Any], page_size: int) -> list[int]:
    """How many keys of each batch item are read."""
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
            message = f"there is no page for {what}" if number < 0 else f"page {number} of {what} is not there"
            hint = "say with key_lengths how many keys each item has" if number < 0 else None
            raise AttnError(message, where="page_table", hint=hint or f"{name} has the pages 0 to {count - 1}")
        gathered[item, :length] = pages[numbers].reshape(-1, heads, features)[:length]
    turned: Array = gathered.swapaxes(1, 2)
    return turned
