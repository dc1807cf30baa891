"""The key `layout`: queries, keys and values in another order of axes, and what is expected of their answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.checks.check import check
from attncli.checks.report import CheckOptions
from attncli.io.problem_text import problem_yaml
from attncli.problem.layout import ARRAY_LAYOUTS
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.problems import dense_trace, problem

LENGTHS = {"b": 2, "h": 3, "n": 5, "d": 7}
ALL = [*ARRAY_LAYOUTS]
NO_SLIPS = CheckOptions(tries_slips=False)


def arrays(layout: str, **lengths: int) -> dict[str, np.ndarray]:
    """Queries, keys and values in a layout."""
    sizes = {**LENGTHS, **lengths}
    shape = [sizes[letter] for letter in layout]
    return {name: normal(*shape, seed=seed) for seed, name in enumerate(("query", "key", "value"))}


def attention_of_one_head(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Causal attention, row by row."""
    rows = []
    for i, one in enumerate(query):
        weights = np.exp(key[: i + 1] @ one / np.sqrt(len(one)))
        rows.append(weights @ value[: i + 1] / weights.sum())
    return np.array(rows)


def answer(layout: str, given: Mapping[str, np.ndarray]) -> np.ndarray:
    """The answer in the same layout, head by head."""
    found = np.empty_like(given["query"])
    others = [letter for letter in layout if letter in "bh"]
    for at in np.ndindex(*(found.shape[layout.index(letter)] for letter in others)):
        index = tuple(slice(None) if letter in "nd" else at[others.index(letter)] for letter in layout)
        found[index] = attention_of_one_head(*(array[index] for array in given.values()))
    return found


@pytest.mark.parametrize("layout", ALL)
def test_the_gradient_of_the_output_has_the_layout_of_the_queries(layout: str) -> None:
    given = {**arrays(layout), "grad_output": normal(*(LENGTHS[letter] for letter in layout), seed=9)}
    own = {name: np.einsum(f"{layout}->{''.join(x for x in 'bhnd' if x in layout)}", x) for name, x in given.items()}
    own = {name: x[None] if "b" not in layout else x for name, x in own.items()}
    found, expected = (dense_trace(problem(**keys)) for keys in ({**given, "layout": layout}, own))
    np.testing.assert_allclose(found["grad_query"].value, expected["grad_query"].value, rtol=1e-12)


@pytest.mark.parametrize("n", [5, 3], ids=["other lengths", "as many tokens as heads"])
@pytest.mark.parametrize("layout", ALL)
def test_the_answer_of_a_kernel_is_checked_in_the_layout_of_its_inputs(layout: str, n: int) -> None:
    given = arrays(layout, n=n)
    report = check(problem(**given, layout=layout, causal=True), {"output": answer(layout, given)}, NO_SLIPS)
    assert report.agrees
    wrong = answer(layout, {**given, "query": given["query"][..., ::-1]})
    assert not check(problem(**given, layout=layout, causal=True), {"output": wrong}, NO_SLIPS).agrees


@pytest.mark.parametrize("layout", ALL)
def test_axes_are_those_of_attn_afterwards(layout: str) -> None:
    trace = dense_trace(problem(**arrays(layout), layout=layout))
    batch = 2 if "b" in layout else 1
    assert trace["scores"].value.shape == ((batch, 3, 5, 5) if "h" in layout else (batch, 5, 5))


def test_without_a_layout_arrays_are_batch_heads_tokens_features() -> None:
    given = arrays("bhnd")
    plain, named = (dense_trace(problem(**given, **keys)) for keys in ({}, {"layout": "bhnd"}))
    np.testing.assert_array_equal(plain["output"].value, named["output"].value)


def test_the_layout_that_is_given_goes_before_that_of_a_convention() -> None:
    given = arrays("bhnd")
    spec = attncli.Problem(**given, layout="bhnd", convention="flash").spec
    np.testing.assert_array_equal(spec.query, given["query"])
    assert spec.convention is not None
    assert spec.convention.changes == ()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {**arrays("bnhd"), "layout": "nhd"},
            "layout: layout nhd has 3 axes; query has 4; of 4 axes are bhnd, bnhd, nbhd",
        ),
        (
            {"query": normal(2, 5), "key": normal(3, 5), "layout": "bnhd"},
            "layout: layout bnhd has 4 axes; query has 2",
        ),
        (
            {"query": normal(2, 5, 6, 4), "key": normal(2, 7, 2, 4)},
            "key: 5 query heads can't share 7 key heads evenly; choose a divisor of 5; "
            'it fits layout bnhd, (batch, tokens, heads, features): give layout="bnhd"',
        ),
    ],
)
def test_what_does_not_fit_is_said(keys: Mapping[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        problem(**keys)
    assert str(caught.value) == message


@pytest.mark.parametrize("layout", ["bnhd", "nbhd", "nbd"])
def test_where_no_layout_is_named_a_verdict_names_the_one_with_which_all_agrees(layout: str) -> None:
    given = arrays(layout)
    spec: ProblemSpec = problem(**given, causal=True)
    (explanation,) = check(spec, {"output": answer(layout, given)}).explanations
    assert explanation.slips == ("layout_misread",)
    assert explanation.sentence.endswith(f"with layout {layout} all agrees.")


def test_a_problem_is_written_in_the_order_of_attn(tmp_path: Path) -> None:
    given = attncli.Problem(**arrays("nhd"), layout="nhd")
    text = "".join(problem_yaml(given.spec))
    assert "layout" not in text
    (tmp_path / "p.yaml").write_text(text)
    np.testing.assert_array_equal(attncli.load(tmp_path / "p.yaml").compute().output, given.compute().output)


@pytest.mark.parametrize(("word", "layout"), [("bshd", "bnhd"), ("sbhd", "nbhd"), ("thd", "nhd"), ("bhsd", "bhnd")])
def test_the_tokens_of_transformer_engine_are_read_too(word: str, layout: str) -> None:
    assert problem(**arrays(layout), layout=word).layout == layout
