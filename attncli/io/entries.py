"""Files of arrays: entries by name, the slices `[:, 0:768]` of one, and the description of each."""

import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from types import EllipsisType
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array
from attncli.base.text import count_of, join_words, one_line, shorten
from attncli.io.formats import ArrayDescription, Lines, Reader
from attncli.io.inputs import Input
from attncli.io.paths import split_slices
from attncli.problem.arrays import ArrayOrigin, GivenArray, to_array
from attncli.problem.fields import EXPECTED, GRADIENT_PREFIX, LSE, OUTPUT, RESULTS
from attncli.problem.spec import FIELDS

AxisIndex = int | slice | EllipsisType
Index = tuple[AxisIndex, ...]

WHOLE: Index = ()
MAX_ENTRIES = 3  # entries in an error
MAX_TEXT_LENGTH = 60  # characters of a value that is not an array
HINT = "expected NumPy's slices, such as [:, 0:768] or [0]"
# Names of arrays in kernels and their dumps, with the key or result.
ALIASES: Mapping[str, str] = {
    **{"q": "query", "k": "key", "v": "value", "o": OUTPUT, "out": OUTPUT, "cu_seqlens_q": "cu_seqlens"},
    **dict.fromkeys(("softmax_lse", "logsumexp"), LSE),
    **dict.fromkeys(("do", "dout", "dO"), "grad_output"),
    **{"dq": "grad_query", "dk": "grad_key", "dv": "grad_value", "dbias": "grad_bias", "dsink": "grad_sink"},
}
_QUERIES = {"query", "embeddings"}  # keys for the queries
_SLICE = re.compile(r"\s*(-?[0-9]*)\s*:\s*(-?[0-9]*)\s*(?::\s*(-?[0-9]*)\s*)?", re.ASCII)
_POSITION = re.compile(r"\s*-?[0-9]+\s*", re.ASCII)


def describe_array(name: str, found: GivenArray) -> ArrayDescription:
    """The description of an array."""
    labels = (
        "" if found.labels is None else f", {count_of(len(found.labels), 'label')}: {shorten(', '.join(found.labels))}"
    )
    return ArrayDescription(name, found.array.shape, f"{found.dtype or found.array.dtype.name}{labels}")


def describe_value(name: str, value: Any) -> ArrayDescription:
    """The description of a value in a document: an array's, or otherwise the text."""
    if isinstance(value, (list, Mapping)):
        try:
            return describe_array(name, to_array(value, (name,)))
        except AttnError:  # labels, or an entry of the catalogue with its parameters
            pass
    items = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return ArrayDescription(name, None, shorten(one_line(items), MAX_TEXT_LENGTH))


@dataclass(frozen=True, eq=False)
class ArchiveEntry:
    """One entry of an archive, which is not read yet."""

    source: Input
    name: str

    @property
    def where(self) -> str:
        """The file and the entry, for errors."""
        return f"{self.source.name}#{self.name}"

    @property
    def size_in_memory(self) -> int:
        """The bytes that are allocated when it is read."""
        raise NotImplementedError

    @property
    def description(self) -> ArrayDescription:
        """The description of the array, by its header."""
        raise NotImplementedError

    def read(self, index: Index = WHOLE) -> Any:
        """The array or its slice, or its words as text; raises AttnError if it is damaged."""
        raise NotImplementedError


