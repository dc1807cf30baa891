"""The dense engine: every node of a plan evaluated in order, and every step kept."""

from collections.abc import Iterable, Sequence

from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, all_true, np
from attncli.base.memory import keep_freed_memory
from attncli.engine.evaluate import evaluate, evaluate_input, evaluate_wide
from attncli.engine.options import BlockSizes
from attncli.engine.projections import RunAll, project_in_parts, projection_parts
from attncli.plan.graph import Node, Plan
from attncli.problem.spec import ProblemSpec
from attncli.trace.diagnostics import empty_rows_warning
from attncli.trace.steps import Step

KEPT_BYTES = 4 * 8 * BlockSizes().dense_cells  # of four tables of float64, as large as problems that are computed whole


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
        weights = self.plan.results["weights"]
        with np.errstate(all="ignore"):  # `engine.nonfinite` reports it
            for node in nodes:
                if node.is_input:
                    self.values[node.name] = evaluate_input(node, self.problem, self.precision)
                    if node.notes:
                        self.notes[node.name] = node.notes
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
        """The warning on queries that attend to nothing, of the weights."""
        weights = self.values[self.plan.attending_weights]
        if all_true(weights[..., 0]):  # no query is one of them; mostly nothing hides the first key, and none is
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
