"""YAML of a comparison: the same object as JSON."""

from collections.abc import Iterator

from attncli.analysis.compare import Comparison
from attncli.io.yaml_text import yaml_text
from attncli.render.reports.objects import compare_object
from attncli.render.target import TextTarget


def render(comparison: Comparison, target: TextTarget, _decimals: int) -> Iterator[str]:
    """The object as one YAML document."""
    return map(target.escaped, yaml_text(compare_object(comparison)))
