"""Every array of a problem with another length on one of its axes is an error that names a key, or is computed."""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from attncli import AttnError, Problem
from attncli.plan.build import plan_of
from attncli.problem.spec import FIELDS
from tests.arrays import normal
from tests.problems import PROBLEMS as ALL_PROBLEMS

# Batch items, query heads, key heads, queries, new and cached keys; features of both sequences, of heads, and
# of the output.
B, H, G, N, K, P, X, Y, D, E, F = 3, 9, 3, 5, 7, 2, 11, 13, 4, 6, 17
M = K + P
HEADS = {"heads": H, "kv_heads": G}
TWO_SEQUENCES: Mapping[str, Any] = {
    **HEADS,
    "embeddings": normal(B, K, X),
    "query_embeddings": normal(B, N, Y),
    "w_o": normal(H * E, F),
    "b_o": normal(F),
    "bias": normal(N, K),
    "key_mask": np.ones((B, K)),
}
# A problem for each way to give its arrays, each with the arrays that go with it.
PROBLEMS: Mapping[str, Mapping[str, Any]] = {
    "projected": {
        **TWO_SEQUENCES,
        "tokens": list("abcdefg"),
        "query_tokens": list("abcde"),
        "w_q": normal(Y, H * D),
        "b_q": normal(H * D),
        "w_k": normal(X, G * D),
        "b_k": normal(G * D),
        "w_v": normal(X, G * E),
        "b_v": normal(G * E),
        "w_g": normal(Y, H * E),
        "b_g": normal(H * E),
    },
    "heads on an axis": {
        "query": normal(B, H, N, D),
        "key": normal(B, G, K, D),
        "value": normal(B, G, K, E),
        "past_key": normal(B, G, P, D),
        "past_value": normal(B, G, P, E),
        "bias": normal(B, H, N, M),
        "mask": normal(B, H, N, M) > 0,
        "key_mask": np.ones((B, M)),
        "sink": normal(H),
        "position": "rope",
        "positions": np.arange(B * K).reshape(B, K),
        "positions_of_queries": np.arange(B * N).reshape(B, N),
    },
    "padding": {
        "query": normal(B, N, D),
        "key": normal(B, K, D),
        "key_lengths": [1, 2, 3],
        "key_mask": np.ones((B, K)),
        "mask": np.ones((N, K)),
    },
    "packed": {
        **HEADS,
        "residual": normal(B, K, X),
        "residual_norm": "rms",
        "key_mask": np.ones((B, K)),
        "w_qkv": normal(X, (H + G) * D + G * E),
        "b_qkv": normal((H + G) * D + G * E),
        "d_k": H * D,
        "d_v": H * E,
    },
    "keys and values packed": {
        **TWO_SEQUENCES,
        "w_q": normal(Y, H * D),
        "w_kv": normal(X, G * (D + E)),
        "b_kv": normal(G * (D + E)),
        "d_k": H * D,
    },
    "queries and gates packed": {
        **TWO_SEQUENCES,
        "w_qg": normal(Y, H * (D + E)),
        "b_qg": normal(H * (D + E)),
        "w_k": normal(X, G * D),
        "w_v": normal(X, G * E),
        "d_k": H * D,
    },
    "tokens that are looked up": {
        "tokens": [1, 0, 3],
        "token_table": normal(4, X),
        "token_positions": normal(5, X),
        "token_types": normal(2, X),
        "token_type_ids": [1, 0, 0],
        "key_mask": np.ones(3),
        "w_q": normal(X, D),
        "w_k": normal(X, D),
    },
    "given scores": {
        "scores": normal(B, H, N, K),
        "value": normal(B, G, K, E),
        "mask": normal(N, K) > 0,
        "w_o": normal(H * E, F),
        "b_o": normal(F),
    },
    "given weights": {
        "weights": normal(B, H, N, K),
        "value": normal(B, G, K, E),
        "w_o": normal(H * E, F),
        "b_o": normal(F),
    },
}
# Tables may have more rows than are looked up; nothing else has the queries of weights; columns that masks lack are
# hidden.
UNBOUND = {("token_table", 0), ("token_positions", 0), ("token_types", 0), ("weights", 2), ("page_table", 1)}
CONTRADICTED = "heads can't share|labels for|token_table has"  # by heads, labels or rows that are counted
MAY_BE_SHORT = {("mask", -1), ("bias", -1), ("grad_output", -4), ("index_scores", -3)}  # one batch item broadcasts


