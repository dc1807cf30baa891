"""A comparison: what differs between variants, by how much, where, and from which step on."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from attncli.analysis.compare.compare import compare
from attncli.analysis.compare.options import CompareOptions
from attncli.analysis.compare.report import Comparison, Difference, FirstDifference
from attncli.base.errors import AttnError, UnknownNameError
from attncli.io.variants import Variant
from tests.arrays import normal
from tests.problems import problem

SCORES = [[0, 0], [math.log(3), 0]]  # softmax: ½ ½, ¾ ¼
WEIGHTS = {"weights": [[0.5, 0.5], [0.75, 0.25]], "value": [[4.0], [8.0]]}
SELF = {"embeddings": [[1.0, 0], [0, 2], [1, 1]], "tokens": ["the", "cat", "sat"]}


def variants(*keys: dict[str, Any]) -> list[Variant]:
    """A variant for each problem, named by its letter."""
    return [Variant(name, {}, problem(**one)) for name, one in zip("abcdef", keys, strict=False)]


def compared(*keys: dict[str, Any], select: Sequence[str] | None = None, **options: Any) -> Comparison:
    """The comparison of these problems."""
    return compare(variants(*keys), select, CompareOptions(**options))


def difference(name: str, *keys: dict[str, Any], **options: Any) -> Difference:
    """The difference of one result of two problems."""
    (found,) = compared(*keys, select=[name], **options).differences
    return found


def first(*keys: dict[str, Any], **options: Any) -> FirstDifference:
    """The first step in which two problems differ."""
    (found,) = compared(*keys, **options).first_differences
    return found


def test_the_largest_difference_has_its_place_and_both_numbers() -> None:
    found = difference("weights", WEIGHTS, {**WEIGHTS, "weights": [[0.25, 0.75], [1, 0]], "tokens": ["cat", "sat"]})
    assert (found.max_abs, found.position, found.numbers) == (0.25, (0, 0), (0.5, 0.25))
    assert found.labels == ("query_1", "key_1")
    assert found.total_variation == 0.25
    assert found.kl == pytest.approx(0.75 * math.log(0.75))
