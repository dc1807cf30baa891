"""Each option of a view has its effect in every format that has it."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import yaml

from attncli.engine.run import run
from attncli.plan.trace import RunResult
from attncli.render.formats import FORMATS
from attncli.render.target import TEXT_FILE
from attncli.render.view import Cell, View
from tests.problems import problem

READERS = ("table", "markdown", "latex")
OBJECTS = ("json", "yaml")
PROGRAMS = (*OBJECTS, "csv", "tsv")
EXPLAIN = {"explain": True}
OF_HEAD_1 = {"positions": {"h": 1}}


@functools.cache
def result() -> RunResult:
    """Two heads of three tokens whose weights are all 1/3."""
    keys = {"query": [[0] * 6] * 3, "key": [[1, 2, 3, 4, 5, 6]] * 3, "tokens": ["cat", "dog", "owl"], "heads": 2}
    return run(problem(**keys, dtype="float16"))


def written(name: str, view: Mapping[str, Any]) -> str:
    """The text of a view of that result in a format, without the characters that formulas have in LaTeX."""
    (row,) = (row for row in FORMATS if row.name == name)
    text = "".join(row.render(View(result(), **view), TEXT_FILE))
    return text.translate(dict.fromkeys(map(ord, "$\\{}"))) if name in ("latex", "markdown") else text


# The formats, the options before, the one that is added; what is there with it alone, and what without it alone.
EFFECTS: list[tuple[tuple[str, ...], dict[str, Any], dict[str, Any], str, str]] = [
    ((*READERS, *PROGRAMS), {}, EXPLAIN, "exponentials", ""),
    (READERS, {}, {"decimals": 2}, "0.33 ", "0.3333"),
    (READERS, EXPLAIN, {"decimals": 2}, "1/3 = 0.33\n", "1/3 = 0.3333\n"),
    (("html",), {}, {"decimals": 2}, '"decimals": 2', '"decimals": 4'),
    (READERS, {}, {"cells": (Cell(1, 2),)}, "query dog, key owl", ""),
    (
        READERS,
        EXPLAIN,
        {"cells": (Cell(1, 2), Cell(2))},
        "query dog, key owl; query owl, every key",
        "query cat, key cat",
    ),
    (("html",), {}, {"cells": (Cell(1, 2),)}, '"cell": [1, 2]', '"cell": null'),
    ((*READERS, "csv", "tsv"), {}, OF_HEAD_1, "", "head 0"),
    (READERS, EXPLAIN, OF_HEAD_1, "head 1, query cat", "head 0, query cat"),
    (("html",), {}, OF_HEAD_1, '"h": 1', '"h": 0'),
    (READERS, EXPLAIN, {"expanded_axes": frozenset("h")}, "every head, query cat", "head 0, query cat"),
    (READERS, {"cells": (Cell(0, 0),)}, {"expanded_axes": frozenset("h")}, "head 1:", "head 0, query"),
    (READERS, {}, {"remark": "one remark"}, "one remark", ""),
    (READERS, EXPLAIN, {"max_terms": 2}, "1 more", "1 + 1 + 1 = 3"),
    (READERS, {**EXPLAIN, "max_terms": 2}, {"feature": 1}, "e2] = ", "e1] = "),
    ((*READERS, *OBJECTS), {}, {"statistics": True}, "entropy", ""),
    (READERS, {"statistics": True}, OF_HEAD_1, "", "head 0"),
    (("table",), {}, {"heatmap": True}, "░ 0.3333", ""),
    (("html",), {}, {"title": "one title"}, "<title>one title</title>", "<title>cat dog owl"),
]


@pytest.mark.parametrize(
    ("name", "before", "option", "added", "removed"),
    [pytest.param(name, *effect, id=f"{name}-{[*effect[1]]}") for names, *effect in EFFECTS for name in names],
)
def test_an_option_has_its_effect(
    name: str, before: dict[str, Any], option: dict[str, Any], added: str, removed: str
) -> None:
    without, with_option = written(name, before), written(name, before | option)
    assert (added in with_option, removed in without) == (True, True)
    assert not added or added not in without
    assert not removed or removed not in with_option


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_has_the_head_that_was_asked_for_alone(name: str) -> None:
    for view, heads in (({}, 2), (OF_HEAD_1, 1)):
        content = yaml.safe_load(written(name, {**view, "statistics": True}))
        assert np.shape(content["weights"]) == (heads, 3, 3)
        assert np.shape(content["statistics"]["entropy"]) == (heads, 3)
