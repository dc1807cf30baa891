"""The log-sum-exp of a row of scores: the logarithm of softmax's denominator."""

from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import exp, ln, number, parameter, total
from attncli.ops.code import Code, CodeCall
from attncli.ops.decorators import structural
from attncli.ops.normalizers import finite_max
from attncli.ops.records import Operator


def log_sum_exp_options(normalize: Operator) -> dict[str, float] | None:
    """The options with which `log_sum_exp` is the logarithm of a normalizer's denominator; None if it has none.

    >>> from attncli.ops.normalizers import hardmax, softmax, softmax1
    >>> log_sum_exp_options(Operator(softmax.record)), log_sum_exp_options(Operator(softmax.record, {"temperature": 2}))
    ({'temperature': 1.0}, {'temperature': 2})
    >>> log_sum_exp_options(Operator(softmax1.record)), log_sum_exp_options(Operator(hardmax.record))
    ({'extra': 1.0}, None)
    """
    rule, temperature = normalize.record.online, normalize.parameters.get("temperature", 1)
    if rule is None or rule.exp_scale is None or not rule.is_divided:
        return None
    if rule.exp_scale(normalize.parameters) != 1 / temperature:
        return None
    options = {name: value for name, value in normalize.parameters.items() if name == "temperature"}
    if rule.extra_denominator is not None:
        options["extra"] = float(rule.extra_denominator(np.zeros(1))[0])
    return options


def log_sum_exp_by_hand(
    write: ArithmeticWriter, scores: Array, result: Any, *, temperature: float = 1.0, extra: float = 0.0
) -> list[str]:
    """The sum of a row's exponentials [m], relative to the largest score, and the logarithm."""
    if np.isnan(scores).any():
        return ["a score of the row is NaN: the sum is NaN"]
    visible = scores[scores != -np.inf]
    top = float(visible.max(initial=0.0 if extra else -np.inf))
    if np.isneginf(top):
        return ["every key is hidden: the sum is 0, and its logarithm −∞"]

    def over_temperature(x: Any) -> Any:
        return x if temperature == 1 else x / parameter(temperature)

    extras = [number(extra) * exp(over_temperature(number(0) - top))] if extra else []
    powers = [exp(over_temperature(number(score) - top)) for score in visible]
    row_sum = write.computed("Σⱼ exp", total([*extras, *powers]))
    return [row_sum.line, write.equation(over_temperature(number(top)) + ln(row_sum), result)]


def _numpy_code(call: CodeCall) -> str:
    """The logarithms, added without overflow."""
    total = f"np.logaddexp.reduce({_over_temperature(call)}, axis=-1)"
    extra = float(call.option("extra", 0.0))
    return f"np.logaddexp({np.log(extra)}, {total})" if extra else total


def _torch_code(call: CodeCall) -> str:
    """PyTorch's function; an extra term is one more logarithm."""
    total = f"torch.logsumexp({_over_temperature(call)}, dim=-1)"
    extra = float(call.option("extra", 0.0))
    return f"torch.logaddexp(torch.tensor({np.log(extra)}), {total})" if extra else total


def _over_temperature(call: CodeCall) -> str:
    """The scores, divided by the temperature unless it is 1."""
    return "{scores}" if call.option("temperature", 1.0) == 1 else "{scores} / {temperature}"


@structural(by_hand=log_sum_exp_by_hand, code=Code(numpy=_numpy_code, torch=_torch_code))
def log_sum_exp(scores: Array, *, temperature: float = 1.0, extra: float = 0.0) -> Array:
    """`ln(extra + Σⱼ exp(scores / T))` of each row, [… n m] to [… n]: −∞ for an empty sum.

    The largest score is subtracted before the exponentials, and added to the logarithm of their sum.

    >>> log_sum_exp(np.log([[1.0, 3.0], [2.0, 0.5]])).round(4)
    array([1.3863, 0.9163])
    >>> log_sum_exp(np.array([[0.0, 1000.0], [-np.inf, -np.inf]]), temperature=2.0)
    array([500., -inf])
    >>> log_sum_exp(np.array([[-np.inf]]), extra=1.0)
    array([0.])
    """
    largest = finite_max(scores)
    if extra:
        largest = np.maximum(largest, 0)
    sums = np.exp((scores - largest) / temperature).sum(axis=-1, keepdims=True)
    if extra:
        sums = sums + extra * np.exp(-largest / temperature)
    with np.errstate(divide="ignore"):
        result: Array = (largest / temperature + np.log(sums))[..., 0]
    return result
