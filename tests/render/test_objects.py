"""The problem in the JSON of a result: every key in force, and no other."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from attncli import load
from attncli.base.program import __version__
from attncli.engine.run import run as run_problem
from attncli.problem.spec import FIELDS
from attncli.render.objects import problem_object
from tests.cli.running import run_in_process

SAMPLES = sorted(Path("samples").resolve().glob("*.yaml"))
ALWAYS = {"score", "normalize", "context", "dtype"}
# The keys that are in force although no sample names them, by what a problem must have for that.
IMPLIED = {
    "weight_layout": {"w_q", "w_k", "w_v", "w_o"},
    "generator": {"seed"},
    "align": {"causal", "window"},
}


def json_of(folder: Path, *words: str) -> dict[str, Any]:
    """The object that a computation writes."""
    ran = run_in_process("compute", *words, "--json", folder=folder)
    result: dict[str, Any] = json.loads(ran.stdout)
    return result


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_key_of_a_sample_is_named_and_no_other(path: Path) -> None:
    given = set(yaml.safe_load(path.read_text(encoding="utf-8"))) & set(FIELDS)
    described = problem_object(run_problem(load(path).spec).trace)
    implied = {key for key, any_of in IMPLIED.items() if given & any_of}
    assert given | ALWAYS <= set(described)
    assert set(described) <= given | ALWAYS | implied | {"weight_layout", "w_q", "w_k", "w_v", "tokens"}
    assert implied <= set(described)
    arrays = {key for key, value in described.items() if isinstance(value, dict) and "shape" in value}
    assert {key for key in given if FIELDS[key].kind in ("matrix", "vector", "vocabulary")} <= arrays


# The words of the command, and what is said of some keys; None where a key is not in force.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "an option": (
        "--query [[1,0]] --key k.csv --scale 0.5",
        {
            "tokens": ["a", "b"],
            "query": {"option": "--query", "shape": [1, 2], "value": [[1, 0]]},
            "key": {"file": "k.csv", "shape": [2, 2]},
            "score": "scaled_dot",
            "scale": 0.5,
            "normalize": "softmax:temperature=1",
            "context": "weighted_sum",
            "dtype": "float64",
            "value": None,
            "causal": None,
            "weight_layout": None,
            "generator": None,
        },
    ),
    "an operator's arrays": (
        "--query k.csv --key k.csv --seed 1 --score additive:w1=w.yaml#w_1,w2=normal,v=[1,2]",
        {
            "score": {
                "additive": {
                    "b": 0,
                    "activation": "tanh",
                    "w1": {"file": "w.yaml#w_1", "shape": [2, 2]},
                    "w2": {
                        "generator": "normal:mean=0,std=1",
                        "shape": [2, 2],
                        "value": np.random.default_rng(1).standard_normal((2, 2)).tolist(),
                    },
                    "v": {"option": "--score", "shape": [2], "value": [1, 2]},
                }
            },
            "seed": 1,
            "generator": "pcg64",
        },
    ),
    "a problem in a folder": ("made/p.yaml", {"query": {"file": "made/../k.csv", "shape": [2, 2]}}),
    "the value of an option over that of a file": (
        "made/p.yaml --softcap 7 --no-causal",
        {"softcap": 7, "causal": None},
    ),
    "stored the other way": (
        "--embeddings k.csv --w-q [[1,2],[3,4],[5,6]] --w-k [[1,2],[3,4],[5,6]] --weight-layout out_in",
        {
            "w_q": {"option": "--w-q", "shape": [3, 2], "value": [[1, 2], [3, 4], [5, 6]]},
            "weight_layout": "out_in",
        },
    ),
    "numbers that JSON can't hold": (
        "--query k.csv --key k.csv --window 1,inf --mask causal",
        {"window": [1, "Infinity"], "mask": "causal", "align": "top_left"},
    ),
    "a sentence that is drawn": (
        "--sentence a_b_a --dim 4 --seed 1",
        {
            "sentence": "a_b_a",
            "vocabulary": {
                "generator": "normal:mean=0,std=1",
                "shape": [1, 4],
                "value": {"a_b_a": np.random.default_rng(1).standard_normal((1, 4))[0].tolist()},
            },
            "seed": 1,
            "generator": "pcg64",
            "dim": 4,
            "tokens": None,
            "embeddings": None,
            "init": None,
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_keys_in_force(case: str, tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("a,1,0\nb,0,1\n")
    (tmp_path / "w.yaml").write_text("w_1: [[1, 0], [0, 1]]\n")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "p.yaml").write_text("query: ../k.csv\nkey: ../k.csv\ncausal: true\nsoftcap: 5\n")
    words, expected = CASES[case]
    described = json_of(tmp_path, *words.split(" "))["problem"]
    assert {key: described.get(key) for key in expected} == expected


def test_what_nothing_reads_is_not_in_force(tmp_path: Path) -> None:
    result = json_of(tmp_path, "--embeddings", "[[1,0]]", "--align", "bottom_right", "--seed", "3")
    assert set(result["problem"]) == {*ALWAYS, "embeddings"}


def test_yaml_has_the_problem_and_the_version_too(tmp_path: Path) -> None:
    sizes = ("--seed", "1", "--token-count", "2", "--dim", "2")
    words = ("compute", *sizes, "--score", "additive:w1=normal,w2=normal,v=[1,2]")
    as_json = json_of(tmp_path, *words[1:])
    as_yaml = yaml.safe_load(run_in_process(*words, "-f", "yaml", folder=tmp_path).stdout)
    assert as_yaml["problem"] == as_json["problem"]
    assert list(as_json)[:4] == list(as_yaml)[:4] == ["format", "version", "problem", "pipeline"]
    assert as_json["version"] == __version__
