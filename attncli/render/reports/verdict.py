"""The verdict on expected numbers: how many of them differ, or that all agree, and whose they are."""

from collections.abc import Sequence

from attncli.analysis.check.report import CheckReport
from attncli.render.formats.text_page import Part
from attncli.render.reports.quantity import AGREES, DIFFERS, count_of_differences

PUBLISHED, EXPECTED = "published", "expected"  # numbers that somebody published, and our own
NARROW_TYPES = ("float16", "bfloat16", "float32")  # which may have fewer digits than were printed


def verdict(checks: Sequence[CheckReport], adjective: str) -> Part | None:
    """How many numbers differ, or that all agree, and the style of that line; None where none is expected."""
    count, differ = sum(check.count for check in checks), sum(check.differ for check in checks)
    if not count:
        return None
    if differ:
        text = count_of_differences(differ, count)
        return f"{text[0].upper()}{text[1:]} from the {adjective} {'one' if count == 1 else 'ones'}.", DIFFERS
    is_narrow = any(result.ulp_dtype in NARROW_TYPES for check in checks for result in check.results)
    digits = "to the digits that their type has" if is_narrow else "to every printed digit"
    subject = f"All {count} {adjective} numbers agree" if count > 1 else f"The {adjective} number agrees"
    return f"{subject}, {digits}.", AGREES
