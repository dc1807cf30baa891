"""JSON and YAML: an object of names and arrays as text; written a few rows at a time."""

from collections.abc import Iterator, Mapping
from typing import Any

from attncli.io.json_text import json_text
from attncli.render.target import TextTarget


def write_json(content: Mapping[str, Any], target: TextTarget) -> Iterator[str]:
    """The object as JSON, a row of numbers on each line; numbers that JSON can't hold are strings."""
    yield from json_text(content, ascii_only=not target.has_unicode)
    yield "\n"


def write_yaml(content: Mapping[str, Any], target: TextTarget) -> Iterator[str]:
    """The same object as one YAML document."""
    from attncli.io.yaml_text import yaml_text  # noqa: PLC0415 - JSON does not need PyYAML

    return map(target.escaped, yaml_text(content))
