"""Attention, every kind of it, on your own numbers: the public names."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attncli.api import Problem, attention, load
    from attncli.base.errors import AttnError
    from attncli.trace.result import Result

__version__ = "0.3.0"
__all__ = ["AttnError", "Problem", "Result", "__version__", "attention", "load"]

_PLACES = {
    "AttnError": "attncli.base.errors",
    "Problem": "attncli.api",
    "Result": "attncli.trace.result",
    "attention": "attncli.api",
    "load": "attncli.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: `attn --version` must not wait for the mathematics."""
    if name not in _PLACES:
        raise AttributeError(f"module 'attncli' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only a first use needs it

    return getattr(import_module(_PLACES[name]), name)
