"""A problem as text that reads back: YAML, JSON or a folder of tables; and a template to start from."""

import io
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import delimited_cell, delimited_rows
from attncli.io.assemble import assemble
from attncli.io.documents import json_text, plain_values
from attncli.io.expected import read_expected, read_expected_value
from attncli.io.npy import NPY, write_npy
from attncli.io.problem_files import EXAMPLE_KEYS, Document, Origin, RawValue
from attncli.io.yaml import yaml_text
from attncli.numbers.formatting import format_rows, format_whole
from attncli.ops.records import Operator
from attncli.ops.registry import taken_kinds
from attncli.problem.arrays import GivenArray
from attncli.problem.fields import EXPECTED, INPUTS, RANDOM, Field, TemplateUse
from attncli.problem.inputs import is_read
from attncli.problem.mask_expressions import MaskExpression
from attncli.problem.spec import DEFAULTS, FIELDS, ProblemSpec
from attncli.problem.tokens import TOKEN_KEYS, residual_of_tokens
from attncli.problem.weights import sizes_of_parts, stored_values

PROBLEM_FILE = "problem.yaml"  # in a folder, next to its arrays
SAMPLE_SIZE = 1000  # numbers for estimating the size of an array's text
COMMENT_COLUMN, TEMPLATE_WIDTH = 22, 80  # the column of a key's meaning, and the length of a line

_SHORT_HEAD = "# Remove a # to try a key; attn show KEY explains one, attn init --all has all."
_HEAD = """\
# A problem of attention; every key of it. `attn show KEY` says more of one.
# A line that begins with # is not in force: remove the # to try it.
# One that begins with ## needs another key, or takes the place of one: value
# needs key; past_key and past_value go together; sentence and vocabulary
# replace embeddings and tokens; residual, with residual_norm, replaces
# embeddings, and so does token_table, where tokens are numbers: [2, 0, 1].
# token_positions, token_scale, token_types, token_type_ids, token_norm and
# residual_norm go with token_table; layout is of 3 or 4 axes; page_table and
# page_size make pages of key and value; cu_seqlens_k needs cu_seqlens.
"""
# The keys that only describe how arrays and tokens are made or given; the arrays are written instead.
_HOW_MADE = {
    name
    for name, field in FIELDS.items()
    if field.panel == RANDOM or field.kind in ("text", "vocabulary") or field.says_how_given
}
_MARKS: Mapping[TemplateUse, str] = {"active": "", "optional": "#", "together": "##"}


@dataclass(frozen=True)
class ExampleValues:
    """The keys of a worked example besides its problem's: those before the problem, and those after it."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]


NO_EXAMPLE = ExampleValues({}, {})


def problem_yaml(problem: ProblemSpec, example: ExampleValues = NO_EXAMPLE) -> Iterator[str]:
    """The problem as one YAML file with all its numbers, in chunks."""
    return yaml_text(_document(values_to_write(problem), example), format_whole)


def problem_json(problem: ProblemSpec, example: ExampleValues = NO_EXAMPLE) -> Iterator[str]:
    """The problem as one JSON file with all its numbers, in chunks."""
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
    # Readers of tables refuse blank labels and convert line ends.
    are_kept = all(label.strip() and "\r" not in label for label in problem.key_labels)
    labels = problem.key_labels if is_table and are_kept else None
    for name, value in values.items():
        if isinstance(value, np.ndarray) and value.ndim > 2:
            stream = io.BytesIO()
            write_npy(stream, value)
            files[f"{name}{NPY}"] = stream.getvalue()
            document[name] = f"{name}{NPY}"
        elif isinstance(value, np.ndarray):
            files[f"{name}.csv"] = _csv_table(value, labels if name == "embeddings" else None)
            document[name] = f"{name}.csv"
        elif name != "tokens" or labels is None:  # embeddings.csv has them otherwise
            document[name] = value
    files[PROBLEM_FILE] = yaml_text(_document(document, example))
    return files


def problem_sizes(problem: ProblemSpec) -> dict[str, int]:
    """An estimate of the bytes of each array's text, by key, from its first numbers."""
    arrays = {name: value for name, value in values_to_write(problem).items() if isinstance(value, np.ndarray)}
    sizes: dict[str, int] = {}
    for name, array in arrays.items():
        sample = array.flat[:SAMPLE_SIZE].tolist()
        length = sum(len(format_whole(number)) + len(",") for number in sample)
        sizes[name] = round(array.size * length / max(len(sample), 1))
    return sizes


def _document(values: Mapping[str, Any], example: ExampleValues) -> dict[str, Any]:
    """The keys of a problem, between those of a worked example."""
    return {**example.before, **plain_values(values), **example.after}


def values_to_write(problem: ProblemSpec) -> dict[str, Any]:
    """The keys that describe the problem: arrays, labels, operators, and every other key with a non-default value."""
    values: dict[str, Any] = {}
    labels = {"tokens": problem.key_labels}
    if not problem.is_self_attention:
        labels["query_tokens"] = problem.query_labels
    stored = {**stored_values(problem), **labels}
    if problem.token_table is not None:  # it has only the tokens' rows: write their result instead
        stored |= {"residual": residual_of_tokens(problem), **dict.fromkeys(TOKEN_KEYS)}
    if problem.embeddings_source != "embeddings":
        del stored["embeddings"]
    replaced = _HOW_MADE - set(sizes_of_parts(stored))
    for name, value in stored.items():
        is_operator = isinstance(value, Operator) and is_read(problem, name)
        is_set = is_operator or (value is not None and value is not DEFAULTS[name])
        if is_set and name not in replaced:
            values[name] = value
    return values


