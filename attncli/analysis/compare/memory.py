"""The memory that the results of variants need together, known from their plans before the work."""

from collections.abc import Container, Sequence

from attncli.base.errors import AttnError
from attncli.base.memory import missing_memory
from attncli.engine.memory import array_bytes
from attncli.engine.run import is_large
from attncli.io.variants import Variant
from attncli.plan.build import plan_of
from attncli.problem.results import WEIGHTS


def check_memory(variants: Sequence[Variant], names: Sequence[str], keep_all_steps: Container[int]) -> None:
    """Raise AttnError where the steps that a comparison keeps of all variants are more than the memory there is.

    Of those with which others are compared (their positions are in `keep_all_steps`) these are all steps where the
    problem is small; of others the selected ones, and the weights of a small problem. That each of them can be computed
    is checked when it is.
    """
    size = sum(
        _kept_bytes(variant, names, keeps_all=position in keep_all_steps) for position, variant in enumerate(variants)
    )
    missing = missing_memory(size)
    if missing is not None:
        hint = "vary less, or select fewer results"
        raise AttnError(f"to compare {len(variants)} variants {missing}", hint=hint)


def _kept_bytes(variant: Variant, names: Sequence[str], *, keeps_all: bool) -> int:
    """The bytes of the steps that are kept of a variant."""
    plan = plan_of(variant.problem)
    is_small = not is_large(plan)
    kept = {plan.find(name) for name in names} | ({plan.results.get(WEIGHTS)} if is_small else set())
    nodes = (node for node in plan.nodes if (keeps_all and is_small) or node.name in kept)
    return sum(array_bytes(node, variant.problem.precision) for node in nodes)
