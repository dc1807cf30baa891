"""The part of a model that a name chooses, or the first one of which the checkpoint has tensors.

One configuration serves several classes of models, which have not all of its parts: BLIP that writes captions has no
encoder of texts, and Whisper's decoder may be saved alone.
"""

from attncli.base.errors import AttnError, UnknownNameError
from attncli.io.checkpoint.folder import Checkpoint
from attncli.io.checkpoint.layer import LayerRows
from attncli.io.checkpoint.parts import ModelPart, model_parts


def find_part(checkpoint: Checkpoint, name: str | None) -> ModelPart:
    """The part of a name, or the first one with tensors, or the first; raises UnknownNameError where there is none."""
    parts = model_parts(checkpoint)
    if name is not None and name not in parts:
        raise UnknownNameError("part", name, parts)
    if not parts:
        raise AttnError("has no layers", where=checkpoint.config_name)
    if name is not None:
        return parts[name]
    return next((part for part in parts.values() if has_tensors(part)), next(iter(parts.values())))


def has_tensors(part: ModelPart) -> bool:
    """Whether the checkpoint has weights of the part's first layer that a problem can say; no file is opened.

    True where there is no such layer, as there is then another thing to say of the part.
    """
    layers = (LayerRows(part, layer) for layer in range(part.layer_count))
    first = next((layer for layer in layers if layer.unsupported is None), None)
    return first is None or first.has_weights