def _csv_table(array: Array, labels: tuple[str, ...] | None) -> Iterator[str]:
    """An array of one or two axes as CSV, with a label before each row, if any."""
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


def example_values(document: Document, problem: ProblemSpec) -> ExampleValues:
    """The keys of a worked example in a document besides its complete problem's.

    A part's own keys are replaced by its differences from the complete problem, as numbers: numbers that it draws,
    looks up or reads from a file are not drawn, looked up or read again.
    """
    values = {key: _value(key, raw) for key, raw in document.items() if key in EXAMPLE_KEYS}
    parts = values.get("parts")
    if isinstance(parts, list) and all(isinstance(part, Mapping) for part in parts):
        base = {key: raw for key, raw in document.items() if key in FIELDS}
        values["parts"] = [_complete_part(base, part, problem, document["parts"].origin) for part in parts]
    before = set(takewhile(lambda key: key in EXAMPLE_KEYS, document))
    return ExampleValues(
        {key: value for key, value in values.items() if key in before},
        {key: value for key, value in values.items() if key not in before},
    )


def _complete_part(base: Document, part: Mapping[str, Any], problem: ProblemSpec, origin: Origin) -> dict[str, Any]:
    """A part, with its differences from the complete problem at the position of its first own key."""
    own = {key: RawValue(value, origin) for key, value in part.items() if key in FIELDS}
    differences = plain_values(_differences(problem, assemble(base | own))) if own else {}
    completed: dict[str, Any] = {}
    for key, value in part.items():
        completed |= differences if key in own else {key: _value(key, RawValue(value, origin))}
    return completed


def _value(key: str, raw: RawValue) -> Any:
    """The value of an example's key; expected values have numbers instead of files, which may be elsewhere."""
    value = raw.value
    if key != EXPECTED:
        return _plain(value)
    if isinstance(value, str):
        return {name: _plain(found.value) for name, found in read_expected(raw, None).by_name.items()}
    if not isinstance(value, Mapping):
        return value
    read = {
        name: part if isinstance(part, list) else read_expected_value(part, name, key, raw.origin)
        for name, part in value.items()
    }
    return {name: _plain(part) for name, part in read.items()}


def _differences(problem: ProblemSpec, other: ProblemSpec) -> dict[str, Any]:
    """Another problem's keys that are missing or different in a problem; None for keys that the other lacks."""
    values, other_values = values_to_write(problem), values_to_write(other)
    missing = {key: None for key in values if key not in other_values}
    return missing | {
        key: value for key, value in other_values.items() if key not in values or not _is_same(value, values[key])
    }


def _is_same(value: Any, other: Any) -> bool:
    """Whether two values of a key are equal: arrays number by number, operators with their parameters."""
    if isinstance(value, Operator) and isinstance(other, Operator):
        given, other_given = value.given, other.given
        is_same_operator = value.record is other.record and given.keys() == other_given.keys()
        return is_same_operator and all(_is_same(given[name], other_given[name]) for name in given)
    if isinstance(value, MaskExpression) and isinstance(other, MaskExpression):
        return str(value) == str(other)
    if isinstance(value, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(value, other, equal_nan=True))
    return bool(value == other)


def _plain(value: Any) -> Any:
    """A value as read, an array without labels."""
    return value.array if isinstance(value, GivenArray) else value


def problem_template(*, every_key: bool) -> str:
    """A YAML template of a problem, or one with every key by panel; most keys are commented out."""
    if not every_key:
        fields = [field for field in FIELDS.values() if field.template == "active" or _is_tried_first(field)]
        return "\n".join([_SHORT_HEAD, *(line for field in fields for line in _template_lines(field)), ""])
    lines = [_HEAD]
    for number, panel in enumerate(dict.fromkeys(field.panel for field in FIELDS.values())):
        lines.append(f"# {panel}" if number == 0 else f"\n# {panel}")
        lines += [line for field in FIELDS.values() if field.panel == panel for line in _template_lines(field)]
    return "\n".join([*lines, ""])


def _is_tried_first(field: Field) -> bool:
    """Whether the short template has a key commented out: it is common, and needs no other key."""
    return field.is_common and field.template == "optional" and field.panel not in (INPUTS, RANDOM)


def _template_lines(field: Field) -> Iterator[str]:
    """A key with its example, and its wrapped meaning next to it, or below a long example."""
    key = f"{_MARKS[field.template]}{field.name}: {field.example}"
    meaning = textwrap.wrap(_meaning(field), TEMPLATE_WIDTH - COMMENT_COLUMN - len("  # "), break_on_hyphens=False)
    if len(key) > COMMENT_COLUMN:
        yield key
    else:
        yield f"{key:{COMMENT_COLUMN}}  # {meaning.pop(0)}"
    yield from (f"{'':{COMMENT_COLUMN}}  # {line}" for line in meaning)


def _meaning(field: Field) -> str:
    """The help of a key, with its choices, or the command that lists them."""
    if field.kind in taken_kinds():
        return f"{field.help} (attn list {field.kind})"
    missing = [word for word in field.words if word not in field.help]
    return f"{field.help} ({', '.join(field.words)})" if missing else field.help
