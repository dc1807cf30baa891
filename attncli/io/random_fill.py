"""The matrices that are drawn from the seed, in a fixed order, each in the shape its neighbours ask for."""

from collections.abc import Mapping
from typing import Any

from attncli.base.axes import Letters
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.io.parse.matrix import PendingRandom
from attncli.ops import look_up
from attncli.ops.initializers import Stream, stream
from attncli.ops.registry import Operator

# The order in which the stream is used, and the letters of each shape.
ORDER: Mapping[str, Letters] = {
    "embeddings": ("m", "x"),
    "query_embeddings": ("n", "y"),
    "query": ("n", "d"),
    "key": ("m", "c"),
    "value": ("m", "e"),
    "w_q": ("y", "d"),
    "w_k": ("x", "c"),
    "w_v": ("x", "e"),
    "w_o": ("h·e", "o"),
    "b_q": ("d",),
    "b_k": ("c",),
    "b_v": ("e",),
    "b_o": ("o",),
}
ORDER_LETTERS = {letter for letters in ORDER.values() for letter in letters}
STAGES = ("score", "normalize", "context", "position")
DEFAULT = "randint"
# A size that nobody gave is that of the first neighbour that has one.
_NEIGHBOURS = {
    "n": ("m",),
    "d": ("c", "x"),
    "c": ("d", "x"),
    "e": ("x",),
    "h·e": ("e", "x"),
    "o": ("x",),
    "x": ("y",),
    "y": ("x",),
}


