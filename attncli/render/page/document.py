"""The document of the page: its markup, its style sheet, its scripts and the object that they read, in one file."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib import resources
from posixpath import dirname, join, normpath
from typing import Any

from attncli.io.writers.json_text import json_text

_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.[\w./-]+\.js)";\n', re.MULTILINE)
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
    yield style()
    yield between
    for chunk in json_text(content):
        yield chunk.replace("<", "\\u003c")
    before, after = after.split("{{script}}")
    yield before
    yield script()
    yield after


@cache
def style() -> str:
    """All style sheets as one: that of the page, then those of its parts by name."""
    names = sorted(
        (file.name for file in resources.files("attncli.render.page").joinpath("static").iterdir()),
        key=lambda name: (name != "page.css", name),
    )
    return "".join(static_file(name) for name in names if name.endswith(".css"))


@cache
def script() -> str:
    """All scripts as one module: the functions of plans, which register themselves, then the page."""
    texts: dict[str, str] = {}
    for name in page_functions():
        _add_script(f"functions/{name}.js", texts)
    _add_script("main.js", texts)
    return "".join(texts.values())


@cache
def page_functions() -> Sequence[str]:
    """The names of the functions of plans that the page computes: each has a script of its own."""
    folder = resources.files("attncli.render.page").joinpath("static", "functions")
    return sorted(file.name.removesuffix(".js") for file in folder.iterdir() if file.name.endswith(".js"))


def _add_script(name: str, texts: dict[str, str]) -> None:
    """Add a script, behind those that it imports, by name; raises RecursionError where imports run in a circle."""
    if name in texts:
        return
    text = static_file(name)
    for imported in _IMPORT.findall(text):
        _add_script(normpath(join(dirname(name), imported)), texts)
    texts[name] = _EXPORT.sub("", _IMPORT.sub("", text))


def static_file(name: str) -> str:
    """A file of the page's markup, style or scripts, by its path in their folder."""
    return resources.files("attncli.render.page").joinpath("static", *name.split("/")).read_text(encoding="utf-8")
