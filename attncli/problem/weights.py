"""Weights of projections: packed in one matrix, and stored for `x @ W` or for `x @ W.T`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import count_of
from attncli.ops.records import Operator
from attncli.problem.spec import DEFAULTS, FIELDS, ProblemSpec

PACKED: Mapping[str, tuple[str, ...]] = {name: field.packs for name, field in FIELDS.items() if field.packs}
ALWAYS_PER_HEAD = ("w_qg", "b_qg")  # `packing` does not apply
LATENT_AND_ROPE = ("w_kv_latent_rope", "b_kv_latent_rope")  # likewise: the latent, then the rope key
CONCATENATED, PER_HEAD, FOUR_BLOCKS = "concatenated", "per_head", "four_blocks"
# The weights of a latent, alone and packed, by the letter of its features; and the arrays projected from it instead of
# the sequence.
LATENTS: Mapping[str, tuple[str, ...]] = {"μ": ("w_q_latent",), "λ": ("w_kv_latent", "w_kv_latent_rope")}
MADE_OF_LATENT: Mapping[str, tuple[str, ...]] = {"μ": ("w_q", "w_q_index"), "λ": ("w_k", "w_v", "w_kv")}
ROPE_WEIGHTS = ("w_k_rope", "w_kv_latent_rope")  # of each key's features that all heads share
SIZES = ("d_k", "d_v")  # the widths of unequal parts


@dataclass(frozen=True, eq=False)
class Heads:
    """The numbers of query heads and of key heads."""

    query: int
    kv: int

    def of(self, key: str) -> int:
        """The number of heads that share the columns of a projection such as `w_k`."""
        letter = FIELDS[key].letters[-1]
        if letter in ("λ", "ρ"):
            return 1
        return self.query if letter in ("d", "u") else self.kv


@dataclass(frozen=True, eq=False)
class PackedPart:
    """The columns of one projection in a packed array: `count` of them from `first`, in each of equal `blocks`."""

    key: str  # of the projection: w_q, b_v …
    blocks: int
    first: int
    count: int

    @property
    def size(self) -> int:
        """The number of columns in all blocks."""
        return self.blocks * self.count

    def ranges(self, columns: int) -> Sequence[range]:
        """The columns in each block of an array that has so many columns.

        >>> PackedPart("w_k", 2, 2, 2).ranges(12)
        [range(2, 4), range(8, 10)]
        """
        starts = range(self.first, columns, columns // self.blocks)
        return [range(start, start + self.count) for start in starts]


def packed_key(values: Mapping[str, Any], key: str) -> str | None:
    """The key of the given packed array that includes the array of a key; None if there is none.

    >>> packed_key({"w_kv": [[1, 2]]}, "w_v"), packed_key({"w_kv": [[1, 2]]}, "w_q")
    ('w_kv', None)
    """
    return next((name for name, parts in PACKED.items() if key in parts and values.get(name) is not None), None)


def has_projection(values: Mapping[str, Any], letter: str) -> bool:
    """Whether the values of a problem have the weights or the bias of a projection, alone or packed.

    >>> has_projection({"w_qg": [[1, 2]]}, "g"), has_projection({"w_q": [[1, 2]]}, "g")
    (True, False)
    """
    keys = (f"w_{letter}", f"b_{letter}")
    return any(values.get(key) is not None or packed_key(values, key) is not None for key in keys)


def has_latent(values: Mapping[str, Any], letter: str) -> bool:
    """Whether the values of a problem have the weights of a latent, by the letter of its features.

    >>> has_latent({"w_q_latent": [[1, 2]]}, "μ"), has_latent({"w_q_latent": [[1, 2]]}, "λ")
    (True, False)
    """
    return any(values.get(key) is not None for key in LATENTS[letter])


def has_rope_key(values: Mapping[str, Any]) -> bool:
    """Whether all heads share the last features of each key."""
    return any(values.get(key) is not None for key in ROPE_WEIGHTS)


def letters_of(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The letters of the axes of a key's array: weights on a latent have its rows.

    >>> letters_of({"w_kv_latent": [[1, 2]]}, "w_v"), letters_of({}, "w_v")
    (('λ', 'e'), ('x', 'e'))
    """
    letters = FIELDS[name].letters
    latent = next((x for x, made in MADE_OF_LATENT.items() if name in made and has_latent(values, x)), None)
    return letters if latent is None else (latent, *letters[1:])


def latent_rows(values: Mapping[str, Any]) -> tuple[str, int] | None:
    """The key of the weights that project a latent, in_out, and their number of rows; None without any."""
    given = ((key, _shape(values, key)) for key in MADE_OF_LATENT["λ"])
    return next(((key, shape[-2]) for key, shape in given if len(shape) > 1), None)


def rope_width(values: Mapping[str, Any]) -> int:
    """The number of features of each key that all heads share; 0 for none, or if their weights are yet to be drawn."""
    (alone, packed), rows = (_shape(values, key) for key in ROPE_WEIGHTS), latent_rows(values)
    if alone:
        return alone[-1]
    return max(packed[-1] - rows[1], 0) if packed and rows is not None else 0


