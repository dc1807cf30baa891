"""The lengths of axes: arrays that share a letter must agree, and labels, masks and biases must match the scores."""

from dataclasses import replace

from attncli.base.axes import LEGEND, Length, Letters, bind_axes
from attncli.base.errors import AttnError, ErrorPath
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of, there_are
from attncli.ops.records import Operator
from attncli.problem.fields import INPUTS, PROJECTIONS, TABLES
from attncli.problem.layout import Layout
from attncli.problem.mask_expressions import MaskExpression, column_path
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.problem.weights import (
    PACKED,
    array_noun,
    has_latent,
    has_projection,
    letters_of,
    parts_of_problem,
)

Lengths = dict[str, Length]

# The arrays that define the lengths of axes, in the order of precedence in errors: weights come after the sequences'
# inputs. The cache, output weights and the masks' arrays follow other lengths.
_INPUTS = [name for name, field in FIELDS.items() if field.panel in (INPUTS, PROJECTIONS) and field.letters]
_FIRST = (*TABLES, *(name for name in FIELDS if FIELDS[name].is_row_table), "residual")
_MATRICES = [
    *_FIRST,
    *(name for name in _INPUTS if FIELDS[name].kind == "matrix" and name not in _FIRST and not FIELDS[name].packs),
]
_MATRICES.remove("w_o")
_VECTORS = [name for name in _INPUTS if FIELDS[name].kind == "vector" and not FIELDS[name].packs]


def bind_lengths(spec: ProblemSpec) -> Lengths:
    """The length of each axis letter in one head, from the shapes of a problem's arrays.

    Weights are in_out. Raises AttnError, which names both arrays, if two of them disagree.
    """
    lengths = _bind_inputs(spec)
    _check_sizes(spec, lengths)
    head_lengths = _lengths_of_one_head(spec, lengths)
    if spec.past_value is not None:
        _bind_cache(spec, lengths, head_lengths)
    _bind_output(spec, head_lengths)
    for name in _VECTORS:
        vector = getattr(spec, name)
        if vector is not None and FIELDS[name].axes == "h":
            bind_axes(head_lengths, name, ("h",), vector.shape)
    return head_lengths


def _bind_inputs(spec: ProblemSpec) -> Lengths:
    """Bind given queries [n d], keys [m c] and values [m e]; with a cache the new keys are [k c].

    Given scores and weights are [n m], also with a cache.
    """
    lengths: Lengths = {}
    layout, query_features = spec.leading, "x" if spec.query_embeddings is None else "y"
    for name in _MATRICES:
        field, array = FIELDS[name], getattr(spec, name)
        if array is not None:
            letters = letters_of(vars(spec), name) if field.is_weight else layout.letters(field, array.ndim)
            _bind_array(spec, lengths, name, tuple(query_features if letter == "y" else letter for letter in letters))
    _bind_packed_weights(spec, lengths, query_features)
    of_keys = "λ" if has_latent(vars(spec), "λ") else "x"
    sources = {"e": "c" if spec.key is not None else of_keys}
    if spec.given_table is None:
        sources = {"d": "μ" if has_latent(vars(spec), "μ") else query_features, "c": of_keys, **sources}
    if has_projection(vars(spec), "g"):
        sources["u"] = query_features
    for letter, source in sources.items():
        if letter not in lengths and source in lengths:
            lengths[letter] = lengths[source]
    for name in _VECTORS:
        if getattr(spec, name) is not None and FIELDS[name].axes in lengths and FIELDS[name].axes != "h":
            _bind_array(spec, lengths, name, FIELDS[name].letters)
    _check_indexer(lengths)
    for name in PACKED:
        if getattr(spec, name) is not None and not FIELDS[name].is_weight:
            _bind_parts(spec, lengths, name)
    if "n" not in lengths:
        lengths["n"] = lengths[layout.new_key_letter]
    if "u" in lengths and spec.embeddings is not None and spec.query_embeddings is None:
        _check_gated_sequence(lengths, spec.embeddings.shape[-2])
    return lengths


def _bind_array(spec: ProblemSpec, lengths: Lengths, name: str, letters: Letters) -> None:
    """Bind one array of the problem; an error names the stored rows and columns of weights."""
    shape = getattr(spec, name).shape
    if 0 in shape:
        raise AttnError("has no numbers", where=name)
    if FIELDS[name].is_weight and spec.weight_layout == "out_in":
        letters, shape = letters[::-1], shape[::-1]
    bind_axes(lengths, name, letters, shape)


