"""A problem as text that can be read again: as YAML, as JSON, or as a folder of tables."""

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import delimited_cell, delimited_rows
from attncli.io.readers.npy import NPY
from attncli.io.writers.array_files import write_npy
from attncli.io.writers.json_text import json_text
from attncli.io.writers.plain_values import plain_values
from attncli.io.writers.yaml_text import yaml_text
from attncli.numbers.formatting import format_rows, format_whole
from attncli.ops.records import Operator
from attncli.problem.fields import RANDOM
from attncli.problem.packing import sizes_of_parts
from attncli.problem.residual import TOKEN_KEYS, residual_of_tokens
from attncli.problem.spec import DEFAULTS, FIELDS, ProblemSpec
from attncli.problem.unread import is_read
from attncli.problem.weights import stored_values

SAMPLE_SIZE = 1000  # numbers that an array's size as text is estimated by


@dataclass(frozen=True)
class ExampleValues:
    """The keys of a worked example that are not keys of its problem: those before the problem, and those after it."""

    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)


NO_EXAMPLE = ExampleValues()


def problem_yaml(problem: ProblemSpec, example: ExampleValues = NO_EXAMPLE) -> Iterator[str]:
    """The problem as one YAML file with all its numbers in it, in chunks."""
    return yaml_text(_document(values_to_write(problem), example), format_whole)


def problem_json(problem: ProblemSpec, example: ExampleValues = NO_EXAMPLE) -> Iterator[str]:
    """The problem as one JSON file with all its numbers in it, in chunks."""
    yield from json_text(_document(values_to_write(problem), example), format_finite=format_whole)
    yield "\n"


def problem_folder(problem: ProblemSpec, example: ExampleValues = NO_EXAMPLE) -> dict[str, bytes | Iterable[str]]:
    """The contents of each file of a folder, by its name: a file for each array, and `problem.yaml`, which names them.

    Arrays of up to two axes are tables in CSV, others `.npy` files.
    """
    files: dict[str, bytes | Iterable[str]] = {}
    document: dict[str, Any] = {}
    values = values_to_write(problem)
    is_table = "embeddings" in values and values["embeddings"].ndim == 2
    labels = problem.key_labels if is_table and all(map(_is_csv_label, problem.key_labels)) else None
    for name, value in values.items():
        if isinstance(value, np.ndarray) and value.ndim > 2:
            stream = io.BytesIO()
            write_npy(stream, value)
            files[f"{name}{NPY}"] = stream.getvalue()
            document[name] = f"{name}{NPY}"
        elif isinstance(value, np.ndarray):
            files[f"{name}.csv"] = _csv_table(value, labels if name == "embeddings" else None)
            document[name] = f"{name}.csv"
        elif name != "tokens" or labels is None:  # otherwise embeddings.csv has them
            document[name] = value
    files["problem.yaml"] = yaml_text(_document(document, example))
    return files


def problem_sizes(problem: ProblemSpec) -> dict[str, int]:
    """About the bytes of each array as text, by its key: its first numbers have the mean length of all of them."""
    arrays = {name: value for name, value in values_to_write(problem).items() if isinstance(value, np.ndarray)}
    return {name: round(array.size * _mean_length(array)) for name, array in arrays.items()}


def _mean_length(array: Array) -> float:
    """The mean length of the first numbers of an array as text, with what separates them."""
    sample = array.flat[:SAMPLE_SIZE].tolist()
    return sum(len(format_whole(number)) + len(",") for number in sample) / max(len(sample), 1)


def _document(values: Mapping[str, Any], example: ExampleValues) -> dict[str, Any]:
    """The keys of a problem with those of a worked example around them."""
    return {**example.before, **plain_values(values), **example.after}


def values_to_write(problem: ProblemSpec) -> dict[str, Any]:
    """The keys that describe the problem: arrays, labels, operators, and every other key that is off its default."""
    values: dict[str, Any] = {}
    labels = {"tokens": problem.key_labels}
    if not problem.is_self_attention:
        labels["query_tokens"] = problem.query_labels
    stored = {**stored_values(problem), **labels}
    if problem.token_table is not None:  # only the rows of the tokens are there: they are written as what they become
        stored |= {"residual": residual_of_tokens(problem), **dict.fromkeys(TOKEN_KEYS)}
    if problem.embeddings_source != "embeddings":
        del stored["embeddings"]
    replaced = _replaced_by_arrays() - set(sizes_of_parts(stored))
    for name, value in stored.items():
        is_operator = isinstance(value, Operator) and is_read(problem, name)
        is_set = is_operator or (value is not None and value is not DEFAULTS[name])
        if is_set and name not in replaced:
            values[name] = value
    return values


def _replaced_by_arrays() -> set[str]:
    """The keys that describe only how arrays and tokens are made, which are written in their place."""
    return {name for name, field in FIELDS.items() if field.panel == RANDOM or field.kind in ("text", "vocabulary")}


def _is_csv_label(label: str) -> bool:
    """Whether a table keeps the label unchanged: readers refuse blank ones and convert line ends."""
    return bool(label.strip()) and "\r" not in label


def _csv_table(array: Array, labels: tuple[str, ...] | None) -> Iterator[str]:
    """An array of one or two axes as CSV, a label before each row where there are labels."""
    table = np.atleast_2d(array.astype(int) if array.dtype.kind == "b" else array)
    if labels is None:
        for rows in format_rows(table, {}, ",", format_whole):
            yield "".join(f"{row}\n" for row in rows)
        return
    yield delimited_rows([["", *(f"x{number}" for number in range(1, table.shape[1] + 1))]])
    remaining = iter(labels)
    for rows in format_rows(table, {}, ",", format_whole):
        labelled = zip(rows, remaining, strict=False)  # the numbers first: zip must not consume a label after the last
        yield "".join(f"{delimited_cell(label, ',')},{row}\n" for row, label in labelled)
