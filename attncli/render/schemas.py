"""JSON Schemas (2020-12) of problem files and of what `--json` writes, made of the fields of the records themselves."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

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
from attncli.render.objects import CHECK_FORMAT, COMPARE_FORMAT, TRY_FORMAT

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OWN_OPERATOR = r"^[^:=,]+:[A-Za-z_]\w*(:.*)?$"  # a function of the user's
_NUMBER = r"^[\s\d+\-*/().eEinfaNIty_sqrtxp√π]+$"  # 1/2, -2*sqrt(3), inf
_TEXT: Schema = {"type": "string"}
_NAMES: Schema = {"type": "array", "items": _TEXT}
_ANY_TEXT: Schema = {"type": ["string", "number", "boolean"]}
_ARRAY: Schema = {"$ref": "#/$defs/array"}
_NUMBERS: Schema = {"$ref": "#/$defs/numbers"}
_PROBLEM: Schema = {"type": "object", "description": "Every key in force; attn computes the file of a result again."}
_MOST_AXES = 5


def problem_schema() -> Schema:
    """The schema of a problem file, with parts or without.

    Its keys are those of `FIELDS` and of worked examples; what a key needs beside it is left to `attn` itself.

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
    """The schema of the value of a key, which may be left empty."""
    value = _KINDS[field.kind](field) if field.kind in _KINDS else _operator(field.kind)
    choices = value["anyOf"] if set(value) == {"anyOf"} else [value]
    about = {"description": sentence(field.help)}
    if field.words and field.word_meanings:
        meanings = zip(field.words, field.word_meanings, strict=False)
        about["description"] += "".join(f"\n{word}: {text}" for word, text in meanings)
    return about | {"anyOf": [*choices, {"type": "null"}]}


def _any_of(*choices: Schema) -> Schema:
    return {"anyOf": list(choices)}


def _number(field: Field) -> Schema:
    limit = {} if field.above is None else {"exclusiveMinimum": field.above}
    return _any_of({"type": "number", **limit}, {"type": "string", "pattern": _NUMBER})


def _integer(field: Field) -> Schema:
    return {"type": "integer"} if field.least is None else {"type": "integer", "minimum": int(field.least)}


def _nested(counts: Iterable[int], cell: str = "cell") -> Schema:
    """Nested lists with one of these numbers of axes."""
    return _any_of(*({"$ref": f"#/$defs/{cell}s_{count}"} for count in counts))


def _array(field: Field) -> Schema:
    """An array in lists or rows by their labels, a file, text with rows, a generator where it may be drawn."""
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
    side = _any_of({"type": "integer"}, {"type": "string", "pattern": r"^\s*(-?\d+|[+]?inf|\.inf)\s*$"})
    return _any_of(
        {"type": "array", "items": side, "minItems": 2, "maxItems": 2},
        {"type": "string", "pattern": r"^[^,]+,[^,]+$"},
    )


def _decimals_of_steps(field: Field) -> Schema:
    number = {"type": "integer", "minimum": 0, "maximum": MAX_DECIMALS}
    text = {"type": "string", "pattern": r"^\s*\w+\s*=\s*\d+\s*(,\s*\w+\s*=\s*\d+\s*)*$"}
    return _any_of({"type": "object", "additionalProperties": number}, text)


def _word(field: Field) -> Schema:
    return {"enum": [*field.words, *(alias for alias in field.word_aliases if alias not in field.words)]}


def _labels(field: Field) -> Schema:
    label: Schema = {"type": ["string", "number", "boolean"]}
    of_batch_items: Schema = {"type": "array", "items": {"type": "array"}, "minItems": 1}  # `input_ids` of tokenizers
    return _any_of(label, {"type": "array", "items": label, "minItems": 1}, of_batch_items)


