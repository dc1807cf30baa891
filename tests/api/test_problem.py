"""The calculator from Python."""

import copy
import inspect
import io
import pickle
import pydoc
import re
import subprocess
import sys
from collections.abc import Sequence
from html import unescape
from inspect import Parameter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.engine.run import run
from attncli.ops.records import Operator
from attncli.ops.registry import look_up


def test_nested_lists_and_arrays_are_the_same() -> None:
    query, key, value = [[1, 2]], [[3, 4], [5, 6]], [[1], [2]]
    from_lists = attncli.attention(query, key, value, score="cosine", select=("weights",)).weights
    from_arrays = attncli.attention(*map(np.array, (query, key, value)), score="cosine", select=("weights",)).weights
    np.testing.assert_array_equal(from_lists, from_arrays)


def test_operators_may_be_text_or_a_mapping() -> None:
    query, key = np.eye(3), np.eye(3)
    as_text = attncli.attention(query, key, score="gaussian:sigma=2").output
    as_mapping = attncli.attention(query, key, score={"gaussian": {"sigma": 2}}).output
    np.testing.assert_array_equal(as_text, as_mapping)


def test_an_unknown_key_suggests_the_nearest() -> None:
    with pytest.raises(attncli.AttnError, match=r"unknown key 'normalise'; .*'normalize'"):
        attncli.attention([[1.0]], [[1.0]], normalise="softmax")


def test_the_inputs_are_not_changed() -> None:
    query, key = np.ones((2, 3)), np.ones((2, 3))
    attncli.attention(query, key, score="cosine", normalize="sparsemax")
    np.testing.assert_array_equal(query, np.ones((2, 3)))
    np.testing.assert_array_equal(key, np.ones((2, 3)))


LARGE = 2**62


@pytest.mark.parametrize(
    ("numbers", "score"),
    [
        ([[LARGE, 2]], 2.0**124),
        (np.array([[LARGE, 2]]), 2.0**124),
        (np.array([[2**63, 0]], dtype=np.uint64), 2.0**126),
        (np.array([[100, 100]], dtype=np.int8), 20000.0),
    ],
    ids=["a list", "int64", "uint64", "int8"],
)
def test_a_product_of_large_integers_never_wraps(numbers: Any, score: float) -> None:
    assert attncli.attention(numbers, numbers, score="dot", select=["scores"]).scores.tolist() == [[score]]


def test_rows_may_be_arrays() -> None:
    rows = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    np.testing.assert_array_equal(
        attncli.attention(rows, rows).output, attncli.attention(np.stack(rows), np.stack(rows)).output
    )


@pytest.mark.parametrize(
    ("numpys", "pythons"),
    [
        ({"heads": np.int64(2)}, {"heads": 2}),
        ({"scale": np.float32(0.5)}, {"scale": 0.5}),
        ({"score": {"gaussian": {"sigma": np.float32(0.5)}}}, {"score": "gaussian:sigma=0.5"}),
        ({"only": np.array([1])}, {"only": [1]}),
        ({"tokens": np.array(["a", "b"]), "only": "b"}, {"tokens": ["a", "b"], "only": "b"}),
    ],
    ids=["heads", "a scale", "a parameter", "positions", "labels"],
)
def test_numpy_scalars_and_strings_are_numbers_and_text(numpys: dict[str, Any], pythons: dict[str, Any]) -> None:
    query = [[1.0, 2.0], [3.0, -4.0]]
    np.testing.assert_array_equal(
        attncli.attention(query, query, **numpys).output, attncli.attention(query, query, **pythons).output
    )


@pytest.mark.parametrize("wrong", [[[True, False]], np.array([[True, False]]), [[1, None]], [["1", 2]], [[1j, 2]], "x"])
def test_values_that_are_not_numbers_are_refused(wrong: Any) -> None:
    with pytest.raises(attncli.AttnError, match=r"^query"):
        attncli.attention(wrong, [[1.0, 2.0]])


def test_a_result_has_the_selected_names_alone() -> None:
    result = attncli.attention([[1.0, 2.0]], [[1.0, 2.0]], select=("weights", "scores"))
    assert result.weights.tolist() == [[1]]
    with pytest.raises(AttributeError):
        _ = result.output