def draw(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a problem with every matrix made that was to be drawn, or is missing where `init` draws it.

    Raises AttnError where there is no seed to draw from, or a size is missing.
    """
    wanted = {name: value.chosen for name, value in values.items() if isinstance(value, PendingRandom)}
    wanted |= {name: chosen for name, chosen in _missing(values).items() if name not in wanted}
    made = {name: value for name, value in values.items() if not isinstance(value, PendingRandom)}
    painter = _Painter(made)
    for name in ORDER:
        if name in wanted:
            made[name] = painter.make(name, wanted[name], ORDER[name])
    for stage in STAGES:
        if stage in made:
            made[stage] = painter.parameters(stage, made[stage])
    return made


def _missing(values: Mapping[str, Any]) -> dict[str, Operator]:
    """What `init` draws: embeddings that are asked for by their size, and the projections that are missing."""
    sized = values.get("token_count") is not None or values.get("dim") is not None
    without_sequence = not any(values.get(name) is not None for name in ("embeddings", "key", "query"))
    init = values.get("init") or (Operator(look_up("generator", DEFAULT)) if sized and without_sequence else None)
    if init is None:
        return {}
    names = ["embeddings"] if without_sequence else []
    names += [] if values.get("query") is not None else ["w_q"]
    names += [] if values.get("key") is not None else ["w_k", "w_v"]
    names += ["w_o"] if (values.get("heads") or 1) > 1 else []
    return {name: init for name in names if values.get(name) is None}


class _Painter:
    """Makes matrices one after another; the stream is started by the first that draws."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.made = made
        self._stream: Stream = None

    def make(self, name: str, chosen: Operator, letters: Letters) -> Array:
        """One matrix of the problem; weights in the layout they are stored in."""
        shape = tuple(self._size(letter, name) for letter in letters)
        if len(shape) == 2 and self.made.get("weight_layout") == "out_in" and name.startswith("w_"):
            shape = shape[::-1]
        return self._generate(name, chosen, shape)

    def parameters(self, stage: str, chosen: Operator) -> Operator:
        """The stage with its own matrices made, in the sizes of one head."""
        made = dict(chosen.given)
        for name, value in chosen.given.items():
            if isinstance(value, PendingRandom):
                letters = chosen.record.parameter(name).letters
                shape = tuple(self._parameter_size(letter, chosen, f"{stage}, {name}") for letter in letters)
                if len(shape) == 2 and self.made.get("weight_layout") == "out_in":
                    shape = shape[::-1]
                made[name] = self._generate(f"{stage}, {name}", value.chosen, shape)
        return Operator(chosen.record, made)

    def _generate(self, name: str, chosen: Operator, shape: tuple[int, ...]) -> Array:
        if chosen.record.is_drawn and self._stream is None:
            if self.made.get("seed") is None:
                raise AttnError(
                    f"{name} is drawn at random and there is no seed",
                    where="seed",
                    hint="give one, such as 42",
                )
            try:
                self._stream = stream(self.made.get("generator", "pcg64"), self.made["seed"])
            except ValueError as error:  # the legacy stream takes 32 bits
                raise AttnError(str(error), where="seed") from None
        try:
            return chosen.record.function(self._stream, shape, **chosen.parameters)  # type: ignore[no-any-return] # any callable can be registered
        except (ValueError, OverflowError, MemoryError) as error:
            raise AttnError(f"{chosen} can't be drawn ({error})", where=name) from None

    def _parameter_size(self, letter: str, chosen: Operator, name: str) -> int:
        """The length of an axis of a score's or a context's own matrix."""
        if "+" in letter:
            return sum(self._parameter_size(part, chosen, name) for part in letter.split("+"))
        if letter in "nm":
            return self._size(letter, name)
        if letter == "a":
            for other, value in chosen.arrays.items():
                letters = chosen.record.parameter(other).letters
                if "a" in letters:
                    return int(value.shape[letters.index("a")])
            letter = "d"
        size = self._size(letter, name)
        return size if self._apart else size // (self._heads[1 if letter in "ce" else 0])

    @property
    def _apart(self) -> bool:
        """Whether the heads have an axis of their own already."""
        return self.made.get("query") is not None and self.made["query"].ndim == 4

    @property
    def _heads(self) -> tuple[int, int]:
        """How many heads there are, of queries and of keys."""
        heads = int(self.made.get("heads") or 1)
        return heads, int(self.made.get("kv_heads") or heads)

    def _size(self, letter: str, name: str) -> int:
        """The length of an axis, from the matrices there are, then from the sizes that were given.

        Keys and values have as many features as queries, times the share of their heads.
        """
        heads, kv_heads = self._heads
        for neighbour in (letter, *_NEIGHBOURS.get(letter, ())):
            for size, shared in ((self._measured(neighbour), neighbour in ("c", "e")), (self._given(neighbour), False)):
                if size is not None:
                    own = size * heads // kv_heads if shared else size
                    return own * kv_heads // heads if letter in ("c", "e") else own
        if letter not in ORDER_LETTERS:
            raise AttnError("can't be drawn: nothing says how many rows it has", where=name, hint="give the matrix")
        wanted = "token_count" if letter in "nm" else "dim"
        raise AttnError(f"{name} is drawn and its size is not known", where=wanted, hint=f"give {wanted}")

    def _measured(self, letter: str) -> int | None:
        """The length that a matrix, or a list of labels, has."""
        for owner, letters in ORDER.items():
            array = self.made.get(owner)
            if array is None or letter not in letters:
                continue
            if letter in ("x", "y") and owner.startswith("w_"):
                continue
            axis = letters.index(letter) - len(letters)
            turned = owner.startswith("w_") and self.made.get("weight_layout") == "out_in"
            return int(array.shape[::-1][axis] if turned else array.shape[axis])
        labels = self.made.get({"m": "tokens", "n": "query_tokens"}.get(letter, ""))
        return len(labels) if labels else None

    def _given(self, letter: str) -> int | None:
        """The size that a key of the problem gives."""
        sizes = {"m": "token_count", "n": "token_count", "d": "d_k", "c": "d_k", "e": "d_v", "h·e": "d_v"}
        key = sizes.get(letter, "dim")
        size = self.made.get(key)
        return None if size is None else int(size)
