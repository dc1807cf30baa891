"""What is kept of a problem's form changes nothing: each problem is as if it were the first of a process."""

import gc
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.engine.run import run
from attncli.plan import build as plans
from attncli.problem import problem_cache
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.problems import PROBLEMS, problem

QUERY, KEY, VALUE = normal(3, 5), normal(7, 5), normal(7, 2)
ARRAYS = {"query": QUERY, "key": KEY, "value": VALUE}
SECOND = {name: -2 * array for name, array in ARRAYS.items()}
# Problems of three arrays of the same shapes, which differ in an operator, its parameter, a number, labels or a type.
NEAR: tuple[Mapping[str, Any], ...] = (
    {},
    {"score": "dot"},
    {"score": {"gaussian": {"sigma": 1}}},
    {"score": {"gaussian": {"sigma": 2}}},
    {"score": {"general": {"w": normal(5, 5)}}},
    {"score": {"general": {"w": normal(5, 5, seed=1)}}},
    {"score": {"general": {"w": "normal"}}, "seed": 1},
    {"score": {"general": {"w": "normal"}}, "seed": 2},
    {"qk_norm": {"rms": {"query_gain": normal(5)}}},
    {"qk_norm": {"rms": {"query_gain": normal(5, seed=1)}}},
    {"position": {"t5": {"table": normal(8, 1)}}},
    {"position": {"t5": {"table": normal(8, 1, seed=1)}}},
    {"scale": 0.0},
    {"scale": -0.0},
    {"scale": 1},
    {"softcap": 1},
    {"causal": True},
    {"causal": False},
    {"window": (1, 0)},
    {"window": (0, 1)},
    {"normalize": "softmax:temperature=2"},
    {"normalize": {"sigmoid": {}}},
    {"context": "sample:seed=1"},
    {"context": "sample:seed=2"},
    {"tokens": list("abcdefg")},
    {"tokens": list("gfedcba"), "query_tokens": list("xyz")},
    {"only": [0]},
    {"only": [2]},
    {"dtype": "float32"},
    {"dtype": "bfloat16"},
    {"mask": np.tri(3, 7, 2, dtype=bool)},
    {"mask": 1 - np.tri(3, 7, -1)},
    {"mask": "causal"},
    {"bias": normal(3, 7)},
    {"key_lengths": [2]},
    {"key_lengths": [6]},
    {"position": "rope", "query": normal(3, 4), "key": normal(7, 4)},
    {"position": "rope", "query": normal(3, 4), "key": normal(7, 4), "positions": [0, 1, 2, 3, 4, 5, 9],
     "positions_of_queries": [0, 1, 2]},
    {"weight_layout": "out_in", "w_o": normal(3, 2)},
    {"w_o": normal(2, 3)},
)  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> Iterator[None]:
    _forget()
    yield
    _forget()


def _forget() -> None:
    """Forget every form and every plan."""
    problem_cache._KEPT.clear()
    plans._PLANS.clear()


def _described(spec: ProblemSpec) -> tuple[object, ...]:
    """The labels, lengths and unread keys of a problem, its plan, and every digit of every step."""
    trace = run(spec, every_step=True).trace
    steps = [(step.name, step.notes, step.value.dtype, step.value.tobytes()) for step in trace]
    return dict(trace.labels), dict(spec.lengths), dict(spec.unread), str(trace.plan), trace.pipeline, steps


def _from_python(**keys: Any) -> ProblemSpec:
    """The problem of keywords, which may be known by its arrays and numbers before they are converted."""
    return attncli.Problem(**keys).spec


@pytest.mark.parametrize("make", [problem, _from_python])
def test_problems_in_turn_are_as_the_first_of_a_process(make: Callable[..., ProblemSpec]) -> None:
    alone = []
    for keys in NEAR:
        _forget()
        alone.append([_described(make(**{**ARRAYS, **keys})), _described(make(**{**SECOND, **keys}))])
    _forget()
    for _ in range(2):
        for keys, (first, second) in zip(NEAR, alone, strict=True):
            assert _described(make(**{**ARRAYS, **keys})) == first, keys
            assert _described(make(**{**SECOND, **keys})) == second, keys


