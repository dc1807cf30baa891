"""What a block accumulates: exponentials of any scores, of heads that share keys, and of values that are infinite."""

from typing import Any

import numpy as np
import pytest

from attncli.engine import threads
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.engine.threads import ThreadsExecutor
from tests.arrays import normal
from tests.problems import dense_trace, problem

HEADS, GROUPS, KEYS, FEATURES = 6, 2, 37, 8
MASK = np.random.default_rng(7).random((5, KEYS)) < 0.6
PROBLEMS: list[dict[str, Any]] = [
    {},
    {"causal": True, "align": "bottom_right"},
    {"window": (9, 2)},
    {"mask": MASK},
    {"bias": np.where(normal(5, KEYS) > 1, -np.inf, normal(5, KEYS))},
    {"sink": normal(HEADS)},
    {"position": "alibi"},
    {"softcap": 1.5, "key_lengths": [20, 30]},
    {"normalize": "softmax1", "mask": MASK},
    {"normalize": "softmax:temperature=0.3"},
    {"normalize": "sigmoid"},
    {"normalize": "sum"},
]


def in_tiles(*, sizes: BlockSizes | None = None, executor: str = "serial", **keys: Any) -> np.ndarray:
    """The output in blocks of a few queries and tiles of a few keys."""
    options = RunOptions(executor, sizes=sizes or BlockSizes(0, 3, 3, 30, 4, 50, alone_multiplications=0))
    output: np.ndarray = run(problem(**keys), ("output",), options=options).output
    return output


def arrays(queries: int = 5) -> dict[str, np.ndarray]:
    """Two batch items of six query heads over two key heads."""
    shapes = {"query": (HEADS, queries, FEATURES), "key": (GROUPS, KEYS, FEATURES), "value": (GROUPS, KEYS, 3)}
    return {name: np.stack([normal(*shape), 2 * normal(*shape) + 0.1]) for name, shape in shapes.items()}


