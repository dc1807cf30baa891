"""Mistakes in masks that combine: a rule of an outer `&` is one of its own, and a part of a `|` may be forgotten."""

import pytest

import attncli
from tests.arrays import normal

ARRAYS = {"query": normal(7, 4), "key": normal(7, 4, seed=1), "value": normal(7, 3, seed=2)}
MASK = "causal & (window:left=1,right=0 | prefix:size=2) & document:ids=0 0 0 0 1 1 1"

# What was computed in place of it, the slip, and what its sentence says.
WRONG = {
    "the documents leak": (
        "causal & (window:left=1,right=0 | prefix:size=2)",
        "no_mask",
        "The mask is forgotten: document hides no key.",
    ),
    "not causal": (
        "(window:left=1,right=0 | prefix:size=2) & document:ids=0 0 0 0 1 1 1",
        "no_causal",
        "The causal mask is forgotten",
    ),
    "no prefix": (
        "causal & window:left=1,right=0 & document:ids=0 0 0 0 1 1 1",
        "no_mask",
        "A part of the mask is forgotten: prefix of window:left=1,right=0 | prefix:size=2 leaves no key visible.",
    ),
    "the other way round": (
        "causal & ~(window:left=1,right=0 | prefix:size=2) & document:ids=0 0 0 0 1 1 1",
        "mask_inverted",
        "The mask window:left=1,right=0 | prefix:size=2 is inverted",
    ),
}


@pytest.mark.parametrize(("computed", "slip", "sentence"), WRONG.values(), ids=WRONG)
def test_a_mistake_in_a_part_is_named(computed: str, slip: str, sentence: str) -> None:
    wrong = attncli.attention(**ARRAYS, mask=computed, select="weights").weights
    report = attncli.check(attncli.Problem(**ARRAYS, mask=MASK), against={"weights": wrong})
    found = {name: one.sentence for one in report.explained_by for name in one.slips}
    assert slip in found
    assert found[slip].startswith(sentence)
