"""The only way to make a ProblemSpec: convert, complete and check values, once.

given values ─ PASSES ─► values of attn's own keys ─ complete ─► nothing is missing ─ check ─► ProblemSpec
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.dtypes import common_dtype
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import np
from attncli.problem import problem_cache
from attncli.problem.arrays import ArrayOrigin, AxisLabels, EncodedArray, GivenArray
from attncli.problem.check_operators import check_operators, check_positions, shape_norms, split_parameters
from attncli.problem.convert import floating_type, to_field, to_unicode_labels
from attncli.problem.draft import Draft, origins_of_changed
from attncli.problem.inputs import check_inputs, unread_keys
from attncli.problem.layout import laid_out, layout_of, layout_text, other_layouts, read_layout
from attncli.problem.lengths import bind_lengths, check_labels, check_masks, shape_key_lengths
from attncli.problem.random_fill import fill
from attncli.problem.recurrences import check_has_one_order, shape_state_arrays
from attncli.problem.sequences import check_packed_sequences, read_pages, with_positions
from attncli.problem.spec import DEFAULTS, FIELDS, LABEL_KEYS, ProblemSpec
from attncli.problem.tokens import TOKEN_KEYS, choose_input, embed_sentence, look_up_tokens, split_sentence
from attncli.problem.weights import transpose_weights

NO_ORIGINS: Mapping[str, ArrayOrigin] = {}
# The arrays whose rows (0) or columns (1) a field labels; the first array with labels sets them.
LABELLED_AXES = {
    name: [
        (owner, field.letters.index(letter))
        for owner, field in FIELDS.items()
        if field.is_random_fill and letter in field.letters
    ]
    for letter, name in LABEL_KEYS.items()
}


def build(
    values: Mapping[str, Any], origins: Mapping[str, ArrayOrigin] = NO_ORIGINS, convention: str | None = None
) -> ProblemSpec:
    """Make a problem from values by the names of its fields; None means that a field is not given.

    `origins` says where fields were given; arrays from their own files know theirs. The values are read according to
    the `convention`'s framework, by default attn's.

    Raises AttnError, whose path begins with a field's name, if a value can't be converted, is out of range, or
    contradicts another; UnknownNameError for an unknown convention.

    >>> spec = build({"query": [[1, 0]], "key": [[1, 0], [0, 1]], "score": {"gaussian": {"sigma": 2}}})
    >>> spec.key.shape, spec.lengths["m"], spec.key_labels
    ((2, 2), 2, ('key_1', 'key_2'))
    """
    draft = Draft(values, origins, convention)
    for make_next in PASSES:
        draft = make_next(draft)
    try:
        spec = _complete(draft)
    except AttnError as error:
        hints = (error.hint or _layout_hint(draft.values), _array_layout_hint(draft.values))
        error.hint = "; ".join(filter(None, hints)) or None
        raise
    return spec if draft.use is None else replace(spec, convention=draft.use)


def replace_values(spec: ProblemSpec, values: Mapping[str, Any]) -> ProblemSpec:
    """The problem with other values of some fields, weights in_out, converted and checked as in `build`.

    Everything else stays, also drawn arrays. Raises AttnError like `build`.
    """
    kept = {name: getattr(spec, name) for name in FIELDS}
    if not {"cu_seqlens", "cu_seqlens_k"}.isdisjoint(values):  # they determine positions
        kept |= {"positions": None, "positions_of_queries": None}
    draft = Draft(
        {**kept, **_convert(Draft(values)).values},
        origins_of_changed(spec.origins, values),
        unread=spec.unread,
        generators=spec.generators,
    )
    return replace(_check(draft), convention=spec.convention)


def problems_of_other_layouts(spec: ProblemSpec) -> Iterator[ProblemSpec]:
    """The problems with other orders of axes of queries, keys and values that fit, if no order was named."""
    arrays = {name: getattr(spec, name) for name in laid_out(vars(spec))}
    for layout in other_layouts(arrays) if spec.layout is None and spec.convention is None else ():
        try:
            yield replace_values(spec, read_layout({**arrays, "layout": layout}))
        except AttnError:
            continue


def check_name(name: str, where: str | Iterable[str] | None = None, others: Sequence[str] = ()) -> None:
    """Raise UnknownNameError for a name that is neither a problem's field nor one of the others."""
    if name not in FIELDS and name not in others:
        from attncli.problem.names_elsewhere import hint_elsewhere  # noqa: PLC0415 - only an error needs it

        error = UnknownNameError("key", name, [*FIELDS, *others], where=where)
        is_near = error.hint is not None and error.hint.startswith("did you mean")
        error.hint = hint_elsewhere(name) or (error.hint if is_near else "attn list keys has every key")
        raise error


