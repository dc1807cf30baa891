"""The document of the page: its markup, style sheets, scripts and their object, in one file."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib import resources
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath
from typing import Any

from attncli.base.text import escape_unseen
from attncli.io.documents import json_text

FIRST_STYLE = "page.css"  # rules of the other sheets may override it
WORKBENCH = "main.js"  # the script of pages that compute
# Scripts of pages that only show numbers, by the formats of their objects, and the folder of their scripts and styles.
REPORTS = {"attn.comparison_page/1": "reports/comparison.js", "attn.check_page/1": "reports/check.js"}
REPORT_FOLDER = "reports"
INTERPRETER = "program.js"  # the script that computes the programs of nodes
FOLDER = "functions"  # folder of the scripts that define the functions of plans, a file for each kind
# Folders of scripts and style sheets of parts: a page has them if its object has data under the key.
PARTS: Mapping[str, str] = {"guide": "story", "exercise": "exercise"}
_DEFINITION = re.compile(r'^defineFunction\("(\w+)"', re.MULTILINE)
_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.\.?/[\w/.-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)
_LAYOUT = re.compile(r"\n *")  # line breaks in texts are escapes
# In the copy of a script: comments that begin a line, the spaces before it, and empty lines.
_NOT_RUN = re.compile(r"^ *(?:/\*.*?\*/|//[^\n]*)\n|^ +|^\n", re.MULTILINE | re.DOTALL)
# An escape of `escape_overrides`, and the escaped backslashes before it.
_OVERRIDE = re.compile(r"(?<!\\)((?:\\\\)*)\\(u202[a-e]|u206[6-9])")
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def static_folder() -> Traversable:
    """The folder of the markup, the style sheets and the scripts."""
    return resources.files("attncli.page").joinpath("static")


def static_file(path: str) -> str:
    """The text of a file in that folder, by its path there."""
    return static_folder().joinpath(*path.split("/")).read_text(encoding="utf-8")


def page_document(content: Mapping[str, Any], title: str) -> Iterator[str]:
    """The document as text, in chunks.

    The scripts are modules in separate files, which import from each other. The document joins the modules of its kind
    of page into one, each after its imports, without comments; of the functions of plans and of PARTS it has only those
    it uses. The format of the object determines the kind. `<` in the object's texts is an escape, so that no text ends
    its element.
    """
    main = REPORTS.get(content.get("format", ""), WORKBENCH)
    called = frozenset(_functions_called(content))
    folders = tuple(folder for key, folder in PARTS.items() if content.get(key))
    sheets = folders if main == WORKBENCH else (REPORT_FOLDER,)
    parts: Mapping[str, Callable[[], Iterator[str]]] = {
        "head": lambda: fill("head.html"),
        "title": lambda: iter([escape(escape_unseen(title))]),
        "style": lambda: iter([style(sheets)]),
        "content": lambda: map(_content_text, json_text(content)),
        "script": lambda: iter([script(called, folders, main)]),
    }

    def fill(markup: str) -> Iterator[str]:
        """The text of a file of markup, with its slots filled."""
        for number, part in enumerate(_SLOT.split(static_file(markup))):
            if number % 2:
                yield from parts[part]()
            else:
                yield part

    yield from fill("page.html" if main == WORKBENCH else "report.html")


def answer_document(content: Mapping[str, Any]) -> Iterator[str]:
    """The document of an answer that has its own page, under its title, in chunks."""
    yield from page_document(content, content["title"])


def _content_text(chunk: str) -> str:
    r"""A chunk of the object's JSON for the document; characters that change the direction of text are escaped.

    >>> _content_text(r'"<\u202e"')
    '"\\u003c\\\\u202e"'
    """
    return _OVERRIDE.sub(r"\1\\\\\2", _LAYOUT.sub("", chunk)).replace("<", "\\u003c")


@cache
def style(folders: Sequence[str] = (*PARTS.values(), REPORT_FOLDER)) -> str:
    """All style sheets in order, and those in the folders of parts."""
    names = sorted(_names(static_folder(), ".css"), key=lambda name: (name != FIRST_STYLE, name))
    return "".join(map(static_file, [*names, *_paths_in(folders, ".css")]))


@cache
def script(
    called: Collection[str] | None = None, folders: Sequence[str] = tuple(PARTS.values()), main: str = WORKBENCH
) -> str:
    """The scripts as one module: the called functions of plans, by default all, then parts, then the page."""
    texts: dict[str, str] = {}
    if called is None or INTERPRETER in called:
        _add_script(INTERPRETER, texts)
    for path, functions in _function_scripts().items():
        if called is None or not functions.isdisjoint(called):
            _add_script(path, texts)
    for path in (*_paths_in(folders, ".js"), main):
        _add_script(path, texts)
    return "".join(texts.values())


def _functions_called(content: Any) -> Iterator[str]:
    """The function names of all nodes in a page's object, and the functions that programs need."""
    if isinstance(content, Mapping):
        if content.get("program"):
            yield INTERPRETER
        elif isinstance(content.get("function"), str):
            yield content["function"]
        content = content.values()
    elif not isinstance(content, list):
        return
    for part in content:
        yield from _functions_called(part)


def page_functions() -> Sequence[str]:
    """The names of the functions of plans that the scripts define."""
    return sorted(name for functions in _function_scripts().values() for name in functions)


@cache
def _function_scripts() -> Mapping[str, frozenset[str]]:
    """The functions of plans that each script in their folder defines, by its path."""
    return {path: frozenset(_DEFINITION.findall(static_file(path))) for path in _paths_in([FOLDER], ".js")}


def _paths_in(folders: Sequence[str], suffix: str) -> list[str]:
    """The paths of the files in some folders with a suffix."""
    return [f"{folder}/{name}" for folder in folders for name in _names(static_folder().joinpath(folder), suffix)]


def _names(folder: Traversable, suffix: str) -> list[str]:
    """The names of the files in a folder with a suffix, sorted."""
    return sorted(file.name for file in folder.iterdir() if file.name.endswith(suffix))


def _add_script(path: str, texts: dict[str, str]) -> None:
    """Add a script after its imports, by path; raises RecursionError if imports form a circle."""
    if path in texts:
        return
    text = static_file(path)
    for imported in _IMPORT.findall(text):
        _add_script(normpath(join(dirname(path), imported)), texts)
    texts[path] = _NOT_RUN.sub("", _EXPORT.sub("", _IMPORT.sub("", text)))