_KINDS: Mapping[str, Callable[[Field], Schema]] = {
    **dict.fromkeys(("matrix", "vector", "boolean_matrix", "booleans", "positions"), _array),
    **dict.fromkeys(("counts", "sequence_bounds", "page_numbers"), _array),
    "vocabulary": lambda field: _any_of({"type": "string"}, {"type": "object"}, {"$ref": "#/$defs/cells_2"}),
    "labels": _labels,
    **dict.fromkeys(("text", "tokenizer"), lambda field: _TEXT),
    "number": _number,
    "integer": _integer,
    "flag": lambda field: {"type": "boolean"},
    "window": _window,
    "decimals_of_steps": _decimals_of_steps,
    "word": _word,
}


def _operator(kind: str) -> Schema:
    """An operator: its name, its name with parameters in a text or a mapping, or a function of the user's."""
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
        return _any_of(*_parameter(records[name].parameter(parameter))["anyOf"], {"enum": names}, text, mapping)
    return _any_of({"enum": names}, text, mapping)


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
            number = _any_of({"type": "number"} | in_range, {"type": "string", "pattern": _NUMBER})
            return _any_of(*number["anyOf"], {"type": "object"}) if parameter.mapping else number


def _about_key(key: str) -> Schema:
    """The value of a key that is not one of the problem itself."""
    of_names = _any_of(_TEXT, {**_NAMES, "minItems": 1}, {"type": "null"})
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
    """Nested lists of numbers and of truth values by their number of axes, and the other forms of an array."""
    text = {"type": "string", "pattern": r"\S"}
    cells: Schema = {
        "cell": _any_of({"type": "number"}, {"type": "string", "pattern": _NUMBER}),
        "truth": _any_of({"enum": [0, 1]}, {"type": "boolean"}),
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
    numbers = _any_of(*_nested(counts)["anyOf"])
    whole = _any_of({"$ref": "#/$defs/cell"}, *numbers["anyOf"], {"$ref": "#/$defs/text"}, {"$ref": "#/$defs/labelled"})
    about_text = "A file, an entry of it (words.npz#w_q), rows of numbers (1 0; 0 1), or a generator."
    return {
        **cells,
        "text": text | {"description": about_text},
        "labelled": labelled,
        "generator": _operator("generator"),
        "array": whole,
    }


def result_schema() -> Schema:
    """The schema of what `attn compute --json` writes; results and steps that are selected stand by their names.

    >>> result_schema()["required"][:3]
    ['format', 'version', 'problem']
    """
    step: dict[str, Schema] = {
        **dict.fromkeys(("name", "symbol", "formula"), _TEXT),
        "shape": {"type": "array", "items": {"type": "integer"}},
        **dict.fromkeys(("rows", "columns"), _NAMES),
        "value": _NUMBERS,
    }
    always: dict[str, Schema] = {
        "format": {"const": FORMAT},
        "version": _TEXT,
        "problem": _PROBLEM,
        "pipeline": {"type": "object", "additionalProperties": _TEXT},
        "query_tokens": _NAMES,
        "key_tokens": _NAMES,
    }
    selected = dict.fromkeys(RESULTS, _NUMBERS)
    by_stats = {name: {"type": "object"} for name in ("statistics", "visible_keys", "before")}
    others: dict[str, Schema] = {key: {"type": "array"} for key in ("top", "set")}
    others["steps"] = {"type": "array", "items": _all_of(step)}
    content = _all_of(always | selected | by_stats | others, list(always))
    return _document("A result of attn compute", content | {"additionalProperties": _NUMBERS})


def check_schema() -> Schema:
    """The schema of what `attn check --json` writes, of one problem or of a suite.

    >>> [*check_schema()["$defs"]["outcome"]["properties"]][:3]
    ['problem', 'part', 'agrees']
    """
    from attncli.analysis.check.error_shapes import ErrorShape  # noqa: PLC0415 - only this schema needs it
    from attncli.analysis.check.report import (  # noqa: PLC0415
        DigitsOfAgreement,
        Explanation,
        QuantityCheck,
        Reading,
        Telling,
        WorstCell,
    )

    worst: Schema = _of_record(WorstCell, without=["allowed"])
    quantity = _of_record(QuantityCheck, without=["expected", "computed", "is_given", "differs"])
    quantity["properties"] |= {
        "agrees": {"type": "boolean"},
        "worst": _any_of(worst, {"type": "null"}),
        "reading": _any_of(
            _of_record(Reading, without=["may_be_computed", "is_partial", "is_of_sheet", "is_doubtful"]),
            {"type": "null"},
        ),
        "by_digits": {"type": "array", "items": _of_record(DigitsOfAgreement)},
        "error_shapes": {"type": "array", "items": _of_record(ErrorShape)},
    }
    explanation = _of_record(Explanation)
    in_part: dict[str, Schema] = explanation["properties"] | {
        "result": _TEXT,
        "axis": _TEXT,
        "positions": {"type": "array", "items": {"type": "integer"}},
        "others_agree": {"type": "boolean"},
    }
    nearest = explanation["properties"] | {"result": _TEXT, "count": {"type": "integer"}}
    names = _any_of(_NAMES, {"type": "null"})
    optional_text: Schema = {"type": ["string", "null"]}
    report = {
        "results": {"type": "array", "items": {"$ref": "#/$defs/quantity"}},
        "first_difference": optional_text,
        "reference": _TEXT,
        "explained_by": {"type": "array", "items": {"$ref": "#/$defs/explanation"}},
        "telling": _any_of(_of_record(Telling), {"type": "null"}),
        "explained_in_part": {"type": "array", "items": _all_of(in_part)},
        "nearest": _any_of(_all_of(nearest), {"type": "null"}),
        "tried": {"type": "integer"},
        "untried": _NAMES,
        "searched": optional_text,
        "unnoticed": names,
        "set": {"type": "array"},
        "before": {"type": "object"},
        "error": _TEXT,
    }
    verdict: Schema = {"type": ["boolean", "null"]}
    outcome = {
        "problem": optional_text,
        "part": optional_text,
        "agrees": verdict,
        "blank": {"type": "integer"},
        **report,
    }
    head = {"format": {"const": CHECK_FORMAT}, "version": _TEXT}
    suite = head | {"agrees": verdict, "checks": {"type": "array", "items": {"$ref": "#/$defs/outcome"}}}
    suite["left_out"] = _NAMES
    definitions = {
        "quantity": quantity,
        "explanation": explanation,
        "outcome": _all_of(outcome, ["problem", "part", "agrees"]),
    }
    one = _all_of(head | outcome, ["format", "version", "problem", "part", "agrees"])
    return _document("A verdict of attn check", _any_of(one, _all_of(suite)), definitions)


def compare_schema() -> Schema:
    """The schema of what `attn compare --json` writes.

    >>> compare_schema()["required"][2:4]
    ['variants', 'differences']
    """
    from attncli.analysis.compare import OverSeeds  # noqa: PLC0415 - only this schema needs it
    from attncli.analysis.differences import Difference, FirstDifference  # noqa: PLC0415

    variant = {
        "name": _TEXT,
        "keys": {"type": "object"},
        "pipeline": {"type": "object", "additionalProperties": _TEXT},
        "query_tokens": _NAMES,
        "key_tokens": _NAMES,
        "statistics": {"type": ["object", "null"]},
    }
    more = {"convention": {"type": "object"}}
    pair = {"variants": _NAMES}
    difference, first, seeds = (_of_record(record) for record in (Difference, FirstDifference, OverSeeds))
    difference["properties"] |= pair | {"reason": {"type": ["string", "null"]}}
    first["properties"] |= pair | {"only_in": {"type": ["string", "null"]}}
    seeds["properties"] |= pair
    content = {
        "format": {"const": COMPARE_FORMAT},
        "version": _TEXT,
        "variants": {
            "type": "array",
            "items": _all_of(variant | more, list(variant)) | {"additionalProperties": _NUMBERS},
        },
        "differences": {"type": "array", "items": difference},
        "first_differences": {"type": "array", "items": first},
        "seeds": {"type": "array", "items": seeds},
        "remarks": _NAMES,
    }
    return _document("A comparison of attn compare", _all_of(content))


def try_schema() -> Schema:
    """The schema of what `attn try --json` writes.

    >>> try_schema()["required"][2:4]
    ['function', 'passes']
    """
    from attncli.analysis.check.report import Explanation  # noqa: PLC0415 - only this schema needs it
    from attncli.analysis.kernels.cases import Sizes  # noqa: PLC0415
    from attncli.analysis.kernels.report import OtherFailure  # noqa: PLC0415

    count: Schema = {"type": "integer"}
    smallest: dict[str, Schema] = {
        **dict.fromkeys(("kind", "sentence"), _TEXT),
        "sizes": _of_record(Sizes),
        "numbers": count,
        **dict.fromkeys(("dtype", "memory", "printed"), _TEXT),
        "arguments": {"type": "object", "additionalProperties": _NUMBERS},
        "problem": _PROBLEM,
        "returned": {"type": "object", "additionalProperties": _NUMBERS},
        "correct": {"type": "object", "additionalProperties": _NUMBERS},
    }
    content: dict[str, Schema] = {
        "format": {"const": TRY_FORMAT},
        "version": _TEXT,
        "function": _TEXT,
        "passes": {"type": "boolean"},
        "tried": count,
        "failed": count,
        "is_stopped": {"type": "boolean"},
        "seed": count,
        **dict.fromkeys(("dtypes", "called", "untried", "compared", "right_with"), _NAMES),
        **dict.fromkeys(("arrays", "layout"), _TEXT),
        "explained_by": {"type": "array", "items": _of_record(Explanation)},
        "smallest": _any_of(_all_of(smallest), {"type": "null"}),
        "others": {"type": "array", "items": _of_record(OtherFailure)},
    }
    return _document("A trial of attn try", _all_of(content))


SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "problem": problem_schema,
    "result": result_schema,
    "check": check_schema,
    "compare": compare_schema,
    "try": try_schema,
}


