"""Purposes: every step says in one sentence what it is for."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from attncli.ops.decorators import score
from attncli.ops.records import Quantity, Tap, no_tap
from attncli.ops.registry import kinds, operators
from attncli.plan.build import build_plan, purposes
from attncli.problem.fields import RESULTS
from attncli.render.meanings import every_step
from tests.arrays import normal
from tests.problems import GROUPS, PROBLEMS, TOKENS, D, E, G, H, N, P, problem

VOCABULARY = {"a": normal(D)}
# What PROBLEMS do not have together with what makes the step.
MORE_PROBLEMS: dict[str, Mapping[str, Any]] = {
    "a sentence": {"sentence": "a a", "vocabulary": VOCABULARY},
    "rope and a cache with heads in the features": {
        **TOKENS,
        "heads": G,
        "kv_heads": G,
        "w_q": normal(13, G * D),
        "past_key": normal(1, P, G * D)[0],
        "past_value": normal(1, P, G * E)[0],
        "position": "rope",
    },
    "gradients in groups of heads": {
        **TOKENS,
        **GROUPS,
        "softcap": 2.0,
        "bias": normal(N, N),
        "sink": normal(H),
        "causal": True,
        "grad_output": normal(N, H * E),
    },
    "biases": {"embeddings": normal(N, D), **{name: normal(D) for name in ("b_q", "b_k", "b_v", "b_o")}},
}
ALL_PROBLEMS = {**PROBLEMS, **MORE_PROBLEMS}


def is_sentence(text: str) -> bool:
    return text[:1].isupper() and text.endswith(".") and "\n" not in text and len(text) > 10


@pytest.mark.parametrize("keys", ALL_PROBLEMS.values(), ids=ALL_PROBLEMS)
def test_every_node_of_a_plan_has_a_sentence(keys: Mapping[str, Any]) -> None:
    plan = build_plan(problem(**keys))
    assert {node.name for node in plan.nodes if not is_sentence(node.purpose)} == set()


def test_every_sentence_is_that_of_a_step_or_a_result() -> None:
    plans = [build_plan(problem(**keys)) for keys in ALL_PROBLEMS.values()]
    named = {node.name for plan in plans for node in plan.nodes if node.record is None and node.tapped_from is None}
    assert set(purposes()) - named - set(RESULTS) == set()


def test_every_step_is_one_that_attn_show_knows() -> None:
    plans = [build_plan(problem(**keys)) for keys in ALL_PROBLEMS.values()]
    names = {node.name for plan in plans for node in plan.nodes if len(node.source) < 2 and node.tapped_from is None}
    assert names - set(every_step()) == set()
    assert set(purposes()) - set(every_step()) - set(RESULTS) == set()


@pytest.mark.parametrize("kind", kinds())
def test_every_operator_and_every_array_inside_it_has_a_sentence(kind: str) -> None:
    for record in operators(kind).values():
        texts = [record.summary, *(inner.purpose for inner in record.inner)]
        texts += [derived.purpose for derived in record.derived.values()]
        assert [text for text in texts if not is_sentence(text)] == []


@pytest.mark.usefixtures("restored_registry")
def test_an_array_inside_an_operator_of_your_own_may_lack_a_sentence() -> None:
    @score(
        formula="Sᵢⱼ = Qᵢ·Kⱼ",
        shapes="query[n d], key[m d] -> [n m]",
        source="this test",
        example={"query": [[1]], "key": [[2]], "gives": [[2]]},
        inner=(Quantity("similarities", "P", "Qᵢ·Kⱼ", ("n", "m")),),
    )
    def mine(query: np.ndarray, key: np.ndarray, *, tap: Tap = no_tap) -> np.ndarray:
        """The dot product."""
        return tap("similarities", query @ key.mT)

    plan = build_plan(problem(query=[[1.0]], key=[[2.0]], score="mine"))
    assert plan["similarities"].purpose == "An inner step of scores."
