"""A plan is made of lengths and operators alone: small, comparable, printable, and without a number of the problem."""

import itertools
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import UnknownNameError
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.ops import operators
from attncli.plan.build import STAGED_RESULTS, build_plan, plan_of, stage_files
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import Axis, Node, Plan
from attncli.problem.fields import LSE, RENAMED_STEPS, RESULTS
from attncli.problem.spec import ProblemSpec
from tests.problems import problem


def sized(seed: int = 0, **keys: Any) -> ProblemSpec:
    """A problem with numbers of its own."""
    sequences = np.random.default_rng(seed).standard_normal((3, 47, 8))
    return problem(**dict(zip(("query", "key", "value"), sequences, strict=True)) | keys)


# Each differs from all the others in what is computed.
DIFFERENT: dict[str, dict[str, Any]] = {
    "plain": {},
    "heads": {"heads": 2},
    "fewer key heads": {"heads": 2, "key": np.ones((47, 4)), "value": np.ones((47, 4)), "kv_heads": 1},
    "more keys": {"key": np.ones((53, 8)), "value": np.ones((53, 8))},
    "wider values": {"value": np.ones((47, 9))},
    "batch items": {name: np.ones((2, 47, 8)) for name in ("query", "key", "value")},
    "another score": {"score": "dot"},
    "another normalizer": {"normalize": "sigmoid"},
    "a temperature": {"normalize": "softmax:temperature=2"},
    "a temperature that is hardly another": {"normalize": "softmax:temperature=2.0000000000000004"},
    "another context": {"context": "argmax"},
    "a scale": {"scale": 0.5},
    "a softcap": {"softcap": 3},
    "a norm": {"qk_norm": "l2"},
    "a query scale": {"query_scale": "power:length=2"},
    "another query scale": {"query_scale": "power:length=3"},
    "causal": {"causal": True},
    "chunks": {"mask": {"chunked": {"size": 2}}},
    "causal, at the end": {"causal": True, "align": "bottom_right", "query": np.ones((31, 8))},
    "a window": {"window": (3, 4)},
    "another window": {"window": (4, 3)},
    "lengths": {"key_lengths": [29]},
    "rotary positions": {"position": "rope"},
    "rotary positions with another base": {"position": "rope:base=500"},
    "a cache": {"past_key": np.ones((7, 8)), "past_value": np.ones((7, 8))},
    "output weights": {"w_o": np.ones((8, 3))},
    "some queries": {"only": [1, 2]},
    "other queries": {"only": [2, 1]},
}


def test_plans_of_problems_that_compute_different_things_differ() -> None:
    plans = {name: build_plan(sized(**keys)) for name, keys in DIFFERENT.items()}
    for (one, plan), (other, another) in itertools.combinations(plans.items(), 2):
        assert plan != another, f"{one}, {other}"


@pytest.mark.parametrize("keys", DIFFERENT.values(), ids=DIFFERENT)
def test_a_plan_built_twice_is_equal_whatever_the_numbers_and_labels(keys: dict[str, Any]) -> None:
    plan = build_plan(sized(**keys))
    tokens = [f"t{number}" for number in range(len(sized(**keys).key_labels))]
    assert plan == build_plan(sized(**keys)) == build_plan(sized(seed=1, **keys))
    assert plan == build_plan(sized(tokens=tokens, **keys))


@pytest.mark.parametrize("keys", DIFFERENT.values(), ids=DIFFERENT)
def test_a_plan_holds_no_array_of_its_problem(keys: dict[str, Any]) -> None:
    spec = sized(**keys)
    plan = build_plan(spec)
    arrays = [weakref.ref(x) for x in vars(spec).values() if isinstance(x, np.ndarray)]
    del spec
    assert arrays
    assert all(x() is None for x in arrays)
    assert plan.nodes


def test_a_plan_can_be_sent_to_another_process(spec: ProblemSpec) -> None:
    plan = build_plan(spec)
    sent = pickle.loads(pickle.dumps(plan))
    assert sent == plan
    assert len(pickle.dumps(plan)) < 20_000


def test_a_plan_knows_the_shape_of_every_step(spec: ProblemSpec) -> None:
    trace = run(spec, every_step=True).trace
    assert [step.name for step in trace.steps] == [node.name for node in trace.plan.nodes]
    for step in trace.steps:
        assert step.value.shape == step.node.shape, step.name
        if not step.node.is_input and step.tapped_from is None:
            assert (step.value.dtype == bool) == step.node.is_boolean, step.name


def test_names_are_unique_and_read_after_they_are_defined(spec: ProblemSpec) -> None:
    defined: set[str] = set()
    for node in build_plan(spec).nodes:
        assert node.name not in defined
        assert set(node.inputs.values()) <= defined, node.name
        defined.add(node.name)


def test_a_formula_is_no_markup(spec: ProblemSpec) -> None:
    """Markdown shows it in a code span."""
    assert not [node.formula for node in plan_of(spec).nodes if "`" in node.formula]


def test_every_result_name_is_the_role_of_a_node(spec: ProblemSpec) -> None:
    plan = build_plan(spec)
    has_table = spec.given_table is None and spec.recurrence is None
    for name in set(RESULTS) - {"present_state"} if has_table else spec.default_selection:
        if name != LSE or spec.normalize.record.name in ("softmax", "softmax1"):
            assert plan[name] in plan.nodes
    if spec.weights is not None or spec.recurrence is not None:
        return
    normalizing = next(node for node in plan.nodes if node.stage == "normalize" and node.tapped_from is None)
    read = plan.by_name[normalizing.inputs["scores"]]
    assert plan.results["masked_scores"] == (read.inputs["scores"] if "sink" in read.inputs else read.name)


