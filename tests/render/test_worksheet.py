"""Work sheets: no number that is asked for stands in the exercise, and the key has all of them."""

import re
from pathlib import Path

import numpy as np
import pytest

from attncli.analysis.blanks import Blanks, find_blanks, parse_blanks, unanswered
from attncli.base.errors import AttnError
from attncli.engine.run import run
from attncli.io import examples
from attncli.io.assemble import assemble
from attncli.io.problem_files import file_parts, read_document
from attncli.plan.trace import RunResult
from attncli.problem.build import build
from attncli.problem.spec import ProblemSpec
from attncli.render.aligned_numbers import align_numbers
from attncli.render.worksheet import BLANK, WRITERS, Sheet, render_sheet, shown_steps

SAMPLES = Path(__file__).parents[2] / "samples"
NUMBER = re.compile(r"\d+\.\d+")
SMALL = {"query": [[1, 0, 2, 1], [0, 1, 1, 0]], "key": [[1, 1, 0, 0], [0, 2, 1, 1], [1, 0, 0, 1]]}
HEADS = build({**SMALL, "value": [[1, 0, 3, 1], [0, 2, 1, 5], [3, 1, 2, 2]], "heads": 2})
ASKED = [(), ("weights,output",), ("0.3",), ("scores,0.1",)]


def problems() -> dict[str, ProblemSpec]:
    """The problem of each demo and sample that is small, by its name."""
    found = {name: examples.load(name).parts[0].problem for name in examples.names() if name != "cars"}
    for path in sorted(SAMPLES.glob("*.yaml")):
        if path.stem != "cars":
            part = file_parts(read_document(str(path)), path.name)[0]
            found[f"samples/{path.stem}"] = assemble(part.problem)
    return found


PROBLEMS = problems()


def make(problem: ProblemSpec, *asked: str, seed: int = 0, decimals: int = 4) -> Sheet:
    result: RunResult = run(problem, every_step=True)
    shown = sorted(shown_steps(result.trace))
    return Sheet(result, find_blanks(result.trace, parse_blanks(asked, seed), decimals, shown), decimals)


def numbers_asked(sheet: Sheet) -> set[str]:
    """The texts of blank numbers that are not whole, without their signs."""
    trace, blanks = sheet.result.trace, sheet.blanks
    found = set[str]()
    for name, blank in blanks.cells.items():
        value = np.atleast_2d(trace[name].value)
        for index in np.ndindex(value.shape[:-2]):
            texts = np.array(align_numbers(value[index], sheet.decimals))[np.atleast_2d(blank)[index]]
            own = value[index][np.atleast_2d(blank)[index]]
            found |= {t.strip().lstrip("-") for t, v in zip(texts, own, strict=True) if v % 1}
    return found


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_number_that_is_asked_for_stands_in_the_exercise_and_the_key_has_all(name: str) -> None:
    for number, asked in enumerate(ASKED):
        try:
            sheet = make(PROBLEMS[name], *asked)
        except AttnError as error:
            assert "is given" in str(error) or "not computed" in str(error)  # noqa: PT017 - of some problems
            continue
        suffix = [*WRITERS][number % len(WRITERS)]
        text, key = render_sheet(sheet, suffix)
        wanted = numbers_asked(sheet)
        assert wanted.isdisjoint(NUMBER.findall(text))
        assert "dots" in text if suffix == ".tex" else BLANK in text
        left_out = {name for name in sheet.blanks.left_out}
        shown = replace_left_out(sheet, left_out)
        assert numbers_asked(shown) <= {*NUMBER.findall(key)} | numbers_without_sections(shown)


def replace_left_out(sheet: Sheet, left_out: set[str]) -> Sheet:
    cells = {name: blank for name, blank in sheet.blanks.cells.items() if name not in left_out}
    return Sheet(sheet.result, Blanks(cells, sheet.blanks.left_out, sheet.blanks.answers), sheet.decimals)


def numbers_without_sections(sheet: Sheet) -> set[str]:
    return set()