@pytest.mark.parametrize("keys", PROBLEMS, ids=str)
@pytest.mark.parametrize("cells", [15, 200])
def test_query_heads_that_share_a_key_head_attend_as_with_a_copy_each(keys: dict[str, Any], cells: int) -> None:
    given, sizes = arrays(), BlockSizes(0, 3, 3, cells, 4, 50, alone_multiplications=0)
    copied = given | {name: np.repeat(given[name], HEADS // GROUPS, axis=1) for name in ("key", "value")}
    expected = in_tiles(**copied, **keys, sizes=sizes)
    np.testing.assert_allclose(in_tiles(**given, **keys, sizes=sizes), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("keys", PROBLEMS, ids=str)
def test_one_query_attends_as_among_others(keys: dict[str, Any]) -> None:
    """The last one, with its row of the tables: decoding is the last row of the whole."""
    given = arrays()
    last = {name: table[-1:] for name in ("mask", "bias") if (table := keys.get(name)) is not None}
    one = given | {"query": given["query"][:, :, -1:]} | keys | last
    if "align" not in keys and ("window" in keys or "position" in keys):
        one["align"], keys = "bottom_right", keys | {"align": "bottom_right"}
    np.testing.assert_allclose(in_tiles(**one), in_tiles(**given | keys)[:, :, -1:], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("offset", [-1e4, -40, 200, 1e4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_number_added_to_all_scores_changes_nothing(offset: float, dtype: str) -> None:
    given = arrays()
    bias = normal(5, KEYS)
    shifted = in_tiles(**given, bias=bias + offset, dtype=dtype)
    close = {"float32": 4e-7 * max(abs(offset), 10), "float64": 1e-9}[dtype]
    np.testing.assert_allclose(shifted, in_tiles(**given, bias=bias, dtype=dtype), rtol=close, atol=close)


@pytest.mark.parametrize(("row", "size"), [(0, -900.0), (2, 900.0), (3, -900.0), (4, 900.0)])
def test_a_query_of_extreme_scores_leaves_the_others_as_they_are(row: int, size: float) -> None:
    given, bias = arrays(), np.zeros((5, KEYS))
    expected = in_tiles(**given)
    bias[row] = size
    others = [other for other in range(5) if other != row]
    np.testing.assert_allclose(in_tiles(**given, bias=bias)[:, :, others], expected[:, :, others], rtol=1e-12)


@pytest.mark.parametrize("offset", [-500, -40, 0, 40, 500])
def test_a_query_that_sees_no_key_has_the_context_0_beside_any_scores(offset: float) -> None:
    mask = MASK.copy()
    mask[[0, 3]] = False
    output = in_tiles(**arrays(), mask=mask, bias=np.full((5, KEYS), offset))
    assert (output[:, :, [0, 3]] == 0).all()
    assert (output[:, :, [1, 2, 4]] != 0).any(axis=-1).all()


@pytest.mark.parametrize("logit", [-2000.0, -50.0, 50.0, 2000.0])
def test_a_sink_takes_all_or_nothing_where_its_logit_is_extreme(logit: float) -> None:
    given = arrays()
    expected = in_tiles(**given) if logit < 0 else 0
    np.testing.assert_allclose(in_tiles(**given, sink=np.full(HEADS, logit)), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e300])
def test_the_value_of_a_masked_key_counts_for_nothing_whatever_it_is(value: float) -> None:
    given, hidden = arrays(), np.arange(KEYS) % 9 == 4
    expected = in_tiles(**given, mask=np.tile(~hidden, (5, 1)))
    given["value"][:, :, hidden] = value
    np.testing.assert_allclose(in_tiles(**given, mask=np.tile(~hidden, (5, 1))), expected, rtol=1e-12, atol=1e-13)


def test_an_infinite_value_that_is_attended_is_in_the_context_of_its_feature_alone() -> None:
    given = arrays()
    expected = in_tiles(**given)
    given["value"][1, 0, 11, 2] = np.inf
    output = in_tiles(**given)
    assert (output[1, :3, :, 2] == np.inf).all()
    output[1, :3, :, 2] = expected[1, :3, :, 2]
    np.testing.assert_allclose(output, expected, rtol=1e-12)


@pytest.mark.parametrize("keys", PROBLEMS, ids=str)
def test_any_number_of_workers_gives_the_same_last_digits(keys: dict[str, Any], monkeypatch: Any) -> None:
    given, submit, submitted = arrays(), ThreadsExecutor.submit, []
    monkeypatch.setattr(ThreadsExecutor, "submit", lambda *task: submitted.append(task) or submit(*task))
    serial = in_tiles(**given, **keys, dtype="float32")
    for count in (2, 5):
        monkeypatch.setattr(threads, "cores", lambda count=count: count)
        threads._threads.cache_clear()
        np.testing.assert_array_equal(in_tiles(**given, **keys, dtype="float32", executor="threads"), serial)
    threads._threads.cache_clear()
    assert submitted


@pytest.mark.parametrize("size", [1.0, 8.0, 60.0])
def test_scores_of_any_size_in_a_large_problem_are_those_of_its_rows(size: float) -> None:
    query, key, value = size * normal(3, 1024, 8), normal(3, 1024, 8), normal(3, 1024, 4)
    whole = in_tiles(query=query[None], key=key[None], value=value[None], sizes=BlockSizes(0))
    for head in range(3):
        for at in (0, 500, 1023):
            one = in_tiles(query=query[head, at : at + 1], key=key[head], value=value[head])
            np.testing.assert_allclose(whole[0, head, at], one[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "keys", [{}, {"causal": True, "align": "bottom_right"}, {"mask": MASK}, {"sink": normal(HEADS)}]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_bias_of_minus_infinity_in_tiles_hides_what_a_mask_hides(keys: dict[str, Any], dtype: str) -> None:
    """Also all the keys of a query, between others of which it hides none."""
    visible = np.random.default_rng(3).random((5, KEYS)) < 0.5
    visible[[0, -1]], visible[2] = True, False
    given = {**arrays(), "dtype": dtype}
    expected = in_tiles(**given, **{**keys, "mask": visible & keys.get("mask", True)})
    found = in_tiles(**given, **keys, bias=np.where(visible, 0, -np.inf))
    assert not found[..., 2, :].any()
    close = {"float32": 2e-6, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(found, expected, rtol=close, atol=close)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_columns_that_a_bias_lacks_are_hidden_also_where_it_hides_others(dtype: str) -> None:
    given, bias = {**arrays(), "dtype": dtype}, np.where(MASK, normal(5, KEYS), -np.inf)
    visible = MASK & (np.arange(KEYS) < 20)
    expected = in_tiles(**given, mask=visible, bias=np.where(visible, bias, 0))
    close = {"float32": 2e-6, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(in_tiles(**given, bias=bias[:, :20]), expected, rtol=close, atol=close)


def test_a_key_that_is_no_number_contributes_nothing_where_a_bias_hides_it() -> None:
    given, bias = arrays(), normal(5, KEYS)
    bias[:, 7] = -np.inf
    expected = in_tiles(**given, bias=bias)
    given["key"][..., 7, :] = np.nan
    np.testing.assert_allclose(in_tiles(**given, bias=bias), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "keys", [keys for keys in PROBLEMS if keys.get("normalize") not in ("sigmoid", "sum")], ids=str
)
@pytest.mark.parametrize("size", [1.0, 60.0])  # of scores whose exponentials are summed as they are, and of others
def test_tiles_have_the_log_sum_exp_of_whole_rows(keys: dict[str, Any], size: float) -> None:
    given = arrays()
    spec = problem(**{**given, "query": size * given["query"]}, **keys)
    whole = dense_trace(spec)["lse"].value
    for select in (("lse",), ("output", "lse"), ("lse", "weights")):  # the last in whole rows
        for sizes in (BlockSizes(0, 3, 3, 30, 4, 50, alone_multiplications=0), BlockSizes(0)):
            found = run(spec, select, options=RunOptions("serial", sizes=sizes))
            np.testing.assert_allclose(found.lse, whole, rtol=1e-13, atol=1e-13)
            tables = [step.name for step in found.trace if step.node.is_pair_table and not step.node.is_input]
            assert tables == (["weights"] if "weights" in select else [])


@pytest.mark.parametrize(
    ("keys", "expected"), [({}, -np.inf), ({"normalize": "softmax1"}, 0.0), ({"sink": np.full(HEADS, 7.5)}, 7.5)]
)
@pytest.mark.parametrize("mask", [np.zeros((5, KEYS), bool), None], ids=["a table", "lengths"])
def test_the_log_sum_exp_of_a_query_without_keys_is_what_is_left(
    keys: dict[str, Any], expected: float, mask: Any
) -> None:
    hidden = {"key_lengths": [0, 0]} if mask is None else {"mask": mask}
    found = run(problem(**arrays(), **hidden, **keys), ("lse",), options=RunOptions("serial", sizes=BlockSizes(0)))
    assert np.array_equal(found.lse, np.full((2, HEADS, 5), expected))
    assert not [note for step in found.trace for note in step.notes if "inf" in note]


def test_the_log_sum_exp_of_many_keys_needs_no_table() -> None:
    query, key = normal(3, 8).astype(np.float32), normal(65_536, 8).astype(np.float32)
    result = run(problem(query=query, key=key), ("lse",))
    scores = query.astype(np.float64) @ key.T.astype(np.float64) / np.sqrt(8)
    np.testing.assert_allclose(result.lse, np.logaddexp.reduce(scores, axis=1), rtol=1e-6)
    assert "scores" not in result.trace
