"""Laws that need no reference: a right function keeps them, and each is broken by a function that is made so."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from attncli.kernels.laws import LAWS, try_laws
from attncli.kernels.report import LawResult
from tests.kernels.running import find_text, try_text

Laws = Mapping[str, LawResult]

ATTENTION = """
import numpy as np
calls = [0]
def attention(q, k, v{more}):
    b, h, n, d = q.shape
    m = k.shape[2]
    scores = (q[..., None, :] * k[:, :, None]).sum(axis=-1) / np.sqrt(d)  # a product of matrices sums in other orders
    {change}
    largest = scores.max(axis=-1, keepdims=True)
    numerators = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    sums = np.cumsum(numerators, axis=-1)[..., -1:]  # one after the other, so that hidden keys change no bit
    output = (numerators[..., None] * v[:, :, None]).sum(axis=-2) / np.where(sums, sums, 1)
    {after}
    return output
"""
HIDE = "scores = np.where(np.arange(m) < key_lengths[:, None, None, None], scores, -np.inf)"
CAUSAL = "scores = np.where(np.tri(n, m, dtype=bool), scores, -np.inf)"
# What makes a function break a law: what is done to the scores, to the output, and the further parameters.
BROKEN = {
    "same_bits_again": ("pass", "calls[0] += 1; output = output * (1 + calls[0] % 2 * 2e-16)", {}),
    "same_bits_alone": ("pass", "output = output * (1 + (b > 1) * 3e-16)", {}),
    "same_bits_at_any_place": ("pass", "output = output * (1 + np.arange(b)[:, None, None, None] * 3e-16)", {}),
    "same_bits_next_to_others": ("scores = scores - (v[-1].sum() > 0) * 1e-3", "output[0] += 1e-9 * v[-1].sum()", {}),
    "heads_independent": ("pass", "output[:, 0] += 1e-9 * v[:, -1].sum()", {}),
    "same_bits_in_chunks": ("pass", "output = output * (1 + (n > 3) * 3e-16)", {}),
    "same_bits_in_decoding": ("pass", "output = output * (1 + (n == 1) * 3e-16)", {}),
    "later_keys_without_effect": (CAUSAL, "output = output + 1e-9 * v[:, :, -1:]", {"causal": True}),
    "values_of_one": ("pass", "output = output * 0.99", {}),
    "values_doubled": ("pass", "output = output + 1e-3", {}),
    "keys_permuted": ("scores = scores + np.arange(m) * 1e-3", "pass", {}),
    "scores_shifted": ("pass", "output = output * (1 + 1e-3 * np.tanh(scores.mean()))", {}),
    "halves_merged": ("pass", "output = output, (largest + np.log(sums))[..., 0] / 2", {}),
    "padding_unread": (HIDE, "output = output + 0 * k.sum()", {"more": "key_lengths"}),
    "same_bits_padded": (HIDE, "output = output * (1 + m * 3e-16)", {"more": "key_lengths"}),
    "masked_keys_unread": ("scores = np.where(key_mask[:, None, None], scores, -np.inf)", "pass", {"more": "key_mask"}),
    "same_with_carried_state": (None, None, {}),
}
STATES = """
import numpy as np
def attention(q, k, v, past_state=None):
    state = np.zeros((*q.shape[:2], q.shape[-1], v.shape[-1])) if past_state is None else past_state * {factor}
    outputs = []
    for i in range(q.shape[2]):
        state = state + k[:, :, i, :, None] * v[:, :, i, None]
        outputs.append(np.einsum("bhd,bhde->bhe", q[:, :, i] / np.sqrt(q.shape[-1]), state))
    return np.stack(outputs, axis=2), state
"""


def results_of(names: Iterable[str], change: str = "pass", after: str = "pass", more: str = "", **keys: Any) -> Laws:
    text = ATTENTION.format(change=change, after=after, more=f", {more}" if more else "")
    found = find_text(text, "q", "k", "v", *([more] if more else []), **keys)
    return {law.law: law for law in try_laws(*found, names)}


def results_of_states(names: Iterable[str], factor: float) -> Laws:
    found = find_text(STATES.format(factor=factor), "q", "k", "v", optional="past_state", recurrence="linear")
    return {law.law: law for law in try_laws(*found, names)}


def test_a_right_function_keeps_every_law_that_applies() -> None:
    for found in (results_of(LAWS), results_of(LAWS, CAUSAL, causal=True), results_of_states(LAWS, 1)):
        assert {law.holds for law in found.values()} == {True, None}


@pytest.mark.parametrize("name", LAWS)
def test_each_law_is_broken_by_a_function_that_is_made_so(name: str) -> None:
    change, after, keys = BROKEN[name]
    found = results_of_states([name], 0.5) if change is None else results_of([name], change, after, **keys)
    assert found[name].holds is False


def test_the_first_number_that_breaks_a_law_is_said() -> None:
    change, after, _ = BROKEN["same_bits_alone"]
    report = try_text(ATTENTION.format(change=change, after=after, more=""), "q", "k", "v", laws=True)
    law = next(law for law in report.laws if law.law == "same_bits_alone")
    assert law.sizes is not None
    assert (law.sizes.batch, law.sizes.queries, law.sizes.keys) == (2, 1, 5)
    assert " differ by up to " in law.detail
    assert (report.passes, report.failed > 0) == (False, True)
