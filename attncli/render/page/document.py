"""The document of the page: its markup, its style sheet, its scripts and the object that they read, in one file."""

import re
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from attncli.io.writers.json_text import json_text

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)


def page_document(content: dict[str, Any], title: str) -> Iterator[str]:
    """The document as text, in chunks.

    The scripts are modules in files of their own, which import from each other; here they stand one after the other in
    one module, each behind those that it imports. `<` of the object's texts is an escape, so that none of them ends
    the element that it stands in.
    """
    before, after = static_file("page.html").replace("{{title}}", escape(title)).split("{{content}}")
    before, between = before.split("{{style}}")
    yield before
    yield static_file("page.css")
    yield between
    for chunk in json_text(content):
        yield chunk.replace("<", "\\u003c")
    before, after = after.split("{{script}}")
    yield before
    yield script()
    yield after


@cache
def script() -> str:
    """All scripts as one module."""
    texts: dict[str, str] = {}
    _add_script("main.js", texts)
    return "".join(texts.values())


def _add_script(name: str, texts: dict[str, str]) -> None:
    """Add a script, behind those that it imports, by name; raises RecursionError where imports run in a circle."""
    if name in texts:
        return
    text = static_file(name)
    for imported in _IMPORT.findall(text):
        _add_script(imported, texts)
    texts[name] = _EXPORT.sub("", _IMPORT.sub("", text))


def static_file(name: str) -> str:
    """A file of the page's markup, style or scripts."""
    return resources.files("attncli.render.page").joinpath("static", name).read_text(encoding="utf-8")
