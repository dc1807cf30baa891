"""Expected numbers of every form, as an array with the axes of the step that they are expected of."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from attncli.analysis.check.blocks import Block, Collector
from attncli.analysis.check.digits import typed_digits
from attncli.analysis.check.readings import place
from attncli.analysis.check.target import Target
from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import as_floats, coarsest
from attncli.base.errors import ErrorPath
from attncli.base.lazy_numpy import Array, np


@dataclass(frozen=True)
class ExpectedNumbers:
    """The numbers that are expected of a step, on its axes: NaN where none is.

    `half_units` are those of the last digit typed, NaN where a number has every digit; None where all have. `dtype` is
    the type of numbers that have one of their own.
    """

    array: Array
    is_given: Array
    half_units: Array | None = None
    dtype: str | None = None
    remarks: tuple[str, ...] = ()

    @cached_property
    def is_whole(self) -> bool:
        """Whether every number of the step is expected."""
        return bool(self.is_given.all())

    @property
    def has_every_digit(self) -> bool:
        """Whether any number that is expected has every digit, and is held to rounding."""
        return self.half_units is None or bool(np.isnan(self.half_units[self.is_given]).any())

    def take(self, positions: Sequence[int], axis: int) -> "ExpectedNumbers":
        """Those at some positions along an axis."""
        taken = (None if x is None else x.take(positions, axis) for x in (self.array, self.is_given, self.half_units))
        array, is_given, half_units = taken
        assert array is not None
        assert is_given is not None
        return ExpectedNumbers(array, is_given, half_units, self.dtype, self.remarks)


def expected_numbers(value: Any, target: Target, path: ErrorPath) -> ExpectedNumbers:
    """The numbers that are expected of a step, from an array, nested lists, or mappings from labels to them.

    Along each axis a mapping names tokens, `head 0`, features as tables show them (`e1`), or positions from 0; axes of
    one batch item or head may be left out. None in a list is no number. Raises AttnError where a label is unknown or
    an array has another shape than the step.
    """
    collector = Collector(target)
    collector.add(value, (), path)
    blocks = collector.blocks
    typed = [number for block in blocks if block.typed is not None for number in block.typed if number is not None]
    digits = typed_digits(typed) if typed else None
    own = [block.dtype for block in blocks if block.dtype is not None]
    own += [digits.dtype] if digits is not None and digits.dtype is not None else []
    numbers = _Placed(target, np.nan)
    half_units = _Placed(target, np.nan)
    is_given = _Placed(target, False)
    rest = iter(digits.half_units if digits is not None else ())
    for block in blocks:
        array = as_floats(block.array)
        numbers.put(block, array)
        if block.typed is None:
            is_given.put(block, np.broadcast_to(True, array.shape))
            continue
        given = np.array([number is not None for number in block.typed]).reshape(array.shape)
        is_given.put(block, given)
        half_units.put(block, np.array(list(_half_units(block.typed, rest))).reshape(array.shape))
    given = is_given.array
    for axis, (letter, _) in enumerate(target.axes):
        if letter in target.part:
            other = np.arange(given.shape[axis]) != target.part[letter]
            given = given & ~other.reshape([-1 if at == axis else 1 for at in range(given.ndim)])
    return ExpectedNumbers(
        array=numbers.array,
        is_given=given,
        half_units=None if digits is None or np.isnan(digits.half_units).all() else half_units.array,
        dtype=coarsest(own) if own else None,
        remarks=tuple(collector.remarks),
    )


def _half_units(typed: list[Any], rest: Iterator[float]) -> Iterator[float]:
    """The half unit of each number of a block, NaN where there is no number."""
    for number in typed:
        yield np.nan if number is None else next(rest)


class _Placed:
    """An array on the axes of a step, made of those of blocks."""

    def __init__(self, target: Target, fill: float | bool) -> None:
        self.target = target
        self.fill = fill
        self._array: Array | None = None

    @property
    def array(self) -> Array:
        """The array."""
        if self._array is None:
            self._array = np.full(self.target.shape, self.fill)
        return self._array

    def put(self, block: Block, x: Array) -> None:
        """Put the numbers of a block in their place."""
        axes, target = self.target.axes[len(block.index) :], self.target
        x = block.reading.to_step(x)
        placed = place(x, block.reading, axes, target.part, target.problem.selected_queries, self.fill)
        if not block.index:
            self._array = placed
            return
        if self._array is None:
            dtype = bool if isinstance(self.fill, bool) else np.result_type(placed.dtype, np.float64)
            self._array = np.full(target.shape, self.fill, dtype=dtype)
        self._array[block.index] = placed
