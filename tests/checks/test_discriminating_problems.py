"""Problems whose inputs tell: every slip that can be made in them shows in a check of the output."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.checks import discriminating_problems
from attncli.checks.check import check
from attncli.checks.discriminating_problems import DiscriminatingProblem
from attncli.checks.report import CheckOptions
from attncli.checks.slips import SLIPS
from attncli.engine.run import run
from attncli.io.assemble import assemble
from tests.problems import raw_values


def choose(**keys: Any) -> DiscriminatingProblem:
    return discriminating_problems.choose(raw_values(**keys))


def unnoticed_slips(problem: DiscriminatingProblem) -> set[str]:
    """The slips that a check of the output would not notice."""
    spec = assemble(problem.document)
    options = CheckOptions(finds_unnoticed=True, tries_slips=False)
    return {slip.slips[0] for slip in check(spec, {"output": run(spec, "output").output}, options).unnoticed or ()}


PROBLEMS: Mapping[str, Mapping[str, Any]] = {
    "nothing": {},
    "heads, causal": {"heads": 2, "causal": True, "token_count": 8, "dim": 16},
    "grouped heads, a window": {"heads": 4, "kv_heads": 2, "causal": True, "window": [2, 0]},
    "queries, keys and values": {"query": "normal", "key": "normal", "value": "normal", "token_count": 5, "dim": 8},
    "two sequences": {"embeddings": "normal", "query_embeddings": "normal", "token_count": 5, "dim": 8},
    "rope": {"position": "rope", "heads": 2, "causal": True},
    "alibi": {"position": "alibi", "heads": 2},
    "a mask with an empty row": {"mask": [[0] * 8, *np.tri(7, 8, 1).tolist()]},
    "a softcap": {"softcap": 5.0, "causal": True},
    "a norm": {"qk_norm": "rms"},
    "a sentence": {"sentence": "the cat sat on the mat", "heads": 2},
    "distances": {"score": "gaussian"},
    "scores": {"scores": "normal", "value": "normal", "token_count": 5, "dim": 4},
    "a sink and a temperature": {"sink": [0.5], "normalize": {"softmax": {"temperature": 2}}},
    "stored the other way": {"weight_layout": "out_in", "heads": 2},
}


DTYPES = ("bfloat16", "float32", "float64", "float16")
QUICK = ("nothing", "a mask with an empty row", "scores")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(name, DTYPES[at % 4], marks=() if name in QUICK else pytest.mark.deep)
        for at, name in enumerate(PROBLEMS)
    ],
)
def test_every_slip_shows(name: str, dtype: str) -> None:
    problem = choose(**PROBLEMS[name], dtype=dtype)
    assert not problem.warnings
    assert not unnoticed_slips(problem)


@pytest.mark.deep
def test_every_slip_shows_where_a_softcap_is_so_large_that_few_scores_reach_it() -> None:
    assert not unnoticed_slips(
        choose(softcap=30, causal=True, window=[4, 0], position="rope", heads=2, dtype="float32")
    )


def test_a_problem_that_is_drawn_plainly_would_not_do() -> None:
    plain = DiscriminatingProblem(raw_values(init="normal", seed=1, token_count=8, dim=8, dtype="float32"), ())
    assert "no_maximum" in unnoticed_slips(plain)


@pytest.mark.parametrize(("dtype", "kernel"), [("float16", "float32"), ("float32", "float32"), ("float64", "float64")])
def test_exponentials_overflow_without_the_maximum_and_the_output_is_finite(dtype: str, kernel: str) -> None:
    result = run(assemble(choose(causal=True, dtype=dtype).document), ("scores", "output"))
    with np.errstate(over="ignore"):
        assert np.isinf(np.exp(result.scores.astype(kernel))).any()
    assert np.isfinite(result.output).all()


def test_the_other_queries_attend_to_several_keys() -> None:
    weights = run(assemble(choose(dtype="float32", token_count=8, dim=16).document), "weights").weights
    entropy = -(weights * np.log(np.maximum(weights, 1e-30))).sum(axis=-1)
    assert np.sort(entropy)[1] > 0.5  # but for the one query whose exponentials overflow
    assert entropy.max() < np.log(8) - 0.01


def test_what_the_user_gives_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discriminating_problems, "ENOUGH_DRAWS", 1)
    document = choose(embeddings=[[1, 0, 2], [0, 1, 0], [2, 2, 1]], w_v="identity", init="normal", seed=7).document
    assert document["embeddings"].value == [[1, 0, 2], [0, 1, 0], [2, 2, 1]]
    assert (document["w_v"].value, document["init"].value) == ("identity", "normal")


def test_the_same_seed_gives_the_same_problem() -> None:
    one, other = (assemble(choose(seed=5, causal=True).document) for _ in range(2))
    np.testing.assert_array_equal(one.embeddings, other.embeddings)


def test_a_slip_that_changes_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discriminating_problems, "ENOUGH_DRAWS", 2)
    problem = choose(window=[20, 0], token_count=4, dim=4)
    sentence = "window_too_wide can't be revealed: it changes no number of this problem: "
    assert any(warning.startswith(sentence) for warning in problem.warnings)
    assert unnoticed_slips(problem) == {"window_too_wide", "window_too_narrow", "window_side_misread"}


@pytest.mark.deep
def test_a_maximum_that_only_rounding_shows_is_no_reason_to_draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discriminating_problems, "ENOUGH_DRAWS", 2)
    problem = choose(score="cosine", token_count=8, dim=8)
    assert [warning.split()[0] for warning in problem.warnings] == ["no_maximum"]


def test_what_nothing_shows_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discriminating_problems, "MAX_DRAWS", 2)
    with pytest.raises(AttnError) as caught:
        choose(scale=1e-9, causal=True, dtype="bfloat16")
    message, names, hint = re.split("; the best one misses |; ", str(caught.value))
    assert message == "--telling: none of 2 draws reveals every mistake"
    assert {"scaled_twice", "powers_of_two"} <= set(names.split(", ")) <= set(SLIPS)
    assert hint == "take more tokens or features, another seed, or a wider dtype"


def test_without_anything_to_draw_there_is_nothing_to_choose() -> None:
    expected = "--telling: every array is given, so nothing is drawn; leave out some of them"
    with pytest.raises(AttnError, match=expected):
        choose(query=[[1.0]], key=[[1.0]])
