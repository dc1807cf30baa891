"""Fields and results: the keys of a problem, which are options and keywords of `Problem`, and what it computes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

from attncli.base.axes import Letters
from attncli.ops.records import Operator

RESULTS = (
    "scores",
    "capped_scores",
    "masked_scores",
    "lse",
    "weights",
    "context",
    "output",
    "present_key",
    "present_value",
    "present_state",
)
NEEDED = "needed"  # in place of a mask that the user must give: `mask: {needed: why}`
EXPECTED = "expected"  # the key of a file that has the numbers that are expected of results
WEIGHTS = "weights"  # the result that statistics are of
LSE = "lse"  # of each query: the log-sum-exp of its scores, which is computed where it is selected
CONTEXT = "context"  # of each head, before heads are merged and projected
OUTPUT = "output"  # the answer: what an error proposes to select alone
GRADIENT_PREFIX = "grad_"  # of the names of gradients: grad_weights is that of weights
DIFFERENCE = "weight_difference"  # that of both maps of each pair of heads, where there is one
DEFAULT_SELECTION = ("scores", WEIGHTS, OUTPUT)

# What is missing where a result is the one before it.
RESULT_KEYS: Mapping[str, str] = {
    "capped_scores": "softcap",
    "positioned_scores": "position bias",
    "biased_scores": "bias",
    "masked_scores": "mask",
}

# The stages that a result names as its pipeline, each by the key of its operator.
PIPELINE_STAGES = ("score", "normalize", "difference", "context", "recurrence")

# Steps that had another name up to version 0.3: `select` accepts the old name too.
RENAMED_STEPS: Mapping[str, str] = {
    "turned_query": "rotated_query",
    "turned_key": "rotated_key",
    "joined_key": "concatenated_key",
    "joined_value": "concatenated_value",
    "shared_key": "repeated_key",
    "shared_value": "repeated_value",
    "asking": "selected_rows",
}

TABLES = ("scores", "weights")  # the tables that may be given, in the order of the computation
VALUE_SOURCES = ("value", "embeddings")  # the keys that values are given by, or made of, where a table is given


def given_table(values: Mapping[str, Any]) -> str | None:
    """The key of the table that is given, "scores" or "weights"; None where scores are computed.

    >>> given_table({"scores": [[1, 2]], "value": None}), given_table({"query": [[1, 2]]})
    ('scores', None)
    """
    return next((name for name in TABLES if values.get(name) is not None), None)


def reasons_not_computed(values: Mapping[str, Any]) -> Mapping[str, str]:
    """Why a problem does not compute queries, scores, weights or output, for each of them that it does not compute.

    >>> reasons_not_computed({"scores": [[1, 2]]})
    {'queries': 'scores are given', 'scores': 'scores are given', 'output': 'there are no values'}
    """
    table, recurrence = given_table(values), values.get("recurrence")
    if table is None:
        reason = (
            f"{recurrence.record.name} has a state in place of scores and weights"
            if isinstance(recurrence, Operator)
            else ""
        )
        return dict.fromkeys(TABLES, reason) if reason else {}
    reasons = dict.fromkeys(("queries", *TABLES[: TABLES.index(table) + 1]), f"{table} are given")
    has_values = any(values.get(name) is not None for name in VALUE_SOURCES)
    return reasons if has_values else {**reasons, "output": "there are no values"}


INPUTS = "Where the numbers come from"
PROJECTIONS = "Projections and heads"
STAGES = "The three stages"
RANDOM = "Random numbers"
NUMBERS = "Numbers"
MASKS = "Which keys each query sees"
CACHE = "The cache"
QUERIES = "Which queries"
GRADIENTS = "Gradients"

# What `attn init` makes of a key: a line in force, a line that can be (commented out), or one that can be only with
# another, or in place of one.
TemplateUse = Literal["active", "optional", "together"]

# The results that a problem may not compute, in order; "" of a key that every problem reads.
LastResult = Literal["", "queries", "scores", "weights", "output"]

_BRACKETS = re.compile(r"\[(?P<inside>[^\]]*)\]")


@dataclass(frozen=True, eq=False)
class Field:
    """One field of a problem: the kind of its value, its range, its axes, its help, its panel there, an example."""

    name: str
    kind: str  # one of `problem.convert`, or the kind of the operators that it names
    panel: str
    help: str
    example: str  # a value in YAML, which fits the other examples
    axes: str = ""  # the letters of an array's axes, in brackets those that it may have before, or after: "[b h] n d"
    template: TemplateUse = "optional"
    words: tuple[str, ...] = ()  # the choices of a word
    word_aliases: Mapping[str, str] = field(default_factory=dict)  # other words, each with the choice that it is
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
    parts: tuple[str, ...] = ()  # of a packed projection whose name does not have the letters of what it packs
    completes_mask: str = ""  # of a key that a mask reads besides its own: the key of the mask
    says_how_given: bool = False  # how other keys are given: where they are written they have attn's own form
    used_by: LastResult = ""  # the last result that reads it: nothing does where that is not computed

    @property
    def is_boolean(self) -> bool:
        """Whether its array has truth values."""
        return self.kind in ("boolean_matrix", "booleans")

    @property
    def is_array(self) -> bool:
        """Whether its value is an array, or a vector for each word."""
        kinds = ("matrix", "vector", "counts", "positions", "sequence_bounds", "page_numbers", "vocabulary")
        return self.is_boolean or self.kind in kinds

    @property
    def is_mask(self) -> bool:
        """Whether its value is that of the mask operator of the same name."""
        return self.panel == MASKS and self.kind != "word" and not self.completes_mask

    @cached_property
    def letters(self) -> Letters:
        """The letters of an array's own axes, which come last."""
        return tuple(_BRACKETS.sub("", self.axes).split())

    @cached_property
    def leading(self) -> Letters:
        """The letters of the axes that an array may have before its own."""
        match = _BRACKETS.match(self.axes)
        return () if match is None else tuple(match["inside"].split())

    @cached_property
    def trailing(self) -> Letters:
        """The letters of the axes that an array may have after its own."""
        match = _BRACKETS.search(self.axes, 1)
        return () if match is None else tuple(match["inside"].split())

    @cached_property
    def packs(self) -> tuple[str, ...]:
        """Of a packed projection: the keys of the arrays that it has side by side, in order."""
        if self.parts:
            return self.parts
        prefix, _, letters = self.name.partition("_")
        return tuple(f"{prefix}_{letter}" for letter in letters) if "+" in self.axes else ()

    @cached_property
    def allowed_axis_counts(self) -> tuple[int, ...]:
        """How many axes an array may have: a table that broadcasts may lack the first ones."""
        least = len(self.letters) if self.neutral is None else 1
        return tuple(range(least, len(self.leading) + len(self.letters) + len(self.trailing) + 1))

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


def offset(axes: str, help: str, example: str, used_by: LastResult = "output", **more: Any) -> Any:
    """The row of a vector that is added to what weights make, and may be drawn."""
    return row("vector", PROJECTIONS, help, example, axes=axes, is_random_fill=True, used_by=used_by, **more)
