"""RopeScaling: how a model stretches rope over longer sequences, according to its config.json."""

from dataclasses import dataclass
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.ops.records import ParameterMapping, PositionAxes, format_value

# Names in config.json.
TYPE = "rope_type"
TRAINED_LENGTH = "original_max_position_embeddings"
MODEL_LENGTH = "max_position_embeddings"
SECTIONS, SECTIONS_INTERLEAVED = "mrope_section", "mrope_interleaved"
SHARE = "partial_rotary_factor"
# Names that are not in config.json, for settings in models' code.
AXES_OF_PAIRS, AXES, ALTERNATING = "axis_of_pair", "axes", "alternating"
AXIAL = "axial"


@dataclass(frozen=True)
class RopeScaling(ParameterMapping):
    """The type of a scaling and its parameters, with their names in config.json.

    A list of numbers is a tuple. `attncli.ops.rope_scaling_types.read_scaling` makes one from a mapping.

    >>> scaling = RopeScaling("linear", (("factor", 4.0),))
    >>> scaling["factor"], scaling.get("beta_fast", 32), str(scaling)
    (4.0, 32, '{rope_type: linear, factor: 4}')
    """

    type: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def get(self, name: str, default: Any = None) -> Any:
        """A parameter, or the default if it is not given."""
        return dict(self.parameters).get(name, default)

    def __getitem__(self, name: str) -> Any:
        """A parameter; raises AttnError if it is not given."""
        value = self.get(name)
        if value is None:
            raise AttnError(f"{self.type} needs {name}", where="scaling")
        return value

    @property
    def axis_count(self) -> int | None:
        """The number of position axes that the pairs read; None for one."""
        given, sections = self.get(AXES_OF_PAIRS), self.get(SECTIONS)
        if self.type == AXIAL:
            return int(self.get(AXES, 2))
        return int(max(given)) + 1 if given is not None else None if sections is None else len(sections)

    @property
    def position_axes(self) -> PositionAxes | None:
        """The axes of positions; None for one. An image's must be given: its rows have two positions."""
        count = self.axis_count
        return None if count is None else PositionAxes(count, are_needed=self.type == AXIAL)

    @property
    def stretches(self) -> bool:
        """Whether its frequencies differ from plain ones."""
        return self.type not in ("default", AXIAL, "proportional")

    @property
    def unstretched(self) -> "RopeScaling":
        """The scaling with the same pairs on the same axes, and plain frequencies."""
        names = (SHARE, SECTIONS, SECTIONS_INTERLEAVED, AXES_OF_PAIRS)
        return RopeScaling("default", tuple(entry for entry in self.parameters if entry[0] in names))

    @property
    def without_share(self) -> "RopeScaling":
        """The scaling with which all features of a head turn."""
        return RopeScaling(self.type, tuple(entry for entry in self.parameters if entry[0] != SHARE))

    def as_mapping(self) -> dict[str, Any]:
        """The type and the parameters by their names, lists as lists."""
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in self.parameters}
        return {TYPE: self.type, **plain}

    def __str__(self) -> str:
        """On one line, with the count of a list of numbers."""
        texts = {
            name: f"[{count_of(len(value), 'number')}]" if isinstance(value, tuple) else format_value(value)
            for name, value in self.parameters
        }
        return "{" + ", ".join(f"{name}: {text}" for name, text in {TYPE: self.type, **texts}.items()) + "}"


@dataclass(frozen=True)
class ScaledRope:
    """A scaling and its inputs: the base, the number of rotated features, and the length of the sequence.

    `position_count` is one more than the last position; None if that is unknown.
    """

    scaling: RopeScaling
    base: float
    dims: int
    position_count: int | Array | None = None

    @property
    def count(self) -> int:
        """The sequence's number of positions; raises AttnError if that is unknown."""
        if self.position_count is None:
            raise AttnError(f"{self.scaling.type} needs the number of positions", where="scaling")
        return int(self.position_count)

    @property
    def trained_count(self) -> float:
        """The training sequences' number of positions; raises AttnError if no length is given."""
        return float(self.scaling.get(TRAINED_LENGTH) or self.scaling.get(MODEL_LENGTH) or self.scaling[TRAINED_LENGTH])

    @property
    def model_count(self) -> float:
        """The model's number of positions; raises AttnError if that is not given."""
        return float(self.scaling[MODEL_LENGTH])

    @property
    def factor(self) -> float:
        """The ratio of lengths, now to training: `factor`, or computed."""
        if self.scaling.get("factor") is None and self.scaling.get(MODEL_LENGTH) is not None:
            return self.model_count / self.trained_count
        return float(self.scaling["factor"])


def axis_of_pair(scaling: RopeScaling, pairs: int) -> Array | None:
    """The number of the axis that each pair reads; None if positions have one axis.

    A scaling's `axis_of_pair` is that list. `mrope_section` counts the pairs for the first axis, the second, and so on;
    with `mrope_interleaved` the axes take turns, and the remaining pairs read the first (Qwen3-VL). `axial` divides the
    pairs evenly. Raises AttnError if there are not as many pairs.

    >>> axis_of_pair(RopeScaling("default", (("mrope_section", (1, 2)),)), 3).tolist()
    [0, 1, 1]
    >>> axis_of_pair(RopeScaling("default", (("mrope_section", (2, 1, 1)), ("mrope_interleaved", True))), 4).tolist()
    [0, 1, 2, 0]
    """
    if scaling.axis_count is None:
        return None
    given, sections = scaling.get(AXES_OF_PAIRS), scaling.get(SECTIONS)
    if given is not None:
        axes = np.array(given, dtype=np.int64)
    elif scaling.type == "axial":
        axes = np.repeat(np.arange(scaling.axis_count), pairs // scaling.axis_count)
    elif scaling.get(SECTIONS_INTERLEAVED):
        axes = _interleaved(tuple(map(int, sections)))
    else:
        axes = np.repeat(np.arange(len(sections)), np.array(sections, dtype=np.int64))
    if len(axes) != pairs:
        name = AXES_OF_PAIRS if given is not None else SECTIONS
        message = f"{len(axes)} pairs read an axis, and {pairs} pairs turn"
        raise AttnError(message, where=("scaling", name if scaling.type != "axial" else "axes"))
    return axes


def _interleaved(sections: tuple[int, ...]) -> Array:
    """The axes in turn; each after the first has as many pairs as its section."""
    axes = np.zeros(sum(sections), dtype=np.int64)
    for axis, size in enumerate(sections[1:], 1):
        axes[axis : len(sections) * size : len(sections)] = axis
    return axes
