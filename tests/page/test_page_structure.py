"""What of a problem can be changed in its page, and what is hidden by an exercise."""

from collections.abc import Mapping
from typing import Any

import pytest

from attncli.base.errors import AttnError
from attncli.engine.run import run
from attncli.page import page_object
from attncli.page.exercise import find_exercise
from attncli.page.structure import heads_object, words_object
from attncli.render.blank_request import parse_blanks
from attncli.render.view import View
from tests.arrays import normal
from tests.problems import problem

WORDS: Mapping[str, Any] = {"embeddings": [[1, 0], [0, 1], [1, 1]], "heads": 2, "causal": True}


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"query": [[1, 0]], "key": [[1, 0], [0, 1]]}, "queries and keys are not made from one row for each word."),
        ({"embeddings": [[1, 0]] * 2, "mask": [[1, 1]] * 2}, "mask has 2 queries (n); embeddings has 3 rows (m)"),
    ],
)
def test_words_that_cannot_be_changed_say_why(keys: Mapping[str, Any], reason: str) -> None:
    assert reason in str(words_object(problem(**keys)))


@pytest.mark.parametrize("keys", [WORDS, {"token_count": 3, "dim": 2, "init": "normal", "seed": 1}])
def test_words_can_be_changed_that_have_a_row_each(keys: Mapping[str, Any]) -> None:
    assert words_object(problem(**keys)) == {"letters": ["m", "n"]}


@pytest.mark.parametrize(
    ("keys", "heads"),
    [
        ({"heads": 2}, [2, 3, 4, 6, 12]),
        ({"heads": 2, "position": "rope"}, [2, 3, 6]),  # which turns pairs of features
        ({"heads": 4, "kv_heads": 2, "w_k": normal(12, 6), "w_v": normal(12, 6)}, []),
        ({}, []),
    ],
)
def test_heads_are_offered_that_share_the_features(keys: Mapping[str, Any], heads: list[int]) -> None:
    offered = heads_object(problem(embeddings=normal(2, 12), **keys))
    assert [choice["heads"] for choice in offered] == heads
    assert [choice["scale"] for choice in offered] == pytest.approx([(count / 12) ** 0.5 for count in heads])


@pytest.mark.parametrize(
    ("blank", "fields", "hidden"),
    [
        ("weights", {"weights": 18}, {"exponentials", "weights", "context", "merged", "output"}),
        ("context", {"output": 6}, {"context", "merged", "output"}),
        ("weights[0,1,*]", {"weights": 3}, {"exponentials", "weights", "context", "merged", "output"}),
    ],
)
def test_an_exercise_hides_what_gives_an_answer_away(blank: str, fields: Mapping[str, int], hidden: set[str]) -> None:
    exercise = find_exercise(View(run(problem(**WORDS), every_step=True), blanks=parse_blanks([blank])), True)
    assert exercise is not None
    found = {name: int(cells.sum()) for name, cells in exercise.cells.items()}
    assert found == fields
    assert set(exercise.hidden) == hidden


def test_an_exercise_is_refused_where_the_page_does_not_compute() -> None:
    spec = problem(**{**WORDS, "dtype": "float16"})
    with pytest.raises(AttnError, match=r"computes nothing.*attn worksheet"):
        page_object(View(run(spec, every_step=True), blanks=parse_blanks(["weights"])))