def test_masked_scores_is_what_the_normalizer_reads_also_when_a_stage_is_added() -> None:
    """A new stage between the masks and the normalizer needs no change to the names of results."""

    def halve(builder: PlanBuilder) -> None:
        record = operators("score")["dot"]
        scores = builder.current_node("scores")
        # Any node for the scores will do: the plan is not run.
        node = Node("halved_scores", "S½", "S/2", scores.axes, "halve", record.function, {"query": scores.name})
        builder.nodes[node.name] = node
        builder.current["scores"] = node.name

    builder = PlanBuilder(sized(causal=True))
    for result, file in itertools.product(STAGED_RESULTS, stage_files()):
        for stage in file.STAGES.get(result, ()):
            if stage.__name__ == "normalize":
                halve(builder)
            stage(builder)
    plan = builder.plan()
    assert plan.results["masked_scores"] == "halved_scores"
    assert plan["weights"].inputs == {"scores": "halved_scores"}


def test_a_plan_prints_a_line_for_each_node() -> None:
    text = str(build_plan(problem(query=np.ones((3, 2)), key=np.ones((5, 2)), causal=True, heads=2)))
    assert (
        text.split("\n")
        == [
            "query              n=3 d=2      input query",
            "key                m=5 d=2      input key  (also present_key)",
            "value              m=5 e=2      identity(x=key)  (also present_value)",
            "key_positions      m=5          count(first=0, length=5)",
            "query_rows         n=3          count(first=0, length=3)",
            "query_positions    n=3          query_positions(rows=query_rows, first=0)",
            "query_heads        h=2 n=3 d=1  split_heads(x=query, heads=2)",
            "key_heads          h=2 m=5 d=1  split_heads(x=key, heads=2)",
            "value_heads        h=2 m=5 e=1  split_heads(x=value, heads=2)",
            "dot_products       h=2 n=3 m=5  inside scores",
            "scores             h=2 n=3 m=5  scaled_dot(query=query_heads, key=key_heads)"
            "  (also capped_scores, positioned_scores, biased_scores)",
            "visible_by_causal  n=3 m=5      causal(query_positions=query_positions, key_positions=key_positions)",
            "visible            n=3 m=5      and_masks(causal=visible_by_causal)",
            "masked_scores      h=2 n=3 m=5  apply_mask(scores=scores, visible=visible)",
            "exponentials       h=2 n=3 m=5  inside weights",
            "weights            h=2 n=3 m=5  softmax(scores=masked_scores, temperature=1)",
            "context            h=2 n=3 e=1  weighted_sum(weights=weights, value=value_heads)",
            "merged             n=3 e=2      merge_heads(x=context)",
            "output             n=3 e=2      identity(x=merged)",
        ]
        or text.count("present_key") == 1
    )


def test_renamed_steps_are_found_by_their_old_names() -> None:
    keys = {name: np.ones((1, 47, 8)) for name in ("query", "key", "value")}
    cache = {f"past_{name}": np.ones((1, 3, 4)) for name in ("key", "value")}
    keys |= {"key": np.ones((1, 47, 4)), "value": np.ones((1, 47, 4))} | cache
    plan = build_plan(problem(**keys, heads=2, kv_heads=1, position="rope"))
    named = {old: plan.resolve(old) for old in RENAMED_STEPS if old != "asking"}
    assert named == {old: new for old, new in RENAMED_STEPS.items() if old != "asking"}
    selected = build_plan(problem(embeddings=np.ones((4, 2)), only=[1]))
    assert selected.resolve("asking") == "selected_rows"


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown result 'weigths'; .*'weights'"):
        build_plan(sized()).resolve("weigths")


def test_inner_quantities_of_one_name_in_two_stages_have_two_names() -> None:
    builder = PlanBuilder(sized())
    axes = (Axis("n", 47), Axis("m", 47))
    builder.add("scores", "S", "given", axes, "given", source=("query",), role="scores")
    softmax = operators("normalize")["softmax"]
    for name in ("first", "second"):
        builder.add(name, "A", softmax.formula, axes, "normalize", softmax.function, {"scores": "scores"})
    plan: Plan = builder.plan()
    assert [node.name for node in plan.nodes] == ["scores", "exponentials", "first", "second_exponentials", "second"]


def test_problems_of_one_signature_share_a_plan_and_others_do_not() -> None:
    signatures = {name: sized(**keys).signature for name, keys in DIFFERENT.items()}
    assert len(set(signatures.values())) == len(DIFFERENT)
    assert sized(scale=0.0).signature != sized(scale=-0.0).signature
    for name, keys in DIFFERENT.items():
        assert sized(seed=1, **keys).signature == signatures[name]
        assert plan_of(sized(**keys)) is plan_of(sized(seed=1, **keys))
        assert plan_of(sized(**keys)) == build_plan(sized(**keys))


@pytest.mark.parametrize("keys", DIFFERENT.values(), ids=DIFFERENT)
def test_problems_that_share_a_plan_have_their_own_results(keys: dict[str, Any]) -> None:
    for seed in (1, 2, 3):
        spec = sized(seed, **keys)
        expected = run(spec, ("output",), every_step=True).output
        ours = run(spec, ("output",), options=RunOptions("serial", sizes=BlockSizes(dense_cells=0))).output
        np.testing.assert_allclose(ours, expected, rtol=1e-11, atol=1e-11)


def test_problems_that_are_drawn_from_other_seeds_share_a_plan() -> None:
    drawn = [problem(seed=seed, token_count=3, dim=dim) for seed, dim in ((1, 4), (2, 4), (1, 5))]
    assert plan_of(drawn[0]) is plan_of(drawn[1])
    assert plan_of(drawn[0]) != plan_of(drawn[2])
