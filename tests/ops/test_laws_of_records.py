"""Laws that every operator keeps with every parameter off its default; a new operator is tested by being registered."""

import inspect
import pickle
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attncli.base.axes import Letters
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops import operators
from attncli.ops.records import KeyBounds, OnlineNormalizer, OperatorRecord
from attncli.ops.registry import NO_ARRAYS
from tests.equations import assert_equations_hold
from tests.ops.recorded import lines_of
from tests.ops.values import (
    RECORDS,
    WITH_ARRAYS,
    arguments,
    calls,
    inner_values,
    length,
    numbers_in_range,
    off_default,
    parameters_off_default,
    random_numbers,
    required,
    with_derived,
)


def of_kind(*kinds: str) -> Any:
    """Run a test for every operator of these kinds."""
    found = [record for record in RECORDS if record.kind in kinds]
    return pytest.mark.parametrize("record", found, ids=lambda record: record.name)


def with_field(field: str) -> Any:
    """Run a test for every operator whose record has something in this field."""
    found = [record for record in RECORDS if getattr(record, field)]
    return pytest.mark.parametrize("record", found, ids=lambda record: record.name)


every = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
every_with_arrays = pytest.mark.parametrize("record", WITH_ARRAYS, ids=lambda record: record.name)
seeds = st.integers(0, 2**32 - 1)


def compute(record: OperatorRecord, seed: int = 0, **given: Any) -> np.ndarray:
    """The operator on its arguments, with every parameter off its default unless `given` has another."""
    result: np.ndarray = record.function(**{**arguments(record, seed), **parameters_off_default(record), **given})
    return result


def result_letters(record: OperatorRecord) -> Letters:
    """The axes of the operator's result for several heads."""
    return ("h", *record.shapes.result) if "heads" in record.arguments else record.shapes.result


# Records


@every
def test_a_record_has_its_fields_and_hangs_on_its_function(record: OperatorRecord) -> None:
    assert record.formula
    assert record.source
    assert record.example
    assert record.summary.endswith(".")
    assert record.function.record is record  # type: ignore[attr-defined] # its decorator hangs it there


@every
def test_help_has_a_sentence_an_example_and_the_definition_in_the_record(record: OperatorRecord) -> None:
    text = inspect.getdoc(record.function) or ""
    own, _, definition = text.partition("\n\nDefinition\n----------\n")
    assert own.startswith(f"{record.summary}\n")
    assert "\n>>> " in own
    found = [(line[:14].strip(), line[14:]) for line in definition.splitlines()]
    facts = [record.formula, record.source, *map(str, record.parameters)]
    facts += [f"{inner.name} = {inner.formula}" for inner in record.inner]
    assert sorted(fact for title, fact in found if title != "shapes") == sorted(facts)
    (shapes,) = [fact for title, fact in found if title == "shapes"]
    for name, axes in record.shapes.arrays.items():
        assert f"{name}[{' '.join(axes)}]" in shapes
    assert shapes.endswith(f"→ [{' '.join(record.shapes.result)}]")
    assert [title for title, _ in found if title][:2] == ["formula", "shapes"]


@every
def test_help_names_every_argument(record: OperatorRecord) -> None:
    _, _, definition = (inspect.getdoc(record.function) or "").partition("Definition")
    described = set(re.findall(r"\w+", definition)) | {"tap", "matmul"} | NO_ARRAYS
    assert set(inspect.signature(record.function).parameters) <= described


@every
def test_a_record_is_the_same_one_after_pickling(record: OperatorRecord) -> None:
    assert pickle.loads(pickle.dumps(record)) is record


@every
def test_the_values_of_these_tests_are_off_the_defaults_and_in_their_ranges(record: OperatorRecord) -> None:
    for parameter in record.parameters:
        value = off_default(parameter)
        if parameter.kind in ("number", "integer"):
            assert parameter.range.holds(value)
        assert parameter.kind == "array" or value != parameter.default


# All operators


@every_with_arrays
def test_the_result_has_the_axes_of_the_record(record: OperatorRecord) -> None:
    wanted = tuple(map(length, result_letters(record)))
    shape = compute(record).shape
    assert np.broadcast_shapes(shape, wanted) == wanted
    assert len(shape) == len(wanted)


