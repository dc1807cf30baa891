"""The data of a comparison: the variants, the differences between them, and the steps at which they part."""

from collections.abc import Mapping
from dataclasses import field

from attncli.analysis.row_statistics import RowStatistics
from attncli.base.dataclasses import dataclass
from attncli.io.variants import Variant
from attncli.plan.trace import RunResult


@dataclass(frozen=True)
class VariantResult:
    """A variant, computed; `statistics` are those of its weights, None where they were not computed or not kept.

    `result.select` has the selected names that the variant computes: others may compute more.
    """

    variant: Variant
    result: RunResult
    statistics: RowStatistics | None


@dataclass(frozen=True)
class Difference:
    """How much a result of two variants differs; `variants` has their positions, the first one is the baseline.

    `max_abs` is the largest difference of two numbers, at `position`, whose labels are `labels`, where they are
    `numbers`; it is NaN where one of them alone is NaN. Of weights, `row_count` is the number of rows, and
    `reordered_count` that of rows in which the order of keys by weight changes. Of the rows that are distributions in
    both (`distribution_count`) `total_variation` and `kl` (the baseline's divergence from the other, where finite, in
    nats) are the largest of a row, and `infinite_kl_count` is the number of rows in which it is infinite. None of other
    results. `reason` says why nothing can be compared: the shapes differ, or one of them lacks the result; then every
    number is None.
    """

    variants: tuple[int, int]
    name: str
    max_abs: float | None = None
    position: tuple[int, ...] | None = None
    labels: tuple[str, ...] = ()
    numbers: tuple[float, float] | None = None
    distribution_count: int | None = None
    total_variation: float | None = None
    kl: float | None = None
    infinite_kl_count: int | None = None
    reordered_count: int | None = None
    row_count: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class FirstDifference:
    """The first step in which two variants differ, and a cell of it, with both numbers; `step` is None where none does.

    `only_in` is the position of the variant that has the step where the other has none of that name: there the number
    is that of what stands in its place, such as scores that are not masked. `numbers` are None where the shapes differ.
    `is_partial` is true of a large problem, of which only the steps that were kept are compared.
    """

    variants: tuple[int, int]
    step: str | None
    only_in: int | None = None
    position: tuple[int, ...] | None = None
    labels: tuple[str, ...] = ()
    numbers: tuple[float, float] | None = None
    is_partial: bool = False


@dataclass(frozen=True)
class Comparison:
    """Variants, computed, and each compared with the first (or every two, where that was asked for).

    Those with edits are compared with those before them too.

    `shared_keys` are the keys that are varied and have one value in all variants, as text. `positions` has the one
    position that is compared on an axis, by the letter of the axis (b batch items, h heads). `remarks` are what holds
    of several variants, and is said once.
    """

    variants: tuple[VariantResult, ...]
    select: tuple[str, ...]
    differences: tuple[Difference, ...]
    first_differences: tuple[FirstDifference, ...]
    shared_keys: Mapping[str, str]
    positions: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
