"""The only way to a ProblemSpec: values are converted, completed and checked, once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from attncli.base.dtypes import common_dtype
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import np
from attncli.problem import problem_cache, random_fill
from attncli.problem.arrays import ArrayOrigin, AxisLabels, EncodedArray, GivenArray
from attncli.problem.check_operators import check_operators, check_positions, shape_norms, split_parameters
from attncli.problem.convert import floating_type, to_field, to_unicode_labels
from attncli.problem.inputs import check_inputs, unread_keys
from attncli.problem.layout import laid_out, layout_of, layout_text, other_layouts, read_layout
from attncli.problem.lengths import bind_lengths, check_labels, check_masks, shape_key_lengths
from attncli.problem.packed_sequences import check_packed_sequences, with_positions
from attncli.problem.paged_cache import read_pages
from attncli.problem.recurrences import check_has_one_order, shape_state_arrays
from attncli.problem.spec import DEFAULTS, FIELDS, LABEL_KEYS, ProblemSpec
from attncli.problem.tokenizer import TOKENIZER, split_sentence
from attncli.problem.tokens import TOKEN_KEYS, choose_input, embed, look_up_tokens
from attncli.problem.weights import transpose_weights

NO_ORIGINS: Mapping[str, ArrayOrigin] = MappingProxyType({})
NO_REASONS: Mapping[str, str] = MappingProxyType({})
# The arrays whose rows (0) or columns (1) the labels of a field name; the labels of the first that has some are used.
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
    """Make a problem of values by the names of its fields; None means that a field is not given.

    `origins` has where fields were given; arrays that were read from files of their own know theirs. The values are
    read as the framework of a `convention` reads them, without one as attn does.

    Each value is converted by its field's kind: arrays, tensors, data frames, nested lists and generators to arrays,
    names of operators with their parameters to Operators. Then labels, types and embeddings are completed,
    generators make their arrays, weights are transposed to in_out, and everything is checked against everything else.

    Raises AttnError whose path begins with a field's name, where a value can't be converted, is out of range, or
    contradicts another; UnknownNameError where there is no convention of that name.

    >>> spec = build({"query": [[1, 0]], "key": [[1, 0], [0, 1]], "score": {"gaussian": {"sigma": 2}}})
    >>> spec.key.shape, spec.lengths["m"], spec.key_labels
    ((2, 2), 2, ('key_1', 'key_2'))
    """
    converted, labels, dtypes = _convert(values)
    numbers, reason = split_sentence(converted, origins)
    unread = choose_input(converted, origins) | ({TOKENIZER: reason} if reason else {})
    _set_labels(converted, labels)
    if found_dtypes := [dtype for name, dtype in dtypes.items() if name in converted]:
        converted.setdefault("dtype", common_dtype(found_dtypes))
    _embed_sentence(converted)
    look_up_tokens(converted, numbers)
    use, given, origins = None, dict(converted), {**origins, **_origins_of_arrays(values)}
    if numbers is not None:  # labels do not say which rows of their files these are
        origins = _of_changed(origins, [name for name in TOKEN_KEYS if FIELDS[name].is_row_table])
    if converted.get("page_table") is not None:
        converted = read_pages(converted)
    if convention is not None:
        from attncli.problem.conventions import find_convention, read_words  # noqa: PLC0415 - most have none

        converted, use = read_words(find_convention(convention), converted)
    elif converted.get("recurrence") is not None:
        check_has_one_order(converted)
    if converted.get("layout") is not None:
        converted = read_layout(converted)
    if converted.get("cu_seqlens") is not None and convention is None:  # as kernels of packed sequences align them
        converted.setdefault("align", "bottom_right")
    if convention is not None or not {"layout", "page_table"}.isdisjoint(converted):
        origins = _of_changed(origins, [name for name in given if converted.get(name) is not given[name]])
    try:
        spec = _complete(converted, origins, unread)
    except AttnError as error:
        error.hint = "; ".join(filter(None, (error.hint or _layout_hint(converted), _array_layout_hint(converted))))
        error.hint = error.hint or None
        raise
    return spec if use is None else replace(spec, convention=use)


def replace_values(spec: ProblemSpec, values: Mapping[str, Any]) -> ProblemSpec:
    """The problem with other values of some fields, weights in_out, converted and checked as `build` does it.

    Arrays that were drawn stay as they were drawn, and everything else stays. Raises AttnError as `build`.
    """
    kept = {name: getattr(spec, name) for name in FIELDS}
    if not {"cu_seqlens", "cu_seqlens_k"}.isdisjoint(values):  # positions follow from these
        kept |= {"positions": None, "positions_of_queries": None}
    converted, _, _ = _convert(values)
    filled = random_fill.RandomFill({**kept, **converted}, spec.unread, spec.generators)
    return replace(_check(filled, _of_changed(spec.origins, values)), convention=spec.convention)


def problems_of_other_layouts(spec: ProblemSpec) -> Iterator[ProblemSpec]:
    """The problems with queries, keys and values read in another order of axes, where none was named and it fits."""
    arrays = {name: getattr(spec, name) for name in laid_out(vars(spec))}
    for layout in other_layouts(arrays) if spec.layout is None and spec.convention is None else ():
        try:
            yield replace_values(spec, read_layout({**arrays, "layout": layout}))
        except AttnError:
            continue


def _of_changed(origins: Mapping[str, ArrayOrigin], names: Iterable[str]) -> Mapping[str, ArrayOrigin]:
    """The origins where some arrays have other numbers than what they were read from."""
    changed = {name: replace(origins[name], is_whole=False) for name in names if name in origins}
    return {**origins, **changed} if changed else origins


def _origins_of_arrays(values: Mapping[str, Any]) -> dict[str, ArrayOrigin]:
    """Where the arrays that were read from files of their own are from, also those of operators: `score.w1`."""
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


def check_name(name: str, where: str | Iterable[str] | None = None, others: Sequence[str] = ()) -> None:
    """Raise UnknownNameError for a name that is neither a field of a problem nor one of the others."""
    if name not in FIELDS and name not in others:
        from attncli.problem.names_elsewhere import hint_elsewhere  # noqa: PLC0415 - only an error needs it

        error = UnknownNameError("key", name, [*FIELDS, *others], where=where)
        is_near = error.hint is not None and error.hint.startswith("did you mean")
        error.hint = hint_elsewhere(name) or (error.hint if is_near else "attn list keys has every key")
        raise error


def _convert(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, AxisLabels], dict[str, str]]:
    """The converted values, the labels that came with arrays, and the floating types of the arrays, by their keys."""
    converted: dict[str, Any] = {}
    labels: dict[str, AxisLabels] = {}
    dtypes: dict[str, str] = {}
    for name, value in values.items():
        check_name(name)
        if value is None:
            continue
        field = FIELDS[name]
        floating = floating_type(field, value)
        if floating is not None:  # as most values are
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
    return converted, labels, dtypes


def _set_labels(values: dict[str, Any], labels: Mapping[str, AxisLabels]) -> None:
    """Set the labels that came with arrays, where they are not given."""
    for name, axes in LABELLED_AXES.items() if labels else ():
        found = [(owner, labels[owner][axis]) for owner, axis in axes if owner in labels and owner in values]
        owner, names = next(((owner, names) for owner, names in found if names), ("", None))
        if names:
            values.setdefault(name, to_unicode_labels(names, (owner,)))


def _embed_sentence(values: dict[str, Any]) -> None:
    """Set the tokens and embeddings of a sentence by its vocabulary; `random_fill` does where that is to be drawn."""
    text, vocabulary = values.get("sentence"), values.get("vocabulary")
    if text is None and vocabulary is None:
        return
    if text is None:
        message = "vocabulary is given without sentence"
        raise AttnError(message, where="sentence", hint="give both", keys=("vocabulary",))
    if "embeddings" in values:
        message, keys = "sentence and embeddings are both given", ("embeddings", "sentence", "vocabulary")
        raise AttnError(message, where="embeddings", hint="leave out one of them", keys=keys)
    if vocabulary is None:
        return
    tokens, values["embeddings"] = embed(text, vocabulary)
    values.setdefault("tokens", tokens)


def _complete(
    converted: Mapping[str, Any],
    origins: Mapping[str, ArrayOrigin] = NO_ORIGINS,
    unread: Mapping[str, str] = NO_REASONS,
) -> ProblemSpec:
    """The problem of converted values, weights as they are stored: generators make their arrays, and all is checked."""
    in_out = transpose_weights(converted) if converted.get("weight_layout") == "out_in" else converted
    form = problem_cache.cache_key(in_out) if not unread else None
    known = problem_cache.recall(form, in_out, origins)
    if known is not None:
        return known
    filled = random_fill.fill(in_out)
    unread = {**unread, **filled.unread, **unread_keys(filled.values)}
    spec = _check(replace(filled, values={**DEFAULTS, **filled.values}, unread=unread), origins)
    problem_cache.keep(form, in_out, spec)
    return spec


def _layout_hint(converted: Mapping[str, Any]) -> str | None:
    """What to do where the values are not a problem, but are one with weights stored the other way."""
    other = "in_out" if converted.get("weight_layout") == "out_in" else "out_in"
    transposed = transpose_weights(converted)
    weights = [name for name, value in converted.items() if transposed[name] is not value]
    if weights and _is_problem({**converted, "weight_layout": other}):
        return f"with weight_layout {other} it fits"
    one = next((name for name in weights if _is_problem({**converted, name: transposed[name]})), None)
    return None if one is None else f"it fits if {one} is transposed"


def _array_layout_hint(converted: Mapping[str, Any]) -> str | None:
    """What to do where the values are not a problem, but are one with arrays in another order of axes."""
    for layout in other_layouts(converted) if converted.get("layout") is None else ():
        if _is_problem(read_layout({**converted, "layout": layout})):
            return f"it fits layout {layout}, {layout_text(layout)}: give --layout {layout}"
    return None


def _is_problem(converted: Mapping[str, Any]) -> bool:
    """Whether a problem can be made of converted values."""
    try:
        _complete(converted)
    except AttnError:
        return False
    return True


def _check(filled: random_fill.RandomFill, origins: Mapping[str, ArrayOrigin]) -> ProblemSpec:
    """The problem of converted values; raises AttnError where they contradict each other."""
    values = with_positions(filled.values)
    check_inputs(values)
    layout = layout_of(values)
    lengths = bind_lengths(values, layout)
    values = shape_key_lengths(shape_norms(values, layout, lengths), layout)
    values = split_parameters(shape_state_arrays(values, layout, lengths), layout, lengths)
    sizes = {letter: length.size for letter, length in lengths.items()}
    spec = ProblemSpec(
        **values,
        leading=layout,
        lengths=sizes,
        origins=origins,
        generators=filled.generators,
        unread=filled.unread,
    )
    check_labels(spec)
    check_packed_sequences(spec, lengths)
    check_positions(spec, lengths)
    check_operators(spec, lengths)
    check_masks(spec, lengths)
    _ = spec.selected_queries  # raises AttnError for a label that is not there
    return spec
