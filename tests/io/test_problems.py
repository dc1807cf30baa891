"""A Problem from files and options."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.errors import AttnError
from attncli.io.problems import Document, Written, assemble, read_document
from attncli.io.source import Origin
from attncli.problem import KEYS, Problem


def file(tmp_path: Path, text: str, name: str = "p.yaml") -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def options(**keys: Any) -> Document:
    return {key: Written(value, Origin(options=True)) for key, value in keys.items()}


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
"""
SENTENCE_KEYS = """
sentence: the cat
vocabulary: {the: [1, 2], cat: [3, 4]}
"""


def test_every_key_is_read(tmp_path: Path) -> None:
    read = set()
    for text in (EVERY_KEY, OTHER_KEYS, SENTENCE_KEYS):
        name = file(tmp_path, text)
        read |= set(read_document(name))
        assert attncli.load(name).compute().output.ndim == 2
    assert read == set(KEYS)


def test_a_problem_says_what_its_file_says(tmp_path: Path) -> None:
    problem = attncli.load(file(tmp_path, EVERY_KEY))
    assert problem.tokens == ("the", "3", "no")
    assert problem.query_labels == ("how", "why")
    assert problem.chosen_queries == [1]
    assert (str(problem.score), str(problem.normalize), str(problem.context)) == (
        "cosine:beta=2",
        "entmax:alpha=1.25",
        "sample:seed=3",
    )
    assert problem.scale == 0.5
    assert problem.w_k is not None
    assert problem.w_k.tolist() == np.eye(4).tolist()


def test_json_says_the_same_as_yaml(tmp_path: Path) -> None:
    text = '{"tokens": ["a", "b"], "embeddings": [[1, 2], [3, 4]], "score": {"gaussian": {"sigma": 2}}}'
    as_json = attncli.load(file(tmp_path, text, "p.json"))
    as_yaml = attncli.load(file(tmp_path, text, "p.yaml"))
    assert str(as_json.score) == str(as_yaml.score) == "gaussian:sigma=2"
    np.testing.assert_array_equal(as_json.compute().output, as_yaml.compute().output)


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    file(tmp_path / "in", "a,1,2\nb,3,4\n", "x.csv")
    file(tmp_path / "in", "w: [[5, 6], [7, 8]]\n", "w.yaml")
    problem = attncli.load(file(tmp_path / "in", "embeddings: x.csv\nw_q: w.yaml\nscore: general:w=w.yaml#w\n"))
    assert problem.embeddings is not None
    assert problem.embeddings.tolist() == [[1, 2], [3, 4]]
    assert problem.score.parameters["w"].tolist() == [[5, 6], [7, 8]]
    assert problem.key_labels == ("a", "b")


def test_an_option_wins_over_the_file(tmp_path: Path) -> None:
    document = read_document(file(tmp_path, "embeddings: [[1, 2]]\nscore: dot\ntokens: [a]\n"))
    problem = assemble(document | options(score="euclidean", embeddings="[[5, 6], [7, 8]]", tokens=["x", "y"]))
    assert problem.score.entry.name == "euclidean"
    assert problem.embeddings is not None
    assert problem.embeddings.tolist() == [[5, 6], [7, 8]]
    assert problem.key_labels == ("x", "y")


def test_labels_of_a_newer_table_win_over_older_tokens(tmp_path: Path) -> None:
    table = file(tmp_path, "x,1,2\ny,3,4\n", "x.csv")
    document = read_document(file(tmp_path, f"embeddings: {table}\ntokens: [a, b]\n"))
    assert assemble(document).key_labels == ("a", "b")
    assert assemble(document | options(embeddings=table)).key_labels == ("x", "y")


def test_a_vector_may_stand_in_a_row_or_a_column(tmp_path: Path) -> None:
    row, column = file(tmp_path, "1,2\n", "r.csv"), file(tmp_path, "1\n2\n", "c.csv")
    for table in (row, column):
        problem = assemble(options(embeddings="[[1, 2]]", b_q=table))
        assert problem.b_q is not None
        assert problem.b_q.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("embeddings: [[1], [2]]", ("token_1", "token_2")),
        ("query: [[1]]\nkey: [[1], [2]]", ("key_1", "key_2")),
        ("embeddings: [[1], [2]]\ntokens: [1, .5]", ("1", "0.5")),
        ("sentence: the cat\nvocabulary: {the: [1], cat: [2]}", ("the", "cat")),
        ("embeddings: {the: [1], cat: [2]}", ("the", "cat")),
    ],
)
def test_keys_have_names(text: str, labels: tuple[str, ...], tmp_path: Path) -> None:
    assert attncli.load(file(tmp_path, text)).key_labels == labels


