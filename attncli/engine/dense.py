"""The dense engine: every node of a plan evaluated in order, and every step kept."""

from collections.abc import Iterable, Sequence

from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.memory import keep_freed_memory
from attncli.engine.evaluate import evaluate, evaluate_input
from attncli.engine.options import BlockSizes
from attncli.plan.graph import Node, Plan, attending_weights
from attncli.problem.spec import ProblemSpec
from attncli.trace.diagnostics import empty_rows_warning
from attncli.trace.steps import Step

KEPT_BYTES = 4 * 8 * BlockSizes().dense_cells  # of four tables of float64, as large as problems that are computed whole


class DenseEngine:
    """Evaluates nodes one after another, each from the ones before, and keeps their values and warnings by name."""

    def __init__(self, plan: Plan, problem: ProblemSpec, precision: Precision) -> None:
        self.plan = plan
        self.problem = problem
        self.precision = precision
        self.values: dict[str, Array] = {}
        self.notes: dict[str, tuple[str, ...]] = {}

    def run(self, nodes: Iterable[Node]) -> None:
        """Evaluate nodes in order, with their inner quantities; raises AttnError where memory does not suffice."""
        keep_freed_memory(KEPT_BYTES)
        weights = self.plan.results["weights"]
        with np.errstate(all="ignore"):  # `engine.nonfinite` reports it
            for node in nodes:
                if node.is_input:
                    self.values[node.name] = evaluate_input(node, self.problem, self.precision)
                elif node.tapped_from is None:
                    self.values[node.name] = self._computed(node)
                notes = node.notes if node.is_input else ()
                if node.name == weights:
                    notes = (*notes, *self._empty_rows(node))
                if notes:
                    self.notes[node.name] = notes

    def _computed(self, node: Node) -> Array:
        """The value of a computed node; those of its inner quantities are kept."""
        try:
            return evaluate(node, self.values, self.precision, self.values.__setitem__)
        except MemoryError:
            hint = "compute some of the queries with only"
            raise AttnError(f"there is not enough memory for {node.name}", hint=hint) from None

    def _empty_rows(self, node: Node) -> tuple[str, ...]:
        """The warning on queries that attend to nothing, of the weights."""
        weights = self.values[attending_weights(self.plan)]
        if weights[..., 0].all():  # no query is one of them; mostly nothing hides the first key, and none is
            return ()
        empty = ~(weights != 0).any(axis=-1)
        if not empty.any():  # to number the labels of many queries takes time
            return ()
        return empty_rows_warning(self.plan, empty, node.letters[:-1], self.problem.numbered_query_labels)

    def steps(self) -> Sequence[Step]:
        """The steps that were evaluated, in the order of the plan."""
        return [
            Step(node, self.values[node.name], self.notes.get(node.name, ()))
            for node in self.plan.nodes
            if node.name in self.values
        ]
