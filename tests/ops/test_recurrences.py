"""Recurrences: loops by hand, chunks of any size, a state that is handed on, and attention without softmax."""

from typing import Any

import numpy as np
import pytest

from attncli.api.attention import attention
from attncli.api.check import check
from attncli.base.errors import AttnError
from attncli.ops import operators
from attncli.ops.records import OperatorRecord
from attncli.ops.recurrences import present_state
from attncli.ops.states import in_chunks, map_features, tokens_of

RECURRENCES = operators("recurrence")
N, D, E = 130, 4, 3
every = pytest.mark.parametrize("record", RECURRENCES.values(), ids=RECURRENCES)


def tokens(record: OperatorRecord, *leading: int, count: int = N, of_features: bool = False) -> dict[str, np.ndarray]:
    """What a recurrence reads of random tokens, with keys of length 1, decays below 0 and rates from 0 to 1."""
    random = np.random.default_rng(len(record.name))
    key = random.standard_normal((*leading, count, D))
    arrays = {
        "query": random.standard_normal((*leading, count, D)),
        "key": key / np.linalg.norm(key, axis=-1, keepdims=True),
        "value": random.standard_normal((*leading, count, E)),
        "decay": -random.random((*leading, count, *([D] if of_features else []))),
        "beta": random.random((*leading, count)),
        "past_state": random.standard_normal((*leading, D, E)),
    }
    return {name: array for name, array in arrays.items() if name in record.shapes.arrays}


