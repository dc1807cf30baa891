"""Slips of the scales of scores and queries: forgotten, applied twice, or a different one."""

from collections.abc import Iterator
from dataclasses import replace
from math import isclose, sqrt

from attncli.checks.slips.records import Computation, Variant, plan_slip, problem_slip, without
from attncli.ops import elementwise
from attncli.ops.records import Operator, format_value
from attncli.ops.registry import look_up
from attncli.ops.rope_scaling import RopeScaling
from attncli.ops.rope_scaling_types import magnitude
from attncli.problem.spec import ProblemSpec

A_ROOT = "the scores are dot products divided by √d, and d is not 1"
MSCALE = "the scale is 1/√d times the square of mscale, of the mscale_all_dim of rope's scaling"


def own_scale(problem: ProblemSpec) -> float | None:
    """The factor on the scores, or on a recurrence's queries: the problem's scale or 1/√d; None without either."""
    if not _reads_scale(problem):
        return None
    if problem.scale is not None or problem.score.record.unscaled is None or "d" not in problem.lengths:
        return problem.scale
    return 1 / sqrt(problem.scaled_features)


def _reads_scale(problem: ProblemSpec) -> bool:
    """Whether there are scores, or a recurrence with a scale that does not divide one reading by another."""
    recurrence = problem.recurrence
    return recurrence is None or ("scale" in recurrence.record.arguments and not recurrence.parameters.get("normalize"))


def _with_scale(case: Computation, scale: float, end: str = "") -> Iterator[Variant]:
    """The problem with another scale, unless it is the same; `end` completes a recurrence's sentence."""
    if scale != own_scale(case.problem):
        sentence = "" if case.problem.recurrence is None else f"What queries read from the state is {end}."
        yield Variant(replace(case.problem, scale=scale), sentence)


def _divides_by_root(problem: ProblemSpec) -> bool:
    """Whether the score function divides by √d."""
    return _reads_scale(problem) and problem.score.record.unscaled is not None and problem.lengths.get("d", 1) > 1


@problem_slip("the scores are scaled, and not by 1")
def no_scale(case: Computation) -> Iterator[Variant]:
    """The scores are not scaled: the products of queries and keys are not divided by √d."""
    problem, record = case.problem, case.problem.score.record
    if own_scale(problem) in (None, 1):
        return
    if problem.recurrence is not None:
        yield from _with_scale(case, 1.0, "not scaled")
    elif problem.scale is None and record.unscaled is not None:
        yield Variant(replace(problem, score=Operator(look_up("score", record.unscaled), problem.score.given)))
    else:
        sentence = f"The scores are not multiplied by the scale, {format_value(problem.scale)}."
        yield Variant(replace(problem, scale=1.0), sentence)


@problem_slip("the scores are scaled, and not by 1")
def scaled_twice(case: Computation) -> Iterator[Variant]:
    """The scores are scaled twice, as when the queries are divided by √d and the scores again."""
    scale = own_scale(case.problem)
    if scale not in (None, 1):
        yield from _with_scale(case, scale * scale, "scaled twice")


@problem_slip(A_ROOT)
def scale_by_d(case: Computation) -> Iterator[Variant]:
    """The scores are divided by d, the number of features, instead of its root √d."""
    if _divides_by_root(case.problem):
        yield from _with_scale(case, 1 / case.problem.lengths["d"], "divided by d instead of its root √d")


@problem_slip(A_ROOT)
def scale_inverted(case: Computation) -> Iterator[Variant]:
    """The scores are multiplied by √d instead of divided by it."""
    if _divides_by_root(case.problem):
        yield from _with_scale(case, sqrt(case.problem.lengths["d"]), "multiplied by √d instead of divided by it")


@plan_slip("the scores are scaled, and not by 1")
def scaled_after_softmax(case: Computation) -> Iterator[Variant]:
    """The weights are scaled after the softmax, instead of the scores before it."""
    scale, scores = own_scale(case.problem), case.plan.results.get("scores", "")
    if scale not in (None, 0, 1) and case.node_of_stage("score") is not None and "weights" in case.plan.by_name:
        unscaled = case.with_changed_value(scores, elementwise.scale, options={"scale": 1 / scale})
        yield Variant(unscaled.with_changed_value("weights", elementwise.scale, options={"scale": scale}))