def _check_gated_sequence(lengths: Lengths, rows: int) -> None:
    """Raise AttnError if given scores have other queries than the gates' embeddings."""
    queries, key = lengths["n"], lengths["u"].key
    if queries.size != rows:
        message = f"each query has a gate, projected from its embedding; {queries.owner}; embeddings has {rows}"
        raise AttnError(message, where=key, keys=(key, queries.key))


def _bind_packed_weights(spec: ProblemSpec, lengths: Lengths, query_features: str) -> None:
    """Bind the rows of packed weights to the features of the sequences that they project, and their parts."""
    for name, keys in PACKED.items():
        if getattr(spec, name) is not None and FIELDS[name].is_weight:
            rows = (letters_of(vars(spec), key)[0] for key in keys)
            for letter in dict.fromkeys(query_features if letter == "y" else letter for letter in rows):
                _bind_array(spec, lengths, name, (letter, name))  # the columns have their own letter
            _bind_parts(spec, lengths, name)


def _bind_parts(spec: ProblemSpec, lengths: Lengths, name: str) -> None:
    """Bind the columns of each part of a packed array."""
    noun = array_noun(vars(spec), name)
    for part in parts_of_problem(spec, name):
        letter = FIELDS[part.key].letters[-1]
        owner = f"{name} has {count_of(part.size, noun)} of {part.key} ({letter})"
        known = lengths.setdefault(letter, Length(part.size, owner, name))
        if known.size != part.size:
            raise AttnError(f"{owner}; {known.owner}", keys=(name, known.key))


def _check_indexer(lengths: Lengths) -> None:
    """Raise AttnError if the width of the indexer's queries is not its heads times its keys' features."""
    if {"ι", "η", "ζ"} <= lengths.keys():
        heads, features, both = lengths["ι"], lengths["η"], lengths["ζ"]
        if both.size != heads.size * features.size:
            hint = f"expected {heads.size} · {features.size}"
            message = f"{both.owner}; {heads.owner}, {features.owner}"
            raise AttnError(message, hint=hint, keys=(both.key, heads.key, features.key))


def _check_sizes(spec: ProblemSpec, lengths: Lengths) -> None:
    """Raise AttnError if a given size contradicts the arrays, drawn or given.

    `d_k` and `d_v` count the features of all query heads; keys and values have their heads' share.
    """
    layout = spec.leading
    for name, field in FIELDS.items():
        size = getattr(spec, name)
        for letter in field.checked_sizes if size is not None else ():
            if letter not in lengths:
                continue
            length = lengths[letter].size
            if letter in "ce" and layout.splits_heads:
                length = length * layout.heads // layout.kv_heads
            if letter == "c" and "ρ" in lengths:
                length += layout.heads * lengths["ρ"].size
            if length != size:
                raise AttnError(f"{name} is {size}; {lengths[letter].owner}", where=name)


def _lengths_of_one_head(spec: ProblemSpec, lengths: Lengths) -> Lengths:
    """The lengths in one head: query heads, or key heads, share the features."""
    layout = spec.leading
    head_lengths = {letter: lengths[letter] for letter in "bnmkdcexyuλμριη" if letter in lengths}
    if layout.has_heads:
        head_lengths["h"] = Length(layout.heads, f"there are {layout.heads} query heads")
        head_lengths["g"] = Length(layout.kv_heads, f"there are {layout.kv_heads} key heads")
    else:
        head_lengths["h"] = Length(1, "there is one head")
    if layout.splits_heads:
        _share_features(spec, lengths, head_lengths)
    if "ρ" in lengths and "c" in lengths:
        own, shared = head_lengths["c"], lengths["ρ"]
        size = own.size + shared.size
        owner = f"{own.owner}; with the {shared.size} of {shared.key} a key has {size} (c)"
        head_lengths["c"] = Length(size, owner, own.key)
    return head_lengths


