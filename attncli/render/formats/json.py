"""JSON: one object of a documented, stable form; written a few rows at a time."""

from collections.abc import Iterator

from attncli.analysis.compare.report import Comparison
from attncli.io.writers.json_text import json_text
from attncli.render.compare_object import compare_object
from attncli.render.result_object import result_object
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import View


def render(view: View, target: TextTarget = TEXT_FILE) -> Iterator[str]:
    """The object as text, a row of numbers on each line; numbers that JSON can't hold are strings."""
    yield from json_text(result_object(view), ascii_only=not target.has_unicode)
    yield "\n"


def render_comparison(comparison: Comparison, target: TextTarget, _decimals: int) -> Iterator[str]:
    """The object of a comparison as text, every digit of its numbers."""
    yield from json_text(compare_object(comparison), ascii_only=not target.has_unicode)
    yield "\n"