def test_one_name_may_be_selected_without_a_list() -> None:
    assert attncli.attention([[1.0, 2.0]], [[1.0, 2.0]], select="weights").weights.tolist() == [[1]]


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import attncli, sys; print([m for m in ('numpy', 'yaml', 'typer', 'rich') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_every_public_name_exists() -> None:
    for name in attncli.__all__:
        assert getattr(attncli, name) is not None
    with pytest.raises(AttributeError):
        getattr(attncli, "no_such_" + "name")


@pytest.mark.parametrize(
    ("name", "parts", "source"),
    [
        ("attncli.attention", ("[n d]", "[m e]", "[b h n d]", "Raises"), "Vaswani et al. 2017, eq. 1"),
        ("attncli.ops.scores.additive", ("query[n d]", "w1: [c a]", "→ [n m]"), "Bahdanau, Cho & Bengio 2015"),
    ],
)
def test_help_has_shapes_the_source_and_an_example(name: str, parts: tuple[str, ...], source: str) -> None:
    function: Any = pydoc.locate(name)
    text = pydoc.plain(pydoc.render_doc(function))
    for part in (*parts, source, ">>> "):
        assert part in text
    named = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind != Parameter.VAR_KEYWORD and parameter.name != "tap"
    ]
    assert set(named) <= set(re.findall(r"\w+", inspect.getdoc(function) or ""))


class Frame:
    """A data frame of a library that NumPy does not know; its index counts the rows, or has their labels."""

    def __init__(self, rows: list[list[float]], index: Sequence[Any] | None = None) -> None:
        self.rows = rows
        self.index = np.array(range(len(rows)) if index is None else index)

    def to_numpy(self) -> np.ndarray:
        return np.array(self.rows)


class TestTheValuesOfAProblemAreChecked:
    def test_integers_never_wrap(self) -> None:
        query = np.array([[100, 100]], dtype=np.int8)
        scores = attncli.Problem(query=query, key=query).compute().scores
        np.testing.assert_allclose(scores, [[20000 / np.sqrt(2)]], rtol=1e-15)

    @pytest.mark.parametrize(
        ("query", "key", "dtype"),
        [("float32", "float32", "float32"), ("float16", "float16", "float16"), ("float32", "float64", "float64")],
    )
    def test_floating_point_arrays_are_computed_in_their_common_type(self, query: str, key: str, dtype: str) -> None:
        result = attncli.Problem(query=np.ones((2, 3), query), key=np.ones((4, 3), key)).compute()
        assert result.output.dtype == np.dtype(dtype)

    def test_a_bias_does_not_decide_the_type(self) -> None:
        query = np.ones((2, 3), np.float32)
        assert attncli.Problem(query=query, key=query, bias=np.zeros((2, 2))).compute().output.dtype == np.float32

    @pytest.mark.parametrize(
        ("keys", "message"),
        [
            ({"heads": -1}, "heads: -1 is out of range; expected 1 or more"),
            ({"heads": 1.5}, "heads: 1.5 is not a whole number"),
            ({"heads": True}, "heads: True is not a whole number"),
            (
                {"align": "nonsense"},
                "align: unknown word 'nonsense'; expected one of top_left, first_key, bottom_right",
            ),
            ({"align": ["top_left"]}, "align: unknown word"),
            ({"dtype": "int8"}, "dtype: unknown word 'int8'"),
            ({"causal": 1}, "causal: 1 is neither true nor false"),
            ({"softcap": float("nan")}, "softcap: nan is not a finite number"),
            ({"score": "cosin"}, "score: unknown score 'cosin'"),
            ({"score": {"gaussian": {"sigma": 0}}}, "score, gaussian, sigma: 0 is out of range; expected > 0"),
            ({"score": {"gaussian": {"sgima": 1}}}, "score: unknown parameter of gaussian 'sgima'"),
            ({"score": 3}, "score: 3 is not a name; write NAME, NAME:key=value or {NAME: {key: value}}"),
            ({"bias": [[1, "x"]]}, 'bias, row 1, number 2: "x" is not a number'),
            ({"window": "2"}, "window: '2' is not a window; expected LEFT,RIGHT, such as 2,0"),
            ({"hedas": 2}, "unknown key 'hedas'"),
            ({"title": "a story"}, "unknown key 'title'"),
        ],
        ids=str,
    )
    def test_values_that_a_file_may_not_have_are_refused(self, keys: dict[str, Any], message: str) -> None:
        with pytest.raises(attncli.AttnError) as caught:
            attncli.Problem(query=[[1.0, 2.0]], key=[[1.0, 2.0]], **keys)
        assert str(caught.value).startswith(message)

    @pytest.mark.parametrize("given", [{}, {"sigma": 3}])
    def test_operators_may_be_given_in_every_form(self, given: dict[str, float]) -> None:
        record = look_up("score", "gaussian")
        text = "gaussian" + "".join(f":{name}={value}" for name, value in given.items())
        forms = [text, {"gaussian": given}, Operator(record, given), *([] if given else [record.function, record])]
        results = [attncli.attention([[1.0, 2]], [[3.0, 4], [0, 1]], score=form).output.tolist() for form in forms]
        assert all(result == results[0] for result in results)

    def test_the_parameters_of_an_operator_are_checked(self) -> None:
        operator = Operator(look_up("score", "gaussian"), {"sigma": -1.0})
        with pytest.raises(attncli.AttnError, match="score, gaussian, sigma: -1 is out of range"):
            attncli.Problem(query=[[1.0]], key=[[1.0]], score=operator)

    def test_an_operator_of_another_kind_is_refused(self) -> None:
        with pytest.raises(attncli.AttnError, match="score: softmax is a normalize; expected a score"):
            attncli.Problem(query=[[1.0]], key=[[1.0]], score=Operator(look_up("normalize", "softmax")))

    @pytest.mark.parametrize("name", ["x.csv", "-", "model.safetensors#w", "~/x.npy"])
    @pytest.mark.parametrize("key", ["key", "w_q", "bias", "mask", "vocabulary", "key_lengths"])
    def test_a_text_opens_no_file(self, name: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "x.csv").write_text("1,2\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1,2\n")))
        with pytest.raises(attncli.AttnError, match=rf"^{key}: '{name}' is neither an array nor a (generator|mask)"):
            attncli.Problem(**{"query": [[1.0, 2.0]], "embeddings": [[1.0, 2]], key: name})

    def test_a_text_opens_no_file_in_a_parameter(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "w.csv").write_text("1,2\n3,4\n")
        monkeypatch.chdir(tmp_path)
        for score in ("general:w=w.csv", {"general": {"w": "w.csv"}}):
            with pytest.raises(attncli.AttnError, match=r"^score, general, w: 'w.csv' .*attncli.load reads"):
                attncli.attention([[1.0, 2.0]], [[1.0, 2.0]], score=score)

    def test_generators_fill_arrays_from_a_seed(self) -> None:
        problem = attncli.Problem(embeddings=[[1.0, 2]], w_q="randint:low=0,high=3", w_k={"normal": {"std": 2}}, seed=4)
        stream = np.random.default_rng(4)
        np.testing.assert_array_equal(problem.w_q, stream.integers(0, 3, (2, 2)))
        np.testing.assert_array_equal(problem.w_k, stream.normal(0, 2, (2, 2)))

    def test_data_frames_and_labelled_rows_are_arrays(self) -> None:
        problem = attncli.Problem(query=Frame([[1.0, 2.0]]), key={"cat": [1, 2], "dog": np.array([3.0, 4.0])})
        assert problem.query.tolist() == [[1, 2]]
        assert problem.key_labels == ("cat", "dog")

    def test_the_words_in_the_index_of_a_data_frame_are_labels(self) -> None:
        rows = [[1.0, 2.0], [3.0, 4.0]]
        problem = attncli.Problem(query=Frame(rows, ["who", "what"]), key=Frame(rows, ["cat", "dog"]))
        assert problem.query_labels == ("who", "what")
        assert problem.key_labels == ("cat", "dog")
        assert attncli.Problem(embeddings=Frame(rows, ["cat", "dog"]), only="dog").query_labels == ("cat", "dog")
        assert attncli.Problem(query=rows, key=Frame(rows, [7, 8])).key_labels == ("key_1", "key_2")
        chosen = attncli.Problem(query=rows, key=Frame(rows, ["cat", "dog"]), tokens=["a", "b"])
        assert chosen.key_labels == ("a", "b")

    def test_a_data_frame_with_words_in_its_index_is_a_vocabulary(self) -> None:
        vocabulary = Frame([[1.0, 2.0], [3.0, 4.0]], ["cat", "dog"])
        assert attncli.Problem(sentence="dog cat", vocabulary=vocabulary).embeddings.tolist() == [[3, 4], [1, 2]]
        with pytest.raises(attncli.AttnError, match="vocabulary: has no words"):
            attncli.Problem(sentence="dog cat", vocabulary=Frame([[1.0, 2.0]]))

    def test_arrays_are_not_copied(self) -> None:
        query = np.ones((3, 2), np.float32)
        assert attncli.Problem(query=query, key=query).query is query
        problem = attncli.Problem(embeddings=query, w_q=query, w_k=query, weight_layout="out_in")
        assert np.shares_memory(problem.spec.w_q, query)


