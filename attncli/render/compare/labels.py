"""How a report calls variants: by their names, by the values of the one key that varies, or by numbers."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from attncli.analysis.compare.report import Comparison
from attncli.base.text import join_words
from attncli.io.variants import CONVENTION
from attncli.io.varied import NOT_GIVEN
from attncli.problem.results import PIPELINE_STAGES
from attncli.render.view import View

MAX_LABEL_WIDTH = 16  # so that a table of statistics fits 80 columns
NAME_GAP = "  "  # between the number of a variant and its name
NOUNS = {CONVENTION: "convention"}  # of keys that are no keys of a problem
MAX_LISTED = 8  # variants that a title or a list has; of more there is a table that names them


def variant_labels(comparison: Comparison) -> tuple[str, ...]:
    """A short label for each variant: the word of the one key that varies, its name, or a number from 1."""
    names = tuple(one.variant.name for one in comparison.variants)
    choices = [names]
    if len(varied_keys(comparison)) == 1:
        values = value_labels(comparison)
        choices.insert(0 if all(map(_is_word, values)) else 1, values)
    for labels in choices:
        if max(map(cell_len, labels)) <= MAX_LABEL_WIDTH and len(set(labels)) == len(labels):
            return labels
    return _numbers(comparison)


def _is_word(value: str) -> bool:
    """Whether a value says by itself what it is, as the name of an operator does, and a number does not."""
    return value[:1].isalpha() and value not in ("true", "false", NOT_GIVEN)


def value_labels(comparison: Comparison) -> tuple[str, ...]:
    """The values of the varied keys of each variant, for a table with the keys in its corner: `softmax, 0.5`."""
    keys = varied_keys(comparison)
    return tuple(
        ", ".join(text for key in keys if (text := one.variant.keys.get(key))) or one.variant.name
        for one in comparison.variants
    )


def table_title(comparison: Comparison, labels: Sequence[str], position: int) -> str:
    """The title of a variant's table: its label, with its name where that is a number."""
    name = comparison.variants[position].variant.name
    return f"{labels[position]}{NAME_GAP}{name}" if labels == _numbers(comparison) else labels[position]


def row_labels(comparison: Comparison, labels: Sequence[str]) -> tuple[str, ...]:
    """The rows of a table of all variants: the values, which the corner names, behind the numbers that are labels."""
    values = value_labels(comparison)
    if labels != _numbers(comparison):
        return values
    return tuple(f"{label}{NAME_GAP}{value}" for label, value in zip(labels, values, strict=True))


def varied_keys(comparison: Comparison) -> Sequence[str]:
    """The keys of which variants have different values."""
    keys = dict.fromkeys(key for one in comparison.variants for key in one.variant.keys)
    return [key for key in keys if key not in comparison.shared_keys]


def heading(comparison: Comparison) -> str:
    """The pipeline of all variants; of several what they have in common: `scaled_dot → … → weighted_sum`, or ""."""
    headings = _headings(comparison)
    if len(headings) == 1:
        return headings.pop()
    pipelines = [one.result.trace.pipeline for one in comparison.variants]
    stages = [stage for stage in PIPELINE_STAGES if any(stage in pipeline for pipeline in pipelines)]
    choices = [{pipeline.get(stage) for pipeline in pipelines} for stage in stages]
    if all(len(names) > 1 for names in choices):
        return ""
    return " → ".join("…" if len(names) > 1 else str(*names) for names in choices)


def _headings(comparison: Comparison) -> set[str]:
    """The different headings of the variants, each by itself."""
    return {View(one.result).heading for one in comparison.variants}


def title(comparison: Comparison) -> str:
    """How many variants there are, of which keys, and the values of one: `2 variants of scale: 0.5, 1`."""
    keys, count = varied_keys(comparison), len(comparison.variants)
    of = f" of {join_words([NOUNS.get(key, key) for key in keys])}" if keys else ""
    values = f": {', '.join(value_labels(comparison))}" if len(keys) == 1 and count <= MAX_LISTED else ""
    return f"{count} variants{of}{values}"


def _numbers(comparison: Comparison) -> tuple[str, ...]:
    """The numbers of the variants, from 1."""
    return tuple(str(number) for number in range(1, len(comparison.variants) + 1))


def variant_lines(comparison: Comparison, labels: Sequence[str]) -> tuple[str, ...]:
    """The names of numbered variants, what all have in common, and what a reader should know of each."""
    positions = range(len(labels)) if len(labels) <= MAX_LISTED and len(varied_keys(comparison)) != 1 else ()
    lines = [table_title(comparison, labels, position) for position in positions]
    if comparison.shared_keys:
        lines.append(f"all: {', '.join(f'{key}={text}' for key, text in comparison.shared_keys.items())}")
    return (*lines, *_remarks(comparison, labels), *comparison.remarks)


def _remarks(comparison: Comparison, labels: Sequence[str]) -> Iterator[str]:
    """What a reader should know of some variants, each remark once, behind the variants that it is of.

    It is what their conventions read otherwise, where the heading does not say it, and what these do not have.
    """
    labels_of_remark: dict[str, list[str]] = {}
    is_in_heading = len(_headings(comparison)) == 1
    for label, one in zip(labels, comparison.variants, strict=True):
        use = one.result.trace.problem.convention
        changes = () if use is None or is_in_heading else use.changes
        for remark in (*changes, *one.variant.remarks):
            labels_of_remark.setdefault(remark, []).append(label)
    for remark, found in labels_of_remark.items():
        if len(found) == len(labels):
            yield f"all: {remark}"
        else:
            yield f"{join_words(found) if len(found) <= MAX_LISTED else f'{len(found)} variants'}: {remark}"
