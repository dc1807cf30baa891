"""Projections of many rows, before and after the blocks: in parts of some rows, by the threads that compute blocks.

Products with several threads of BLAS would take as long, but these wait for the next one without sleeping, and keep the
cores from blocks.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array, np
from attncli.engine.evaluate import call
from attncli.ops.structural import project
from attncli.plan.graph import Node

RunAll = Callable[[Sequence[Callable[[], None]]], None]  # calls functions, in any order and several at a time
MIN_PRODUCTS = 2**22  # of two numbers: so many take longer than to hand parts to threads
MIN_ROWS, MAX_PARTS = 128, 8  # of a part, and of a projection, whatever the number of threads


def is_large(node: Node, values: Mapping[str, Array]) -> bool:
    """Whether a node is a projection by a matrix that takes long enough to be computed in parts."""
    if node.function is not project or "w" not in node.inputs:
        return False
    x, w = (values[node.inputs[argument]] for argument in ("x", "w"))
    return w.ndim == 2 and x.size * w.shape[-1] >= MIN_PRODUCTS and x.size >= 2 * MIN_ROWS * x.shape[-1]


def project_in_parts(node: Node, values: Mapping[str, Array], precision: Precision, run_all: RunAll) -> Array:
    """The value of a large projection, rounded; each part is computed as `evaluate` computes the whole."""
    others = {argument: precision.widen(values[name]) for argument, name in node.inputs.items() if argument != "x"}
    x = values[node.inputs["x"]]
    rows = x.reshape(-1, x.shape[-1])
    result = np.empty((len(rows), others["w"].shape[-1]), precision.numpy_name)

    def compute(part: slice) -> None:
        with np.errstate(all="ignore"):  # of this thread
            result[part] = precision.round(call(node, {"x": precision.widen(rows[part]), **others}))

    count = min(len(rows) // MIN_ROWS, MAX_PARTS)
    ends = [len(rows) * number // count for number in range(count + 1)]
    run_all([partial(compute, slice(first, end)) for first, end in pairwise(ends)])
    return result.reshape(*x.shape[:-1], result.shape[-1])
