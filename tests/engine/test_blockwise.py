"""The blockwise engine agrees with the dense one, for blocks and tiles of any size."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from itertools import cycle, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncli.base.dtypes import Precision
from attncli.engine import threads
from attncli.engine.blocks import Lengths, make_blocks
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.engine.threads import ThreadsExecutor
from attncli.ops import operators
from attncli.ops.records import OperatorRecord
from attncli.plan.graph import GRADIENT
from attncli.plan.trace import Trace
from attncli.problem.fields import LSE
from attncli.problem.operators import named_masks
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.problems import WITH_TABLES, M, dense_trace, problem

CLOSE = {"float32": 2e-6, "bfloat16": 4e-2, "float16": 4e-3}


def run_in_blocks(spec: ProblemSpec, select: tuple[str, ...], size: int) -> Trace:
    """Compute a problem in blocks of so many queries, tiles of so many keys."""
    sizes = BlockSizes(0, size, size, size * size, size, size * M, alone_multiplications=0)
    return run(spec, select, options=RunOptions("serial", sizes=sizes)).trace


def assert_close(in_blocks: np.ndarray, whole: np.ndarray, dtype: str | None, name: str) -> None:
    close = CLOSE.get(dtype or "", 1e-12)
    largest = np.abs(whole[np.isfinite(whole)]).max(initial=1)  # sums of such numbers may cancel
    np.testing.assert_allclose(
        in_blocks.astype(float), whole.astype(float), rtol=close, atol=close * float(largest), err_msg=name
    )
    assert in_blocks.shape == whole.shape
    assert in_blocks.dtype == whole.dtype


def in_turn(*sizes: int) -> Iterator[tuple[str, int]]:
    """Each problem with one of these sizes."""
    return zip(WITH_TABLES, cycle(sizes))


@cache
def dense(name: str) -> Trace:
    """Every step of one of PROBLEMS, by the dense engine."""
    return dense_trace(problem(**WITH_TABLES[name]))


@pytest.mark.parametrize(("name", "size"), [*product(WITH_TABLES, [3]), *in_turn(M + 2, 1)])
def test_the_output_in_tiles_is_the_dense_output(name: str, size: int) -> None:
    expected = dense(name)
    spec = expected.problem
    result = spec.default_selection[-1]  # the output, or without values the weights
    in_blocks = run_in_blocks(spec, (result,), size)
    assert_close(in_blocks[result].value, expected[result].value, spec.dtype, result)
    assert [note for note in in_blocks.notes if "no key is visible" in note] == [
        note for note in expected.notes if "no key is visible" in note
    ]


@pytest.mark.parametrize("name", WITH_TABLES)
def test_the_output_of_little_work_in_one_block_is_the_dense_output(name: str) -> None:
    spec = dense(name).problem
    result = spec.default_selection[-1]
    in_blocks = run(spec, (result,), options=RunOptions(sizes=BlockSizes(dense_cells=0))).trace
    assert_close(in_blocks[result].value, dense(name)[result].value, spec.dtype, result)


@pytest.mark.parametrize(("name", "size"), [*product(WITH_TABLES, [3]), *in_turn(1, M + 2)])
def test_every_step_in_blocks_is_the_dense_step(name: str, size: int) -> None:
    expected = dense(name)
    spec, names = expected.problem, tuple(step.name for step in expected.steps)
    in_blocks = run_in_blocks(spec, names, size)
    assert sorted(in_blocks.notes) == sorted(expected.notes)
    for step in expected.steps:
        close = None if spec.dtype == "bfloat16" and step.name == "draws" else spec.dtype
        assert_close(in_blocks[step.name].value, step.value, close, step.name)
        assert in_blocks[step.name].axes == step.axes


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_output_of_a_narrow_type_is_that_of_float32_rounded_once(dtype: str) -> None:
    precision = Precision(dtype)
    given = {name: precision.round(normal(1, 2, M, 4).astype(np.float32)) for name in ("query", "key", "value")}
    narrow, wide = (
        run_in_blocks(problem(**given, dtype=x), ("output",), 3).value("output") for x in (dtype, "float32")
    )
    np.testing.assert_array_equal(narrow, precision.round(wide))


def test_problems_that_differ_in_the_sign_of_a_zero_are_computed_each_for_itself() -> None:
    specs = [
        problem(query=np.ones((3, 2)), key=np.ones((3, 2)), score={"cosine": {"beta": beta}}) for beta in (0.0, -0.0)
    ]
    zeros = [run_in_blocks(spec, ("scores",), 2).value("scores") for spec in specs]
    assert [np.signbit(scores).all() for scores in zeros] == [False, True]


@pytest.mark.parametrize("name", WITH_TABLES)
def test_where_only_weights_are_selected_blocks_end_with_them(name: str) -> None:
    """What is computed from the weights is not, unless it is selected too; given weights go to the context.

    Weights are 0 where a block skips masked keys.
    """
    expected = dense(name)
    spec, results = replace(expected.problem, grad_output=None), expected.plan.results  # as no gradient is selected
    in_blocks = run_in_blocks(spec, ("weights",), 3)
    assert_close(in_blocks["weights"].value, expected["weights"].value, spec.dtype, "weights")
    np.testing.assert_array_equal(in_blocks["weights"].value == 0, expected["weights"].value == 0)
    after = {results.get("context", ""), results.get("output", "")} - {""}
    if not expected.plan["weights"].is_input:
        assert results["weights"] in in_blocks.by_name
        assert not after & set(in_blocks.by_name)
    if after:
        assert results["context"] in run_in_blocks(spec, ("weights", "context"), 3).by_name


def test_few_scores_with_a_large_hidden_layer_are_computed_in_blocks_unless_every_step_is_asked_for() -> None:
    score = {"additive": {"w1": normal(3, 40, seed=1), "w2": normal(3, 40, seed=2), "v": normal(40, seed=3)}}
    small, large = (
        problem(query=normal(n, 3, seed=4), key=normal(n, 3, seed=5), value=normal(n, 3, seed=6), score=score)
        for n in (100, 130)
    )
    assert "hidden" in run(small, ("output",)).trace
    in_blocks, whole = run(large, ("output",)).trace, run(large, ("output",), every_step=True).trace
    assert "hidden" not in in_blocks
    assert whole["hidden"].value.shape == (130, 130, 40)
    assert_close(in_blocks["output"].value, whole["output"].value, "float64", "output")


def test_one_query_of_heads_that_share_many_keys_is_computed_in_blocks_without_repeating_these() -> None:
    """It has few scores, but all of its heads have a million numbers in their keys."""
    query = normal(1, 8, 1, 64, seed=1).astype(np.float32)
    for keys, is_kept in ((600, True), (2000, False)):
        key, value = (normal(1, 2, keys, 64, seed=seed).astype(np.float32) for seed in (2, 3))
        ran = run(problem(query=query, key=key, value=value), ("output",)).trace
        assert ("weights" in ran) == is_kept
        wide = [np.repeat(x.astype(np.longdouble), 4, axis=1) for x in (key, value)]
        weights = np.exp(query @ wide[0].mT / 8)
        expected = weights @ wide[1] / weights.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(ran["context"].value, expected.astype(float), rtol=0, atol=1e-7)


@pytest.mark.parametrize(("heads", "rows", "blocks"), [(32, 1, 2), (32, 31, 4), (8, 1, 2), (32, 64, 8)])
def test_heads_of_few_queries_over_many_keys_are_several_blocks(heads: int, rows: int, blocks: int) -> None:
    """As many as if there were 16 queries: reading the keys is most of the work, and every worker has a part of it."""
    made = list(make_blocks(Lengths(1, heads, heads, rows, 2048), 1024, 2048, 2**19))
    assert len(made) == blocks
    assert sum(block.heads.stop - block.heads.start for block in made) == heads


@pytest.mark.parametrize(("keys", "blocks"), [(16, 2), (40, 6), (64, 8), (1000, 8)])
def test_blocks_have_more_queries_where_there_are_few_keys(keys: int, blocks: int) -> None:
    """Of 512 queries 64 at a time, as tiles of 64 keys allow; of fewer keys up to four times as many."""
    query, (key, value) = normal(512, 3, seed=1), (normal(keys, 3, seed=seed) for seed in (2, 3))
    spec, totals = problem(query=query, key=key, value=value), set[int]()
    sizes = BlockSizes(0, rows=64, tile_cells=64**2, alone_multiplications=0)
    options = RunOptions("serial", progress=lambda _, total: totals.add(total), sizes=sizes)
    output = run(spec, ("output",), options=options).output
    assert totals == {blocks}
    np.testing.assert_allclose(output, dense_trace(spec)["output"].value, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("items", "heads", "queries", "blocks"),
    [(1, 1, 1024, 16), (1, 1, 128, 2), (1, 1, 64, 2), (1, 4, 1024, 32), (4, 1, 1024, 32), (2, 2, 1024, 32)],
)
def test_masked_queries_are_in_large_blocks_where_these_are_several_of_one_head(
    items: int, heads: int, queries: int, blocks: int
) -> None:
    """Blocks of 64 queries; of 32 where there would be one, and of four heads, whose square tiles are large enough."""
    query, key, value = (normal(items, heads, queries, 3, seed=seed) for seed in range(3))
    totals = set[int]()
    sizes = BlockSizes(0, masked_rows=64, tile_cells=64**2, alone_multiplications=0)
    options = RunOptions("serial", progress=lambda _, total: totals.add(total), sizes=sizes)
    run(problem(query=query, key=key, value=value, causal=True), ("output",), options=options)
    assert totals == {blocks}


@pytest.mark.parametrize(
    ("shape", "keys", "blocks", "are_woken"),  # of query heads, key heads, queries, keys and features
    [
        ((1, 1, 370, 370, 64), {}, 1, False),
        ((1, 1, 600, 600, 64), {}, 2, True),
        ((12, 12, 110, 110, 64), {}, 1, False),
        ((12, 12, 110, 110, 64), {"dtype": "float64"}, 2, True),
        ((1, 1, 370, 370, 16), {"dtype": "longdouble"}, 2, True),  # which is not multiplied by BLAS
        ((12, 12, 110, 110, 256), {}, 2, True),
        ((32, 8, 1, 1024, 128), {}, 1, False),
        ((32, 8, 1, 2048, 128), {}, 2, True),  # most of the work is to read the keys and values
        ((1, 1, 370, 370, 64), {"causal": True}, 2, False),  # the first queries apart
        ((1, 1, 370, 370, 64), {"score": "euclidean"}, 2, True),  # whose scores take longer than products
        ((1, 1, 370, 370, 64), {"normalize": "hardmax"}, 1, False),
        ((1, 1, 370, 370, 64), {"normalize": "sigmoid"}, 2, True),  # which takes longer than an exponential
    ],
    ids=str,
)
def test_other_threads_are_woken_where_the_work_takes_longer_than_to_wake_them(
    shape: tuple[int, ...], keys: dict[str, Any], blocks: int, are_woken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals, woken = set[int](), []
    monkeypatch.setattr(threads, "cores", lambda: 2)
    monkeypatch.setattr(ThreadsExecutor, "submit", lambda _pool, function: woken.append(function) or Future[None]())
    heads, key_heads, queries, length, features = shape
    query = normal(1, heads, queries, features, seed=1).astype("float32")
    key, value = (normal(1, key_heads, length, features, seed=seed).astype("float32") for seed in (2, 3))
    options = RunOptions(progress=lambda _, total: totals.add(total))
    run(problem(query=query, key=key, value=value, **keys), ("output",), options=options)
    assert (totals, bool(woken)) == ({blocks}, are_woken)


@pytest.mark.deep
def test_every_step_that_is_selected_alone_is_the_dense_step() -> None:
    """Of tables blocks end with it; and what nothing selected needs is not computed in blocks, nor after them.

    Each step is selected once for all problems where the same tables lead to it.
    """
    seen: set[tuple[str, ...]] = set()
    for expected in map(dense, WITH_TABLES):
        context = expected.plan.results.get("context", "")
        for step in expected.steps:
            needed = expected.plan.needed_for([step.tapped_from or step.name])
            leading = step.name, *(e.name for e in expected.steps if e.node.is_pair_table and e.name in needed)
            if leading in seen:
                continue
            seen.add(leading)
            in_blocks = run_in_blocks(expected.problem, (step.name,), 3)
            assert_close(in_blocks[step.name].value, step.value, expected.problem.dtype, step.name)
            if step.node.stage != GRADIENT and step.name != "grad_output":  # whose blocks begin with the output
                assert (context in in_blocks.by_name) == (context in needed or (step.name == LSE and context != ""))
            tables = {other.name for other in in_blocks.steps if other.node.is_pair_table and not other.node.is_input}
            assert tables <= {step.name}


@pytest.mark.parametrize("select", [("scores",), ("dot_products",), ("scores", "visible")])
def test_a_nan_among_selected_scores_is_traced_to_the_key_that_has_it(select: tuple[str, ...]) -> None:
    key = normal(9, 4, seed=1)
    key[5, 2] = np.nan
    spec = problem(query=normal(5, 4), key=key, value=normal(9, 3, seed=2), key_lengths=[8])
    notes = [note for step in run_in_blocks(spec, select, 3).steps for note in step.notes]
    assert notes == [f"{select[0]}[query_1, key_6] is nan: from key[key_6, d3]"]


@pytest.mark.deep
def test_inner_quantities_are_the_dense_ones_beside_each_other_table() -> None:
    """Each pair once for all problems that have both."""
    seen = set[tuple[str, str]]()
    for expected in map(dense, WITH_TABLES):
        tables = [step for step in expected.steps if step.node.is_pair_table]
        for inner, other in product([step for step in tables if step.tapped_from is not None], tables):
            pair = f"{inner.tapped_from}: {inner.name}", other.name
            if pair not in seen:
                seen.add(pair)
                in_blocks = run_in_blocks(expected.problem, (inner.name, other.name), 3)
                for step in (inner, other):
                    assert_close(in_blocks[step.name].value, step.value, expected.problem.dtype, step.name)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ({"causal": True}, ["scores[query_6, key_6] is nan: from key[key_6, d3]"]),
        ({"mask": np.arange(9) != 5}, []),
    ],
    ids=["causal", "hidden from all"],
)
def test_a_nan_among_selected_scores_is_told_where_a_query_sees_it(mask: dict[str, Any], expected: list[str]) -> None:
    """Though the mask is not among what is computed in blocks."""
    key = normal(9, 4, seed=1)
    key[5, 2] = np.nan
    spec = problem(query=normal(9, 4), key=key, value=normal(9, 3, seed=2), **mask)
    for trace in (run_in_blocks(spec, ("scores",), 3), run(spec, ("scores",)).trace):
        assert [note for step in trace.steps for note in step.notes] == expected


QUERY, KEY, VALUE = normal(3, 6, 5, 4), normal(3, 2, 7, 4), normal(3, 2, 7, 3)
ARRAYS = {"w": (4, 4), "w1": (4, 5), "w2": (4, 5), "v": (5,), "b": (5,)}
SHAPES = {"location": {"w": (4, 7)}, "attentional": {"w": (7, 5)}}
OFF_DEFAULT = {"temperature": 0.7, "alpha": 1.7, "k": 2, "shift": -0.5, "beta": 1.5, "sigma": 1.3, "seed": 5}


POSITIONS: Mapping[str, Any] = {
    "alibi": "alibi",
    "rope": "rope:dims=2",
    "t5": {"t5": {"table": normal(8, 6), "max_distance": 5}},
    "shaw": {"shaw": {"table": normal(5, 4)}},
    "grid_bias": {"grid_bias": {"table": normal(21, 6), "height": 2, "width": 4}},
    "decomposed": {"decomposed": {"rel_pos_h": normal(3, 4), "rel_pos_w": normal(7, 4), "height": 2, "width": 4}},
    "transformer_xl": {"transformer_xl": {"table": normal(15, 4), "content_bias": normal(6, 4)}},
    "disentangled": {
        "disentangled": {"table": normal(8, 3), "w_position_k": normal(3, 24), "w_position_q": normal(3, 24)}
    },
}
MASKS = {
    "causal": st.just(True),
    "window": st.sampled_from([(1, 0), (0, 2), (2, -1)]),
    "key_lengths": st.lists(st.integers(0, 7), min_size=3, max_size=3)
    | st.lists(st.lists(st.integers(0, 7), min_size=5, max_size=5), min_size=3, max_size=3),
    "key_mask": st.integers(0, 99).map(lambda seed: np.random.default_rng(seed).random((3, 7)) < 0.5),
    "mask": st.integers(0, 99).map(lambda seed: np.random.default_rng(seed).random((6, 5, 7)) < 0.6)
    | st.integers(1, 8).map(lambda size: {"chunked": {"size": size}}),
    "bias": st.sampled_from([normal(3, 1, 5, 7), np.where(normal(5, 7) > 0, -np.inf, 0.5)]),
}


def off_default(record: OperatorRecord) -> dict[str, Any]:
    """The operator with its arrays and with its options off their defaults."""
    shapes = ARRAYS | SHAPES.get(record.name, {})
    values = {
        parameter.name: normal(*shapes[parameter.name]) if parameter.kind == "array" else OFF_DEFAULT[parameter.name]
        for parameter in record.parameters
        if parameter.kind == "array" or parameter.name in OFF_DEFAULT
    }
    return {record.name: values} if values else {}


def names(kind: str) -> list[str]:
    return list(operators(kind))


PIPELINES = st.fixed_dictionaries(
    {
        "score": st.sampled_from(names("score")),
        "normalize": st.sampled_from(names("normalize")),
        "context": st.sampled_from(names("context")),
        "size": st.sampled_from([1, 2, 3, 7, 9]),
        "more": st.fixed_dictionaries(
            {},
            optional={
                **MASKS,
                "sink": st.just(normal(6)),
                "softcap": st.just(1.5),
                "scale": st.just(0.4),
                "dtype": st.sampled_from(["float32", "float64", "float16", "longdouble"]),
                "position": st.sampled_from(list(POSITIONS)),
                "qk_norm": st.sampled_from(names("qk_norm")),
                "query_scale": st.sampled_from(
                    [
                        "log_steps:length=2",
                        {"logn": {"length": 2}},
                        "power:length=3",
                        {"ssmax": {"scale": normal(6), "bias": 0.5}},
                    ]
                ),
                "align": st.sampled_from(["bottom_right", "first_key"]),
                "empty_rows": st.sampled_from(["nan", "uniform"]),
            },
        ),
    }
)


@pytest.mark.deep
@settings(max_examples=300)
@given(PIPELINES)
def test_random_pipelines_in_blocks_agree_with_dense(pipeline: dict[str, Any]) -> None:
    assert_blocks_agree(**pipeline)


def assert_blocks_agree(score: str, normalize: str, context: str, size: int, more: dict[str, Any]) -> None:
    if context == "sample" and (
        "sink" in more or not operators("normalize")[normalize].is_distribution or "dtype" in more
    ):
        context = "argmax"
    if "position" in more:
        more = more | {"position": POSITIONS[more["position"]]}
        adds_keys = {"shaw", "transformer_xl", "disentangled"} & set(more["position"])
        score = "dot" if adds_keys else score  # to the keys of a dot product
    stages = {"score": score, "normalize": normalize, "context": context}
    keys = {kind: off_default(operators(kind)[name]) or name for kind, name in stages.items()}
    one = problem(query=QUERY, key=KEY, value=VALUE, **keys, **more)
    whole, in_blocks = dense_trace(one), run_in_blocks(one, ("output",), size)
    close = {"float16": 3e-2, "float32": 1e-4}.get(more.get("dtype", ""), 1e-9)
    steps = np.nan_to_num(np.abs(whole["weights"].value.astype(float))).max(initial=1)  # rows may be NaN by choice
    if normalize in ("hardmax", "topk") or context == "argmax":
        assert_choices_agree(in_blocks, whole, close)
        return
    kept: Any = slice(None)
    if normalize == "sum":  # a row whose scores cancel magnifies the last bit of each
        steps *= 1e3
        if more.get("dtype") == "float16":  # whose last bit decides whether they cancel to exactly 0
            name = "scores_and_sink" if "sink" in more else "masked_scores"
            scores = np.nan_to_num(whole[name].value.astype(float), neginf=0)
            kept = abs(scores.sum(axis=-1)) > 1e-2 * abs(scores).sum(axis=-1)
    np.testing.assert_allclose(
        in_blocks["output"].value.astype(float)[kept],
        whole["output"].value.astype(float)[kept],
        rtol=close,
        atol=close * steps,
    )


def test_the_random_pipelines_have_every_mask_and_position() -> None:
    elsewhere = {"cu_seqlens"}  # of one batch item: tests/problem/test_sequences.py
    assert {*MASKS, *named_masks(), "query_key_lengths"} == set(names("mask")) - elsewhere
    assert set(POSITIONS) == {name for name, record in operators("position").items() if record.acts_on != "embeddings"}


def assert_choices_agree(in_blocks: Trace, whole: Trace, close: float) -> None:
    """Rows agree, but for those in which the last bit of a score decides which key is selected."""
    scores_name = "scores_and_sink" if "scores_and_sink" in [step.name for step in whole.steps] else "masked_scores"
    ordered = np.sort(whole[scores_name].value.astype(float), axis=-1)
    with np.errstate(invalid="ignore"):
        gaps = np.diff(ordered, axis=-1)
    tied = (gaps == 0) & (close < 1e-6)  # in a short type two scores may be one that are two in a longer one
    clear = ((gaps > 10 * close) | ~np.isfinite(gaps) | tied).all(axis=-1)
    ordered = np.sort(whole["weights"].value.astype(float), axis=-1)
    clear &= ((np.diff(ordered, axis=-1) > 10 * close) | (np.diff(ordered, axis=-1) == 0)).all(axis=-1)
    np.testing.assert_allclose(
        in_blocks["output"].value.astype(float)[clear],
        whole["output"].value.astype(float)[clear],
        rtol=close,
        atol=close,
    )
