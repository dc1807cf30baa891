"""Mistakes with a number or a map in them: the slip is named, and the number is found."""

from itertools import chain
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checks.bugs import bugs
from attncli.checks.slips import SLIPS
from attncli.checks.slips.records import Computation, FittedNumber
from attncli.checks.slips.search import own_attempt, run_attempt, with_slip
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.checks.slips import wrong_latents as latents
from tests.checks.slips import wrong_recurrences as recurrences
from tests.checks.slips import wrong_selection as selection
from tests.checks.slips.numbered_mistakes import MISTAKES as NUMBERED
from tests.checks.slips.numbered_mistakes import Mistake, given, output_of
from tests.checks.slips.wrong_units import UNIT_MISTAKES
from tests.problems import PROBLEMS, problem

MISTAKES = [*NUMBERED, *UNIT_MISTAKES]
ALIKE = ({"scale_factor", "temperature_factor"},)  # where nothing is added to the scores


# One of each file of slips is quick enough for every run. The bugs of test_bugs.py are named too; of other slips every
# second one is deep, by its first mistake.
FIRST = {SLIPS[one.slip].change.__module__: one for one in reversed(MISTAKES)}
OF_NO_BUG = {one.slip: one for one in reversed(MISTAKES) if one.slip not in {bug.slip for bug in bugs().values()}}
SECOND = [*OF_NO_BUG.values()][::2]
DEEP = [
    pytest.param(one, marks=() if one in FIRST.values() else pytest.mark.deep if one in SECOND else pytest.mark.long)
    for one in MISTAKES
]


@pytest.mark.parametrize("mistake", DEEP, ids=str)
def test_a_mistake_is_named_with_its_number(mistake: Mistake) -> None:
    keys = mistake.keys(seed=5)
    report = attncli.check(against={"output": mistake.wrong(keys, mistake.number)}, **keys)
    assert not report.agrees
    explanation = next(one for one in report.explained_by if one.slips == (mistake.slip,))
    assert len(report.explained_by) == 1
    found = list(explanation.parameters.values())
    if mistake.number is None:
        assert found == []
    elif found == []:  # not determined, as that of a tile that others of twice the size are the same as here
        assert "as well" in explanation.sentence
    else:
        np.testing.assert_allclose(found, [mistake.number], rtol=1e-6)


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_a_slip_with_its_number_computes_what_the_mistake_made_by_hand_does(mistake: Mistake) -> None:
    """And the number is one of those that are tried, or follows from what the mistake computes."""
    keys = mistake.keys(seed=5)
    own, slip, wrong = own_attempt(problem(**keys)), SLIPS[mistake.slip], mistake.wrong(keys, mistake.number)
    own.compute_known_values()
    found = [run_attempt(one, ["output"])["output"] for one in with_slip(own, slip, slip.number and mistake.number)]
    assert any(x.shape == wrong.shape and np.allclose(x, wrong, rtol=1e-9, atol=1e-9) for x in found)
    if slip.number is None:
        return
    case = Computation(own.problem, own.plan, own.dtype)
    if slip.number.solve is not None:
        solved = list(slip.number.solve(case, {"output": wrong}))
        assert any(np.shape(x) == np.shape(mistake.number) and np.allclose(x, mistake.number) for x in solved)
    elif slip.number.is_whole:
        assert mistake.number in slip.number.candidates(case)
    else:
        candidates = slip.number.candidates(case)
        assert 0 < min(candidates) <= mistake.number <= max(candidates)


FIRST_SOLVED = {one.slip: one for one in reversed(MISTAKES) if (number := SLIPS[one.slip].number) and number.solve}


@pytest.mark.parametrize("mistake", FIRST_SOLVED.values(), ids=FIRST_SOLVED)
def test_what_is_right_and_what_is_noise_have_no_map(mistake: Mistake) -> None:
    """But for factors that are all 1."""
    own, number = own_attempt(problem(**mistake.keys(seed=5))), SLIPS[mistake.slip].number
    case, right = Computation(own.problem, own.plan, own.dtype), run_attempt(own, ["output"])["output"]
    assert number is not None
    assert number.solve is not None
    for expected in ({"output": right}, {"output": normal(*right.shape)}, {}):
        assert {x for found in number.solve(case, expected) for x in found} <= {1.0}


def test_known_scales_are_those_of_the_problem() -> None:
    """A root of one head, or of one feature, is 1: it is no mistake."""
    number = SLIPS["scale_factor"].number
    assert number is not None
    for heads, features in ((1, 1), (2, 3), (3, 2)):
        own = own_attempt(problem(query=normal(1, heads, 4, features), key=normal(1, heads, 5, features)))
        known = number.known(Computation(own.problem, own.plan, own.dtype))
        for name, size in (("heads", heads), ("d", features)):
            found = [known.get(f"√{name}"), known.get(f"1/√{name}")]
            assert found == ([None, None] if size == 1 else pytest.approx([size**0.5, size**-0.5]))


