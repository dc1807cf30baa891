"""The smallest input on which a kernel still fails: first the sizes, then the kind of input, then the numbers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from attncli.base.lazy_numpy import Array, np
from attncli.kernels.cases import LAID_OUT, SEQUENCES, KernelCase

SIMPLE_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)
SIMPLE_NUMBERS = (0.0, 1.0, 2.0, -1.0, 3.0, -2.0, 0.5, 4.0, 5.0, 10.0, -10.0, 100.0, -100.0, 1000.0)
SIMPLE_TYPES = ("float64", "float32", "float16", "bfloat16")
MOST_PASTS = 3  # lengths of the cache that are tried where it is longer
MOST_NUMBERS = 160  # of an array that are simplified one by one
# The axes of each array whose lengths are shrunk, by the letters of the axes.
AXES = {
    "query": "bhnd",
    "key": "bgmd",
    "value": "bgme",
    "mask": "nm",
    "bias": "nm",
    "sink": "h",
    "key_lengths": "b",
    "key_mask": "bm",
    "grad_output": "bhne",
    "decay": "bhnd",  # or without d
    "beta": "bhn",
    "past_state": "bhde",
    **dict(zip(SEQUENCES, "nm", strict=True)),
}

Fails = Callable[[KernelCase], bool]


@dataclass
class Shrinker:
    """Makes an input simpler for as long as it `fails` in the same way, and `may_go_on` says so.

    `letters` are the axes that may become shorter: `h` stands for heads of queries and keys together. `dtypes` are the
    types that the function takes, `needed` the further arrays that it must be given. Axes that are `alike` have the
    same length: `de` where values are as wide as keys.
    """

    fails: Fails
    may_go_on: Callable[[], bool]
    letters: str = "bhnmde"
    dtypes: Sequence[str] = ()
    needed: Sequence[str] = ()
    alike: Sequence[str] = ()
    tried: int = 0

    def shrink(self, case: KernelCase) -> KernelCase:
        """The simplest input that was found; it is made of a failing one."""
        before: KernelCase | None = None
        while before is not case and self.may_go_on():
            before = case
            case = self._with_first(case, self._simpler_kinds)
            for letter in self.letters:
                case = self._shorter(case, letter)
            case = self._with_simple_numbers(case)
        return case

    def _is_simpler(self, case: KernelCase) -> bool:
        if not self.may_go_on():
            return False
        self.tried += 1
        return self.fails(case)

    def _with_first(self, case: KernelCase, simpler: Callable[[KernelCase], Iterator[KernelCase]]) -> KernelCase:
        """The case after each simpler one that fails, until none does."""
        while (found := next(filter(self._is_simpler, simpler(case)), None)) is not None:
            case = found
        return case

    def _simpler_kinds(self, case: KernelCase) -> Iterator[KernelCase]:
        """The case without its views, its cache, its further arrays, of one key each, or in a type simpler to write."""
        if case.memory:
            yield replace(case, memory="")
        least = 1 if "past" in self.needed else 0
        for past in range(least, min(case.past, MOST_PASTS)):
            yield replace(case, past=past)
        for name in case.arrays:
            needed = (*self.needed, *(SEQUENCES if "packed" in self.needed else ()))
            if name not in (*LAID_OUT, *needed, "grad_output"):
                yield case.without(name)
        if (lengths := case.arrays.get("key_lengths")) is not None and lengths.max() > 1:
            yield case.with_arrays(key_lengths=np.ones_like(lengths))
        for dtype in SIMPLE_TYPES[: SIMPLE_TYPES.index(case.dtype)]:
            if dtype in self.dtypes:
                yield case.with_dtype(dtype)

    def _shorter(self, case: KernelCase, letter: str) -> KernelCase:
        """The case with the shortest axis that was found."""
        if letter == "h":
            return self._with_fewer_heads(case)
        both = next((letters for letters in self.alike if letter in letters), letter)
        if letter != both[0]:  # it became shorter with the other
            return case
        length = length_of(case, letter)
        for target in (size for size in SIMPLE_LENGTHS if size < length):
            for at in (slice(target), slice(length - target, None)):
                shorter = taken(case, both, at)
                if self._is_simpler(shorter):
                    return self._without_single(shorter, both)
        size = length // 2
        while size >= 1:
            for start in range(0, length_of(case, letter) - size + 1, size):
                fewer = _deleted(case, both, start, size)
                if fewer is not None and self._is_simpler(fewer):
                    case = fewer
                    break
            else:
                size //= 2
        return case

    def _without_single(self, case: KernelCase, letters: str) -> KernelCase:
        """The case without any position of an axis whose absence does not matter, the last ones first."""
        position = length_of(case, letters[0]) - 1
        while position >= 0 and length_of(case, letters[0]) > 1:
            shorter = _deleted(case, letters, position, 1)
            if shorter is not None and self._is_simpler(shorter):
                case = shorter
            position -= 1
        return case

    def _with_fewer_heads(self, case: KernelCase) -> KernelCase:
        """The case with the fewest heads of queries, and then of keys."""
        sizes = case.sizes
        pairs = sorted(
            (heads, kv_heads)
            for kv_heads in range(1, sizes.kv_heads + 1)
            for heads in range(kv_heads, sizes.heads + 1, kv_heads)
            if heads // kv_heads <= sizes.heads // sizes.kv_heads and (heads, kv_heads) != (sizes.heads, sizes.kv_heads)
        )
        for heads, kv_heads in pairs:
            for first in range(sizes.kv_heads - kv_heads + 1):
                groups = np.arange(first, first + kv_heads)
                size, kept = sizes.heads // sizes.kv_heads, heads // kv_heads
                of_queries = (groups[:, None] * size + np.arange(kept)).ravel()
                fewer = taken(taken(case, "h", of_queries), "g", groups)
                if self._is_simpler(fewer):
                    return fewer
        return case

    def _with_simple_numbers(self, case: KernelCase) -> KernelCase:
        """The case whose numbers are simple, whole arrays first, then one number after the other."""
        for name in case.arrays:
            if case.arrays[name].dtype.kind == "f":
                case = self._with_simple_array(case, name)
        for name in case.arrays:
            if case.arrays[name].dtype.kind == "f" and case.arrays[name].size <= MOST_NUMBERS:
                case = self._with_simple_cells(case, name)
            elif name in ("mask", "key_mask") and case.arrays[name].size <= MOST_NUMBERS:
                case = self._with_visible_cells(case, name)
        return case

    def _with_simple_array(self, case: KernelCase, name: str) -> KernelCase:
        """The case in which all numbers of an array are 0, or 1, small whole numbers, whole, or have one decimal."""
        array = case.arrays[name]
        ramp = np.arange(array.size, dtype=array.dtype).reshape(array.shape)
        rounded = (np.round(array, decimals) + 0.0 for decimals in (0, 1))  # 0 in place of −0
        simpler = (np.zeros_like(array), np.ones_like(array), ramp, *rounded)
        for number, made in enumerate(simpler):
            if np.array_equal(made, array):
                return case
            if number < 3 and is_simple(array):
                continue
            changed = case.with_arrays(**{name: made})
            if self._is_simpler(changed):
                return changed
        return case

    def _with_simple_cells(self, case: KernelCase, name: str) -> KernelCase:
        """The case in which each number of an array is the simplest one with which it fails."""
        for at in range(case.arrays[name].size):
            number = float(case.arrays[name].flat[at])
            for simple in (*SIMPLE_NUMBERS, *(float(np.round(number, n)) + 0.0 for n in (0, 1))):
                if simple == number or (number in SIMPLE_NUMBERS and rank(simple) >= rank(number)):
                    break
                array = case.arrays[name].copy()
                array.flat[at] = simple
                changed = case.with_arrays(**{name: array})
                if self._is_simpler(changed):
                    case = changed
                    break
        return case

    def _with_visible_cells(self, case: KernelCase, name: str) -> KernelCase:
        """The case in which a mask hides as little as possible."""
        for at in np.flatnonzero(~case.arrays[name]):
            array = case.arrays[name].copy()
            array.flat[at] = True
            changed = case.with_arrays(**{name: array})
            if self._is_simpler(changed):
                case = changed
        return case


def rank(number: float) -> int:
    """How simple a number is: 0 the most."""
    return SIMPLE_NUMBERS.index(number) if number in SIMPLE_NUMBERS else len(SIMPLE_NUMBERS)


def is_simple(array: Array) -> bool:
    """Whether all numbers of an array are among the simple ones."""
    return bool(np.isin(array, SIMPLE_NUMBERS).all())


def length_of(case: KernelCase, letter: str) -> int:
    """The length of an axis."""
    name = next(name for name, letters in AXES.items() if letter in letters)
    return int(case.arrays[name].shape[AXES[name].index(letter)])


def taken(case: KernelCase, letters: str, at: "slice | Array") -> KernelCase:
    """The case with some positions of the axes of these letters, in all of its arrays."""
    arrays = {}
    for name, array in case.arrays.items():
        for axis, letter in enumerate(AXES[name][: array.ndim]):
            if letter in letters:
                array = array[(slice(None),) * axis + (at,)]  # noqa: PLW2901 - one axis after the other
        arrays[name] = np.ascontiguousarray(array)
    if "m" in letters and "key_lengths" in arrays:
        arrays["key_lengths"] = np.minimum(arrays["key_lengths"], arrays["key"].shape[2])
    past = min(case.past, arrays["key"].shape[2] - 1)
    return replace(case, arrays=arrays, past=past)


def _deleted(case: KernelCase, letters: str, start: int, size: int) -> KernelCase | None:
    """The case without some positions of an axis; None where none would be left."""
    length = length_of(case, letters[0])
    at = np.delete(np.arange(length), np.arange(start, min(start + size, length)))
    return taken(case, letters, at) if at.size else None
