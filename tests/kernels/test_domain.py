"""The domain of a function is found by asking: what it refuses is a border, and no failure."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from attncli.kernels.cases import CaseMaker
from attncli.kernels.domain import Domain, Lengths, Sizes
from tests.kernels.running import find_text, try_text

ATTENTION = """
import numpy as np
def attention(q, k, v{more}):
    (b, h, n, d), m, e = q.shape, k.shape[2], v.shape[-1]
    {guard}
    k, v = (x.repeat(h // x.shape[1], axis=1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(d)
    {change}
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True) @ v).astype(q.dtype)
"""
TYPES = ("float64", "float32", "float16")
GROUPS = {"heads": [(2, 2), (1, 1), (3, 3), (4, 2), (2, 1), (8, 2)]}
FREE: Mapping[str, Any] = {**GROUPS, "memories": ("", "transposed", "gaps")}
SMALL = Lengths(only=(16, 32, 64))
# A statement by which a function refuses inputs, and the fields of the domain that is found.
GUARDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "none": ("pass", FREE),
    "features": ("assert d in (16, 32, 64)", {**FREE, "features": SMALL, "has_other_value_features": True}),
    "equal widths": ("assert d == e", {**FREE, "has_other_value_features": False}),
    "as kernels": (
        "assert d == e and d in (16, 32, 64) and n == m and n % 16 == 0",
        {
            **FREE,
            "features": SMALL,
            "has_other_value_features": False,
            "order": "same",
            "queries": Lengths(16, 16),
            "keys": Lengths(16, 16),
        },
    ),
    "blocks of keys": ("assert m % 32 == 0", {**FREE, "keys": Lengths(32, 32)}),
    "an error of shapes": ("k.reshape(b, k.shape[1], m // 32, 32, d)", {**FREE, "keys": Lengths(32, 32)}),
    "at least": ("assert m >= 16", {**FREE, "keys": Lengths(1, 16)}),
    "at most": ("assert n <= 128", {**FREE, "queries": Lengths(most=128)}),
    "self-attention": ("assert n == m", {**FREE, "order": "same"}),
    "causal lengths": ("assert n <= m", {**FREE, "order": "fewer"}),
    "one query": ("assert n == 1", {**FREE, "queries": Lengths(only=(1,))}),
    "a pass or a step": ("assert n == m or n == 1", {**FREE, "order": "same or one"}),
    "one item": ("assert b == 1", {**FREE, "batches": Lengths(only=(1,))}),
    "even heads": (
        "assert h % 2 == 0 and k.shape[1] % 2 == 0",
        {"heads": [(2, 2), (4, 4), (8, 8)], "memories": FREE["memories"]},
    ),
    "contiguous": ("assert q.flags.c_contiguous and k.flags.c_contiguous", {**GROUPS, "memories": ("",)}),
}


def text_of(guard: str = "pass", change: str = "pass", more: str = "") -> str:
    return ATTENTION.format(guard=guard, change=change, more=more)


@pytest.mark.parametrize("name", GUARDS)
def test_what_a_function_refuses_is_a_border_of_its_domain(name: str) -> None:
    guard, fields = GUARDS[name]
    (_, found), free = find_text(text_of(guard), "q", "k", "v"), Domain()
    for field in ("features", "has_other_value_features", "queries", "keys", "order", "batches", "heads", "memories"):
        expected = fields.get(field, getattr(free, field))
        assert getattr(found, field) == (list(expected) if field == "heads" else expected), field
    assert bool(found.borders) == (name != "none")


def test_types_and_arguments_that_are_refused_are_borders() -> None:
    guard = "assert q.dtype != np.float64 and (mask is None or bias is None)"
    text = text_of(guard, more=", mask=None, bias=None")
    _, found = find_text(text, "q", "k", "v", optional="mask bias", types=None)
    assert list(found.dtypes) == ["float32", "float16"]
    assert (set(found.extras), found.go_together) == ({"mask", "bias"}, False)
    assert found.borders[0].startswith("float64: it raises AssertionError")


def test_inputs_are_in_the_domain_and_at_its_borders() -> None:
    _, domain = find_text(text_of(GUARDS["as kernels"][0]), "q", "k", "v", types=("float32", "float16"))
    maker = CaseMaker(domain)
    cases = [*maker.systematic(), *maker.drawn(30)]
    assert all(domain.takes(case.sizes) for case in cases)
    assert {case.sizes.features for case in cases} == {16, 32, 64}
    assert {16, 32, 128, 144} <= {case.sizes.keys for case in cases}
    assert len(cases) > 100
    assert [domain.fit(Sizes(queries=n, keys=m, features=5)).keys for n, m in ((1, 1), (17, 5), (64, 65))] == [
        16,
        32,
        80,
    ]


TILES = """
import numpy as np
def attention(q, k, v):
    b, h, n, d = q.shape
    if q.dtype == np.float64 or d not in (16, 32, 64) or v.shape[-1] != d or n % 16 or k.shape != q.shape:
        raise ValueError("unsupported")
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    largest = np.full((b, h, n, 1), -np.inf, np.float32)
    sums, output = np.zeros_like(largest), np.zeros_like(q)
    for at in range(0, n, 16):
        scores = q @ k[:, :, at : at + 16].swapaxes(-1, -2) / np.float32(np.sqrt(d))
        new = np.maximum(largest, scores.max(axis=-1, keepdims=True))
        numerators, factor = np.exp(scores - new), np.exp(largest - new)
        sums = sums * factor + numerators.sum(axis=-1, keepdims=True)
        output = {output} + numerators @ v[:, :, at : at + 16]
        largest = new
    return output / sums