def test_rope_on_several_axes_of_positions_is_not_rounded() -> None:
    for name, is_made in (("rope on three axes of positions", False), ("rope with the scaling of yarn", True)):
        own = own_attempt(problem(**{**PROBLEMS[name], "dtype": "float64"}))
        assert any(with_slip(own, SLIPS["rope_angles_rounded"])) == is_made, name


# What is said of the first mistake of a slip, in which its number, and what follows from that, has to be.
SENTENCES = {
    "temperature_factor": "What the softmax reads is 1.4286 times too small: its temperature is 1.4286.",
    "softcap_value": "The problem has no softcap, and the scores have one of 1.7.",
    "mask_value": "Masked scores are −2.7 instead of −∞, and take part in the softmax.",
    "alibi_heads": "Alibi's slopes are the first 4 for 16 heads.",
    "alibi_shard": "Alibi's slopes belong to the heads 8 to 11 of 16.",
    "chunk_size": "Chunks have 8 tokens instead of 16.",
    "key_lengths_off": "The lengths of the keys are 1 too small: the last real keys do not take part.",
    "rope_dims_value": "Rope turns the first 4 features of a head instead of 8.",
    "norm_eps": "The eps of the norm is 0.05 instead of 1e-06.",
    "position_offset": "The positions are counted from 5 instead of 0.",
    "rope_base": "Rope's base is 1,234 instead of 10,000.",
    "rope_offset": "Rope puts each query 7 positions after its own.",
    "causal_off_by_one": "The causal mask is off by 4: it shows a query 4 keys after its own.",
    "window_too_wide": "The window is 3 keys too wide: left is 7.",
    "window_too_narrow": "The window is 2 keys too narrow: left is 2.",
    "window_added": "A window of 4 keys before each query is applied, although the problem has none.",
    "sequence_bounds_off": "The bounds between packed sequences are 2 rows too late.",
    "qk_norm_of_one": "Only the queries are normalized.",
    "key_items_alone_exchanged": "Batch items read the keys of others: those numbered 0, 0, 2.",
    "key_heads_exchanged": "Query heads read the keys and values of other key heads: those numbered 1, 0, 0, 0.",
    "values_shifted": "The values are shifted by one row: each key has the value of a key after it.",
    "int8_blocks": "The values are rounded to 8-bit integers, with a scale for each row.",
    "alibi_ranks": "Alibi's slopes are for the first 2 heads on each of 2 devices.",
    "rope_cache_offset": "Rope puts the new tokens 3 positions after their own: the cache is counted twice.",
    "rope_scaling_value": "Rope divides positions by 8 instead of 1.",
    "masks_tiled": "The masks mask of batch items are tiled for the heads instead of repeated: a head reads another.",
    "maximum_not_below": (
        "The running maximum of the unscaled scores begins at −50000 instead of −∞: exponentials vanish in float64."
    ),
    "rows_of_zeros": "Rows 2 to 3 of the keys and values are 0, as if not written.",
    "rows_stale": "The last row of the values is the one before: a block is stale.",
    "pages_exchanged": "The pages 0 and 2 of the values, of 8 tokens, are exchanged.",
    "float8_blocks": "The keys are rounded to float8_e4m3, with a scale for each row.",
    "scale_of_latent": "The scores are divided by the root of the width of the latent, 7, instead of 14.",
    "lambda_of_another_layer": "The number λ_init belongs to layer 0 instead of 2, counted from 0.",
    "index_rope_pairs": "Rope turns neighbours, not halves, in the indexer.",
    "top_of_other_size": "A query keeps 1 key instead of 4.",
    "key_scale_per_head": (
        "The keys have a factor too much, as of a scale that is forgotten: "
        "1.5 in head 0, 0.75 in head 1, 2.2 in head 3."
    ),
    "keys_of_other_tile": "The values are one tile of 8 late: each has that of the one before it.",
    "positions_by_tile": "The positions of keys are counted from the beginning of their tile of 8.",
    "keys_read_twice": "Keys 8 to 15 are read twice: each takes part in the softmax as two.",
    "page_of_another": "Page 1 of the keys and values, of 8 tokens, is read from page 2.",
    "two_splits_merged": "Two splits, of 24 and 7 keys, are averaged, each with the same weight.",
    "divided_in_each_tile": (
        "The output is divided by the sum of exponentials in each tile of 8 keys, and not multiplied back."
    ),
    "bias_of_other_head": "Head 0's bias is used for all heads.",
    "input_of_other_head": "Head 0's sink is used for all heads.",
    "input_of_other_item": "Batch item 0's key_lengths are used for all batch items.",
    "padding_on_other_side": "Padding on the left is read as padding on the right.",
    "later_sequences_late": "The keys and values of the packed sequences after the first are read one row late.",
    "carried_state_not_decayed": "What is carried into a chunk of 8 tokens is not decayed there.",
    "features_permuted": (
        "The features of the values are in another order: "
        "1 has 2's, 2 has 4's, 3 has 6's, 4 has 1's, 5 has 3's, 6 has 5's."
    ),
    "values_permuted": (
        "The values belong to other keys: 0 has 30's, 1 has 29's, 2 has 28's, 3 has 27's, "
        "4 has 26's, 5 has 25's, and 24 more."
    ),
}


