"""A comparison from Python: what varies, what it holds, and how it shows itself."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from tests.cli.running import run_in_process
from tests.problems import write_file

FILE = "embeddings: [[1, 0, 1], [0, 2, 1], [1, 1, 0]]\ntokens: [the, cat, the]\n"
PROBLEM = attncli.Problem(embeddings=[[1, 0, 1], [0, 2, 1], [1, 1, 0]], tokens=["the", "cat", "the"])
VARY = {"normalize": ["softmax", {"entmax": {"alpha": 1.5}}], "scale": [0.5, 1]}
OPTIONS = "--vary normalize=softmax --vary normalize=entmax:alpha=1.5 --vary scale=0.5,1"


def test_the_text_and_the_json_are_those_of_the_command(tmp_path: Path) -> None:
    path = write_file(tmp_path, FILE)
    comparison = attncli.compare(attncli.load(path), VARY, set={"embeddings[cat,x2]": "1/2"}, select="weights")
    words = ["compare", path, *OPTIONS.split(), "--set", "embeddings[cat,x2]=1/2", "--select", "weights"]
    text, found = (run_in_process(*words, *more, folder=tmp_path).stdout for more in ([], ["--json"]))
    assert str(comparison).split() == text.split()
    assert json.loads(comparison.to_json()) == json.loads(found)


def test_variants_have_names_keys_and_results() -> None:
    comparison = attncli.compare(PROBLEM, VARY, select=("weights", "output"))
    names = [f"normalize={name}, scale={scale}" for name in ("softmax", "entmax:alpha=1.5") for scale in ("0.5", "1")]
    assert [variant.name for variant in comparison.variants] == names
    last = comparison.variants[-1]
    assert last.keys == {"normalize": "entmax:alpha=1.5", "scale": "1"}
    by_itself = PROBLEM.replace(normalize="entmax:alpha=1.5", scale=1).compute()
    np.testing.assert_array_equal(last.result.weights, by_itself.weights)
    assert last.statistics is not None
    np.testing.assert_array_equal(last.statistics.support, by_itself.statistics.support)
    assert last.result.explain((0, 0)) == by_itself.explain((0, 0)).replace("scores, ", "")
    assert repr(comparison) == "Comparison(normalize=softmax, scale=0.5; normalize=softmax, scale=1;...)"


def test_differences_are_from_the_first_or_between_every_two() -> None:
    pairs = {(0, 1), (0, 2), (1, 2)}
    for all_pairs, expected in ((False, {(0, 1), (0, 2)}), (True, pairs)):
        comparison = attncli.compare(PROBLEM, {"scale": [1, 2, 3]}, all_pairs=all_pairs, select="scores")
        assert {difference.variants for difference in comparison.differences} == expected
        assert {first.step for first in comparison.first_differences} == {"scores"}


@pytest.mark.parametrize(
    ("problems", "names"),
    [
        ([PROBLEM, PROBLEM.replace(score="dot")], ["problem=1", "problem=2"]),
        ({"a": PROBLEM, "b": PROBLEM.set({"embeddings[cat,0]": 3})}, ["problem=a", "problem=b"]),
    ],
    ids=["a list", "names"],
)
def test_several_problems_are_compared_as_they_are(problems: Any, names: list[str]) -> None:
    comparison = attncli.compare(problems, select="weights")
    assert [variant.name for variant in comparison.variants] == names
    alone = [problem.compute("weights") for problem in (problems.values() if isinstance(problems, dict) else problems)]
    for variant, result in zip(comparison.variants, alone, strict=True):
        np.testing.assert_array_equal(variant.result.weights, result.weights)


def test_problems_of_one_file_are_told_apart(tmp_path: Path) -> None:
    path = write_file(tmp_path, FILE)
    comparison = attncli.compare([attncli.load(path), attncli.load(path, scale=2)])
    assert [variant.name for variant in comparison.variants] == [f"problem={path}#1", f"problem={path}#2"]


def test_conventions_read_the_problem_each_in_its_way() -> None:
    x = np.random.default_rng(0).standard_normal((5, 2))
    comparison = attncli.compare(query=x[:3], key=x, causal=True, conventions=["torch-sdpa", "flash"])
    assert [variant.name for variant in comparison.variants] == ["as=torch-sdpa", "as=flash"]
    for variant in comparison.variants:
        alone = attncli.attention(x[:3], x, causal=True, convention=variant.keys["as"])
        np.testing.assert_array_equal(variant.result.output, alone.output)


def test_a_problem_keeps_its_convention_and_its_edits() -> None:
    x = np.random.default_rng(0).standard_normal((5, 2))
    problem = attncli.Problem(query=x[:3], key=x, causal=True, convention="flash").set({"key[0,0]": 7})
    comparison = attncli.compare(problem, {"scale": [1, 2]})
    np.testing.assert_array_equal(comparison.variants[1].result.output, problem.replace(scale=2).compute().output)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "one problem and nothing that varies; give vary={"),
        ({"vary": {"scal": [1]}}, "vary: unknown key 'scal'"),
        ({"vary": {"scale": 1}}, "vary, scale: 1 is not a list of values"),
        ({"vary": "scale"}, "vary: 'scale' has no keys; expected keys and lists of their values"),
        ({"vary": {"heads": [1, 2]}}, "variant heads=2, heads: 2 heads can't share the 3 features"),
        ({"conventions": "flsh"}, "conventions: unknown convention 'flsh'"),
        ({"set": {"embeddings[dog,0]": 1}}, "set embeddings[dog,0]=1.0, row: unknown token 'dog'"),
        ({"set": 3}, "set: 3 has no cells; expected cells and their numbers"),
        ({"problem": 3}, "problem: 3 is not a Problem"),
        ({"problem": []}, "problem: the list of problems is empty"),
        ({"problem": {}}, "problem: the list of problems is empty"),
        ({"problem": {"a": PROBLEM}, "scale": 1}, "problem: a Problem has its keys already"),
        ({"conventions": 3}, "conventions: 3 is not a list of names; give names of conventions, such as"),
        ({"vary": VARY, "scale": 1}, "problem: a Problem has its keys already; scale would change it"),
        ({"vary": VARY, "head": 1}, "variant normalize=softmax, scale=0.5, head: there is only head 0"),
        ({"vary": VARY, "select": (1,)}, "select: (1,) is not a list of names"),
        ({"vary": VARY, "executor": "dusk"}, "executor: "),
    ],
    ids=str,
)
def test_what_can_not_be_compared_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(attncli.AttnError) as caught:
        attncli.compare(**{"problem": PROBLEM, **keys})
    assert message in str(caught.value)


def test_a_comparison_is_pickled() -> None:
    comparison = attncli.compare(PROBLEM, VARY, select="weights")
    assert str(pickle.loads(pickle.dumps(comparison))) == str(comparison)


def test_a_notebook_shows_tables_and_differences() -> None:
    html = attncli.compare(PROBLEM.replace(tokens=["<b>", "c", "d"]), {"scale": [1, 2]})._repr_html_()
    assert "<bdi>&lt;b&gt;</bdi>" in html
    assert "<p><b>differences from scale=1</b></p>" in html


class TestSet:
    def test_replaces_numbers_of_a_new_problem(self) -> None:
        changed = PROBLEM.set({"embeddings[cat,x2]": "1/2", "embeddings[0,*]": np.float32(2)})
        assert changed.embeddings.tolist() == [[2, 2, 2], [0, 0.5, 1], [1, 1, 0]]
        assert PROBLEM.embeddings.tolist()[1] == [0, 2, 1]

    def test_an_integer_beyond_all_floats_is_infinite_as_in_an_array(self) -> None:
        assert PROBLEM.set({"embeddings[0,0]": 10**400}).embeddings[0, 0] == np.inf

    def test_edits_stay_when_other_keys_are_replaced(self) -> None:
        problem = attncli.Problem(embeddings=np.eye(2), w_q="normal", seed=1).set({"w_q[0,0]": 9})
        again = problem.replace(seed=2).set({"w_q[1,1]": 8})
        drawn = np.random.default_rng(2).normal(0, 1, (2, 2))
        assert again.w_q.tolist() == [[9, drawn[0, 1]], [drawn[1, 0], 8]]

    def test_a_mask_has_truth_values(self) -> None:
        problem = attncli.Problem(scores=np.eye(2)).set({"mask[0,1]": False})
        assert problem.compute("weights").weights[0].tolist() == [1, 0]


def test_keys_without_which_there_is_no_problem_may_be_varied() -> None:
    comparison = attncli.compare(sentence="the cat", dim=2, init="normal", vary={"seed": range(1, 4)}, select="scores")
    by_itself = attncli.attention(sentence="the cat", dim=2, init="normal", seed=3, select="scores")
    np.testing.assert_array_equal(comparison.variants[-1].result.scores, by_itself.scores)
