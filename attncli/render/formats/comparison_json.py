"""JSON of a comparison: one object of a documented, stable form, every digit of its numbers."""

from collections.abc import Iterator

from attncli.analysis.compare import Comparison
from attncli.io.json_text import json_text
from attncli.render.reports.objects import compare_object
from attncli.render.target import TextTarget


def render(comparison: Comparison, target: TextTarget, _decimals: int) -> Iterator[str]:
    """The object as text; numbers that JSON can't hold are strings."""
    yield from json_text(compare_object(comparison), ascii_only=not target.has_unicode)
    yield "\n"
