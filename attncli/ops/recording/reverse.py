"""Gradients of expressions, from the result back to an argument; they are recorded too, with lines and code."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attncli.base.lazy_numpy import Array, all_finite, as_array, np
from attncli.ops.recording.arrays import INDICES, STEPWISE, NotRecordedError, Recorded
from attncli.ops.recording.expression import (
    GET_ITEM,
    MOVES,
    RUNNING_MAX,
    SCATTER,
    SET_ITEM,
    Expression,
    Moved,
    called,
    ordered,
)
from attncli.ops.recording.lengths import filled_constant, is_general, lengths_of

Slope = Callable[..., Any]  # (gradient of the result, result, operands) to the gradient of one operand


def gradient(result: Expression, of: Expression, grad: Recorded) -> Recorded | None:
    """The gradient of an expression within a result, from the result's gradient; None if it has no influence.

    Raises NotRecordedError if its only influence is by jumps.
    """
    steps = ordered(result)
    reached, smooth = {of}, {of}
    for step in steps:
        if any(source in reached for source in step.sources):
            reached.add(step)
            if not _is_stepwise(step) and any(source in smooth for source in _with_slope(step)):
                smooth.add(step)
    if result not in reached:
        return None
    if result not in smooth:
        jump = next(step for step in reversed(steps) if step in reached and _is_stepwise(step))
        message = f"it jumps when np.{jump.function} changes, and has no slope otherwise"
        raise NotRecordedError(message, where=jump.line or None)
    gradients = {result: grad}
    for step in reversed(steps):
        found = gradients.pop(step, None) if step is not of else None
        if found is None or step not in smooth or _cancels(step, found, gradients):
            continue
        inner = _without_sign(found)
        for source, own in _back(step, found if inner is None else inner, smooth):
            gradients[source] = _sum(gradients.get(source), own if inner is None else _opposite(own))
    total = gradients.get(of)
    return None if total is None else _full(total, lengths_of(of))


def _without_sign(x: Recorded) -> Recorded | None:
    """The array that this one negates, if any: the sign moves to the front of the products."""
    return Recorded(x.expression.operands[0], x.branches) if x.expression.function == "negative" else None


def _opposite(x: Recorded) -> Any:
    inner = _without_sign(x)
    return -x if inner is None else inner


def _sum(total: Recorded | None, own: Recorded) -> Any:
    """The sum of two gradients of the same array."""
    if total is None:
        return own
    inner = _without_sign(own)
    return total + own if inner is None else total - inner


def _cancels(step: Expression, grad: Recorded, gradients: Mapping[Expression, Recorded]) -> bool:
    """Whether a maximum was only subtracted, as in a softmax: its gradient is only rounding."""
    if step.function not in ("max", "min") or step.operands[0] not in gradients:
        return False
    other = abs(gradients[step.operands[0]].value)
    noise = NOISE * np.finfo(np.asarray(other).dtype).eps * other.max(initial=0)
    return bool((abs(grad.value) <= noise).all())


def _is_stepwise(step: Expression) -> bool:
    """Whether a function is a step function."""
    is_cast = step.function == "astype" and np.asarray(step.value).dtype.kind != "f"
    return step.function in STEPWISE or step.function in INDICES or step.function in ("any", "all") or is_cast


def _with_slope(step: Expression) -> Sequence[Expression]:
    """The operands with a slope: neither indices nor conditions."""
    if step.function in MOVES:
        return step.places[0]
    return step.sources[1:] if step.function == "where" else step.sources


def _back(step: Expression, grad: Recorded, wanted: set[Expression]) -> list[tuple[Expression, Recorded]]:
    """The gradients of a step's requested operands, from the step's gradient."""

    def recorded(expression: Any) -> Any:
        if not isinstance(expression, Expression):
            return expression
        return expression.value if expression.is_constant else Recorded(expression, grad.branches)

    if step.function in MOVES:
        return _moved_back(step, grad, wanted)
    if step.function == "einsum":
        return _products_back(step, grad, wanted, recorded)
    operands = [recorded(operand) for operand in step.operands]
    result, slopes = Recorded(step, grad.branches), SLOPES.get(step.function)
    if slopes is None:
        raise NotRecordedError(f"np.{step.function} has no derivative here", where=step.line or None)
    found = list[tuple[Expression, Recorded]]()
    for operand, slope in zip(step.operands, slopes, strict=False):
        if isinstance(operand, Expression) and operand in wanted and slope is not None:
            own = slope(grad, result, *operands, **step.options)
            found.append((operand, _unbroadcast(own, lengths_of(operand), step)))
    return found


def _full(grad: Any, shape: tuple[int, ...]) -> Any:
    """A gradient, broadcast to its array's shape."""
    return grad if grad.shape == shape else np.broadcast_to(grad, shape)