def _convert(draft: Draft) -> Draft:
    """Convert each value by its field's kind, and record the labels, floating types and origins of arrays.

    Arrays, tensors, data frames, nested lists and generators become arrays, names with their parameters Operators.
    """
    converted: dict[str, Any] = {}
    labels: dict[str, AxisLabels] = {}
    dtypes: dict[str, str] = {}
    for name, value in draft.values.items():
        check_name(name)
        if value is None:
            continue
        field = FIELDS[name]
        floating = floating_type(field, value)
        if floating is not None:  # the common case
            converted[name] = value
            if field.decides_dtype:
                dtypes[name] = floating
            continue
        field_value = to_field(field, value)
        if isinstance(field_value, (GivenArray, EncodedArray)) and field_value.dtype and field.decides_dtype:
            dtypes[name] = field_value.dtype
        if isinstance(field_value, GivenArray):
            if field_value.labels or field_value.columns:
                labels[name] = field_value.axis_labels
            field_value = field_value.array
        converted[name] = field_value
    array_origins = _origins_of_arrays(draft.values)
    return replace(draft, values=converted, labels=labels, dtypes=dtypes, array_origins=array_origins)


def _origins_of_arrays(values: Mapping[str, Any]) -> dict[str, ArrayOrigin]:
    """The origins of arrays that have their own files, also of operators' arrays: `score.w1`."""
    arrays = {name: value for name, value in values.items() if type(value) is not np.ndarray}
    if not arrays:
        return {}
    for name, value in list(arrays.items()):
        if isinstance(value, Mapping) and len(value) == 1:
            (parameters,) = value.values()
            if isinstance(parameters, Mapping):
                arrays |= {f"{name}.{parameter}": array for parameter, array in parameters.items()}
    kinds = (GivenArray, EncodedArray)
    read = {name: value.origin for name, value in arrays.items() if isinstance(value, kinds)}
    return {name: origin for name, origin in read.items() if origin is not None}


def _set_labels(draft: Draft) -> Draft:
    """Set missing labels from those that came with arrays."""
    values = dict(draft.values)
    labels = {name: axes for name, axes in draft.labels.items() if name in values}
    for name, axes in LABELLED_AXES.items() if labels else ():
        found = [(owner, labels[owner][axis]) for owner, axis in axes if owner in labels]
        owner, names = next(((owner, names) for owner, names in found if names), ("", None))
        if names:
            values.setdefault(name, to_unicode_labels(names, (owner,)))
    return replace(draft, values=values)


def _set_dtype(draft: Draft) -> Draft:
    """Set the arrays' common floating type, unless one is given."""
    found = [dtype for name, dtype in draft.dtypes.items() if name in draft.values]
    if not found or "dtype" in draft.values:
        return draft
    return replace(draft, values={**draft.values, "dtype": common_dtype(found)})


def _set_origins(draft: Draft) -> Draft:
    """Record the files of arrays; a sentence's labels don't say which rows are used."""
    origins: Mapping[str, ArrayOrigin] = {**draft.origins, **draft.array_origins}
    if draft.token_numbers is not None:
        origins = origins_of_changed(origins, [name for name in TOKEN_KEYS if FIELDS[name].is_row_table])
    return replace(draft, origins=origins)


def _gather_pages(draft: Draft) -> Draft:
    """With a page table, replace pages by the keys and values of each batch item."""
    return draft if draft.values.get("page_table") is None else draft.rearranged(read_pages(draft.values))


