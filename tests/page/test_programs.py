"""Which steps of a page have programs, for which lengths these hold, and why others have none."""

import re
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.page.page_plans import program_of_node
from attncli.page.programs import PageProgram
from attncli.page.structure import words_object
from attncli.plan.build import plan_of
from tests.arrays import normal
from tests.problems import problem

pytestmark = pytest.mark.usefixtures("restored_registry")


def program(name: str, **keys: Any) -> PageProgram:
    """That of a step of a problem of four words with two heads."""
    spec = problem(**{"embeddings": normal(4, 4), "heads": 2, **keys})
    plan = plan_of(spec)
    return program_of_node(spec, plan, plan.by_name[name])


def test_a_step_of_this_package_holds_for_other_words_and_heads() -> None:
    for name in ("scores", "context", "merged", "query_heads"):
        made = program(name, score="euclidean")
        assert made.program is not None
        assert (made.follows_tokens, made.follows_heads) == (True, True)


def test_a_step_that_a_script_has_needs_none() -> None:
    made = program("weights")
    assert (made.program, made.reason) == (None, "")


def test_the_number_of_a_setting_is_read_and_that_of_another_operator_is_written() -> None:
    steps = program("weights", normalize="sigmoid:shift=0.5").program
    assert steps is not None
    assert ["option", "shift"] in steps["steps"]
    widths = program("scores", score="gaussian:sigma=3").program
    assert widths is not None
    assert not [step for step in widths["steps"] if step[0] == "option"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (lambda scores: 2 * np.vectorize(abs)(scores), r"copying numbers out of an array.*line \d+"),
        (lambda scores: scores / 2 if scores.sum() > 0 else scores, r"other steps with other numbers .*line \d+"),
        (lambda scores: scores + np.round(scores, 1), "rounding to decimals"),
    ],
    ids=["an array that leaves", "a branch", "no instruction"],
)
def test_what_the_page_would_not_follow_is_said_with_its_line(body: Any, reason: str) -> None:
    @attncli.normalizer
    def own(scores: Any) -> Any:
        """Something."""
        return body(scores)

    made = program("weights", normalize="own")
    assert made.program is None
    assert re.search(reason, made.reason)


def test_words_stay_where_a_function_counts_them_by_itself() -> None:
    @attncli.normalizer
    def counted(scores: Any) -> Any:
        """The scores and the numbers of the keys."""
        return scores + np.arange(scores.shape[-1])

    spec = problem(embeddings=normal(4, 4), normalize="counted")
    made = program("weights", normalize="counted")
    assert made.program is not None
    assert not made.follows_tokens
    assert words_object(spec) == "Words can't be changed here: the page can't compute weights."
