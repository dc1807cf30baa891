"""`attn show`: every word that attn writes is explained, and a file of arrays is listed."""

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from attncli.base.axes import LEGEND
from attncli.io import npy
from attncli.ops import kinds, operators
from attncli.plan.build import build_plan
from attncli.problem.fields import RESULTS
from attncli.problem.spec import FIELDS
from attncli.render.glossary import GLOSSARY, GlossaryTerm
from attncli.render.meanings import every_meaning, find_meanings, render_meanings
from attncli.render.target import TextTarget
from tests.cli.running import Run
from tests.problems import PROBLEMS, problem, write_file

RECORDS = [record for kind in kinds() for record in operators(kind).values()]
INNER = {name for record in RECORDS for q in record.inner for name in (q.name, q.symbol)}


@pytest.fixture(scope="module")
def explained() -> set[str]:
    """The words that mean something, as they are written."""
    return {name for meaning in every_meaning() for name in meaning.names}


def test_every_step_and_symbol_of_an_explanation_is_explained(explained: set[str]) -> None:
    nodes = {name: build_plan(problem(**keys)).nodes for name, keys in PROBLEMS.items()}
    words = {word: name for name, plan in nodes.items() for node in plan for word in (node.name, node.symbol)}
    assert len(words) > 200
    assert {word: name for word, name in words.items() if word not in explained} == {}


def test_keys_results_axes_and_inner_steps_are_explained(explained: set[str]) -> None:
    assert {*FIELDS, *RESULTS, *LEGEND, *INNER} - explained == set()


def test_every_meaning_is_a_sentence() -> None:
    assert [meaning.names for meaning in every_meaning() if not meaning.text.endswith(".")] == []


WORDS = {
    "query": {"key", "step"},
    "head": {"term"},
    "gqa": {"term"},
    "masked_scores": {"result"},
    "cross-attention": {"term"},
    "logits": {"term"},
    "causal": {"mask", "key", "term"},
    "kv cache": {"term"},
    "QKᵀ": {"term", "step"},
    "QK^T": {"term", "step"},
    "√d": {"term"},
    "sqrt(d)": {"term"},
    "M": {"step"},
    "W_Q": {"key", "step"},
    "temperature": {"term", "parameter"},
    "n": {"axis"},
    "rms": {"norm"},
}


@pytest.mark.parametrize(("word", "expected"), WORDS.items(), ids=WORDS)
def test_a_word_shows_everything_that_it_means(word: str, expected: set[str]) -> None:
    assert {meaning.kind for meaning in find_meanings(word)} >= expected


# Words that a reader of a paper or of code looks up, and what each says to use here.
ELSEWHERE = {
    "dropout": "inference",
    "transformer": "attn model",
    "encoder": "without causal",
    "decoder": "query_embeddings",
    "tril": "Give causal",
    "exp": "Softmax takes it",
    "masked_fill": "Give mask",
    "logsumexp": "denominator",
    "feed-forward": "stops before",
    "layer norm": "residual_norm",
    "valid_lens": "Give key_lengths",
    "padding": "Give key_mask",
}


@pytest.mark.parametrize(("word", "told"), ELSEWHERE.items())
def test_a_word_that_is_no_key_says_what_there_is_in_its_place(word: str, told: str, run: Run) -> None:
    assert told in " ".join(run("show", *word.split()).stdout.split())


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("training", "attn fit"),
        ("train", "attn fit"),
        ("learn", "attn fit"),
        ("loss", "attn fit"),
        ("gradient", "--gradient"),
        ("backpropagation", "--gradient"),
    ],
)
def test_a_word_of_training_names_what_learns_or_differentiates(word: str, command: str, run: Run) -> None:
    shown = run("show", word).stdout
    assert command in shown
    assert "trains nothing" not in shown


def test_a_name_of_another_library_says_what_to_give(run: Run) -> None:
    assert run("show", "num_heads").stderr == "attn: unknown name 'num_heads'; give --heads, as in --heads 2\n"


@pytest.mark.parametrize("word", ["Masked-Scores", "MASKED_SCORES", "masked scores", " masked_scores "])
def test_capitals_hyphens_and_blanks_make_no_difference(word: str, run: Run) -> None:
    assert run("show", word).stdout == run("show", "masked_scores").stdout


