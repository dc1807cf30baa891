"""YAML: the same object as JSON, a row of numbers on each line."""

from attncli.io.writers.yaml_text import yaml_text
from attncli.render.result_object import arrays_to_lists, result_object
from attncli.render.target import TextTarget
from attncli.render.view import View


def render(view: View, _target: TextTarget) -> list[str]:
    """The object of names and nested lists as one YAML document."""
    return [yaml_text(arrays_to_lists(result_object(view)))]
