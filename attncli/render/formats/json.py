"""JSON: one object of a documented, stable form; written a few rows at a time."""

from collections.abc import Iterator

from attncli.io.json_text import json_text
from attncli.render.result_object import result_object
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import View


def render(view: View, target: TextTarget = TEXT_FILE) -> Iterator[str]:
    """The object as text, a row of numbers on each line; numbers that JSON can't hold are strings."""
    yield from json_text(result_object(view), ascii_only=not target.has_unicode)
    yield "\n"