def test_weights_are_in_out_in_a_spec_and_as_they_were_given_in_a_problem() -> None:
    w_q, w = np.arange(6.0).reshape(2, 3), np.arange(4.0).reshape(2, 2)
    problem = attncli.Problem(
        embeddings=[[1.0, 2, 3]], w_q=w_q, w_k=w_q, score={"general": {"w": w}}, weight_layout="out_in"
    )
    np.testing.assert_array_equal(problem.w_q, w_q)
    np.testing.assert_array_equal(problem.spec.w_q, w_q.T)
    np.testing.assert_array_equal(problem.spec.score.parameters["w"], w.T)
    same = attncli.Problem(embeddings=[[1.0, 2, 3]], w_q=w_q.T, w_k=w_q.T, score={"general": {"w": w.T}})
    np.testing.assert_array_equal(problem.compute().output, same.compute().output)


def test_defaults_of_operators_are_resolved() -> None:
    problem = attncli.Problem(query=[[1.0, 2]], key=[[1.0, 2]], position="rope:scaling=2", score="gaussian")
    assert problem.position.options["base"] == 10000
    assert problem.position.options["scaling"] == 2
    assert problem.score.parameters == {"sigma": 1.0}


def test_a_problem_has_its_lengths_and_layout() -> None:
    x = np.ones((2, 5, 12))
    problem = attncli.Problem(
        query=x, key=x[:, :, :6], past_key=x[:, :3, :6], past_value=x[:, :3, :6], heads=4, kv_heads=2
    )
    expected = {"b": 2, "h": 4, "g": 2, "n": 5, "k": 5, "p": 3, "m": 8, "d": 3, "c": 3, "e": 3}
    assert dict(problem.lengths) == expected
    assert (problem.leading.heads, problem.leading.kv_heads, problem.leading.splits_heads) == (
        4,
        2,
        True,
    )


