"""Texts instead of values: `NAME:key=value,key=value`, nested lists, rows of numbers, a file, an entry of it."""

import os
import re
import sys
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from attncli.base.errors import AttnError, ErrorPath, did_you_mean
from attncli.base.text import shorten
from attncli.io import formats
from attncli.io.inputs import Input
from attncli.io.paths import STDIN, check_is_not_refused, is_there, locate, nearest_file, path_of
from attncli.io.problem_files import Origin
from attncli.ops.decorators import registered_function
from attncli.ops.records import OperatorRecord
from attncli.ops.registry import is_operator, kind_of, operators
from attncli.problem.arrays import ArrayOrigin
from attncli.problem.numbers import read_typed_matrix, scalar
from attncli.problem.operators import named_masks

_OWN_OPERATOR = re.compile(r"(?P<module>[^:=,]+):(?P<function>[^\W\d]\w*)(?P<parameters>(:.*)?)", re.DOTALL)


def read_named(text: str, path: ErrorPath) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of `NAME:key=value,key=value`, each value as YAML reads it.

    Raises AttnError if a part is not `key=value`, if a key is given twice, and for `FILE.py:FUNCTION`, which only an
    option runs.

    >>> read_named("gaussian:sigma=2", ("score",))
    ('gaussian', {'sigma': 2})
    """
    name, colon, rest = text.partition(":")
    if colon and not rest.strip():
        raise AttnError(f"nothing follows the colon of {text!r}", where=path, hint="leave it out")
    if colon and name.endswith(".py"):
        hint = "give it to the option of the command, or the function itself in Python"
        raise AttnError(f"a problem file can't run the code of {name}", where=path, hint=hint)
    return name.strip(), dict(_parameters(rest, path)) if colon else {}


def import_operator(kind: str, text: str, path: ErrorPath) -> str:
    """A text with the operator's name instead of a user's function: `mine:powers:power=2` to `powers:power=2`.

    `MODULE:FUNCTION` and `FILE.py:FUNCTION` import the module, which runs its code; the search path includes the
    working folder. A function without a decorator is registered as one of the kind. Any other text is unchanged. Raises
    AttnError if the module can't be imported, or the function is not an operator of the kind.
    """
    match = _OWN_OPERATOR.fullmatch(text)
    if match is None or is_operator(kind, match["module"]):
        return text
    file, function = Path(match["module"]), match["function"]
    is_file = file.suffix == ".py"
    folder, name = (file.parent, file.stem) if is_file else (Path(), match["module"])
    if str(folder.resolve()) not in sys.path:
        sys.path.insert(0, str(folder.resolve()))
    try:
        module = import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - importing a user's module may raise anything
        message = f"{match['module']} can't be imported ({type(error).__name__}: {error})"
        raise AttnError(message, where=path, hint="give MODULE:FUNCTION, or FILE.py:FUNCTION") from None
    found = getattr(module, function, None)
    if isinstance(found, FunctionType) and not hasattr(found, "record"):
        found = registered_function(kind_of(kind), found)
    record = getattr(found, "record", None)
    if not isinstance(record, OperatorRecord) or record.kind != kind_of(kind):
        names = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        hint = f"it has {', '.join(names)}" if names else "write a function, def NAME(…)"
        if isinstance(record, OperatorRecord):
            hint = f"it is a {record.kind}"
        raise AttnError(f"{match['module']} has no {kind_of(kind)} {function!r}", where=path, hint=hint)
    return f"{record.name}{match['parameters']}"


def read_inline(text: str, path: ErrorPath, typed_keys: Container[str] | None = ()) -> Any:
    """The YAML value of a one-line text: `[[1, 0], [0, 1]]`, `2`, `words.csv`; `typed_keys` as in `yaml.read`.

    >>> read_inline("[[1, 0], [0, 1]]", ())
    [[1, 0], [0, 1]]
    """
    try:
        if text.lstrip()[:1] not in ("[", "{"):
            return scalar(text.strip())
        from attncli.io import yaml  # noqa: PLC0415 - most options are one word

        return yaml.read(text, "", typed_keys=typed_keys)[0]
    except AttnError as error:
        error.path = path  # without the line: there is only one
        raise


def _parameters(text: str, path: ErrorPath) -> Iterator[tuple[str, Any]]:
    """Each `key=value`; commas inside brackets belong to the value."""
    names = set()
    for part in split_outside_brackets(text):
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key or not value.strip():
            raise AttnError(f"{part.strip()!r} is not key=value", where=path)
        if key in names:
            raise AttnError(f"{key} is given twice", where=path)
        names.add(key)
        yield key, read_inline(value, (*path, key))


def split_outside_brackets(text: str) -> Iterator[str]:
    """The parts between commas outside all brackets."""
    depth = start = 0
    for at, letter in enumerate(text):
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def read_text_array(
    text: str, path: ErrorPath, origin: Origin, kind: str | None = "generator", *, are_rows_read: bool = False
) -> Any:
    """The value of a text instead of an array, for `attncli.problem.build.build`.

    `[[1, 0], [0, 1]]` and `1 0; 0 1` become nested lists, `1/2` a number, `normal:std=2` (or a mask) `{normal: {std:
    2}}`, and the name of a file its array; if the origin opens no files, any other text is unchanged. An existing file
    has precedence. `path` is for errors. `kind` are the operators that may replace the array: the error suggests the
    nearest one. With `are_rows_read` a file's array stays encoded, so that a few rows can be read.
    """
    text = text.strip()
    is_file = origin.opens_files and is_there(origin.folder / text)
    typed = None if is_file else read_typed_matrix(text, origin.path(*path))
    if typed is not None:
        return typed
    if text[:1] in ("[", "{"):
        return read_inline(text, origin.path(*path))
    name = text.partition(":")[0].strip()
    if is_operator("generator", name) or (kind == "mask" and is_operator("mask", name)):
        name, parameters = read_named(text, origin.path(*path))
        return {name: parameters}
    return _read_file(text, path, origin, kind, are_rows_read=are_rows_read) if origin.opens_files else text


def _read_file(text: str, path: ErrorPath, origin: Origin, kind: str | None, *, are_rows_read: bool) -> Any:
    """The array in a file or stream, or in an entry of it: `words.csv`, `weights.json#w_q`, `-`."""
    source, entry = open_file(text, path, origin, kind)
    array = formats.read_array(source, entry, are_rows_read=are_rows_read)
    lines = array.origin.lines if array.origin is not None else ()
    mark = "#" if text.endswith(f"#{entry}") else ""
    name, is_file = f"{source.name}{mark}{entry}", source.content is None
    return replace(array, origin=ArrayOrigin(name, lines, is_whole=is_file))


def open_file(text: str, path: ErrorPath, origin: Origin, kind: str | None) -> tuple[Input, str]:
    """The file or stream that a text names, and the entry with its slices; `path` and `kind` as in `read_text_array`.

    Raises AttnError, with the nearest name, if there is none.
    """
    if text[:1] in ("", "#"):
        hint = "give a file, or numbers" if kind is None else "give a file, numbers in brackets, or a generator"
        raise AttnError(f"{text!r} does not name a file", where=origin.path(*path), hint=hint)
    name, entry = locate(text, origin.folder)
    file = origin.folder / path_of(name)
    check_is_not_refused(file, name)
    if name == STDIN or formats.format_of_suffix(file) is not None or os.path.lexists(file):
        return origin.inputs.open(name, origin.folder), entry
    nearest = nearest_file(file)
    if file.suffix and nearest is None:
        hint = f"expected {formats.expected('array')}"
        raise AttnError(f"{text!r} is not a file that can be read", where=origin.path(*path), hint=hint)
    nearby = [str(Path(name).with_name(nearest))] if nearest is not None else []
    names = [] if kind is None else named_masks() if kind == "mask" else list(operators(kind))
    operator = text.partition(":")[0] if "=" in text else text  # `windw:left=2` is near `window`
    noun = "file" if kind is None else f"file or {kind}"
    hint = did_you_mean(operator, [*names, *nearby]) or forms_hint(kind, names)
    raise AttnError(f"unknown {noun} {shorten(repr(operator))}", where=origin.path(*path), hint=hint)


def forms_hint(noun: str | None, names: Sequence[str]) -> str:
    """The hint about forms of a matrix; `names` are the operators that may replace it, `noun` is their kind.

    >>> forms_hint("mask", ["causal", "window"])
    "give numbers ('1 0; 0 1', '[[1, 0], [0, 1]]'), a file (words.csv, model.npz#w_q, -) or a mask (causal, window)"
    """
    numbers, files = (", ".join(example for example, _ in forms) for forms in (formats.NUMBERS, formats.FILES))
    given = f"give numbers ({numbers})"
    if noun is None:
        return f"{given} or a file ({files})"
    return f"{given}, a file ({files}) or a {noun} ({', '.join(names)})"
