"""Results as problem files: the problem of a `--json` result, with its numbers and files read again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.io.parse import read_named
from attncli.io.paths import is_there, locate, path_of
from attncli.ops.records import Operator, format_value
from attncli.ops.registry import is_operator, kinds, look_up, taken_kinds
from attncli.problem.convert import to_field
from attncli.problem.fields import option_name
from attncli.problem.spec import FIELDS
from attncli.problem.tokens import RESIDUAL_NORM, TOKEN_KEYS, TOKEN_NORM, normalized_vectors

OWN_FORMATS = "attn."  # the prefix of the formats that --json writes
FORMAT = f"{OWN_FORMATS}result/1"
PIPELINE = "pipeline"
PROBLEM, VALUE, FILE, SHAPE, CONVENTION = "problem", "value", "file", "shape", "convention"
_DESCRIPTION = {VALUE, FILE, SHAPE, "option", "generator"}  # an array's keys in a result
# Tables that are added; a result has only the tokens' rows of them.
_OF_TOKENS = ("token_table", "token_types", "token_positions")
# Keys about drawing numbers: a result has the drawn ones.
_OF_DRAWING = ("seed", "generator", "init", "token_count", "dim")


def problem_of_result(content: Mapping[str, Any], name: str, folder: Path) -> Mapping[str, Any]:
    """The values of a problem in a problem file's form; for a result, or its `problem`, the values in it.

    Files that a result names are searched in its folder, then in the current one. Raises AttnError if a result has
    neither an array's numbers nor a file.
    """
    is_result = content.get("format") == FORMAT and isinstance(content.get(PROBLEM), Mapping)
    if not is_result and str(content.get("format")).startswith(OWN_FORMATS):
        hint = "a result of attn compute --json can be computed again; a part of it is an array: result.json#output"
        raise AttnError(f"holds {content['format']}, not a problem", where=name, hint=hint)
    values = dict(content[PROBLEM] if is_result else content)
    if not is_result and not any(map(_is_description, values.values())):
        return content
    convention = values.pop(CONVENTION, None)
    if convention is not None and not isinstance(convention, Mapping):
        values[CONVENTION] = convention  # not a key of a problem, which a later check reports
    values = _with_residual(values, name)
    pipeline = content.get(PIPELINE)
    shown = pipeline if isinstance(pipeline, Mapping) else {}
    values = {key: _as_given(key, value, str(shown.get(key, ""))) for key, value in values.items()}
    found = {key: _value(value, (name, key), option_name(key), folder) for key, value in values.items()}
    return {key: value for key, value in found.items() if key not in _OF_DRAWING}


def _as_given(key: str, value: Any, shown: str) -> Any:
    """An operator as given, from the result's pipeline, without the defaults that a result adds.

    >>> _as_given("normalize", "softmax:temperature=1", "softmax")
    'softmax'
    """
    kind = FIELDS[key].kind if key in FIELDS else ""
    name, _, parameters = value.partition(":") if isinstance(value, str) else ("", "", "")
    if kind not in (*kinds(), *taken_kinds()) or not parameters or not is_operator(kind, name):
        return value
    given, defaults = shown.partition(":")[2].split(","), look_up(kind, name).defaults
    added = {f"{parameter}={format_value(default)}" for parameter, default in defaults.items()} - {*given}
    kept = ",".join(part for part in parameters.split(",") if part not in added)
    return f"{name}:{kept}" if kept else name


def _is_description(value: Any) -> bool:
    """Whether a value is the description of an array in a result."""
    return isinstance(value, Mapping) and SHAPE in value and value.keys() <= _DESCRIPTION


def _value(value: Any, where: tuple[str, ...], option: str, folder: Path) -> Any:
    """A value with numbers, or names of files, instead of descriptions, also inside an operator."""
    if not isinstance(value, Mapping):
        return value
    if not _is_description(value):
        return {key: _value(entry, (*where, key), option, folder) for key, entry in value.items()}
    if VALUE in value:
        return value[VALUE]
    if not isinstance(value.get(FILE), str):
        raise AttnError("its numbers are not in this result", where=where, hint=f"give {option}")
    return _file(value[FILE], folder)


def _file(text: str, folder: Path) -> str:
    """The name of a file relative to a result's folder; the file may be in the current folder."""
    path, _ = locate(text, folder)
    is_elsewhere = not is_there(folder / path_of(path)) and is_there(path_of(path))
    return str(Path.cwd() / text) if is_elsewhere else text


def _with_residual(values: dict[str, Any], where: str) -> dict[str, Any]:
    """The values with the tokens' vectors instead of tables, as a result has only the tokens' rows."""
    table, *others = (_numbers(values.get(key)) for key in _OF_TOKENS)
    if table is None:
        return values
    rows = table * values.get("token_scale", 1)
    for other in others:
        rows = rows if other is None else rows + other
    norm = values.get(TOKEN_NORM)
    if norm is not None and values.get(RESIDUAL_NORM) is None:
        values = {**values, RESIDUAL_NORM: norm}
    elif norm is not None:
        rows = normalized_vectors(rows, _norm_of_vectors(norm, (where, TOKEN_NORM)))
    kept = {key: value for key, value in values.items() if key not in TOKEN_KEYS}
    return {**kept, "residual": rows.tolist()}


def _norm_of_vectors(norm: Any, path: tuple[str, ...]) -> Operator:
    """The norm of the tokens' vectors; raises AttnError if its numbers are in files, which are not read here."""
    name, given = read_named(norm, path) if isinstance(norm, str) else next(iter(norm.items()))
    given = {key: _value(entry, path, option_name(TOKEN_NORM), Path()) for key, entry in given.items()}
    if any(isinstance(value, str) for value in given.values()):
        raise AttnError("its numbers are in files", where=path, hint="compute the problem again, not its result")
    operator: Operator = to_field(FIELDS[TOKEN_NORM], {name: given})
    return operator


def _numbers(value: Any) -> Array | None:
    """The numbers in a description; None if it has none, or a value is not a number."""
    return np.array(value[VALUE], dtype=np.float64) if _is_description(value) and VALUE in value else None
