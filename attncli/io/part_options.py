"""The options of `attn compute` that are equivalent to the keys of a part of a worked example."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from attncli.problem.fields import Field, option_name
from attncli.problem.results import DEFAULT_SELECTION
from attncli.problem.spec import FIELDS


def options_of_keys(keys: Mapping[str, Any]) -> list[str]:
    """The options that are equivalent to keys of a problem, each as text for a shell.

    >>> options_of_keys({"causal": True, "normalize": {"topk": {"k": 2}}, "only": ["the cat", "sat"]})
    ['--causal', '--normalize topk:k=2', "--only 'the cat,sat'"]
    """
    return [_option(FIELDS[key], value) for key, value in keys.items()]


def select_option(show: Sequence[str], default: Sequence[str] = DEFAULT_SELECTION) -> list[str]:
    """The option that selects the results of a part; none where they are those that its problem has by default.

    >>> select_option(["weights", "output"])
    ['--select weights,output']
    """
    return [] if tuple(show) == tuple(default) else [f"--select {shlex.quote(','.join(show))}"]


def _option(field: Field, value: Any) -> str:
    """The option that is equivalent to a key and its value."""
    name = option_name(field.name)
    if field.kind == "flag":
        return name if value else f"--no-{name.removeprefix('--')}"
    if isinstance(value, list) and field.kind in ("labels", "window"):
        return f"{name} {shlex.quote(','.join(map(str, value)))}"
    return f"{name} {shlex.quote(_text(value))}"


def _text(value: Any) -> str:
    """A value in the grammar of the options."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, parameters),) = value.items()
        if parameters is None or isinstance(parameters, Mapping):
            given = ",".join(f"{key}={_text(parameter)}" for key, parameter in (parameters or {}).items())
            return f"{name}:{given}".rstrip(":")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
