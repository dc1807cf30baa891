"""Two captures of the same tokens compared: by how much each array of each layer differs, and which parts first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from attncli.base.dtypes import BFLOAT16
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.io.captures import Capture, CapturedLayer
from attncli.problem.arrays import GivenArray

STEPS = ("query", "key", "value", "scores", "weights", "output")  # in the order in which a layer makes them
ROUNDINGS = 8  # so many roundings of the coarser type are still those of other sums


@dataclass(frozen=True)
class ReadableCapture:
    """A capture, and what reads its tensors by their names."""

    capture: Capture
    read: Callable[[str], GivenArray]

    def array(self, layer: CapturedLayer, step: str) -> GivenArray | None:
        """An array of a layer; None where the layer has none of that name."""
        tensor = {**layer.arrays, **layer.results}.get(step)
        return None if tensor is None else self.read(tensor)


@dataclass(frozen=True)
class CaptureComparison:
    """By how much each array of each layer differs, in parts of its largest number, by layer and step.

    `rounding` is that of the coarser type, whose name is `dtype`. The other lists have the names of layers that only
    one of the captures has.
    """

    differences: Mapping[str, Mapping[str, float]]
    dtype: str
    rounding: float
    only_first: Sequence[str]
    only_second: Sequence[str]

    def first_above(self, limit: float) -> tuple[str, str] | None:
        """The first layer and step that differ by more than a limit; None where none does."""
        cells = ((layer, step, value) for layer, row in self.differences.items() for step, value in row.items())
        return next(((layer, step) for layer, step, value in cells if not value <= limit), None)

    @property
    def largest(self) -> tuple[str, str, float]:
        """The layer and the step that differ most, and by how much."""
        cells = [(layer, step, value) for layer, row in self.differences.items() for step, value in row.items()]
        return max(cells, key=lambda cell: cell[2] if cell[2] == cell[2] else np.inf)


def compare_captures(first: ReadableCapture, second: ReadableCapture, where: str) -> CaptureComparison:
    """The comparison of two captures; raises AttnError, which names the second, where they have nothing in common."""
    ours, theirs = first.capture, second.capture
    if [list(tokens) for tokens in ours.sequences] != [list(tokens) for tokens in theirs.sequences]:
        raise AttnError("is a capture of other tokens", where=where, hint="capture both with the same text")
    others = {layer.name: layer for layer in theirs.layers}
    rows = {}
    for layer in ours.layers:
        if layer.name in others:
            pairs = {step: (first.array(layer, step), second.array(others[layer.name], step)) for step in STEPS}
            rows[layer.name] = {
                step: _difference(one, other, (where, f"layer {layer.name}", step))
                for step, (one, other) in pairs.items()
                if one is not None and other is not None
            }
    if not any(rows.values()):
        raise AttnError("has no layer in common", where=where, hint=f"it has {', '.join(others)}")
    dtype = max((ours.dtype, theirs.dtype), key=_rounding)
    names = [layer.name for layer in ours.layers]
    only_first, only_second = [name for name in names if name not in others], [n for n in others if n not in names]
    return CaptureComparison(rows, dtype, _rounding(dtype), only_first, only_second)


def _difference(one: GivenArray, other: GivenArray, where: tuple[str, ...]) -> float:
    """The largest difference of two arrays, in parts of the largest number of the second; raises AttnError."""
    if one.array.shape != other.array.shape:
        raise AttnError(f"has the shape {other.array.shape}, and here it is {one.array.shape}", where=where)
    left, right = (np.asarray(found.array, np.float64) for found in (one, other))
    if np.array_equal(left, right, equal_nan=True):
        return 0.0
    return float(abs(left - right).max() / _size(right))


def _size(array: Array) -> float:
    """The largest number of an array; 1 where it has none but zeros."""
    return float(abs(array).max()) or 1.0


def _rounding(dtype: str) -> float:
    """The relative rounding of a type."""
    return 2.0**-8 if dtype == BFLOAT16 else float(np.finfo(dtype or "float64").eps) / 2
