"""Inputs that reveal mistakes of a kernel: sizes around those of tiles, large scores, hidden rows, types, views."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.kernels.domain import Domain, Extra, Memory, Sizes

if TYPE_CHECKING:
    from numpy.random import Generator

Value = TypeVar("Value")
MEMORIES: Mapping[Memory, str] = {
    "": "one after the other",
    "transposed": "a transposed view",
    "gaps": "a view of every second number",
}
LAID_OUT = ("query", "key", "value")
SEQUENCES = ("query_sequences", "key_sequences")  # of packed inputs: the number of the sequence of each row
BOUNDS = ("cu_seqlens", "cu_seqlens_k")  # of these sequences, as functions and problems have them
MOST_SEQUENCES = 3
PAGES, PAGE_SIZE = "page_table", 16  # of a paged cache
UNREAD = 1000.0  # what is in a page where no key is

TILES = (4, 8, 16, 32, 64, 128)  # of keys or queries, as kernels have them
SMALL = ((1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (1, 3), (3, 1), (2, 5), (5, 2), (7, 7), (5, 11), (11, 5))
OF_STEPS = ((1, 2), (2, 2), (2, 3), (3, 3))  # queries and keys of a function that takes long blocks of them alone
LONG = ((1, 300), (3, 200), (200, 3))  # few queries and many keys, as in decoding, and the reverse
WITH_EXTRAS = ((1, 1, 2), (1, 2, 3), (2, 5, 5), (2, 4, 9), (1, 9, 17), (1, 3, 66), (3, 18, 35))  # batch, queries, keys
FEATURES = (4, 1, 3, 8, 2, 16, 5)
LARGEST_FEATURES = 64  # once
BATCHES = (1, 2, 1, 3)
LONGEST_IN_STEPS = 3  # blocks of a function that takes lengths in steps
MOST_BLOCKS = 20  # squares of such a block that the scores of a random input are
MAX_SCORES = 2**17  # of a random input
MOST_DRAWS = 50  # of sizes, for those of a random input
MOST_ALIKE = 2  # systematic inputs of the same sizes and kind
# Queries and keys of a function that is compiled for each shape.
FEW = ((1, 70), (5, 7), (33, 33), (70, 9), (17, 129), (129, 129), (64, 64))
LONGEST = 140  # queries or keys of a random input: more than the largest tile
# A score whose exponential overflows in the type that kernels compute in, and a little more.
LARGEST_PRODUCT = 6e4  # of a query and a key, which float16 has
OVERFLOWS: Mapping[str, float] = {"float64": 780.0, "float32": 97.0, "float16": 97.0, "bfloat16": 97.0}


@dataclass(frozen=True, eq=False)
class KernelCase:
    """One input: query [b h n d], key [b g m d], value [b g m e], and what else the function takes.

    Further arrays are `mask` [n m], `bias` [n m], `sink` [h], `key_lengths` [b], `key_mask` [b m] and `grad_output`
    [b h n e], of packed sequences `query_sequences` [n] and `key_sequences` [m], and of recurrences `decay` [b h n] or
    [b h n d], `beta` [b h n] and `past_state` [b h d e]. Of the keys the first `past` are those of the cache. `about`
    says what the input is for.
    """

    arrays: Mapping[str, Array]
    dtype: str = "float64"
    memory: Memory = ""
    past: int = 0
    about: str = ""

    @property
    def sizes(self) -> Sizes:
        """The lengths of its axes."""
        batch, heads, queries, features = self.arrays["query"].shape
        kv_heads, keys = self.arrays["key"].shape[1:3]
        return Sizes(batch, heads, kv_heads, queries, keys, features, self.arrays["value"].shape[-1])

    @property
    def is_plain(self) -> bool:
        """Whether there is one batch item with one head, so that its arrays can be tables."""
        return self.sizes.batch == self.sizes.heads == 1

    @property
    def count(self) -> int:
        """How many numbers queries, keys and values have together."""
        return sum(self.arrays[name].size for name in LAID_OUT)

    @property
    def arguments(self) -> dict[str, Array]:
        """Its arrays as functions have them: with the bounds of packed sequences, of which there is one batch item."""
        found = {name: array for name, array in self.arrays.items() if name not in SEQUENCES}
        if SEQUENCES[0] in self.arrays:
            rows = [self.arrays[name] for name in SEQUENCES]
            numbers = np.unique(np.concatenate(rows))
            for name, sequences in zip(BOUNDS, rows, strict=True):
                ends = np.searchsorted(sequences, numbers, side="right")
                found[name] = np.concatenate([[0], ends]).astype(np.int32)
        return found

    @property
    def pages(self) -> dict[str, Array]:
        """Keys and values as functions of a paged cache have them, [pages, page size, heads, features], and the table.

        The pages are in the reverse order, behind one that none reads; it and the end of the last page have numbers
        that would be seen.
        """
        batch, heads, keys, _ = self.arrays["key"].shape
        count = -(-keys // PAGE_SIZE)
        table = np.arange(batch * count, 0, -1, dtype=np.int32).reshape(batch, count)
        found: dict[str, Array] = {PAGES: table}
        for name in ("key", "value"):
            array = self.arrays[name]
            pages = np.full((batch * count + 1, PAGE_SIZE, heads, array.shape[-1]), UNREAD, array.dtype)
            for item, row in enumerate(table):
                for number, page in enumerate(row):
                    rows = array[item, :, number * PAGE_SIZE : (number + 1) * PAGE_SIZE]
                    pages[page, : rows.shape[1]] = rows.swapaxes(0, 1)
            found[name] = pages
        return found

    def with_arrays(self, **arrays: Array) -> "KernelCase":
        """The same with other arrays, rounded to its type."""
        return replace(self, arrays={**self.arrays, **{name: _rounded(x, self.dtype) for name, x in arrays.items()}})

    def with_dtype(self, dtype: str) -> "KernelCase":
        """The same numbers in another type, rounded to it."""
        return replace(self, dtype=dtype).with_arrays(**self.arrays)

    def without(self, name: str) -> "KernelCase":
        """The same without one of the further arrays; with one of packed sequences the other goes too."""
        names = SEQUENCES if name in SEQUENCES else (name,)
        return replace(self, arrays={key: array for key, array in self.arrays.items() if key not in names})


def _rounded(x: Array, dtype: str) -> Array:
    """Floating-point numbers rounded to a type, in the type of NumPy's that holds it."""
    if x.dtype.kind != "f":
        return x
    precision = Precision(dtype)
    rounded: Array = precision.round(x.astype(np.float64)).astype(precision.numpy_name)
    return rounded


