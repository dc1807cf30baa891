"""JSON Schemas (2020-12) of problem files and of the objects from `--json`, derived from the records' fields."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from attncli.base.lazy_numpy import import_object
from attncli.base.text import sentence
from attncli.io.entries import ALIASES
from attncli.io.examples import ARROWS
from attncli.io.problem_files import ABOUT_KEYS, EXAMPLE_KEYS, PART_KEYS
from attncli.io.results import FORMAT
from attncli.ops import operators
from attncli.ops.records import OperatorRecord, Parameter
from attncli.problem.convert import MAX_DECIMALS
from attncli.problem.fields import RESULTS, Field
from attncli.problem.operators import NUMBERS_IN_PLACE
from attncli.problem.spec import FIELDS

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OWN_OPERATOR = r"^[^:=,]+:[A-Za-z_]\w*(:.*)?$"  # a function of the user's
_NUMBER = r"^[\s\d+\-*/().eEinfaNIty_sqrtxp√π]+$"  # 1/2, -2*sqrt(3), inf
TEXT: Schema = {"type": "string"}
NAMES: Schema = {"type": "array", "items": TEXT}
_ARRAY: Schema = {"$ref": "#/$defs/array"}
NUMBERS: Schema = {"$ref": "#/$defs/numbers"}
PROBLEM: Schema = {"type": "object", "description": "Every key in force; attn computes the file of a result again."}
_MOST_AXES = 5


def problem_schema() -> Schema:
    """The schema of a problem file, with parts or without.

    It has the keys in `FIELDS` and the keys of worked examples; `attn` itself checks everything else about a key.

    >>> problem_schema()["$defs"]["keys"]["properties"]["kv_heads"]["anyOf"][0]
    {'type': 'integer', 'minimum': 1}
    """
    keys = {name: _key(field) for name, field in FIELDS.items()}
    aliases = {
        alias: {"$ref": f"#/$defs/keys/properties/{name}", "description": f"Read as {name}."}
        for alias, name in ALIASES.items()
        if name in FIELDS and alias not in FIELDS
    }
    about = {key: _about_key(key) for key in dict.fromkeys((*EXAMPLE_KEYS, *PART_KEYS))}
    of_key = {key: {"$ref": f"#/$defs/keys/properties/{key}"} for key in keys}
    part = {"type": "object", "properties": of_key | {key: about[key] for key in PART_KEYS}}
    parts = {"type": ["array", "null"], "minItems": 1, "items": part | {"additionalProperties": False}}
    return {
        "$schema": DIALECT,
        "title": "A problem of attn",
        "type": "object",
        "properties": of_key | aliases | about | {"parts": parts},
        "additionalProperties": False,
        "$defs": {"keys": {"properties": keys}, **_array_definitions()},
    }


def _key(field: Field) -> Schema:
    """The schema of a key's value, which may be empty."""
    value = _KINDS[field.kind](field) if field.kind in _KINDS else _operator(field.kind)
    choices = value["anyOf"] if set(value) == {"anyOf"} else [value]
    about = {"description": sentence(field.help)}
    if field.words and field.word_meanings:
        meanings = zip(field.words, field.word_meanings, strict=False)
        about["description"] += "".join(f"\n{word}: {text}" for word, text in meanings)
    return about | {"anyOf": [*choices, {"type": "null"}]}


def any_of(*choices: Schema) -> Schema:
    """A schema that accepts any of these."""
    return {"anyOf": list(choices)}


def _number(field: Field) -> Schema:
    limit = {} if field.above is None else {"exclusiveMinimum": field.above}
    return any_of({"type": "number", **limit}, {"type": "string", "pattern": _NUMBER})


def _integer(field: Field) -> Schema:
    return {"type": "integer"} if field.least is None else {"type": "integer", "minimum": int(field.least)}


def _nested(counts: Iterable[int], cell: str = "cell") -> Schema:
    """Nested lists with one of these numbers of axes."""
    return any_of(*({"$ref": f"#/$defs/{cell}s_{count}"} for count in counts))


def _array(field: Field) -> Schema:
    """An array in lists or rows by their labels, a file, text with rows, or a generator if it may be drawn."""
    cell = "truth" if field.is_boolean else "cell"
    counts = set(field.allowed_axis_counts)
    row = {"type": "number"} if 1 in counts and not field.is_boolean else None
    nested = _nested(sorted(counts | ({2} if counts == {1} else set())), cell)["anyOf"]
    choices = [*([row] if row else []), *nested, {"$ref": "#/$defs/text"}, {"$ref": "#/$defs/labelled"}]
    if field.is_random_fill:
        choices.append({"$ref": "#/$defs/generator"})
    if field.is_boolean and field.is_mask:
        choices += _operator("mask")["anyOf"][-1:]
    return {"anyOf": choices}


