"""Mistakes with a number or a map in them: the slip is named, and the number is found."""

from itertools import chain
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.analysis.slips import SLIPS
from attncli.analysis.slips.records import Computation, FittedNumber
from attncli.analysis.slips.search import own_attempt, run_attempt, with_slip
from attncli.problem.spec import ProblemSpec
from tests.analysis.slips import wrong_latents as latents
from tests.analysis.slips import wrong_recurrences as recurrences
from tests.analysis.slips import wrong_selection as selection
from tests.analysis.slips.numbered_mistakes import MISTAKES, Mistake, given, output_of
from tests.arrays import normal
from tests.problems import PROBLEMS, problem

ALIKE = ({"scale_factor", "temperature_factor"},)  # where nothing is added to the scores


# One of each file of slips is quick enough for every run.
FIRST = {SLIPS[one.slip].change.__module__: one for one in reversed(MISTAKES)}
DEEP = [pytest.param(one, marks=() if one in FIRST.values() else pytest.mark.deep) for one in MISTAKES]


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
    else:
        np.testing.assert_allclose(found, [mistake.number], rtol=1e-6)


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
        ("scale_by_d", 1 / recurrences.D, "is divided by d instead of its root √d."),
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
@pytest.mark.parametrize("seed", range(4))
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