"""


@pytest.mark.deep
def test_a_constrained_kernel_passes_and_its_wrong_copy_is_named() -> None:
    right, wrong = (
        try_text(TILES.format(output=output), "q", "k", "v", types=None) for output in ("output * factor", "output")
    )
    assert (right.passes, right.domain.order, right.domain.features.only) == (True, "same", (16, 32, 64))
    assert wrong.passes is False
    assert [x.slips for x in wrong.explanations] == [("accumulator_not_rescaled",)]
    assert wrong.domain.takes(wrong.smallest.case.sizes)


def test_a_function_with_few_inputs_does_not_pass() -> None:
    report = try_text(text_of("assert b == h == 1 and n == m == 128 and d == e == 64"), "q", "k", "v")
    assert (report.passes, report.failed) == (None, 0)
    assert report.telling < 20


def test_chosen_sizes_are_not_asked_for() -> None:
    text = text_of("assert d == 48 and n == m")
    _, domain = find_text(text, "q", "k", "v", features=(48,), lengths=(24, 40), is_square=True)
    assert (domain.features.only, domain.keys.only, domain.order) == ((48,), (24, 40), "same")


@pytest.mark.parametrize(
    ("guard", "change", "said"),
    [
        ("q, k, v = (x.astype(np.float32) for x in (q, k, v))", "pass", "computes in float32 inside"),
        (
            "pass",
            "scores = scores * 1.44269504 * np.log(2)",
            "its scores are multiplied by 1 − 6.2e-10, as by a constant",
        ),
    ],
)
def test_float64_is_judged_by_the_precision_inside(guard: str, change: str, said: str) -> None:
    text = text_of(guard, change).replace(".astype(q.dtype)", ".astype(np.float64)")
    trial, _ = find_text(text, "q", "k", "v")
    assert trial.inner == "float32"
    assert any(remark.startswith(said) for remark in trial.remarks)


@pytest.mark.parametrize("repeat", ["x.repeat(h // x.shape[1], axis=1)", "np.tile(x, (1, h // x.shape[1], 1, 1))"])
def test_a_kernel_of_groups_is_tried_with_groups_though_nothing_says_so(repeat: str) -> None:
    _, domain = find_text(text_of(f"k, v = ({repeat} for x in (k, v))"), "q", "k", "v")
    assert (4, 2) in domain.heads


SUMS = {"lse": "{lse}", "base 2": "{lse} / np.log(2)", "largest": "scores.max(axis=-1)", "other": "np.cos(7 * {lse})"}


@pytest.mark.parametrize(("name", "compared"), [("lse", True), ("base 2", True), ("largest", False), ("other", False)])
def test_a_second_result_is_known_by_its_numbers(name: str, compared: bool) -> None:
    lse = "(scores.max(axis=-1) + np.log(weights.sum(axis=-1)))"
    second = SUMS[name].format(lse=lse)
    trial, _ = find_text(text_of().replace(".astype(q.dtype)", f", {second}"), "q", "k", "v")
    assert ("lse" in trial.interface.returns) == compared
    assert any(remark.startswith("part 2: ") for remark in trial.remarks) == (name != "lse")


RECURRENCE = """
import numpy as np
def attention(q, k, v, g, beta, initial_state=None, output_final_state=False):
    q, k, v, g, beta = (np.swapaxes(x, 1, 2) for x in (q, k, v, g, beta))
    state = np.zeros((*q.shape[:2], q.shape[-1], v.shape[-1]), q.dtype)
    state = state if initial_state is None else state + initial_state
    outputs = []
    for i in range(q.shape[2]):
        kept = np.exp(g[:, :, i])
        state = state * (kept[..., None] if kept.ndim == 3 else kept[..., None, None])
        read = np.einsum("bhd,bhde->bhe", k[:, :, i], {read})
        state = state + k[:, :, i, :, None] * (beta[:, :, i, None] * (v[:, :, i] - read))[:, :, None]
        outputs.append(np.einsum("bhd,bhde->bhe", q[:, :, i] * q.shape[-1] ** -0.5, state))
    return np.stack(outputs, axis=1), state if output_final_state else None
"""


@pytest.mark.deep
def test_a_recurrence_is_tried_with_its_decays_and_states() -> None:
    names, more = ("q", "k", "v", "g", "beta"), "initial_state output_final_state"
    report = try_text(RECURRENCE.format(read="state"), *names, optional=more, recurrence="gated_delta")
    assert (report.passes, report.layout, report.compared) == (True, "bnhd", ("output", "present_state"))
    assert {"decay", "beta", "past_state"} <= set(report.domain.extras)
    wrong = try_text(RECURRENCE.format(read="state * 0"), *names, optional=more, recurrence="gated_delta")
    assert wrong.passes is False


def test_decays_of_each_feature_are_found_by_trying() -> None:
    text = RECURRENCE.format(read="state").replace(
        "kept[..., None] if kept.ndim == 3 else kept[..., None, None]", "kept[..., None]"
    )
    trial, domain = find_text(text, "q", "k", "v", "g", "beta", recurrence="gated_delta")
    assert trial.remarks[0].endswith("found by trying")
    assert domain.have_decays_of_features


def test_the_numbers_of_lengths_are_told_in_words() -> None:
    domain = Domain(
        dtypes=("float16",),
        features=Lengths(only=(64, 128)),
        keys=Lengths(16, 16),
        queries=Lengths(16, 16),
        order="same",
    )
    assert domain.told() == "float16; d = 64, 128; lengths multiples of 16; as many queries as keys; heads: 1, 2, 3"
    assert np.all(
        [domain.takes(domain.fit(Sizes(queries=n, keys=n, features=d))) for n in range(1, 50) for d in (1, 64, 65)]
    )