KNOWN = {name for keys in PROBLEMS.values() for name in keys}
# The arrays that none of these problems has, with the problems that have them.
OTHERS = [
    (title, keys, name)
    for title, keys in ALL_PROBLEMS.items()
    for name in keys
    if name not in KNOWN and FIELDS[name].is_array
]


def cases() -> Iterator[Any]:
    """One more and one less on each axis of each array of each problem."""
    own = [(title, keys, name) for title, keys in PROBLEMS.items() for name in keys]
    for (title, keys, name), more in product(own + OTHERS, (1, -1)):
        value = keys[name]
        count = np.ndim(value) if FIELDS[name].letters else 0
        for axis in range(count):
            may_be_short = more < 0 and (name, axis - count) in MAY_BE_SHORT
            if (name, axis) not in UNBOUND and not may_be_short:
                yield pytest.param(keys, name, axis, more, id=f"{title}-{name}-{axis}-{more}")


@pytest.mark.parametrize(("keys", "name", "axis", "more"), list(cases()))
def test_another_length_is_an_error_that_names_the_key(
    keys: Mapping[str, Any], name: str, axis: int, more: int
) -> None:
    array = np.asarray(keys[name])
    other = np.take(array, range(array.shape[axis] + more), axis, mode="wrap")
    with pytest.raises(AttnError, match=rf"\b{name}\b|{CONTRADICTED}"):
        plan_of(Problem(**{**keys, name: other}).spec)  # which knows the shape of the output


def arrays_of(keys: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], np.ndarray]]:
    """The arrays of a problem, those of operators too, and where each is: `w_q`, or `score`, `additive`, `w1`."""
    for name, value in keys.items():
        if FIELDS[name].is_array and np.ndim(value):
            yield (name,), np.asarray(value)
        for operator, parameters in value.items() if isinstance(value, dict) else ():
            for parameter, array in parameters.items():
                if np.ndim(array):
                    yield (name, operator, parameter), np.asarray(array)


def with_array(keys: Mapping[str, Any], path: tuple[str, ...], array: np.ndarray) -> dict[str, Any]:
    """The keys of a problem with another array at a path."""
    first, *rest = path
    return {**keys, first: with_array(keys[first], tuple(rest), array) if rest else array}


def error_of(keys: Mapping[str, Any]) -> str:
    """What is wrong with a problem; "" where it is computed."""
    try:
        Problem(**keys).compute()
    except AttnError as error:
        return str(error)
    return ""


def misshapen(array: np.ndarray) -> Iterator[np.ndarray]:
    """An array with another length on each of its axes, with an axis less or more, and one of its numbers."""
    for axis, length in enumerate(array.shape):
        for other in {0, 1, length - 1, length + 1, 2 * length} - {length}:
            yield np.take(array, range(other), axis, mode="wrap")
    yield from (array[0], array[None], array[..., None], array.flat[0])


@pytest.mark.parametrize("keys", ALL_PROBLEMS.values(), ids=ALL_PROBLEMS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_misshapen_array_is_computed_or_an_error_that_names_a_key(keys: Mapping[str, Any]) -> None:
    arrays = list(arrays_of(keys))
    names = "|".join({*keys, "heads", "kv_heads", *(path[-1] for path, _ in arrays)})
    for path, array in arrays:
        for cells in misshapen(array):
            error = error_of(with_array(keys, path, cells))
            assert not error or re.search(rf"\b({names})\b", error), (path, array.shape, np.shape(cells), error)


@pytest.mark.parametrize("keys", PROBLEMS.values(), ids=PROBLEMS)
def test_the_lengths_that_are_given_here_fit(keys: Mapping[str, Any]) -> None:
    Problem(**keys)


def test_every_array_has_axes_and_is_given_here() -> None:
    arrays = {name for name, field in FIELDS.items() if field.is_array} - {"vocabulary"}
    assert {name for name in arrays if not FIELDS[name].letters} == set()
    assert arrays - KNOWN == {name for _, _, name in OTHERS}