@pytest.mark.parametrize("make", [problem, _from_python])
@pytest.mark.parametrize("keys", PROBLEMS.values(), ids=PROBLEMS)
def test_a_problem_made_again_has_the_same_steps(keys: Mapping[str, Any], make: Callable[..., ProblemSpec]) -> None:
    first = _described(make(**keys))
    assert _described(make(**keys)) == first


def test_a_problem_that_is_known_by_its_arrays_has_them_itself_and_is_edited_like_any_other() -> None:
    arrays = {name: array.copy() for name, array in SECOND.items()}
    edited = []
    for given in (ARRAYS, arrays):
        made = attncli.Problem(**given, causal=True)
        assert all(getattr(made, name) is array for name, array in given.items())
        assert made.replace(causal=None, query=QUERY).compute("output").output.shape == (3, 2)
        edited.append(made.set({"query[0,0]": 100}).query[0, 0])
    assert edited == [100, 100]
    assert problem_cache.form_of_given({**ARRAYS, "causal": True}) in problem_cache._KEPT
    for value in (True, None):
        with pytest.raises(AttnError, match="unknown key 'caussal'"):
            attncli.Problem(**arrays, caussal=value)


def test_types_of_arrays_are_those_of_each_problem() -> None:
    for dtype in ("float32", "float64", "float16", "float32"):
        arrays = {name: array.astype(dtype) for name, array in ARRAYS.items()}
        assert attncli.attention(**arrays).output.dtype == dtype


def test_a_form_is_kept_and_an_array_is_not() -> None:
    arrays = [KEY.copy(), normal(5, 5)]
    kept = [weakref.ref(array) for array in arrays]
    attncli.attention(QUERY, arrays[0], VALUE, score={"general": {"w": arrays[1]}})
    attncli.attention(QUERY, arrays[0], VALUE)
    arrays.clear()
    gc.collect()
    assert len(problem_cache._KEPT) > 1
    assert [array() for array in kept] == [None, None]


def test_no_more_forms_are_kept_than_a_few() -> None:
    for count in range(1, 2 * problem_cache.MAX_FORMS):
        attncli.Problem(query=np.ones((count, 2)), key=np.ones((3, 2)))
    assert 0 < len(problem_cache._KEPT) <= problem_cache.MAX_FORMS


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ({"key_lengths": [7]}, {"key_lengths": [8]}, "8 is more than there are keys"),
        ({"mask": np.ones((3, 7))}, {"mask": np.full((3, 7), 2)}, "2 is neither 0 nor 1"),
        ({"key_mask": np.ones(7)}, {"key_mask": np.full(7, 2)}, "2 is neither 0 nor 1"),
        ({"only": ["query_1"]}, {"only": ["query_9"]}, "unknown token 'query_9'"),
        ({"value": VALUE}, {"value": VALUE[:5]}, "value has 5 rows"),
        ({"value": VALUE}, {"value": [["a"]]}, "is not a number"),
        ({"tokens": list("abcdefg")}, {"tokens": list("abcdef")}, "6 labels for 7 keys"),
    ],
)
def test_what_is_wrong_is_refused_also_behind_a_problem_that_was_right(
    right: Mapping[str, Any], wrong: Mapping[str, Any], message: str
) -> None:
    attncli.Problem(**{**ARRAYS, **right})
    for _ in range(2):
        with pytest.raises(AttnError, match=message):
            attncli.Problem(**{**ARRAYS, **wrong})


def test_weights_that_are_no_probabilities_are_refused_behind_others() -> None:
    attncli.Problem(weights=[[0.5, 0.5]], value=[[1], [2]], context="sample")
    with pytest.raises(AttnError, match="these weights are not"):
        attncli.Problem(weights=[[0.5, 0.9]], value=[[1], [2]], context="sample")
