"""Parts of attention merged: what holds for every split of the keys, and the usual mistakes of those who merge."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.kernels.merge import BASES, Merged, MergePart, judge, merge_parts, read_part
from attncli.kernels.merge_document import merge_answer, worked_cell
from attncli.render.formats import terminal
from attncli.render.target import TEXT_FILE
from tests.arrays import normal
from tests.cli.conftest import run  # noqa: F401 - a fixture
from tests.cli.running import Run

KEYS = 11
QUERY, KEY, VALUE = 2 * normal(2, 3, 5, 4), normal(2, 3, KEYS, 4, seed=1), normal(2, 3, KEYS, 7, seed=2)
BOTH = ("output", "lse")
HALVES = (4,)


def attention_of(keys: slice = slice(None)) -> attncli.Result:
    """The attention to some of the keys."""
    return attncli.attention(query=QUERY, key=KEY[:, :, keys], value=VALUE[:, :, keys], select=BOTH)


def parts_of(*cuts: int, base: str = "e") -> list[MergePart]:
    """The attention to the keys between each two cuts, with logarithms to a base."""
    parts = []
    for start, end in pairwise((0, *cuts, KEYS)):
        own = attention_of(slice(start, end))
        parts.append(read_part(f"keys {start} to {end}", own.output, own.lse / BASES[base]))
    return parts


def merged(*cuts: int) -> Merged:
    return merge_parts(parts_of(*cuts))


def names(output: Array, whole: Merged) -> list[str]:
    return [found.name for found in judge(whole, "output", output).explanations]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("cuts", [(), (1,), (4,), (3, 8), (1, 2, 3, 10), tuple(range(1, KEYS))])
def test_the_parts_of_any_split_of_the_keys_merge_to_attention_to_all_keys(cuts: tuple[int, ...], base: str) -> None:
    whole, found = attention_of(), merge_parts(parts_of(*cuts, base=base), base)
    np.testing.assert_allclose(found.output, whole.output, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.lse * BASES[base], whole.lse, rtol=1e-14)


def test_the_order_of_the_parts_does_not_matter() -> None:
    parts = parts_of(3, 8)
    np.testing.assert_allclose(merge_parts(parts[::-1]).output, merge_parts(parts).output, atol=1e-15)


def test_merged_parts_are_a_part() -> None:
    first, *others = parts_of(3, 8)
    rest = merge_parts(others)
    again = merge_parts([first, read_part("rest", rest.output, rest.lse)])
    np.testing.assert_allclose(again.output, attention_of().output, atol=1e-14)


@pytest.mark.parametrize("lse", [-np.inf, np.inf])
@pytest.mark.parametrize("output", [0.0, np.nan, 5.0])
def test_a_part_without_keys_counts_nothing(lse: float, output: float) -> None:
    whole = attention_of()
    empty = read_part("empty", np.full_like(whole.output, output), np.full_like(whole.lse, lse))
    found = merge_parts([empty, *parts_of(*HALVES), empty])
    np.testing.assert_allclose(found.output, whole.output, atol=1e-14)
    np.testing.assert_allclose(found.lse, whole.lse, rtol=1e-14)


def test_a_query_that_sees_no_key_in_any_part_has_output_0_and_lse_minus_infinity() -> None:
    empty = read_part("empty", [[np.nan, np.nan]], [-np.inf])
    found = merge_parts([empty, empty])
    assert found.output.tolist() == [[0, 0]]
    assert found.lse.tolist() == [-np.inf]


def test_large_log_sum_exps_do_not_overflow() -> None:
    found = merge_parts([read_part("a", [[1.0]], [5000.0]), read_part("b", [[3.0]], [5000.0])])
    assert (found.output.item(), found.lse.item()) == (2, 5000 + math.log(2))


def test_tokens_may_be_before_heads_in_the_output_alone() -> None:
    parts = [read_part(p.name, p.output.swapaxes(1, 2), p.lse) for p in parts_of(*HALVES)]
    np.testing.assert_allclose(merge_parts(parts).output.swapaxes(1, 2), attention_of().output, atol=1e-14)
    assert parts[0].notes == ("lse (2, 3, 5) is read with its last two axes swapped",)


def test_as_many_heads_as_tokens_are_read_as_the_user_says() -> None:
    output, lse = normal(3, 3, 2), normal(3, 3, seed=1)
    assert read_part("a", output, lse, "swapped").lse.tolist() == lse.T.tolist()
    assert read_part("a", output, lse, "same").lse.tolist() == lse.tolist()
    assert "--lse-axes" in read_part("a", output, lse).warnings[0]


def test_parts_of_a_narrow_type_give_a_whole_of_that_type() -> None:
    parts = [read_part(p.name, p.output.astype(np.float16), p.lse.astype(np.float32)) for p in parts_of(*HALVES)]
    found = merge_parts(parts)
    assert (found.dtype, found.lse_dtype) == ("float16", "float32")
    assert (found.output.dtype, found.lse.dtype) == (np.float16, np.float32)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_a_right_output_agrees_in_each_type(dtype: type[np.floating]) -> None:
    parts = [read_part(p.name, p.output.astype(dtype), p.lse.astype(np.float32)) for p in parts_of(3, 8)]
    lses = np.stack([p.lse for p in parts]).astype(np.float32)
    weights = np.exp(lses - lses.max(axis=0))
    weights /= weights.sum(axis=0)
    outputs = np.stack([p.output for p in parts]).astype(np.float32)
    mine = (weights[..., None] * outputs).sum(axis=0).astype(dtype)
    verdict = judge(merge_parts(parts), "output", mine)
    assert (verdict.agrees, verdict.base, verdict.is_undecided) == (True, "e", False)


def test_the_other_base_is_named() -> None:
    verdict = judge(merge_parts(parts_of(*HALVES, base="2"), "e"), "output", attention_of().output)
    assert (verdict.agrees, verdict.base) == (False, "2")
    assert [found.name for found in verdict.explanations] == ["splits_merged_in_base_2"]


def test_parts_that_weigh_the_same_tell_no_base() -> None:
    parts = [read_part("a", [[1.0]], [0.5]), read_part("b", [[2.0]], [0.5])]
    assert judge(merge_parts(parts), "output", [[1.5]]).is_undecided


def test_each_usual_mistake_is_named() -> None:
    parts, whole = parts_of(*HALVES), merged(*HALVES)
    (a, b), (one, other) = [p.output for p in parts], [p.lse[..., None] for p in parts]
    largest = np.maximum(one, other)
    in_all = np.exp(one) + np.exp(other)
    assert names((a + b) / 2, whole) == ["splits_averaged"]
    assert names(a + b, whole) == ["splits_added"]
    assert names(np.exp(one - largest) * a + np.exp(other - largest) * b, whole) == ["weights_not_normalized"]
    assert names((one * a + other * b) / (one + other), whole) == ["lse_as_weights"]
    assert names((np.exp(other) * a + np.exp(one) * b) / in_all, whole) == ["weights_exchanged"]
    assert names(a, whole) == names(b, whole) == ["part_left_out"]
    assert names(a - b, whole) == []


def test_an_empty_part_that_makes_nan_is_named() -> None:
    empty = read_part("empty", [[0.0], [0.0]], [-np.inf, 0.0])
    whole = merge_parts([empty, read_part("other", [[0.0], [2.0]], [-np.inf, 1.0])])
    right = whole.output[1, 0]
    assert names(np.array([[np.nan], [right]]), whole) == ["empty_part_nan"]


def test_exponentials_that_overflow_are_named() -> None:
    whole = merge_parts([read_part("a", [[1.0]], [100.0]), read_part("b", [[2.0]], [99.0])])
    assert names(np.array([[np.nan]]), whole) == ["maximum_not_subtracted"]


def test_mistakes_of_the_log_sum_exp_are_named() -> None:
    parts, whole = parts_of(*HALVES), merged(*HALVES)
    one, other = (p.lse for p in parts)
    largest = np.maximum(one, other)

    def found(lse: Array) -> list[str]:
        return [x.name for x in judge(whole, "lse", lse).explanations]

    assert judge(whole, "lse", attention_of().lse).agrees
    assert found(attention_of().lse / math.log(2)) == ["lse_in_base_2"]
    assert found(largest) == ["lse_of_largest"]
    assert found(one + other) == ["lse_added"]
    assert found(attention_of().lse - largest) == ["lse_without_maximum"]


def test_a_number_is_worked_out_by_hand() -> None:
    whole = merge_parts([read_part("a", [[1.0, 4.0]], [0.0]), read_part("b", [[3.0, 8.0]], [math.log(3)])])
    document = merge_answer(whole, (), 4, worked_cell(whole, "0,1")).document()
    text = "".join(terminal.render(document, TEXT_FILE))
    assert "w₂ = 1/1.3333 = 0.7500" in text
    assert "output = w₁·output₁ + w₂·output₂ = 0.25·4 + 0.75·8 = 7" in text
    assert "lse[0] = max + ln(Σ t) = 1.0986 + ln(1.3333) = 1.3863" in text


def test_python_merges_pairs() -> None:
    found = attncli.merge((p.output, p.lse) for p in parts_of(3, 8))
    np.testing.assert_allclose(found.output, attention_of().output, atol=1e-14)
    np.testing.assert_allclose(found.lse, attention_of().lse, rtol=1e-14)


def test_axes_of_length_1_may_be_left_out_of_what_is_expected() -> None:
    part = read_part("a", np.ones((1, 1, 2, 3)), np.zeros((1, 1, 2)))
    whole = merge_parts([part, part])
    assert judge(whole, "output", [[1.0, 1, 1], [1, 1, 1]]).agrees
    assert judge(whole, "lse", [[math.log(2)] * 2]).agrees


def test_what_can_not_be_merged_is_said() -> None:
    with pytest.raises(AttnError, match=r"part 1, lse: has the shape \(3,\); expected \(2,\)"):
        attncli.merge([(np.ones((2, 3)), np.zeros(3))])
    with pytest.raises(AttnError, match="no parts"):
        attncli.merge([])
    with pytest.raises(AttnError, match=r"part 2, output: has the shape \(1, 3\)"):
        attncli.merge([(np.ones((2, 3)), np.zeros(2)), (np.ones((1, 3)), np.zeros(1))])
    with pytest.raises(AttnError, match="lse base"):
        attncli.merge([(np.ones((2, 3)), np.zeros(2))], lse_base="10")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The files of two parts, with the names that FlashAttention gives, and of the whole."""
    for name, part in zip("ab", parts_of(*HALVES), strict=True):
        np.savez(tmp_path / f"{name}.npz", out=part.output, softmax_lse=part.lse)
    np.save(tmp_path / "whole.npy", attention_of().output)
    np.save(tmp_path / "average.npy", np.mean([part.output for part in parts_of(*HALVES)], axis=0))
    return ["a.npz", "b.npz"]


