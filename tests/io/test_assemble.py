"""Problems from files and options: every key, labels, paths, and options that override."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.io.assemble import assemble
from attncli.io.problem_files import Document, Origin, read_document
from tests.problems import raw_values, write_file


def options(**keys: Any) -> Document:
    """Keys as they are given as options."""
    return raw_values(Origin(options=True), **keys)


EVERY_KEY = """
query_embeddings: [[1, 2], [3, 4]]
query_tokens: [how, why]
tokens: [the, 3, no]
embeddings: [[1, 0, 0, 1], [0, 1, 0, 1], [1, 1, 1, 0]]
w_q: [[1, 0, 0, 1], [0, 1, 1, 0]]
w_k: identity
w_v: {uniform: {low: -1}}
w_o: [[1], [2], [3], [4]]
b_q: [1, 2, 3, 4]
b_k: [1, 2, 3, 4]
b_v: zeros
b_o: [5]
weight_layout: in_out
heads: 2
score: cosine:beta=2
scale: 0.5
normalize: {entmax: {alpha: 1.25}}
context: sample:seed=3
causal: true
window: [2, inf]
mask: [[true, true, false], [true, true, true]]
bias: [[1, 2, 3]]
align: bottom_right
qk_norm: rms:eps=0.1
value_norm: layer
context_norm: {rms: {gain: [1, 2, 3, 4], over: all}}
softcap: 5
dtype: float64
position: rope:base=100,interleaved=true
positions: [0, 2, 5]
positions_of_queries: [1, 7]
query_scale: ssmax
only: [why]
seed: 3
generator: legacy
init: normal
token_count: 3
dim: 4
d_k: 4
d_v: 4
"""
OTHER_KEYS = """
query: [[1, 2]]
key: [[1, 2], [3, 4]]
value: [[1], [2]]
past_key: [[5, 6]]
past_value: [[3]]
sink: 0.5
key_lengths: 3
key_mask: [1, 1, 1]
empty_rows: nan
heads: 1
kv_heads: 1
"""
PACKED_KEYS = """
embeddings: [[1, 0], [0, 1]]
w_qkv: [[1, 0, 0, 1, 2, 3], [0, 1, 1, 0, 4, 5]]
b_qkv: [1, 2, 3, 4, 5, 6]
heads: 2
packing: per_head
"""
PACKED_PAIR_KEYS = """
embeddings: [[1, 0], [0, 1]]
w_kv: {uniform: {low: -1}}
b_kv: zeros
seed: 1
"""
GATE_KEYS = """
embeddings: [[1, 0], [0, 1]]
w_qg: [[1, 0, 0, 1], [0, 1, 1, 0]]
b_qg: ones
gate: silu
clip_qkv: 1/2
value_scale: 2
"""
GATE_ALONE_KEYS = """
embeddings: [[1, 0], [0, 1]]
w_g: [[1], [-1]]
b_g: [3]
"""
SENTENCE_KEYS = """
sentence: the cat
vocabulary: {the: [1, 2], cat: [3, 4]}
"""
RESIDUAL_KEYS = "residual: [[1, 2]]\nresidual_norm: l2\n"
TOKENS_KEYS = (
    "tokens: [2, 0]\ntoken_table: [[1, 2], [3, 4], [5, 6]]\ntoken_positions: [[0, 1], [1, 0]]\ntoken_scale: 2\n"
)
SCORES_KEYS = "scores: [[1, 2]]\nvalue: [[1], [2]]\n"
WEIGHTS_KEYS = "weights: [[1, 2]]\nvalue: [[1], [2]]\n"


@pytest.mark.parametrize(
    "text",
    [
        *(EVERY_KEY, OTHER_KEYS, PACKED_KEYS, PACKED_PAIR_KEYS, GATE_KEYS, GATE_ALONE_KEYS, SENTENCE_KEYS),
        *(RESIDUAL_KEYS, TOKENS_KEYS, SCORES_KEYS, WEIGHTS_KEYS),
    ],
)
def test_keys_that_go_together_are_read(text: str, tmp_path: Path) -> None:
    name = write_file(tmp_path, text)
    assert set(read_document(name)) == {line.partition(":")[0] for line in text.split("\n") if line}
    assert attncli.load(name).compute().output.ndim == 2


def test_a_problem_has_the_values_of_its_file(tmp_path: Path) -> None:
    problem = attncli.load(write_file(tmp_path, EVERY_KEY))
    assert problem.tokens == ("the", "3", "no")
    assert problem.query_labels == ("how", "why")
    assert problem.selected_queries == [1]
    assert (str(problem.score), str(problem.normalize), str(problem.context)) == (
        "cosine:beta=2",
        "entmax:alpha=1.25",
        "sample:seed=3",
    )
    assert problem.scale == 0.5
    assert problem.w_k is not None
    assert problem.w_k.tolist() == np.eye(4).tolist()


def test_a_problem_in_json_equals_that_in_yaml(tmp_path: Path) -> None:
    text = '{"tokens": ["a", "b"], "embeddings": [[1, 2], [3, 4]], "score": {"gaussian": {"sigma": 2}}}'
    as_json = attncli.load(write_file(tmp_path, text, "p.json"))
    as_yaml = attncli.load(write_file(tmp_path, text, "p.yaml"))
    assert str(as_json.score) == str(as_yaml.score) == "gaussian:sigma=2"
    np.testing.assert_array_equal(as_json.compute().output, as_yaml.compute().output)


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_file(tmp_path / "in", "a,1,2\nb,3,4\n", "x.csv")
    write_file(tmp_path / "in", "w: [[5, 6], [7, 8]]\n", "w.yaml")
    problem = attncli.load(write_file(tmp_path / "in", "embeddings: x.csv\nw_q: w.yaml\nscore: general:w=w.yaml#w\n"))
    assert problem.embeddings is not None
    assert problem.embeddings.tolist() == [[1, 2], [3, 4]]
    assert problem.score.parameters["w"].tolist() == [[5, 6], [7, 8]]
    assert problem.key_labels == ("a", "b")


def test_an_option_overrides_the_file(tmp_path: Path) -> None:
    document = read_document(write_file(tmp_path, "embeddings: [[1, 2]]\nscore: dot\ntokens: [a]\n"))
    problem = assemble(document | options(score="euclidean", embeddings="[[5, 6], [7, 8]]", tokens=["x", "y"]))
    assert problem.score.record.name == "euclidean"
    assert problem.embeddings is not None
    assert problem.embeddings.tolist() == [[5, 6], [7, 8]]
    assert problem.key_labels == ("x", "y")


def test_labels_of_an_option_override_tokens_of_the_file(tmp_path: Path) -> None:
    table = write_file(tmp_path, "x,1,2\ny,3,4\n", "x.csv")
    document = read_document(write_file(tmp_path, f"embeddings: {table}\ntokens: [a, b]\n"))
    assert assemble(document).key_labels == ("a", "b")
    assert assemble(document | options(embeddings=table)).key_labels == ("x", "y")


def test_of_several_options_keys_name_the_tokens_as_in_a_file(tmp_path: Path) -> None:
    key, value = (write_file(tmp_path, text, name) for text, name in (("a,1\nb,2\n", "k.csv"), ("c,3\nd,4\n", "v.csv")))
    keys = {"query": [[1]], "key": key, "value": value}
    assert assemble(options(**keys)).key_labels == assemble(raw_values(Origin(), **keys)).key_labels == ("a", "b")


@pytest.mark.parametrize(
    ("keys", "key_labels", "query_labels"),
    [
        ("embeddings: x.csv", ("a", "b"), ("a", "b")),
        ("query: y.csv\nkey: x.csv", ("a", "b"), ("c", "d")),
        ("query: [[1, 2]]\nkey: x.csv", ("a", "b"), ("query_1",)),
        ("embeddings: x.csv\nquery_embeddings: y.csv", ("a", "b"), ("c", "d")),
        ("embeddings: x.csv\nquery_embeddings: y.csv\nquery_tokens: [e, f]", ("a", "b"), ("e", "f")),
    ],
)
def test_labels_in_a_table_name_its_rows(
    keys: str, key_labels: tuple[str, ...], query_labels: tuple[str, ...], tmp_path: Path
) -> None:
    write_file(tmp_path, "a,1,2\nb,3,4\n", "x.csv")
    write_file(tmp_path, "c,1,2\nd,3,4\n", "y.csv")
    problem = attncli.load(write_file(tmp_path, keys))
    assert (problem.key_labels, problem.query_labels) == (key_labels, query_labels)


def test_a_path_of_an_option_is_relative_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    write_file(tmp_path / "in", "5,6\n", "x.csv")
    write_file(tmp_path, "1,2\n", "x.csv")
    monkeypatch.chdir(tmp_path)
    document = read_document(write_file(tmp_path / "in", "embeddings: x.csv"))
    from_file, from_option = assemble(document).embeddings, assemble(document | options(embeddings="x.csv")).embeddings
    assert from_file is not None
    assert from_file.tolist() == [[5, 6]]
    assert from_option is not None
    assert from_option.tolist() == [[1, 2]]


def test_a_wrong_option_is_named_as_it_is_typed() -> None:
    with pytest.raises(AttnError, match=r"^--b-q, number 2: \"x\" is not a number$"):
        assemble(options(embeddings="[[1, 2]]", b_q="[1, x]"))


def test_a_vector_may_be_a_row_or_a_column_of_a_table(tmp_path: Path) -> None:
    row, column = write_file(tmp_path, "1,2\n", "r.csv"), write_file(tmp_path, "1\n2\n", "c.csv")
    for table in (row, column):
        problem = assemble(options(embeddings="[[1, 2]]", b_q=table))
        assert problem.b_q is not None
        assert problem.b_q.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("embeddings: [[1], [2]]", ("token_1", "token_2")),
        ("query: [[1]]\nkey: [[1], [2]]", ("key_1", "key_2")),
        ("embeddings: [[1], [2]]\ntokens: [1, .5]", ("1", ".5")),
        ("sentence: the cat\nvocabulary: {the: [1], cat: [2]}", ("the", "cat")),
        ("embeddings: {the: [1], cat: [2]}", ("the", "cat")),
    ],
)
def test_keys_have_names(text: str, labels: tuple[str, ...], tmp_path: Path) -> None:
    assert attncli.load(write_file(tmp_path, text)).key_labels == labels


def test_keys_of_worked_examples_are_ignored(tmp_path: Path) -> None:
    text = "title: x\nabout: y\nsource: z\nexpected: {output: [[1]]}\nparts: []\ntogether: output\nembeddings: [[1]]\n"
    assert isinstance(attncli.load(write_file(tmp_path, text)), attncli.Problem)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("mask: causal", {"causal": True}),
        ("mask: {window: {left: 1, right: 0}}", {"window": (1, 0)}),
        ("mask: 'window:left=1,right=0'", {"window": (1, 0)}),
        ("mask: m.csv", {"mask": [[1, 0], [0, 1]]}),
    ],
    ids=str,
)
def test_a_mask_is_a_table_or_an_operator(text: str, keys: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("1,0\n0,1\n")
    x = [[1.0, 2.0], [0.0, 3.0]]
    by_file = attncli.load(write_file(tmp_path, f"query: {x}\nkey: {x}\n{text}\n"))
    np.testing.assert_array_equal(by_file.compute().weights, attncli.Problem(query=x, key=x, **keys).compute().weights)


def test_an_unknown_mask_suggests_the_nearest() -> None:
    with pytest.raises(AttnError, match=r"^--mask: unknown file or mask 'causl'; .*'causal'"):
        assemble(options(query="[[1]]", key="[[1]]", mask="causl"))


def test_a_list_of_entries_of_files_is_one_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "gains.npz", first=np.array([1.0, 2]), second=np.array([3.0, 5]))
    keys = "query: [[1, 2, 3, 4]]\nkey: [[1, 0, 2, 1], [0, 1, 1, 1]]\nheads: 2\n"
    gains = "qk_norm: {rms: {query_gain: ['gains.npz#first', 'gains.npz#second']}}\n"
    given = attncli.load(write_file(tmp_path, keys + gains)).qk_norm
    np.testing.assert_array_equal(given.given["query_gain"], [[1, 2], [3, 5]])
    written = attncli.load(write_file(tmp_path, "key: [[1, 0]]\nquery: ['gains.npz#first', 'gains.npz#second']\n"))
    np.testing.assert_array_equal(written.query, [[1, 2], [3, 5]])