@dataclass
class CaseMaker:
    """Draws inputs in a domain from a seed."""

    domain: Domain
    seed: int = 0
    random: "Generator" = field(init=False)
    _shapes: list[Sizes] = field(default_factory=list, init=False)  # of a function that is compiled for each
    _made: "Counter[object]" = field(default_factory=Counter, init=False)  # of systematic inputs, by sizes and kind

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def make(
        self,
        sizes: Sizes,
        dtype: str,
        *,
        memory: Memory = "",
        scores: str = "normal",
        extras: Sequence[Extra] = (),
        about: str = "",
    ) -> KernelCase:
        """An input of the nearest sizes in the domain, with scores of a kind and further arguments."""
        extras = tuple(dict.fromkeys((*self.domain.needed, *extras)))
        s = self._fit(sizes)
        if "packed" in extras:
            s = replace(s, batch=1, keys=s.queries if self.domain.have_same_bounds else s.keys)
        shapes = {
            "query": (s.batch, s.heads, s.queries, s.features),
            "key": (s.batch, s.kv_heads, s.keys, s.features),
            "value": (s.batch, s.kv_heads, s.keys, s.value_features),
        }
        arrays = {name: self.random.standard_normal(shape) for name, shape in shapes.items()}
        factor = abs(self.scale_of(s)) or 1.0
        if self.domain.has_unit_keys:
            arrays["key"] /= np.sqrt((arrays["key"] ** 2).sum(axis=-1, keepdims=True))
        _SCORES[scores](arrays, min(OVERFLOWS[dtype] / factor, LARGEST_PRODUCT))
        past = 0
        for extra in extras:
            if extra == "past":
                past = int(self.random.integers(1, s.keys)) if s.keys > 1 else 0
            elif extra == "packed":
                arrays |= self._packed(s)
            else:
                arrays[extra] = getattr(self, f"_{extra}")(s)
        if self.domain.has_gradients:
            arrays["grad_output"] = self.random.standard_normal((*shapes["query"][:-1], s.value_features))
        case = KernelCase(arrays, dtype, memory if memory in self.domain.memories else "", past, about)
        return case.with_dtype(dtype)

    def _fit(self, sizes: Sizes) -> Sizes:
        """The nearest sizes in the domain, of those that were made where no other shape is to be compiled."""
        fitted = self.domain.fit(sizes)
        if self.domain.most_shapes is None or fitted in self._shapes:
            return fitted
        if len(self._shapes) < self.domain.most_shapes:
            self._shapes.append(fitted)
            return fitted
        lengths = (fitted.queries, fitted.keys)
        return min(self._shapes, key=lambda one: np.abs(np.log(np.divide((one.queries, one.keys), lengths))).sum())

    def _unless_made(
        self, sizes: Sizes, dtype: str, *, memory: Memory = "", scores: str = "normal", about: str, **more: Any
    ) -> Iterator[KernelCase]:
        """An input, unless there are enough of these sizes in the domain and this kind."""
        kind = (self._fit(sizes), dtype, memory, scores, *more.get("extras", ()))
        self._made[kind] += 1
        if self.domain.is_free or self._made[kind] <= MOST_ALIKE:
            yield self.make(sizes, dtype, memory=memory, scores=scores, about=about, **more)

    def scale_of(self, sizes: Sizes) -> float:
        """The factor of the scores of an input."""
        return 1 / math.sqrt(sizes.features) if self.domain.scale is None else self.domain.scale

    def _mask(self, s: Sizes) -> Array:
        """A random mask in which one query sees no key, and another its last key alone."""
        mask: Array = self.random.random((s.queries, s.keys)) < 0.6
        empty = int(self.random.integers(s.queries))
        mask[[empty, empty - 1]] = False
        if s.queries > 1:
            mask[empty - 1, -1] = True
        if not self.domain.has_empty_rows:
            mask[:, 0] = True
        return mask

    def _bias(self, s: Sizes) -> Array:
        return self.random.standard_normal((s.queries, s.keys))

    def _sink(self, s: Sizes) -> Array:
        return self.random.standard_normal(s.heads)

    def _key_lengths(self, s: Sizes) -> Array:
        return self.random.integers(1, s.keys + 1, s.batch)

    def _key_mask(self, s: Sizes) -> Array:
        mask: Array = self.random.random((s.batch, s.keys)) < 0.7
        mask[:, self.random.integers(s.keys)] = True
        return mask

    def _decay(self, s: Sizes) -> Array:
        """Logarithms: tokens keep most of the state, or half."""
        shape = (s.batch, s.heads, s.queries, s.features)
        return -abs(self.random.standard_normal(shape if self.domain.have_decays_of_features else shape[:-1])) / 2

    def _beta(self, s: Sizes) -> Array:
        return self.random.uniform(0.1, 1, (s.batch, s.heads, s.queries))

    def _past_state(self, s: Sizes) -> Array:
        return self.random.standard_normal((s.batch, s.heads, s.features, s.value_features))

    def _packed(self, s: Sizes) -> dict[str, Array]:
        """The sequence of each query and of each key: as many sequences of both, each of one row or more."""
        count = int(self.random.integers(1, min(s.queries, s.keys, MOST_SEQUENCES) + 1))
        query, key = (self._sequences(length, count) for length in (s.queries, s.keys))
        return dict(zip(SEQUENCES, (query, query if self.domain.have_same_bounds else key), strict=True))

    def _sequences(self, length: int, count: int) -> Array:
        """The number of the sequence of each of so many rows."""
        starts = np.sort(self.random.choice(np.arange(1, length), count - 1, replace=False)) if count > 1 else ()
        found: Array = np.searchsorted(starts, np.arange(length), side="right")
        return found

    def systematic(self) -> Iterator[KernelCase]:
        """Inputs of chosen sizes and kinds, the same for every seed but for their numbers; sizes and kinds by turns."""
        by_turns = zip_longest(self._of_sizes(), self._of_kinds())
        return (case for both in by_turns for case in both if case is not None)

    def _of_sizes(self) -> Iterator[KernelCase]:
        """Inputs with few and many queries and keys, around the tiles of kernels and of the function's lengths."""
        around = [(a, b) for tile in TILES for a, b in _around(tile)]
        step = self.domain.keys.step
        around += [(step * a, step * b) for a, b in OF_STEPS] if step > max(TILES) // 4 else []
        kinds: Sequence[Memory] = ("", "", "transposed", "", "gaps")
        memories = cycle([one for one in kinds if one in self.domain.memories])
        dtypes = cycle(self.domain.dtypes)
        heads, features, batches = cycle(self.domain.heads), cycle(FEATURES), cycle(BATCHES)
        fewest = min([pair for pair in self.domain.heads if pair[0] > 1] or self.domain.heads)
        for queries, keys in (*SMALL, *around, *LONG) if self.domain.most_shapes is None else FEW:
            own_heads, d = next(heads), next(features)
            own_heads = fewest if queries * keys > MAX_SCORES // 8 else own_heads
            batch = 1 if queries * keys > 40**2 else next(batches)
            sizes = Sizes(batch, *own_heads, queries, keys, d, d + 1)
            about = f"{count_of(queries, 'query')}, {count_of(keys, 'key')}"
            yield from self._unless_made(sizes, next(dtypes), memory=next(memories), about=about)

    def _of_kinds(self) -> Iterator[KernelCase]:
        """Inputs of a few sizes that have each kind of score, type, memory, heads and further argument once or more."""
        heads = cycle(self.domain.heads)
        for dtype in self.domain.dtypes:
            for scores in self._score_kinds:
                for queries, keys in ((5, 7), (6, 6), (18, 35)):
                    sizes = Sizes(1, *next(heads), queries, keys, 4, 3)
                    yield from self._unless_made(sizes, dtype, scores=scores, about=f"{scores} scores in {dtype}")
            for memory in self.domain.memories:
                sizes = Sizes(2, *next(heads), 6, 9, 4, 4)
                yield from self._unless_made(sizes, dtype, memory=memory, about=f"{MEMORIES[memory]} in {dtype}")
        for own_heads in self.domain.heads:
            about = f"{own_heads[0]} heads, {own_heads[1]} of keys"
            sizes = Sizes(2, *own_heads, 5, 6, 3, 2)
            yield from self._unless_made(sizes, self.domain.dtypes[0], about=about)
        sizes = Sizes(1, *self.domain.heads[0], 9, 9, LARGEST_FEATURES, LARGEST_FEATURES)
        yield from self._unless_made(sizes, self.domain.dtypes[0], about=f"{LARGEST_FEATURES} features")
        for extra in self.domain.extras:
            for batch, queries, keys in WITH_EXTRAS:
                sizes = Sizes(batch, *next(heads), queries, keys, 4, 3)
                for dtype in self.domain.dtypes:
                    yield from self._unless_made(sizes, dtype, extras=(extra,), about=extra.replace("_", " "))
        if len(self.domain.extras) > 1 and self.domain.go_together:
            sizes = Sizes(2, *next(heads), 6, 21, 4, 3)
            yield self.make(sizes, self.domain.dtypes[0], extras=self.domain.extras, about="every argument")

    def drawn(self, count: int) -> Iterator[KernelCase]:
        """So many inputs whose sizes and kinds are drawn too."""
        most = max(MAX_SCORES, MOST_BLOCKS * self.domain.keys.step**2)
        for _ in range(count):
            heads = self._one_of(self.domain.heads)
            for _ in range(MOST_DRAWS):
                queries, keys = (self._length() for _ in range(2))
                keys = queries if self.random.random() < 0.4 else keys
                batch = int(self.random.integers(1, 4))
                s = self.domain.fit(Sizes(batch, *heads, queries, keys))
                if s.batch * s.heads * s.queries * s.keys <= most:
                    break
            else:  # no input of the domain is as small
                batch, queries, keys = 1, 1, 1
            d, e = (round(24 ** self.random.random()) for _ in range(2))
            sizes = Sizes(batch, *heads, queries, keys, d, e)
            chosen = [extra for extra in self.domain.extras if self.random.random() < 0.3]
            chosen = chosen if self.domain.go_together else chosen[:1]
            scores = self._one_of(self._score_kinds) if self.random.random() < 0.2 else "normal"
            memory, dtype = self._one_of(list(MEMORIES)), self._one_of(self.domain.dtypes)
            yield self.make(sizes, dtype, memory=memory, scores=scores, extras=chosen, about="drawn")

    @property
    def _score_kinds(self) -> list[str]:
        """The kinds of scores: a recurrence has none that could be large."""
        return ["normal", "equal"] if self.domain.is_recurrence else list(_SCORES)

    def _length(self) -> int:
        """A length: as often a short one as one of many tiles, or some blocks of a function that takes long blocks."""
        step = self.domain.keys.step
        if step > LONGEST // LONGEST_IN_STEPS:
            return step * int(self.random.integers(1, LONGEST_IN_STEPS + 1))
        length: int = round(LONGEST ** self.random.random())
        return length

    def _one_of(self, values: Sequence[Value]) -> Value:
        return values[int(self.random.integers(len(values)))]


