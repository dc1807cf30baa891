"""Layout: which axes stand before the queries and the keys, and how many batch items and heads there are."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attncli.base.axes import Letters
from attncli.base.errors import AttnError

if TYPE_CHECKING:
    from attncli.problem.spec import Problem

SEQUENCES = ("query", "key", "value", "embeddings", "query_embeddings")


@dataclass(frozen=True)
class Layout:
    """The axes before queries and keys; with `apart` the inputs have an axis of heads already."""

    batch: int | None
    heads: int
    kv_heads: int
    apart: bool

    @property
    def has_heads(self) -> bool:
        """Whether there is an axis of heads."""
        return self.apart or self.heads > 1

    @property
    def splits(self) -> bool:
        """Whether heads lie side by side among the features of the inputs."""
        return self.has_heads and not self.apart

    @property
    def items(self) -> Letters:
        """The axes before the rows of a sequence."""
        return () if self.batch is None else ("b",)

    @property
    def given(self) -> Letters:
        """The axes before the rows of queries as they come in."""
        return (*self.items, "h") if self.apart else self.items

    @property
    def leading(self) -> Letters:
        """The axes before queries and keys in the table of scores."""
        return (*self.items, "h") if self.has_heads else self.items

    def of_keys(self, letters: Letters) -> Letters:
        """The same axes for keys and values, whose heads may be fewer."""
        return tuple("g" if letter == "h" and self.kv_heads < self.heads else letter for letter in letters)


def layout_of(problem: "Problem") -> Layout:
    """Read the layout off the shapes of the inputs.

    Inputs are [n d], [b n h·d] or [b h n d], all of them alike. Raises AttnError where they are not, or where `heads`
    and `kv_heads` contradict them.
    """
    arrays = {name: array for name in SEQUENCES if (array := getattr(problem, name)) is not None}
    (first, array), *others = arrays.items()
    for name, other in others:
        if other.ndim != array.ndim:
            raise AttnError(f"{name} has {other.ndim} axes; {first} has {array.ndim}", where=name)
    apart = array.ndim == 4
    heads, kv_heads = problem.heads or 1, problem.kv_heads or problem.heads or 1
    if apart:
        heads, kv_heads = _counted(problem, "heads", "query"), _counted(problem, "kv_heads", "key")
    if heads % kv_heads:
        raise AttnError(
            f"{heads} query head{'s' if heads > 1 else ''} can't share {kv_heads} key heads evenly",
            where="kv_heads" if problem.kv_heads else "key",
            hint=f"choose a divisor of {heads}" if heads > 1 else "give heads, the number of query heads",
        )
    return Layout(array.shape[0] if array.ndim > 2 else None, heads, kv_heads, apart)


def _counted(problem: "Problem", name: str, owner: str) -> int:
    """The number of heads that an array of four axes has; a number that was given must be the same."""
    count = int(getattr(problem, owner).shape[1])
    said = getattr(problem, name)
    if said is not None and said != count:
        raise AttnError(f"{name} is {said}; {owner} has {count} heads on its second axis", where=name)
    return count


for a, b in dict(apart="has_input_head_axis").items():
    setattr(Layout, b, property(lambda s, a=a: getattr(s, a)))
Layout.splits_heads = Layout.splits
Layout.batch_axes = Layout.items
Layout.input_axes = Layout.given
Layout.score_axes = Layout.leading
Layout.with_kv_heads = Layout.of_keys
