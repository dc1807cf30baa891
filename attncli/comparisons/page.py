"""The page of a comparison: the tables of variants with linked cells, their differences, and descriptions."""

from collections.abc import Iterator, Sequence
from math import isnan
from typing import Any

from attncli.base.axes import AXIS_NOUNS
from attncli.base.errors import AttnError
from attncli.comparisons.comparison import Comparison, variant_means
from attncli.comparisons.document import DifferenceWriter
from attncli.comparisons.tables import heading, table_title, title, variant_labels, variant_lines, varied_keys
from attncli.page.report_objects import shared_content, table_object
from attncli.plan.trace import value_at
from attncli.problem.fields import WEIGHTS
from attncli.render.rows import STATISTICS
from attncli.render.tables import selected_tables
from attncli.render.view import View

FORMAT = "attn.comparison_page/1"
MOST_NUMBERS = 500_000  # numbers of all tables of a page


def comparison_page(comparison: Comparison, decimals: int, own_title: str = "") -> dict[str, Any]:
    """The object of the page; raises AttnError if the tables have more numbers than a page has room for.

    - `about` are texts on the common properties of the variants; `verdict` gives the difference if there is no result.
    - `differences`: `[title, variants]`, of each variant that differs its label and lines of text.
    - `keys`: the varied keys, `{name, values, numbers}`, the values as text; numbers are null unless all are numbers.
    - `variants`: `{label, title, keys, statistics}`, the values by key, and the means of the statistics, null where
      there is none.
    - `results`: `{name, verdict, are_weights, nouns, tables}`, the verdict says what differs most, nouns are those of
      an entry of a row and of a column; for each variant a list of tables, one a slice, none where it has no result.
    """
    _check_size(comparison)
    labels = variant_labels(comparison)
    titles = [table_title(comparison, labels, position) for position in range(len(labels))]
    lines = (heading(comparison), *variant_lines(comparison, labels))
    writer = DifferenceWriter(comparison, labels, decimals)
    return {
        "format": FORMAT,
        **shared_content(own_title or title(comparison), decimals),
        "verdict": writer.verdict,
        "about": [text for text in lines if text and text not in titles],
        "differences": list(writer.differences()),
        "keys": [_key_object(comparison, key) for key in varied_keys(comparison)],
        "variants": [
            {
                "label": label,
                "title": titles[position],
                "keys": dict(one.variant.keys),
                "statistics": _means(comparison, position),
            }
            for position, (label, one) in enumerate(zip(labels, comparison.variants, strict=True))
        ],
        "results": [
            {"verdict": writer.verdict_of(name), **_result_object(comparison, name)} for name in comparison.select
        ],
    }


def _check_size(comparison: Comparison) -> None:
    """Raise AttnError if there are more numbers than a page has room for."""
    count = sum(
        value_at(one.result.trace, one.result.trace[name], comparison.positions).size
        for one in comparison.variants
        for name in one.result.select
    )
    if count > MOST_NUMBERS:
        message = f"the tables have {count:,} numbers together, and a page has room for {MOST_NUMBERS:,}"
        hint = "choose fewer variants, one result (--select weights), or one head (--head 0)"
        raise AttnError(message, where="--output", hint=hint)


def _key_object(comparison: Comparison, key: str) -> dict[str, Any]:
    """A varied key, its values in order, and their numbers if each of them is one."""
    values = list(dict.fromkeys(one.variant.keys.get(key, "") for one in comparison.variants))
    numbers = [_number(value) for value in values]
    return {"name": key, "values": values, "numbers": None if None in numbers else numbers}


def _number(text: str) -> float | None:
    """The number in a text; None for other texts."""
    try:
        number = float(text.replace("−", "-"))
    except ValueError:
        return None
    return None if isnan(number) else number


def _means(comparison: Comparison, position: int) -> dict[str, float | None]:
    """The means of the statistics of a variant, over its rows of weights; None if it has none."""
    found = variant_means(comparison, position)
    return {name: None if isnan(found[name]) else found[name] for name in STATISTICS}


def _result_object(comparison: Comparison, name: str) -> dict[str, Any]:
    """A result of all variants."""
    tables = [_tables(comparison, position, name) for position in range(len(comparison.variants))]
    trace = next(one.result.trace for one in comparison.variants if name in one.result.select)
    axes: Sequence[str] = ("", "", *trace[name].axes)[-2:]
    return {
        "name": name,
        "are_weights": trace[name].name == WEIGHTS,
        "nouns": [AXIS_NOUNS.get(letter, "") for letter in axes],
        "tables": list(map(list, tables)),
    }


def _tables(comparison: Comparison, position: int, name: str) -> Iterator[dict[str, Any]]:
    """The tables of one variant's result; none if it lacks the result."""
    result = comparison.variants[position].result
    if name in result.select:
        yield from map(table_object, selected_tables(View(result, positions=comparison.positions), name))
