"""The tables of docs/models.md, and the example of CONTRIBUTING.md, say what the families say."""

import re

import pytest

from docs.generation import console_blocks, families_page
from tests.documents.reading import DOCUMENTS, PACKAGE

FAMILIES = {
    row.split("|")[1].strip(" `"): row for row in families_page.generate().splitlines() if row.startswith("| `")
}
TABLES = re.findall(r"(?:^\|.*\n)+", DOCUMENTS["docs/models.md"], re.MULTILINE)


def rows(title: str) -> list[list[str]]:
    """The rows of the table whose first column has this title."""
    (table,) = [table for table in TABLES if table.startswith(f"| {title} |")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]


@pytest.mark.parametrize(
    ("key", "family"),
    [
        (key.strip("`"), family)
        for key, families in rows("in the file")
        for family in re.findall(r"`([^`]+)`", families)
    ],
)
def test_a_family_has_the_key_of_its_row(key: str, family: str) -> None:
    assert f"{key}" in FAMILIES[family]


@pytest.mark.parametrize("word", re.findall(r"`(\w+)", "".join(row[0] for row in rows("config.json"))))
def test_a_word_of_the_configuration_is_read(word: str) -> None:
    readers = [*PACKAGE.glob("models/families/*.yaml"), *PACKAGE.glob("models/*.py")]
    assert any(re.search(rf"\b{word}\b", path.read_text(encoding="utf-8")) for path in readers)


def test_the_example_of_a_family_is_one() -> None:
    (example,) = console_blocks.blocks(DOCUMENTS["CONTRIBUTING.md"], "")
    family = (PACKAGE / "models" / "families" / "gemma.yaml").read_text(encoding="utf-8")
    assert set(example.splitlines()) <= set(family.splitlines())
