"""A result, and the problem in it, is a problem that is computed again and gives the same numbers."""

import json
import shlex
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.engine.run import run
from attncli.io import yaml
from attncli.io.assemble import assemble
from attncli.io.problem_files import read_document
from attncli.problem.spec import ProblemSpec
from attncli.render.objects import result_object, write_json
from attncli.render.target import TEXT_FILE
from attncli.render.view import View
from tests.arrays import normal
from tests.cli.running import Run, run_in_process
from tests.problems import PROBLEMS


@pytest.fixture
def run_words(tmp_path: Path) -> Run:
    """Call `attn` with these words in this process."""
    return partial(run_in_process, folder=tmp_path)


@pytest.mark.parametrize("spec", PROBLEMS, indirect=True)
def test_a_result_is_computed_again(spec: ProblemSpec, tmp_path: Path) -> None:
    result = run(spec)
    content = "".join(write_json(result_object(View(result)), TEXT_FILE))
    for name, text in (("result.json", content), ("problem.json", json.dumps(json.loads(content)["problem"]))):
        (tmp_path / name).write_text(text, encoding="utf-8")
        again = run(assemble(read_document(str(tmp_path / name))))
        assert again.trace.labels == result.trace.labels
        for selected in result.select:
            np.testing.assert_array_equal(again.trace[selected].value, result.trace[selected].value, err_msg=selected)


# Words of `attn compute` in a folder with files, whose result is computed again without a warning.
COMMANDS = [
    "--sentence 'the cat sat' --dim 2 --seed 1 --causal",
    "--seed 3 --token-count 4 --dim 6 --heads 2 --d-k 2 --d-v 4 --init normal",
    "p.yaml --w-v '1 0; 0 1' --set w_q[0,1]=7 --set embeddings[0,0]=5",
    "p.npz --causal --window inf,0",
    "--query '1/3 2; 3 4' --key w.csv --as torch-mha --mask '0 1; 0 0'",
    "--query x.npy --key x.npy --as flash --causal",
    "--query x.npy --key x.npy --as jax --dtype float32",
    "p.yaml --as torch-mha --w-v w.csv",
    "--embeddings w.csv --score gaussian:sigma=2 --mask 'window:left=1,right=inf' --position rope:base=100",
    "--embeddings w.csv --position alibi --normalize topk:k=1 --context sample:seed=3",
    "--scores '1 -inf; 2 3' --value '1; 2'",
    "--scores '1 2; 3 4' --value '1; 2' --normalize softmax:temperature=1",
    "--embeddings w.csv --score cosine:beta=3 --normalize entmax",
    "--token-table w.csv --tokens 1,0,1",
    "unscaled.yaml",
    "tables.yaml --dtype float64",
]


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("file", ["r.json", "r.yaml", "other/r.json"])
def test_a_result_of_a_command_is_computed_again(words: str, file: str, run_words: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", query=normal(3, 2), key=normal(5, 2), value=normal(5, 7))
    np.save(tmp_path / "x.npy", normal(2, 5, 3, 2))
    (tmp_path / "w.csv").write_text("a,1,2\nb,3,4\n")
    (tmp_path / "p.yaml").write_text("embeddings: w.csv\nw_q: [[1, 2], [3, 4]]\nscore: {general: {w: w.csv}}\n")
    tables = "token_table: [[1, 2], [3, 4], [5, 6]]\ntoken_positions: [[1, 0], [0, 1]]\n"
    tables += "token_types: [[1, 3]]\ntoken_norm: {layer: {gain: [2, 3]}}\n"
    (tmp_path / "tables.yaml").write_text(f"{tables}tokens: [2, 0]\ntoken_scale: 3\n")
    (tmp_path / "unscaled.yaml").write_text("token_table: [[1, 2], [3, 4], [5, 6]]\ntokens: [2, 0]\n")
    (tmp_path / "other").mkdir()
    made = run_words("compute", *shlex.split(words), "-o", file)
    assert made.returncode == 0, made.stderr
    again = run_words("compute", file, "--json", "--strict")
    assert (again.returncode, again.stderr) == (0, "")
    text = (tmp_path / file).read_text()
    before, after = json.loads(text) if file.endswith(".json") else yaml.read(text, file)[0], json.loads(again.stdout)
    for name in ("scores", "weights", "output"):
        np.testing.assert_array_equal(np.array(before.get(name), float), np.array(after.get(name), float))
    for name in ("query_tokens", "key_tokens", "pipeline"):
        assert before[name] == after[name]


def test_what_a_result_lacks_is_named(run_words: Run, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"query": {"option": "--query", "shape": [2, 2]}}')
    ran = run_words("compute", "r.json")
    assert ran.returncode == 2
    assert ran.stderr == "attn: r.json, query: its numbers are not in this result; give --query\n"


def test_python_loads_a_result(tmp_path: Path) -> None:
    result = attncli.attention([[1, 0]], [[1, 2], [3, 4]], select=("weights", "output"))
    result.save(tmp_path / "r.json")
    np.testing.assert_array_equal(attncli.load(tmp_path / "r.json").compute("weights").weights, result.weights)