@problem_slip("the scores are dot products that are not divided by √d, and d is not 1")
def scaled_anyway(case: Computation) -> Iterator[Variant]:
    """The scores are divided by √d, although the problem does not scale them."""
    problem, root = case.problem, 1 / sqrt(case.problem.lengths.get("d", 1))
    if problem.recurrence is not None:
        if own_scale(problem) == 1:
            yield from _with_scale(case, root, "divided by √d, although the problem does not scale it")
        return
    if "dot" not in (problem.score.record.name, problem.score.record.unscaled) or "scores" in problem.not_computed:
        return
    scale = own_scale(problem)
    if scale in (None, 1):
        yield from _with_scale(case, root)
    elif problem.scale is not None:
        for other, what in ((root, "instead of multiplied by"), (scale * root, "and multiplied by")):
            if other == root and _mscale(problem) is not None:  # no_mscale names it
                continue
            for variant in _with_scale(case, other):
                sentence = f"The scores are divided by √d {what} the scale, {format_value(scale)}."
                yield replace(variant, sentence=sentence)


@problem_slip("there are several heads, and the scores are divided by √d", needs_all="h")
def scale_by_model_width(case: Computation) -> Iterator[Variant]:
    """The scores are divided by the root of the features of all heads together instead of one head's."""
    heads = case.problem.leading.heads
    if heads > 1 and _divides_by_root(case.problem):
        end = "divided by the root of the features of all heads together"
        yield from _with_scale(case, 1 / sqrt(heads * case.problem.lengths["d"]), end)


@problem_slip("queries have a scale that grows with their positions")
def no_query_scale(case: Computation) -> Iterator[Variant]:
    """The scale of queries by their positions is forgotten."""
    return without(case, "query_scale")


@problem_slip("keys are made of a latent, and the scores are divided by √d")
def scale_of_latent(case: Computation) -> Iterator[Variant]:
    """The scores are divided by the root of another width than a whole query's."""
    problem, scale = case.problem, own_scale(case.problem)
    latent, shared = (problem.lengths.get(letter) for letter in "λρ")
    if latent is None or scale is None or not _divides_by_root(problem):
        return
    features = problem.lengths["d"]
    widths = {"the latent": latent}
    if shared is not None:
        widths["the latent and the shared features"] = latent + shared
        widths["the features that are not rotated"] = features - shared
        widths["the rotated features"] = shared
    for what, width in widths.items():
        sentence = f"The scores are divided by the root of the width of {what}, {width}, instead of {features}."
        if width not in (0, features):
            yield Variant(replace(problem, scale=scale * sqrt(features / width)), sentence)


def _mscale(problem: ProblemSpec) -> float | None:
    """YaRN's mscale, from mscale_all_dim in rope's scaling, if the scale is 1/√d times its square."""
    position, features = problem.position, problem.lengths.get("d")
    scaling = None if position is None else position.parameters.get("scaling")
    if problem.scale is None or features is None or not isinstance(scaling, RopeScaling):
        return None
    weight, factor = scaling.get("mscale_all_dim"), scaling.get("factor")
    if not weight or not factor or factor <= 1:
        return None
    mscale = magnitude(factor, weight)
    return mscale if isclose(problem.scale, mscale**2 / sqrt(features), rel_tol=1e-4) else None


@problem_slip(MSCALE)
def no_mscale(case: Computation) -> Iterator[Variant]:
    """The square of mscale is forgotten: the scores are only divided by √d."""
    mscale = _mscale(case.problem)
    if mscale is not None and case.problem.scale is not None:
        yield from _with_scale(case, case.problem.scale / mscale**2)
        sentence = "The scale has mscale once, not its square."
        yield Variant(replace(case.problem, scale=case.problem.scale / mscale), sentence)


@problem_slip(MSCALE)
def mscale_twice(case: Computation) -> Iterator[Variant]:
    """The square of mscale is applied twice, as when the scale of the layer has it, and the kernel multiplies again."""
    mscale, position = _mscale(case.problem), case.problem.position
    if mscale is None or case.problem.scale is None or position is None:
        return
    yield from _with_scale(case, case.problem.scale * mscale**2)
    factor = mscale * float(position.parameters.get("attention_factor") or 1)
    turned = Operator(position.record, {**position.given, "attention_factor": factor})
    sentence = "mscale is in the scale, and cosines and sines are multiplied by it too."
    yield Variant(replace(case.problem, position=turned), sentence)
