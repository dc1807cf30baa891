"""Fields: one for each key of a problem, which is an option of `attn compute` and a keyword of `Problem`."""

import re
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

from attncli.base.axes import Letters
from attncli.ops.records import Operator

INPUTS = "Where the numbers come from"
PROJECTIONS = "Projections and heads"
STAGES = "The three stages"
RANDOM = "Random numbers"
NUMBERS = "Numbers"
MASKS = "Who may attend to whom"
CACHE = "The cache"
QUERIES = "Which queries"

# What `attn init` makes of a key: a line in force, a line that can be (commented out), or one that can be only with
# another, or in place of one.
TemplateUse = Literal["active", "optional", "together"]

# The results that a problem may not compute, in order; "" of a key that every problem reads.
LastResult = Literal["", "scores", "weights", "output"]

_BRACKETS = re.compile(r"\[(?P<inside>.*)\]")


@dataclass(frozen=True)
class Field:
    """One field of a problem: the kind of its value, its range, its axes, its help, its panel there, an example."""

    name: str
    kind: str  # one of `problem.convert`, or the kind of the operators that it names
    panel: str
    help: str
    example: str  # a value in YAML, which fits the other examples
    axes: str = ""  # the letters of an array's axes, in brackets those that it may have before its own: "[b h] n d"
    template: TemplateUse = "optional"
    words: tuple[str, ...] = ()  # the choices of a word
    word_meanings: tuple[str, ...] = ()  # what each choice means, where `attn show` says it
    least: float | None = None  # of an integer
    above: float | None = None  # of a number
    sizes: str = ""  # of an integer: the letters of the axes whose length it is, in brackets of drawn arrays alone
    is_weight: bool = False  # a matrix that is multiplied from the right, stored as `weight_layout` says
    is_random_fill: bool = False  # an array that may be drawn from the seed
    is_row_table: bool = False  # a table of which only the rows that tokens or positions name are read
    is_common: bool = False  # used most: the short help lists it
    neutral: float | None = None  # of a table that broadcasts: the number that changes nothing, as no table at all
    decides_dtype: bool = True  # an array whose floating type takes part in that of the computation
    used_by: LastResult = ""  # the last result that reads it: nothing does where that is not computed

    @property
    def is_boolean(self) -> bool:
        """Whether its array has truth values."""
        return self.kind in ("boolean_matrix", "booleans")

    @property
    def is_array(self) -> bool:
        """Whether its value is an array, or a vector for each word."""
        return self.is_boolean or self.kind in ("matrix", "vector", "counts", "positions", "vocabulary")

    @property
    def is_mask(self) -> bool:
        """Whether its value is that of the mask operator of the same name."""
        return self.panel == MASKS and self.kind != "word"

    @cached_property
    def letters(self) -> Letters:
        """The letters of an array's own axes, which come last."""
        return tuple(_BRACKETS.sub("", self.axes).split())

    @cached_property
    def leading(self) -> Letters:
        """The letters of the axes that an array may have before its own."""
        match = _BRACKETS.search(self.axes)
        return () if match is None else tuple(match["inside"].split())

    @cached_property
    def packs(self) -> tuple[str, ...]:
        """Of a packed projection: the keys of the arrays that it has side by side, in order."""
        prefix, _, letters = self.name.partition("_")
        return tuple(f"{prefix}_{letter}" for letter in letters) if "+" in self.axes else ()

    @cached_property
    def allowed_axis_counts(self) -> tuple[int, ...]:
        """How many axes an array may have: a table that broadcasts may lack the first ones."""
        least = len(self.letters) if self.neutral is None else 1
        return tuple(range(least, len(self.leading) + len(self.letters) + 1))

    @cached_property
    def checked_sizes(self) -> Letters:
        """The letters of the axes whose length it is, in every array."""
        return tuple(_BRACKETS.sub("", self.sizes).split())

    @cached_property
    def drawn_sizes(self) -> Letters:
        """The letters of the axes of drawn arrays whose length it is, where no other array says it."""
        return tuple(self.sizes.replace("[", "").replace("]", "").split())


def option_name(key: str) -> str:
    """The option of a key: a hyphen for each underscore.

    >>> option_name("kv_heads")
    '--kv-heads'
    """
    return f"--{key.replace('_', '-')}"


def row(kind: str, panel: str, help: str, example: str, *, default: Any = None, **more: Any) -> Any:
    """A dataclass field of ProblemSpec, with its Field as metadata; `more` are further fields of Field."""
    metadata = {"kind": kind, "panel": panel, "help": help, "example": example, **more}
    if isinstance(default, Operator):
        return field(default_factory=lambda: default, metadata=metadata)
    return field(default=default, metadata=metadata)


labels, number, integer, word = (partial(row, kind) for kind in ("labels", "number", "integer", "word"))


def matrix(panel: str, axes: str, help: str, example: str, **more: Any) -> Any:
    """The row of a matrix."""
    return row("matrix", panel, help, example, axes=axes, **more)


def weight(axes: str, help: str, used_by: LastResult = "output", **more: Any) -> Any:
    """The row of a weight matrix, which may be drawn."""
    more = {"is_weight": True, "is_random_fill": True, **more}
    return row("matrix", PROJECTIONS, help, "identity", axes=axes, used_by=used_by, **more)


def offset(axes: str, help: str, example: str, used_by: LastResult = "output") -> Any:
    """The row of a vector that is added to what weights make, and may be drawn."""
    return row("vector", PROJECTIONS, help, example, axes=axes, is_random_fill=True, used_by=used_by)
