"""The shrinker alone: what it makes of an input, where the failure is a rule on sizes and numbers."""

from collections.abc import Callable

import numpy as np
import pytest

from attncli.kernels.cases import CaseMaker, KernelCase
from attncli.kernels.domain import Domain, Sizes
from attncli.kernels.shrink import Shrinker

LARGE = Sizes(batch=3, heads=6, kv_heads=3, queries=37, keys=71, features=7, value_features=5)
SMALL = Sizes()
WHOLE = Domain()


def shrunk(fails: Callable[[KernelCase], bool], scope: Domain = WHOLE, **more: object) -> KernelCase:
    case = CaseMaker(scope, seed=1).make(LARGE, "float32", memory="gaps", extras=scope.extras)
    assert fails(case)
    return Shrinker(fails, lambda: True, dtypes=("float64", "float32"), **more).shrink(case)


@pytest.mark.parametrize(
    ("fails", "sizes"),
    [
        (lambda sizes: True, SMALL),
        (lambda sizes: sizes.keys > 16, Sizes(keys=17)),
        (lambda sizes: sizes.keys > 64, Sizes(keys=65)),
        (lambda sizes: sizes.keys % 16 == 7, Sizes(keys=7)),
        (lambda sizes: sizes.queries % 2 == 1 and sizes.keys > sizes.queries + 8, Sizes(keys=10)),
        (lambda sizes: sizes.queries != sizes.keys, Sizes(keys=2)),
        (lambda sizes: sizes.features > 2 and sizes.batch > 1, Sizes(batch=2, features=3)),
        (lambda sizes: sizes.heads != sizes.kv_heads, Sizes(heads=2)),
        (lambda sizes: sizes.heads // sizes.kv_heads == 2 and sizes.kv_heads > 1, Sizes(heads=4, kv_heads=2)),
    ],
)
def test_every_axis_becomes_as_short_as_the_failure_allows(fails: Callable[[Sizes], bool], sizes: Sizes) -> None:
    case = shrunk(lambda case: fails(case.sizes))
    assert case.sizes == sizes
    assert (case.memory, case.dtype, case.past) == ("", "float64", 0)
    assert all((array == 0).all() for array in case.arrays.values())


def test_numbers_become_simple_one_by_one() -> None:
    case = shrunk(lambda case: abs(case.arrays["value"]).sum() > 0.1 and case.arrays["query"].min() < -0.5)
    assert case.arrays["query"].tolist() == [[[[-1]]]]
    assert case.arrays["key"].tolist() == [[[[0]]]]
    assert case.arrays["value"].tolist() == [[[[1]]]]


def test_what_the_failure_needs_stays() -> None:
    scope = Domain(extras=("mask", "bias", "sink", "past"), needed=("bias",))
    case = shrunk(
        lambda case: "sink" in case.arrays and case.past > 1 and case.memory == "gaps", scope, needed=scope.needed
    )
    assert (set(case.arrays), case.memory, case.past) == ({"query", "key", "value", "bias", "sink"}, "gaps", 2)
    assert case.sizes == Sizes(keys=3)
    assert case.arrays["bias"].shape == (1, 3)


def test_a_mask_hides_as_little_as_the_failure_allows() -> None:
    def fails(case: KernelCase) -> bool:
        return "mask" in case.arrays and bool((~case.arrays["mask"]).all(axis=1).any())

    case = shrunk(fails, Domain(extras=("mask",)))
    assert case.arrays["mask"].tolist() == [[False]]


def test_heads_that_are_fixed_stay() -> None:
    case = shrunk(lambda case: True, letters="bnmde")
    assert case.sizes == Sizes(heads=6, kv_heads=3)


def test_equal_widths_stay_equal() -> None:
    scope = Domain(has_other_value_features=False)
    case = CaseMaker(scope).make(Sizes(keys=2, features=5, value_features=5), "float64")
    small = Shrinker(lambda case: case.sizes.features > 2, lambda: True, alike=["de"]).shrink(case)
    assert (small.sizes.features, small.sizes.value_features) == (3, 3)


def test_it_ends_when_it_may_not_go_on() -> None:
    case = CaseMaker(Domain()).make(LARGE, "float64")
    shrinker = Shrinker(lambda case: True, lambda: shrinker.tried < 3)
    small = shrinker.shrink(case)
    assert shrinker.tried == 3
    assert small.count < case.count
    assert np.isfinite(small.arrays["query"]).all()
