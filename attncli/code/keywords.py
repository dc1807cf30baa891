"""A problem as the keywords of `attncli.Problem`."""

from collections.abc import Iterator
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.code.literals import ArrayWriter
from attncli.io.documents import plain_values
from attncli.io.problem_text import values_to_write
from attncli.problem.spec import ProblemSpec


def problem_lines(problem: ProblemSpec, arrays: ArrayWriter) -> Iterator[str]:
    """A keyword with its value on each line, or on several where it is a large table."""
    for name, value in values_to_write(problem).items():
        if isinstance(value, np.ndarray):
            first, *more = arrays.lines(name, value)
            lines = [f"{name}={first}", *more]
        else:
            lines = [f"{name}={_literal(plain_values({name: value})[name])}"]
        yield from (f"    {line}" for line in lines[:-1])
        yield f"    {lines[-1]},"


def _literal(value: Any) -> str:
    """A value of keys, lists and numbers as code."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {_literal(own)}' for name, own in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)
