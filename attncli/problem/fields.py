"""Fields: one for each key of a problem, which is an option of `attn compute` and a keyword of `Problem`."""

from dataclasses import field
from functools import cached_property
from typing import Any, Literal

from attncli.base.axes import Letters
from attncli.base.dataclasses import dataclass
from attncli.ops.records import Operator

INPUTS = "Where the numbers come from"
PROJECTIONS = "Projections and heads"
STAGES = "The three stages"
RANDOM = "Random numbers"
NUMBERS = "Numbers"
MASKS = "Who may attend to whom"
CACHE = "The cache"
QUERIES = "Which queries"

# The kinds of values; a field that names an operator has the operator's kind in the registry instead.
ValueKind = Literal[
    "matrix",
    "vector",
    "boolean_matrix",
    "booleans",
    "counts",
    "positions",
    "window",
    "labels",
    "text",
    "vocabulary",
    "integer",
    "number",
    "word",
    "flag",
]

# What `attn init` makes of a key: a line in force, a line that can be (commented out), or one that can be only with
# another, or in place of one.
TemplateUse = Literal["active", "optional", "together"]

# The results that a problem may not compute, in order; "" of a key that every problem reads.
LastResult = Literal["", "scores", "weights", "output"]


@dataclass(frozen=True)
class Field:
    """One field of a problem: the kind of its value, its range, its axes, its help, its panel there, an example."""

    name: str
    kind: str  # a ValueKind, or a kind of operators
    help: str
    panel: str
    example: str  # a value in YAML, which fits the other examples
    template: TemplateUse = "optional"
    letters: Letters = ()  # the axes of an array
    axis_counts: tuple[int, ...] = ()  # how many axes an array may have; without it as many as letters
    words: tuple[str, ...] = ()  # the choices of a word
    word_meanings: tuple[str, ...] = ()  # what each choice means, where `attn show` says it
    least: float | None = None  # of an integer
    above: float | None = None  # of a number
    is_weight: bool = False  # a matrix that is multiplied from the right, stored as `weight_layout` says
    packs: tuple[str, ...] = ()  # of a packed projection: the keys of the arrays that it has side by side, in order
    is_random_fill: bool = False  # an array that may be drawn from the seed
    is_row_table: bool = False  # a table of which only the rows that tokens or positions name are read
    is_mask: bool = False  # its value is that of the mask operator of the same name
    is_common: bool = False  # used most: the short help lists it
    neutral: float | None = None  # of a table: the number that changes nothing, which a missing table has everywhere
    decides_dtype: bool = True  # an array whose floating type takes part in that of the computation
    last_result: LastResult = ""  # the last result that it is read for: where that is not computed, nothing reads it

    @property
    def is_boolean(self) -> bool:
        """Whether its array has truth values."""
        return self.kind in ("boolean_matrix", "booleans")

    @property
    def is_array(self) -> bool:
        """Whether its value is an array, or a vector for each word."""
        return self.is_boolean or self.kind in ("matrix", "vector", "counts", "positions", "vocabulary")

    @cached_property
    def allowed_axis_counts(self) -> tuple[int, ...]:
        """How many axes an array may have."""
        return self.axis_counts or (len(self.letters),)


def option_name(key: str) -> str:
    """The option of a key: a hyphen for each underscore.

    >>> option_name("kv_heads")
    '--kv-heads'
    """
    return f"--{key.replace('_', '-')}"


def problem_field(kind: str, panel: str, help: str, *, default: Any = None, letters: str = "", **more: Any) -> Any:
    """A dataclass field of ProblemSpec, with its Field as metadata; `more` are further fields of Field."""
    metadata = {"kind": kind, "panel": panel, "help": help, "letters": tuple(letters.split()), **more}
    if isinstance(default, Operator):
        return field(default_factory=lambda: default, metadata=metadata)
    return field(default=default, metadata=metadata)
