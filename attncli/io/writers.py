"""What is read again: a problem as YAML or as a folder of tables, and any file whole or not at all."""

import json
import math
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from attncli import delimited
from attncli.arrays import Array, np
from attncli.catalogue import Chosen
from attncli.errors import AttnError
from attncli.io.packing import pack
from attncli.io.readers.binary import NPY
from attncli.io.readers.yaml import STRING, is_word
from attncli.io.source import path_of
from attncli.precision import Precision
from attncli.problem import Problem

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


def problem_yaml(problem: Problem) -> str:
    """The problem as a file with all its numbers in it."""
    return yaml_text({name: _plain(value) for name, value in _said(problem).items()})


def problem_json(problem: Problem) -> str:
    """The problem as a JSON file."""
    said = {name: _spelled(_plain(value)) for name, value in _said(problem).items()}
    return json.dumps(said, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def problem_folder(problem: Problem) -> dict[str, str | bytes]:
    """The problem as files, and `problem.yaml`, which names them: the contents of each file by its name.

    Arrays are tables in CSV, those of more than two axes `.npy` files.
    """
    files: dict[str, str | bytes] = {}
    named: dict[str, Any] = {}
    is_table = problem.embeddings is not None and problem.embeddings.ndim == 2
    labels = problem.key_labels if is_table and all(map(_fits_a_cell, problem.key_labels)) else None
    for name, value in _said(problem).items():
        if isinstance(value, np.ndarray) and value.ndim > 2:
            files[f"{name}{NPY}"] = pack({name: value}, NPY, Precision())
            named[name] = f"{name}{NPY}"
        elif isinstance(value, np.ndarray):
            files[f"{name}.csv"] = _table(value, labels if name == "embeddings" else None)
            named[name] = f"{name}.csv"
        elif name != "tokens" or labels is None:  # else they stand in embeddings.csv
            named[name] = _plain(value)
    files["problem.yaml"] = yaml_text(named)
    return files


def _said(problem: Problem) -> dict[str, Any]:
    """What the problem says: its arrays, the names of its rows, its stages, and every other key off its default."""
    found: dict[str, Any] = {}
    for field in fields(problem):
        value = getattr(problem, field.name)
        if field.name == "tokens":
            value = problem.key_labels
        elif field.name == "query_tokens" and not problem.asks_itself:
            value = problem.query_labels
        said = isinstance(value, Chosen) or (value is not None and value is not field.default)
        if said and field.name not in _DRAWN_FROM:
            found[field.name] = value
    return found


def _plain(value: Any) -> Any:
    """A value in YAML's own types; whole numbers without a point."""
    if isinstance(value, Chosen):
        parameters = {name: _plain(parameter) for name, parameter in value.parameters.items()}
        return {value.entry.name: parameters} if parameters else value.entry.name
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
    return delimited.text(rows)


def write_file(name: str, contents: str | bytes) -> None:
    """Write a file whole or not at all: beside it first, then in its place.

    Raises AttnError where it can't be written. What is no regular file (a pipe, a device) is written to directly.
    """
    raw = contents.encode("utf-8", "surrogateescape") if isinstance(contents, str) else contents
    path = Path(os.path.realpath(path_of(name)))
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(raw)
            return
        _replace(path, raw)
    except OSError as error:
        raise AttnError(f"can't be written ({error.strerror})", where=name) from None


def write_folder(name: str, files: Mapping[str, str | bytes]) -> None:
    """Write a new folder whole or not at all; raises AttnError where there is one with something in it."""
    target = Path(os.path.realpath(path_of(name)))
    try:
        if target.is_dir() and any(target.iterdir()):
            raise AttnError("is a folder with something in it", where=name, hint="name a new one")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as beside:
            made = Path(beside) / "new"
            made.mkdir()
            for file, contents in files.items():
                (made / file).write_bytes(contents.encode("utf-8") if isinstance(contents, str) else contents)
            if target.is_dir():  # somebody may stand in it: it is filled, not replaced
                for file in files:
                    (made / file).replace(target / file)
            else:
                made.replace(target)
    except OSError as error:
        raise AttnError(f"can't be written ({error.strerror})", where=name) from None


def _replace(path: Path, raw: bytes) -> None:
    """Put the bytes in the file's place at once, with the rights that the file has or a new one would get."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(raw)
        Path(beside).chmod(mode)
        Path(beside).replace(path)
    finally:
        Path(beside).unlink(missing_ok=True)  # it is there only where something went wrong


def _umask() -> int:
    """The rights that new files do not get; reading it means setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