@every
def test_every_parameter_makes_a_difference(record: OperatorRecord) -> None:
    for parameter in record.parameters:
        is_number = parameter.kind in ("number", "integer")
        values = numbers_in_range(parameter) if is_number else [off_default(parameter, seed=1)]
        others = {name: value for name, value in parameters_off_default(record).items() if name != parameter.name}
        arrays = {name: value for name, value in others.items() if np.ndim(value)}
        changed = (
            not np.array_equal(result, record.function(**arguments(record), **base))
            # Alone, or beside what it belongs to, or beside arrays alone, in whose place a number may be.
            for base in (required(record), required(record) | others, required(record) | arrays)
            for value in values
            for result in [record.function(**arguments(record), **{**base, parameter.name: value})]
        )
        assert any(changed), parameter.name


@every_with_arrays
def test_every_number_in_the_range_of_a_parameter_gives_real_numbers(record: OperatorRecord) -> None:
    """A number that gives none is out of range: its parameter lacks a `Range`."""
    for parameter in record.parameters:
        for value in (-3, -1, 0, 1) if parameter.kind in ("number", "integer") else ():
            if parameter.range.holds(value):
                with np.errstate(divide="raise", invalid="raise"):
                    result = compute(record, **{parameter.name: value})
                assert result.dtype.kind in "fib", (parameter.name, value)
                assert not np.isnan(result).any(), (parameter.name, value)


LEADING = {"query", "key", "value", "x", "scores", "weights"}


@of_kind("score", "normalize", "context", "recurrence", "norm")
def test_axes_before_those_of_the_record_are_carried_along(record: OperatorRecord) -> None:
    parts = [arguments(record, seed) for seed in range(6)]
    numbers = {name: value for name, value in parts[0].items() if np.ndim(value) == 0}
    arrays = [name for name in parts[0] if name not in numbers]
    stacked = {name: np.stack([part[name] for part in parts]).reshape(2, 3, *parts[0][name].shape) for name in arrays}
    stacked |= numbers
    together, given = compute(record, **stacked), parameters_off_default(record)
    if record.derived:  # drawn for all of them at once
        given |= {name: np.full(length("n"), 0.4) for name in record.derived}
        together = record.function(**stacked, **given)
    assert together.shape[:2] == (2, 3)
    for number, part in enumerate(parts):
        alone = record.function(**part, **given)
        np.testing.assert_allclose(together[divmod(number, 3)], alone, rtol=1e-12, atol=1e-14)


@of_kind("score", "normalize", "context", "recurrence", "norm")
@pytest.mark.parametrize("dtype", ["float32", "longdouble"])
def test_the_result_has_the_dtype_of_the_inputs(record: OperatorRecord, dtype: str) -> None:
    given = {**arguments(record), **parameters_off_default(record)}
    numbers = [name for name, value in given.items() if isinstance(value, np.ndarray) and value.dtype.kind != "b"]
    typed = {**given, **{name: given[name].astype(dtype) for name in numbers}}
    assert record.function(**typed).dtype == dtype


@every_with_arrays
def test_the_arguments_are_not_changed(record: OperatorRecord) -> None:
    given, fresh = arguments(record), arguments(record)
    record.function(**given, **parameters_off_default(record))
    for name, value in given.items():
        np.testing.assert_array_equal(value, fresh[name])


@with_field("inner")
def test_every_inner_quantity_passes_the_tap_with_the_axes_of_its_record(record: OperatorRecord) -> None:
    shapes: dict[str, tuple[int, ...]] = {}

    def tap(name: str, value: np.ndarray) -> np.ndarray:
        shapes[name] = value.shape
        return value

    tapped = compute(record, tap=tap)
    np.testing.assert_array_equal(tapped, compute(record))
    assert shapes == {inner.name: tuple(map(length, inner.axes)) for inner in record.inner}


def cell(record: OperatorRecord, values: dict[str, Any], row: int, column: int) -> dict[str, Any]:
    """The arguments of one cell: a query's row, and the key's unless the operator reads the whole row of keys."""
    at: dict[str, int] = {"n": row, "b": 0, "h": 0}
    if record.kind not in ("normalize", "context") and not record.reads_rows:
        at["m"] = column
    own = {"table", *(parameter.name for parameter in record.parameters)}  # a table is looked up
    letters = {**record.shapes.arrays, **{inner.name: inner.axes for inner in record.inner}}
    return {
        name: value[tuple(at.get(letter, slice(None)) for letter in letters[name])]
        if name in letters and name not in own
        else value
        for name, value in values.items()
    }


