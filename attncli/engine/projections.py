"""Projections of many rows, before and after the blocks: in parts of some rows, by the threads that compute blocks.

Products with several threads of BLAS would take as long, but these wait for the next one without sleeping, and keep the
cores from blocks. Where BLAS can't be limited to one thread there are no parts: its threads would split each of them
once more, and few rows at other places than many, so that equal rows had other last digits.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from math import prod
from types import EllipsisType

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array, np
from attncli.engine.evaluate import call
from attncli.ops.structural import project
from attncli.plan.graph import Node, Plan

RunAll = Callable[[Sequence[Callable[[], None]]], None]  # calls functions, in any order and several at a time
MIN_PRODUCTS = 2**21  # of two numbers, in most parts, and half of them in all: BLAS adds up fewer than 10⁶ otherwise
MAX_PARTS = 8  # of a projection, whatever the number of threads
ROWS = 64  # parts begin at multiples: BLAS takes some rows at once, and where the last ones are fewer adds up otherwise

Part = tuple[slice | EllipsisType, ...]


def projection_parts(node: Node, plan: Plan) -> Sequence[Part]:
    """The parts of a projection by a matrix that takes long enough for several calls; otherwise none.

    They are some items of the first axis each, or where these are few, some rows of one. Equal rows have equal
    projections in whichever part they are, except for some of the last rows, as in any product.
    """
    if node.function is not project or "w" not in node.inputs:
        return ()
    x, w = (plan.by_name[node.inputs[argument]] for argument in ("x", "w"))
    count = min(prod(x.shape) * w.shape[-1] // MIN_PRODUCTS, MAX_PARTS)
    if len(w.shape) != 2 or count < 2:
        return ()
    *before, rows, _ = x.shape
    items: Sequence[Part] = [(some,) for some in _split(before[0], count)] if before else [()]
    row_parts = _split(rows, count // len(items), ROWS)
    parts = [(*some, ..., part, slice(None)) for some, part in product(items, row_parts)]
    return parts if len(parts) > 1 else ()


def project_in_parts(
    node: Node, values: Mapping[str, Array], precision: Precision, parts: Sequence[Part], run_all: RunAll
) -> Array:
    """The value of a projection, rounded; each part is computed as `evaluate` computes the whole."""
    others = {argument: precision.widen(values[name]) for argument, name in node.inputs.items() if argument != "x"}
    x = values[node.inputs["x"]]
    result = np.empty((*x.shape[:-1], others["w"].shape[-1]), precision.numpy_name)

    def compute(part: Part) -> None:
        with np.errstate(all="ignore"):  # of this thread
            result[part] = precision.round(call(node, {"x": precision.widen(x[part]), **others}))

    run_all([partial(compute, part) for part in parts])
    return result


def _split(length: int, count: int, alignment: int = 1) -> Sequence[slice]:
    """At most so many parts of an axis, that begin at multiples of an alignment and have about the same length."""
    count = max(min(count, length // alignment), 1)
    ends = [length * number // count // alignment * alignment for number in range(count)]
    return [slice(first, end) for first, end in pairwise([*ends, length])]
