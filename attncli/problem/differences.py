"""What a difference of maps needs: pairs of heads, values in pairs, and a context that is their weighted sum."""

from attncli.base.errors import AttnError
from attncli.base.text import count_of
from attncli.problem.spec import ProblemSpec


def check_difference(spec: ProblemSpec) -> None:
    """Raise AttnError where heads are not pairs, or what reads the weights is not a weighted sum of values."""
    layout = spec.leading
    counts = (("heads", layout.heads, "head"), ("kv_heads", layout.kv_heads, "key head"))
    for key, count, noun in counts:
        if count % 2:
            message = f"subtracts the weights of one head of each pair from those of the other; there {_is(count)} "
            hint = "give heads: 2, with the queries and keys of both maps side by side" if key == "heads" else None
            message += count_of(count, noun)
            raise AttnError(message, where="difference", hint=hint, keys=("difference", key))
    if spec.context.record.name != "weighted_sum":
        message = f"weights of a difference may be negative, and {spec.context.record.name} is not a weighted sum"
        raise AttnError(message, where="context", hint="leave out context", keys=("context", "difference"))


def _is(count: int) -> str:
    """The verb of a number of things."""
    return "is" if count == 1 else "are"
