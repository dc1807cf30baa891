"""What is read again: a problem as YAML, as JSON, or as a folder of tables."""

import io
import json
import math
from typing import Any

import yaml

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import delimited_rows
from attncli.io.readers.array_files import NPY
from attncli.io.readers.scalars import is_word
from attncli.io.readers.yaml import STRING
from attncli.io.writers.array_files import pack
from attncli.ops.registry import Operator
from attncli.problem.spec import DEFAULTS, ProblemSpec
from attncli.problem.weights import stored_values

# What was needed to draw the matrices is of no use beside them.
_DRAWN_FROM = ("seed", "generator", "init", "token_count", "dim", "d_k", "d_v", "sentence", "vocabulary")


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc] # the C dumper has no type
    """YAML whose words read back as words, by our reader and by those of YAML 1.1."""


def _word(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar(STRING, text, style=None if is_word(text) else '"')


def _list(dumper: Any, value: list[Any]) -> Any:
    """A list of numbers or words on one line, a list of lists over several."""
    flat = not any(isinstance(entry, (list, dict)) for entry in value)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=flat)


_Dumper.add_representer(str, _word)
_Dumper.add_representer(list, _list)


def _long(dumper: Any, value: Any) -> Any:
    """A longdouble with all its digits."""
    return dumper.represent_scalar("tag:yaml.org,2002:float", str(value))


_Dumper.add_representer(np.longdouble, _long)


def yaml_text(value: Any) -> str:
    """A value as YAML: a row of numbers a line."""
    dumped = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1)
    return str(dumped)


def problem_yaml(problem: ProblemSpec) -> str:
    """The problem as a file with all its numbers in it."""
    return yaml_text({name: _plain(value) for name, value in _said(problem).items()})


def problem_json(problem: ProblemSpec) -> str:
    """The problem as a JSON file."""
    said = {name: _spelled(_plain(value)) for name, value in _said(problem).items()}
    return json.dumps(said, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def problem_folder(problem: ProblemSpec) -> dict[str, str | bytes]:
    """The problem as files, and `problem.yaml`, which names them: the contents of each file by its name.

    Arrays are tables in CSV, those of more than two axes `.npy` files.
    """
    files: dict[str, str | bytes] = {}
    named: dict[str, Any] = {}
    is_table = problem.embeddings is not None and problem.embeddings.ndim == 2
    labels = problem.key_labels if is_table and all(map(_fits_a_cell, problem.key_labels)) else None
    for name, value in _said(problem).items():
        if isinstance(value, np.ndarray) and value.ndim > 2:
            memory = io.BytesIO()
            pack(memory, {name: value}, NPY, Precision())
            files[f"{name}{NPY}"] = memory.getvalue()
            named[name] = f"{name}{NPY}"
        elif isinstance(value, np.ndarray):
            files[f"{name}.csv"] = _table(value, labels if name == "embeddings" else None)
            named[name] = f"{name}.csv"
        elif name != "tokens" or labels is None:  # else they stand in embeddings.csv
            named[name] = _plain(value)
    files["problem.yaml"] = yaml_text(named)
    return files


def _said(problem: ProblemSpec) -> dict[str, Any]:
    """What the problem says: its arrays, the names of its rows, its stages, and every other key off its default."""
    found: dict[str, Any] = {}
    for name, stored in stored_values(problem).items():
        value = stored
        if name == "tokens":
            value = problem.key_labels
        elif name == "query_tokens" and not problem.is_self_attention:
            value = problem.query_labels
        said = isinstance(value, Operator) or (value is not None and value is not DEFAULTS[name])
        if said and name not in _DRAWN_FROM:
            found[name] = value
    return found


def _plain(value: Any) -> Any:
    """A value in YAML's own types; whole numbers without a point."""
    if isinstance(value, Operator):
        parameters = {name: _plain(parameter) for name, parameter in value.given.items()}
        return {value.record.name: parameters} if parameters else value.record.name
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 and str(value) != "-0.0":
        return int(value)
    return value


def _spelled(value: Any) -> Any:
    """A value with words for the numbers that JSON can't hold."""
    if isinstance(value, dict):
        return {key: _spelled(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_spelled(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _fits_a_cell(label: str) -> bool:
    """Whether a table gives the label back as it is: readers trim cells, and know one kind of line end."""
    return bool(label) and label == label.strip() and "\r" not in label


def _table(array: Array, labels: tuple[str, ...] | None) -> str:
    """An array as CSV, a label before each row where there are labels."""
    rows = _plain(np.atleast_2d(array.astype(int) if array.dtype.kind == "b" else array).tolist())
    if labels:
        header = ["", *(f"x{number}" for number in range(1, len(rows[0]) + 1))]
        rows = [header, *([label, *row] for label, row in zip(labels, rows, strict=True))]
    return delimited_rows(rows)
