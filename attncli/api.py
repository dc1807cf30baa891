"""The calculator from Python: `attention(query, key, value)` and `load(path)`."""

from collections.abc import Iterable
from typing import Any

from attncli.io.assemble import assemble, load
from attncli.io.origin import Origin, RawValue
from attncli.trace.result import Result

__all__ = ["attention", "load"]


def attention(
    query: Any,
    key: Any,
    value: Any = None,
    *,
    select: Iterable[str] = ("output",),
    executor: str = "threads",
    **problem: Any,
) -> Result:
    """Attention of some queries over keys and values, which have been projected already.

    query [n d], key [m c], value [m e] are arrays or nested lists; without `value` the keys are the values. Further
    keywords are the keys of a problem file: `score="cosine"`, `heads=2`. The result has the names in `select` as
    attributes. What is large is computed in blocks by the `executor`: "threads", "serial", or the address of a Dask
    scheduler. Raises AttnError where a key is unknown or two of them contradict each other.
    """
    given = {"query": query, "key": key, "value": value, **problem}
    python = Origin()
    unknown = {name: RawValue(entry, python) for name, entry in given.items()}
    return assemble(unknown).compute(select, executor=executor)