def assert_worked_out(record: OperatorRecord, given: dict[str, Any], row: int, column: int) -> None:
    """The lines of one cell are true, and end in the number that is computed."""
    result, inner, letters = record.function(**given), inner_values(record, **given), result_letters(record)
    at: dict[str, int] = {"n": row, "b": 0, "h": 0} | ({} if record.kind == "context" else {"m": column})
    index = tuple(
        min(at[x], size - 1) if x in at else slice(None) for x, size in zip(letters, result.shape, strict=True)
    )
    keys = [f"key {position}" for position in range(length("m"))]
    write = ArithmeticWriter(4, "query", keys, row, column, max_terms=None)
    number = result[index]
    if record.by_hand is None:
        lines = lines_of(record.function, write, given, index)
    else:
        lines = record.by_hand(write, **cell(record, {**given, **inner}, row, column), result=number)
    assert lines
    assert all(isinstance(line, str) and line for line in lines)
    if record.kind == "mask":
        assert lines[-1].endswith(": visible" if number else ": hidden"), "a mask's by_hand ends with verdict(…)"
    else:
        assert_equations_hold(lines, 4)


@every_with_arrays
def test_a_cell_is_worked_out_by_hand_to_the_number_that_is_computed(record: OperatorRecord) -> None:
    given = with_derived(record, {**arguments(record), **parameters_off_default(record)})
    for row, column in ((0, 0), (2, 3), (4, 6)):
        assert_worked_out(record, given, row, column)


@every_with_arrays
def test_a_cell_is_worked_out_by_hand_with_any_of_the_parameters(record: OperatorRecord) -> None:
    for call in calls(record, left_out=False):
        assert_worked_out(record, call, 1, 4)


# Scores


@with_field("factorization")
def test_a_score_is_the_product_of_its_factors(record: OperatorRecord) -> None:
    given, parameters = arguments(record), parameters_off_default(record)
    rule = record.factorization
    assert rule is not None
    product = rule.left(given["query"], **parameters) @ rule.right(given["key"], **parameters).mT
    np.testing.assert_allclose(product * rule.scale(length("d")), compute(record), rtol=1e-12, atol=1e-14)


@of_kind("score")
def test_a_score_of_the_rank_of_a_product_has_its_factors(record: OperatorRecord) -> None:
    """Without them it is not computed in tiles."""
    if record.factorization is None and record.shapes.arrays.get("key") == ("m", "d"):
        query, key = (np.random.default_rng(seed).standard_normal((31, length("d"))) for seed in (1, 2))
        assert np.linalg.matrix_rank(compute(record, query=query, key=key)) > length("d")


@with_field("unscaled")
def test_a_score_is_a_multiple_of_its_unscaled_one(record: OperatorRecord) -> None:
    unscaled = operators("score")[str(record.unscaled)]
    ratio = compute(record) / unscaled.function(**arguments(record), **parameters_off_default(record))
    np.testing.assert_allclose(ratio, ratio.flat[0], rtol=1e-12)
    assert not np.isclose(ratio.flat[0], 1)


# Normalizers


def scores_with_masked_keys(seed: int, rows: int = 4, keys: int = 9) -> np.ndarray:
    """Scores with ties and masked keys, large and small ones; in the last row every key is masked."""
    random = np.random.default_rng(seed)
    eighths = np.round(random.normal(size=(rows, keys)) * 8) / 8  # whose sums are exact, also where they cancel
    scores = eighths * random.choice([1, 1, 8, 300], size=(rows, 1))
    scores[random.random((rows, keys)) < 0.3] = -np.inf
    scores[-1] = -np.inf
    return scores


def normalize_online(
    scores: np.ndarray, tiles: Sequence[int], rule: OnlineNormalizer, parameters: dict[str, Any]
) -> np.ndarray:
    """The weights, tile by tile, as `OnlineNormalizer` describes; `tiles` are the boundaries between them."""
    weights = np.zeros_like(scores)
    running_max = np.full((len(scores), 1), rule.min_running_max)
    denominator = np.zeros((len(scores), 1))
    for first, end in zip((0, *tiles), (*tiles, scores.shape[-1]), strict=True):
        tile, finite_max = scores[:, first:end].copy(), None
        if rule.uses_running_max:
            before, running_max = (
                running_max,
                np.maximum(running_max, tile.max(axis=-1, keepdims=True, initial=-np.inf)),
            )
            finite_max = np.where(running_max == -np.inf, 0, running_max)
            rescale = rule.numerator(np.where(before == -np.inf, 0, before), finite_max, **parameters)
            rescale = np.where(before == -np.inf, 0, rescale)
            weights, denominator = weights * rescale, denominator * rescale
        weights[:, first:end] = rule.numerator(tile, finite_max, out=tile, **parameters)
        denominator = denominator + weights[:, first:end].sum(axis=-1, keepdims=True)
    if not rule.is_divided:
        return weights
    if rule.extra_denominator is not None:
        denominator = denominator + rule.extra_denominator(np.where(running_max == -np.inf, 0, running_max))
    return np.divide(weights, denominator, out=np.zeros_like(weights), where=denominator != 0)