def _share_features(spec: ProblemSpec, lengths: Lengths, head_lengths: Lengths) -> None:
    """Share the features of queries, keys and values evenly among their heads."""
    for letter, rows, field in (("d", "queries", "heads"), ("c", "keys", "kv_heads"), ("e", "values", "kv_heads")):
        if letter not in lengths:
            continue
        count, features = getattr(spec.leading, field), lengths[letter]
        if features.size % count:
            raise AttnError(
                f"{count_of(count, 'head')} can't share the {count_of(features.size, 'feature')} of the {rows}",
                where="heads" if getattr(spec, field) is None else field,
                hint=f"choose a divisor of {features.size}",
            )
        owner = f"{features.owner}, over {count} heads" if count > 1 else features.owner
        head_lengths[letter] = Length(features.size // count, owner, features.key)


def _bind_cache(spec: ProblemSpec, lengths: Lengths, head_lengths: Lengths) -> None:
    """Bind the cache, which is shaped like the given keys, or has a head axis; then m = p + k."""
    layout = spec.leading
    for name in ("past_key", "past_value"):
        array = getattr(spec, name)
        if array is None:  # scores are given instead of keys
            continue
        if 0 in array.shape[:-2] or array.shape[-1] == 0:
            raise AttnError("has no numbers", where=name)
        letters = layout.letters(FIELDS[name], array.ndim)
        bound = head_lengths if len(letters) > len(layout.batch_axes) + 2 else dict(lengths)
        if "ρ" in lengths and bound is not head_lengths:  # each head's keys with the features that all heads share
            own = head_lengths["c"]
            bound["c"] = Length(layout.kv_heads * own.size, f"{own.owner}, in {layout.kv_heads} heads", own.key)
        if "p" in head_lengths:
            bound["p"] = head_lengths["p"]
        bind_axes(bound, name, letters, array.shape)
        head_lengths["p"] = bound["p"]
    if spec.past_index_key is not None:
        letters = (*layout.batch_axes, "p", "η")
        bind_axes(dict(head_lengths), "past_index_key", letters, spec.past_index_key.shape)
    past_length, new_length = head_lengths["p"], head_lengths["k"]
    length = Length(past_length.size + new_length.size, f"{past_length.owner}, {new_length.owner}")
    if head_lengths.setdefault("m", length).size != length.size:
        raise AttnError(f"{head_lengths['m'].owner}; {length.owner}", keys=(head_lengths["m"].key, "past_value"))


def _bind_output(spec: ProblemSpec, head_lengths: Lengths) -> None:
    """Bind the output weights and their bias to the features of the merged heads."""
    layout = spec.leading
    features = context_features(spec.context, head_lengths["e"]) if "e" in head_lengths else None
    if features is None:
        return
    if layout.heads > 1:
        size = features.size * layout.heads
        features = Length(size, f"{features.owner}; merged heads have {size} (e)")
    if "u" in head_lengths and head_lengths["u"].size not in (features.size, layout.heads):
        hint = f"give a gate for each of {features.size} merged features" + (
            f", or one for each of {layout.heads} heads" if layout.heads > 1 else ", or one"
        )
        raise AttnError(f"{head_lengths['u'].owner}; {features.owner}", where=head_lengths["u"].key, hint=hint)
    lengths = {"e": features}
    if spec.w_o is not None:
        _bind_array(spec, lengths, "w_o", ("e", "o"))
    lengths.setdefault("o", features)
    if spec.b_o is not None:
        _bind_array(spec, lengths, "b_o", ("o",))


def context_features(context: Operator, value_features: Length) -> Length | None:
    """The number of features that a context returns per head; None if its array is missing or has too few axes."""
    letter = context.record.shapes.result[-1]
    if letter == "e":
        return value_features
    for name, array in context.arrays.items():
        letters = context.record.parameter(name).letters
        if letter in letters and array.ndim >= len(letters):
            return Length(array.shape[letters.index(letter) - len(letters)], f"{context.record.name} gives (e)")
    return None


def check_masks(spec: ProblemSpec, lengths: Lengths) -> None:
    """Raise AttnError if a mask or a bias does not broadcast to the scores, or a length exceeds the keys."""
    if isinstance(spec.mask, MaskExpression):
        for leaf in spec.mask.leaves:
            if not isinstance(leaf.value, Operator):
                _check_table(column_path("mask", leaf), leaf.value, spec.leading, lengths)
    elif spec.mask is not None and not isinstance(spec.mask, Operator):
        _check_table(("mask",), spec.mask, spec.leading, lengths)
    if spec.index_scores is not None:
        _check_table(("index_scores",), spec.index_scores, spec.leading, lengths, is_whole=True)
    if spec.bias is not None:
        _check_table(("bias",), spec.bias, spec.leading, lengths)
    if spec.key_lengths is not None:
        _check_key_lengths(spec.key_lengths, lengths)
    if spec.key_mask is not None:
        _check_key_mask(spec.key_mask, lengths)


def _check_table(path: ErrorPath, table: Array, layout: Layout, lengths: Lengths, *, is_whole: bool = False) -> None:
    """Every axis must have length 1 or match the scores; the keys' axis may be shorter, unless the table `is_whole`."""
    field = FIELDS["index_scores" if is_whole else "mask"]
    for letter, size in zip(layout.letters(field, table.ndim), table.shape, strict=True):
        length = lengths.get(letter)
        expected = length.size if length is not None else 1
        fits = 0 < size <= expected if letter == "m" else size in (1, expected)
        fits = size == expected if is_whole and letter in "nm" else fits
        if not fits:
            owner = length.owner if length is not None else f"there is one {LEGEND[letter][:-1]}"
            message = f"{path[0]} has {size} {LEGEND[letter]} ({letter}); {owner}"
            raise AttnError(message, where=path, hint=_hint_for_table(path[0], table.shape, layout, lengths))


def _hint_for_table(name: str, shape: tuple[int, ...], layout: Layout, lengths: Lengths) -> str | None:
    """The hint if a mask or a bias would fit with batch items as its first axis."""
    batch, rows = layout.batch, (lengths["n"].size, 1)
    if batch is None or shape[0] != batch:
        return None
    if len(shape) == 2 and shape[1] <= lengths["m"].size:
        return "for padding in the shape [batch, keys] give key_mask, 1 for a real key"
    if len(shape) == 3 and layout.has_heads and shape[1] in rows:
        return f"{name} is [heads, queries, keys]; for batch items write [batch, 1, queries, keys]"
    return None


def shape_key_lengths(spec: ProblemSpec) -> ProblemSpec:
    """The problem with `key_lengths` [b] if it has one per batch item, else [b n].

    One row belongs to the queries if there is one batch item, since '1 2 3' may mean either.
    """
    table = spec.key_lengths
    if table is None or table.ndim == 1:
        return spec
    is_of_items = table.shape[1] == 1 or (len(table) == 1 and (spec.leading.batch or 1) > 1)
    return replace(spec, key_lengths=table.reshape(-1)) if is_of_items else spec


def _check_key_lengths(key_lengths: Array, lengths: Lengths) -> None:
    """There must be one length per batch item, or per query of each, at most the number of keys."""
    axes = {letter: lengths[letter] for letter in "bn" if letter in lengths}
    if "b" not in axes and len(key_lengths) != 1:
        hint = "give one length, or one row with a length for each query"
        raise AttnError("there are no batch items", where="key_lengths", hint=hint)
    bind_axes(axes, "key_lengths", ("b", "n")[: key_lengths.ndim], key_lengths.shape)
    max_length = int(np.max(key_lengths))
    if max_length > lengths["m"].size:
        raise AttnError(f"{max_length} is more than there are keys; {lengths['m'].owner}", where="key_lengths")


def _check_key_mask(key_mask: Array, lengths: Lengths) -> None:
    """There must be one row per batch item, with a column per key; for one item the row needs no axis."""
    items, keys = lengths.get("b"), lengths["m"]
    count = items.size if items is not None else 1
    rows = 1 if key_mask.ndim == 1 else key_mask.shape[0]
    if rows != count:
        owner = items.owner if items is not None else "there are no batch items"
        raise AttnError(f"key_mask has {count_of(rows, 'row')} (b); {owner}", where="key_mask")
    columns = key_mask.shape[-1]
    if columns != keys.size:
        is_of_new_keys = "p" in lengths and columns == lengths["k"].size
        hint = "put 1 before them for each cached key" if is_of_new_keys else None
        raise AttnError(f"key_mask has {count_of(columns, 'column')} (m); {keys.owner}", where="key_mask", hint=hint)


def check_labels(spec: ProblemSpec) -> None:
    """Raise AttnError if there are too many or too few labels; cached keys may have none."""
    past, new = spec.past_count, spec.new_key_count
    for name, labels, counts, row in (
        ("tokens", spec.tokens, (new, past + new), "key"),
        ("query_tokens", spec.query_tokens, (spec.query_count,), "query"),
    ):
        if labels is not None and len(labels) not in counts:
            raise AttnError(f"{there_are(len(labels), 'label')} for {count_of(counts[-1], row)}", where=name)
