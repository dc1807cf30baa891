"""Attention from Python: problems, results, checks and comparisons, which show themselves at a prompt and in notebooks."""

from attncli.api.problem import Problem, attention, load

__all__ = ["Problem", "attention", "load"]
