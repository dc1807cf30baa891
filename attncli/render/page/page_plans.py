"""The plans of a page: each as positions in one list of nodes, with its results and its sections."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from attncli.plan.graph import LOOK_UP
from attncli.plan.trace import Step, Trace
from attncli.problem.results import WEIGHTS
from attncli.render.explanation import explained_steps, section_of_copies
from attncli.render.formats.mathml import mathml_line
from attncli.render.page.page_nodes import node_object, result_object, value_object
from attncli.render.page.plan_variants import PlanVariant, constant_nodes, variant_trace
from attncli.render.step_text import equality_remarks, selection_remarks, word_remarks


class PagePlans:
    """The nodes and plans of a page; a node that several plans share is listed once."""

    def __init__(self, own: Trace, select: Sequence[str]) -> None:
        self.own = own
        self.select = select
        self.nodes: list[dict[str, Any]] = []
        self.plans: list[dict[str, Any]] = []
        self._positions: dict[str, int] = {}  # of each node, by its text as JSON

    def add_variant(self, variant: PlanVariant) -> None:
        """Add the plan of a variant, and the nodes that no plan before it has."""
        trace = variant_trace(variant, self.own)
        constant = frozenset[str]() if trace is self.own else constant_nodes(trace.plan)
        nodes = [self._position(node_object(trace, step), step, has_value=step.name in constant) for step in trace]
        self.plans.append(
            {
                "causal": variant.choices.causal,
                "has_scale": variant.choices.has_scale,
                "normalizer": variant.choices.normalizer,
                "nodes": nodes,
                "results": dict(trace.plan.results),
                "sections": list(_sections(trace, self.select)),
            }
        )

    def add_results(self, steps: Sequence[Step]) -> None:
        """Add a plan of some steps alone, without those that they are computed from."""
        nodes = [self._position(result_object(self.own, step), step, has_value=False) for step in steps]
        sections = [_section(self.own, None, step) for step in steps]
        names = {step.name for step in steps}
        results = {result: name for result, name in self.own.plan.results.items() if name in names}
        no_choices = {"causal": None, "has_scale": None, "normalizer": None}
        self.plans.append({**no_choices, "nodes": nodes, "results": results, "sections": sections})

    def _position(self, node: dict[str, Any], step: Step, *, has_value: bool) -> int:
        """The position of a node, which is added where there is none like it."""
        text = json.dumps(node)
        if text not in self._positions:
            self._positions[text] = len(self.nodes)
            self.nodes.append({**node, "value": value_object(step.value) if has_value else None})
        return self._positions[text]


def _sections(trace: Trace, select: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The sections of a plan: inputs first, then the steps that results are computed from, in their order."""
    found = [name for name in select if trace.plan.find(name) is not None]
    needed = trace.plan.needed_for(found or [trace.plan.results[WEIGHTS]])
    for entry in explained_steps(trace, needed):
        if not entry.are_copies:
            yield _section(trace, entry.number, entry.steps[0])
            continue
        section = section_of_copies(trace, entry)
        yield {
            "number": entry.number,
            "names": [step.name for step in entry.steps],
            "formula": section.formula,
            "mathml": mathml_line(section.formula),
            "purpose": section.purpose,
            "remarks": [],
        }


def _section(trace: Trace, number: int | None, step: Step) -> dict[str, Any]:
    """The section of one step, whose node has its formula and its purpose."""
    is_looked_up = step.stage == LOOK_UP
    remarks = [
        *(word_remarks(trace, step) if is_looked_up else ()),
        *selection_remarks(trace, step),
        *equality_remarks(trace, step),
        *step.notes,
    ]
    return {
        "number": number,
        "names": [step.name],
        "formula": None,
        "mathml": None,
        "purpose": None,
        "remarks": remarks,
    }
