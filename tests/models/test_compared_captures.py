"""Two captures of the same tokens: which layer parts first, in roundings of the coarser type."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.captures import CaptureFile, read_capture
from attncli.io.inputs import Inputs
from attncli.models.captures_document import ReadableCapture, captures_document, compare_captures
from attncli.problem.arrays import GivenArray
from attncli.render.formats import terminal
from attncli.render.target import TEXT_FILE
from tests.captures import write_tiny_capture


@pytest.fixture(name="first")
def tiny_capture(tmp_path: Path) -> CaptureFile:
    write_tiny_capture(tmp_path / "c.safetensors")
    return read_capture(str(tmp_path / "c.safetensors"), Inputs())


def changed(file: CaptureFile, tensor: str, factor: float) -> ReadableCapture:
    """The capture with one tensor multiplied."""

    def read(name: str) -> GivenArray:
        found = file.array(name)
        return replace(found, array=found.array * np.float32(factor)) if name == tensor else found

    return ReadableCapture(file.capture, read)


def report(file: CaptureFile, second: ReadableCapture) -> str:
    found = compare_captures(ReadableCapture(file.capture, file.array), second, "other")
    return "".join(terminal.render(captures_document(found, "other"), TEXT_FILE))


def test_equal_captures_are_said_to_be_equal(first: CaptureFile) -> None:
    shown = report(first, ReadableCapture(first.capture, first.array))
    assert shown.startswith("The same numbers as other, to the last bit, in 3 layers.")


def test_the_layer_that_parts_first_is_named(first: CaptureFile) -> None:
    shown = report(first, changed(first, "1.key", 1.5))
    assert "Differs from other by more than 8 roundings of float32 (4.8e-07), first in layer 1, key." in shown
    assert "Largest: layer 1, key: 3.3e-01." in shown
    assert report(first, changed(first, "1.key", 1 + 2**-22)).startswith("Agrees with other to 8 roundings")


def test_a_type_has_a_rounding_of_its_own(first: CaptureFile) -> None:
    other = changed(first, "1.key", 1.01)
    coarse = replace(other, capture=replace(other.capture, dtype="bfloat16"))
    assert report(first, coarse).startswith("Agrees with other to 8 roundings of bfloat16 (3.1e-02).")


def test_layers_that_only_one_has_are_named(first: CaptureFile) -> None:
    fewer = replace(first.capture, layers=first.capture.layers[:1])
    assert "Only this run has layers 1, decoder.1.cross." in report(first, ReadableCapture(fewer, first.array))
    nothing = replace(first.capture, layers=[])
    with pytest.raises(AttnError, match="other: has no layer in common"):
        report(first, ReadableCapture(nothing, first.array))


def test_captures_of_other_tokens_are_not_compared(first: CaptureFile) -> None:
    other = replace(first.capture, sequences=[["a"], ["b"]])
    with pytest.raises(AttnError, match="other: is a capture of other tokens; capture both with the same text"):
        report(first, ReadableCapture(other, first.array))
