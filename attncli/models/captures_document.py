"""What a capture has; and the report of two captures: which layer parts first, and by how much each array differs."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby

from attncli.base.lazy_numpy import np
from attncli.base.text import count_of
from attncli.io import formats
from attncli.io.captures import Capture, CapturedLayer, capture_of
from attncli.io.inputs import Inputs
from attncli.models.compared_captures import ROUNDINGS, STEPS, CaptureComparison
from attncli.render.document import Block, Document, Grid, Lines, Section, Statement


def lines_of_file(name: str, inputs: Inputs) -> Sequence[str]:
    """The lines of a file that is a capture; none of another file."""
    source = inputs.open(name)
    capture = capture_of(formats.read_metadata(source), source.name)
    return () if capture is None else list(capture_lines(capture, name))


def captures_document(found: CaptureComparison, name: str) -> Document:
    """The document of the comparison of a capture with the one of a name."""
    steps = [step for step in STEPS if any(step in row for row in found.differences.values())]
    table = [[row.get(step, np.nan) for step in steps] for row in found.differences.values()]
    texts = [[_text(row.get(step)) for step in steps] for row in found.differences.values()]
    grid = Grid(np.array(table), tuple(found.differences), tuple(steps), corner="layer", signs=texts)
    title = "largest difference, in parts of the largest number"
    return Document([Section("", blocks=tuple(_verdict(found, name))), Section(title, grids=(grid,))], 0)


def _text(difference: float | None) -> str:
    """A difference as text; nothing where one of the captures lacks the array."""
    return "" if difference is None else "0" if difference == 0 else f"{difference:.1e}"


def _verdict(found: CaptureComparison, name: str) -> Iterator[Block]:
    """Whether the captures are equal, where they part first, and what only one of them has."""
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
    """What a capture is of, its tokens, and its layers: those that follow each other and have the same keys in one."""
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
    """The arrays of a layer, its keys with their values, and what the model made of them."""
    numbers = {key: f"{value:.4g}" if isinstance(value, float) else str(value) for key, value in layer.keys.items()}
    keys = [key if layer.keys[key] is True else f"{key} {text}" for key, text in numbers.items()]
    return f"{', '.join([*layer.arrays, *keys])} → {', '.join(layer.results)}"
