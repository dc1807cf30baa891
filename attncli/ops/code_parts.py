"""Pieces of code that the rules of several operators share."""

from attncli.base.lazy_numpy import np
from attncli.ops.code import CodeCall

FLOOR = "-1e30"  # instead of the maximum of a row of −∞
TINY = 1e-30  # instead of a size or a sum of 0


def has_empty_rows(call: CodeCall) -> bool:
    """Whether a row has only scores of −∞, or unknown ones."""
    scores = call.values.get("scores")
    return scores is None or bool((scores.max(axis=-1) == -np.inf).any())


def largest_code(call: CodeCall) -> str:
    """The largest score of each row, in a column; a large negative number in a row of −∞."""
    largest = "{scores}.max(axis=-1, keepdims=True)"
    return f"{largest}.clip({FLOOR})" if has_empty_rows(call) else largest


def quotient_code(call: CodeCall, numerator: str) -> str:
    """Numbers with maximum 1, divided by the sum of their row; a row of zeros stays."""
    return f"{numerator} / {numerator}.sum(axis=-1, keepdims=True){'.clip(1)' if has_empty_rows(call) else ''}"


def softmax_code(call: CodeCall) -> str:
    """The exponentials, then their shares of the sum."""
    shifted = f"{{scores}} - {largest_code(call)}"
    power = shifted if call.option("temperature", 1.0) == 1 else f"({shifted}) / {{temperature}}"
    return f"{{exponentials}} = np.exp({power})\n{quotient_code(call, '{exponentials}')}"


def cells_code(call: CodeCall, fill: str) -> str:
    """The cells of a table for the queries and keys of a call; `fill` makes the missing cells, given a shape.

    A table of one row broadcasts; a table of the full size is used as it is.
    """
    *leading, rows, columns = call.shapes["table"]
    (queries,), (keys,) = call.shapes["query_rows"], call.shapes["key_positions"]
    found, at = call.values.get("query_rows"), "{table}"
    if rows > 1 and not (rows == queries and found is not None and np.array_equal(found, np.arange(rows))):
        at, rows = "{table}[..., {query_rows}, :]", queries
    if columns > keys:
        return f"{at}[..., :{keys}]"
    if columns == keys:
        return at
    return f"np.concatenate([{at}, {fill.format((*leading, rows, keys - columns))}], axis=-1)"
