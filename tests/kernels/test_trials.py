"""Trials of right and of wrong functions: the verdict, the mistake that is named, the smallest input."""

import itertools
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from attncli.base.errors import AttnError
from attncli.kernels.probing import hint_of
from attncli.kernels.process import FunctionDescription, Parameter
from tests.kernels import right_kernels
from tests.kernels.running import try_text
from tests.kernels.wrong_kernels import RIGHT, WRONG

LONGEST = 20.0  # seconds of a trial
FEW_NUMBERS = 24
ATTENTION = """
import numpy as np
def attention(q, k, v{more}):
    n, m = q.shape[-2], k.shape[-2]
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    {change}
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v
"""


def tried(change: str = "pass", more: str = "", **keys: Any) -> Any:
    names = [name.partition("=")[0].strip() for name in more.split(",") if name]
    return try_text(ATTENTION.format(change=change, more=more), "q", "k", "v", optional=" ".join(names), **keys)


def test_a_right_function_passes_every_input() -> None:
    report = tried(inputs=20, types=("float64", "float32", "float16"))
    assert (report.passes, report.failed, report.smallest) == (True, 0, None)
    assert report.count > 100


def test_a_causal_mask_that_is_off_by_one_shows_with_one_query_and_two_keys() -> None:
    change = "scores = np.where(np.arange(m) <= np.arange(n)[:, None] + 1, scores, -np.inf)"
    report = tried(change, causal=True)
    case = report.smallest.case
    assert [x.slips for x in report.explanations] == [("causal_off_by_one",)]
    assert {name: array.ravel().tolist() for name, array in case.arrays.items()} == {
        "query": [0],
        "key": [0, 0],
        "value": [0, 1],
    }
    assert case.sizes.queries == case.sizes.features == 1
    (result,) = report.smallest.failure.report.results
    assert (result.expected.tolist(), result.computed.tolist()) == ([[0.5]], [[0]])


def test_a_causal_mask_that_is_a_default_is_switched_off() -> None:
    change = "scores = np.where(np.tri(n, m, dtype=bool) | (not causal), scores, -np.inf)"
    assert tried(change, ", causal=True").passes
    assert tried(change, ", causal=True", causal=True).passes


@pytest.mark.parametrize(
    ("change", "kind", "sentence"),
    [
        ("scores[..., :0].reshape(3)", "raised", "raises ValueError"),
        ("return v[..., :0]", "result", "returns output of shape (1, 1, 1, 0), not (1, 1, 1, 1)"),
        ("return None", "result", "returns None as output"),
        ("q += 1", "changed", "changes its argument query"),
        pytest.param(
            *("scores = np.where(scores > 1e300, scores, np.nan)", "not_finite", "returns NaN in output"),
            marks=pytest.mark.deep,
        ),
    ],
)
def test_what_else_goes_wrong_is_a_verdict(change: str, kind: str, sentence: str) -> None:
    report = tried(change)
    failure = report.smallest.failure
    assert (failure.kind, failure.sentence.partition(": ")[0]) == (kind, sentence)
    assert report.smallest.case.count <= 6


