"""Laws that hold for every problem, or for each that uses something."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from attncli.base.axes import LEGEND
from attncli.base.dtypes import Precision
from attncli.engine.run import run
from attncli.ops import operators
from attncli.plan.trace import Trace
from attncli.problem.spec import ProblemSpec
from attncli.render.objects import result_object
from attncli.render.view import View
from tests.problems import PROBLEMS

Keys = Mapping[str, Any]
MASKS = {"causal", "mask", "window", "key_lengths", "key_mask"}


def traced(problem: ProblemSpec) -> Trace:
    return run(problem).trace


def of_problems(applies: Callable[[Keys], bool]) -> pytest.MarkDecorator:
    """The problems that a law applies to, in place of all."""
    names = [name for name, keys in PROBLEMS.items() if applies(keys)]
    assert names
    return pytest.mark.parametrize("spec", names, indirect=True)


def is_computed(keys: Keys) -> bool:
    """Whether a problem computes its scores and weights."""
    return keys.keys().isdisjoint(("scores", "weights", "recurrence"))


def has_distribution(keys: Keys) -> bool:
    """Whether the weights are computed by a normalizer whose rows sum to 1."""
    normalizer = keys.get("normalize", "softmax").partition(":")[0]
    return keys.keys().isdisjoint(("weights", "recurrence")) and operators("normalize")[normalizer].is_distribution


def test_every_step_is_its_function_applied_to_its_named_inputs(spec: ProblemSpec) -> None:
    trace = traced(spec)
    precision = Precision(spec.dtype or "float64")
    values = {step.name: step.value for step in trace.steps}
    for step in trace.steps:
        if step.function is None:
            continue
        arguments = {name: precision.widen(values[source]) for name, source in step.inputs.items()}
        with np.errstate(all="ignore"):
            result = np.asarray(step.function(**arguments, **step.options))
            again = result if step.node.is_exact and not precision.has_wide_tables else precision.round(result)
        if precision.has_wide_tables and step.node.is_pair_table:  # it is read as it was computed
            values[step.name] = result
        np.testing.assert_array_equal(again, step.value, err_msg=step.name)


def test_names_are_unique_and_defined_before_they_are_used(spec: ProblemSpec) -> None:
    steps = traced(spec).steps
    names = [step.name for step in steps]
    assert len(names) == len(set(names))
    for at, step in enumerate(steps):
        assert set(step.inputs.values()) <= set(names[:at]), step.name


def test_axes_of_one_letter_have_one_length(spec: ProblemSpec) -> None:
    lengths: dict[str, int] = {}
    features = set("dcexyoart")  # before they are split among heads, features are more
    for step in traced(spec).steps:
        assert step.value.ndim == len(step.axes), step.name
        for letter, size in zip(step.axes, step.value.shape, strict=True):
            assert set(letter.split("+")) <= {*LEGEND, "1"}, step.name
            if not features & set(letter) and size != 1 and step.name.partition(".")[0] not in ("mask", "bias"):
                sizes = (size, 2 * size) if spec.difference is not None and letter in "hg" else (size,)  # of pairs
                assert lengths.setdefault(letter, size) in sizes, (step.name, letter)


def test_the_json_begins_with_queries_keys_and_values_and_has_every_step(spec: ProblemSpec) -> None:
    result = run(spec)
    names = [step["name"] for step in result_object(View(result, explain=True))["steps"]]
    assert names[:3] == ["query", "key", "value"] or spec.given_table is not None
    assert sorted(names) == sorted(step.name for step in result.trace.computed)


@of_problems(lambda keys: is_computed(keys) and not MASKS.isdisjoint(keys))
def test_masked_cells_are_minus_infinity_and_then_0(spec: ProblemSpec) -> None:
    trace = traced(spec)
    hidden = np.broadcast_to(~trace["visible"].value, trace["scores"].value.shape)
    np.testing.assert_array_equal(np.isneginf(trace["masked_scores"].value), hidden)
    assert not trace[trace.plan.attending_weights].value[hidden].any()


@of_problems(is_computed)  # tables that are given may have −∞ of their own
def test_only_what_is_masked_is_minus_infinity(spec: ProblemSpec) -> None:
    for step in traced(spec).steps:
        if step.name not in ("bias", "masked_scores", "scores_and_sink"):
            assert not np.isneginf(step.value).any(), step.name


@of_problems(has_distribution)
def test_rows_of_a_distribution_sum_to_one_and_empty_rows_to_zero(spec: ProblemSpec) -> None:
    trace = traced(spec)
    name = trace.plan.attending_weights if spec.sink is None else "weights_and_sink"
    visible = np.isfinite(trace["masked_scores" if spec.sink is None else "scores_and_sink"].value).any(axis=-1)
    total = trace[name].value.astype(float).sum(axis=-1)
    close = {"float32": 1e-6, "bfloat16": 3e-2}.get(spec.dtype or "", 1e-12)
    np.testing.assert_allclose(total, visible.astype(float), rtol=0, atol=close)


@of_problems(is_computed)  # the heads of a given table are merged as those of the values are
def test_the_output_has_the_axes_of_the_queries(spec: ProblemSpec) -> None:
    output = traced(spec)["output"].value
    assert output.ndim == spec.query_source.ndim
    rows = len(spec.selected_query_labels)
    assert output.shape[:-1] == (*spec.query_source.shape[:-2], rows)


@pytest.mark.parametrize("role", ["key", "value"])
@of_problems(lambda keys: is_computed(keys) and "past_key" in keys)
def test_present_keys_and_values_are_the_cache_and_the_new_ones(spec: ProblemSpec, role: str) -> None:
    trace = traced(spec)
    present, past = trace[f"present_{role}"].value, getattr(spec, f"past_{role}")
    assert present.shape[-2] == spec.past_count + spec.new_key_count
    assert present.ndim == past.ndim
    np.testing.assert_array_equal(present[..., : spec.past_count, :], past)


@of_problems(lambda keys: is_computed(keys) and "past_key" not in keys)
def test_without_a_cache_the_present_keys_are_the_new_ones(spec: ProblemSpec) -> None:
    assert traced(spec)["present_key"].value.shape[-2] == spec.new_key_count
