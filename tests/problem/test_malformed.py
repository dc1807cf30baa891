"""Random malformed problems: an AttnError, never another exception."""

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from attncli import AttnError, Problem
from attncli.ops import kinds, operators
from attncli.problem.spec import FIELDS
from tests.arrays import normal

HUGE = 10**5000  # Python writes no integer of so many digits
PROBLEMS: list[dict[str, Any]] = [
    {"query": normal(3, 4), "key": normal(5, 4)},
    {"embeddings": normal(3, 4), "w_q": normal(4, 2), "w_k": normal(4, 2)},
    {"query": normal(2, 3, 2, 4), "key": normal(2, 3, 5, 4)},
    {"query": normal(2, 3, 6), "key": normal(2, 5, 6), "heads": 3},
    {"seed": 1, "token_count": 3, "dim": 4},
]
SCALARS: list[Any] = [
    None,
    True,
    0,
    1,
    -1,
    2,
    1.5,
    np.nan,
    np.inf,
    10**20,
    10**400,
    HUGE,
    "",
    "x",
    "nan",
    "1,2",
    "\0",
    "\ud800",
]
OBJECTS: list[Any] = [
    b"x",
    (),
    [],
    {},
    set(),
    object(),
    1j,
    len,
    int,
    np.float64,
    np.dtype("f4"),
    np.datetime64("2020"),
    np.ma.masked,
]
NAMES = [name for kind in kinds() for name in operators(kind)]
PARAMETERS = [
    parameter.name for kind in kinds() for record in operators(kind).values() for parameter in record.parameters
]


def an_array(choose: random.Random) -> Any:
    """An array of any shape and type, or nested lists."""
    shape = [choose.choice([0, 1, 2, 3, 4]) for _ in range(choose.randrange(6))]
    array = normal(*shape).astype(choose.choice(["float64", "float16", "int64", "bool", "complex64", "object", "U3"]))
    return choose.choice([array, array, array.tolist()])


def an_operator(choose: random.Random) -> Any:
    """The name of an operator, with parameters of its own or of others."""
    parameters = {choose.choice(PARAMETERS): choose.choice(SCALARS) for _ in range(choose.randrange(3))}
    return {choose.choice(NAMES): parameters}


def a_list(choose: random.Random) -> Any:
    """Any values in a list or a mapping."""
    values = [a_value(choose) for _ in range(choose.randrange(4))]
    return choose.choice([values, dict(zip(["a", 1, None], values, strict=False))])


def a_value(choose: random.Random) -> Any:
    """Any value that a key may be given."""
    makers: list[Callable[[random.Random], Any]] = [
        lambda choose: choose.choice(SCALARS),
        lambda choose: choose.choice(OBJECTS),
        an_array,
        an_operator,
        a_list,
    ]
    return choose.choices(makers, [3, 2, 3, 2, 1])[0](choose)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("error")
def test_a_malformed_problem_is_an_error_of_ours(seed: int) -> None:
    choose = random.Random(seed)
    for _ in range(500):
        keys = dict(choose.choice(PROBLEMS)) | {choose.choice(list(FIELDS)): a_value(choose)}
        with suppress(AttnError):
            Problem(**keys).compute(every_step=True)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"heads": HUGE}, "heads: <int too long to show> is not a whole number"),
        ({"tokens": [HUGE, 1, 2]}, "tokens: a number has too many digits for a label"),
        ({"align": HUGE}, "align: unknown word '<int too long to show>'"),
        ({"softcap": -HUGE}, "softcap: <int too long to show> is not a finite number"),
        ({"window": HUGE}, "window: <int too long to show> is not a window; expected LEFT,RIGHT, such as 2,0"),
        ({"query": [[np.float64]]}, "query, row 1, number 1:"),
        ({"query_tokens": np.float64}, "query_tokens: there is 1 label"),
    ],
    ids=["heads", "tokens", "align", "softcap", "window", "query", "query_tokens"],
)
def test_what_can_not_be_shown_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        Problem(**{"query": normal(3, 4), "key": normal(3, 4), **keys})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "keys", [{"window": (10**20, HUGE)}, {"score": {"gaussian": {"sigma": 1e300}}}], ids=["window", "sigma"]
)
def test_numbers_beyond_all_others_are_used(keys: dict[str, Any]) -> None:
    weights = Problem(query=normal(3, 4), key=normal(5, 4), **keys).compute().weights
    np.testing.assert_allclose(weights.sum(axis=-1), 1)
