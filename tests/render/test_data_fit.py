"""The data fit of a problem: values over keys as points, the context over queries as a curve."""

from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.engine.run import run
from attncli.render.data_fit import DataFit, data_fit_object, data_fits, has_data_fit
from attncli.render.sections import sections
from attncli.render.view import View
from tests.problems import dense_trace, problem

LINE = {"query": [[0.5]], "key": [[0.0], [1.0]], "value": [[3.0], [5.0]]}  # both keys are as far from the query
NUMBERED = {"query": np.eye(2), "key": np.eye(2), "tokens": ["10", "20"], "query_tokens": ["15", "25"]}
HEADS = {  # batch items, heads, queries or keys, features
    "query": np.arange(6.0).reshape(1, 2, 3, 1),
    "key": np.arange(4.0).reshape(1, 2, 2, 1),
    "value": np.arange(8.0).reshape(1, 2, 2, 2),
}


def fits(positions: dict[str, int] | None = None, **keys: Any) -> list[DataFit]:
    return list(data_fits(dense_trace(problem(**keys)), positions))


def test_points_are_the_values_and_the_curve_is_the_output() -> None:
    (fit,) = fits(**LINE, score="gaussian:sigma=1")
    assert (fit.title, fit.x_name, fit.points.name, fit.curve.name) == ("", "key", "value", "output")
    assert (list(fit.points.x), list(fit.points.y)) == ([0, 1], [3, 5])
    assert (list(fit.curve.x), list(fit.curve.y)) == ([0.5], [4])


def test_a_view_has_the_plot_of_the_fit_last_where_it_is_asked_for() -> None:
    result = run(problem(**LINE, score="gaussian:sigma=1"))
    *_, last = sections(View(result, curve=True))
    assert (last.title, [plot.curves[0].y.tolist() for plot in last.plots]) == ("output over keys", [[4]])
    assert not any(section.plots for section in sections(View(result)))


def test_longer_keys_stand_at_their_tokens_that_are_numbers() -> None:
    (fit,) = fits(**NUMBERED, value=[[1.0], [3.0]], normalize="hardmax")
    assert fit.x_name == "token"
    assert (list(fit.points.x), list(fit.points.y)) == ([10, 20], [1, 3])
    assert (list(fit.curve.x), list(fit.curve.y)) == ([15, 25], [1, 3])


def test_each_head_and_feature_has_a_fit_of_its_own() -> None:
    found = fits(**HEADS)
    assert [fit.title for fit in found] == [f"batch item 0, head {head}, e{e}" for head in (0, 1) for e in (1, 2)]
    assert [list(fit.points.y) for fit in found] == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert [list(fit.curve.x) for fit in found] == [[0, 1, 2], [0, 1, 2], [3, 4, 5], [3, 4, 5]]
    assert [fit.title for fit in fits({"b": 0, "h": 1}, **HEADS)] == [found[2].title, found[3].title]


def test_what_the_output_weights_make_of_it_is_not_over_the_values() -> None:
    (fit,) = fits(**LINE, w_o=[[100.0]])
    assert fit.curve.name == "context"
    assert 3 < fit.curve.y[0] < 5


def test_cached_keys_have_points_too() -> None:
    (fit,) = fits(**LINE, past_key=[[-1.0]], past_value=[[7.0]])
    assert (list(fit.points.x), list(fit.points.y)) == ([-1, 0, 1], [7, 3, 5])


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"query": np.eye(3), "key": np.eye(3)}, "queries have 3 features, keys have 3, and their tokens are no"),
        ({**NUMBERED, "query_tokens": ["15", "nan"]}, "queries have 2 features, keys have 2"),
        (
            {**LINE, "context": {"attentional": {"w": np.ones((2, 3))}}},
            "a context of length 3 is not a curve through values",
        ),
        ({"scores": [[1.0, 2.0]]}, "there are no values"),
        ({"scores": [[1.0, 2.0]], "value": [[1.0], [2.0]]}, "there are no queries and keys"),
    ],
)
def test_without_one_axis_there_is_none_and_the_reason_is_said(keys: dict[str, Any], reason: str) -> None:
    trace = dense_trace(problem(**keys))
    assert not has_data_fit(trace)
    with pytest.raises(AttnError, match=reason):
        list(data_fits(trace))


def test_scores_that_are_given_have_a_fit_over_tokens_that_are_numbers() -> None:
    keys = {"scores": [[0.0, 0.0]], "value": [[1.0], [2.0]], "tokens": ["10", "20"], "query_tokens": ["15"]}
    assert has_data_fit(dense_trace(problem(**keys)))
    assert fits(**keys)[0].curve.y[0] == 1.5


def test_a_page_draws_it_from_steps_or_from_tokens_that_are_numbers() -> None:
    keys = {"value": [[1.0], [2.0]], "key": [[0.0], [1.0]], "query": [[0.5]]}
    own = data_fit_object(dense_trace(problem(**keys, score="gaussian")))
    assert (own["axis"], own["queries"], own["keys"], own["value"]) == ("key", "query", "key", "value")
    assert own["step"] == "context"
    given = {"weights": [[1.0, 0.0]], "value": [[1.0], [2.0]], "tokens": ["3", "4.5"], "query_tokens": ["4"]}
    other = data_fit_object(dense_trace(problem(**given)))
    assert (other["axis"], [*other["queries"]], [*other["keys"]]) == ("token", [4.0], [3.0, 4.5])
