"""NumPy's elementwise functions on numbers of many digits: each with the real result that it has for floats, or NaN."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from attncli.base.lazy_numpy import np

Function = Callable[..., Any]


def elementwise_functions(context: Any) -> Mapping[str, Function]:
    """The functions by the names of NumPy's, on numbers of a context of mpmath, which has the number of digits."""
    nan, infinity = context.nan, context.inf

    def real(function: Function) -> Function:
        """The function, with NaN where it has no real result."""

        def result(*numbers: Any) -> Any:
            value = function(*numbers)
            return value if isinstance(value, context.mpf) else nan

        return result

    def divide(x: Any, y: Any) -> Any:
        if y == 0:
            return nan if x == 0 or context.isnan(x) else infinity if x > 0 else -infinity
        return x / y

    def power(x: Any, y: Any) -> Any:
        if x != 0 and context.isfinite(x) and context.isfinite(y):
            return x**y
        return context.mpf(np.power(float(x), float(y)))  # 0, 1, an infinity or NaN

    def maximum(x: Any, y: Any) -> Any:
        return x if x >= y or context.isnan(x) else y

    def minimum(x: Any, y: Any) -> Any:
        return x if x <= y or context.isnan(x) else y

    def log_add_exp(x: Any, y: Any) -> Any:
        larger = maximum(x, y)
        return larger if abs(larger) == infinity else larger + context.log1p(context.exp(minimum(x, y) - larger))

    return {
        "add": operator.add,
        "subtract": operator.sub,
        "multiply": operator.mul,
        "divide": divide,
        "power": real(power),
        "negative": operator.neg,
        "absolute": operator.abs,
        "floor": context.floor,
        "square": lambda x: x * x,
        "sign": context.sign,
        "sqrt": real(context.sqrt),
        "exp": context.exp,
        "exp2": lambda x: context.power(2, x),
        "expm1": context.expm1,
        "log": real(context.log),
        "log1p": real(context.log1p),
        "logaddexp": log_add_exp,
        "sin": context.sin,
        "cos": context.cos,
        "tanh": context.tanh,
        "maximum": maximum,
        "minimum": minimum,
    }


def predicates(context: Any) -> Mapping[str, Function]:
    """Comparisons and tests, whose results are booleans, by the names of NumPy's."""
    return {
        "equal": operator.eq,
        "not_equal": operator.ne,
        "less": operator.lt,
        "less_equal": operator.le,
        "greater": operator.gt,
        "greater_equal": operator.ge,
        "isnan": context.isnan,
        "isinf": context.isinf,
        "isfinite": context.isfinite,
    }
