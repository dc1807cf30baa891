"""The tables of docs/conventions.md say what the records of conventions say."""

import re

import pytest

from attncli.problem.conventions import CONVENTIONS
from tests.documents.reading import DOCUMENTS

PAGE = DOCUMENTS["docs/conventions.md"]
EMPTY_ROWS = {"zeros": r"\b0\b", "nan": "NaN", "uniform": "uniform weights"}


def table_rows() -> dict[str, dict[str, str]]:
    """The rows of the first table that have a convention, by its name; each is the cells by the titles of columns."""
    return {row["`--as`"].strip("`"): row for row in tables()[0] if row["`--as`"]}


def tables() -> list[list[dict[str, str]]]:
    """The rows of each table; each is the cells by the titles of columns, the first one ""."""
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE):
        titles, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
        found.append([dict(zip(titles, row, strict=True)) for row in rows])
    return found


def test_both_tables_have_the_same_frameworks() -> None:
    first, second = ([row[""] for row in table] for table in tables())
    assert first == second


def test_the_second_table_has_fewer_key_heads_where_a_convention_has_them() -> None:
    names = {row[""]: row["`--as`"].strip("`") for row in tables()[0] if row["`--as`"]}
    has_none = {
        names[row[""]]: row["fewer key heads"] in ("none", "`GroupQueryAttention`")
        for row in tables()[1]
        if row[""] in names
    }
    assert has_none == {name: "kv_heads" not in record.words for name, record in CONVENTIONS.items()}


def test_the_second_table_has_heads_third_where_a_convention_reads_them_so() -> None:
    names = {row[""]: row["`--as`"].strip("`") for row in tables()[0] if row["`--as`"]}
    rows = {names[row[""]]: row["activations"] for row in tables()[1] if row[""] in names}
    heads_third = {name: "(batch, queries, **heads**, features)" in cell for name, cell in rows.items()}
    assert heads_third == {name: "bnhd" in record.layouts for name, record in CONVENTIONS.items()}


def test_every_convention_has_a_row() -> None:
    assert table_rows().keys() == CONVENTIONS.keys(), "each has a row in both tables of docs/conventions.md"


@pytest.mark.parametrize("name", CONVENTIONS)
def test_the_row_of_a_convention_says_what_its_record_says(name: str) -> None:
    row, record = table_rows()[name], CONVENTIONS[name]
    mask, causal = record.words.get("mask"), record.words.get("causal")
    assert re.search(EMPTY_ROWS[record.defaults["empty_rows"]], row["queries that see no key"].split(";")[0])
    assert ("hides" in row["a boolean mask"]) == (mask is not None and mask.change is not None)
    assert (mask is None) == (row["a boolean mask"].startswith("none") or "real key" in row["a boolean mask"])
    assert causal is not None
    assert ("bottom right" in row["causal, n queries and m keys"].split(";")[0]) == ("align" in causal.keys)
    assert ("window" in record.words) == (row["window"] not in ("none", "by a mask"))


@pytest.mark.parametrize("name", [name for name, record in CONVENTIONS.items() if record.version])
def test_the_page_has_the_version_of_each_convention(name: str) -> None:
    record = CONVENTIONS[name]
    assert f"{record.title.split()[0]} {record.version}" in PAGE
