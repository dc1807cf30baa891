"""Comparisons for tests of what shows them: of problems with given weights, or of any keys."""

from collections.abc import Mapping, Sequence
from typing import Any

from attncli.comparisons.comparison import CompareOptions, Comparison, compare
from attncli.io.variants import Variant
from tests.problems import problem

Keys = Mapping[str, Any]


def weights_of(*rows: Sequence[float], tokens: Sequence[str] = ("cat", "sat")) -> Keys:
    """The keys of a problem that begins with these weights; its values are 4 and 8."""
    return {"weights": rows, "value": [[4], [8]], "tokens": tokens, "query_tokens": tokens[: len(rows)]}


def named(*names: str) -> list[dict[str, str]]:
    """What was varied in each variant, from names such as `scale=1, seed=2`."""
    return [dict(part.split("=", 1) for part in name.split(", ") if "=" in part) for name in names]


def comparison_of(variants: Mapping[str, Keys], select: Sequence[str] | None = None, **options: Any) -> Comparison:
    """The comparison of problems by their names, from which what was varied is read."""
    keys = named(*variants)
    made = [Variant(name, varied, problem(**one)) for (name, one), varied in zip(variants.items(), keys, strict=True)]
    return compare(made, select, CompareOptions(**options))