def _all_of(properties: Mapping[str, Schema], required: Sequence[str] | None = None) -> Schema:
    """An object with these properties and no others, all of which are required where no list says which are."""
    names = list(properties) if required is None else list(required)
    return {"type": "object", "properties": dict(properties), "required": names, "additionalProperties": False}


def _document(title: str, content: Schema, definitions: Schema | None = None) -> Schema:
    """A schema with its dialect, its title, and numbers and truth values as JSON has them."""
    number = _any_of({"type": ["number", "boolean"]}, {"enum": ["NaN", "Infinity", "-Infinity"]})
    numbers = _any_of(number, {"type": "array", "items": {"$ref": "#/$defs/numbers"}}, {"type": "null"})
    return {"$schema": DIALECT, "title": title, **content, "$defs": {"numbers": numbers, **(definitions or {})}}


def _of_record(record: type, without: Sequence[str] = ()) -> Schema:
    """The schema of a dataclass as an object of its fields, by their types."""
    hints = get_type_hints(record)
    names = [field.name for field in fields(record) if field.name not in without]
    return _all_of({name: _of_type(hints[name]) for name in names})


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
        return _NUMBERS
    if origin in (Union, UnionType, Literal):
        return {"enum": list(arguments)} if origin is Literal else _any_of(*map(_of_type, arguments))
    if origin is tuple:
        return {"type": "array", "items": _of_type(arguments[0])}
    if is_dataclass(hint) and isinstance(hint, type):
        return _of_record(hint)
    return {"type": "object" if origin is not None and issubclass(origin, Mapping) else "array"}