def _window(field: Field) -> Schema:
    side = any_of({"type": "integer"}, {"type": "string", "pattern": r"^\s*(-?\d+|[+]?inf|\.inf)\s*$"})
    return any_of(
        {"type": "array", "items": side, "minItems": 2, "maxItems": 2},
        {"type": "string", "pattern": r"^[^,]+,[^,]+$"},
    )


def _decimals_of_steps(field: Field) -> Schema:
    number = {"type": "integer", "minimum": 0, "maximum": MAX_DECIMALS}
    text = {"type": "string", "pattern": r"^\s*\w+\s*=\s*\d+\s*(,\s*\w+\s*=\s*\d+\s*)*$"}
    return any_of({"type": "object", "additionalProperties": number}, text)


def _word(field: Field) -> Schema:
    return {"enum": [*field.words, *(alias for alias in field.word_aliases if alias not in field.words)]}


def _labels(field: Field) -> Schema:
    label: Schema = {"type": ["string", "number", "boolean"]}
    of_batch_items: Schema = {"type": "array", "items": {"type": "array"}, "minItems": 1}  # `input_ids` of tokenizers
    return any_of(label, {"type": "array", "items": label, "minItems": 1}, of_batch_items)


_KINDS: Mapping[str, Callable[[Field], Schema]] = {
    **dict.fromkeys(("matrix", "vector", "boolean_matrix", "booleans", "positions"), _array),
    **dict.fromkeys(("counts", "sequence_bounds", "page_numbers"), _array),
    "vocabulary": lambda field: any_of({"type": "string"}, {"type": "object"}, {"$ref": "#/$defs/cells_2"}),
    "labels": _labels,
    **dict.fromkeys(("text", "tokenizer"), lambda field: TEXT),
    "number": _number,
    "integer": _integer,
    "flag": lambda field: {"type": "boolean"},
    "window": _window,
    "decimals_of_steps": _decimals_of_steps,
    "word": _word,
}