def test_the_command_compares_and_ends_with_1_where_the_output_differs(run: Run, files: list[str]) -> None:  # noqa: F811 - a fixture
    ran = run("merge", *files, "--against", "output=whole.npy")
    assert (ran.returncode, ran.stdout.partition(" (")[0]) == (0, "output agrees in base e")
    ran = run("merge", *files, "--lse-base", "2", "--against", "output=whole.npy")
    assert (ran.returncode, ran.stdout.partition(":")[0]) == (1, "output agrees in base e, not in base 2")
    ran = run("merge", *files, "--against", "output=average.npy", "--explain", "--json")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["against"][0]["explanations"][0]["name"] == "splits_averaged"


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_the_command_writes_the_whole_as_a_part(run: Run, files: list[str], suffix: str) -> None:  # noqa: F811 - a fixture
    assert run("merge", *files, "-o", f"whole{suffix}").returncode == 0
    ran = run("merge", f"whole{suffix}", "--against", "output=whole.npy")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_command_says_what_is_missing(run: Run, files: list[str]) -> None:  # noqa: F811 - a fixture
    assert "whole.npy: names no output and lse; name its entries" in run("merge", "whole.npy", *files).stderr
    assert "no parts; type attn merge" in run("merge").stderr
    assert "unknown result of a merge 'weights'" in run("merge", *files, "--against", "weights=whole.npy").stderr
    assert "only --explain works a number out" in run("merge", *files, "--cell", "0,0,0,0").stderr
    assert "--cell 0,0,0,0" in run("merge", *files, "-e", "--cell", "9").stderr
    assert run("merge", *files, "-o", "whole.csv").returncode == 2
