"""The rounding error of rope's angles: kernels compute them in a type of their own, and far positions multiply it."""

from dataclasses import replace

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import np
from attncli.ops.rope import rope
from attncli.plan.graph import Node, Plan

UNITS = 1  # in the last place, by which angles of queries and those of keys are moved


def with_moved_angles(plan: Plan, precision: Precision, stream: "np.random.Generator | None") -> Plan:
    """The plan with the angles of each rotation moved at random, by up to UNITS of float32, or of a wider type.

    The functions of a plan compute angles in double precision whatever the type is; in half types kernels compute them
    in float32. Without a stream the plan stays as it is.
    """
    if stream is None:
        return plan
    unit = UNITS * Precision(precision.accumulation_dtype).epsilon

    def moved(node: Node) -> Node:
        """A rotation whose positions are divided by a little more or less; any other node as it is."""
        if node.record is not rope.record:
            return node
        scaling = node.options.get("scaling", 1.0) * (1 + stream.uniform(-unit, unit))
        return replace(node, options={**node.options, "scaling": scaling})

    return replace(plan, nodes=tuple(map(moved, plan.nodes)))
