"""What a checkpoint has: its parts, and which of their layers attend alike."""

from dataclasses import replace

from attncli.base.dataclasses import dataclass
from attncli.io.checkpoint.layer import Entry, LayerRows
from attncli.io.checkpoint.parts import ModelPart
from attncli.problem.fields import MASKS, PROJECTIONS, STAGES
from attncli.problem.spec import FIELDS

_PANELS = (PROJECTIONS, STAGES, MASKS)  # the keys in which the layers of a model differ


@dataclass(frozen=True)
class LayerGroup:
    """Layers that attend alike: their numbers, and the keys that say how, without those of tensors.

    Where no problem can say it, `unsupported` says what they are.
    """

    layers: tuple[int, ...]
    layer_type: str | None
    entries: dict[str, Entry]
    unsupported: str | None


def layer_groups(part: ModelPart) -> list[LayerGroup]:
    """The layers of a part by what they have in common, in the order of the first one of each group."""
    groups: list[LayerGroup] = []
    for number in range(part.layer_count):
        rows = LayerRows(part, number)
        found = {} if rows.unsupported else rows.entries(with_tensors=False)
        entries = {key: entry for key, entry in found.items() if _says_how(key)}
        like = LayerGroup((), rows.layer_type, entries, rows.unsupported)
        place = next((at for at, group in enumerate(groups) if replace(group, layers=()) == like), len(groups))
        before = groups[place].layers if place < len(groups) else ()
        groups[place : place + 1] = [replace(like, layers=(*before, number))]
    return groups


def _says_how(key: str) -> bool:
    """Whether a key says how a layer attends: it is no array, and not how arrays are stored."""
    field = FIELDS.get(key)
    return field is not None and field.panel in _PANELS and field.kind not in ("matrix", "vector", "word")
