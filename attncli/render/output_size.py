"""The size of an output, estimated from the plan before the work: the text or the arrays of each result."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import np
from attncli.numbers.formatting import format_rows
from attncli.ops.records import OperatorRecord
from attncli.plan.graph import Node, Plan
from attncli.render.formats import OutputFormat

_SHORTEST, _BOOLEAN = len("0.0,"), len("true,")
_SAMPLE_SIZE = 32


@dataclass(frozen=True)
class SizeEstimator:
    """The bytes of results in a format.

    `cut_axes` are the letters of axes with one written position; `decimals` applies to rounded numbers.
    """

    plan: Plan
    precision: Precision
    cut_axes: Collection[str]
    decimals: int

    def sizes(self, names: Sequence[str], output_format: OutputFormat) -> dict[str, int]:
        """The bytes of each result: for text an estimate, for tables that may be mostly 0 a lower bound.

        A format that shows every step has the bytes of each.
        """
        if output_format.has_room_for_steps(self.plan):
            as_results = replace(output_format, every_step_size=0, is_lossless=True)
            return replace(self, cut_axes=()).sizes(list(self.plan.by_name), as_results)
        maybe_zeros = _nodes_from_first_mask(self.plan)
        sizes = {}
        for name in names:
            node = self.plan[name]
            if output_format.is_binary or output_format.is_code:  # arrays that code loads go to binary files
                length = 1.0 if node.is_boolean else np.dtype(self.precision.numpy_name).itemsize
            elif node.is_boolean:
                length = _BOOLEAN
            elif output_format.is_lossless or output_format.shows_every_step:
                length = _SHORTEST if node.name in maybe_zeros else self._text_length()
            else:
                length = _SHORTEST + self.decimals - 1
            sizes[name] = round(self._count(node) * length)
        return sizes

    def least_sizes(self, names: Sequence[str], output_format: OutputFormat) -> dict[str, int]:
        """The least bytes of each result: in text every number may be as short as an integer."""
        if output_format.is_binary:
            return self.sizes(names, output_format)
        return {name: self._count(self.plan[name]) * _SHORTEST for name in names}

    def memory(self, names: Sequence[str], output_format: OutputFormat) -> int:
        """The bytes of memory for writing the results: all their numbers if a format needs them together."""
        return sum(self._count(self.plan[name]) for name in names) * output_format.memory_per_number

    def _count(self, node: Node) -> int:
        """The written numbers of a node."""
        return math.prod(length for letter, length in node.axes if letter not in self.cut_axes)

    def _text_length(self) -> float:
        """The characters of a number in full and of a separator, on average for irrational numbers."""
        sample = self.precision.round(np.sqrt(np.arange(2.0, 2 + _SAMPLE_SIZE)))
        (lines,) = format_rows(sample.reshape(1, -1), {}, ",")
        return len(lines[0]) / _SAMPLE_SIZE


def _nodes_from_first_mask(plan: Plan) -> frozenset[str]:
    """Tables that may be mostly 0: from the first mask on, or from a normalizer that can return 0."""
    has_zeros = (node.stage == "mask" or _may_give_zeros(node.record) for node in plan.nodes)
    first = next((at for at, is_first in enumerate(has_zeros) if is_first), len(plan.nodes))
    letters = ((node.name, node.letters) for node in plan.nodes[first:])
    return frozenset(name for name, own in letters if "n" in own and not {"m", "m+1"}.isdisjoint(own))


def _may_give_zeros(record: OperatorRecord | None) -> bool:
    """Whether an operator is a normalizer other than softmax that works key by key on a distribution."""
    if record is None or record.kind != "normalize":
        return False
    return not (record.is_distribution and record.online is not None)
