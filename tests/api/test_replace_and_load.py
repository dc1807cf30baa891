"""New problems from others: `problem.replace`, and `load` with keys that win over those of the file."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from tests.problems import write_file

FILE = """
embeddings: [[1, 0], [0, 2]]
tokens: [cat, sat]
score: dot
w_q: randint
seed: 3
expected: {weights: [[1, 0], [0, 1]]}
"""


def test_keys_win_over_those_of_the_file(tmp_path: Path) -> None:
    path = Path(write_file(tmp_path, FILE))
    problem = attncli.load(path, score="cosine", scale=2)
    assert (str(problem.score), problem.scale, problem.tokens) == ("cosine", 2.0, ("cat", "sat"))
    assert problem.expected.by_name.keys() == {"weights"}


def test_what_is_drawn_is_drawn_anew() -> None:
    problem = attncli.Problem(embeddings=np.eye(3), w_q="normal", seed=1)
    stream = np.random.default_rng(2)
    np.testing.assert_array_equal(problem.replace(seed=2).w_q, stream.normal(0, 1, (3, 3)))
    assert problem.seed == 1


def test_none_takes_a_key_away(tmp_path: Path) -> None:
    loaded = attncli.load(write_file(tmp_path, FILE), w_q=None, score=None)
    assert (loaded.w_q, str(loaded.score)) == (None, "scaled_dot")
    assert str(loaded.replace(score="dot").replace(score=None).score) == "scaled_dot"


def test_a_sentence_may_replace_embeddings(tmp_path: Path) -> None:
    loaded = attncli.load(write_file(tmp_path, FILE), embeddings=None, tokens=None, sentence="the cat", dim=2)
    assert loaded.tokens == ("the", "cat")


def test_weights_stay_as_they_are_stored() -> None:
    w_q = np.arange(6.0).reshape(3, 2)
    problem = attncli.Problem(embeddings=[[1.0, 2]], w_q=w_q, w_k=w_q, weight_layout="out_in")
    again = problem.replace(score="cosine")
    np.testing.assert_array_equal(again.w_q, w_q)
    assert np.shares_memory(again.w_q, w_q)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"w_q": "x.csv"}, "w_q: 'x.csv' is neither an array nor a generator"),
        ({"scor": "dot"}, "unknown key 'scor'"),
        ({"title": "a story"}, "unknown key 'title'"),
        ({"heads": 3}, "heads: 3"),
    ],
    ids=str,
)
def test_wrong_keys_are_refused(keys: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write_file(tmp_path, FILE)
    (tmp_path / "x.csv").write_text("1,2\n3,4\n")
    for change in (attncli.load(path).replace, lambda **keys: attncli.load(path, **keys)):
        with pytest.raises(attncli.AttnError) as caught:
            change(**keys)
        assert message in str(caught.value)


def test_a_loaded_problem_is_pickled_with_what_it_is_made_of(tmp_path: Path) -> None:
    problem = attncli.load(write_file(tmp_path, FILE), scale=2).set({"embeddings[cat,0]": 5})
    again = pickle.loads(pickle.dumps(problem)).replace(scale=None)
    np.testing.assert_array_equal(again.compute().output, problem.replace(scale=None).compute().output)


def test_a_new_problem_is_of_the_same_class() -> None:
    class Mine(attncli.Problem):
        """A problem with more."""

    assert type(Mine(scores=[[1.0]]).replace(scale=2)) is Mine


class TestAConvention:
    X = np.random.default_rng(0).standard_normal((5, 2))

    def test_reads_the_keys_everywhere(self, tmp_path: Path) -> None:
        keys = {"query": self.X[:3], "key": self.X, "causal": True}
        expected = attncli.attention(**keys, align="bottom_right").output
        np.save(tmp_path / "x.npy", self.X)
        path = write_file(tmp_path, "query: 'x.npy#[:3]'\nkey: x.npy\ncausal: true\n")
        for result in (
            attncli.attention(**keys, convention="flash"),
            attncli.Problem(**keys, convention="flash").compute(),
            attncli.load(path, query=self.X[:3], convention="flash").compute(),
            attncli.Problem(**keys).replace(convention="flash").compute(),
            attncli.Problem(**keys, convention="flash").replace(scale=None).compute(),
        ):
            np.testing.assert_array_equal(result.output, expected)
        assert attncli.check(**keys, convention="flash", against={"output": expected})
        assert attncli.check(attncli.Problem(**keys), convention="flash", against={"output": expected})
        assert not attncli.check(**keys, against={"output": expected})

    @pytest.mark.parametrize("name", ["flsh", 3])
    def test_that_nobody_has_is_refused(self, name: Any) -> None:
        with pytest.raises(attncli.AttnError, match=rf"^convention: unknown convention '{name}'"):
            attncli.Problem(scores=self.X, convention=name)


class TestAttention:
    def test_of_embeddings_and_of_a_sentence(self) -> None:
        x, w = np.eye(3), np.arange(9.0).reshape(3, 3)
        np.testing.assert_allclose(
            attncli.attention(embeddings=x, w_q=w).output, attncli.attention(x @ w, x, x).output, rtol=1e-15
        )
        assert attncli.attention(sentence="the cat sat", dim=4, seed=1).query_tokens == ("the", "cat", "sat")

    def test_of_scores_gives_weights_where_there_are_no_values(self) -> None:
        assert attncli.attention(scores=[[0, 0]]).weights.tolist() == [[0.5, 0.5]]
        assert attncli.attention(scores=[[0, 0]], value=[[1], [3]]).output.tolist() == [[2.0]]

    def test_of_nothing_says_what_to_give(self) -> None:
        with pytest.raises(attncli.AttnError, match="no input; give embeddings, or query and key"):
            attncli.attention()
