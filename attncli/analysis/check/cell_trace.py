"""Every step behind the numbers of one query, also of a problem so large that a check keeps only what it compares."""

from dataclasses import replace

from attncli.engine.run import run
from attncli.plan.trace import Trace


def has_every_step(trace: Trace) -> bool:
    """Whether a trace has every step of its plan."""
    return len(trace.steps) == len(trace.plan.nodes)


def trace_of_query(trace: Trace, query: int) -> Trace:
    """The trace of a problem of which one of the computed queries, by position, is computed alone, with every step."""
    label = trace.problem.numbered_query_labels[query]
    return run(replace(trace.problem, only=(label,)), (), every_step=True).trace
