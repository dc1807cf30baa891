"""Axes of positions, such as time, height and width: which of them each pair of rope reads."""

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.rope_scaling import AXES_OF_PAIRS, SECTIONS, SECTIONS_INTERLEAVED, RopeScaling


def axis_of_pair(scaling: RopeScaling, pairs: int) -> Array | None:
    """The number of the axis that each pair reads; None where positions have one axis.

    `axis_of_pair` of a scaling is that list. By `mrope_section` so many pairs read the first axis, the second, and so
    on; with `mrope_interleaved` the axes take turns, and what is left reads the first (Qwen3-VL). The pairs of `axial`
    are divided evenly. Raises AttnError where there are not as many pairs.

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
    """The axes in turns, each after the first for as many pairs as its section has."""
    axes = np.zeros(sum(sections), dtype=np.int64)
    for axis, size in enumerate(sections[1:], 1):
        axes[axis : len(sections) * size : len(sections)] = axis
    return axes
