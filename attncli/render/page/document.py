"""The document of the page: its markup, its style sheets, its scripts and the object that they read, in one file."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from html import escape
from posixpath import dirname, join, normpath
from typing import Any

from attncli.io.json_text import json_text
from attncli.render.page.functions import FOLDER, page_functions
from attncli.render.page.static_files import static_file, static_folder

FIRST_STYLE = "page.css"  # rules of the other sheets may replace its own
_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.\.?/[\w/.-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)
_LAYOUT = re.compile(r"\n *")  # line breaks in texts are escapes
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def page_document(content: Mapping[str, Any], title: str) -> Iterator[str]:
    """The document as text, in chunks.

    The scripts are modules in files of their own, which import from each other; here they stand one after the other in
    one module, each behind those that it imports. `<` of the object's texts is an escape, so that none of them ends
    the element that it stands in.
    """
    parts: Mapping[str, Callable[[], Iterator[str]]] = {
        "title": lambda: iter([escape(title)]),
        "style": lambda: iter([style()]),
        "content": lambda: map(_in_element, json_text(content)),
        "script": lambda: iter([script()]),
    }
    for number, part in enumerate(_PLACE.split(static_file("page.html"))):
        if number % 2:
            yield from parts[part]()
        else:
            yield part


def _in_element(chunk: str) -> str:
    """A chunk of JSON without line breaks, which nobody reads, and with an escape for what may end an element."""
    return _LAYOUT.sub("", chunk).replace("<", "\\u003c")


@cache
def style() -> str:
    """All style sheets, one after the other."""
    names = (file.name for file in static_folder().iterdir() if file.name.endswith(".css"))
    return "".join(static_file(name) for name in sorted(names, key=lambda name: (name != FIRST_STYLE, name)))


@cache
def script() -> str:
    """All scripts as one module: the functions of plans, which register themselves, then the page."""
    texts: dict[str, str] = {}
    for name in page_functions():
        _add_script(f"{FOLDER}/{name}.js", texts)
    _add_script("main.js", texts)
    return "".join(texts.values())


def _add_script(path: str, texts: dict[str, str]) -> None:
    """Add a script, behind those that it imports, by path; raises RecursionError where imports run in a circle."""
    if path in texts:
        return
    text = static_file(path)
    for imported in _IMPORT.findall(text):
        _add_script(normpath(join(dirname(path), imported)), texts)
    texts[path] = _EXPORT.sub("", _IMPORT.sub("", text))