def test_a_problem_has_a_dir_and_a_repr() -> None:
    problem = attncli.Problem(query=[[1.0, 2.0]], key=[[1.0, 2.0]])
    assert {"query", "score", "lengths", "compute"} <= set(dir(problem))
    assert "__dataclass_fields__" not in dir(problem)  # nor what else is private to its data
    assert (
        repr(problem) == "Problem(query (1, 2), key (1, 2), score=scaled_dot, normalize=softmax, context=weighted_sum)"
    )
    with pytest.raises(AttributeError):
        _ = problem.no_such_name


def test_a_notebook_shows_the_keys_of_a_problem() -> None:
    problem = attncli.Problem(
        embeddings=np.eye(2),
        tokens=["<b>", "sat"],
        w_q="normal",
        seed=1,
        window=(1, 0),
        score="cosine:beta=2",
        causal=True,
    )
    html = problem.set({"w_q[0,0]": 9}).replace(convention="flash", causal=True)._repr_html_()
    cells = [unescape(cell) for cell in re.findall(">([^<>]+)</t[hd]>", html)]
    assert dict(zip(cells[::2], cells[1::2], strict=True)) == {
        "embeddings": "2 × 2",
        "tokens": "<b>, sat",
        "w_q": "2 × 2",
        "score": "cosine:beta=2",
        "causal": "true",
        "window": "1, 0",
        "seed": "1",
        "set": "w_q[0,0]=9",
    }
    assert "Problem, as flash" in html


def test_a_problem_can_not_be_changed() -> None:
    problem = attncli.Problem(query=[[1.0, 2.0]], key=[[1.0, 2.0]])
    for name in ("causal", "spec", "no_such_name"):
        with pytest.raises(AttributeError, match=f"{name}: a Problem can't be changed; make a new one"):
            setattr(problem, name, True)
    assert not problem.causal


