"""Fields and results: the keys of a problem, which are options and keywords of `Problem`, and its results."""

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
NEEDED = "needed"  # instead of a mask that the user must give: `mask: {needed: why}`
EXPECTED = "expected"  # the key in a file for expected results
WEIGHTS = "weights"  # the result for statistics
LSE = "lse"  # the log-sum-exp of each query's scores, computed only if selected
CONTEXT = "context"  # each head's, before heads are merged and projected
OUTPUT = "output"  # the final result, which errors propose to select
GRADIENT_PREFIX = "grad_"  # of gradients' names: grad_weights is the gradient of weights
DIFFERENCE = "weight_difference"  # of both maps of each pair of heads
DEFAULT_SELECTION = ("scores", WEIGHTS, OUTPUT)

# The missing stage if a result equals the one before it.
RESULT_KEYS: Mapping[str, str] = {
    "capped_scores": "softcap",
    "positioned_scores": "position bias",
    "biased_scores": "bias",
    "masked_scores": "mask",
}

# The stages in a result's pipeline, each by the key of its operator.
PIPELINE_STAGES = ("score", "normalize", "difference", "context", "recurrence")

# Steps that were renamed after version 0.3: `select` also accepts the old name.
RENAMED_STEPS: Mapping[str, str] = {
    "turned_query": "rotated_query",
    "turned_key": "rotated_key",
    "joined_key": "concatenated_key",
    "joined_value": "concatenated_value",
    "shared_key": "repeated_key",
    "shared_value": "repeated_value",
    "asking": "selected_rows",
}

TABLES = ("scores", "weights")  # tables that may be given, in order of computation
VALUE_SOURCES = ("value", "embeddings")  # the keys for values, or for their input, if a table is given


def given_table(values: Mapping[str, Any]) -> str | None:
    """The key of the given table, "scores" or "weights"; None if scores are computed.

    >>> given_table({"scores": [[1, 2]], "value": None}), given_table({"query": [[1, 2]]})
    ('scores', None)
    """
    return next((name for name in TABLES if values.get(name) is not None), None)


def reasons_not_computed(values: Mapping[str, Any]) -> Mapping[str, str]:
    """The reasons why a problem does not compute queries, scores, weights or output; only for those.

    >>> reasons_not_computed({"scores": [[1, 2]]})
    {'queries': 'scores are given', 'scores': 'scores are given', 'output': 'there are no values'}
    """
    table, recurrence = given_table(values), values.get("recurrence")
    if table is None:
        reason = (
            f"{recurrence.record.name} has a state instead of scores and weights"
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

# The line of a key in `attn init`: active, optional (commented out), or valid only with or instead of another key.
TemplateUse = Literal["active", "optional", "together"]

# The results that a problem may not compute, in order; "" for a key that every problem uses.
LastResult = Literal["", "queries", "scores", "weights", "output"]

_BRACKETS = re.compile(r"\[(?P<inside>[^\]]*)\]")


@dataclass(frozen=True, eq=False)
class Field:
    """One field of a problem: the kind of its value, its range, its axes, its help and help panel, an example."""

    name: str
    kind: str  # one of `problem.convert`, or a kind of operators
    panel: str
    help: str
    example: str  # a value in YAML, consistent with the other examples
    axes: str = ""  # the letters of an array's axes, optional ones in brackets: "[b h] n d"
    template: TemplateUse = "optional"
    words: tuple[str, ...] = ()  # the choices of a word
    word_aliases: Mapping[str, str] = field(default_factory=dict)  # other words for the choices
    word_meanings: tuple[str, ...] = ()  # the meaning of each choice, for `attn show`
    least: float | None = None  # of an integer
    above: float | None = None  # of a number
    sizes: str = ""  # of an integer: the letters of axes with this length; in brackets those of drawn arrays only
    is_weight: bool = False  # a matrix to multiply with from the right, stored according to `weight_layout`
    is_random_fill: bool = False  # an array that may be drawn from the seed
    is_row_table: bool = False  # a table whose rows tokens or positions look up
    is_common: bool = False  # the short help lists it
    neutral: float | None = None  # of a table that broadcasts: the number without effect
    decides_dtype: bool = True  # whether its floating type affects the computation's
    parts: tuple[str, ...] = ()  # of a packed projection whose name lacks the letters of its parts
    completes_mask: str = ""  # of a key that a mask also reads: the mask's key
    says_how_given: bool = False  # it describes the form of other keys; written files have attn's own form
    used_by: LastResult = ""  # the last result that reads it; unused if that is not computed

    @property
    def is_boolean(self) -> bool:
        """Whether its array has booleans."""
        return self.kind in ("boolean_matrix", "booleans")

    @property
    def is_array(self) -> bool:
        """Whether its value is an array, or a vector for each word."""
        kinds = ("matrix", "vector", "counts", "positions", "sequence_bounds", "page_numbers", "vocabulary")
        return self.is_boolean or self.kind in kinds

    @property
    def is_mask(self) -> bool:
        """Whether it is the key of a mask operator of the same name."""
        return self.panel == MASKS and self.kind != "word" and not self.completes_mask

    @cached_property
    def letters(self) -> Letters:
        """The letters of an array's own axes."""
        return tuple(_BRACKETS.sub("", self.axes).split())

    @cached_property
    def leading(self) -> Letters:
        """The letters of optional axes before an array's own."""
        match = _BRACKETS.match(self.axes)
        return () if match is None else tuple(match["inside"].split())

    @cached_property
    def trailing(self) -> Letters:
        """The letters of optional axes after an array's own."""
        match = _BRACKETS.search(self.axes, 1)
        return () if match is None else tuple(match["inside"].split())

    @cached_property
    def packs(self) -> tuple[str, ...]:
        """The keys of the arrays in a packed projection, in order."""
        if self.parts:
            return self.parts
        prefix, _, letters = self.name.partition("_")
        return tuple(f"{prefix}_{letter}" for letter in letters) if "+" in self.axes else ()

    @cached_property
    def allowed_axis_counts(self) -> tuple[int, ...]:
        """The allowed numbers of axes; a table that broadcasts may lack the first ones."""
        least = len(self.letters) if self.neutral is None else 1
        return tuple(range(least, len(self.leading) + len(self.letters) + len(self.trailing) + 1))

    @cached_property
    def checked_sizes(self) -> Letters:
        """The letters of the axes with this length, in every array."""
        return tuple(_BRACKETS.sub("", self.sizes).split())

    @cached_property
    def drawn_sizes(self) -> Letters:
        """The letters of drawn arrays' axes with this length, if no other array has it."""
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
    """The row of a bias, which may be drawn."""
    return row("vector", PROJECTIONS, help, example, axes=axes, is_random_fill=True, used_by=used_by, **more)
