"""Data frames of pandas: as inputs with their labels, and as outputs."""

import subprocess
import sys

import numpy as np
import pytest

import attncli

pd = pytest.importorskip("pandas")

X = np.random.default_rng(0).standard_normal((2, 3, 8))
BACK = np.eye(4, k=-1) + np.diag([1.0, 0, 0, 0])
MAPS_OF_HEADS = np.stack([[np.eye(4), BACK], [BACK, BACK]])
TOKENS = ["the", "cat", "the"]
RESULT = attncli.attention(X, X, heads=2, tokens=TOKENS, select=("weights", "output"))


class TestInputs:
    def test_the_index_or_a_column_of_words_has_the_labels(self) -> None:
        column = pd.DataFrame({"token": ["cat", "sat"], "x": np.array([1, 2], np.float32)})
        for frame in (column, column.set_index("token"), column.astype({"token": "category"})):
            problem = attncli.Problem(embeddings=frame)
            assert (problem.tokens, problem.dtype, problem.embeddings.tolist()) == (
                ("cat", "sat"),
                "float32",
                [[1], [2]],
            )

    def test_scores_have_labels_on_both_sides(self) -> None:
        scores = pd.DataFrame([[1, 2], [3, 4]], index=["who", "what"], columns=["cat", "sat"])
        result = attncli.attention(scores=scores)
        assert (result.query_tokens, result.key_tokens) == (("who", "what"), ("cat", "sat"))
        assert attncli.attention(scores=result.to_pandas("weights")).key_tokens == ("cat", "sat")

    def test_numbers_in_an_index_only_count(self) -> None:
        frame = pd.DataFrame({"x": [1.0, 2, 3]})
        assert attncli.Problem(embeddings=frame[frame.x > 1]).key_labels == ("token_1", "token_2")

    def test_series_are_vectors_and_labels(self) -> None:
        frame = pd.DataFrame({"token": ["cat", "sat"], "real": [1, 0]})
        problem = attncli.Problem(scores=np.eye(2), tokens=frame["token"], key_mask=frame["real"])
        assert (problem.tokens, problem.key_mask.tolist()) == (("cat", "sat"), [True, False])


class TestResults:
    def test_of_one_head_have_queries_and_keys(self) -> None:
        frame = attncli.attention(scores=[[0, 0]], tokens=["cat", "sat"]).to_pandas("weights")
        expected = pd.DataFrame([[0.5, 0.5]], pd.Index(["query_1"], name="query"), pd.Index(["cat", "sat"], name="key"))
        pd.testing.assert_frame_equal(frame, expected)

    def test_of_heads_and_batch_items_have_levels(self) -> None:
        frame = RESULT.to_pandas("weights")
        assert frame.index.names == ["batch", "head", "query"]
        assert list(frame.columns) == TOKENS
        np.testing.assert_array_equal(frame.loc[1, 0].to_numpy(), RESULT.weights[1, 0])
        np.testing.assert_array_equal(frame.xs("cat", level="query").to_numpy(), RESULT.weights[:, :, 1].reshape(4, 3))

    def test_other_steps_too(self) -> None:
        result = attncli.attention(scores=[[0, 0]], sink=[0.5], key_lengths=[1])
        assert result.to_pandas("sink").shape == (1, 1)
        assert RESULT.to_pandas("output").index.names == ["batch", "query"]

    def test_statistics_are_columns(self) -> None:
        frame = RESULT.to_pandas("statistics")
        np.testing.assert_allclose(frame["largest"], RESULT.weights.max(axis=-1).ravel())
        assert set(frame["largest_key"]) <= set(TOKENS)

    def test_what_was_not_kept_is_not_there(self) -> None:
        with pytest.raises(attncli.AttnError, match="unknown result 'foo'"):
            RESULT.to_pandas("foo")


