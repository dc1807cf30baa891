"""The tables of docs/conventions.md say what the records of conventions say."""

import re

import pytest

from attncli.problem.conventions import CONVENTIONS
from tests.documents.reading import DOCUMENTS

PAGE = DOCUMENTS["docs/conventions.md"]
EMPTY_ROWS = {"zeros": r"\b0\b", "nan": "NaN", "uniform": "uniform weights"}


def table_rows() -> dict[str, dict[str, str]]:
    """The rows of the first table that have a convention, by its name; each is the cells by the titles of columns."""
    titles, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in first_table()]
    found = [dict(zip(titles, row, strict=True)) for row in rows]
    return {row["`--as`"].strip("`"): row for row in found if row["`--as`"]}


def first_table() -> list[str]:
    """The lines of the first table."""
    match = re.search(r"(?:^\|.*\n)+", PAGE, re.MULTILINE)
    assert match
    return match[0].splitlines()


def test_every_convention_has_a_row() -> None:
    assert table_rows().keys() == CONVENTIONS.keys()


@pytest.mark.parametrize("name", CONVENTIONS)
def test_the_row_of_a_convention_says_what_its_record_says(name: str) -> None:
    row, record = table_rows()[name], CONVENTIONS[name]
    mask, causal = record.words.get("mask"), record.words.get("causal")
    assert re.search(EMPTY_ROWS[record.defaults["empty_rows"]], row["queries that may attend to nothing"].split(";")[0])
    assert ("hides" in row["a boolean mask"]) == (mask is not None and mask.change is not None)
    assert (mask is None) == (row["a boolean mask"].startswith("none") or "real key" in row["a boolean mask"])
    assert causal is not None
    assert ("bottom right" in row["causal, n queries and m keys"].split(";")[0]) == ("align" in causal.keys)
    assert ("window" in record.words) == (row["window"] not in ("none", "by a mask"))


@pytest.mark.parametrize("name", [name for name, record in CONVENTIONS.items() if record.version])
def test_the_page_has_the_version_of_each_convention(name: str) -> None:
    record = CONVENTIONS[name]
    assert f"{record.title.split()[0]} {record.version}" in PAGE
