"""The registry: the record of every operator by its kind and name, also of those from installed packages.

There is no list to add an operator to: a decorator of `attncli.ops.decorators` registers it. Packages add operators
through the entry-point group `attncli.operators`: each entry point names a module or a function, which is imported, and
whose decorators register.
"""

import copyreg
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.ops.records import OperatorRecord, StructuralRecord

ENTRY_POINTS = "attncli.operators"

# The kinds of operators, and the arguments that a plan passes to a function of each kind besides its parameters.
ARGUMENTS: Mapping[str, frozenset[str]] = {
    "score": frozenset({"query", "key", "query_positions", "key_positions"}),
    "normalize": frozenset({"scores"}),
    "context": frozenset({"weights", "value", "query"}),
    "position": frozenset({"x", "positions", "features", "query", "query_positions", "key_positions", "heads"}),
    "mask": frozenset({"table", "query_rows", "query_positions", "key_positions", "key_lengths", "key_mask"}),
    "qk_norm": frozenset({"x"}),
    "generator": frozenset({"stream", "shape"}),
}

_RECORDS: dict[str, dict[str, OperatorRecord]] = {kind: {} for kind in ARGUMENTS}
_STRUCTURAL = StructuralRecord()
_loaded_entry_points = False
_broken: list[str] = []


def kinds() -> Sequence[str]:
    """The kinds of operators."""
    return list(ARGUMENTS)


def registered(kind: str) -> Mapping[str, OperatorRecord]:
    """The operators of a kind that are registered by now; those of installed packages are not imported."""
    return MappingProxyType(_RECORDS[kind])


def operators(kind: str) -> Mapping[str, OperatorRecord]:
    """Every operator of a kind by name, those of installed packages last."""
    _load_entry_points()
    return MappingProxyType(_RECORDS[kind])


def is_operator(kind: str, name: str) -> bool:
    """Whether there is an operator of that kind and name; packages are imported only for what may be a name."""
    if name in _RECORDS[kind]:
        return True
    return name.isidentifier() and name in operators(kind)


def look_up(kind: str, name: str, *, where: str | None = None) -> OperatorRecord:
    """The operator of that kind and name; raises UnknownNameError, which suggests the nearest name."""
    if not is_operator(kind, name):
        if _broken:  # the name may be one of theirs
            raise AttnError(f"unknown {kind} {name!r}", where=where, hint="; ".join(_broken))
        raise UnknownNameError(kind, name, operators(kind), where=where)
    return _RECORDS[kind][name]


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