def _unbroadcast(grad: Any, shape: tuple[int, ...], step: Expression) -> Any:
    """A gradient, summed over the axes along which its array was broadcast."""
    inner = _without_sign(grad) if isinstance(grad, Recorded) else None
    if inner is not None:
        return -_unbroadcast(inner, shape, step)
    if step.function in ("matmul", *_ALONG_AXES) or np.shape(step.value) == shape:
        return grad
    if grad.shape != np.shape(step.value):
        grad = _full(grad, np.broadcast_shapes(grad.shape, lengths_of(step)))
    added = grad.ndim - len(shape)
    axes = (*range(added), *(at + added for at, size in enumerate(shape) if size == 1 != grad.shape[at + added]))
    kept = tuple(at for at in axes if at >= added)
    if kept:
        grad = grad.sum(axis=kept, keepdims=True)
    return grad.sum(axis=tuple(range(added))) if added else grad


def _times(grad: Any, x: Any) -> Any:
    """The product of a gradient and a number; 0 if either is 0, whatever the other is."""
    inner = _without_sign(x) if isinstance(x, Recorded) else None
    if inner is not None:
        return -_times(grad, inner)
    if is_general() or (all_finite(_value(grad)) and all_finite(_value(x))):
        return grad * x
    return np.where((grad != 0) & (x != 0), grad * x, 0)


def _over(grad: Any, x: Any) -> Any:
    """A gradient divided by a number; a gradient of 0 stays 0."""
    if is_general() or (all_finite(_value(grad)) and np.all(_value(x))):
        return grad / x
    return np.where(grad != 0, grad / x, 0)


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Recorded) else as_array(x)


def _wins(grad: Any, one: Any, other: Any, sign: int) -> Any:
    """The gradient where one is larger (sign 1) or smaller; equal arrays get half each, next to a number nothing."""
    is_first = sign * _value(one) > sign * _value(other)
    is_equal = _value(one) == _value(other)
    if not isinstance(other, Recorded) or not (is_equal.any() or is_general()):
        return grad * (one > other if sign > 0 else one < other)
    if is_general():
        return grad * ((one > other if sign > 0 else one < other) + 0.5 * (one == other))
    return grad * (is_first + 0.5 * is_equal)


