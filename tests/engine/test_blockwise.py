"""Small and large are one definition: block by block a problem gives what it gives whole."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.ops import operators
from attncli.ops.records import OperatorRecord
from attncli.problem.spec import ProblemSpec
from attncli.trace.steps import Trace
from tests.arrays import normal
from tests.problems import M, dense_trace, problem

SIZES = [1, pytest.param(2, marks=pytest.mark.slow), 3, pytest.param(M, marks=pytest.mark.slow), M + 2]
CLOSE = {"float32": 2e-6, "bfloat16": 4e-2, "float16": 4e-3}


def blocks(problem: ProblemSpec, select: tuple[str, ...], size: int) -> Trace:
    """Compute a problem in blocks of so many queries, tiles of so many keys."""
    sizes = BlockSizes(0, size, size, size * size, size, size * M)
    return run(problem, select, options=RunOptions("serial", sizes=sizes)).trace


def assert_close(ours: np.ndarray, whole: np.ndarray, dtype: str | None, name: str) -> None:
    close = CLOSE.get(dtype or "", 1e-12)
    np.testing.assert_allclose(ours.astype(float), whole.astype(float), rtol=close, atol=close, err_msg=name)
    assert ours.shape == whole.shape
    assert ours.dtype == whole.dtype


@pytest.mark.parametrize("size", SIZES)
def test_the_answer_in_tiles_is_the_answer(spec: ProblemSpec, size: int) -> None:
    whole, ours = dense_trace(spec), blocks(spec, ("output",), size)
    assert_close(ours["output"].value, whole["output"].value, spec.dtype, "output")
    assert [note for note in ours.notes if "attended" in note] == [note for note in whole.notes if "attended" in note]


@pytest.mark.parametrize("size", SIZES)
def test_every_step_in_blocks_is_that_step(spec: ProblemSpec, size: int) -> None:
    whole = dense_trace(spec)
    names = tuple(step.name for step in whole.steps)
    ours = blocks(spec, names, size)
    assert sorted(ours.notes) == sorted(whole.notes)
    for name in names:
        close = None if spec.dtype == "bfloat16" else spec.dtype
        assert_close(ours[name].value, whole[name].value, close if name in ("draws",) else spec.dtype, name)
        assert ours[name].axes == whole[name].axes


@pytest.mark.parametrize("size", [2, M + 2])
def test_weights_alone_have_zeros_where_no_query_of_a_block_looks(spec: ProblemSpec, size: int) -> None:
    whole, ours = dense_trace(spec), blocks(spec, ("weights",), size)
    assert_close(ours["weights"].value, whole["weights"].value, spec.dtype, "weights")
    np.testing.assert_array_equal(ours["weights"].value == 0, whole["weights"].value == 0)


QUERY, KEY, VALUE = normal(3, 6, 5, 4), normal(3, 2, 7, 4), normal(3, 2, 7, 3)
ARRAYS = {"w": (4, 4), "w1": (4, 5), "w2": (4, 5), "v": (5,), "b": (5,)}
SHAPES = {"location": {"w": (4, 7)}, "attentional": {"w": (7, 5)}}
OFF_DEFAULT = {"temperature": 0.7, "alpha": 1.7, "k": 2, "shift": -0.5, "beta": 1.5, "sigma": 1.3, "seed": 5}


POSITIONS: Mapping[str, Any] = {
    "alibi": "alibi",
    "rope": "rope:dims=2",
    "t5": {"t5": {"table": normal(8, 6), "max_distance": 5}},
    "shaw": {"shaw": {"table": normal(5, 4)}},
}
MASKS = {
    "causal": st.just(True),
    "window": st.sampled_from([(1, 0), (0, 2), (2, -1)]),
    "key_lengths": st.lists(st.integers(0, 7), min_size=3, max_size=3),
    "mask": st.integers(0, 99).map(lambda seed: np.random.default_rng(seed).random((6, 5, 7)) < 0.6),
    "bias": st.sampled_from([normal(3, 1, 5, 7), np.where(normal(5, 7) > 0, -np.inf, 0.5)]),
}


def chosen(entry: OperatorRecord) -> dict[str, Any]:
    """An entry with its arrays and its options off their defaults."""
    shapes = ARRAYS | SHAPES.get(entry.name, {})
    values = {
        parameter.name: normal(*shapes[parameter.name]) if parameter.kind == "array" else OFF_DEFAULT[parameter.name]
        for parameter in entry.parameters
        if parameter.kind == "array" or parameter.name in OFF_DEFAULT
    }
    return {entry.name: values} if values else {}


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
                "align": st.just("bottom_right"),
            },
        ),
    }
)


@settings(max_examples=60, deadline=None)
@given(PIPELINES)
def test_some_of_the_whole_catalogue_goes_through_blocks(pipeline: dict[str, Any]) -> None:
    assert_blocks_agree(**pipeline)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(PIPELINES)
def test_the_whole_catalogue_goes_through_blocks(pipeline: dict[str, Any]) -> None:
    assert_blocks_agree(**pipeline)


def assert_blocks_agree(score: str, normalize: str, context: str, size: int, more: dict[str, Any]) -> None:
    if context == "sample" and (
        "sink" in more or not operators("normalize")[normalize].is_distribution or "dtype" in more
    ):
        context = "argmax"
    if "position" in more:
        more = more | {"position": POSITIONS[more["position"]]}
        score = "dot" if "shaw" in more["position"] else score  # its vectors are added to keys that are multiplied
    stages = {"score": score, "normalize": normalize, "context": context}
    keys = {kind: chosen(operators(kind)[name]) or name for kind, name in stages.items()}
    one = problem(query=QUERY, key=KEY, value=VALUE, **keys, **more)
    whole, ours = dense_trace(one), blocks(one, ("output",), size)
    close = {"float16": 3e-2, "float32": 1e-4}.get(more.get("dtype", ""), 1e-9)
    steps = np.abs(whole["weights"].value.astype(float)).max(initial=1)
    if normalize in ("hardmax", "topk") or context == "argmax":
        assert_choices_agree(ours, whole, close)
        return
    kept: Any = slice(None)
    if normalize == "sum":  # a row whose scores cancel magnifies the last bit of each
        steps *= 1e3
        if more.get("dtype") == "float16":  # whose last bit decides whether they cancel to exactly 0
            name = "scores_and_sink" if "sink" in more else "masked_scores"
            scores = np.nan_to_num(whole[name].value.astype(float), neginf=0)
            kept = abs(scores.sum(axis=-1)) > 1e-2 * abs(scores).sum(axis=-1)
    np.testing.assert_allclose(
        ours["output"].value.astype(float)[kept],
        whole["output"].value.astype(float)[kept],
        rtol=close,
        atol=close * steps,
    )


def test_every_mask_and_every_position_that_blocks_see_is_among_these() -> None:
    assert set(MASKS) == set(names("mask"))
    assert set(POSITIONS) == {name for name, entry in operators("position").items() if entry.acts_on != "embeddings"}


def assert_choices_agree(ours: Trace, whole: Trace, close: float) -> None:
    """Where a choice hangs on the last bit of a score, another choice is as good; all other rows agree."""
    chosen_among = "scores_and_sink" if "scores_and_sink" in [step.name for step in whole.steps] else "masked_scores"
    ordered = np.sort(whole[chosen_among].value.astype(float), axis=-1)
    with np.errstate(invalid="ignore"):
        gaps = np.diff(ordered, axis=-1)
    tied = (gaps == 0) & (close < 1e-6)  # in a short type two scores may be one that are two in a longer one
    clear = ((gaps > 10 * close) | ~np.isfinite(gaps) | tied).all(axis=-1)
    ordered = np.sort(whole["weights"].value.astype(float), axis=-1)
    clear &= ((np.diff(ordered, axis=-1) > 10 * close) | (np.diff(ordered, axis=-1) == 0)).all(axis=-1)
    np.testing.assert_allclose(
        ours["output"].value.astype(float)[clear], whole["output"].value.astype(float)[clear], rtol=close, atol=close
    )