@with_field("online")
@settings(deadline=None, max_examples=40)
@given(seeds, st.sets(st.integers(1, 8)).map(sorted))
def test_a_normalizer_is_its_online_form_for_any_tiles(record: OperatorRecord, seed: int, tiles: list[int]) -> None:
    scores, parameters = scores_with_masked_keys(seed), parameters_off_default(record)
    assert record.online is not None
    with np.errstate(all="ignore"):
        online = normalize_online(scores, tiles, record.online, parameters)
        whole = record.function(scores, **parameters)
    np.testing.assert_allclose(online, whole, rtol=1e-11, atol=1e-300)


@with_field("online")
def test_numerators_are_not_negative_unless_they_may_cancel(record: OperatorRecord) -> None:
    assert record.online is not None
    scores = random_numbers(("n", "m"))
    running_max = np.maximum(scores.max(axis=-1, keepdims=True), record.online.min_running_max)
    shown = running_max if record.online.uses_running_max else None
    numerator = record.online.numerator(scores.copy(), shown, out=scores.copy(), **parameters_off_default(record))
    assert (numerator >= 0).all() or record.online.may_cancel


@of_kind("normalize")
def test_an_exponential_numerator_has_the_scale_of_its_record(record: OperatorRecord) -> None:
    rule, parameters = record.online, parameters_off_default(record)
    if rule is None or rule.exp_scale is None:
        return
    scores, running_max = random_numbers(("n", "m")), random_numbers(("n", "e"))[:, :1]
    expected = np.exp(rule.exp_scale(parameters) * (scores - running_max))
    np.testing.assert_allclose(rule.numerator(scores.copy(), running_max, out=scores.copy(), **parameters), expected)


@with_field("is_distribution")
@given(seeds)
def test_rows_of_a_distribution_are_not_negative_and_sum_to_one(record: OperatorRecord, seed: int) -> None:
    scores = scores_with_masked_keys(seed)
    weights = record.function(scores, **parameters_off_default(record))
    assert (weights >= 0).all()
    assert (weights[scores == -np.inf] == 0).all()
    visible = (scores > -np.inf).any(axis=-1)
    np.testing.assert_allclose(weights.sum(axis=-1), visible, rtol=1e-12)


@of_kind("normalize")
def test_a_masked_key_has_weight_0_and_equals_a_removed_key(record: OperatorRecord) -> None:
    scores, parameters = random_numbers(("n", "e")), parameters_off_default(record)
    masked = np.arange(scores.shape[-1]) % 4 == 1
    weights = record.function(np.where(masked, -np.inf, scores), **parameters)
    assert (weights[:, masked] == 0).all()
    np.testing.assert_allclose(weights[:, ~masked], record.function(scores[:, ~masked], **parameters), rtol=1e-12)


@of_kind("normalize")
def test_a_row_of_masked_keys_has_weights_0(record: OperatorRecord) -> None:
    assert not record.function(np.full((2, 5), -np.inf), **parameters_off_default(record)).any()


@of_kind("normalize")
def test_a_score_of_nan_is_no_weight_of_a_number(record: OperatorRecord) -> None:
    scores = random_numbers(("n", "m"))
    scores[1, 2] = np.nan
    with np.errstate(all="ignore"):
        weights = record.function(scores, **parameters_off_default(record))
    assert np.isnan(weights[1, 2])
    assert np.isfinite(np.delete(weights, 1, axis=0)).all()


# Contexts


@of_kind("context")
def test_a_weight_of_nan_gives_no_number(record: OperatorRecord) -> None:
    given = arguments(record)
    given["weights"][1, 0] = np.nan
    with np.errstate(invalid="ignore"):
        context = record.function(**given, **parameters_off_default(record))
    assert np.isnan(context[1]).all()
    assert np.isfinite(np.delete(context, 1, axis=0)).all()


@with_field("is_weighted_sum")
def test_a_linear_context_is_the_product_of_weights_and_values(record: OperatorRecord) -> None:
    given = arguments(record)
    np.testing.assert_allclose(compute(record), given["weights"] @ given["value"], rtol=1e-12, atol=1e-14)


