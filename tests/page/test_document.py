"""The document of the page: one file that needs no other, in which texts of the user are nothing but texts."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from attncli.engine.run import run
from attncli.page import page_object, render
from attncli.page.document import REPORTS, WORKBENCH, page_document, page_functions, script, static_folder, style
from attncli.render.view import View
from tests.problems import problem

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "]]>",
    "{{script}}",
    "&lt;b&gt;",
    'say "hi"',
    "it's",
    "a\nb",
    "\u2028",
    "قطة",
    "🐈\u200d⬛",
    "$x^2$",
    "\\u003c",
)
STATIC = Path(str(static_folder()))
MAINS = (WORKBENCH, *REPORTS.values())  # the scripts with which pages begin
SCRIPTS = "".join(script(main=main) for main in MAINS)


class Document(HTMLParser):
    """The elements of a document with their attributes, and the text in each script, style and title."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        self._open = attributes.get("id") or tag

    def handle_endtag(self, _tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        self.texts[self._open] = self.texts.get(self._open, "") + data


def document(spec: Any, **view: Any) -> Document:
    """The document of a problem's page."""
    return Document("".join(render(View(run(spec), **view))))


@pytest.fixture(scope="module")
def hostile() -> Document:
    """The page of a problem whose labels and title would end elements, if they could."""
    vectors = [[float(row == column) for column in range(len(HOSTILE))] for row in range(len(HOSTILE))]
    return document(problem(embeddings=vectors, tokens=HOSTILE, dtype="float16"), title=" ".join(HOSTILE))


def test_texts_of_the_user_are_read_back_as_they_are(hostile: Document) -> None:
    content = json.loads(hostile.texts["content"])
    assert content["axes"]["m"]["labels"] == list(HOSTILE)
    assert content["title"] == " ".join(HOSTILE)
    # The parser of HTML has line breaks of any kind in a title as they are.
    assert hostile.texts["title"] == " ".join(HOSTILE)


def test_texts_of_the_user_end_no_element(hostile: Document) -> None:
    plain = document(problem(embeddings=[[1.0]], dtype="float16"))
    assert hostile.elements == plain.elements
    assert "<" not in hostile.texts["content"]
    assert hostile.texts["script"] == plain.texts["script"]


def test_the_document_asks_for_nothing(hostile: Document) -> None:
    for tag, attributes in hostile.elements:
        assert not attributes.keys() & {"src", "action", "srcset", "data", "poster"}, tag
        assert str(attributes.get("href", "#")).startswith("#"), tag
        assert tag not in {"link", "iframe", "object", "embed", "base", "form"}
    assert not re.search(r"@import|url\(", style())
    assert not re.search(r"\b(?:fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|eval|Function)\(", SCRIPTS)
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", style() + SCRIPTS))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}  # namespaces


def test_a_policy_forbids_every_connection(hostile: Document) -> None:
    policies = [attributes["content"] for _, attributes in hostile.elements if "http-equiv" in attributes]
    assert len(policies) == 1
    assert str(policies[0]).startswith("default-src 'none';")


def test_no_place_is_left_open() -> None:
    parts = "".join(page_document({}, "x"))
    assert "{{" not in re.sub(r"<script.*</script>", "", parts, flags=re.DOTALL)


def test_every_file_of_the_page_is_in_the_document() -> None:
    """Scripts that nothing imports, and style sheets, would be forgotten."""
    for path in STATIC.rglob("*.js"):
        exported = re.findall(r"^export (\w+ \w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert exported or path.name in MAINS or path.parent != STATIC, path.name
        assert all(f"\n{name}" in SCRIPTS for name in exported), path.name
    for path in STATIC.glob("*.css"):
        assert path.read_text(encoding="utf-8") in style()
    assert style().startswith((STATIC / "page.css").read_text(encoding="utf-8"))


def test_a_name_at_the_top_of_a_script_is_there_once() -> None:
    pattern = re.compile(r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)
    names = [name for path in STATIC.rglob("*.js") for name in pattern.findall(path.read_text(encoding="utf-8"))]
    assert sorted(names) == sorted(set(names))


def test_each_script_says_its_purpose_and_each_exported_function_what_it_does() -> None:
    for path in STATIC.rglob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert re.match(r"/\* .+\. \*/\n", text), path.name
        for match in re.finditer(r"^export (?:async )?(?:function|class)", text, re.MULTILINE):
            assert text[: match.start()].endswith("*/\n"), f"{path.name}: {text[match.start() :].splitlines()[0]}"


def test_each_script_imports_what_it_calls_of_others() -> None:
    """In one module it would be found without the import, as long as another script has it."""
    texts = {path.relative_to(STATIC).as_posix(): path.read_text(encoding="utf-8") for path in STATIC.rglob("*.js")}
    exported = {
        name: path for path, text in texts.items() for name in re.findall(r"^export function (\w+)", text, re.MULTILINE)
    }
    for path, text in texts.items():
        imported = set(re.findall(r"\w+", " ".join(re.findall(r"^import \{([^}]*)\}", text, re.MULTILINE))))
        calls = set(re.findall(r"(?<![\w.])(\w+)\(", text))
        assert {name for name in calls & exported.keys() if exported[name] != path} <= imported, path


def test_a_page_has_the_scripts_of_the_functions_that_it_calls_and_no_comments() -> None:
    called = script(frozenset({"softmax"}))
    assert 'defineFunction("softmax"' in called
    assert 'defineFunction("gated_delta"' not in called
    assert 'defineFunction("gated_delta"' in SCRIPTS
    assert "/*" not in SCRIPTS


def test_a_page_without_programs_has_no_interpreter_of_them() -> None:
    computing = "".join(page_document(page_object(View(run(problem(query=[[1]], key=[[1]]), every_step=True))), "x"))
    given = "".join(page_document({"nodes": [{"function": None, "program": None}]}, "x"))
    assert "function programDefinition" in computing
    assert "function programDefinition" not in given


def test_scripts_have_no_import_left() -> None:
    assert not re.search(r"^(?:import|export)\b", SCRIPTS, re.MULTILINE)


def test_the_functions_of_plans_are_those_that_scripts_define_once_each() -> None:
    assert {"softmax", "sparsemax", "entmax", "hardmax", "topk", "rope", "causal"} <= set(page_functions())
    assert sorted(re.findall(r"\bdefineFunction\(\"([^\"]*)\"", script())) == list(page_functions())


UNSEEN = "a\x1b[31mb\u202ec\u2066d\x01"


def test_no_text_turns_the_direction_of_a_page_or_has_a_control_character() -> None:
    spec = problem(scores=[[1, 2]], tokens=[UNSEEN, r"\\u202e"], query_tokens=[UNSEEN])
    text = "".join(render(View(run(spec), title=UNSEEN)))
    assert not set(UNSEEN) & set(text) - set("a[31mbcd")
    assert r"<title>a\x1b[31mb\u202ec\u2066d\x01</title>" in text
    labels = json.loads(Document(text).texts["content"])["axes"]["m"]["labels"]
    assert labels == ["a\x1b[31mb\\u202ec\\u2066d\x01", r"\\u202e"]
