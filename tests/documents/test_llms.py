"""The file docs/llms.txt: it is short, has the form of llmstxt.org, and its links and commands work."""

import re
import shlex

import pytest

from docs.generation import console_blocks, site
from tests.cli.running import run_in_process
from tests.documents.reading import ROOT

TEXT = site.LLMS.read_text(encoding="utf-8")
COMMANDS = [line for block in console_blocks.blocks(TEXT, "sh") for line in block.splitlines()]
LINKS = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S", TEXT, re.MULTILINE)


def test_it_has_a_title_a_summary_text_and_sections_of_links() -> None:
    title, _, *sections = re.split(r"^## .*\n", TEXT, flags=re.MULTILINE)
    assert re.match(r"# attn\n\n> [^\n]+\n\n", title)
    assert sections
    for section in sections:
        assert all(line.startswith("- [") for line in section.split("\n") if line)
    assert TEXT.count("\n") <= 60
    assert len(LINKS) == len(re.findall(r"^- ", TEXT, re.MULTILINE))


def test_its_links_lead_to_every_document() -> None:
    targets = {(site.LLMS.parent / link).resolve().relative_to(ROOT) for link in LINKS}
    assert {str(target) for target in targets} == {*site.GUIDES} - {"README.md"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_it_runs(command: str) -> None:
    with console_blocks.new_folder() as folder:
        program, *words = shlex.split(command)
        ran = run_in_process(*words, folder=folder)
    assert program == "attn"
    assert (ran.returncode, ran.stderr) == (int("answer" in command or "tiles" in command), "")


def test_the_site_has_it_with_links_to_the_guides_in_markdown() -> None:
    texts = site.texts()
    links = re.findall(r"\]\(([^)]+)\)", texts["llms.txt"])
    assert {*links, "index.txt", "llms.txt"} == texts.keys()
    assert all(text.startswith("# ") for text in texts.values())
