"""There are as many labels as rows."""

from typing import TYPE_CHECKING

from attncli.base.errors import AttnError

if TYPE_CHECKING:
    from attncli.problem.spec import Problem


def check_labels(problem: "Problem") -> None:
    """Raise AttnError where labels are too many or too few; those of cached keys may be left out."""
    past, new = problem.past_count, problem.new_key_count
    rows = {"tokens": ((new, past + new), "keys"), "query_tokens": ((problem.asking.shape[-2],), "queries")}
    for name, (counts, what) in rows.items():
        labels = getattr(problem, name)
        if labels is not None and len(labels) not in counts:
            raise AttnError(f"there are {len(labels)} labels for {counts[-1]} {what}", where=name)
