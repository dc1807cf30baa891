"""The inputs of a trial: which sizes, kinds and types there are, and that they reveal the mistakes that apply."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attncli.checks.check import read_expected
from attncli.checks.compare import Checker
from attncli.checks.explanations import find_unnoticed
from attncli.checks.report import CheckOptions
from attncli.checks.slips.search import attempts
from attncli.checks.tolerance import compute_reference
from attncli.engine.run import run
from attncli.io.problem_files import Origin, RawValue
from attncli.kernels.calls import Interface
from attncli.kernels.cases import MEMORIES, CaseMaker, KernelCase
from attncli.kernels.domain import Domain
from attncli.kernels.process import KernelHere
from attncli.kernels.trial import Description, Trial, TrialOptions

TYPES = ("float64", "float32", "float16")
EXTRAS = ("bias", "key_lengths", "key_mask", "mask", "past", "sink")
WHOLE = Domain(dtypes=TYPES, heads=((2, 2), (1, 1), (4, 2)), extras=EXTRAS)
MOST_CELLS = 700  # queries times keys of the inputs on which all slips are tried


def systematic(scope: Domain = WHOLE, seed: int = 0) -> list[KernelCase]:
    return list(CaseMaker(scope, seed).systematic())


@pytest.mark.parametrize("size", [1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129])
def test_there_are_as_many_queries_and_keys_as_tiles_have_and_one_more_or_less(size: int) -> None:
    sizes = [case.sizes for case in systematic()]
    assert any(one.queries == size for one in sizes)
    assert any(one.keys == size for one in sizes)


def test_every_kind_of_input_is_there() -> None:
    cases = systematic()
    sizes = [case.sizes for case in cases]
    assert {case.dtype for case in cases} == set(TYPES)
    assert {case.memory for case in cases} == set(MEMORIES)
    assert {(one.heads, one.kv_heads) for one in sizes} == set(WHOLE.heads)
    assert {name for case in cases for name in case.arrays} >= {*EXTRAS} - {"past"}
    assert {one.batch for one in sizes} == {1, 2, 3}
    assert any(case.past for case in cases)
    assert any(one.queries == 1 and one.keys > 200 for one in sizes)
    assert any(one.queries > 4 * one.keys for one in sizes)
    assert any(one.features != one.value_features for one in sizes)


def test_a_row_of_a_mask_sees_no_key() -> None:
    masks = [case.arrays["mask"] for case in systematic() if "mask" in case.arrays]
    assert masks
    assert all((~mask).all(axis=1).any() for mask in masks)


def test_large_scores_overflow_the_exponential_and_are_finite() -> None:
    for case in systematic(replace(WHOLE, extras=())):
        if case.about.startswith(("large", "growing")):
            query, key = (case.arrays[name].astype(np.float64) for name in ("query", "key"))
            key = key.repeat(query.shape[1] // key.shape[1], axis=1)
            scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
            limit = np.log(np.finfo("float64" if case.dtype == "float64" else "float32").max)
            assert scores.max() > limit or case.about.startswith("growing")
            assert np.isfinite(case.arrays["query"]).all()


def test_the_same_seed_draws_the_same_numbers_and_another_draws_others() -> None:
    first, same, other = (list(CaseMaker(WHOLE, seed).drawn(5)) for seed in (1, 1, 2))
    for one, two in zip(first, same, strict=True):
        assert all(np.array_equal(array, two.arrays[name]) for name, array in one.arrays.items())
    assert [case.sizes for case in first] != [case.sizes for case in other]


def test_what_a_function_does_not_take_is_not_drawn() -> None:
    scope = Domain(has_batch=False, has_other_value_features=False, memories=("",))
    for case in (*systematic(scope), *CaseMaker(scope).drawn(20)):
        assert (case.sizes.batch, case.sizes.features, case.memory) == (1, case.sizes.value_features, "")
        assert set(case.arrays) == {"query", "key", "value"}


LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("keys", "scope"),
    [
        pytest.param({"causal": True, "align": "bottom_right"}, Domain(), marks=pytest.mark.deep),
        pytest.param({}, Domain(), marks=LONG),
        pytest.param({"window": [2, 1]}, Domain(), marks=LONG),
        pytest.param({"softcap": 3.0, "causal": True}, Domain(heads=((4, 2), (6, 3))), marks=LONG),
        pytest.param({"scale": 0.3}, Domain(), marks=LONG),
        pytest.param({}, Domain(extras=EXTRAS), marks=LONG),
    ],
    ids=str,
)
def test_the_inputs_reveal_every_mistake_that_applies(keys: Mapping[str, Any], scope: Domain) -> None:
    document = {key: RawValue(value, Origin()) for key, value in keys.items()}
    trial = Trial(KernelHere({}), Interface(()), Description(document), TrialOptions())
    made, revealed = set(), set()
    for case in systematic(replace(scope, scale=keys.get("scale"))):
        if case.sizes.queries * case.sizes.keys <= MOST_CELLS:
            problem, options = trial.problem_of(case), CheckOptions(finds_unnoticed=True, seconds=60)
            quantities = read_expected(problem, {"output": run(problem, "output").output}, options)
            checker = Checker(problem, compute_reference(problem, ["output"], options), quantities, options)
            own = {attempt.slips for attempt in attempts(problem)}
            made |= own
            revealed |= own - {attempt.slips for attempt in find_unnoticed(checker).explanations}
    assert len(made) > 20
    assert made - revealed == set()