@pytest.mark.parametrize("select", [None, (1,), 5, ("output", None), np.array("output"), [["output"]]], ids=repr)
def test_what_is_no_list_of_names_can_not_be_selected(select: Any) -> None:
    x = [[1.0, 2.0]]
    for compute in (attncli.Problem(query=x, key=x).compute, lambda select: attncli.attention(x, x, select=select)):
        with pytest.raises(attncli.AttnError, match=r"^select: .* is not a list of names; give names of results"):
            compute(select)


@pytest.mark.parametrize("executor", [None, 1, b"threads", np.zeros((9, 9))], ids=["None", "1", "bytes", "an array"])
def test_an_executor_is_a_name(executor: Any) -> None:
    with pytest.raises(
        attncli.AttnError, match=r"^executor: .* is not a name; expected one of threads, serial, tcp://"
    ):
        attncli.attention([[1.0]], [[1.0]], executor=executor)


def test_a_problem_is_copied_and_pickled() -> None:
    problem = attncli.Problem(query=[[1.0, 2.0]], key=[[1.0, 2.0]], score="cosine", only=[0])
    for again in (copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        np.testing.assert_array_equal(again.compute().output, problem.compute().output)


class TestAMaskMayBeAnOperator:
    X = np.random.default_rng(3).standard_normal((5, 4))

    @pytest.mark.parametrize(
        ("mask", "keys"),
        [
            ("causal", {"causal": True}),
            ({"causal": None}, {"causal": True}),
            ("window:left=2,right=0", {"window": (2, 0)}),
            ({"window": {"left": 2, "right": 0}}, {"window": (2, 0)}),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("more", [{}, {"align": "bottom_right"}, {"only": [1, 4]}, {"bias": [[0.5, -np.inf]]}])
    def test_which_equals_the_key_of_that_name(self, mask: Any, keys: Any, more: Any) -> None:
        by_name = attncli.Problem(query=self.X, key=self.X, mask=mask, **more).compute(("weights", "output"))
        by_key = attncli.Problem(query=self.X, key=self.X, **keys, **more).compute(("weights", "output"))
        np.testing.assert_array_equal(by_name.weights, by_key.weights)
        np.testing.assert_array_equal(by_name.output, by_key.output)

    def test_large_problems_too(self) -> None:
        x = np.random.default_rng(0).standard_normal((700, 8))
        by_name = attncli.attention(x, x, mask="window:left=3,right=1").output
        np.testing.assert_allclose(by_name, attncli.attention(x, x, window=(3, 1)).output, rtol=1e-12)

    def test_key_lengths_have_to_be_there(self) -> None:
        with pytest.raises(attncli.AttnError, match=r"^mask: key_lengths needs key_lengths, which are not given"):
            attncli.attention(self.X, self.X, mask="key_lengths")

    @pytest.mark.parametrize("name", ["mask", "bias"])
    def test_a_rule_that_reads_a_table_has_to_get_the_table(self, name: str) -> None:
        with pytest.raises(attncli.AttnError, match=f"^mask: {name} needs a table of the scores' shape"):
            attncli.attention(self.X, self.X, mask=name)

    def test_a_misspelt_name_lists_masks(self) -> None:
        with pytest.raises(attncli.AttnError, match=r"^mask: 'causl' is neither an array nor a mask; .*causal"):
            attncli.attention(self.X, self.X, mask="causl")
        with pytest.raises(attncli.AttnError, match=r"^mask: unknown parameter of window 'lef'; .*'left'?"):
            attncli.attention(self.X, self.X, mask="window:lef=1,right=0")
        with pytest.raises(attncli.AttnError, match=r"^mask: window needs right; for example window:right=2"):
            attncli.attention(self.X, self.X, mask="window:left=1")


def test_an_engine_takes_the_spec_of_a_problem_and_not_the_problem() -> None:
    """Its weights are as they were given, which is not as plans read them."""
    problem = attncli.Problem(query=[[1.0, 2.0]], key=[[3.0, 4.0]])
    assert run(problem.spec, ("output",)).output.tolist() == [[3.0, 4.0]]
    with pytest.raises(AttributeError, match="pass the spec of the problem"):
        run(problem, ("output",))


def test_a_list_that_contains_itself_is_an_error_and_no_endless_loop() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(attncli.AttnError, match="lists are nested too deep"):
        attncli.attention(endless, [[1.0]])