def _around(tile: int) -> Sequence[tuple[int, int]]:
    """Numbers of queries and of keys below, at and above the size of a tile.

    >>> _around(16)
    ((15, 15), (16, 16), (17, 17), (1, 17), (17, 1), (3, 31), (15, 17), (17, 15))
    """
    below, above = tile - 1, tile + 1
    same = ((below, below), (tile, tile), (above, above))
    return (*same, (1, above), (above, 1), (3, 2 * tile - 1), (below, above), (above, below))


def _normal(arrays: dict[str, Array], limit: float) -> None:
    """Scores as normal numbers have them."""


def _large(arrays: dict[str, Array], limit: float) -> None:
    """One query of each head whose score with a key overflows the exponential; the others are as they were."""
    query, key = arrays["query"], arrays["key"]
    row, column = query.shape[2] // 2, key.shape[2] // 3
    chosen = key[:, :, column].repeat(query.shape[1] // key.shape[1], axis=1)  # [b h d]
    query[:, :, row] = limit * chosen / (chosen**2).sum(axis=-1, keepdims=True)


def _low(arrays: dict[str, Array], limit: float) -> None:
    """Scores that are all so far below 0 that their exponentials vanish."""
    size = math.sqrt(limit)
    arrays["query"][..., 0] = size
    arrays["key"][..., 0] = -size * (1 + np.arange(arrays["key"].shape[2]) / 8 / arrays["key"].shape[2])


def _equal(arrays: dict[str, Array], limit: float) -> None:
    """Keys that are all equal: every visible key has the same weight."""
    arrays["key"][...] = arrays["key"][:, :, :1]


def _growing(arrays: dict[str, Array], limit: float) -> None:
    """Scores that grow with the key, so that each tile has a larger maximum than those before."""
    size = math.sqrt(limit)
    arrays["query"][..., 0] = size
    arrays["key"][..., 0] = size * np.arange(arrays["key"].shape[2]) / arrays["key"].shape[2]


def _falling(arrays: dict[str, Array], limit: float) -> None:
    """Scores that fall with the key, so that the first tile has the largest maximum."""
    _growing(arrays, limit)
    arrays["key"][...] = arrays["key"][:, :, ::-1].copy()


_SCORES = {
    "normal": _normal,
    "large": _large,
    "low": _low,
    "equal": _equal,
    "growing": _growing,
    "falling": _falling,
}