def _along(grad: Any, x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """The gradient of a reduction, with an axis of length 1 for each reduced axis."""
    return grad if keepdims or not grad.ndim else np.expand_dims(grad, tuple(at % np.ndim(x) for at in axis))


def _of_sum(grad: Any, _result: Any, x: Any, *, axis: tuple[int, ...], keepdims: bool) -> Any:
    return _along(grad, x, axis, keepdims)


def _of_mean(grad: Any, _result: Any, x: Any, *, axis: tuple[int, ...], keepdims: bool) -> Any:
    return _along(grad, x, axis, keepdims) / math.prod(x.shape[at] for at in axis)


def _of_extreme(grad: Any, result: Any, x: Any, *, axis: tuple[int, ...], keepdims: bool) -> Any:
    """The maximum or minimum gets the whole gradient; equal ones share it."""
    is_one = _value(x) == _value(_along(result, x, axis, keepdims))
    counts = is_one.sum(axis=axis, keepdims=True)
    shared = x == _along(result, x, axis, keepdims)
    if is_general():
        return _along(grad, x, axis, keepdims) * (shared / shared.sum(axis=axis, keepdims=True))
    return _along(grad, x, axis, keepdims) * (shared / counts if (counts > 1).any() else shared)


def _of_running_sum(grad: Any, result: Any, x: Any, axis: int | None = None) -> Any:
    """Each number is in all running sums from its own on."""
    grad = _full(grad, result.shape)
    if axis is None:
        return np.reshape(np.flip(np.cumsum(np.flip(grad, 0), axis=0), 0), x.shape)
    return np.flip(np.cumsum(np.flip(grad, axis), axis=axis), axis)


def _of_running_max(grad: Any, _result: Any, x: Any, axis: int) -> Any:
    """Each running maximum passes its gradient to the number that it equals."""
    numbers = np.moveaxis(_value(x), axis, -1)
    is_new = numbers >= np.maximum.accumulate(numbers, axis=-1)
    last = np.maximum.accumulate(np.where(is_new, np.arange(numbers.shape[-1]), 0), axis=-1)
    all_places = np.arange(numbers.size).reshape(np.shape(_value(x)))
    places = np.take_along_axis(all_places, np.moveaxis(last, -1, axis), axis=axis)
    return Recorded(called(SCATTER, (grad.expression, places, 0, x.shape), {}), grad.branches)


def _product(left: Any, right: Any) -> Any:
    """A matrix product with a gradient, where rows or columns of zeros add nothing."""
    if not (is_general() or (all_finite(_value(left)) and all_finite(_value(right)))):
        used = (_value(left) != 0).any(axis=-2) & (_value(right) != 0).any(axis=-1)
        left, right = np.where(used[..., None, :], left, 0), np.where(used[..., :, None], right, 0)
    return left @ right


def _transposed(x: Any) -> Any:
    """Transposed matrices; a double transposition is undone."""
    if isinstance(x, Recorded) and x.expression.function == "swapaxes" and {*x.expression.operands[1:]} == {-1, -2}:
        return Recorded(x.expression.operands[0], x.branches)
    return np.swapaxes(x, -1, -2)


def _of_left(grad: Any, result: Any, left: Any, right: Any) -> Any:
    """The gradient of the left matrix, or vector, of a product."""
    grad = _full(grad, result.shape)
    grad, left_shape, right = _as_matrices(grad, np.shape(left), right, is_left=True)
    found = _summed(_product(grad, _transposed(right)), left_shape)
    return found if found.shape == np.shape(left) else found.reshape(np.shape(left))


def _of_right(grad: Any, result: Any, left: Any, right: Any) -> Any:
    """The gradient of the right matrix, or vector, of a product."""
    grad = _full(grad, result.shape)
    grad, right_shape, left = _as_matrices(grad, np.shape(right), left, is_left=False)
    found = _summed(_product(_transposed(left), grad), right_shape)
    return found if found.shape == np.shape(right) else found.reshape(np.shape(right))


def _as_matrices(grad: Any, shape: tuple[int, ...], other: Any, *, is_left: bool) -> tuple[Any, tuple[int, ...], Any]:
    """The gradient of a product, the shape of one factor and the other factor, vectors as rows or columns."""
    is_vector, other_is_vector = len(shape) == 1, np.ndim(other) == 1
    if other_is_vector:
        other = other[:, None] if is_left else other[None, :]
        grad = np.expand_dims(grad, -1 if is_left else -2)
    if is_vector:
        shape = (1, *shape) if is_left else (*shape, 1)
        grad = np.expand_dims(grad, -2 if is_left else -1)
    return grad, shape, other


def _summed(grad: Any, shape: tuple[int, ...]) -> Any:
    """A gradient of matrices, summed over the batch axes along which they were broadcast."""
    added = grad.ndim - len(shape)
    kept = tuple(at + added for at, size in enumerate(shape[:-2]) if size == 1 != grad.shape[at + added])
    if kept:
        grad = grad.sum(axis=kept, keepdims=True)
    return grad.sum(axis=tuple(range(added))) if added else grad


def _is_two(x: Any) -> bool:
    """Whether an exponent is the constant 2, not a parameter that happens to be 2."""
    return bool(np.all(_value(x) == 2)) and not (is_general() and isinstance(x, Recorded))


NOISE = 64  # units of rounding, of the largest gradient
_ALONG_AXES = ("sum", "mean", "max", "min", "cumsum", RUNNING_MAX)
LN2, LN10 = 0.6931471805599453, 2.302585092994046
# The slope by each operand, from the gradient g, the result y and the operands.
SLOPES: Mapping[str, tuple[Slope | None, ...]] = {
    "negative": (lambda g, y, x: -g,),
    "absolute": (lambda g, y, x: g * np.sign(x),),
    "exp": (lambda g, y, x: _times(g, y),),
    "exp2": (lambda g, y, x: _times(g, y) * LN2,),
    "expm1": (lambda g, y, x: _times(g, np.exp(x)),),
    "log": (lambda g, y, x: _over(g, x),),
    "log2": (lambda g, y, x: _over(g, x * LN2),),
    "log10": (lambda g, y, x: _over(g, x * LN10),),
    "log1p": (lambda g, y, x: _over(g, 1 + x),),
    "sqrt": (lambda g, y, x: _over(g, 2 * y),),
    "cbrt": (lambda g, y, x: _over(g, 3 * y**2),),
    "square": (lambda g, y, x: _times(g, 2 * x),),
    "reciprocal": (lambda g, y, x: -_times(g, y**2),),
    "sin": (lambda g, y, x: g * np.cos(x),),
    "cos": (lambda g, y, x: -g * np.sin(x),),
    "tan": (lambda g, y, x: g * (1 + y**2),),
    "arcsin": (lambda g, y, x: _over(g, np.sqrt(1 - x**2)),),
    "arccos": (lambda g, y, x: -_over(g, np.sqrt(1 - x**2)),),
    "arctan": (lambda g, y, x: g / (1 + x**2),),
    "arcsinh": (lambda g, y, x: g / np.sqrt(1 + x**2),),
    "sinh": (lambda g, y, x: _times(g, np.cosh(x)),),
    "cosh": (lambda g, y, x: _times(g, np.sinh(x)),),
    "tanh": (lambda g, y, x: g * (1 - y**2),),
    "add": (lambda g, y, a, b: g, lambda g, y, a, b: g),
    "subtract": (lambda g, y, a, b: g, lambda g, y, a, b: -g),
    "multiply": (lambda g, y, a, b: _times(g, b), lambda g, y, a, b: _times(g, a)),
    "divide": (lambda g, y, a, b: _over(g, b), lambda g, y, a, b: -_over(_times(g, y), b)),
    "power": (
        lambda g, y, a, b: _times(g, b * a if _is_two(b) else b * a ** (b - 1)),
        lambda g, y, a, b: _times(g, _times(y, np.log(a))),
    ),
    "maximum": (lambda g, y, a, b: _wins(g, a, b, 1), lambda g, y, a, b: _wins(g, b, a, 1)),
    "minimum": (lambda g, y, a, b: _wins(g, a, b, -1), lambda g, y, a, b: _wins(g, b, a, -1)),
    "logaddexp": (lambda g, y, a, b: _times(g, np.exp(a - y)), lambda g, y, a, b: _times(g, np.exp(b - y))),
    "hypot": (lambda g, y, a, b: _over(_times(g, a), y), lambda g, y, a, b: _over(_times(g, b), y)),
    "remainder": (lambda g, y, a, b: g, lambda g, y, a, b: -g * np.floor(a / b)),
    "where": (None, lambda g, y, c, a, b: np.where(c, g, 0), lambda g, y, c, a, b: np.where(c, 0, g)),
    "astype": (lambda g, y, x, kind: g,),
    "matmul": (_of_left, _of_right),
    "sum": (_of_sum,),
    "mean": (_of_mean,),
    "max": (_of_extreme,),
    "min": (_of_extreme,),
    "cumsum": (_of_running_sum,),
    RUNNING_MAX: (_of_running_max,),
}


def _products_back(
    step: Expression, grad: Recorded, wanted: set[Expression], recorded: Callable[[Any], Any]
) -> list[tuple[Expression, Recorded]]:
    """The gradients of the factors of `np.einsum`: products of the other factors with the result's gradient."""
    subscripts, *factors = step.operands
    grad = _full(grad, lengths_of(step))
    inputs, result = subscripts.split("->")
    letters, found = inputs.split(","), list[tuple[Expression, Recorded]]()
    for at, (own, factor) in enumerate(zip(letters, factors, strict=True)):
        if not isinstance(factor, Expression) or factor not in wanted:
            continue
        if len(set(own)) < len(own):
            raise NotRecordedError(f"np.einsum of a diagonal, {own!r}, has no derivative here", where=step.line or None)
        others = [(x, recorded(one)) for to, (x, one) in enumerate(zip(letters, factors, strict=True)) if to != at]
        alone = "".join(x for x in own if x not in result and all(x not in other for other, _ in others))
        if alone:  # a letter summed by itself: every number along its axis has the same gradient
            others.append((alone, np.ones([factor.shape[own.index(x)] for x in alone])))
        terms = ",".join([result, *(x for x, _ in others)])
        found.append((factor, np.einsum(f"{terms}->{own}", grad, *(one for _, one in others))))
    return found


def _moved_back(step: Expression, grad: Any, wanted: set[Expression]) -> list[tuple[Expression, Recorded]]:
    """The gradients of arrays whose numbers were moved: moved back, and summed over copies."""
    grad = _full(grad, lengths_of(step))
    opposite = _OPPOSITES.get(step.function)
    back = (
        [] if opposite is None else [(x, opposite(step, x, grad)) for x in dict.fromkeys(step.sources) if x in wanted]
    )
    if back and all(own is not None for _, own in back):
        return back
    sources, places = step.places
    found, start = list[tuple[Expression, Recorded]](), 1
    for source in sources:
        if source in wanted:
            found.append((source, _back_to(step, source, grad, places, start)))
        start += int(np.size(source.value))
    return found


def _back_to(step: Expression, source: Expression, grad: Any, places: Array, start: int) -> Any:
    """The gradient of one of the arrays, by the new positions of its numbers."""
    has_index = len(step.carried) < len(step.sources)  # other numbers may give another index
    in_order = np.arange(start, start + np.size(source.value))
    if not has_index and np.array_equal(places.ravel(), in_order):
        return _in_shape(step, source, grad)
    if step.function == GET_ITEM and not has_index:
        found = _taken_back(step, source, grad, places - start)
        if found is not None:
            return found
    how = (step.function, step.operands[1:], tuple(step.options.items()))
    operands = (grad.expression, places, start, source.shape, how, Moved(step, source))
    made = called(SCATTER, operands, {}, step.line)
    return Recorded(made, grad.branches)


def _in_shape(step: Expression, source: Expression, grad: Any) -> Any:
    """A gradient in the shape of an array whose numbers kept their order."""
    added = _added_axes(step)
    return _without_axes(grad, added) if added else grad.reshape(lengths_of(source))


def _joined_back(step: Expression, source: Expression, grad: Any) -> Any:
    """One joined array's slice of a gradient; None if an array was joined to itself."""
    joined = step.operands[0]
    if len(set(joined)) < len(joined):
        return None
    axis = step.options.get("axis", step.operands[1] if len(step.operands) > 1 else 0) % grad.ndim
    before, after = (Ellipsis,) * (axis > 0), (slice(None),) * (grad.ndim - axis - 1)
    at = list(joined).index(source)
    if step.function == "stack":
        return grad[(*before, at, *after)]
    first = sum(lengths_of(one)[axis] for one in joined[:at])
    end = first + lengths_of(source)[axis]
    return grad[(*before, slice(first or None, end if end < grad.shape[axis] else None), *after)]


def _sliced_back(step: Expression, source: Expression, grad: Any) -> Any:
    """The gradient of an array after slicing: 0 elsewhere; None for other indices."""
    index = step.operands[1] if isinstance(step.operands[1], tuple) else (step.operands[1],)
    if not all(part is None or part is Ellipsis or isinstance(part, (slice, int)) for part in index):
        return None
    if any(isinstance(part, slice) and part.step is not None and part.step < 0 for part in index):
        return None
    if np.size(step.value) == np.size(source.value):
        return _in_shape(step, source, grad)
    return _set(step, source, grad)


def _set(step: Expression, source: Expression, grad: Any) -> Recorded:
    """An array of zeros with a gradient at an index."""
    nothing = filled_constant(np.zeros(source.shape, np.asarray(grad.value).dtype), source)
    return Recorded(called(SET_ITEM, (nothing, step.operands[1], grad.expression), {}, step.line), grad.branches)


def _repeated_back(step: Expression, source: Expression, grad: Any) -> Any:
    """The sums over the copies of each entry along an axis; None if their counts differ."""
    count, axis = (*step.operands[1:], step.options.get("repeats"), step.options.get("axis"))[:2]
    axis = step.options.get("axis", axis)
    if not isinstance(count, int) or not isinstance(axis, int):
        return None
    axis %= grad.ndim
    own = lengths_of(source)
    shape = (*own[: axis + 1], count, *own[axis + 1 :])
    return grad.reshape(shape).sum(axis=axis + 1 - len(shape))


def _taken_back(step: Expression, source: Expression, grad: Any, places: Array) -> Any:
    """The gradient of an array after indexing: 0 elsewhere; None if the index repeats numbers."""
    summed = _sum_of_copies(step, source, grad, places)
    if summed is not None or len(np.unique(places)) < places.size:
        return summed
    return _set(step, source, grad)


def _added_axes(step: Expression) -> tuple[int, ...]:
    """The axes of length 1 that an index added, if it did nothing else."""
    if step.function != GET_ITEM:
        return ()
    index = step.operands[1] if isinstance(step.operands[1], tuple) else (step.operands[1],)
    if not all(part is None or part is Ellipsis or (isinstance(part, slice) and part == slice(None)) for part in index):
        return ()
    before = index[: index.index(Ellipsis)] if Ellipsis in index else index
    after = index[index.index(Ellipsis) + 1 :] if Ellipsis in index else ()
    count = len(step.shape)
    return (
        *(at for at, part in enumerate(before) if part is None),
        *(count - len(after) + at for at, part in enumerate(after) if part is None),
    )


def _without_axes(grad: Any, axes: tuple[int, ...]) -> Any:
    """A gradient without axes of length 1; a sum with kept axes becomes one without."""
    step = grad.expression
    count = len(step.shape)
    if step.function == "sum" and step.options["keepdims"] and {at - count for at in axes} == set(step.options["axis"]):
        return Recorded(step.operands[0], grad.branches).sum(axis=axes)
    return np.squeeze(grad, axis=axes)


def _sum_of_copies(_step: Expression, source: Expression, grad: Any, places: Array) -> Any:
    """The gradient of an array that was copied along whole axes; None for other moves."""
    copied = tuple(
        at for at in range(places.ndim) if places.shape[at] > 1 and (places == np.take(places, [0], axis=at)).all()
    )
    one = places[tuple(slice(0, 1) if at in copied else slice(None) for at in range(places.ndim))]
    if one.size != np.size(source.value) or not np.array_equal(one.ravel(), np.arange(one.size)):
        return None
    summed = grad.sum(axis=copied) if copied else grad
    return summed if summed.shape == source.shape else summed.reshape(lengths_of(source))


def _swapped_back(step: Expression, _source: Expression, grad: Any) -> Any:
    """The gradient of transposed matrices; a product is transposed by swapping its factors."""
    product = grad.expression
    if product.function != "matmul" or step.operands[1:] != (-1, -2) or min(len(x.shape) for x in product.sources) < 2:
        return np.swapaxes(grad, *step.operands[1:])
    left, right = (Recorded(x, grad.branches) for x in product.sources)
    return right.mT @ left.mT


# The gradients of arrays whose numbers were moved; None if each number's position is needed.
_OPPOSITES: Mapping[str, Callable[[Expression, Expression, Any], Any]] = {
    "reshape": _in_shape,
    "swapaxes": _swapped_back,
    "transpose": lambda step, _source, grad: np.transpose(
        grad, *(tuple(np.argsort(axes).tolist()) for axes in step.operands[1:])
    ),
    "broadcast_to": lambda step, source, grad: _unbroadcast(grad, source.shape, step),
    "moveaxis": lambda step, _source, grad: np.moveaxis(grad, step.operands[2], step.operands[1]),
    "flip": lambda step, _source, grad: np.flip(grad, *step.operands[1:], **step.options),
    "concatenate": _joined_back,
    "stack": _joined_back,
    "repeat": _repeated_back,
    GET_ITEM: _sliced_back,
}
