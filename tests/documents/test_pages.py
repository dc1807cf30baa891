"""The documents are true: pages are generated, files, names and links exist, and code runs."""

import json
import re
import tomllib
from contextlib import chdir
from typing import Any

import pytest

from attncli.io import yaml
from attncli.io.problem_files import EXAMPLE_KEYS, PART_KEYS
from attncli.ops.registry import ENTRY_POINTS
from attncli.plan.builder import PlanBuilder
from attncli.problem.spec import FIELDS
from docs.generation import (
    api_keys,
    check_json,
    compare_json,
    console_blocks,
    json_tables,
    steps,
)
from docs.generation.python_sessions import can_run
from tests.cli.running import run_in_process
from tests.documents.reading import DOCUMENTS, PACKAGE, README, ROOT, indented_blocks


def test_the_readme_is_short_and_narrow() -> None:
    text = console_blocks.FENCE.sub("", README)
    assert README.count("\n") <= 126
    assert max(map(len, text.splitlines())) <= 120


def test_no_command_of_the_readme_needs_a_pipe() -> None:
    assert not any("|" in command.text for command in console_blocks.commands(README))


@pytest.mark.parametrize("page", [api_keys, steps])
def test_what_is_generated_is_that_of_today(page: Any) -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.generate(), "python docs/generate.py writes it anew"


def test_the_reference_has_every_key_of_the_json_of_a_check() -> None:
    one, several = (
        json.loads(run_in_process("check", *files, "--json", folder=ROOT).stdout)
        for files in (["samples/answer.yaml"], ["samples/answer.yaml", "samples/lesson.yaml"])
    )
    assert list(one) == list(check_json.OBJECT)
    assert all(list(result) == list(check_json.RESULT) for result in one["results"])
    assert list(several) == list(check_json.SUITE)


def test_the_reference_has_every_key_of_the_json_of_a_worked_example() -> None:
    example = json.loads(run_in_process("demo", "luong", "--json", folder=ROOT).stdout)
    assert list(example) == list(json_tables.DEMO)
    assert all(list(part) == list(json_tables.DEMO_PART) for part in example["parts"])


def test_the_reference_has_every_key_of_the_json_of_a_comparison() -> None:
    words = ("samples/three_words.yaml", "--vary", "seed=1,2", "--select", "scores", "--json")
    compared = json.loads(run_in_process("compare", *words, folder=ROOT).stdout)
    assert list(compared) == list(compare_json.OBJECT)
    for name, keys in {
        "variants": compare_json.VARIANT,
        "differences": compare_json.DIFFERENCE,
        "first_differences": compare_json.FIRST_DIFFERENCE,
        "seeds": compare_json.OVER_SEEDS,
    }.items():
        assert compared[name], name
        assert all(list(item) == list(keys) for item in compared[name])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_and_folder_that_a_document_names_exists(document: str) -> None:
    for path in re.findall(r"`([a-z.][\w.]*/[\w./]*)`", DOCUMENTS[document]):
        assert (PACKAGE / path).exists() or (ROOT / path).exists(), path


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_of_a_document_leads_to_a_file_and_a_heading(document: str) -> None:
    for path, anchor in re.findall(r"\]\(([\w./]+)(?:#([\w-]+))?\)", DOCUMENTS[document]):
        target = (ROOT / document).parent / path
        assert target.exists(), path
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_every_name_of_the_architecture_is_in_its_file() -> None:
    places = re.findall(r"`(\w+)`,?\s(?:of|in)\s`([\w/]+\.py)`", DOCUMENTS["docs/architecture.md"])
    assert len(places) >= 2
    for name, path in places:
        assert re.search(rf"\b{name}\b", (PACKAGE / path).read_text(encoding="utf-8")), name
    for name in re.findall(r"`builder\.(\w+)\(", DOCUMENTS["docs/architecture.md"]):
        assert callable(getattr(PlanBuilder, name))


def test_the_entry_point_of_the_architecture_is_that_of_operators() -> None:
    (example,) = [block for block in indented_blocks("docs/architecture.md") if "entry-points" in block]
    assert list(tomllib.loads(example)["project"]["entry-points"]) == [ENTRY_POINTS]


def runnable_python(document: str) -> list[str]:
    """The lines of the blocks of Python of a document that run here."""
    blocks = filter(can_run, console_blocks.blocks(DOCUMENTS[document], "python"))
    return [line for block in blocks for line in block.splitlines() if "tcp://host" not in line]  # that is a cluster


@pytest.mark.usefixtures("restored_registry")
@pytest.mark.parametrize("document", list(filter(runnable_python, DOCUMENTS)))
def test_the_python_of_a_document_runs(document: str) -> None:
    with console_blocks.new_folder() as folder, chdir(folder):
        exec("\n".join(runnable_python(document)), {"__name__": "__main__"})


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_yaml_of_a_document_has_keys_of_problems(document: str) -> None:
    for block in console_blocks.blocks(DOCUMENTS[document], "yaml"):
        assert set(yaml.read(block, document)[0]) <= {*FIELDS, *EXAMPLE_KEYS}


def test_the_guide_for_teachers_explains_every_key_of_a_worked_example() -> None:
    explained = set(re.findall(r"`(\w+)`", DOCUMENTS["docs/teacher.md"]))
    assert {*EXAMPLE_KEYS, *PART_KEYS} <= explained