@pytest.mark.parametrize("slip", SENTENCES)
def test_a_sentence_has_the_number_of_the_mistake(slip: str) -> None:
    mistake = next(one for one in MISTAKES if one.slip == slip)
    own = own_attempt(problem(**mistake.keys(seed=5)))
    made = with_slip(own, SLIPS[slip], SLIPS[slip].number and mistake.number)
    assert SENTENCES[slip] in [one.sentence for one in made]


@pytest.mark.parametrize(
    "rule", ["linear", "gated", "delta:feature_map=l2", "gated_delta", "gated_delta:feature_map=l2"]
)
def test_a_right_recurrence_is_not_called_wrong(rule: str) -> None:
    keys = recurrences.given(rule)
    assert attncli.check(against=recurrences.recurrence(keys), **keys).agrees


@pytest.mark.parametrize("yarn", [False, True])
@pytest.mark.parametrize("interleaved", [False, True])
def test_right_latent_attention_is_not_called_wrong(*, yarn: bool, interleaved: bool) -> None:
    keys = latents.given(yarn=yarn, interleaved=interleaved)
    assert attncli.check(against={"output": latents.latent_attention(keys)}, **keys).agrees


@pytest.mark.parametrize("rope", ["halves", "pairs"])
def test_a_right_selection_is_not_called_wrong(rope: str) -> None:
    keys = selection.given(rope=rope)
    assert attncli.check(against={"output": selection.selective_attention(keys)}, **keys).agrees


@pytest.mark.parametrize(
    ("slip", "mistakes"),
    [
        ("state_transposed", {"state_transposed": "present"}),
        ("error_before_decay", {"error_before_decay": True}),
        ("state_reset", {"state_reset": 6}),
        ("no_past_state", {"no_past_state": True}),
    ],
)
def test_a_mistake_is_named_by_the_state_after_the_last_token(slip: str, mistakes: dict[str, Any]) -> None:
    keys = recurrences.given()
    wrong = recurrences.recurrence(keys, **mistakes)
    for against in (wrong, {"present_state": wrong["present_state"]}):
        report = attncli.check(against=against, **keys)
        assert (slip,) in [one.slips for one in report.explained_by]


@pytest.mark.parametrize(
    ("slip", "scale", "end"),
    [
        ("no_scale", 1, "is not scaled."),
        ("scaled_twice", 1 / recurrences.D, "is scaled twice."),
        ("scale_inverted", recurrences.D**0.5, "is multiplied by √d instead of divided by it."),
        ("output_factor", 0.3 / recurrences.D**0.5, ""),
    ],
)
def test_a_wrong_scale_of_a_recurrence_is_named(slip: str, scale: float, end: str) -> None:
    keys = recurrences.given("gated_delta")
    first, *_ = attncli.check(against=recurrences.recurrence(keys, scale=scale), **keys).explained_by
    assert first.slips == (slip,)
    assert first.sentence.endswith(end)


@pytest.mark.deep
def test_one_wrong_number_of_a_recurrence_has_no_explanation() -> None:
    keys = recurrences.given("gated_delta")
    wrong = recurrences.recurrence(keys)
    wrong["output"][0, 1, 5, 2] += 0.1
    report = attncli.check(against=wrong, **keys)
    assert report.explained_by == ()
    assert " at head 1, query_6, e3: " in str(report)


