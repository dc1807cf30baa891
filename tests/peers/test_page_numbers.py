"""The numbers of the page, computed by its own scripts, are those of the program; and every line of its arithmetic holds."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.engine.run import run
from attncli.io import examples
from attncli.io.writers.json_text import json_text
from attncli.problem.build import replace_values
from attncli.problem.spec import ProblemSpec
from attncli.render.page.page_object import page_object
from attncli.render.page.plan_variants import plan_variants
from attncli.render.view import View
from attncli.trace.steps import Trace
from tests.equations import assert_equations_hold
from tests.peers.conftest import write_page
from tests.problems import PROBLEMS, dense_trace, problem

pytestmark = pytest.mark.peer

TOLERANCE = 1e-12  # of the largest number of a table
EXAMPLES = {f"{name}: {part.title}": part.problem for name in examples.names() for part in examples.load(name).parts}
RANDOM = {name: problem(**{**keys, "dtype": "float64"}) for name, keys in PROBLEMS.items()}
ALL = {**EXAMPLES, **RANDOM}


@pytest.fixture(scope="module")
def scripts(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A page whose scripts the tests call with the objects of other pages."""
    page = browser.new_page()
    page.goto(write_page({"scores": [[0, 1]]}, tmp_path_factory.mktemp("page") / "page.html").as_uri())
    page.evaluate(Path(__file__).with_name("page_numbers.js").read_text(encoding="utf-8"))
    yield page
    page.close()


@cache
def page_text(name: str) -> str:
    """The object of the page of a problem, as JSON."""
    return "".join(json_text(page_object(View(run(ALL[name], every_step=True)))))


def call(scripts: Any, function: str, name: str, *arguments: Any) -> Any:
    """The result of a function of page_numbers.js for the page of a problem."""
    return scripts.evaluate(
        f"([text, ...rest]) => pageTests.{function}(JSON.parse(text), ...rest)", [page_text(name), *arguments]
    )


def assert_same(computed: Mapping[str, Any], trace: Trace, fixed: Sequence[str] = ()) -> None:
    """The page's values are those of the program, within rounding."""
    assert set(computed["fixed"]) == set(fixed)
    for step in trace.steps:
        value = computed["values"][step.name]
        ours, theirs = np.array(value["data"], dtype=float).reshape(value["shape"]), step.value.astype(float)
        largest = np.abs(theirs[np.isfinite(theirs)]).max(initial=0)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE * largest, err_msg=step.name)


@pytest.mark.parametrize("name", ALL)
def test_everything_is_computed_from_what_is_given(scripts: Any, name: str) -> None:
    """Of an example with and without a causal mask and a scale, and with each normalizer; of others some of these."""
    variants = plan_variants(ALL[name])
    plans = range(0, len(variants), 1 if name in EXAMPLES else 7)
    for plan, computed in zip(plans, call(scripts, "computed", name, list(plans)), strict=True):
        assert_same(computed, dense_trace(variants[plan].problem))


@pytest.mark.parametrize("name", ALL)
def test_every_line_of_arithmetic_holds(scripts: Any, name: str) -> None:
    """In every cell of an example, and in some of the others; each number leads to the cell that it stands in."""
    found = call(scripts, "arithmetic", name, 1 if name in EXAMPLES else 7)
    assert found["faults"] == []
    assert set(found["without"]) <= {"count", "selected_positions"}
    assert assert_equations_hold(found["lines"], 4).equal


@pytest.mark.parametrize("name", ALL)
def test_no_other_cells_make_a_cell(scripts: Any, name: str) -> None:
    assert call(scripts, "cellsWithOtherSources", name, 11) == []