class ArchiveReader(Reader):
    """Reads files with named arrays; `entries` returns them unread."""

    def __init__(self, entries: Callable[[Input], Mapping[str, ArchiveEntry]]) -> None:
        self.entries = entries

    def array(self, source: Input, entry: str) -> GivenArray:
        """The array of the only entry or of a named one, or the slice after its name."""
        found, index = self.find(source, entry)
        array = found.read(index)
        if not isinstance(array, GivenArray):
            raise AttnError("holds words", where=found.where, hint="expected numbers")
        return array

    def find(self, source: Input, text: str) -> tuple[ArchiveEntry, Index]:
        """The only entry, or the one that a text names, and its slices."""
        entries = self.entries(source)
        name, index = split_entry(text, entries, source.name)
        if not name and len(entries) != 1:
            hint = hint_to_name_one(source.name, entries) if entries else "expected one array"
            raise AttnError(f"has {count_of(len(entries), 'entry')}", where=source.name, hint=hint)
        name = name or next(iter(entries))
        if name not in entries:
            raise UnknownNameError("entry", name, entries, where=source.name)
        return entries[name], index

    def problem(self, source: Input) -> tuple[Mapping[str, Any], Lines]:
        """The values of the entries; entries named like results are expected numbers.

        Raises AttnError, before reading any entry, if none has a field's name.
        """
        entries = self.entries(source)
        if not entries:
            hint = "expected arrays with the names of keys, such as query and key"
            raise AttnError("has no entries", where=source.name, hint=hint)
        keys = own_names(entries)
        if not set(keys.values()) & set(FIELDS):  # a model's checkpoint, for example
            hint = f"name the entry where it belongs, as in --w-q '{source.name}#{next(iter(entries))}'"
            raise AttnError("has no entry with the name of a key", where=source.name, hint=hint)
        source.limit.check(sum(entry.size_in_memory for entry in entries.values()), source.name)
        values = {key: entry.read() for key, entry in entries.items()}
        expected = {key: values.pop(key) for key in expected_entries(entries)}
        kinds = {name: FIELDS[key].kind if key in FIELDS else "" for name, key in keys.items()}
        plain = {name: _plain_value(value, kinds[name]) for name, value in values.items()}
        return plain | ({EXPECTED: expected} if expected else {}), {}

    def descriptions(self, source: Input) -> list[ArrayDescription]:
        """The description of each array, by its header."""
        return [entry.description for entry in self.entries(source).values()]

    def expected(self, source: Input) -> Mapping[str, ArchiveEntry]:
        """The entries, unread."""
        return self.entries(source)


def hint_to_name_one(name: str, entries: Iterable[str]) -> str:
    """The hint with the first few entries of a file.

    >>> hint_to_name_one("two.npz", ["w_q", "w_k"])
    'name one: two.npz#w_q, two.npz#w_k'
    """
    return f"name one: {', '.join(f'{name}#{entry}' for entry in islice(entries, MAX_ENTRIES))}"


def own_name(name: str) -> str:
    """The key or result for a name, which may be an alias.

    >>> own_name("dq"), own_name("weights")
    ('grad_query', 'weights')
    """
    return ALIASES.get(name, name)


def own_names(names: Iterable[str]) -> dict[str, str]:
    """The key or result for each entry; an alias counts unless its key is also there.

    >>> own_names(["q", "key", "k", "out"])
    {'q': 'query', 'key': 'key', 'k': 'k', 'out': 'output'}
    """
    names = list(names)
    taken = set(names)
    found: dict[str, str] = {}
    for name in names:
        key = own_name(name)
        found[name] = name if key in taken else key
        taken.add(found[name])
    return found


def alias_notes(file: str, aliases: Mapping[str, str]) -> tuple[str, ...]:
    """The note about a file's aliases: one sentence, or none.

    >>> alias_notes("dump.npz", {"q": "query", "out": "output"})
    ('dump.npz: q and out are read as query and output',)
    """
    if not aliases:
        return ()
    verb = "is" if len(aliases) == 1 else "are"
    return (f"{file}: {join_words([*aliases])} {verb} read as {join_words([*aliases.values()])}",)


def expected_entries(names: Iterable[str]) -> list[str]:
    """The names of results among the entries of a problem, a kernel's inputs and results.

    Scores and weights may be inputs; next to queries they are results.

    >>> expected_entries(["q", "k", "weights", "out"]), expected_entries(["weights", "value", "output"])
    (['weights', 'out'], ['output'])
    >>> expected_entries(["q", "k", "do", "dq"])
    ['dq']
    """
    keys = own_names(names)
    has_queries = not _QUERIES.isdisjoint(keys.values())
    results = {name for name in RESULTS if has_queries or name not in FIELDS}
    return [
        name for name, key in keys.items() if key in results or (key.startswith(GRADIENT_PREFIX) and key not in FIELDS)
    ]