def _shape(values: Mapping[str, Any], key: str) -> tuple[int, ...]:
    """The shape of a key's array; empty if it is not given, or yet to be drawn."""
    shape: tuple[int, ...] = getattr(values.get(key), "shape", ())
    return shape


def has_packed(values: Mapping[str, Any]) -> bool:
    """Whether the values of a problem have a packed array to which `packing` applies."""
    others = (*ALWAYS_PER_HEAD, *LATENT_AND_ROPE)
    return any(values.get(name) is not None for name in PACKED if name not in others)


def sizes_of_parts(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys for the widths of parts in a problem's packed arrays; empty without packed arrays.

    >>> sizes_of_parts({"w_kv": [[1, 2]]}), sizes_of_parts({"w_k": [[1]]})
    (('d_k', 'd_v'), ())
    """
    return SIZES if any(values.get(name) is not None for name in PACKED if name not in LATENT_AND_ROPE) else ()


def packed_parts(values: Mapping[str, Any], heads: Heads, name: str) -> Sequence[PackedPart]:
    """The parts of a packed array, weights in_out, in the order of its key's name.

    Each head has equally many columns of queries, keys and values, unless `d_k` or `d_v` is given. Raises AttnError if
    the columns can't be divided this way.

    >>> import numpy as np
    >>> values = {"w_kv": np.zeros((4, 8)), "packing": "per_head"}
    >>> packed_parts(values, Heads(2, 2), "w_kv")
    [PackedPart(key='w_k', blocks=2, first=0, count=2), PackedPart(key='w_v', blocks=2, first=2, count=2)]
    """
    keys = PACKED[name]
    if name in LATENT_AND_ROPE:
        return _latent_parts(values, name)
    packing = PER_HEAD if name in ALWAYS_PER_HEAD else values.get("packing") or DEFAULTS["packing"]
    counts = [heads.of(key) for key in keys]
    if packing == PER_HEAD and len(set(counts)) > 1:
        message = f"per_head has a key and a value for each of {heads.query} query heads; kv_heads is {heads.kv}"
        hint = "per_group has each key head's queries, then its key and value"
        raise AttnError(message, where="packing", hint=hint, keys=("packing", "kv_heads"))
    blocks = {CONCATENATED: 1, FOUR_BLOCKS: 4}.get(packing, min(counts))
    if any(count % blocks for count in counts):
        message = (
            f"{FOUR_BLOCKS} has equally many heads in each of 4 blocks; there are {' and '.join(map(str, counts))}"
        )
        raise AttnError(message, where="packing", hint="choose multiples of 4", keys=("packing", "heads", "kv_heads"))
    sizes = [count // blocks * width for count, width in zip(counts, _widths(values, heads, name), strict=True)]
    in_order = sorted(range(len(keys)), key=lambda at: "qvk".index(keys[at][-1]) if packing == FOUR_BLOCKS else at)
    ends = dict(zip(in_order, accumulate(sizes[at] for at in in_order), strict=True))
    return [
        PackedPart(key, blocks, ends[at] - size, size) for at, (key, size) in enumerate(zip(keys, sizes, strict=True))
    ]


def _latent_parts(values: Mapping[str, Any], name: str) -> Sequence[PackedPart]:
    """The parts of an array with the latent, as wide as the rows of its projection, and then the rope key."""
    latent, rope = PACKED[name]
    columns, rows, what = values[name].shape[-1], latent_rows(values), array_noun(values, name)
    if rows is None:
        message = "the number of the latent's columns is unknown"
        raise AttnError(message, where=name, hint=f"give w_kv, or {latent} and {rope} instead of {name}")
    owner, width = rows
    if columns <= width:
        message = f"{name} has {count_of(columns, what)}; the latent has {width}, as {owner} says (λ)"
        raise AttnError(message, where=name, hint="those after them are the rope part", keys=(name, owner))
    return [PackedPart(latent, 1, 0, width), PackedPart(rope, 1, width, columns - width)]


def column_labels(parts: Sequence[PackedPart]) -> tuple[str, ...]:
    """The label of each column of a packed array: a letter for its part, and its number in the part.

    >>> column_labels([PackedPart("w_k", 2, 0, 1), PackedPart("w_v", 2, 1, 2)])
    ('k1', 'v1', 'v2', 'k2', 'v3', 'v4')
    """
    columns = sum(part.size for part in parts)
    labels = [""] * columns
    for part in parts:
        positions = (at for block in part.ranges(columns) for at in block)
        for number, at in enumerate(positions, 1):
            labels[at] = f"{part.key.rpartition('_')[2][0]}{number}"
    return tuple(labels)


def columns_letter(spec: ProblemSpec, name: str) -> str:
    """The letters of the columns of a packed array in a plan, from its parts: `d+d+e`."""
    letters = (FIELDS[key].letters[-1] for key in PACKED[name])
    return "+".join(spec.key_feature_letter if letter == "c" else letter for letter in letters)


def parts_of_problem(spec: ProblemSpec, name: str) -> Sequence[PackedPart]:
    """The parts of a packed array that a problem has."""
    return packed_parts(vars(spec), Heads(spec.leading.heads, spec.leading.kv_heads), name)


def labels_of_packed(spec: ProblemSpec) -> dict[str, tuple[str, ...]]:
    """The labels of the columns of the packed arrays that a problem has, by the letter of their axis."""
    given = [name for name in PACKED if getattr(spec, name) is not None]
    return {columns_letter(spec, name): column_labels(parts_of_problem(spec, name)) for name in given}


def _widths(values: Mapping[str, Any], heads: Heads, name: str) -> list[int]:
    """The number of columns of each part per head."""
    columns = values[name].shape[-1]
    keys = PACKED[name]
    given = [_given_width(values, heads, key) for key in keys]
    rest = columns - sum(heads.of(key) * width for key, width in zip(keys, given, strict=True) if width is not None)
    shares = sum(heads.of(key) for key, width in zip(keys, given, strict=True) if width is None)
    if (shares == 0 and rest != 0) or (shares and (rest <= 0 or rest % shares)):
        raise _indivisible(values, heads, name)
    return [width if width is not None else rest // shares for width in given]


def _given_width(values: Mapping[str, Any], heads: Heads, key: str) -> int | None:
    """The columns per head from `d_k` or `d_v`; None if it is not given."""
    size_key = _size_key(key)
    size: int | None = values.get(size_key)
    if size is None:
        return None
    if FIELDS[key].letters[-1] == "c":
        size -= heads.query * rope_width(values)
    if size % heads.query:
        message = f"it counts the columns of all {heads.query} heads, which can't share {size} evenly"
        raise AttnError(message, where=size_key, hint=f"choose a multiple of {heads.query}")
    return size // heads.query


def _size_key(key: str) -> str:
    """The key for the number of columns of a projection."""
    return next(name for name in SIZES if FIELDS[key].letters[-1] in FIELDS[name].drawn_sizes)


def _indivisible(values: Mapping[str, Any], heads: Heads, name: str) -> AttnError:
    """The error for a packed array whose columns don't match its parts."""
    columns, keys = values[name].shape[-1], PACKED[name]
    nouns = {"d": "query", "c": "key", "e": "value", "u": "gate"}
    shares = [count_of(heads.of(key), f"{nouns[FIELDS[key].letters[-1]]} head") for key in keys]
    by_size = [f"{key} {values[key]}" for key in dict.fromkeys(map(_size_key, keys)) if values.get(key) is not None]
    rope = next((key for key in ROPE_WEIGHTS if values.get(key) is not None), None)
    by_size += [f"{rope_width(values)} features of {rope} in each head"] if rope is not None and by_size else []
    what = array_noun(values, name)
    message = f"{count_of(columns, what)} can't be divided among {', '.join(shares[:-1])} and {shares[-1]}"
    message += f" with {' and '.join(by_size)}" if by_size else " of equal width"
    hint = "d_k and d_v count the columns of all query heads" if by_size else "give d_k or d_v if they are not equal"
    return AttnError(message, where=name, hint=hint, keys=(name, "heads", "kv_heads"))


def array_noun(values: Mapping[str, Any], name: str) -> str:
    """The noun for the units of a stored packed array: a column, a row or a number."""
    if not FIELDS[name].is_weight:
        return "number"
    return "row" if values.get("weight_layout") == "out_in" else "column"


def transpose_weights(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a problem with every weight matrix [… i o], also of operators, transposed to [… o i], as a view."""
    transposed = dict(values)
    for name, value in values.items():
        if isinstance(value, Operator):
            arrays = {
                parameter: array.swapaxes(-1, -2)
                for parameter, array in value.arrays.items()
                if value.record.parameter(parameter).is_weight and array.ndim > 1
            }
            transposed[name] = Operator(value.record, {**value.given, **arrays}) if arrays else value
        elif FIELDS[name].is_weight and getattr(value, "ndim", 0) > 1:
            transposed[name] = value.swapaxes(-1, -2)
    return transposed


def has_weights(values: Mapping[str, Any]) -> bool:
    """Whether the values of a problem, or the parameters of its operators, have any weight matrix."""
    operators = [value for value in values.values() if isinstance(value, Operator)]
    parameters = (operator.record.parameter(name) for operator in operators for name in operator.arrays)
    return any(parameter.is_weight for parameter in parameters) or any(
        FIELDS[name].is_weight for name, value in values.items() if value is not None
    )


def stored_values(spec: ProblemSpec) -> dict[str, Any]:
    """The values of a problem by field names, with weights stored according to `weight_layout`."""
    values = {name: getattr(spec, name) for name in FIELDS}
    return transpose_weights(values) if spec.weight_layout == "out_in" else values
