"""What is said of expected numbers: which of them differ, and whether all agree."""

from collections.abc import Iterator, Sequence

from attncli.analysis.compare import Comparison
from attncli.render.formats.text_page import Part

MAX_DIFFERENCES = 5  # the number of differences that are printed for each result
PUBLISHED, EXPECTED = "published", "expected"  # numbers that somebody published, and our own


def difference_lines(comparison: Comparison, adjective: str) -> Iterator[str]:
    """How many numbers of a result differ, and the first of them; nothing where none does."""
    name, differences = comparison.name, comparison.differences
    if not differences:
        return
    yield f"✗ {name}: {len(differences)} of {comparison.count} numbers differ from those {adjective}"
    for difference in differences[:MAX_DIFFERENCES]:
        index = "".join(f"[{position}]" for position in difference.position)
        yield f"    {name}{index}: {adjective} {difference.expected!r}, computed {difference.computed!r}"


def verdict(comparisons: Sequence[Comparison], adjective: str) -> Part | None:
    """How many numbers differ, or that all agree, and the style of that line; None where none was expected."""
    count = sum(comparison.count for comparison in comparisons)
    difference_count = sum(len(comparison.differences) for comparison in comparisons)
    if not count:
        return None
    if difference_count:
        return f"{difference_count} of {count} numbers differ from the {adjective} ones.", "bold red"
    has_every_digit = all(comparison.has_every_digit for comparison in comparisons)
    digits = "to every printed digit" if has_every_digit else "to the digits that their type has"
    subject = f"All {count} {adjective} numbers agree" if count > 1 else f"The {adjective} number agrees"
    return f"{subject}, {digits}.", "bold green"