def _apply_convention(draft: Draft) -> Draft:
    """Translate the convention's keys to attn's; without a convention, reject ambiguous values."""
    if draft.convention is None:
        if draft.values.get("recurrence") is not None:
            check_has_one_order(draft.values)
        return draft
    from attncli.problem.conventions import find_convention, read_words  # noqa: PLC0415 - most have none

    values, use = read_words(find_convention(draft.convention), draft.values)
    return replace(draft.rearranged(values), use=use)


def _order_axes(draft: Draft) -> Draft:
    """Put the axes of queries, keys and values in attn's order, if a layout is given."""
    return draft if draft.values.get("layout") is None else draft.rearranged(read_layout(draft.values))


def _align_packed_sequences(draft: Draft) -> Draft:
    """Align queries of packed sequences bottom right, as kernels do, unless `align` or a convention says otherwise."""
    values = draft.values
    if values.get("cu_seqlens") is None or "align" in values or draft.convention is not None:
        return draft
    return replace(draft, values={**values, "align": "bottom_right"})


# The steps from given values, in order: each pass turns a draft into the next one.
PASSES: Sequence[Callable[[Draft], Draft]] = (
    _convert,
    split_sentence,
    choose_input,
    _set_labels,
    _set_dtype,
    embed_sentence,
    look_up_tokens,
    _set_origins,
    _gather_pages,
    _apply_convention,
    _order_axes,
    _align_packed_sequences,
)


def _complete(draft: Draft) -> ProblemSpec:
    """The problem of attn's own keys: weights become in_out, and missing arrays and defaults are set."""
    if draft.values.get("weight_layout") == "out_in":
        draft = replace(draft, values=transpose_weights(draft.values))
    form = problem_cache.cache_key(draft.values) if not draft.unread else None
    known = problem_cache.recall(form, draft.values, draft.origins)
    if known is not None:
        return known
    filled = fill(draft)
    unread = {**filled.unread, **unread_keys(filled.values)}
    spec = _check(replace(filled, values={**DEFAULTS, **filled.values}, unread=unread))
    problem_cache.keep(form, draft.values, spec)
    return spec


def _check(draft: Draft) -> ProblemSpec:
    """The problem of complete values; raises AttnError if they contradict each other."""
    values = with_positions(draft.values)
    check_inputs(values)
    spec = ProblemSpec(
        **values,
        leading=layout_of(values),
        lengths={},
        origins=draft.origins,
        generators=draft.generators,
        unread=draft.unread,
    )
    lengths = bind_lengths(spec)
    spec = replace(spec, lengths={letter: length.size for letter, length in lengths.items()})
    spec = shape_key_lengths(shape_norms(spec, lengths))
    spec = split_parameters(shape_state_arrays(spec, lengths), lengths)
    check_labels(spec)
    check_packed_sequences(spec, lengths)
    check_positions(spec, lengths)
    check_operators(spec, lengths)
    check_masks(spec, lengths)
    _ = spec.selected_queries  # raises AttnError for an unknown label
    return spec


def _layout_hint(converted: Mapping[str, Any]) -> str | None:
    """The hint if the values fit only with weights stored the other way."""
    other = "in_out" if converted.get("weight_layout") == "out_in" else "out_in"
    transposed = transpose_weights(converted)
    weights = [name for name, value in converted.items() if transposed[name] is not value]
    if weights and _is_problem({**converted, "weight_layout": other}):
        return f"with weight_layout {other} it fits"
    one = next((name for name in weights if _is_problem({**converted, name: transposed[name]})), None)
    return None if one is None else f"it fits if {one} is transposed"


def _array_layout_hint(converted: Mapping[str, Any]) -> str | None:
    """The hint if the values fit only with arrays in another order of axes."""
    for layout in other_layouts(converted) if converted.get("layout") is None else ():
        if _is_problem(read_layout({**converted, "layout": layout})):
            return f"it fits layout {layout}, {layout_text(layout)}: give --layout {layout}"
    return None


def _is_problem(converted: Mapping[str, Any]) -> bool:
    """Whether converted values make a problem."""
    try:
        _complete(Draft(converted))
    except AttnError:
        return False
    return True