def without_query(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a state is made of: nothing is read of it."""
    return {name: array for name, array in arrays.items() if name != "query"}


def by_hand(arrays: dict[str, np.ndarray], scale: float) -> tuple[np.ndarray, np.ndarray]:
    """The output and the last state of one head, number by number, from the definition."""
    state = arrays["past_state"].tolist()
    output = []
    for i, (q, k, v) in enumerate(zip(arrays["query"], arrays["key"], arrays["value"], strict=True)):
        decay = np.broadcast_to(arrays["decay"][i], D) if "decay" in arrays else np.zeros(D)
        state = [[np.exp(decay[d]) * state[d][e] for e in range(E)] for d in range(D)]
        for e in range(E):
            written = v[e]
            if "beta" in arrays:
                written = arrays["beta"][i] * (v[e] - sum(state[d][e] * k[d] for d in range(D)))
            for d in range(D):
                state[d][e] += k[d] * written
        output.append([scale * sum(q[d] * state[d][e] for d in range(D)) for e in range(E)])
    return np.array(output), np.array(state)


@every
@pytest.mark.parametrize("of_features", [False, True])
def test_a_recurrence_is_its_loop_by_hand(record: OperatorRecord, of_features: bool) -> None:
    arrays = tokens(record, count=9, of_features=of_features)
    output, state = by_hand(arrays, 0.3)
    np.testing.assert_allclose(record.function(**arrays, scale=0.3), output, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(present_state(**without_query(arrays)), state, rtol=1e-12, atol=1e-13)


@every
def test_the_scale_is_one_over_the_root_of_the_features_unless_it_is_given(record: OperatorRecord) -> None:
    arrays = tokens(record, count=3)
    np.testing.assert_allclose(record.function(**arrays), record.function(**arrays, scale=0.5), rtol=1e-14)


@every
@pytest.mark.parametrize("size", [1, 7, 64, N])
@pytest.mark.parametrize("of_features", [False, True])
def test_chunks_of_any_size_are_the_steps(record: OperatorRecord, size: int, of_features: bool) -> None:
    arrays = tokens(record, 2, 3, of_features=of_features)
    states: dict[str, np.ndarray] = {}
    steps = record.function(**arrays, scale=1.0, tap=states.setdefault)
    output, state = in_chunks(tokens_of(arrays, 1.0), size)
    np.testing.assert_allclose(output, steps, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(state, states["states"][..., -1, :, :], rtol=1e-12, atol=1e-12)


@every
def test_many_tokens_are_computed_in_chunks_to_the_same_numbers(record: OperatorRecord) -> None:
    arrays = tokens(record)
    tapped = record.function(**arrays, tap=lambda _, x: x)
    np.testing.assert_allclose(record.function(**arrays), tapped, rtol=1e-12, atol=1e-12)


@every
def test_a_state_that_is_handed_on_continues_the_whole(record: OperatorRecord) -> None:
    arrays = tokens(record, 2)
    rows = [name for name in arrays if name != "past_state"]
    at = {name: -1 if name in ("decay", "beta") else -2 for name in rows}
    first, second = ({name: np.split(arrays[name], [50], at[name])[part] for name in rows} for part in (0, 1))
    state = present_state(**without_query(first), past_state=arrays["past_state"])
    parts = [
        record.function(**first, past_state=arrays["past_state"]),
        record.function(**second, past_state=state),
    ]
    np.testing.assert_allclose(np.concatenate(parts, axis=-2), record.function(**arrays), rtol=1e-12, atol=1e-12)
    ends = (present_state(**without_query(second), past_state=state), present_state(**without_query(arrays)))
    np.testing.assert_allclose(*ends, rtol=1e-12)


@pytest.mark.parametrize("feature_map", ["elu+1", "relu", "softmax"])
def test_normalized_outputs_are_averages_of_the_values_by_products_of_features(feature_map: str) -> None:
    random = np.random.default_rng(0)
    query, key, value = random.random((20, D)), random.random((20, D)), random.standard_normal((20, E))
    maps = {
        "elu+1": lambda x: np.array([[a + 1 if a > 0 else np.exp(a) for a in row] for row in x]),
        "relu": lambda x: np.array([[max(a, 0) for a in row] for row in x]),
        "softmax": lambda x: np.array([np.exp(row) / sum(np.exp(row)) for row in x]),
    }
    weights = np.tril(maps[feature_map](query) @ maps[feature_map](key).T)
    expected = weights / weights.sum(axis=1, keepdims=True) @ value
    output = RECURRENCES["linear"].function(query, key, value, feature_map=feature_map, normalize=True)
    np.testing.assert_allclose(output, expected, rtol=1e-12)


def test_the_squared_length_has_eps_added_before_its_root() -> None:
    np.testing.assert_allclose(map_features(np.array([[3.0, 4.0]]), "l2", 11.0), [[3 / 6, 4 / 6]])


def test_without_decay_the_last_row_is_attention_without_softmax() -> None:
    random = np.random.default_rng(1)
    query, key, value = (random.standard_normal((6, size)) for size in (D, D, E))
    recurrent = attention(query, key, value, recurrence="linear").output
    scores = attention(query, key, value, select="scores").scores
    np.testing.assert_allclose(recurrent[-1], scores[-1] @ value, rtol=1e-12)


def test_key_heads_fewer_than_query_heads_repeat_the_state() -> None:
    random = np.random.default_rng(2)
    query, key = random.standard_normal((1, 4, 5, D)), random.standard_normal((1, 2, 5, D))
    decay, beta, past_state = -random.random((1, 2, 5)), random.random((1, 2, 5)), random.random((1, 2, D, D))
    keys: dict[str, Any] = {"recurrence": "gated_delta", "decay": decay, "beta": beta, "past_state": past_state}
    found = attention(query, key, **keys, select=["output", "present_state"])
    for head in range(4):
        own = {name: keys[name][0, head // 2] for name in ("decay", "beta", "past_state")}
        alone = attention(
            query[0, head], key[0, head // 2], recurrence="gated_delta", **own, select=["output", "present_state"]
        )
        np.testing.assert_allclose(found.output[0, head], alone.output, rtol=1e-12)
        np.testing.assert_allclose(found.present_state[0, head // 2], alone.present_state, rtol=1e-12)
    # As past_state has them, so that one is the other of the next call.
    assert found.present_state.shape == past_state.shape
    following = attention(query, key, **{**keys, "past_state": found.present_state}).output
    ends = attention(
        np.concatenate([query, query], 2),
        np.concatenate([key, key], 2),
        recurrence="gated_delta",
        decay=np.concatenate([decay, decay], 2),
        beta=np.concatenate([beta, beta], 2),
        past_state=past_state,
    ).output
    np.testing.assert_allclose(following, ends[:, :, 5:], rtol=1e-12)


def test_a_decay_of_each_query_head_makes_a_state_of_each() -> None:
    random = np.random.default_rng(4)
    query, key = random.standard_normal((1, 4, 5, D)), random.standard_normal((1, 2, 5, D))
    decay = -random.random((1, 4, 5))
    found = attention(query, key, recurrence="gated", decay=decay, select=["present_state"]).present_state
    # By hand: what each token writes is kept by the product of the decays after it.
    kept = np.exp(decay[..., ::-1].cumsum(-1)[..., ::-1] - decay)
    by_head = np.repeat(key, 2, axis=1)
    np.testing.assert_allclose(found, np.einsum("bhn,bhnd,bhne->bhde", kept, by_head, by_head), rtol=1e-12)


def test_one_decay_of_each_head_is_that_of_every_token() -> None:
    random = np.random.default_rng(3)
    query = random.standard_normal((2, 3, 5, D))
    slopes = -random.random((3, 1))
    every_token = np.broadcast_to(slopes, (2, 3, 5))
    outputs = [attention(query, query, recurrence="gated", decay=decay).output for decay in (slopes, every_token)]
    np.testing.assert_array_equal(*outputs)


@pytest.mark.parametrize(
    ("slopes", "kept"),
    [
        ("retnet", [1 - 1 / 32, 1 - 1 / 64, 1 - 1 / 128, 1 - 1 / 256]),
        ("lightning:layer=2,layers=5", [np.exp(-0.5 * (1 / 4) ** head) for head in (1, 2, 3, 4)]),
    ],
)
def test_heads_keep_what_those_of_a_publication_keep(slopes: str, kept: list[float]) -> None:
    x = np.random.default_rng(0).standard_normal((2, 4, 5, 3))
    name, _, layer = slopes.partition(":")
    published = f"gated:slopes={name}{',' if layer else ''}{layer}"
    expected = attention(x, x, recurrence="gated", decay=np.log(kept)[:, None]).output
    np.testing.assert_allclose(attention(x, x, recurrence=published).output, expected, rtol=1e-4)
    assert attention(x.astype("float32"), x.astype("float32"), recurrence=published).output.dtype == np.float32
    grads = ["grad_query", "grad_key"]
    given = attention(x, x, recurrence="gated", decay=np.log(kept)[:, None], grad_output=x, select=grads)
    found = attention(x, x, recurrence=published, grad_output=x, select=grads)
    for name in grads:
        np.testing.assert_allclose(getattr(found, name), getattr(given, name), rtol=1e-3, atol=1e-4)


ONES = {"query": np.ones((2, 1)), "key": np.ones((2, 1)), "value": np.ones((2, 1))}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"recurrence": "gated"}, "decay: gated reads decay, which is not given"),
        ({"recurrence": "delta"}, "beta: delta reads beta, which is not given"),
        ({"recurrence": "gated", "decay": [0, 0, 0]}, "decay has 3 queries"),
        ({"recurrence": "gated", "decay": np.zeros((1, 2, 3))}, r"decay: has 3 axes; expected \[n\] or \[n d\]"),
        ({"recurrence": "linear", "past_state": [[1, 2]]}, "past_state has 2 value features"),
        ({"recurrence": "linear", "only": ["0"]}, "only: linear has a state"),
        ({"recurrence": "linear", "past_key": [[1]], "past_value": [[1]]}, "give past_state"),
        ({"recurrence": "linear", "context": "argmax"}, "context: recurrence and context are both given"),
        ({"recurrence": "linear:normalize=true", "past_state": [[1]]}, "the sum of the earlier keys"),
        ({"recurrence": "linear", "query": np.ones((3, 1))}, "recurrence: key has 2 rows"),
        ({"recurrence": "linear", "select": "weights"}, "linear has a state instead"),
        ({"select": "present_state"}, "there is no recurrence"),
        ({"recurrence": "linear", "key_lengths": 1}, "every token of recurrence linear is read"),
        ({"recurrence": "linear", "key_mask": [1, 0]}, "every token of recurrence linear is read"),
        ({"recurrence": "linear", "cu_seqlens": [0, 1, 2]}, "give one problem for each sequence"),
    ],
)
def test_what_contradicts_a_recurrence_is_an_error(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError, match=message):
        attention(**{**ONES, **keys})


def test_a_check_names_a_factor_and_works_the_worst_number_out() -> None:
    keys: dict[str, Any] = {
        "query": [[1, 0], [0, 1], [1, 1]],
        "key": [[1, 0], [0, 1], [1, 0]],
        "value": [[1, 2], [3, 4], [5, 6]],
        "recurrence": "gated_delta",
        "decay": [0, -0.5, -0.25],
        "beta": [1, 0.5, 0.5],
    }
    output = attention(**keys).output
    assert check(against={"output": output}, **keys).agrees
    report = str(check(against={"output": 1.1 * output}, **keys))
    assert "The output is 1.1 times too large." in report
    assert "read back = 1·[0.4724 0.9447] + 0·[1.1682 1.5576] = [0.4724 0.9447]" in report
    assert "corrected = 0.5·([5 6] − [0.4724 0.9447]) = [2.2638 2.5276]" in report