class TestAComparison:
    COMPARISON = attncli.compare(
        query=X, key=X, heads=2, tokens=TOKENS, vary={"scale": [1, 2], "normalize": ["softmax", "sparsemax"]}
    )

    def test_is_long_with_a_row_for_each_cell(self) -> None:
        frame = self.COMPARISON.to_pandas()
        columns = ["variant", "scale", "normalize", "batch", "head", "query", "key", "scores", "weights"]
        assert (list(frame.columns), len(frame)) == (columns, 4 * 2 * 2 * 3 * 3)
        last = frame[(frame.scale == 2) & (frame.normalize == "sparsemax")]
        expected = attncli.attention(X, X, heads=2, scale=2, normalize="sparsemax", select="weights").weights
        np.testing.assert_array_equal(last.weights.to_numpy(), expected.ravel())
        assert list(last.key[:3]) == ["the#1", "cat", "the#2"]

    @pytest.mark.parametrize(
        ("name", "columns", "rows"),
        [
            ("output", ["batch", "head", "query", "feature", "output"], 4 * 2 * 3 * 8),
            ("statistics", ["batch", "head", "query", "support", "entropy"], 4 * 2 * 2 * 3),
            ("differences", ["baseline", "variant", "name", "max_abs", "kl", "first_difference"], 3 * 3),
        ],
    )
    def test_or_of_one_thing(self, name: str, columns: list[str], rows: int) -> None:
        frame = self.COMPARISON.to_pandas(name)
        assert set(columns) <= set(frame.columns)
        assert len(frame) == rows

    def test_is_the_table_that_the_command_writes(self) -> None:
        from io import StringIO

        from attncli.comparisons.long_table import write_long_csv

        comparison = attncli.compare(
            scores=[[1, 2]], vary={"normalize": ["softmax", "none"]}, select=("scores", "weights")
        )
        table = "".join(write_long_csv(comparison._data))
        pd.testing.assert_frame_equal(pd.read_csv(StringIO(table)), comparison.to_pandas(), check_dtype=False)

    def test_one_head_and_results_that_some_variants_lack(self) -> None:
        some = attncli.compare(query=X, key=X, heads=2, vary={"causal": [False, True]}, head=1, select=("weights",))
        assert set(some.to_pandas()["head"]) == set(some.to_pandas("statistics")["head"]) == {1}
        lacking = attncli.compare(
            [attncli.Problem(scores=[[1, 2]]), attncli.Problem(weights=[[0, 1]], value=np.eye(2))],
            select=("scores", "weights"),
        )
        assert list(lacking.to_pandas()["scores"].isna()) == [False, False, True, True]
        with pytest.raises(attncli.AttnError, match="to_pandas: unknown result 'output'"):
            lacking.to_pandas("output")

    def test_has_no_column_for_a_second_axis_of_features(self) -> None:
        comparison = attncli.compare(embeddings=X, w_q=np.eye(8), vary={"scale": [1, 2]}, select=("w_q",))
        with pytest.raises(attncli.AttnError, match=r"w_q has the axes \[x d\], and two columns can't both be feature"):
            comparison.to_pandas("w_q")


def test_a_large_comparison_has_no_weights_that_were_not_selected() -> None:
    x = np.random.default_rng(0).standard_normal((700, 2))
    comparison = attncli.compare(query=x, key=x, vary={"scale": [1, 2]}, select="output")
    assert len(comparison.to_pandas()) == 2 * 700 * 2
    with pytest.raises(attncli.AttnError, match="to_pandas: no variant has kept such numbers; select weights"):
        comparison.to_pandas("statistics")


def test_without_pandas_an_error_says_what_to_install() -> None:
    code = """
import sys
sys.modules["pandas"] = None
import attncli
try:
    attncli.attention(scores=[[1]]).to_pandas("weights")
except attncli.AttnError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "to_pandas: needs the package pandas; install it: pip install 'attncli[pandas]'\n"


def test_a_data_frame_has_a_row_for_each_head() -> None:
    frame = attncli.heads(MAPS_OF_HEADS).to_pandas()
    assert frame["previous"].tolist() == [0, 1, 1, 1]
    assert frame["share of previous"].tolist() == [0, 0.75, 0.75, 0.75]
    assert frame["induction"].isna().all()
    assert pd.api.types.is_float_dtype(frame["share"])
