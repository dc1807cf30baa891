"""The contents of a capture; and the report of two captures: the first layer that differs, and the differences."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from attncli.base.dtypes import BFLOAT16
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.base.text import count_of
from attncli.io import formats
from attncli.io.captures import Capture, CapturedLayer, capture_of
from attncli.io.inputs import Inputs
from attncli.problem.arrays import GivenArray
from attncli.render.document import Block, Document, Grid, Lines, Section, Statement

STEPS = ("query", "key", "value", "scores", "weights", "output")  # in the order in which a layer makes them
ROUNDINGS = 8  # another order of sums may differ by so many roundings of the coarser type


@dataclass(frozen=True)
class ReadableCapture:
    """A capture, with a reader of its tensors by name."""

    capture: Capture
    read: Callable[[str], GivenArray]

    def array(self, layer: CapturedLayer, step: str) -> GivenArray | None:
        """An array of a layer; None if the layer has none of that name."""
        tensor = {**layer.arrays, **layer.results}.get(step)
        return None if tensor is None else self.read(tensor)


@dataclass(frozen=True)
class CaptureComparison:
    """The difference of each array of each layer, relative to its largest number, by layer and step.

    `rounding` is the rounding of the coarser type, whose name is `dtype`. The other lists name layers that only one of
    the captures has.
    """

    differences: Mapping[str, Mapping[str, float]]
    dtype: str
    rounding: float
    only_first: Sequence[str]
    only_second: Sequence[str]

    def first_above(self, limit: float) -> tuple[str, str] | None:
        """The first layer and step that differ by more than a limit; None if none does."""
        cells = ((layer, step, value) for layer, row in self.differences.items() for step, value in row.items())
        return next(((layer, step) for layer, step, value in cells if not value <= limit), None)

    @property
    def largest(self) -> tuple[str, str, float]:
        """The layer and the step with the largest difference, and the difference."""
        cells = [(layer, step, value) for layer, row in self.differences.items() for step, value in row.items()]
        return max(cells, key=lambda cell: cell[2] if cell[2] == cell[2] else np.inf)


def compare_captures(first: ReadableCapture, second: ReadableCapture, where: str) -> CaptureComparison:
    """The comparison of two captures; raises AttnError, which names the second, if they have nothing in common."""
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
    """The largest difference of two arrays, relative to the second's largest number; raises AttnError."""
    if one.array.shape != other.array.shape:
        raise AttnError(f"has the shape {other.array.shape}, and here it is {one.array.shape}", where=where)
    left, right = (np.asarray(found.array, np.float64) for found in (one, other))
    if np.array_equal(left, right, equal_nan=True):
        return 0.0
    return float(abs(left - right).max() / (float(abs(right).max()) or 1.0))


def _rounding(dtype: str) -> float:
    """The relative rounding of a type."""
    return 2.0**-8 if dtype == BFLOAT16 else float(np.finfo(dtype or "float64").eps) / 2


def lines_of_file(name: str, inputs: Inputs) -> Sequence[str]:
    """The lines of a file that is a capture; empty for another file."""
    source = inputs.open(name)
    capture = capture_of(formats.read_metadata(source), source.name)
    return () if capture is None else list(capture_lines(capture, name))


def captures_document(found: CaptureComparison, name: str) -> Document:
    """The document of the comparison of a capture with another one, by name."""
    steps = [step for step in STEPS if any(step in row for row in found.differences.values())]
    table = [[row.get(step, np.nan) for step in steps] for row in found.differences.values()]
    texts = [[_text(row.get(step)) for step in steps] for row in found.differences.values()]
    grid = Grid(np.array(table), tuple(found.differences), tuple(steps), corner="layer", signs=texts)
    title = "largest difference, in parts of the largest number"
    return Document([Section("", blocks=tuple(_verdict(found, name))), Section(title, grids=(grid,))], 0)


def _text(difference: float | None) -> str:
    """A difference as text; empty if one of the captures lacks the array."""
    return "" if difference is None else "0" if difference == 0 else f"{difference:.1e}"


def _verdict(found: CaptureComparison, name: str) -> Iterator[Block]:
    """Whether the captures are equal, their first difference, and the layers that only one has."""
    first, beyond = found.first_above(0), found.first_above(ROUNDINGS * found.rounding)
    count = count_of(len(found.differences), "layer")
    if first is None:
        yield Statement(f"The same numbers as {name}, to the last bit, in {count}.")
    else:
        layer, step, largest = found.largest
        rounding = f"{ROUNDINGS} roundings of {found.dtype} ({ROUNDINGS * found.rounding:.1e})"
        if beyond is None:
            yield Statement(f"Agrees with {name} to {rounding}.")
        else:
            yield Statement(f"Differs from {name} by more than {rounding}, first in layer {beyond[0]}, {beyond[1]}.")
        lines = f"First difference: layer {first[0]}, {first[1]}.", f"Largest: layer {layer}, {step}: {largest:.1e}."
        yield Lines(lines)
    for names, which in ((found.only_first, "this run"), (found.only_second, name)):
        if names:
            yield Lines((f"Only {which} has {'layer' if len(names) == 1 else 'layers'} {', '.join(names)}.",))


def capture_lines(capture: Capture, name: str) -> Iterator[str]:
    """The source of a capture, its tokens, and its layers; consecutive ones with the same keys share a line."""
    yield f"{capture.model_type} in {capture.dtype}, folder {capture.model}, by {capture.source}"
    for tokens in capture.sequences:
        yield f"{count_of(len(tokens), 'token')}: {' '.join(tokens)}"
    yield from (f"note: {note}" for note in capture.notes)
    yield count_of(len(capture.layers), "attention")
    for about, layers in groupby(capture.layers, _about):
        yield f"  {', '.join(layer.name for layer in layers)}: {about}"
    if capture.layers:
        yield f"attn compute {shlex.quote(name)} --layer {capture.layers[-1].name} --head 0"


def _about(layer: CapturedLayer) -> str:
    """The arrays of a layer, its keys with their values, and the model's results."""
    numbers = {key: f"{value:.4g}" if isinstance(value, float) else str(value) for key, value in layer.keys.items()}
    keys = [key if layer.keys[key] is True else f"{key} {text}" for key, text in numbers.items()]
    return f"{', '.join([*layer.arrays, *keys])} → {', '.join(layer.results)}"
