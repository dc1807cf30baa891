"""Arguments from Python: the keys of a problem as keywords, for editors and type checkers, and other checked ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, SupportsFloat, SupportsIndex, TypedDict

from attncli.base.errors import AttnError
from attncli.base.labels import EVERY
from attncli.base.text import repr_excerpt
from attncli.ops.records import Operator, OperatorRecord
from attncli.plan.trace import RunResult
from attncli.problem.arrays import to_python_number
from attncli.problem.edits import Edit, parse_edit
from attncli.problem.layout import ALL, find_positions
from attncli.problem.numbers import is_number, to_float, to_integer
from attncli.problem.spec import ProblemSpec
from attncli.render.view import MAX_DECIMALS, Cell, View, find_cell, parse_cell


class HasArray(Protocol):
    """An array, a tensor or a data frame that NumPy can read."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


class HasDLPack(Protocol):
    """An array or a tensor that other libraries can read."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


# An array, tensor or data frame, nested lists, a mapping from labels to rows, or a generator: "randint:low=0,high=3".
Matrix = HasArray | HasDLPack | Sequence[Any] | Mapping[str, Any] | Operator | None
Vector = Matrix | SupportsFloat
Labels = HasArray | Sequence[str | SupportsIndex] | str | SupportsIndex | None
Integer = SupportsIndex | SupportsFloat | None
Number = SupportsFloat | str | None
Window = Sequence[SupportsFloat | str] | str | None
# "NAME", "NAME:key=value", {"NAME": {"key": value}}, or the function of an operator.
OperatorChoice = str | Mapping[str, Any] | Operator | OperatorRecord | Callable[..., Any] | None


class KeysBesideVectors(TypedDict, total=False):
    """The keys of a problem without `query`, `key` and `value`."""

    embeddings: Matrix
    residual: Matrix
    residual_norm: OperatorChoice
    query_embeddings: Matrix
    tokens: Labels
    query_tokens: Labels
    sentence: str | None
    tokenizer: Any
    vocabulary: Matrix
    token_table: Matrix
    token_positions: Matrix
    token_scale: Number
    token_types: Matrix
    token_type_ids: Vector
    token_norm: OperatorChoice
    layout: Literal["bhnd", "bnhd", "nbhd", "hnd", "nhd", "bnd", "nbd"] | None
    scores: Matrix
    weights: Matrix
    w_q: Matrix
    w_k: Matrix
    w_v: Matrix
    w_o: Matrix
    b_q: Vector
    b_k: Vector
    b_v: Vector
    b_o: Vector
    w_qkv: Matrix
    b_qkv: Vector
    w_kv: Matrix
    b_kv: Vector
    w_q_latent: Matrix
    b_q_latent: Vector
    q_latent_norm: OperatorChoice
    w_kv_latent: Matrix
    b_kv_latent: Vector
    kv_latent_norm: OperatorChoice
    w_k_rope: Matrix
    b_k_rope: Vector
    w_kv_latent_rope: Matrix
    b_kv_latent_rope: Vector
    w_q_index: Matrix
    w_k_index: Matrix
    w_h_index: Matrix
    k_index_norm: OperatorChoice
    index_rope: Literal["halves", "pairs"] | None
    w_g: Matrix
    b_g: Vector
    w_qg: Matrix
    b_qg: Vector
    gate: OperatorChoice
    packing: Literal["concatenated", "per_head", "per_group", "four_blocks"] | None
    weight_layout: Literal["in_out", "out_in"] | None
    heads: Integer
    kv_heads: Integer
    qk_norm: OperatorChoice
    clip_qkv: Number
    value_scale: Number
    query_scale: OperatorChoice
    value_norm: OperatorChoice
    context_norm: OperatorChoice
    sink: Vector
    score: OperatorChoice
    scale: Number
    softcap: Number
    position: OperatorChoice
    position_norm: OperatorChoice
    positions: Matrix
    positions_of_queries: Matrix
    normalize: OperatorChoice
    context: OperatorChoice
    difference: OperatorChoice
    head_pairs: Literal["neighbours", "halves"] | None
    recurrence: OperatorChoice
    decay: Matrix
    beta: Matrix
    past_state: Matrix
    mask: Matrix | OperatorChoice
    index_scores: Matrix
    bias: Matrix
    causal: bool | None
    window: Window
    key_lengths: Vector
    key_mask: Matrix
    cu_seqlens: Vector
    cu_seqlens_k: Vector
    grad_output: Matrix
    align: Literal["top_left", "first_key", "bottom_right"] | None
    empty_rows: Literal["zeros", "nan", "uniform"] | None
    past_key: Matrix
    past_value: Matrix
    past_index_key: Matrix
    page_table: Matrix
    page_size: Integer
    only: Labels
    seed: Integer
    generator: Literal["pcg64", "legacy", "torch"] | None
    init: OperatorChoice
    token_count: Integer
    dim: Integer
    d_k: Integer
    d_v: Integer
    d_o: Integer
    dtype: Literal["float16", "bfloat16", "float32", "float64", "longdouble", "float8_e4m3fn", "float8_e5m2"] | Any
    round: OperatorChoice
    decimal_comma: bool | None


class ProblemKeys(KeysBesideVectors, total=False):
    """The keys of a problem, for `Problem`, `load`, `check` and `compare`."""

    query: Matrix
    key: Matrix
    value: Matrix


Label = str | SupportsIndex  # a token's text, or its position from 0; "*" is every one
CellLabels = str | tuple[Label, Label]  # "cat,sat", or ("cat", "sat")
Cells = CellLabels | Sequence[CellLabels] | None
Position = int | Literal["all"] | None


def to_names(names: Any, where: str = "select", example: str = "weights") -> tuple[str, ...]:
    """The names in a list, or the single name; raises AttnError at `where` for anything but text."""
    try:
        listed = (names,) if isinstance(names, str) else tuple(names)
    except TypeError:  # not iterable
        listed = (None,)
    if not all(isinstance(name, str) for name in listed):
        nouns = "results" if where == "select" else where
        hint = f'give names of {nouns}, such as ("{example}",)'
        raise AttnError(f"{repr_excerpt(names)} is not a list of names", where=where, hint=hint)
    return listed


def to_name(name: Any, where: str) -> str:
    """The single name; raises AttnError at `where` for anything but text."""
    if not isinstance(name, str):
        raise AttnError(f"{repr_excerpt(name)} is not a name", where=where, hint='give one, such as "weights"')
    return name


def to_title(value: object) -> str:
    """The title; raises AttnError for anything but text."""
    if not isinstance(value, str):
        raise AttnError(f"{repr_excerpt(value)} is not text", where="title", hint='"" for none')
    return value


def to_edits(numbers: Any) -> tuple[Edit, ...]:
    """The edits of a mapping from cells to numbers; raises AttnError for any other value, and for an empty one.

    >>> to_edits({"w_q[0,1]": 3})[0].value
    3.0
    """
    if not isinstance(numbers, Mapping) or not all(isinstance(cell, str) for cell in numbers):
        hint = 'expected cells and their numbers, such as {"w_q[0,1]": 3}'
        raise AttnError(f"{repr_excerpt(numbers)} has no cells", where="set", hint=hint)
    return tuple(parse_edit(f"{cell}={_number_text(value)}", "set") for cell, value in numbers.items())


def _number_text(value: Any) -> str:
    """A number or a boolean as text; a text as it is."""
    number = to_python_number(value)
    if isinstance(number, bool):
        return "true" if number else "false"
    return repr(to_float(number)) if is_number(number) else str(value)


@dataclass(frozen=True)
class ShownPart:
    """The worked cells, the shown head and batch item, and the format of sums and numbers."""

    cells: Cells
    head: Position
    batch: Position
    terms: int | Literal["all"]
    decimals: int

    def view(self, result: RunResult, *, explain: bool, before: RunResult | None) -> View:
        """The view of a result; raises AttnError if it has no such cell, head or item, or a number is wrong."""
        problem = result.trace.problem
        positions, expanded_axes = find_positions(problem.leading, {"head": self.head, "batch": self.batch})
        decimals = to_integer(self.decimals, ("decimals",), 0)
        if decimals > MAX_DECIMALS:
            hint = f"expected 0 to {MAX_DECIMALS}"
            raise AttnError(f"{decimals} decimals can't be shown", where="decimals", hint=hint)
        return View(
            result,
            explain,
            decimals=decimals,
            cells=_cells(self.cells, problem),
            positions=positions,
            expanded_axes=expanded_axes,
            max_terms=None if self.terms == ALL else to_integer(self.terms, ("terms",), 1),
            before=before,
        )


def _cells(cells: Any, problem: ProblemSpec) -> tuple[Cell, ...]:
    """The chosen cells, each once: one by a text or a pair of labels, several in a list."""
    is_one = cells is not None and (not isinstance(cells, (list, tuple)) or _is_pair(cells))
    chosen = [cells] if is_one else cells or []
    return tuple(dict.fromkeys(_cell(cell, problem) for cell in chosen))


def _cell(cell: Any, problem: ProblemSpec) -> Cell:
    """The cell of a text or of a pair of labels or positions; raises AttnError for any other value."""
    if isinstance(cell, str):
        return parse_cell(cell, problem, "cells")
    if not _is_pair(cell):
        hint = f'expected ("cat", "sat"), with "{EVERY}" for every query or key, or a list of such pairs'
        raise AttnError(f"{repr_excerpt(cell)} is not a cell", where="cells", hint=hint)
    query, key = map(str, cell)
    return find_cell(query, key, problem, "cells")


def _is_pair(value: Any) -> bool:
    """Whether a value is a pair of labels or positions."""
    is_pair = isinstance(value, tuple) and len(value) == 2
    return is_pair and all(isinstance(label, (str, SupportsIndex)) for label in value)
