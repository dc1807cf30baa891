"""The source of the site: every page has its place, has what it is of, and its links lead to pages and headings."""

import posixpath
import re
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from typer.main import get_command

import attncli
from attncli.checks.bugs import bugs
from attncli.checks.slips import SLIPS
from attncli.cli import app
from attncli.cli.commands import COMMANDS
from attncli.models.families import family_names
from attncli.ops import kinds, operators
from attncli.problem.conventions import CONVENTIONS
from attncli.problem.fields import RESULTS
from attncli.problem.spec import FIELDS
from attncli.render.glossary import GLOSSARY
from docs.generation import api_page, bugs_page, gallery, reference_page, site
from docs.generation.console_blocks import FENCE
from tests.cli.running import run_in_process
from tests.documents.reading import ROOT

LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)")


@cache
def pages() -> dict[str, str]:
    """The pages, that of the bugs without its kernels, which take seconds."""
    with patch.object(bugs_page, "generate", lambda: "# Bugs\n"):
        return site.pages()


@cache
def reference() -> dict[str, str]:
    """The pages of the reference."""
    return reference_page.pages()


@cache
def anchors(name: str) -> set[str]:
    """The anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", pages()[name]), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_a_page_of_the_reference_has_each_heading_once() -> None:
    for name, page in reference().items():
        headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page), re.MULTILINE)
        assert sorted(set(headings)) == sorted(headings), name


def test_every_link_of_the_site_leads_to_a_page_a_file_and_a_heading() -> None:
    known = {*pages(), *site.files(), *(f"{site.GALLERY}{entry.name}.html" for entry in gallery.entries())}
    for name, page in pages().items():
        for path, anchor in LINK.findall(re.sub(r"`[^`]*`", "", FENCE.sub("", page))):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            assert target in known, f"{name}: {path}"
            assert not anchor or anchor in anchors(target), f"{name}: {path}#{anchor}"


def test_every_page_has_its_place_in_the_configuration() -> None:
    text = site.configuration_text(list(pages()))
    named = re.findall(r"[:-] ([\w./]+\.md)$", text.partition("\nnav:")[2], re.MULTILINE)
    assert sorted(named) == sorted(pages())


def test_a_command_that_lists_what_a_page_has_is_a_link_to_it() -> None:
    assert "[`attn list bugs`](bugs.md)" in pages()["check.md"]
    assert "[`attn demo pronoun`](gallery/pronoun.html)" in pages()["learner.md"]
    assert "On a page: [An answer that is wrong, and why](gallery/check.html)." in pages()["check.md"]
    assert "[`attn list keys`](reference/keys.md)" in pages()["python.md"]
    assert "[*Compare attention variants and frameworks*](compare.md#what-one-number-does)" in pages()["learner.md"]
    assert "](../reference/keys.md)" in pages()["api/index.md"]


@pytest.mark.parametrize("command", [name for name in site.links_of_commands() if name.startswith("attn ")])
def test_a_command_that_is_a_link_runs(command: str) -> None:
    assert run_in_process(*command.split()[1:], folder=ROOT).returncode == 0


def test_the_reference_has_every_key_result_operator_slip_convention_and_word() -> None:
    for name, records in {
        "keys.md": FIELDS,
        "results.md": RESULTS,
        "operators.md": [name for kind in kinds() for name, one in operators(kind).items() if one.is_built_in],
        "slips.md": SLIPS,
        "conventions.md": CONVENTIONS,
    }.items():
        assert [record for record in records if f"\n| `{record}` |" not in reference()[name]] == []
    assert [term.name for term in GLOSSARY if f"| **{term.name}** |" not in reference()["words.md"]] == []


def test_the_reference_has_every_command_with_its_options() -> None:
    commands = dict(zip(COMMANDS, reference()["commands.md"].split("\n## attn ")[1:], strict=True))
    group: Any = get_command(app)
    for name, text in commands.items():
        assert text.startswith(f"{name}\n")
        own = [one for one in group.get_command(None, name).params if one.name not in FIELDS]
        assert [one.name for one in own if one.help and one.help.partition("|")[0] not in text] == []


def test_the_api_has_every_public_name() -> None:
    texts = api_page.pages()
    for name in attncli.__all__:
        value = getattr(attncli, name)
        if callable(value):
            page = texts.get(f"{value.__module__}.md", texts[api_page.INDEX])
            assert re.search(rf"^## (attncli\.)?{name}$", page, re.MULTILINE), name


def test_a_long_signature_has_a_line_for_each_parameter() -> None:
    assert "attention(\n    query=None,\n    key=None,\n" in api_page.pages()[api_page.INDEX]
    assert "    select=('output',),\n" in api_page.pages()[api_page.INDEX]


def test_the_page_of_families_has_every_family() -> None:
    assert [name for name in family_names() if f"| `{name}` |" not in pages()["families.md"]] == []


@pytest.mark.deep
def test_the_page_of_bugs_has_every_bug() -> None:
    text = bugs_page.generate()
    assert [bug.url for bug in bugs().values() if f"]({bug.url})" not in text] == []
    assert re.search(r"^\| .* \| \d+ \|$", text.partition("lets pass")[2], re.MULTILINE)


def test_the_folder_of_the_site_is_written_anew(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    with patch.object(gallery, "write_pages"), patch.object(bugs_page, "generate", lambda: "# Bugs\n"):
        site.write(folder)
        (folder / "pages" / "old.md").write_text("# Old\n")
        site.write(folder)
    written = {str(path.relative_to(folder / "pages")) for path in (folder / "pages").rglob("*.*")}
    assert written == {*pages(), *site.files(), *site.texts(), "site.css", "iframe-worker.js"}
    assert (folder / "mkdocs.yml").read_text(encoding="utf-8") == site.configuration_text(list(pages()))
