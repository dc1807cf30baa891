"""Slips of sparse selection: the scores of an indexer, and the choice of keys by them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.checks.slips.records import Computation, FittedNumber, Variant, plan_slip, problem_slip, without
from attncli.ops import selection
from attncli.plan.graph import Node

AN_INDEXER = "an indexer chooses keys"
_OTHER_PAIRS = {"halves": ("pairs", "neighbours, not halves,"), "pairs": ("halves", "halves, not neighbours,")}


def _scores(case: Computation) -> Node | None:
    """The node of the scores that an indexer computes; None if there is none, or they are given."""
    node = case.node("index_scores")
    return None if node is None or node.is_input else node


def _choices(case: Computation) -> Sequence[Node]:
    """The rules that choose keys by index scores."""
    return [node for node in case.plan.nodes if node.record is not None and node.record.reads_rows]


def _changed_scores(case: Computation, **options: Any) -> Iterator[Variant]:
    """The computation with other index scores."""
    node = _scores(case)
    if node is not None:
        yield Variant(case.with_function(node.name, _wrong_index_scores, **options))


def _wrong_index_scores(
    query: Array, key: Array, weights: Array, *, has_relu: bool = True, has_weights: bool = True, **options: Any
) -> Array:
    """Index scores whose products keep their sign, or whose heads all count the same."""
    weights = weights if has_weights else np.ones_like(weights)
    scores = selection.index_scores(query, key, weights, **options)
    # ReLU(x) − ReLU(−x) = x
    return scores if has_relu else scores - selection.index_scores(-query, key, weights, **options)


@plan_slip(AN_INDEXER)
def no_index_relu(case: Computation) -> Iterator[Variant]:
    """The products of the indexer keep their sign: ReLU is left out."""
    yield from _changed_scores(case, has_relu=False)


@plan_slip(AN_INDEXER)
def no_index_weights(case: Computation) -> Iterator[Variant]:
    """All heads of the indexer count alike: their weights are left out."""
    yield from _changed_scores(case, has_weights=False)


@problem_slip("the keys of an indexer are normalized")
def no_index_norm(case: Computation) -> Iterator[Variant]:
    """The norm of the indexer's keys is forgotten."""
    return without(case, "k_index_norm")


@problem_slip("rope turns features of an indexer")
def no_index_rope(case: Computation) -> Iterator[Variant]:
    """Rope does not turn the features of the indexer."""
    return without(case, "index_rope")


@problem_slip("rope turns features of an indexer, and several pairs")
def index_rope_pairs(case: Computation) -> Iterator[Variant]:
    """Rope turns other pairs of the indexer's features: neighbours instead of halves, or the reverse."""
    if case.problem.index_rope is not None:
        rope, said = _OTHER_PAIRS[case.problem.index_rope]
        yield Variant(replace(case.problem, index_rope=rope), f"Rope turns {said} in the indexer.")


@plan_slip("keys are chosen by index scores, and other rules hide keys")
def top_before_mask(case: Computation) -> Iterator[Variant]:
    """The keys are chosen before the other masks: keys that these hide are among those that a query keeps."""
    nodes = [node for node in _choices(case) if "candidates" in node.inputs]
    if nodes:
        only = {"index_scores": "index_scores"}
        yield Variant(case.with_nodes(*(replace(node, inputs=only) for node in nodes)))


def _counts(case: Computation) -> Sequence[float]:
    """How many keys a query may keep, except the right number."""
    own = {node.options["keys"] for node in _choices(case)}
    return [keys for keys in range(1, case.key_count + 1) if keys not in own] if len(own) == 1 else []


@plan_slip(
    "keys are chosen by index scores",
    number=FittedNumber("keys", _counts, is_whole=True, is_size=True),
)
def top_of_other_size(case: Computation, number: int) -> Iterator[Variant]:
    """A query keeps one key more or less than it should, or another number of them."""
    nodes = _choices(case)
    if nodes and any(node.options["keys"] != number for node in nodes):
        own = nodes[0].options["keys"]
        sentence = f"A query keeps {count_of(number, 'key')} instead of {own}."
        yield Variant(
            case.with_nodes(*(replace(node, options={**node.options, "keys": number}) for node in nodes)), sentence
        )