@pytest.mark.parametrize("mistake", [mistake for mistake in MISTAKES if mistake.slip == "scale_factor"], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_number_is_found_through_the_rounding_of_a_type(mistake: Mistake, dtype: str) -> None:
    keys = {name: x.astype(dtype) for name, x in mistake.keys(seed=5).items()}
    wide = {name: x.astype(np.float64) for name, x in keys.items()}
    report = attncli.check(against={"output": mistake.wrong(wide, mistake.number).astype(dtype)}, **keys)
    assert [one.slips for one in report.explained_by] == [("scale_factor",)]
    np.testing.assert_allclose(report.explained_by[0].parameters["factor"], mistake.number, rtol=1e-2)


@pytest.mark.parametrize(
    ("factor", "name"), [(2**0.5, "√2"), (np.log(2) / 2, None), (1 / 0.9, None), (8**0.5 * 1.0001, None)]
)
def test_a_number_that_people_know_is_called_by_its_name(factor: float, name: str | None) -> None:
    keys = given(3)
    mistake = next(one for one in MISTAKES if one.slip == "scale_factor")
    (found,) = attncli.check(against={"output": mistake.wrong(keys, factor)}, **keys).explained_by
    assert found.sentence.endswith("here." if name is None else f"(1.4142 is {name}).")


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(2))
def test_no_slip_explains_noise(seed: int) -> None:
    keys = given(seed)
    assert attncli.check(against={"output": normal(1, 4, 29, 8, seed=seed + 50)}, **keys).explained_by == ()


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(3))
def test_no_slip_explains_noise_of_few_numbers(seed: int) -> None:
    keys = {name: normal(4, 3, seed=3 * seed + at) for at, name in enumerate(("query", "key", "value"))}
    report = attncli.check(against={"output": np.round(normal(4, 3, seed=seed + 50), 3).tolist()}, **keys)
    assert (report.explained_by, report.explained_in_part) == ((), ())


@pytest.mark.deep
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_slip_explains_small_noise(dtype: str) -> None:
    keys = {name: x.astype(dtype) for name, x in given(7).items()}
    right = attncli.attention(**keys).output
    noisy = right * (1 + 1e-3 * normal(*right.shape, seed=8))
    assert attncli.check(against={"output": noisy.astype(dtype)}, **keys).explained_by == ()


def test_every_slip_with_a_number_has_a_mistake_made_by_hand() -> None:
    forward = {slip.name for slip in SLIPS.values() if slip.number is not None and not slip.is_backward}
    assert forward <= {one.slip for one in MISTAKES}


@pytest.mark.parametrize("shape", [(2, 6), (4, 4), (8, 6)], ids=str)
def test_heads_that_are_taken_for_tokens_are_named(shape: tuple[int, int]) -> None:
    heads, tokens = shape
    arrays = {name: normal(1, heads, tokens, 8, seed=seed) for seed, name in enumerate(("query", "key", "value"))}
    query, key, value = (x.swapaxes(1, 2) for x in arrays.values())
    output = output_of(query[0] @ key[0].swapaxes(1, 2) / np.sqrt(8), value[0]).swapaxes(1, 2)
    (found,) = attncli.check(against={"output": output}, **arrays).explained_by
    assert found.slips == ("layout_misread",)
    assert found.sentence.endswith("are read as (batch, heads, tokens, features); with layout bnhd all agrees.")


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_gradients_of_heads_that_are_taken_for_tokens_are_named(name: str) -> None:
    arrays = {name: normal(1, 2, 5, 4, seed=seed) for seed, name in enumerate(("query", "key", "value"))}
    exchanged = attncli.attention(**{name: x.swapaxes(1, 2) for name, x in arrays.items()}, gradient=True)
    gradient = getattr(exchanged, f"grad_{name}").swapaxes(1, 2)
    report = attncli.check(against={f"grad_{name}": gradient}, **arrays)
    assert [found.slips for found in report.explained_by] == [("layout_misread",)]


IN_TURN = [pytest.param(name, marks=() if at % 3 == 0 else pytest.mark.deep) for at, name in enumerate(PROBLEMS)]


@pytest.mark.parametrize("name", IN_TURN)
def test_every_slip_can_be_tried_on_every_problem(name: str) -> None:
    """A number that explains nothing here is looked for in vain, without an error."""
    try_every_slip(problem(**PROBLEMS[name]))


def test_every_slip_can_be_tried_on_gradients_of_heads() -> None:
    arrays = {name: normal(1, 2, 5, 4, seed=seed) for seed, name in enumerate(("query", "key", "value"))}
    try_every_slip(problem(**arrays).with_gradient())
    try_every_slip(problem(**{name: array[0, 0] for name, array in arrays.items()}).with_gradient())


def try_every_slip(spec: ProblemSpec) -> None:
    """Compute the last step of a problem with each of the slips that can be made in it."""
    own = own_attempt(spec)
    own.compute_known_values()
    case, last = Computation(own.problem, own.plan, own.dtype), own.plan.nodes[-1].name
    noise = {last: run_attempt(own, [last])[last] + normal(*own.plan[last].shape)}
    fitted = []
    for slip in SLIPS.values():
        number = slip.number or FittedNumber("")
        found = list(number.candidates(case))[:1] if number.solve is None else list(number.solve(case, noise))
        fitted.append(with_slip(own, slip, found[0]) if found else with_slip(own, slip))
    for attempt in chain.from_iterable(fitted):
        values = run_attempt(attempt, [attempt.plan.nodes[-1].name])
        assert len(values) == 1, attempt.slips
