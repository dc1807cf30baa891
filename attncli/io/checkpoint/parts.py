"""The parts of a checkpoint's model: the rows of its family, with the values of its configuration."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.text import json_excerpt
from attncli.io.checkpoint.expressions import Names, evaluate
from attncli.io.checkpoint.families import CROSS, Family, Part, config_defaults, read_family
from attncli.io.checkpoint.folder import Checkpoint

MAX_LAYERS = 10_000  # of a model that is no mistake


@dataclass(frozen=True)
class ModelPart:
    """One part of a checkpoint's model: its name, its rows, the values of config.json, and those that it leaves out."""

    checkpoint: Checkpoint
    family: Family
    name: str
    part: Part
    given: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What it is called in a sentence."""
        return "cross-attention" if self.name == CROSS else self.name

    @property
    def config(self) -> Mapping[str, Any]:
        """The values that rows read."""
        return {**self.defaults, **self.given}

    @property
    def left_out(self) -> frozenset[str]:
        """The names of the values that are those of no file."""
        return frozenset(self.defaults.keys() - self.given.keys())

    @property
    def layer_count(self) -> int:
        """How many layers it has; raises AttnError where the configuration does not say."""
        where = self.checkpoint.config_name
        count = evaluate(self.part.layers, Names(self.config, where, self.left_out))
        if count is None:
            raise AttnError(f"has no {self.part.layers}", where=where, hint="expected the config of a whole model")
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MAX_LAYERS:
            message = f"{self.part.layers} is {json_excerpt(count)}, which is no number of layers"
            raise AttnError(message, where=where, hint=f"expected 1 to {MAX_LAYERS}")
        return count


def model_parts(checkpoint: Checkpoint) -> dict[str, ModelPart]:
    """The parts by their names, without those that this model does not have.

    Raises UnknownNameError where the model is of no known family.
    """
    family = read_family(checkpoint.model_type, checkpoint.config_name)
    parts = {name: _model_part(checkpoint, family, name, part) for name, part in family.parts.items()}
    return {name: part for name, part in parts.items() if part.layer_count}


def _model_part(checkpoint: Checkpoint, family: Family, name: str, part: Part) -> ModelPart:
    """A part with its configuration, or that of the family that it names, whose rows its own stand in place of."""
    own = _part_of_config(checkpoint, part.config)
    if part.model is not None:
        config = {**part.defaults, **own}
        inner = read_family(str(evaluate(part.model, Names(config, checkpoint.config_name))), checkpoint.config_name)
        first = next(iter(inner.parts.values()))
        family, part = inner, replace(first, roots=part.roots or first.roots, keys={**first.keys, **part.keys})
    defaults = config_defaults().get(family.name, {}).get(part.config or "", {})
    return ModelPart(checkpoint, family, name, part, own, {**defaults, **part.defaults})


def _part_of_config(checkpoint: Checkpoint, key: str | None) -> Mapping[str, Any]:
    """The values of config.json that are those of a part; raises AttnError where they are no object.

    Older files have the values of the text beside the object of the images (Qwen2-VL), not in an object of their own.
    """
    found: Any = checkpoint.config
    for name in key.split(".") if key else ():
        found = found.get(name) or found
        if not isinstance(found, dict):
            raise AttnError("is no object", where=(checkpoint.config_name, name))
    config: Mapping[str, Any] = found
    return config
