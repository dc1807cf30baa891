"""Attention, every kind of it, on your own numbers: the public names."""

from typing import TYPE_CHECKING, Any

from attncli.base.program import __version__

if TYPE_CHECKING:
    from attncli.api.attention import attention, load, load_layer
    from attncli.api.check import Report, check
    from attncli.api.compare import ComparedVariant, Comparison, compare
    from attncli.api.heads import Head, Heads, heads
    from attncli.api.merge import Merged, merge
    from attncli.api.page import NotebookPage
    from attncli.api.problem import Fitted, Problem
    from attncli.api.result import Result
    from attncli.api.trial import Trial, try_function
    from attncli.base.errors import AttnError
    from attncli.ops.decorators import (
        context,
        difference,
        gate,
        generator,
        mask,
        norm,
        normalizer,
        position,
        query_scale,
        recurrence,
        score,
    )
    from attncli.ops.records import (
        DerivedInput,
        Factorization,
        KeyBounds,
        MaskSign,
        OnlineNormalizer,
        OperatorUse,
        PositionAxes,
        Quantity,
        Range,
    )

__all__ = [
    "AttnError",
    "ComparedVariant",
    "Comparison",
    "DerivedInput",
    "Factorization",
    "Fitted",
    "Head",
    "Heads",
    "KeyBounds",
    "MaskSign",
    "Merged",
    "NotebookPage",
    "OnlineNormalizer",
    "OperatorUse",
    "PositionAxes",
    "Problem",
    "Quantity",
    "Range",
    "Report",
    "Result",
    "Trial",
    "__version__",
    "attention",
    "check",
    "compare",
    "context",
    "difference",
    "gate",
    "generator",
    "heads",
    "load",
    "load_layer",
    "mask",
    "merge",
    "norm",
    "normalizer",
    "position",
    "query_scale",
    "recurrence",
    "score",
    "try_function",
]

_MODULES = {
    "AttnError": "attncli.base.errors",
    "ComparedVariant": "attncli.api.compare",
    "Comparison": "attncli.api.compare",
    "DerivedInput": "attncli.ops.records",
    "Factorization": "attncli.ops.records",
    "Fitted": "attncli.api.problem",
    "Head": "attncli.models.heads",
    "Heads": "attncli.api.heads",
    "KeyBounds": "attncli.ops.records",
    "MaskSign": "attncli.ops.records",
    "Merged": "attncli.api.merge",
    "NotebookPage": "attncli.api.page",
    "OnlineNormalizer": "attncli.ops.records",
    "OperatorUse": "attncli.ops.records",
    "PositionAxes": "attncli.ops.records",
    "Problem": "attncli.api.problem",
    "Quantity": "attncli.ops.records",
    "Range": "attncli.ops.records",
    "Report": "attncli.api.check",
    "Result": "attncli.api.result",
    "Trial": "attncli.api.trial",
    "attention": "attncli.api.attention",
    "check": "attncli.api.check",
    "compare": "attncli.api.compare",
    "context": "attncli.ops.decorators",
    "difference": "attncli.ops.decorators",
    "gate": "attncli.ops.decorators",
    "generator": "attncli.ops.decorators",
    "heads": "attncli.api.heads",
    "load": "attncli.api.attention",
    "load_layer": "attncli.api.attention",
    "mask": "attncli.ops.decorators",
    "merge": "attncli.api.merge",
    "norm": "attncli.ops.decorators",
    "normalizer": "attncli.ops.decorators",
    "position": "attncli.ops.decorators",
    "query_scale": "attncli.ops.decorators",
    "recurrence": "attncli.ops.decorators",
    "score": "attncli.ops.decorators",
    "try_function": "attncli.api.trial",
}


if not TYPE_CHECKING:  # to type checkers a misspelt name is an error

    def __getattr__(name: str) -> Any:
        """Import a public name at its first use, and keep it: `attn --version` imports neither operators nor NumPy."""
        if name not in _MODULES:
            raise AttributeError(f"module 'attncli' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - only a first use needs it

        value = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return value
