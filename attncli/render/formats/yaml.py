"""YAML: the same object as JSON, a row of numbers on each line; written a few rows at a time."""

from collections.abc import Iterator

from attncli.analysis.compare.report import Comparison
from attncli.io.writers.yaml_text import yaml_text
from attncli.render.compare_object import compare_object
from attncli.render.result_object import result_object
from attncli.render.target import TextTarget
from attncli.render.view import View


def render(view: View, target: TextTarget) -> Iterator[str]:
    """The object of names and arrays as one YAML document."""
    return map(target.escaped, yaml_text(result_object(view)))


def render_comparison(comparison: Comparison, target: TextTarget, _decimals: int) -> Iterator[str]:
    """The object of a comparison as one YAML document."""
    return map(target.escaped, yaml_text(compare_object(comparison)))
