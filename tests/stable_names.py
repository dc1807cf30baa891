"""The names that scripts rely on, group by group; `python -m tests.stable_names` adds the new ones to the file of them.

It removes none: a name that leaves is taken out by hand, when docs/stability.md allows it.
"""

import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

import attncli
from attncli.api.pytest_plugin import FILE_SUFFIX, AttnCheck, attn_check
from attncli.base.program import ENVIRONMENT, EXIT_STATUSES
from attncli.checks.slips import SLIPS
from attncli.cli import app
from attncli.cli.commands import COMMANDS
from attncli.demos.document import DEMO_FORMAT
from attncli.fit.document import FIT_FORMAT
from attncli.io import examples
from attncli.io.entries import ALIASES
from attncli.io.formats import INPUT_FORMATS
from attncli.models.families import family_names
from attncli.models.heads_document import HEADS_FORMAT
from attncli.ops import kinds, operators
from attncli.problem.conventions import CONVENTIONS
from attncli.problem.fields import RENAMED_STEPS, RESULTS
from attncli.problem.spec import FIELDS
from attncli.render.formats import FORMATS
from attncli.render.meanings import every_step
from attncli.render.schemas import SCHEMAS, schema_of
from docs.generation.json_tables import DEMO, DEMO_PART, FIT, HEADS

FILE = Path(__file__).with_suffix(".json")


def names_of_today() -> Mapping[str, set[str]]:
    """The names that there are, by their groups."""
    return {
        "keys": {*FIELDS, *ALIASES} | {f"{name}: {word}" for name in FIELDS for word in FIELDS[name].words},
        "operators": {*_operators()},
        "results": {*RESULTS},
        "steps": {*(name for name in every_step() if "_from_" not in name), *RENAMED_STEPS},  # not sums' terms
        "options": {*_options()},
        "formats": {*_formats()},
        "keys of JSON": {*_json_keys()},
        "exit statuses": {*map(str, EXIT_STATUSES)},
        "environment": {*ENVIRONMENT},
        "conventions": {*CONVENTIONS},
        "mistakes": {*SLIPS},
        "worked examples": {*examples.names()},
        "families of models": {*family_names()},
        "Python": {*_python()},
        "pytest": {FILE_SUFFIX, *(f"{attn_check.__name__}({name})" for name in _parameters(AttnCheck.__call__))},
    }


def required_in_python() -> Mapping[str, set[str]]:
    """The parameters that have to be given, for each public function and method."""
    return {name: {*_parameters(value, are_required=True)} for name, value in _callables()}


def _operators() -> Iterator[str]:
    """Each operator after its kind, and each of its parameters."""
    for kind in kinds():
        for record in operators(kind).values():
            if record.is_built_in:
                yield f"{kind}: {record.name}"
                yield from (f"{kind}: {record.name}: {parameter.name}" for parameter in record.parameters)


def _options() -> Iterator[str]:
    """Each command, and each of its options; those that are keys of a problem follow from these."""
    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name="attn", **group.context_settings)
    yield from (option for parameter in group.get_params(context) for option in parameter.opts)
    for name, row in COMMANDS.items():
        command = group.get_command(context, name)
        yield name
        for parameter in command.get_params(typer.Context(command, info_name=name, parent=context)):
            if parameter.param_type_name == "option" and not (row.has_problem and parameter.name in FIELDS):
                yield from (f"{name} {option}" for option in (*parameter.opts, *parameter.secondary_opts))


def _formats() -> Iterator[str]:
    """Each suffix that is read or written, and each name of a format."""
    yield from (f"read {suffix}" for row in INPUT_FORMATS for suffix in row.suffixes)
    yield from (f"write {suffix}" for row in FORMATS for suffix in row.suffixes)
    yield from (f"--format {row.name}" for row in FORMATS if row.is_choice)


def _json_keys() -> Iterator[str]:
    """Each key of what `--json` writes, after the keys that lead to it: of the schemas, and of the tables of others."""
    for kind in SCHEMAS:
        if kind != "problem":  # whose keys are those above
            yield from _properties(schema := schema_of(kind), kind, schema.get("$defs", {}))
    yield from (f"demo: {key}" for key in DEMO)
    yield from (f"demo: parts: {key}" for key in DEMO_PART)
    yield from (f"fit: {key}" for key in FIT)
    yield from (f"heads: {key}" for key in HEADS)
    yield from (f"demo: format: {DEMO_FORMAT}", f"fit: format: {FIT_FORMAT}", f"heads: format: {HEADS_FORMAT}")


def _properties(schema: Any, path: str, definitions: Mapping[str, Any]) -> Iterator[str]:
    """The names of the properties in a schema and those below them, and the words that a value is to be."""
    if isinstance(schema, list):
        for item in schema:
            yield from _properties(item, path, definitions)
    if isinstance(schema, dict):
        for name, value in schema.get("properties", {}).items():
            yield f"{path}: {name}"
            yield from _properties(value, f"{path}: {name}", definitions)
        if "const" in schema:
            yield f"{path}: {schema['const']}"
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            others = {other: value for other, value in definitions.items() if other != name}  # it may hold itself
            yield from _properties(definitions.get(name), path, others)
        for key in ("items", "anyOf", "additionalProperties"):
            yield from _properties(schema.get(key), path, definitions)


def _python() -> Iterator[str]:
    """Each public name of `attncli`, the public attributes of classes, and the parameters of what can be called."""
    for name in attncli.__all__:
        yield name
        if inspect.isclass(value := getattr(attncli, name)):
            yield from (f"{name}.{own}" for own in _attributes(value))
    for name, value in _callables():
        yield from (f"{name}({parameter})" for parameter in _parameters(value))
        by_position = enumerate(_parameters(value, have_position=True), 1)
        yield from (f"{name}, argument {number}: {parameter}" for number, parameter in by_position)


def _attributes(value: type) -> Iterator[str]:
    """The public attributes that a class and our classes that it extends define, the fields of dataclasses too."""
    for base in value.__mro__:
        if base.__module__.startswith("attncli"):
            yield from (own for own in {**vars(base), **vars(base).get("__annotations__", {})} if own[0] != "_")


def _callables() -> Iterator[tuple[str, Any]]:
    """The public functions, classes and methods."""
    for name in attncli.__all__:
        value = getattr(attncli, name)
        if callable(value):
            yield name, value
        if inspect.isclass(value):
            for own in _attributes(value):
                if callable(method := getattr(value, own, None)):
                    yield f"{name}.{own}", method


def _parameters(value: Any, *, are_required: bool = False, have_position: bool = False) -> Iterator[str]:
    """The parameters of a callable, or those alone that have to be given, or that may be given by position."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):  # one of Python's own, such as the constructor of an exception
        return
    for parameter in parameters:
        is_optional = parameter.default is not parameter.empty or parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        )
        is_by_name = parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
        is_left_out = (are_required and is_optional) or (have_position and is_by_name)
        if parameter.name != "self" and not is_left_out:
            yield parameter.name


def main() -> None:
    """Add to the file the names that are new."""
    stored = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    groups = {group: sorted({*stored.get(group, ()), *names}) for group, names in names_of_today().items()}
    FILE.write_text(json.dumps(groups, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