def test_what_a_function_refuses_is_a_border_of_its_domain_and_said(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"  # of which the line of the statement is read
    file.write_text(ATTENTION.format(more="", change="assert n == m, 'self-attention'"), encoding="utf-8")
    report = try_text(f"import runpy\nattention = runpy.run_path({str(file)!r})['attention']", "q", "k", "v")
    assert report.passes
    assert report.domain.order == "same"
    (border,) = report.domain.borders
    assert border.startswith("fewer queries than keys: it raises AssertionError: self-attention")


@pytest.mark.long
def test_what_is_not_the_same_in_every_call_is_said() -> None:
    change = "global calls; calls = globals().get('calls', 0) + 1; scores = scores if calls % 29 else np.exp(scores)"
    report = tried(change)
    assert report.failed > 0
    assert "what it gives is not the same in every call" in report.untried


@pytest.mark.deep
def test_a_view_on_which_alone_it_fails_is_named() -> None:
    report = tried("q = q.ravel('K').reshape(q.shape); scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])")
    assert report.smallest.case.memory == "transposed"
    assert report.explanations == ()


@pytest.mark.parametrize(
    ("change", "how"),
    [("pass", "found by trying"), ("scores *= 2", "assumed, for none gave the right numbers (--layout)")],
)
def test_a_layout_that_is_not_found_is_said_to_be_assumed(change: str, how: str) -> None:
    assert tried(change).called[0].endswith(f"(batch, heads, tokens, features), {how}")


@pytest.mark.deep
def test_of_several_failures_the_one_on_most_inputs_is_made_small() -> None:
    report = tried("scores = np.where(scores > 50, np.nan, scores); v = v * (1 + (m == 200))")
    failure, (other,) = report.smallest.failure, report.others
    assert (failure.kind, other.kind, other.sizes.keys) == ("not_finite", "differs", 200)
    assert report.failed > 2 * other.count


ADDED = "scores = scores if mask is None else scores + mask; scores = np.where(np.isneginf(scores), -1e300, scores)"
HIDDEN = "scores = scores if mask is None else np.where(mask, -np.inf, scores)"
AT_END = "scores = np.where(np.tri(n, m, m - n, dtype=bool), scores, -1e300)"


def test_a_mask_that_is_added_is_found_by_trying() -> None:
    rows = "; scores = np.where((scores == -1e300).all(-1, keepdims=True), np.nan, scores)"
    report = tried(ADDED + rows, ", mask=None", empty_rows="nan")
    assert report.passes
    assert "mask: numbers added to the scores, −∞ where a key is hidden, found by trying" in report.called


def test_rows_that_only_the_causal_mask_empties_do_not_decide_whether_a_mask_is_added() -> None:
    """Where the mask leaves a query the keys after its own alone, the causal mask hides those too: NaN, not 0."""
    change = f"{ADDED}; scores = np.where(np.tri(n, m, dtype=bool), scores, -1e300)"
    rows = "; scores = np.where((scores == -1e300).all(-1, keepdims=True), np.nan, scores)"
    report = tried(change + rows, ", mask=None", causal=True, empty_rows="nan")
    assert report.passes
    assert "mask: numbers added to the scores, −∞ where a key is hidden, found by trying" in report.called


@pytest.mark.parametrize("parameters", [None, (Parameter("args", False, False, True, False, ""),)])
def test_a_key_is_not_taken_for_the_own_of_a_function_that_says_nothing_of_itself(parameters: Any) -> None:
    found = FunctionDescription("m:f", parameters, (), ())
    assert tried(found=found).passes
    for keys in ({"causal": True}, {"softcap": 2.0, "causal": True}, {"position": "alibi"}):
        with pytest.raises(AttnError, match="does not say what its parameters are, so ") as error:
            tried(found=found, **keys)
        assert all(key in error.value.message for key in keys)


def test_a_mask_that_hides_is_a_mistake_unless_a_convention_says_so() -> None:
    report = tried(HIDDEN, ", mask=None", empty_rows="nan")
    assert [x.slips for x in report.explanations] == [("mask_inverted",)]
    assert report.right_with[0] == "--as torch-mha"
    assert tried(HIDDEN, ", mask=None", convention="torch-mha").passes


def test_the_conventions_by_which_a_function_is_right_are_named() -> None:
    change = f"{AT_END}; rows = np.tri(n, m, m - n, dtype=bool).any(-1, keepdims=True)"
    text = ATTENTION.replace("@ v", "* rows @ v")
    report = try_text(text.format(change=change, more=""), "q", "k", "v", causal=True)
    assert [x.slips for x in report.explanations] == [("causal_bottom_right",)]
    assert report.right_with == ("--align bottom_right",)
    assert try_text(text.format(change=change, more=""), "q", "k", "v", causal=True, convention="flash").passes


def test_slopes_are_those_of_the_heads_where_the_problem_has_alibi() -> None:
    change = (
        "distance = abs(np.arange(n)[:, None] - np.arange(m)); "
        "scores = scores if alibi_slopes is None else scores - alibi_slopes[:, None, None] * distance"
    )
    assert tried(change, ", alibi_slopes=None").passes
    report = tried(change, ", alibi_slopes=None", position="alibi")
    assert (report.passes, report.called[1]) == (True, "given position")


PACKED = """
import numpy as np
def attention(q, k, v, cu_seqlens, cu_seqlens_k, max_seqlen_k):
    {change}
    bounds = zip(cu_seqlens, cu_seqlens[1:], cu_seqlens_k, cu_seqlens_k[1:])
    assert max_seqlen_k == np.diff(cu_seqlens_k).max()
    return np.concatenate([one(q[a:b], k[c:d], v[c:d]) for a, b, c, d in bounds])
def one(q, k, v):
    scores = np.einsum("nhd,mhd->hnm", q, k) / np.sqrt(q.shape[-1])
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-1e300))
    sums = exponentials.sum(axis=-1, keepdims=True)
    return np.einsum("hnm,mhe->nhe", exponentials / np.where(sums, sums, 1), v)
"""


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        ("pass", None),
        ("cu_seqlens, cu_seqlens_k = [0, len(q)], [0, max_seqlen_k := len(k)]", "sequences_not_separated"),
        pytest.param(
            "cu_seqlens, cu_seqlens_k = (np.r_[0, x[1:-1] + 1, x[-1]] for x in (cu_seqlens, cu_seqlens_k)); "
            "max_seqlen_k = np.diff(cu_seqlens_k).max()",
            "sequence_bounds_off",
            marks=pytest.mark.deep,
        ),
    ],
)
def test_packed_sequences_are_passed_by_their_bounds(change: str, mistake: str | None) -> None:
    names = ("q", "k", "v", "cu_seqlens", "cu_seqlens_k", "max_seqlen_k")
    report = try_text(PACKED.format(change=change), *names)
    assert report.layout == "nhd"
    assert [x.slips for x in report.explanations] == ([] if mistake is None else [(mistake,)])
    assert report.passes == (mistake is None)
    assert mistake is None or report.smallest.case.count <= 9


