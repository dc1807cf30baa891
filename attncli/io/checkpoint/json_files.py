"""JSON files of a checkpoint: objects whose keys are words."""

from collections.abc import Sequence
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import first_duplicate
from attncli.io.inputs import Input


def read_object(source: Input) -> dict[str, Any]:
    """The object in a JSON file; raises AttnError where there is none, or an object in it has a key twice."""
    import json  # noqa: PLC0415 - only checkpoints have such files

    def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        """The object of these keys and values."""
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = first_duplicate(names)
            raise AttnError(f"has the key {twice!r} twice in one object", where=source.name)
        return found

    try:
        found = json.loads(source.text(), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise AttnError(f"is no JSON ({error})", where=source.name) from None
    if not isinstance(found, dict):
        raise AttnError("is no JSON object", where=source.name)
    return found