def _operator(kind: str) -> Schema:
    """An operator: its name, its name with parameters in a text or a mapping, or a user's function."""
    records = operators(kind)
    names = [*records]
    with_parameters = rf"^({'|'.join(map(re.escape, names))}):.+$"
    mapping = {
        "type": "object",
        "properties": {name: _parameters(record) for name, record in records.items()},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
    text = {"type": "string", "pattern": f"{with_parameters}|{OWN_OPERATOR}"}
    if kind in NUMBERS_IN_PLACE:
        name, parameter = NUMBERS_IN_PLACE[kind]
        return any_of(*_parameter(records[name].parameter(parameter))["anyOf"], {"enum": names}, text, mapping)
    return any_of({"enum": names}, text, mapping)


def _parameters(record: OperatorRecord) -> Schema:
    properties = {parameter.name: _parameter(parameter) for parameter in record.parameters}
    return {
        "type": ["object", "null"],
        "description": record.summary,
        "properties": properties,
        "additionalProperties": False,
    }


def _parameter(parameter: Parameter) -> Schema:
    """The value of a parameter, by its kind and range."""
    limits = {"exclusiveMinimum": parameter.range.above, "minimum": parameter.range.least}
    in_range = {name: limit for name, limit in limits.items() if limit is not None}
    match parameter.kind:
        case "array":
            return _ARRAY
        case "word":
            return {"enum": [*parameter.words]} if parameter.words else {"type": "string"}
        case "boolean":
            return {"type": "boolean"}
        case "integer":
            return {"type": "integer"} | in_range
        case "number":
            number = any_of({"type": "number"} | in_range, {"type": "string", "pattern": _NUMBER})
            return any_of(*number["anyOf"], {"type": "object"}) if parameter.mapping else number


def _about_key(key: str) -> Schema:
    """The value of a key that does not belong to the problem itself."""
    of_names = any_of(TEXT, {**NAMES, "minItems": 1}, {"type": "null"})
    known: Mapping[str, Schema] = {
        "show": of_names,
        "together": of_names,
        "cell": {"type": ["string", "null"]},
        "curve": {"type": ["string", "null"]},
        "numpy": {"type": ["object", "null"]},
        "arrows": {"enum": [*ARROWS, None]},
        "precision": {"type": ["integer", "null"]},
        "expected": {"type": ["object", "string", "array", "null"]},
    }
    return known.get(key, {} if key in ABOUT_KEYS else {"type": ["array", "null"]})


def _array_definitions() -> Schema:
    """Nested lists of numbers and booleans by their number of axes, and the other forms of an array."""
    text = {"type": "string", "pattern": r"\S"}
    cells: Schema = {
        "cell": any_of({"type": "number"}, {"type": "string", "pattern": _NUMBER}),
        "truth": any_of({"enum": [0, 1]}, {"type": "boolean"}),
    }
    for cell in ("cell", "truth"):
        for count in range(1, _MOST_AXES + 1):
            inner = cell if count == 1 else f"{cell}s_{count - 1}"
            row = {"$ref": f"#/$defs/{inner}"}
            cells[f"{cell}s_{count}"] = {"type": "array", "items": row, "minItems": 1}
    counts = range(1, _MOST_AXES + 1)
    labelled = {
        "type": "object",
        "description": "Rows by their labels.",
        "minProperties": 1,
        "additionalProperties": {"type": "array"},
    }
    numbers = any_of(*_nested(counts)["anyOf"])
    whole = any_of({"$ref": "#/$defs/cell"}, *numbers["anyOf"], {"$ref": "#/$defs/text"}, {"$ref": "#/$defs/labelled"})
    about_text = "A file, an entry of it (words.npz#w_q), rows of numbers (1 0; 0 1), or a generator."
    return {
        **cells,
        "text": text | {"description": about_text},
        "labelled": labelled,
        "generator": _operator("generator"),
        "array": whole,
    }


def result_schema() -> Schema:
    """The schema of the output of `attn compute --json`; selected results and steps appear under their names.

    >>> result_schema()["required"][:3]
    ['format', 'version', 'problem']
    """
    step: dict[str, Schema] = {
        **dict.fromkeys(("name", "symbol", "formula"), TEXT),
        "shape": {"type": "array", "items": {"type": "integer"}},
        **dict.fromkeys(("rows", "columns"), NAMES),
        "value": NUMBERS,
    }
    always: dict[str, Schema] = {
        "format": {"const": FORMAT},
        "version": TEXT,
        "problem": PROBLEM,
        "pipeline": {"type": "object", "additionalProperties": TEXT},
        "query_tokens": NAMES,
        "key_tokens": NAMES,
    }
    selected = dict.fromkeys(RESULTS, NUMBERS)
    by_stats = {name: {"type": "object"} for name in ("statistics", "visible_keys", "before")}
    others: dict[str, Schema] = {key: {"type": "array"} for key in ("top", "set")}
    others["steps"] = {"type": "array", "items": all_of(step)}
    content = all_of(always | selected | by_stats | others, list(always))
    return schema_document("A result of attn compute", content | {"additionalProperties": NUMBERS})


# By the argument of `attn schema`: "module:function" that makes each.
SCHEMAS: Mapping[str, str] = {
    "problem": "attncli.render.schemas:problem_schema",
    "result": "attncli.render.schemas:result_schema",
    "check": "attncli.checks.schema:check_schema",
    "compare": "attncli.comparisons.objects:compare_schema",
    "merge": "attncli.kernels.schema:merge_schema",
    "try": "attncli.kernels.schema:try_schema",
    "vectors": "attncli.kernels.schema:vectors_schema",
}


def schema_of(word: str) -> Schema:
    """The schema that `attn schema` writes for its argument."""
    made: Schema = import_object(SCHEMAS[word])()
    return made


def all_of(properties: Mapping[str, Schema], required: Sequence[str] | None = None) -> Schema:
    """An object with only these properties; all are required unless a list says which."""
    names = list(properties) if required is None else list(required)
    return {"type": "object", "properties": dict(properties), "required": names, "additionalProperties": False}


def schema_document(title: str, content: Schema, definitions: Schema | None = None) -> Schema:
    """A schema with its dialect, its title, and numbers and booleans as JSON has them."""
    number = any_of({"type": ["number", "boolean"]}, {"enum": ["NaN", "Infinity", "-Infinity"]})
    numbers = any_of(number, {"type": "array", "items": {"$ref": "#/$defs/numbers"}}, {"type": "null"})
    return {"$schema": DIALECT, "title": title, **content, "$defs": {"numbers": numbers, **(definitions or {})}}


def of_record(record: type, without: Sequence[str] = ()) -> Schema:
    """The schema of a dataclass as an object of its fields, by their types."""
    hints = get_type_hints(record)
    names = [field.name for field in fields(record) if field.name not in without]
    return all_of({name: _of_type(hints[name]) for name in names})


def _of_type(hint: Any) -> Schema:
    """The schema of values of a type, as JSON has them.

    >>> _of_type(tuple[str, ...]), _of_type(float | None)
    ({'type': 'array', 'items': {'type': 'string'}}, {'anyOf': [{'$ref': '#/$defs/numbers'}, {'type': 'null'}]})
    """
    origin, arguments = get_origin(hint), get_args(hint)
    simple = {str: "string", bool: "boolean", int: "integer", NoneType: "null"}
    if hint in simple:
        return {"type": simple[hint]}
    if hint is float:
        return NUMBERS
    if origin in (Union, UnionType, Literal):
        return {"enum": list(arguments)} if origin is Literal else any_of(*map(_of_type, arguments))
    if origin is tuple:
        return {"type": "array", "items": _of_type(arguments[0])}
    if is_dataclass(hint) and isinstance(hint, type):
        return of_record(hint)
    return {"type": "object" if origin is not None and issubclass(origin, Mapping) else "array"}
