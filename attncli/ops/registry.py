"""The registry: the record of every operator by its kind and name, also of those from installed packages.

There is no list to add an operator to: a decorator of `attncli.ops.decorators` registers it. Packages add operators
through the entry-point group `attncli.operators`: each entry point names a module or a function, which is imported, and
whose decorators register.
"""

import copyreg
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError, UnknownNameError
from attncli.ops.records import OperatorRecord, StructuralRecord

ENTRY_POINTS = "attncli.operators"

# The kinds of operators, and the arguments that a plan passes to a function of each kind besides its parameters.
ARGUMENTS: Mapping[str, frozenset[str]] = {
    "score": frozenset({"query", "key", "query_positions", "key_positions"}),
    "normalize": frozenset({"scores"}),
    "context": frozenset({"weights", "value", "query"}),
    "position": frozenset({"x", "positions", "features", "query", "query_positions", "key_positions", "heads"}),
    "mask": frozenset(
        {"table", "query_rows", "query_positions", "key_positions", "key_lengths", "key_mask", "real_key_starts"}
    ),
    "norm": frozenset({"x"}),
    "query_scale": frozenset({"positions", "heads"}),
    "generator": frozenset({"stream", "shape"}),
}

_RECORDS: dict[str, dict[str, OperatorRecord]] = {kind: {} for kind in ARGUMENTS}
_USES: dict[str, "_Use"] = {}
_TAKEN_KINDS: list[str] = list(ARGUMENTS)
_STRUCTURAL = StructuralRecord()
_loaded_entry_points = False
_broken: list[str] = []


@dataclass(frozen=True, eq=False)
class _Use:
    """A kind of operators as a key takes them: the kind, and what makes the record of each for the key."""

    kind: str
    make_record: Callable[[OperatorRecord], OperatorRecord]
    records: dict[str, OperatorRecord] = field(default_factory=dict)  # those made by now

    def record(self, record: OperatorRecord) -> OperatorRecord:
        """The record of an operator with the parameters that the key takes; always the same one."""
        made = self.records.get(record.name)
        if made is None or made.function is not record.function:
            made = self.records[record.name] = self.make_record(record)
        return made


def kinds() -> Sequence[str]:
    """The kinds of operators."""
    return list(ARGUMENTS)


def add_use(key: str, kind: str, make_record: Callable[[OperatorRecord], OperatorRecord]) -> None:
    """Let a key take the operators of a kind with parameters of its own: `key` is then a kind that is looked up.

    `make_record` gets the record of an operator, and returns that of the operator as the key takes it.
    """
    _USES[key] = _Use(kind, make_record)
    _TAKEN_KINDS[:] = [name for kind in kinds() for name in (kind, *(key for key in _USES if _USES[key].kind == kind))]


def taken_kinds() -> Sequence[str]:
    """The kinds that keys take: those of operators, and their uses, each behind its kind."""
    return _TAKEN_KINDS


def kind_of(name: str) -> str:
    """The kind of operators of a use; a kind itself.

    >>> kind_of("qk_norm"), kind_of("score")
    ('norm', 'score')
    """
    return _USES[name].kind if name in _USES else name


def registered(kind: str) -> Mapping[str, OperatorRecord]:
    """The operators of a kind that are registered by now; those of installed packages are not imported."""
    records, use = _RECORDS[kind_of(kind)], _USES.get(kind)
    return MappingProxyType(records if use is None else {name: use.record(record) for name, record in records.items()})


def operators(kind: str) -> Mapping[str, OperatorRecord]:
    """Every operator of a kind by name, those of installed packages last."""
    _load_entry_points()
    return registered(kind)


def is_operator(kind: str, name: str) -> bool:
    """Whether there is an operator of that kind and name; packages are imported only for what may be a name."""
    if name in _RECORDS[kind_of(kind)]:
        return True
    return name.isidentifier() and name in operators(kind)


def look_up(kind: str, name: str, *, where: str | None = None) -> OperatorRecord:
    """The operator of that kind and name; raises UnknownNameError, which suggests the nearest name."""
    if not is_operator(kind, name):
        if _broken:  # the name may be one of theirs
            raise AttnError(f"unknown {kind} {name!r}", where=where, hint="; ".join(_broken))
        raise UnknownNameError(kind, name, operators(kind), where=where)
    return registered(kind)[name]


def record_of(function: Callable[..., Any]) -> OperatorRecord | StructuralRecord:
    """The record that hangs on a function; one without fields where the function has none."""
    record: OperatorRecord | StructuralRecord = getattr(function, "record", _STRUCTURAL)
    return record


def add(record: OperatorRecord) -> None:
    """Add a record that registration has checked."""
    _RECORDS[record.kind][record.name] = record


def broken_packages() -> Sequence[str]:
    """What is wrong with each installed package whose operators could not be loaded; the others are registered."""
    _load_entry_points()
    return tuple(_broken)


def _load_entry_points() -> None:
    """Import the entry points of installed packages; once, since finding them takes 30 ms."""
    global _loaded_entry_points  # noqa: PLW0603 - a process loads them once
    if _loaded_entry_points:
        return
    _loaded_entry_points = True
    from importlib.metadata import entry_points  # noqa: PLC0415 - only lists and unknown names need it

    for entry_point in entry_points(group=ENTRY_POINTS):
        try:
            entry_point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the import of another package may raise anything
            reason = f"{type(error).__name__}: {error}"
            _broken.append(
                f"package {entry_point.value}: its operators can't be loaded ({reason}); mend or uninstall it"
            )


def _pickle_by_name(record: OperatorRecord) -> tuple[Callable[..., OperatorRecord], tuple[str, str]]:
    """A record as its kind and name: another process has the same operators registered."""
    return look_up, (record.kind, record.name)


copyreg.pickle(OperatorRecord, _pickle_by_name)