@of_kind("context")
def test_a_value_of_weight_zero_is_not_read(record: OperatorRecord) -> None:
    given, parameters = arguments(record), parameters_off_default(record)
    value = given["value"].copy()
    value[2] = np.nan  # the weights of these tests are 0 there
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(
            record.function(**{**given, "value": value}, **parameters), record.function(**given, **parameters)
        )


# Positions


@with_field("derived")
def test_a_derived_array_is_what_the_operator_computes_without_it(record: OperatorRecord) -> None:
    for name, derived in record.derived.items():
        given = {key: value for key, value in parameters_off_default(record).items() if key != name}
        if not derived.is_needed(given):  # tests/ops/test_rope_scaling.py has those of rope
            continue
        sizes = {letter: length(letter) for letter in {"n", "m", "d", *derived.axes} - {"…"}}
        sizes |= {} if "heads" in record.arguments else {"h": 1}
        sizes |= derived.lengths(given, sizes)
        shape = tuple(sizes[letter] for letter in derived.axes if letter != "…")
        options = {"shape": shape, **{key: given[key] for key in derived.parameters}}
        array = derived.function(**options)
        assert array.shape == shape
        assert derived.formula(**options)
        without = record.function(**arguments(record), **given)
        np.testing.assert_array_equal(record.function(**arguments(record), **given, **{name: array}), without)


def test_every_position_record_has_what_it_acts_on() -> None:
    assert all(record.acts_on is not None for record in operators("position").values())


# Masks


def assert_bounds(visible: np.ndarray, bounds: KeyBounds) -> None:
    """No key outside `any_visible` is visible to any query, every key inside `all_visible` is to all of them."""
    keys = np.arange(visible.shape[-1])
    (first, end), (low, high) = bounds.any_visible, bounds.all_visible
    assert not visible[..., (keys < first) | (keys >= end)].any()
    assert visible[..., (keys >= low) & (keys < high)].all()


@with_field("key_bounds")
@given(seeds)
def test_key_bounds_agree_with_the_mask(record: OperatorRecord, seed: int) -> None:
    given = {**arguments(record, seed), **parameters_off_default(record)}
    assert record.key_bounds is not None
    assert_bounds(record.function(**given), record.key_bounds(**given))


@of_kind("mask")
def test_a_mask_of_a_block_is_the_block_of_the_mask(record: OperatorRecord) -> None:
    given, parameters = arguments(record), parameters_off_default(record)
    whole = record.function(**given, **parameters)
    assert whole.dtype == bool
    rows, columns = slice(1, 4), slice(None) if record.reads_rows else slice(2, 6)
    part = {name: value[..., rows] if name.startswith("query_") else value for name, value in given.items()}
    part |= {name: given[name][..., rows, :] for name in {"index_scores", "candidates"} & given.keys()}
    of_keys = {"key_positions", "key_mask", "key_sequences"} & given.keys()
    part |= {name: given[name][..., columns] for name in of_keys}
    found = record.function(**part, **parameters)
    queries = rows if any(name.startswith(("query_", "index_")) for name in given) else slice(None)
    np.testing.assert_array_equal(found, whole[..., queries, columns])


@of_kind("mask")
def test_masks_of_the_package_have_signs(record: OperatorRecord) -> None:
    assert record.sign is not None


# Generators


@of_kind("generator")
@pytest.mark.parametrize("shape", [(5,), (5, 7), (2, 3, 5)])
def test_a_generator_makes_the_requested_shape(record: OperatorRecord, shape: tuple[int, ...]) -> None:
    if record.name == "identity" and len(shape) == 3:
        return  # of a matrix, or of ones
    drawn = [
        record.function(np.random.default_rng(seed), shape, **parameters_off_default(record)) for seed in (1, 1, 2)
    ]
    assert drawn[0].shape == shape
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert np.array_equal(drawn[0], drawn[2]) != record.is_drawn


@of_kind("mask", "position")
def test_queries_and_keys_shifted_alike_are_the_same_unless_the_record_says_so(record: OperatorRecord) -> None:
    given = arguments(record, 0)
    shifted = {name: given[name] + 5 for name in ("query_positions", "key_positions") if name in given}
    if len(shifted) == 2 and not record.counts_from_first_key:
        results = (compute(record, **given), compute(record, **{**given, **shifted}))
        np.testing.assert_array_equal(*results, err_msg="only a record with counts_from_first_key may differ")
