"""What an explanation leaves decides: near ones are told apart, numbers that are not determined are not named."""

from typing import Any

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.checks.check import check
from attncli.checks.document import verdict
from attncli.checks.report import CheckReport
from tests.arrays import normal
from tests.problems import problem

N, M, D = 33, 37, 16


def inputs(dtype: str, *, heads: int = 2, scale: float = 1.0, seed: int = 0) -> dict[str, np.ndarray]:
    """Queries, keys and values of a type, in float64."""
    shapes = {"query": (heads, N, D), "key": (heads, M, D), "value": (heads, M, D)}
    arrays = {name: normal(1, *shape, seed=seed + at) for at, (name, shape) in enumerate(shapes.items())}
    arrays["query"] *= scale
    return {name: Precision(dtype).round(x).astype(np.float64) for name, x in arrays.items()}


def scores_of(arrays: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(arrays["query"] @ arrays["key"].swapaxes(-1, -2) / np.sqrt(D))


def weights_of(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def checked(dtype: str, output: np.ndarray, arrays: dict[str, np.ndarray], **keys: Any) -> CheckReport:
    """The check of an output that is rounded to a type in the end, bfloat16 held as float32."""
    rounded = Precision(dtype).round(output).astype(np.float32 if dtype == "bfloat16" else dtype)
    return check(problem(**arrays, dtype=dtype, **keys), {"output": rounded})


def slips_of(report: CheckReport) -> list[tuple[str, ...]]:
    return [explanation.slips for explanation in report.explanations]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("seed", range(3))
def test_a_key_that_is_dropped_is_not_taken_for_one_of_zeros(dtype: str, seed: int) -> None:
    arrays = inputs(dtype, seed=10 * seed)
    output = weights_of(scores_of(arrays)[..., :-1]) @ arrays["value"][..., :-1, :]
    assert slips_of(checked(dtype, output, arrays)) == [("tail_dropped",)]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_exchanged_value_heads_are_named_in_every_type(dtype: str) -> None:
    arrays = inputs(dtype, heads=4)
    output = weights_of(scores_of(arrays)) @ arrays["value"][:, [1, 0, 3, 2]]
    assert slips_of(checked(dtype, output, arrays)) == [("value_heads_exchanged",)]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_rows_that_see_no_key_and_get_the_mean_are_named_so_without_a_number(dtype: str) -> None:
    arrays = inputs(dtype)
    visible = np.tri(N, M, M - N - 9, dtype=bool)  # the first rows see nothing
    output = weights_of(np.where(visible, scores_of(arrays), -1e9)) @ arrays["value"]
    report = checked(dtype, output, arrays, mask=visible)
    assert slips_of(report) == [("masked_with_finite",)]
    assert report.explanations[0].sentence.startswith("Rows that see no key get the mean of the values: ")
    assert report.explanations[0].parameters == {}


def test_a_number_that_others_do_as_well_as_is_not_named() -> None:
    """Of 29 real keys blocks of 4, 8, 16 and 32 are all read up to the 32nd: no size of a block is known."""
    arrays = inputs("float64", heads=1)
    scores = np.where(np.arange(M) < 32, scores_of(arrays), -np.inf)
    report = checked("float64", weights_of(scores) @ arrays["value"], arrays, key_lengths=[29])
    (block,) = [found for found in report.explanations if found.slips == ("last_block_read_whole",)]
    assert block.parameters == {}
    assert block.sentence.endswith("fit as well).")
    assert "16" in block.sentence
    assert "32" in block.sentence


def test_a_number_is_as_round_as_it_may_be() -> None:
    arrays = inputs("bfloat16")
    output = weights_of(np.sqrt(D) * scores_of(arrays) * 0.5) @ arrays["value"]
    (found,) = checked("bfloat16", output, arrays).explanations
    assert (found.slips, found.parameters) == (("scale_factor",), {"factor": 2.0})
    assert found.sentence.startswith("The scores are 2 times too large: 0.5 instead of 0.25")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_kernel_that_rounds_once_is_told_from_one_that_rounds_every_step(dtype: str) -> None:
    arrays, own = inputs(dtype, scale=4), Precision(dtype)
    fused = weights_of(scores_of(arrays)) @ arrays["value"]
    report = checked(dtype, fused, arrays)
    assert (report.agrees, report.looser) == (True, "")
    assert f"computed in float32, with {dtype} numbers in its products" in report.results[0].tolerance_reason
    products = own.round(arrays["query"] @ arrays["key"].swapaxes(-1, -2)).astype(np.float64)
    scores = own.round(products / np.sqrt(D)).astype(np.float64)
    every_step = own.round(weights_of(scores)).astype(np.float64) @ arrays["value"]
    report = checked(dtype, every_step, arrays)
    assert report.agrees
    assert f"agree within what every step in {dtype} would give, but " in verdict(report)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_in_eight_bits_are_no_rounding_of_a_half_type(dtype: str) -> None:
    arrays = inputs(dtype, scale=4)
    weights = Precision("float8_e4m3fn").round(weights_of(scores_of(arrays))).astype(np.float64)
    report = checked(dtype, weights @ arrays["value"], arrays)
    assert slips_of(report) == [("weights_in_half",)]
    assert "float8_e4m3fn" in report.explanations[0].sentence


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_an_output_that_alone_is_rounded_is_told_by_its_bits(dtype: str) -> None:
    arrays = inputs("float32")
    output = Precision(dtype).round(weights_of(scores_of(arrays)) @ arrays["value"])
    (found,) = checked("float32", output, arrays).explanations
    assert (found.slips, found.sentence) == (("output_in_half",), f"The output alone is rounded to {dtype}.")
    halves = inputs(dtype)  # stored in float32 with the output of a right kernel, as other programs write them
    output = Precision(dtype).round(weights_of(scores_of(halves)) @ halves["value"])
    report = checked("float32", output, halves)
    assert report.agrees
    assert f"the numbers are {dtype} by their bits, stored in a wider type" in report.results[0].remarks


def test_numbers_that_are_not_finite_are_explained_by_no_pair() -> None:
    arrays = inputs("float32")
    report = checked("float32", np.full((1, 2, N, D), np.nan), arrays)
    assert (slips_of(report), report.pair_count) == ([], 0)


def test_where_the_differences_are_is_said_where_nothing_explains_them() -> None:
    arrays = inputs("float32", heads=3)
    output = weights_of(scores_of(arrays)) @ arrays["value"]
    output[:, 1:] += 0.3 * normal(1, 2, N, D, seed=9)
    from attncli.checks.document import check_document
    from attncli.render.formats import terminal
    from attncli.render.target import TEXT_FILE

    shown = "".join(terminal.render(check_document(checked("float32", output, arrays)), TEXT_FILE))
    assert "All differences are in heads 1 and 2; the other numbers agree." in shown
    assert "Give scores and weights too" not in shown  # a kernel has none


LARGE = 4096


def large(wrong: str) -> CheckReport:
    """A check of 4,096 tokens in float32, whose tolerance is measured on some of the queries."""
    query, key, value = (normal(LARGE, 64, seed=seed).astype(np.float32) for seed in (4, 5, 6))
    kept = slice(None, -1 if wrong == "a key dropped" else None)
    scores = query @ key[kept].T / np.float32(8)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    output = powers @ value[kept] / powers.sum(axis=1, keepdims=True)
    output[1234] *= 1.001 if wrong == "a row scaled" else 1
    spec = problem(query=query, key=key, value=value)
    from attncli.checks.report import CheckOptions

    return check(spec, {"output": output}, CheckOptions(tries_slips=False))


@pytest.mark.deep
@pytest.mark.parametrize("wrong", ["", "a row scaled", "a key dropped"])
def test_a_right_output_of_many_tokens_agrees_and_a_small_mistake_differs(wrong: str) -> None:
    report = large(wrong)
    assert report.agrees == (not wrong)
    if wrong == "a row scaled":
        assert set(np.argwhere(report.results[0].differs)[:, 0]) == {1234}
