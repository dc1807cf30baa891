"""Checks that there are as many labels as rows."""

from attncli.base.errors import AttnError
from attncli.problem.spec import ProblemSpec


def check_labels(spec: ProblemSpec) -> None:
    """Raise AttnError where labels are too many or too few; those of cached keys may be left out."""
    past, new = spec.past_count, spec.new_key_count
    for name, labels, counts, rows in (
        ("tokens", spec.tokens, (new, past + new), "keys"),
        ("query_tokens", spec.query_tokens, (spec.query_count,), "queries"),
    ):
        if labels is not None and len(labels) not in counts:
            raise AttnError(f"there are {len(labels)} labels for {counts[-1]} {rows}", where=name)
