"""The entries of a file of arrays: one of them as an array, or all of them as values of a problem."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Protocol, runtime_checkable

from attncli.base.errors import AttnError, UnknownNameError
from attncli.io.inputs import Input
from attncli.io.readers.slices import WHOLE, Index, split_entry
from attncli.problem.arrays import LabelledArray
from attncli.problem.results import EXPECTED, RESULTS
from attncli.problem.spec import FIELDS

MAX_ENTRIES = 3  # that an error names
_QUERIES = {"query", "embeddings"}  # keys of which one gives the queries


@runtime_checkable
class Entry(Protocol):
    """One entry, which is not read yet."""

    @property
    def size_in_memory(self) -> int:
        """The bytes that are allocated when it is read."""

    def read(self, index: Index = WHOLE) -> Any:
        """The array or its part, or its words as text; raises AttnError where it is damaged."""


def read_entry(entries: Mapping[str, Entry], source: Input, entry: str) -> LabelledArray:
    """The array of one entry, or the part of it that slices after its name select."""
    entry, index = split_entry(entry, entries, source.name)
    if not entry and len(entries) != 1:
        hint = hint_to_name_one(source.name, entries) if entries else "expected one array"
        raise AttnError(f"has {len(entries)} entries", where=source.name, hint=hint)
    name = entry or next(iter(entries))
    if name not in entries:
        raise UnknownNameError("entry", name, entries, where=source.name)
    array = entries[name].read(index)
    if not isinstance(array, LabelledArray):
        raise AttnError("holds words", where=f"{source.name}#{name}", hint="expected numbers")
    return array


def hint_to_name_one(name: str, entries: Iterable[str]) -> str:
    """The first few entries of a file, as they are given.

    >>> hint_to_name_one("two.npz", ["w_q", "w_k"])
    'name one: two.npz#w_q, two.npz#w_k'
    """
    return f"name one: {', '.join(f'{name}#{entry}' for entry in islice(entries, MAX_ENTRIES))}"


def read_entries(entries: Mapping[str, Entry], source: Input) -> tuple[Mapping[str, Any], Mapping[int, int]]:
    """The values of the entries; those with names of results are what is expected.

    Raises AttnError where none has a field's name, before any of them is read.
    """
    if entries and not set(entries) & set(FIELDS):  # a model's checkpoint, for example
        hint = f"name the entry where it belongs, as in --w-q '{source.name}#{next(iter(entries))}'"
        raise AttnError("has no entry with the name of a key", where=source.name, hint=hint)
    source.limit.check(sum(entry.size_in_memory for entry in entries.values()), source.name)
    values = {key: entry.read() for key, entry in entries.items()}
    expected = {key: values.pop(key) for key in expected_entries(entries)}
    plain = {key: _plain_value(value, FIELDS[key].kind if key in FIELDS else "") for key, value in values.items()}
    return plain | ({EXPECTED: expected} if expected else {}), {}


def expected_entries(names: Iterable[str]) -> list[str]:
    """The names of results among those of the entries of a problem: a kernel's inputs and what it made of them.

    Scores and weights may be given in place of what makes them; beside queries they are results.

    >>> expected_entries(["query", "key", "weights", "output"]), expected_entries(["weights", "value", "output"])
    (['weights', 'output'], ['output'])
    """
    names = list(names)
    has_queries = not _QUERIES.isdisjoint(names)
    return [name for name in names if name in RESULTS and (has_queries or name not in FIELDS)]


def _plain_value(value: Any, kind: str) -> Any:
    """An entry in the type of its field: one number, labels and windows as Python's numbers, other arrays unchanged."""
    if not isinstance(value, LabelledArray) or (value.array.ndim and kind not in ("labels", "window")):
        return value
    plain = value.array.tolist()
    return [int(x) if float(x).is_integer() else x for x in plain] if isinstance(plain, list) else plain
