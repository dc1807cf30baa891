"""The story of a page: its stops, the cell that it goes through, and the strip from the sequences to the result."""

from typing import Any

import pytest

from attncli.base.errors import AttnError
from attncli.engine.run import run
from attncli.page import page_object
from attncli.page.guide import MOST_STOPS, check_story
from attncli.plan.build import plan_of
from attncli.render.view import View
from tests.problems import PROBLEMS, problem

WORDS = {
    "embeddings": [[1, 0], [0, 1], [1, 1]],
    "tokens": ["the", "cat", "sat"],
    "w_q": [[2, 0], [1, 3]],
    "w_v": [[1, 1], [0, 5]],
    "causal": True,
}


def story(keys: Any, **view: Any) -> tuple[dict[str, Any], list[list[str]], list[tuple[str, str]]]:
    """The guide of a problem's page, the names of its strip in columns, and those of its stops with their tables."""
    content = page_object(View(run(problem(**keys), every_step=True), guide=True, **view), has_variants=False)
    (own,) = content["guide"]["stories"]
    return content["guide"], [[*column] for column in own["strip"]], [(step, table) for step, table in own["stops"]]


def test_the_story_goes_from_the_vectors_to_the_output_through_one_cell() -> None:
    guide, strip, stops = story(WORDS)
    assert strip == [["embeddings"], ["query", "key", "value"], ["scores"], ["masked_scores"], ["weights"], ["context"]]
    assert stops == [
        ("query", "query"),
        ("value", "value"),
        ("dot_products", "scores"),
        ("scores", "scores"),
        ("masked_scores", "masked_scores"),
        ("exponentials", "weights"),
        ("weights", "weights"),
        ("context", "context"),
    ]
    assert guide["pair"] == [("n", 1), ("m", 0)]
    assert guide["cells"]["dot_products"] == guide["cells"]["weights"] == [1, 0]
    assert guide["cells"]["query"] == [1, 0]  # (1, 3)·(1, 0): the first feature adds most
    assert guide["cells"]["context"] == [1, 0]  # the value of the key is (1, 1): of equal features the first


def test_heads_share_the_features_of_what_is_projected() -> None:
    keys = {"embeddings": [[0, 0, 1, 0], [0, 0, 0, 2]], "heads": 2, "w_o": [[0, 1], [0, 0], [0, 0], [0, 0]]}
    guide, strip, stops = story(keys, positions={"h": 1})
    assert ("h", 1) in guide["pair"]
    assert strip[1] == ["query_heads", "key_heads", "value_heads"]
    assert stops[-1] == ("output", "output")
    assert guide["cells"]["dot_products"][0] == 1


@pytest.mark.parametrize("name", list(PROBLEMS)[::9])
def test_every_problem_has_a_story_whose_tables_follow_from_those_on_the_left(name: str) -> None:
    spec = problem(**PROBLEMS[name])
    guide, strip, stops = story(PROBLEMS[name])
    plan = plan_of(spec)
    columns = {table: at for at, column in enumerate(strip) for table in column}
    assert 1 <= len(stops) <= MOST_STOPS
    assert guide["cells"].keys() == {step for step, _ in stops}
    for step, table in stops:
        assert step in plan.needed_for([table]), step
        assert len(guide["cells"][step]) == len(plan[step].shape)
        assert all(0 <= at < length for at, length in zip(guide["cells"][step], plan[step].shape, strict=True))
    for table, at in columns.items():
        assert table not in ("scores", "weights") or at > 0 or plan[table].is_input
        assert all(columns[other] <= at for other in plan.needed_for([table]) & columns.keys())


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"weights": [[1]]}, "weights are given, and a story tells what is computed"),
        ({"token_count": 300, "dim": 2, "seed": 1}, "the steps have .* numbers together"),
    ],
)
def test_why_a_problem_has_no_story(keys: dict[str, Any], reason: str) -> None:
    with pytest.raises(AttnError, match=reason):
        check_story(problem(**keys))
