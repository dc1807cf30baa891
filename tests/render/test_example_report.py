"""The report of a worked example: its parts side by side have every column of every head."""

from typing import Any

import attncli
from attncli.render.reports.example import ExampleReport, PartReport, render
from attncli.render.target import TEXT_FILE
from attncli.render.view import View

X = [[1.0, 0, 2, 1], [0, 1, 1, 3]]


def side_by_side(name: str, **parts: dict[str, Any]) -> list[list[str]]:
    """The words of each line of the table of all parts."""
    views = {title: View(attncli.attention(X, X, select=(name,), **keys)) for title, keys in parts.items()}
    reports = [PartReport(title, "", "", view, ()) for title, view in views.items()]
    text = render(ExampleReport("title", "", "", "", reports, name), TEXT_FILE)
    table = text.partition("side by side\n")[2].partition("\n\n")[0]
    return [line.split("   ") for line in table.splitlines()]


def test_a_part_of_several_columns_has_them_all() -> None:
    header, _, *rows = side_by_side("output", a={"heads": 1}, b={"score": "dot"})
    columns = [word.strip() for word in header if word]
    assert columns == [f"{part}, e{number}" for part in "ab" for number in range(1, 5)]
    assert all(len([word for word in row if word]) == 9 for row in rows)


def test_a_part_of_several_heads_has_them_all() -> None:
    header, *_ = side_by_side("weights", one={"heads": 1}, two={"heads": 2})
    assert [word.strip() for word in header if word] == [
        "one, key_1", "one, key_2",
        "two, head 0, key_1", "two, head 0, key_2", "two, head 1, key_1", "two, head 1, key_2",
    ]  # fmt: skip


def test_a_part_of_one_column_is_named_by_its_title() -> None:
    keys = {"value": [[1.0], [2]]}
    assert [word.strip() for word in side_by_side("output", a=keys, b=keys)[0] if word] == ["a", "b"]
