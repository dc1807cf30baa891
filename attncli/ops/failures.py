"""Failures of operators of other packages: whatever their functions raise becomes an error that names the operator."""

from collections.abc import Iterator
from contextlib import contextmanager

from attncli.base.errors import AttnError
from attncli.ops.records import OperatorRecord


@contextmanager
def failures_named(record: OperatorRecord, what: str) -> Iterator[None]:
    """A block that calls a function of a record; raises AttnError where one that is not this package's fails.

    `what` is the function, by the field of the record that has it, or `function`.
    """
    try:
        yield
    except AttnError:
        raise
    except Exception as error:  # a function of another package may raise anything
        if record.is_built_in:
            raise
        message = f"its {what} failed ({type(error).__name__}: {error})"
        hint = f"mend it: it is in {record.function.__module__}"
        raise AttnError(message, where=f"{record.kind} {record.name}", hint=hint) from error
