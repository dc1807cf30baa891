"""Bugs of public projects: `attn check` names the slip in what a kernel with the bug returns, and finds its number."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.checks.bugs import Bug, bugs
from attncli.checks.slips import SLIPS
from tests.checks.bugs import kernels
from tests.checks.bugs.cases import problem_of, results_of
from tests.checks.bugs.tolerances import agrees, outputs_of

BUGS = list(bugs().values())
FIRST = {bug.slip: bug for bug in reversed(BUGS) if SLIPS[bug.slip].number is None}
# To find a number takes a second; another bug of the same slip tells less, and so does one of many slips.
QUICK = [*FIRST.values()][::2]
DEEP = [pytest.param(bug, marks=() if bug in QUICK else pytest.mark.deep) for bug in BUGS]
SAME = {"scaled_twice": "scale_by_d"}  # which are one where the scale is 1/√d


@pytest.mark.parametrize("bug", DEEP, ids=lambda bug: bug.source)
def test_a_bug_is_named_with_its_number(bug: Bug) -> None:
    problem = problem_of(bug)
    report = attncli.check(problem, against=results_of(bug, problem))
    found = {one.slips: one for one in report.explained_by}
    assert found.keys() - {(SAME.get(bug.slip),)} == {(bug.slip,)}
    parameters = found[bug.slip,].parameters
    assert parameters.keys() >= bug.parameters.keys()
    for name, number in bug.parameters.items():
        np.testing.assert_allclose(parameters[name], number, rtol=0.01)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.source)
def test_a_row_has_a_slip_that_exists_and_the_name_of_its_number(bug: Bug) -> None:
    number = SLIPS[bug.slip].number
    assert set(bug.parameters) == (set() if number is None else {number.name})


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.source)
def test_a_row_names_a_project_and_a_number_and_says_one_sentence(bug: Bug) -> None:
    assert re.fullmatch(r"[\w.-]+/[\w.-]+#[1-9]\d*", bug.source)
    assert re.fullmatch(r"[A-Z].{20,105}\.", bug.sentence)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.source)
def test_a_bug_shows_in_the_precision_of_kernels(bug: Bug) -> None:
    assert not agrees(outputs_of(bug))


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.source)
def test_the_inputs_are_small(bug: Bug) -> None:
    assert problem_of(bug).compute().output.size <= 64


def test_there_are_as_many_as_promised_and_each_has_a_kernel() -> None:
    assert len(BUGS) >= 40
    assert {bug.source for bug in BUGS} == kernels.KERNELS.keys()
    assert len({bug.sentence for bug in BUGS}) == len(BUGS)


def test_the_kernels_are_not_made_of_the_program() -> None:
    tree = ast.parse(Path(kernels.__file__).read_text(encoding="utf-8"))
    imported = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = {name for node in imported for name in (getattr(node, "module", None), *(a.name for a in node.names))}
    assert not any(str(module).startswith("attncli") for module in modules)