PAGED = """
import numpy as np
def attention(q, k_cache, v_cache, cache_seqlens, block_table):
    {change}
    caches = (np.stack([cache[row] for row in block_table]) for cache in (k_cache, v_cache))
    k, v = (x.reshape(len(q), -1, *x.shape[3:]) for x in caches)
    scores = np.einsum("bnhd,bmhd->bhnm", q, k) / np.sqrt(q.shape[-1])
    scores = np.where(np.arange(k.shape[1]) < cache_seqlens[:, None, None, None], scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("bhnm,bmhe->bnhe", exponentials / exponentials.sum(axis=-1, keepdims=True), v)
"""


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        ("pass", None),
        pytest.param("cache_seqlens = cache_seqlens + 1", "key_lengths_off", marks=pytest.mark.deep),
        pytest.param("cache_seqlens = -(-cache_seqlens // 16) * 16", "last_block_read_whole", marks=pytest.mark.long),
    ],
)
def test_a_paged_cache_is_passed_with_its_table(change: str, mistake: str | None) -> None:
    names = ("q", "k_cache", "v_cache", "cache_seqlens", "block_table")
    report = try_text(PAGED.format(change=change), *names)
    assert report.layout == "bnhd"
    found = [x.slips for x in report.explanations]  # lengths that are too large are another reading of a last page
    assert (mistake,) in found if mistake else found == []
    assert len(found) <= 2
    assert report.passes == (mistake is None)


@pytest.mark.long
def test_a_table_of_pages_that_is_not_read_shows_on_one_key() -> None:
    names = ("q", "k_cache", "v_cache", "cache_seqlens", "block_table")
    report = try_text(PAGED.format(change="block_table = block_table - 1"), *names)
    assert report.smallest.case.count <= 6


def run_trial(folder: Path, source: str, options: str, python: str = sys.executable) -> tuple[dict[str, Any], float]:
    (folder / "kernel.py").write_text(source, encoding="utf-8")
    words = ["try", "kernel.py:attention", *shlex.split(options), "--json"]
    start = time.process_time() + sum(os.times()[2:4])
    ran = subprocess.run([python, "-m", "attncli", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    return json.loads(ran.stdout), time.process_time() + sum(os.times()[2:4]) - start


def first_deep(cases: Iterable[Any], every: int) -> list[Any]:
    """Cases of which the first and each `every`th after it are deep, and the others long."""
    marks = (pytest.mark.long if at % every else pytest.mark.deep for at in itertools.count())
    return [pytest.param(case, marks=mark) for case, mark in zip(cases, marks, strict=False)]


@pytest.mark.parametrize("name", first_deep(WRONG, 8))
def test_a_wrong_kernel_fails_on_few_numbers(name: str, tmp_path: Path) -> None:
    wrong = WRONG[name]
    found, seconds = run_trial(tmp_path, wrong.source, wrong.options)
    smallest = found["smallest"]
    assert (found["passes"], smallest["kind"]) == (False, wrong.kind)
    assert smallest["numbers"] <= wrong.numbers
    assert seconds < LONGEST
    if wrong.slip:
        assert [wrong.slip] in [one["slips"] for one in found["explained_by"]]


def test_nearly_all_wrong_kernels_are_to_fail_on_few_numbers() -> None:
    assert len(WRONG) == 40
    assert sum(wrong.numbers <= FEW_NUMBERS for wrong in WRONG.values()) >= 36


@pytest.mark.parametrize(
    "options", first_deep(["--backward", "", "--causal", "--window 3,1", "--softcap 2 --causal", "--kv-heads 2"], 6)
)
def test_the_kernel_that_the_wrong_ones_are_made_of_passes(options: str, tmp_path: Path) -> None:
    found, _ = run_trial(tmp_path, RIGHT, f"{options} --inputs 80")
    assert found["passes"], found["smallest"]
    assert found["tried"] > 80


@pytest.mark.parametrize("kernel", first_deep(["low_precision", "loops", "loops --causal", "split_keys"], 4))
def test_right_kernels_pass(kernel: str, tmp_path: Path) -> None:
    name, _, options = kernel.partition(" ")
    source = Path(right_kernels.__file__).read_text(encoding="utf-8") + f"\nattention = {name}\n"
    found, _ = run_trial(tmp_path, source, f"{options} --inputs 80")
    assert found["passes"], found["smallest"]
    assert found["tried"] > 80


@pytest.mark.parametrize(
    ("said", "hint"),
    [("0 active drivers ([])", "--interpret runs a Triton kernel"), ("expected cuda", "--device cuda")],
)
def test_a_function_that_asks_for_a_device_is_told_the_option(said: str, hint: str) -> None:
    assert hint_of(f"raises RuntimeError: {said}", "another").startswith(hint)
    assert hint_of("raises ValueError: no", "another") == "another"
