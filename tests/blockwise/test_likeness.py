"""Problems that differ in their numbers alone are computed by one recipe; nothing else is shared."""

import copy
import gc
import itertools
import weakref
from typing import Any

import numpy as np
import pytest

from attncli.engine import recipe
from attncli.engine.likeness import likeness
from attncli.engine.run import run
from attncli.plan import build
from attncli.problem.spec import ProblemSpec
from tests import problems


def problem(seed: int = 0, **keys: Any) -> ProblemSpec:
    """A large problem with numbers of its own."""
    sequences = np.random.default_rng(seed).standard_normal((3, 400, 8))
    given = dict(zip(("query", "key", "value"), sequences, strict=True)) | keys
    return problems.problem(**{name: copy.copy(value) for name, value in given.items()})


# Each differs from all the others in what is done.
DIFFERENT: dict[str, dict[str, Any]] = {
    "plain": {},
    "heads": {"heads": 2},
    "fewer key heads": {"heads": 2, "key": np.ones((400, 4)), "value": np.ones((400, 4)), "kv_heads": 1},
    "more keys": {"key": np.ones((500, 8)), "value": np.ones((500, 8))},
    "wider values": {"value": np.ones((400, 9))},
    "batch items": {name: np.ones((2, 400, 8)) for name in ("query", "key", "value")},
    "float32": {"dtype": "float32"},
    "another score": {"score": "dot"},
    "another normalizer": {"normalize": "sigmoid"},
    "a temperature": {"normalize": "softmax:temperature=2"},
    "a temperature that is hardly another": {"normalize": "softmax:temperature=2.0000000000000004"},
    "another context": {"context": "argmax"},
    "a scale": {"scale": 0.0},
    "a scale on the other side of 0": {"scale": -0.0},
    "a softcap": {"softcap": 3},
    "a norm": {"qk_norm": "l2"},
    "causal": {"causal": True},
    "causal, at the end": {"causal": True, "align": "bottom_right"},
    "a window": {"window": (3, 4)},
    "another window": {"window": (4, 3)},
    "lengths": {"key_lengths": [300]},
    "positions that turn": {"position": "rope"},
    "positions with another base": {"position": "rope:base=500"},
    "a cache": {"past_key": np.ones((7, 8)), "past_value": np.ones((7, 8))},
    "output weights": {"w_o": np.ones((8, 3))},
}


def test_what_is_done_differently_is_not_alike() -> None:
    for (one, keys), (other, more) in itertools.combinations(DIFFERENT.items(), 2):
        assert likeness(problem(**keys)) != likeness(problem(**more)), f"{one}, {other}"


@pytest.mark.parametrize("keys", DIFFERENT.values(), ids=DIFFERENT)
def test_numbers_and_labels_make_no_difference(keys: dict[str, Any]) -> None:
    tokens = [str(number) for number in range(len(problem(**keys).key_labels))]
    alike = likeness(problem(**keys))
    assert alike is not None
    assert alike == likeness(problem(seed=1, **keys)) == likeness(problem(tokens=tokens, **keys))


def test_chosen_queries_are_read_each_time() -> None:
    assert likeness(problem(only=[1, 2])) is None


@pytest.mark.parametrize("keys", DIFFERENT.values(), ids=DIFFERENT)
def test_alike_problems_have_answers_of_their_own(keys: dict[str, Any]) -> None:
    for seed in (1, 2, 3):
        asked = problem(seed, **keys)
        expected = build.trace(asked)["output"].value
        close = 1e-5 if expected.dtype == np.float32 else 1e-11
        np.testing.assert_allclose(run(asked, ("output",)).output, expected, rtol=close, atol=close)


@pytest.mark.parametrize("keys", DIFFERENT.values(), ids=DIFFERENT)
def test_what_is_kept_of_a_problem_holds_none_of_its_arrays(keys: dict[str, Any]) -> None:
    recipe._KNOWN.clear()
    asked = problem(**keys)
    run(asked, ("output",))
    held = [weakref.ref(x) for x in vars(asked).values() if isinstance(x, np.ndarray)]
    del asked
    gc.collect()
    assert held
    assert all(x() is None for x in held)