@pytest.mark.parametrize("term", GLOSSARY, ids=lambda term: term.name)
def test_the_glossary_refers_to_what_is_there(term: GlossaryTerm, explained: set[str]) -> None:
    assert set(term.see) <= explained
    letters = {letter for _, axes in (*term.arrays, *([term.result] if term.result else [])) for letter in axes}
    assert letters <= {*LEGEND, "1"}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_shapes_are_drawn(encoding: str, run: Run) -> None:
    shown = run("show", "query", env={"PYTHONIOENCODING": encoding}).stdout
    drawn = "  n | X |  x | W_Q | -> n | Q |\n" if encoding == "ascii" else "  n │ X │  x │ W_Q │ → n │ Q │\n"
    assert drawn in shown


def test_axes_before_rows_and_columns_stand_before_them(run: Run) -> None:
    assert "  h n │ Qₕ │  g m │ Kₕ │ → h n │ A │\n" in run("show", "gqa").stdout


def test_the_edge_of_a_box_is_as_wide_as_a_symbol_with_a_hat(run: Run) -> None:
    assert "    ┌───┐     ┌───┐\n  n │ Q │ → n │ Q̂ │\n" in run("show", "normalized_query").stdout


def test_no_picture_is_wider_than_the_terminal() -> None:
    (visible,) = find_meanings("visible")
    assert "M_causal │" in render_meanings([visible], TextTarget())
    assert "│" not in render_meanings([visible], TextTarget(width=80))


def test_where_no_word_is_near_the_list_is_named(run: Run) -> None:
    ran = run("show", "zzzz")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "attn list has the catalogue" in ran.stderr


@pytest.fixture
def files(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", np.zeros((3, 4), dtype=np.float32))
    np.savez(tmp_path / "x.npz", w_q=np.zeros((2, 3)), causal=np.array(True), tokens=np.array(["a", "b"]))
    write_file(tmp_path, "cat,1,2\ndog,3,4\n", "x.csv")
    write_file(tmp_path, "embeddings: [[1, 1/2]]\nscore: gaussian:sigma=2\ntokens: [cat]\n", "x.yaml")
    write_file(tmp_path, "[[1, 2], [3, 4]]", "x.json")
    write_file(tmp_path, '{"名前": [[1, 2]], "bias": [[3, 4]]}', "wide.json")
    return tmp_path


LISTED = {
    "x.npy": "3 × 4  float32\n",
    "x.npz": "w_q     2 × 3       float64\ncausal  one number  bool\ntokens  2           str32\n",
    "x.csv": "2 × 2  float64, 2 labels: cat, dog\n",
    "x.yaml": "embeddings  1 × 2  float64\nscore              gaussian:sigma=2\ntokens             cat\n",
    "x.json": "2 × 2  float64\n",
    "wide.json": "名前  1 × 2  float64\nbias  1 × 2  float64\n",
}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("name", "listed"), LISTED.items(), ids=LISTED)
def test_a_file_is_listed(name: str, listed: str, run: Run) -> None:
    ran = run("show", name)
    assert (ran.stdout, ran.stderr, ran.returncode) == (listed, "", 0)


def test_objects_of_a_service_are_listed_by_their_entries(run: Run, tmp_path: Path) -> None:
    lines = [{"text": "cat", "embedding": [1, 0.5]}, {"text": "dog", "embedding": [0, 2]}]
    (tmp_path / "v.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "v.json").write_text(json.dumps({"object": "list", "data": [{"index": 0, "embedding": [1, 0.5]}]}))
    shown = run("show", "v.jsonl").stdout.splitlines()
    assert [line.split(maxsplit=1) for line in shown] == [
        ["text", "cat, dog"],
        ["embedding", "2 × 2  float64, 2 labels: cat, dog"],
    ]
    assert "embedding  1 × 2  float64" in run("show", "v.json").stdout


def test_safetensors_are_listed(run: Run, tmp_path: Path) -> None:
    safetensors.numpy.save_file({"layer.0.weight": np.zeros((2, 3), dtype=np.float16)}, tmp_path / "m.safetensors")
    assert run("show", "m.safetensors").stdout == "layer.0.weight  2 × 3  F16\n"


def test_no_numbers_are_read_to_list_them(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(npy, "map_array")
    assert run("show", "x.npy").stdout == "3 × 4  float32\n"


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_a_file_that_was_cut_off_is_an_error(name: str, run: Run, files: Path) -> None:
    whole = (files / name).read_bytes()
    (files / name).write_bytes(whole[:-10])
    ran = run("show", name)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("name", ["no.npz", "no.csv"])
def test_a_missing_file_is_an_error(name: str, run: Run) -> None:
    assert run("show", name).stderr == f"attn: {name}: there is no such file\n"