def _plain_value(value: Any, kind: str) -> Any:
    """An entry in its field's type: single numbers, labels and windows as Python numbers, other arrays unchanged."""
    if not isinstance(value, GivenArray) or (value.array.ndim and kind not in ("labels", "window")):
        return value
    plain = value.array.tolist()
    return [int(x) if float(x).is_integer() else x for x in plain] if isinstance(plain, list) else plain


def split_entry(text: str, entries: Container[str], where: str) -> tuple[str, Index]:
    """The entry that a text names ("": none), and its slices; an entry whose own name has brackets has precedence.

    Raises AttnError if the brackets are not one pair, do not hold slices, or hold `...` twice.

    >>> split_entry("w_q[0, 1:]", {"w_q"}, "weights.npz")
    ('w_q', (0, slice(1, None, None)))
    """
    if text in entries:
        return text, WHOLE
    name, slices = split_slices(f" {text}")  # the space: without entries there is no name before slices
    where = f"{where}{'#' if name.strip() else ''}{text}"
    entry, bracket, rest = text.partition("[")
    if bracket and not slices and entry in entries:
        raise AttnError(f"{bracket}{rest} are not slices", where=where, hint=HINT)
    index = tuple(_parse_axis(part, where) for part in slices[1:-1].split(",")) if slices else WHOLE
    if index.count(...) > 1:
        raise AttnError("'...' is there more than once", where=where, hint=HINT)
    return name[1:], index


def split_slices_alone(text: str, where: str, reason: str) -> Index:
    """The slices of a file without entries; raises AttnError, with the reason, if a text names one."""
    name, index = split_entry(text, (), where)
    if name:
        raise AttnError(f"{reason}, so #{name} names nothing", where=where)
    return index


def take(array: Array, index: Index, where: str) -> Array:
    """The slice of an array, as a view; raises AttnError if it has no such axis or position, or no numbers."""
    rest = array.ndim - sum(at is not ... for at in index)
    if rest < 0:
        message = f"has {array.ndim} {'axis' if array.ndim == 1 else 'axes'}, and is sliced along {len(index)}"
        raise AttnError(message, where=where, hint=f"its shape is {array.shape}")
    every_axis = [at for axis in index for at in ([slice(None)] * rest if axis is ... else [axis])]
    for axis, at in enumerate(every_axis):
        length = array.shape[axis]
        if isinstance(at, int) and not -length <= at < length:
            raise AttnError(f"there is no position {at} on axis {axis}", where=where, hint=f"its length is {length}")
    part: Array = array[index]
    if array.size and not part.size:
        raise AttnError("the slices select no numbers", where=where, hint=f"its shape is {array.shape}")
    return part


def take_labelled(labelled: GivenArray, index: Index, where: str) -> GivenArray:
    """The slice of a table, with the labels of its rows and columns, and the lines of its rows."""
    if not index:
        return labelled
    rows = slice(None) if index[0] is ... else index[0]
    columns = index[-1] if len(index) == labelled.array.ndim and index[-1] is not ... else slice(None)
    names = labelled.columns[columns] if labelled.columns is not None and isinstance(columns, slice) else None
    part = replace(labelled, array=take(labelled.array, index, where), columns=names)
    if isinstance(rows, int):  # one row is no longer a table
        return replace(part, labels=None, origin=None)
    lines = () if labelled.origin is None else labelled.origin.lines
    has_lines = len(lines) == len(labelled.array)
    return replace(
        part,
        labels=labelled.labels and labelled.labels[rows],
        origin=labelled.origin and ArrayOrigin(labelled.origin.name, lines[rows] if has_lines else ()),
    )


def _parse_axis(text: str, where: str) -> AxisIndex:
    """A slice or a position of one axis, or the ellipsis for all other axes."""
    if text.strip() == "...":
        return ...
    if _POSITION.fullmatch(text):
        return int(text)
    match = _SLICE.fullmatch(text)
    if match is None or match[3] in ("0", "-0"):
        raise AttnError(f"{text.strip()!r} is not a slice", where=where, hint=HINT)
    start, stop, step = (int(number) if number else None for number in match.groups())
    return slice(start, stop, step)
