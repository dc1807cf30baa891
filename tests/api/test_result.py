"""A result from Python: it explains itself, marks what changed, and shows itself."""

import builtins
import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.problem.fields import RESULTS
from tests.cli.running import run_in_process
from tests.problems import write_file

PROBLEM = attncli.Problem(embeddings=[[1, 0, 1], [0, 2, 1]], tokens=["cat", "sat"], score="dot")
FILE = "embeddings: [[1, 0, 1], [0, 2, 1]]\ntokens: [cat, sat]\nscore: dot\n"
RESULT = PROBLEM.compute()
TWO_HEADS = attncli.attention(np.eye(4), np.eye(4), heads=2, select="weights")


@pytest.mark.parametrize(
    ("show", "options"),
    [
        (str, ""),
        (lambda result: result.explain(), "--explain"),
        (lambda result: result.explain(("cat", "sat")), "--explain --cell cat,sat"),
        (lambda result: result.explain("cat,sat", decimals=2, terms=1), "-e --cell cat,sat --precision 2 --terms 1"),
        (lambda result: result.explain([(0, -1), ("sat", "*")]), "--explain --cell cat,sat --cell sat,*"),
        (lambda result: result.work_out(("*", "sat"), terms="all"), "--cell *,sat --terms all"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_result_shows_what_the_command_does(show: Any, options: str, tmp_path: Path) -> None:
    ran = run_in_process("compute", write_file(tmp_path, FILE), *options.split(), folder=tmp_path)
    expected = " ".join(ran.stdout.split()).replace("--cell QUERY,KEY picks", "explain((query, key)) picks")
    assert " ".join(show(RESULT).split()) == expected


def test_a_problem_explains_what_is_selected() -> None:
    assert PROBLEM.explain(("cat", "sat")) == RESULT.explain(("cat", "sat"))
    assert "context" not in PROBLEM.explain(select="weights")


def test_heads_and_batch_items_are_chosen() -> None:
    assert "cell  head 1, query query_1" in TWO_HEADS.work_out((0, 0), head=1)
    assert "cell  every head, query query_1" in TWO_HEADS.work_out((0, 0), head="all").replace("2 cells", "cell")


def test_a_prompt_shows_the_explanation_itself() -> None:
    text = RESULT.explain()
    assert repr(text) == text
    assert max(map(len, text.splitlines())) <= 80
    assert pickle.loads(pickle.dumps(text)) == text


def test_a_large_result_is_explained_though_its_steps_were_not_kept() -> None:
    x = np.random.default_rng(0).standard_normal((700, 2))
    result = attncli.attention(x, x, score="dot", only=[0, 1])
    large = attncli.attention(x, x, score="dot")
    assert "weights" not in large.trace
    worked = result.work_out((0, 5)).split("weights  A")[1]
    assert worked in large.work_out((0, 5))


@pytest.mark.parametrize(
    ("explain", "message"),
    [
        (lambda: RESULT.explain(("cat", "dog")), "cells: unknown token 'dog'; expected one of cat, sat"),
        (lambda: RESULT.explain(3), 'cells: 3 is not a cell; expected ("cat", "sat"), with "*" for every query or key'),
        (lambda: RESULT.explain([("cat",)]), "cells: ('cat',) is not a cell"),
        (lambda: RESULT.work_out("cat"), "cells: 'cat' is not a cell; expected QUERY,KEY"),
        (lambda: RESULT.explain(head=1), "head: there is only head 0"),
        (lambda: TWO_HEADS.explain(head=-1), "head: -1 is out of range"),
        (lambda: RESULT.explain(batch="one"), "batch: 'one' is not a whole number"),
        (lambda: RESULT.explain(terms=0), "terms: 0 is out of range; expected 1 or more"),
        (lambda: RESULT.explain(decimals=18), "decimals: 18 decimals can't be shown; expected 0 to 17"),
    ],
)
def test_what_is_not_there_is_not_explained(explain: Any, message: str) -> None:
    with pytest.raises(attncli.AttnError) as caught:
        explain()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("shown", [RESULT, attncli.compare(PROBLEM, {"scale": [1, 2]})], ids=repr)
def test_a_data_frame_has_the_name_of_a_result(shown: Any) -> None:
    with pytest.raises(attncli.AttnError, match=r'^to_pandas: 3 is not a name; give one, such as "weights"$'):
        shown.to_pandas(3)


class TestChangesAreMarked:
    BEFORE = attncli.Problem(scores=[[2, 0]])
    AFTER = BEFORE.replace(scores=[[2, 1]])
    MARKED = AFTER.compute().mark_changes_since(BEFORE.compute())

    def test_in_text_in_html_and_in_explanations(self) -> None:
        assert "2      1▲" in str(self.MARKED)
        assert "0.7311▼" in self.MARKED._repr_html_()
        assert "[1▲]" in self.MARKED.explain((0, 1))

    def test_since_a_result(self) -> None:
        with pytest.raises(attncli.AttnError, match=r"^before: None is not a Result"):
            self.MARKED.mark_changes_since(None)

    def test_and_the_numbers_are_the_same_arrays(self) -> None:
        result = self.AFTER.compute()
        assert result.mark_changes_since(self.BEFORE.compute()).weights is result.weights
        assert "▲" not in str(result)


def test_what_a_large_result_did_not_keep_has_to_be_selected() -> None:
    x = np.random.default_rng(0).standard_normal((700, 2))
    large = attncli.attention(x, x)
    for read in (lambda: large.statistics, lambda: large.to_pandas("weights"), lambda: large.to_pandas("statistics")):
        with pytest.raises(attncli.AttnError) as caught:
            read()
        assert (
            str(caught.value)
            == "weights: was not kept: the problem is large; select it too: select=('output', 'weights')"
        )


def test_statistics_are_those_of_the_weights() -> None:
    statistics = TWO_HEADS.statistics
    assert statistics.support.shape == (2, 4)
    np.testing.assert_allclose(statistics.largest, TWO_HEADS.weights.max(axis=-1))


def test_the_names_of_results_are_known_to_editors() -> None:
    assert tuple(name for name in attncli.Result.__annotations__ if not name.startswith("_")) == RESULTS


def test_every_result_is_of_one_class() -> None:
    problem = attncli.Problem(query=[[1.0]], key=[[1.0]])
    results = [problem.compute(), attncli.attention([[1.0]], [[1.0]])]
    assert {type(result) for result in results} == {attncli.Result}


def test_a_result_is_copied_and_pickled() -> None:
    for again in (copy.deepcopy(RESULT), pickle.loads(pickle.dumps(RESULT))):
        assert repr(again) == "Result(scores (2, 2), weights (2, 2), output (2, 3))"
        np.testing.assert_array_equal(again.weights, RESULT.weights)


def test_of_a_large_result_the_shapes_are_printed() -> None:
    large = attncli.attention(np.ones((200, 1)), np.ones((200, 1)), select=("weights", "output"))
    assert str(large) == repr(large) == "Result(weights (200, 200), output (200, 1))"
    assert large._repr_html_().count("<td") == 31 * 21 + 31


class ZMQInteractiveShell:
    """The shell of a notebook, as Rich knows it: by its name."""


def test_in_a_notebook_texts_are_those_of_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    at_prompt = str(RESULT), RESULT.explain(), str(attncli.compare(PROBLEM, {"scale": [1, 2]}))
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    assert (str(RESULT), RESULT.explain(), str(attncli.compare(PROBLEM, {"scale": [1, 2]}))) == at_prompt


def test_a_notebook_shows_tables_and_warnings() -> None:
    result = attncli.attention(scores=[[1, 2]], mask=[[0, 0]], tokens=["<script>", "b"])
    (note,), html = result.trace.notes, result._repr_html_()
    assert "<script>" not in html
    assert "<bdi>&lt;script&gt;</bdi>" in html
    assert f"<p>⚠ {note}</p>" in html
