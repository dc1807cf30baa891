"""A problem as text that can be read again: as YAML, as JSON, or as a folder of tables."""

import io
import json
import math
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import delimited_rows
from attncli.io.readers.array_files import NPY
from attncli.io.writers.array_files import write_npy
from attncli.io.writers.yaml_text import yaml_text
from attncli.ops.records import Operator
from attncli.problem.fields import RANDOM, Field
from attncli.problem.spec import DEFAULTS, FIELDS, ProblemSpec
from attncli.problem.weights import stored_values


def problem_yaml(problem: ProblemSpec) -> str:
    """The problem as one YAML file with all its numbers in it."""
    return yaml_text({name: _plain_value(value) for name, value in _values_to_write(problem).items()})


def problem_json(problem: ProblemSpec) -> str:
    """The problem as one JSON file with all its numbers in it."""
    values = {name: _json_value(_plain_value(value)) for name, value in _values_to_write(problem).items()}
    return json.dumps(values, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def problem_folder(problem: ProblemSpec) -> dict[str, str | bytes]:
    """The contents of each file of a folder, by its name: a file for each array, and `problem.yaml`, which names them.

    Arrays of up to two axes are tables in CSV, others `.npy` files.
    """
    files: dict[str, str | bytes] = {}
    document: dict[str, Any] = {}
    is_table = problem.embeddings is not None and problem.embeddings.ndim == 2
    labels = problem.key_labels if is_table and all(map(_is_csv_label, problem.key_labels)) else None
    for name, value in _values_to_write(problem).items():
        if isinstance(value, np.ndarray) and value.ndim > 2:
            stream = io.BytesIO()
            write_npy(stream, value)
            files[f"{name}{NPY}"] = stream.getvalue()
            document[name] = f"{name}{NPY}"
        elif isinstance(value, np.ndarray):
            files[f"{name}.csv"] = _csv_table(value, labels if name == "embeddings" else None)
            document[name] = f"{name}.csv"
        elif name != "tokens" or labels is None:  # otherwise embeddings.csv has them
            document[name] = _plain_value(value)
    files["problem.yaml"] = yaml_text(document)
    return files


def _values_to_write(problem: ProblemSpec) -> dict[str, Any]:
    """The keys that describe the problem: arrays, labels, operators, and every other key that is off its default."""
    values: dict[str, Any] = {}
    labels = {"tokens": problem.key_labels}
    if not problem.is_self_attention:
        labels["query_tokens"] = problem.query_labels
    for name, value in {**stored_values(problem), **labels}.items():
        is_set = isinstance(value, Operator) or (value is not None and value is not DEFAULTS[name])
        if is_set and not _is_replaced_by_arrays(FIELDS[name]):
            values[name] = value
    return values


def _is_replaced_by_arrays(field: Field) -> bool:
    """Whether a key describes only how arrays and tokens are made, which are written in its place."""
    return field.panel == RANDOM or field.kind in ("text", "vocabulary")


def _plain_value(value: Any) -> Any:
    """A value as mappings, lists, numbers and text; whole numbers without a point."""
    if isinstance(value, Operator):
        parameters = {name: _plain_value(parameter) for name, parameter in value.given.items()}
        return {value.record.name: parameters} if parameters else value.record.name
    if isinstance(value, np.ndarray):
        return _plain_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain_value(entry) for entry in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 and str(value) != "-0.0":
        return int(value)
    return value


def _json_value(value: Any) -> Any:
    """A plain value with words for the numbers that JSON can't hold."""
    if isinstance(value, dict):
        return {key: _json_value(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_json_value(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _is_csv_label(label: str) -> bool:
    """Whether a table keeps the label unchanged: readers trim cells and convert line ends."""
    return bool(label) and label == label.strip() and "\r" not in label


def _csv_table(array: Array, labels: tuple[str, ...] | None) -> str:
    """An array of one or two axes as CSV, a label before each row where there are labels."""
    rows = _plain_value(np.atleast_2d(array.astype(int) if array.dtype.kind == "b" else array).tolist())
    if labels:
        header = ["", *(f"x{number}" for number in range(1, len(rows[0]) + 1))]
        rows = [header, *([label, *row] for label, row in zip(labels, rows, strict=True))]
    return delimited_rows(rows)
