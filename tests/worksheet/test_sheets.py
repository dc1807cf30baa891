"""Work sheets: no number that is asked for stands in the exercise, and the key has all of them."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attncli.engine.run import run
from attncli.io import examples
from attncli.io.assemble import assemble
from attncli.io.problem_files import file_parts, read_document
from attncli.plan.trace import RunResult
from attncli.problem.build import build
from attncli.problem.spec import ProblemSpec
from attncli.render.aligned_numbers import align_numbers
from attncli.render.blank_request import parse_blanks
from attncli.worksheet.blanks import find_blanks, unanswered
from attncli.worksheet.sheets import BLANK, WRITERS, Sheet, render_sheet, shown_steps

SAMPLES = Path(__file__).parents[2] / "samples"
SMALL = {"query": [[1, 0, 2, 1], [0, 1, 1, 0]], "key": [[1, 1, 0, 0], [0, 2, 1, 1], [1, 0, 0, 1]]}
HEADS = build({**SMALL, "value": [[1, 0, 3, 1], [0, 2, 1, 5], [3, 1, 2, 2]], "heads": 2})
ASKED = [(), ("output",), ("0.3",)]


def problems() -> dict[str, ProblemSpec]:
    """The problem of each demo and sample that is small, by its name."""
    found = {name: examples.load(name).parts[0].problem for name in examples.names() if name != "cars"}
    for path in sorted(SAMPLES.glob("*.yaml")):
        if path.stem not in ("cars", *examples.names()):
            part = file_parts(read_document(str(path)), path.name)[0]
            found[f"samples/{path.stem}"] = assemble(part.problem)
    return found


PROBLEMS = problems()


def make(problem: ProblemSpec, *asked: str, seed: int = 0, decimals: int = 4) -> Sheet:
    result: RunResult = run(problem, every_step=True)
    shown = sorted(shown_steps(result.trace))
    return Sheet(result, find_blanks(result.trace, parse_blanks(asked, seed), decimals, shown), decimals)


def texts_of(sheet: Sheet, name: str, blank: np.ndarray | None = None) -> set[str]:
    """The texts of the numbers of a step, or of its blank ones, that have a fraction."""
    value = np.atleast_2d(sheet.result.trace[name].value).astype(float)
    cells = np.atleast_2d(np.ones(value.shape, bool) if blank is None else blank)
    found = set[str]()
    for index in np.ndindex(value.shape[:-2]):
        texts = np.array(align_numbers(value[index], sheet.decimals))[cells[index]]
        found |= {text.strip() for text in texts if text.partition(".")[2].strip(" 0")}
    return found


def numbers_asked(sheet: Sheet, left_out: frozenset[str] = frozenset()) -> set[str]:
    """The texts of all blank numbers that no input has too."""
    asked = {name: blank for name, blank in sheet.blanks.cells.items() if name not in left_out}
    given = [step.name for step in sheet.result.trace if step.node.is_input or not (step.inputs or step.tapped_from)]
    inputs = set[str]().union(*(texts_of(sheet, name) for name in given))
    return set[str]().union(*(texts_of(sheet, name, blank) for name, blank in asked.items())) - inputs


def numbers_in(text: str) -> set[str]:
    """The decimal fractions of a text, without markup."""
    return {*re.findall(r"-?\d+\.\d+", re.sub(r"<[^>]*>|<style>.*</style>", " ", text).replace("−", "-"))}


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_number_that_is_asked_for_stands_in_the_exercise_and_the_key_has_all(name: str) -> None:
    for number, asked in enumerate(ASKED):
        sheet, suffix = make(PROBLEMS[name], *asked), [*WRITERS][number % len(WRITERS)]
        text, key = render_sheet(sheet, suffix)
        assert numbers_asked(sheet).isdisjoint(numbers_in(text))
        assert (r"\dots\dots" if suffix == ".tex" else BLANK) in text
        assert numbers_asked(sheet, sheet.blanks.left_out) <= numbers_in(key)


def test_a_share_is_of_the_computed_numbers_and_follows_from_its_seed() -> None:
    sheet, again, other = (make(PROBLEMS["tutorial"], "0.3", seed=seed) for seed in (1, 1, 2))
    trace = sheet.result.trace
    shown = [name for name in shown_steps(trace) if trace[name].function is not None]
    numbers = sum(trace[name].value.size for name in shown)
    asked = sum(int(blank.sum()) for name, blank in sheet.blanks.cells.items() if name in shown)
    assert 0.25 * numbers < asked < 0.35 * numbers
    assert {"embeddings", "w_q", "w_k", "w_v"}.isdisjoint(sheet.blanks.cells)
    assert as_lists(sheet) == as_lists(again) != as_lists(other)


def as_lists(sheet: Sheet) -> dict[str, object]:
    return {name: blank.tolist() for name, blank in sheet.blanks.cells.items()}


def test_a_result_is_blank_in_every_step_with_its_numbers() -> None:
    assert set(make(HEADS, "output").blanks.cells) >= {"output", "context"}
    cells = make(HEADS, "output[query_1,*]").blanks.cells
    assert cells["context"].tolist() == [[[True, True], [False, False]]] * 2


def test_what_is_to_be_filled_in_is_by_labels_where_it_is_a_part() -> None:
    sheet = make(HEADS, "weights[1,query_2,*]", "output")
    assert unanswered(sheet.result.trace, sheet.blanks) == {
        "weights": {"head 1": {"query_2": [None, None, None]}},
        "output": [[None] * 4] * 2,
    }


def test_only_a_sheet_with_formulas_says_how_a_step_is_computed_and_what_it_is_for() -> None:
    sheet = make(PROBLEMS["tutorial"])
    given, scores = (sheet.result.trace[name].node.purpose for name in ("embeddings", "scores"))
    with_hints, without = (str(render_sheet(one, ".md")[0]) for one in (sheet, replace(sheet, has_formulas=False)))
    assert all(text in with_hints for text in (given, scores, "4 × 3", "X W"))
    assert given in without
    assert not any(text in without for text in (scores, "4 × 3", "X W"))
