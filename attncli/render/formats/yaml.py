"""YAML: the same object as JSON, a row of numbers on each line; written a few rows at a time."""

from collections.abc import Iterator

from attncli.io.yaml_text import yaml_text
from attncli.render.result_object import result_object
from attncli.render.target import TextTarget
from attncli.render.view import View


def render(view: View, target: TextTarget) -> Iterator[str]:
    """The object of names and arrays as one YAML document."""
    return map(target.escaped, yaml_text(result_object(view)))
