"""The size of an output and the memory that writing it takes, known from the plan."""

import io
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attncli.base.lazy_numpy import import_object
from attncli.engine.run import run
from attncli.plan.build import plan_of
from attncli.problem.fields import DEFAULT_SELECTION
from attncli.render.formats import FORMATS, OutputFormat, find_format
from attncli.render.objects import problem_object
from attncli.render.output_size import SizeEstimator
from attncli.render.target import TEXT_FILE
from attncli.render.view import View
from tests.arrays import normal
from tests.problems import problem

LARGE = {"embeddings": normal(50, 16)}
SIZED: Mapping[str, tuple[Mapping[str, Any], float]] = {  # the least part of the real size that the estimate is
    "softmax": (LARGE, 0.7),
    "float32": ({**LARGE, "dtype": "float32"}, 0.7),
    "float16": ({**LARGE, "dtype": "float16"}, 0.5),
    "causal": ({**LARGE, "causal": True}, 0.5),
    "sparsemax": ({**LARGE, "normalize": "sparsemax"}, 0.5),
    "heads": ({**LARGE, "heads": 4}, 0.7),
}


def written(view: View, row: OutputFormat) -> int:
    """The bytes of a view in a format."""
    if row.is_binary:
        row.write(view, stream := io.BytesIO())
        return len(stream.getvalue())
    return sum(len(chunk.encode()) for chunk in row.render(view, TEXT_FILE)) - _of_inputs(view, row)


def _of_inputs(view: View, row: OutputFormat) -> int:
    """The bytes of the problem that an object has beside its results."""
    if not row.is_object:
        return 0
    content = {"problem": problem_object(view.result.trace)}
    return sum(len(chunk.encode()) for chunk in import_object(row.function)(content, TEXT_FILE))


# Without an optional package, figures, which are as large as a page whatever the numbers, and code, whose numbers are
# in files beside it.
ROWS = [
    row for row in FORMATS if not (row.holds_one_array or row.is_figure or row.is_code or row.name == "safetensors")
]


# A page that computes has 39 plans more, whatever the numbers.
WRITTEN = [(name, row) for name in SIZED for row in ROWS if row.name != "html" or name == "float16"]


@pytest.mark.parametrize(("name", "row"), WRITTEN, ids=[f"{name}-{row.name}" for name, row in WRITTEN])
def test_the_estimate_is_below_the_size_and_not_far(name: str, row: OutputFormat) -> None:
    keys, least = SIZED[name]
    spec = problem(**keys)
    sizes = SizeEstimator(plan_of(spec), spec.precision, (), 4).sizes(DEFAULT_SELECTION, row)
    size = written(View(run(spec, DEFAULT_SELECTION)), row)
    factor = 1.0 if row.is_lossless else 0.5  # columns of tables are padded
    assert factor * least * size <= sum(sizes.values()) <= 1.02 * size


def test_code_has_its_results_in_files_of_arrays(tmp_path: Path) -> None:
    spec = problem(**LARGE)
    row, target = find_format("numpy"), replace(TEXT_FILE, file=str(tmp_path / "a.py"))
    sizes = SizeEstimator(plan_of(spec), spec.precision, (), 4).sizes(DEFAULT_SELECTION, row)
    arrays = row.arrays_beside(View(run(spec, DEFAULT_SELECTION)), target)
    assert sizes == {name: arrays[f"a.{name}.expected.npy"].nbytes for name in DEFAULT_SELECTION}


@pytest.mark.parametrize("row", [row for row in ROWS if not row.shows_every_step], ids=lambda row: row.name)
def test_one_head_is_a_part_of_the_size(row: OutputFormat) -> None:
    spec = problem(**LARGE, heads=4)
    whole, one = (SizeEstimator(plan_of(spec), spec.precision, axes, 4).sizes(["weights"], row) for axes in ("", "h"))
    assert whole["weights"] == pytest.approx(4 * one["weights"], rel=1e-5)


def peak_memory(view: View, row: OutputFormat, file: Path) -> int:
    """The bytes of memory that writing a view takes at most."""
    with file.open("wb") as stream:
        tracemalloc.start()
        if row.is_binary:
            row.write(view, stream)
        else:
            stream.writelines(chunk.encode() for chunk in row.render(view, TEXT_FILE))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_memory_that_writing_takes_is_estimated(row: OutputFormat, tmp_path: Path) -> None:
    spec, small = (problem(embeddings=normal(*size), dtype="float16") for size in ((100, 16), (2, 2)))
    view, small_view = (View(run(one, DEFAULT_SELECTION)) for one in (spec, small))
    estimate = SizeEstimator(plan_of(spec), spec.precision, (), 4).memory(DEFAULT_SELECTION, row)
    written(small_view, row)  # modules and scripts are read once
    fixed, peak = (peak_memory(one, row, tmp_path / "out") for one in (small_view, view))
    constant = 0 if estimate else 1_500_000  # what does not grow with the result: chunks, labels, plans
    assert 0.4 * (peak - fixed - constant) <= estimate <= 1.5 * peak  # text is written a section at a time
