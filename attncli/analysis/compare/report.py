"""The data of a comparison: the variants, the differences between them, and the steps at which they part."""

from collections.abc import Mapping
from dataclasses import dataclass

from attncli.analysis.row_statistics import RowStatistics
from attncli.io.variants import Variant
from attncli.trace.result import Result


@dataclass(frozen=True)
class VariantResult:
    """A variant, computed; `statistics` are those of its weights, None where it computes none."""

    variant: Variant
    result: Result
    statistics: RowStatistics | None


@dataclass(frozen=True)
class Difference:
    """How much a result of two variants differs; `variants` has their positions, the first one is the baseline.

    `max_abs` is the largest difference of two numbers, at `position`, whose labels are `labels`. Of weights that are
    distributions `total_variation` and `kl` (the baseline's divergence from the other, where finite, in nats) are the
    largest of a row, `infinite_kl_count` is the number of rows in which it is infinite, and `reordered_count` that of
    rows in which the order of keys by weight changes; None of other results. `reason` says why nothing can be compared:
    the shapes differ; then every number is None.
    """

    variants: tuple[int, int]
    name: str
    max_abs: float | None = None
    position: tuple[int, ...] | None = None
    labels: tuple[str, ...] = ()
    total_variation: float | None = None
    kl: float | None = None
    infinite_kl_count: int | None = None
    reordered_count: int | None = None
    row_count: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class FirstDifference:
    """The first step in which two variants differ, and a cell of it, with both numbers; `step` is None where none does.

    `numbers` are None where one of them lacks the step (`only_in` is the position of the one that has it), or where the
    shapes differ.
    """

    variants: tuple[int, int]
    step: str | None
    only_in: int | None = None
    position: tuple[int, ...] | None = None
    labels: tuple[str, ...] = ()
    numbers: tuple[float, float] | None = None


@dataclass(frozen=True)
class Comparison:
    """Variants, computed, and each compared with the first (or every two, where that was asked for)."""

    variants: tuple[VariantResult, ...]
    select: tuple[str, ...]
    differences: tuple[Difference, ...]
    first_differences: tuple[FirstDifference, ...]
    shared_keys: Mapping[str, str]  # the keys that are varied and have one value in all variants