REFUSED = {
    "an unknown key": ("embedings: [[1]]", "p.yaml: unknown key 'embedings'; did you mean 'embeddings'?"),
    "no mapping": ("[[1, 2]]", "p.yaml: is no problem; expected keys such as embeddings:"),
    "nothing": ("# nothing\n", "p.yaml: is empty"),
    "a number as text": ("embeddings: [[1]]\nheads: '2'", "p.yaml, heads: '2' is not a whole number"),
    "half a head": ("embeddings: [[1]]\nheads: 1.5", "p.yaml, heads: 1.5 is not a whole number"),
    "true heads": ("embeddings: [[1]]\nheads: true", "p.yaml, heads: True is not a whole number"),
    "no heads": ("embeddings: [[1]]\nheads: 0", "p.yaml, heads: 0 is out of range; expected 1 or more"),
    "an infinite scale": ("embeddings: [[1]]\nscale: .inf", "p.yaml, scale: inf is not a finite number"),
    "a seed below nothing": ("embeddings: [[1]]\nseed: -1", "p.yaml, seed: -1 is out of range; expected 0 or more"),
    "an infinite seed": ("embeddings: [[1]]\nseed: .inf", "p.yaml, seed: inf is not a whole number"),
    "an unknown score": ("embeddings: [[1]]\nscore: dots", "p.yaml, score: unknown score 'dots'; did you mean 'dot'?"),
    "a list as a score": ("embeddings: [[1]]\nscore: [dot]", "p.yaml, line 2, score: "),
    "a parameter out of range": (
        "embeddings: [[1]]\nnormalize: softmax:temperature=0",
        "p.yaml, normalize, softmax, temperature: 0 is out of range; expected > 0",
    ),
    "a matrix that is a list": (
        "embeddings: [1, 2]",
        "p.yaml, line 1, embeddings: has 1 axis; expected rows of numbers",
    ),
    "a vector that is a matrix": ("embeddings: [[1]]\nb_q: [[1, 2], [3, 4]]", "p.yaml, line 2, b_q: has 2 axes"),
    "a matrix without numbers": ("embeddings: [[]]", "p.yaml, embeddings: has no numbers"),
    "a matrix without rows": ("embeddings: []", "p.yaml, line 1, embeddings: has 1 axis"),
    "a label that is true": (
        "embeddings: [[1]]\ntokens: [true]",
        "p.yaml, line 2, tokens: true is no label; put the word",
    ),
    "labels and no labels": ("embeddings: [[1]]\ntokens: []", "p.yaml, line 2, tokens: has no labels"),
    "a sentence without words": (
        "sentence: the",
        "p.yaml, vocabulary: sentence is given without vocabulary; give both",
    ),
    "words without a sentence": ("vocabulary: {a: [1]}", "p.yaml, sentence: vocabulary is given without sentence"),
    "a sentence and embeddings": (
        "sentence: a\nvocabulary: {a: [1]}\nembeddings: [[1]]",
        "p.yaml, embeddings: sentence and embeddings are both given",
    ),
    "a vocabulary without words": (
        "sentence: a\nvocabulary: [[1]]",
        "p.yaml, line 2, vocabulary: has no words; expected a vector for each word",
    ),
    "a layout that is none": ("embeddings: [[1]]\nweight_layout: in", "p.yaml, weight_layout: unknown word 'in'"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_problem_is_one_line_that_names_its_place(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(AttnError) as caught:
        attncli.load(file(tmp_path, text))
    said = str(caught.value).replace(f"{tmp_path}/", "")
    assert said.startswith(message)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x.csv", "x.csv: is a table, not a problem; give it as an option: --embeddings x.csv"),
        ("x.png", "x.png: is no problem file; expected .yaml, .yml, .json or -"),
        ("no.yaml", "no.yaml: there is no such file"),
    ],
)
def test_a_file_that_is_no_problem_is_named(name: str, message: str) -> None:
    with pytest.raises(AttnError) as caught:
        attncli.load(name)
    assert str(caught.value) == message


def test_what_is_said_of_a_worked_example_is_no_part_of_the_problem(tmp_path: Path) -> None:
    told = "title: x\nabout: y\nsource: z\nexpected: {output: [[1]]}\nparts: []\ntogether: output\nembeddings: [[1]]\n"
    assert isinstance(attncli.load(file(tmp_path, told)), Problem)
