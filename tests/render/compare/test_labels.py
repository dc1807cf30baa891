"""How variants are called: names, values or numbers, and the title that counts them."""

from dataclasses import replace

import pytest

from attncli.render.reports.compare import render_comparison
from attncli.render.reports.variant_tables import (
    heading,
    row_labels,
    title,
    value_labels,
    variant_labels,
    variant_lines,
)
from tests.comparisons import Keys, comparison_of

ONE: Keys = {"query": [[1.0]], "key": [[2.0]]}
# The names of variants, how each is called, the title, and the lines below it.
CASES = {
    "names": (("scale=1", "scale=2"), ("scale=1", "scale=2"), "2 variants of scale: 1, 2", ()),
    "as given": (("as given", "scale=2"), ("as given", "scale=2"), "2 variants of scale: as given, 2", ()),
    "values": (
        ("normalize=softmax", "normalize=entmax:alpha=1.5"),
        ("softmax", "entmax:alpha=1.5"),
        "2 variants of normalize: softmax, entmax:alpha=1.5",
        (),
    ),
    "two keys": (
        ("a=1, b=2", "a=2, b=2", "a=1, b=3"),
        ("a=1, b=2", "a=2, b=2", "a=1, b=3"),
        "3 variants of a and b",
        ("a=1, b=2", "a=2, b=2", "a=1, b=3"),
    ),
    "numbers": (
        ("normalize=softmax, scale=1", "normalize=sum, scale=1", "normalize=sum, scale=2"),
        ("1", "2", "3"),
        "3 variants of normalize and scale",
        ("1  normalize=softmax, scale=1", "2  normalize=sum, scale=1", "3  normalize=sum, scale=2"),
    ),
    "flags": (
        ("causal=true", "causal=false"),
        ("causal=true", "causal=false"),
        "2 variants of causal: true, false",
        (),
    ),
    "no position": (
        ("position=rope", "position=null"),
        ("position=rope", "position=null"),
        "2 variants of position: rope, null",
        (),
    ),
    "a long value": (
        ("score=gaussian:sigma=0.125", "score=dot"),
        ("1", "2"),
        "2 variants of score: gaussian:sigma=0.125, dot",
        (),
    ),
    "one value in all": (("a=1, b=2", "a=1, b=3"), ("a=1, b=2", "a=1, b=3"), "2 variants of b: 2, 3", ("all: a=1",)),
    "conventions": (
        ("as=flash", "as=jax"),
        ("flash", "jax"),
        "2 variants of convention: flash, jax",
        (),
    ),
}


@pytest.mark.parametrize(("names", "labels", "first_line", "lines"), CASES.values(), ids=CASES)
def test_variants_have_short_labels(
    names: tuple[str, ...], labels: tuple[str, ...], first_line: str, lines: tuple[str, ...]
) -> None:
    comparison = comparison_of(dict.fromkeys(names, ONE))
    found = variant_labels(comparison)
    assert found == labels
    assert (title(comparison), variant_lines(comparison, found)) == (first_line, lines)


def test_many_variants_are_not_listed() -> None:
    comparison = comparison_of({f"seed={seed}": ONE for seed in range(9)})
    assert (title(comparison), variant_lines(comparison, variant_labels(comparison))) == ("9 variants of seed", ())


def test_the_values_of_several_keys_are_one_label() -> None:
    comparison = comparison_of(dict.fromkeys(("a=1, b=2", "a=1, b=3", "a=2, b=3"), ONE))
    assert value_labels(comparison) == ("1, 2", "1, 3", "2, 3")


@pytest.mark.parametrize(
    ("second", "text"),
    [
        ({}, "scaled_dot → softmax → weighted_sum"),
        ({"normalize": "sum"}, "scaled_dot → … → weighted_sum"),
        ({"normalize": "sum", "score": "dot"}, "… → … → weighted_sum"),
        ({"normalize": "softmax:temperature=2"}, "scaled_dot → … → weighted_sum"),
    ],
)
def test_the_heading_has_the_stages_in_common(second: Keys, text: str) -> None:
    assert heading(comparison_of({"a": ONE, "b": {**ONE, **second}})) == text


def test_where_the_stages_have_nothing_in_common_there_is_no_heading() -> None:
    scores: Keys = {"scores": [[1.0, 2]]}
    comparison = comparison_of({"a": scores, "b": {**scores, "normalize": "sum"}})
    assert heading(comparison) == ""
    assert "".join(render_comparison(comparison)).startswith("2 variants\n")


def test_a_remark_is_said_once_of_all_its_variants() -> None:
    remarks = {"a": ("no mask", "no sink"), "b": ("no mask",), "c": ("no mask", "no sink")}
    comparison = comparison_of(dict.fromkeys(remarks, ONE))
    variants = tuple(
        replace(one, variant=replace(one.variant, remarks=remarks[one.variant.name])) for one in comparison.variants
    )
    lines = variant_lines(replace(comparison, variants=variants), ("a", "b", "c"))
    assert lines == ("a", "b", "c", "all: no mask", "a and c: no sink")


def test_what_conventions_read_otherwise_is_said_where_the_heading_does_not() -> None:
    masked: Keys = {**ONE, "mask": [[0]]}
    inverted = {**masked, "convention": "torch-mha"}
    comparison = comparison_of({"a": masked, "b": inverted, "c": inverted})
    assert variant_lines(comparison, ("a", "b", "c"))[-1] == "b and c: mask: 1 or true hides"
    alone = comparison_of({"b": inverted, "c": inverted})
    assert heading(alone) == "scaled_dot → softmax → weighted_sum, as torch-mha (mask: 1 or true hides)"
    assert variant_lines(alone, ("b", "c")) == ("b", "c")


def test_numbers_stand_before_the_values_of_a_table_of_all_variants() -> None:
    comparison = comparison_of(dict.fromkeys(("a=1, b=2", "a=1, b=3"), ONE))
    assert row_labels(comparison, ("1", "2")) == ("1  2", "2  3")
    assert row_labels(comparison, ("b=2", "b=3")) == ("2", "3")
