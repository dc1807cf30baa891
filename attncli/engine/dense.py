"""The dense engine: every node of a plan evaluated in order, its result rounded, and every step kept.

Projections of many rows are computed in parts, by the threads that compute blocks, where BLAS has one thread: with
several it would take as long, but these wait for the next product without sleeping, and keep the cores from blocks.
Where BLAS can't be limited to one thread there are no parts: its threads would split each of them once more, and few
rows at other places than many, so that equal rows had other last digits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from math import prod
from types import EllipsisType
from typing import Any

from attncli.base.axes import format_lengths
from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, all_true, np
from attncli.base.memory import keep_freed_memory
from attncli.base.text import count_of
from attncli.engine.options import BlockSizes
from attncli.ops.products import product_in_parts
from attncli.ops.records import MATMUL, TAP
from attncli.ops.registry import failures_named
from attncli.ops.structural import project
from attncli.plan.graph import Node, Plan
from attncli.plan.trace import Step
from attncli.problem.spec import ProblemSpec

KEPT_BYTES = 4 * 8 * BlockSizes().dense_cells  # of four tables of float64, as large as problems that are computed whole
RunAll = Callable[[Sequence[Callable[[], None]]], None]  # calls functions, in any order and several at a time
MIN_PRODUCTS = 2**21  # of two numbers, in most parts, and half of them in all: BLAS adds up fewer than 10⁶ otherwise
MAX_PARTS = 8  # of a projection, whatever the number of threads
ROWS = 64  # parts begin at multiples: BLAS takes some rows at once, and where the last ones are fewer adds up otherwise

Part = tuple[slice | EllipsisType, ...]


class DenseEngine:
    """Evaluates nodes one after another, each from the ones before, and keeps their values and warnings by name.

    Values are kept rounded, and nodes read them so; with `has_wide_tables` those from the score to the context read
    tables as they were computed, as tiles do. Analyses that begin with tables that are kept, or measure what rounding
    does, go without. With `run_all` large projections are computed in parts, several at a time.
    """

    def __init__(
        self,
        plan: Plan,
        problem: ProblemSpec,
        precision: Precision,
        *,
        has_wide_tables: bool = False,
        run_all: RunAll | None = None,
    ) -> None:
        self.plan = plan
        self.problem = problem
        self.precision = precision
        self.values: dict[str, Array] = {}
        self.notes: dict[str, tuple[str, ...]] = {}
        self._has_wide_tables = has_wide_tables
        self._run_all = run_all
        self._wide_tables: dict[str, Array] = {}  # those that a node still reads

    def run(self, nodes: Iterable[Node]) -> None:
        """Evaluate nodes in order, with their inner quantities; raises AttnError where memory does not suffice."""
        keep_freed_memory(KEPT_BYTES)
        weights = self.plan.results.get("weights")
        with np.errstate(all="ignore"):  # `engine.nonfinite` reports it
            for node in nodes:
                if node.notes:
                    self.notes[node.name] = node.notes
                if node.is_input:
                    self.values[node.name] = evaluate_input(node, self.problem, self.precision)
                elif node.tapped_from is None:
                    self.values[node.name] = self._computed(node)
                if node.name == weights and (notes := self._empty_rows(node)):
                    self.notes[node.name] = (*self.notes.get(node.name, ()), *notes)

    def _computed(self, node: Node) -> Array:
        """The value of a computed node; those of its inner quantities are kept."""
        try:
            if self._run_all is not None and (parts := projection_parts(node, self.plan)):
                return project_in_parts(node, self.values, self.precision, parts, self._run_all)
            if self._has_wide_tables:
                return self._computed_of_wide_tables(node)
            return evaluate(node, self.values, self.precision, self.values.__setitem__)
        except MemoryError:
            hint = "compute some of the queries with only"
            raise AttnError(f"there is not enough memory for {node.name}", hint=hint) from None

    def _computed_of_wide_tables(self, node: Node) -> Array:
        """The value of a node from tables as they were computed, as far as it reads such."""
        value = evaluate_wide(node, self.values | self._wide_tables, self.precision, self.values.__setitem__)
        if node.is_pair_table:
            self._wide_tables[node.name] = value
        for name in self.plan.read_last.get(node.name, ()):
            self._wide_tables.pop(name, None)
        return self.precision.round(value)

    def _empty_rows(self, node: Node) -> tuple[str, ...]:
        """The warning on queries that see no key, of the weights."""
        weights = self.values[self.plan.attending_weights]
        if all_true(weights[..., 0]):  # no query is one of them; mostly nothing hides the first key, and none is
            return ()
        empty = ~(weights != 0).any(axis=-1)
        if not empty.any():  # to number the labels of many queries takes time
            return ()
        from attncli.plan.diagnostics import empty_rows_warning  # noqa: PLC0415 - most queries attend to something

        return empty_rows_warning(self.plan, empty, node.letters[:-1], self.problem.numbered_query_labels)

    def steps(self) -> Sequence[Step]:
        """The steps that were evaluated, in the order of the plan."""
        return [
            Step(node, self.values[node.name], self.notes.get(node.name, ()))
            for node in self.plan.nodes
            if node.name in self.values
        ]


def call(node: Node, arguments: Mapping[str, Any]) -> Array:
    """The result of a node's function for arrays, and for a tap and how to multiply where it takes them.

    Raises AttnError where an operator that is not one of this package's fails, or returns something else than a plan
    expects of it: true and false of a mask, numbers of any other, with the axes of the node.
    """
    assert node.function is not None
    if node.is_built_in:
        return np.asarray(node.function(**arguments, **node.options))
    record = node.record
    assert record is not None
    own = {name: value.copy() if hasattr(value, "copy") else value for name, value in arguments.items()}  # to write in
    with failures_named(record, "function"):
        result = np.asarray(node.function(**own, **node.options))
    kinds, what = ("b", "true and false") if record.kind == "mask" else ("fiu", "real numbers")
    if result.dtype.kind not in kinds or result.ndim != len(node.axes):
        found = f"{count_of(result.ndim, 'axis')} of {result.dtype}"
        hint = f"expected {what} with the axes [{' '.join(node.letters)}]"
        raise AttnError(f"its function returned {found}", where=record.title, hint=hint)
    lengths = dict[str, int]()
    for name, letters in record.shapes.arrays.items():
        if name in own:
            lengths |= dict(zip(reversed(letters), reversed(np.shape(own[name])), strict=False))
    for letter, size in zip(reversed(record.shapes.result), reversed(result.shape), strict=False):
        if size not in (1, lengths.get(letter, size)):
            found, hint = (
                format_lengths(result.shape),
                f"expected [{' '.join(node.letters)}], {letter} = {lengths[letter]}",
            )
            message = f"its function returned the shape {found}"
            raise AttnError(message, where=record.title, hint=hint)
    return result


def evaluate(
    node: Node,
    values: Mapping[str, Array],
    precision: Precision,
    keep: Callable[[str, Array], None] | None = None,
) -> Array:
    """The value of a computed node, from those of its inputs by name, rounded once.

    See `evaluate_wide` for the rest.
    """
    if node.is_identity:
        return values[node.inputs["x"]]
    value = evaluate_wide(node, values, precision, keep)
    return value if node.is_exact else precision.round(value)


def evaluate_wide(
    node: Node,
    values: Mapping[str, Array],
    precision: Precision,
    keep: Callable[[str, Array], None] | None = None,
) -> Array:
    """The value of a computed node, from those of its inputs by name, in the wider type of `precision`.

    Functions of exact nodes only count or move numbers, whose type stays. `keep(name, value)` gets each inner quantity,
    rounded, under the name of its node.
    """
    if node.is_exact:
        return call(node, node.arguments(values))
    arguments: dict[str, Any] = {name: precision.widen(values[source]) for name, source in node.inputs.items()}
    node = with_digits_of(node, precision)
    if precision.sums_in_parts and node.record is not None and node.record.takes_matmul:
        arguments[MATMUL] = product_in_parts
    if keep is not None and node.taps:

        def tap(name: str, value: Array) -> Array:
            if name in node.taps:
                keep(node.taps[name], precision.round(value))
            return value  # the kept value is rounded; the function goes on with the unrounded one

        arguments[TAP] = tap
    return call(node, arguments)


def with_scalars(options: Mapping[str, Any], scalar: Callable[[float], Any]) -> dict[str, Any]:
    """Options whose floats are numbers of another type, so that what is computed from them alone has its digits.

    >>> with_scalars({"sigma": 1.5, "heads": 2}, str)
    {'sigma': '1.5', 'heads': 2}
    """
    return {name: scalar(value) if type(value) is float else value for name, value in options.items()}


def with_digits_of(node: Node, precision: Precision) -> Node:
    """The node with numbers among its options that have all the digits of the type, where these are more."""
    if not precision.is_extended:
        return node
    return replace(node, options=with_scalars(node.options, precision.scalar))


def evaluate_input(node: Node, problem: ProblemSpec, precision: Precision) -> Array:
    """The array of a problem that an input node names, in the type that is stored."""
    return precision.round(apply_input_function(node, input_array(node, problem)))


def input_array(node: Node, problem: ProblemSpec) -> Array:
    """The array of a problem, or of an operator of it, that an input node names."""
    key = node.source[0]
    array: Array = getattr(problem, key)
    for name in node.source[1:]:  # of an operator
        array = getattr(problem, key).given[name]
    return array


def apply_input_function(node: Node, array: Array) -> Array:
    """The array of an input node with the axes and rows that the node has."""
    return array if node.function is None else node.function(array, **node.options)


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
