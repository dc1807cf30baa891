"""What must be given beside the input of a layer's attention: the sequence that asks, positions on several axes."""

from collections.abc import Mapping
from pathlib import Path

from attncli.base.errors import AttnError
from attncli.io.checkpoint.document import plain_value
from attncli.io.checkpoint.layer import Entry
from attncli.ops.registry import look_up

QUERIES, POSITIONS = "query_embeddings", "positions"


def needed_inputs(entries: Mapping[str, Entry]) -> list[str]:
    """The keys of arrays that no checkpoint has, and without which the layer's attention is another one, or none."""
    queries = [QUERIES] if QUERIES in entries else []
    positions = [POSITIONS] if "position" in entries and _needs_positions(entries["position"]) else []
    return queries + positions


def _needs_positions(entry: Entry) -> bool:
    """Whether a scheme reads positions that can't be counted, such as the row and the column of a patch."""
    value = plain_value(entry, Path())
    if not isinstance(value, Mapping):
        return False
    ((name, given),) = value.items()
    record = look_up("position", name)
    try:
        mappings = {
            parameter.name: parameter.mapping.read(given[parameter.name])
            for parameter in record.parameters
            if parameter.mapping is not None and isinstance(given.get(parameter.name), Mapping)
        }
    except AttnError:  # the command that computes the file says what is wrong
        return False
    axes = None if record.position_axes is None else record.position_axes(mappings)
    return axes is not None and axes.are_needed
