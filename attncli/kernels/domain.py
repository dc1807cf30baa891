"""The domain of a function: the sizes, types and further arguments that it takes; sizes are moved into it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

Memory = Literal["", "transposed", "gaps"]
Extra = Literal[
    "mask", "bias", "sink", "key_lengths", "key_mask", "past", "packed", "decay", "beta", "past_state"
]  # fmt: skip
# How many queries there may be: any, at most as many as keys, at least, as many, or as many or one (as in decoding).
Order = Literal["", "fewer", "more", "same", "same or one"]
ORDERS: dict[Order, str] = {
    "": "",
    "fewer": "at most as many queries as keys",
    "more": "at least as many queries as keys",
    "same": "as many queries as keys",
    "same or one": "as many queries as keys, or one",
}
STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # of which lengths are multiples


@dataclass(frozen=True)
class Sizes:
    """The lengths of the axes of an input."""

    batch: int = 1
    heads: int = 1
    kv_heads: int = 1
    queries: int = 1
    keys: int = 1
    features: int = 1
    value_features: int = 1


@dataclass(frozen=True)
class Lengths:
    """The lengths of an axis that a function takes: multiples of `step` from `least` to `most`, or `only` some."""

    step: int = 1
    least: int = 1
    most: int | None = None
    only: tuple[int, ...] = ()

    @property
    def are_any(self) -> bool:
        """Whether every length is taken."""
        return self == Lengths()

    def takes(self, length: int) -> bool:
        """Whether a length is taken.

        >>> Lengths(step=16, least=16).takes(48), Lengths(only=(16, 32)).takes(48)
        (True, False)
        """
        if self.only:
            return length in self.only
        return length >= self.least and length % self.step == 0 and (self.most is None or length <= self.most)

    def nearest(self, length: int) -> int:
        """The smallest length that is taken and not below this one, or else the largest.

        >>> Lengths(step=16, least=32).nearest(5), Lengths(only=(16, 64)).nearest(17), Lengths(most=8).nearest(9)
        (32, 64, 8)
        """
        if self.only:
            return min((one for one in self.only if one >= length), default=max(self.only))
        found = max(-(-length // self.step) * self.step, self.least)
        return found if self.most is None else min(found, self.most)

    def told(self) -> str:
        """The lengths in words.

        >>> Lengths().told(), Lengths(step=16, least=16).told(), Lengths(only=(16, 32)).told(), Lengths(most=64).told()
        ('any', 'multiples of 16', '16, 32', 'any to 64')
        """
        if self.only:
            return ", ".join(map(str, self.only))
        of_step = "any" if self.step == 1 else f"multiples of {self.step}"
        start = f" from {self.least}" if self.least > self.step else ""
        return f"{of_step}{start}{'' if self.most is None else f' to {self.most}'}"


def lengths_of(taken: Sequence[int], refused: Sequence[int]) -> Lengths:
    """The simplest rule that has all lengths that were taken and none that were refused.

    >>> lengths_of([16, 32, 48, 64], [1, 8, 17, 100])
    Lengths(step=16, least=16, most=None, only=())
    >>> lengths_of([16, 32, 64], [1, 8, 48]).only, lengths_of([1, 2, 3, 5], []).are_any
    ((16, 32, 64), True)
    """
    for step in reversed(STEPS if len(taken) > 1 else ()):
        if all(length % step == 0 for length in taken):
            least = min(taken) if any(length < min(taken) and length % step == 0 for length in refused) else step
            most = max(taken) if any(length > max(taken) and length % step == 0 for length in refused) else None
            rule = Lengths(step, least, most)
            if not any(map(rule.takes, refused)):
                return rule
    return Lengths(only=tuple(sorted(taken)))


@dataclass(frozen=True)
class Domain:
    """What inputs the function takes.

    `heads` are the numbers of heads of queries and of keys; where there is no batch axis `has_batch` is false. `extras`
    are the further arguments that it may be given, `needed` those that it must be given; all of them at once where they
    `go_together`. Packed sequences have as many keys as queries where they `have_same_bounds`. Of a function that is
    compiled for each shape only `most_shapes` are tried. A recurrence has no scores that could be large; with a delta
    rule it has unit keys, and its decays may be of each key feature.
    """

    dtypes: Sequence[str] = ("float64",)
    heads: Sequence[tuple[int, int]] = ((2, 2), (1, 1), (3, 3))
    has_batch: bool = True
    batches: Lengths = field(default_factory=Lengths)
    features: Lengths = field(default_factory=Lengths)
    has_other_value_features: bool = True
    queries: Lengths = field(default_factory=Lengths)
    keys: Lengths = field(default_factory=Lengths)
    order: Order = ""
    memories: Sequence[Memory] = ("", "transposed", "gaps")
    extras: Sequence[Extra] = ()
    needed: Sequence[Extra] = ()
    go_together: bool = True
    has_gradients: bool = False
    have_same_bounds: bool = False
    page_size: int = 1  # keys are whole pages, of which key_lengths says how many are read
    scale: float | None = None  # of the scores; None for 1/√d
    most_shapes: int | None = None
    is_recurrence: bool = False
    has_unit_keys: bool = False
    have_decays_of_features: bool = False
    has_empty_rows: bool = True  # whether masks leave some queries no key
    borders: Sequence[str] = ()  # what is not taken, and how the function says so

    def fit(self, sizes: Sizes) -> Sizes:
        """The nearest sizes that the function takes, with the same heads.

        >>> Domain(keys=Lengths(16), order="same", features=Lengths(only=(64,))).fit(Sizes(keys=17))
        Sizes(batch=1, heads=1, kv_heads=1, queries=32, keys=32, features=64, value_features=64)
        """
        batch = self.batches.nearest(sizes.batch) if self.has_batch else 1
        queries, keys = self._lengths(sizes.queries, sizes.keys)
        keys = -(-keys // self.page_size) * self.page_size
        features = self.features.nearest(sizes.features)
        value_features = self.features.nearest(sizes.value_features) if self.has_other_value_features else features
        return Sizes(batch, sizes.heads, sizes.kv_heads, queries, keys, features, value_features)

    def _lengths(self, queries: int, keys: int) -> tuple[int, int]:
        if self.order == "same or one" and queries == 1:
            return 1, self.keys.nearest(keys)
        if self.order in ("same", "same or one"):
            length = self.keys.nearest(max(queries, keys))
            return length, length
        queries, keys = self.queries.nearest(queries), self.keys.nearest(keys)
        if (self.order == "fewer" and queries > keys) or (self.order == "more" and queries < keys):
            return self.queries.nearest(keys), self.keys.nearest(queries)
        return queries, keys

    def takes(self, sizes: Sizes) -> bool:
        """Whether sizes are in the domain; heads may be fewer than those that were tried."""
        return self.fit(sizes) == sizes

    @property
    def is_free(self) -> bool:
        """Whether sizes are not constrained."""
        axes = (self.batches, self.features, self.queries, self.keys)
        return all(axis.are_any for axis in axes) and not self.order and self.has_other_value_features

    def told(self) -> str:
        """The domain in a line: `float16, bfloat16; d = 16, 32, 64, as wide values; any length`."""
        return "; ".join(self._told())

    def _told(self) -> Iterator[str]:
        yield ", ".join(self.dtypes)
        d = "any d" if self.features.are_any else f"d = {self.features.told()}"
        yield d if self.has_other_value_features else f"{d}, values as wide"
        yield from self._lengths_told()
        if self.has_batch and not self.batches.are_any:
            yield f"{self.batches.told()} batch items"
        pairs = sorted(set(self.heads), key=lambda pair: (pair[0] != pair[1], pair))
        said = [f"{heads}" if heads == kv_heads else f"{heads} with {kv_heads} of keys" for heads, kv_heads in pairs]
        yield f"heads: {', '.join(said)}"
        if len(self.memories) == 1 and len(self.borders) > 0:
            yield "contiguous arrays"

    def _lengths_told(self) -> Iterator[str]:
        same = self.order in ("same", "same or one")
        if same or self.queries == self.keys:
            yield "any length" if self.keys.are_any else f"lengths {self.keys.told()}"
        else:
            yield f"queries {self.queries.told()}; keys {self.keys.told()}"
        if self.order:
            yield ORDERS[self.order]
