"""The values of varied keys, from words of the command line and from Python."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.problem_files import Origin
from attncli.io.variants import read_varied, varied_keywords
from tests.problems import write_file


def texts(*words: str) -> dict[str, list[str]]:
    """The texts of the values of each key."""
    return {key: [value.text for value in values] for key, values in read_varied(words, Origin()).items()}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["scale=0.5,1, 2"], {"scale": ["0.5", "1", "2"]}),
        (["seed=8..11"], {"seed": ["8", "9", "10", "11"]}),
        (["seed=1..3,7", "seed=9"], {"seed": ["1", "2", "3", "7", "9"]}),
        (["scale=-1..1"], {"scale": ["-1", "0", "1"]}),
        (["scale=1/sqrt(2),1"], {"scale": ["1/sqrt(2)", "1"]}),
        (["normalize=softmax", "scale=1", "normalize=relu"], {"normalize": ["softmax", "relu"], "scale": ["1"]}),
        (["normalize=topk:k=2", "window=1,0"], {"normalize": ["topk:k=2"], "window": ["1,0"]}),
        (["tokens=a,b"], {"tokens": ["a,b"]}),
        (
            ["normalize.temperature=0.5,2", "normalize=softmax"],
            {"normalize.temperature": ["0.5", "2"], "normalize": ["softmax"]},
        ),
        (["position.base=10..12"], {"position.base": ["10", "11", "12"]}),
        (["score.w=1,0;0,1"], {"score.w": ["1,0;0,1"]}),
        (["score=gaussian:sigma=2,dot"], {"score": ["gaussian:sigma=2", "dot"]}),
        (["score=dot, gaussian:sigma=2"], {"score": ["dot", "gaussian:sigma=2"]}),
        (
            ["position=rope:base=10,interleaved=true,alibi,null"],
            {"position": ["rope:base=10,interleaved=true", "alibi", "null"]},
        ),
        (["score=general:w=[[1, 0], [0, 1]],cosine"], {"score": ["general:w=[[1, 0], [0, 1]]", "cosine"]}),
        (["dtype=float32,float64"], {"dtype": ["float32", "float64"]}),
        (["causal=true,false,null"], {"causal": ["true", "false", "null"]}),
        (["mask=1,0,1", "mask=true,false"], {"mask": ["1,0,1", "true,false"]}),
        (["init=normal:mean=1,std=2,zeros"], {"init": ["normal:mean=1,std=2", "zeros"]}),
        (["mask=null", "mask=1 0; 1 1"], {"mask": ["null", "1 0; 1 1"]}),
    ],
)
def test_values_are_between_commas_where_a_key_has_one_number_and_where_a_name_follows(
    words: list[str], expected: dict[str, list[str]]
) -> None:
    assert texts(*words) == expected
    assert list(texts(*words)) == list(expected)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("scale=2", 2),
        ("causal=true", True),
        ("causal=false", False),
        ("causal=null", None),
        ("position=none", None),
        ("qk_norm=off", None),
        ("dtype=float32", "float32"),
        ("only=cat,sat", ("cat", "sat")),
        ("window=1,-1", (1, float("inf"))),
        ("normalize=entmax:alpha=1.5", "entmax:alpha=1.5"),
    ],
)
def test_a_value_is_what_its_option_takes(word: str, value: Any) -> None:
    ((varied,),) = read_varied([word], Origin()).values()
    converted = varied.raw.value
    assert (str(converted) if word.startswith("normalize") else converted) == value


def test_a_file_is_read_once_relative_to_where_the_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_file(tmp_path, "1,0\n0,1\n", "m.csv")
    monkeypatch.chdir(tmp_path)
    ((varied,),) = read_varied(["w_q=m.csv"], Origin()).values()
    Path(file).unlink()
    assert varied.raw.value.array.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scale"], "--vary: 'scale' is not KEY=VALUE; expected KEY=VALUE, such as normalize=softmax,sparsemax"),
        (["=1"], "--vary: '=1' is not KEY=VALUE"),
        (["sead=1"], "--vary: unknown key 'sead'"),
        (["kv-heads=1"], "--vary: unknown key 'kv-heads'"),
        (["scale="], "--vary scale: a value is empty; scale=null is the problem without the key"),
        (["scale=1,,2"], "--vary scale: a value is empty"),
        (["scale=a"], "--vary scale: 'a' is not a finite number"),
        (["heads=1.5"], "--vary heads: 1.5 is not a whole number"),
        (["heads=0"], "--vary heads: 0 is out of range; expected 1 or more"),
        (["causal=yes"], "--vary causal: 'yes' is neither true nor false"),
        (["normalize=softmx"], "--vary normalize: unknown normalize 'softmx'"),
        (["normalize=entmax:alpha=0"], "--vary normalize, entmax, alpha: 0 is out of range; expected ≥ 1"),
        (["mask=none.csv"], "none.csv: there is no such file"),
        (["scale=1..3.5"], "--vary scale: '1..3.5' is not a range; expected two whole numbers, such as scale=1..10"),
        (["seed=5..1"], "--vary seed: the range 5..1 is empty; did you mean 1..5?"),
        (["seed=1..10001"], "--vary seed: the range 1..10001 has 10,001 numbers; at most 10,000 variants are compared"),
        (
            ["normalize.temprature=1"],
            "--vary: unknown parameter of normalize 'temprature'; did you mean 'temperature'?",
        ),
        (["scale.a=1"], "--vary: unknown key 'scale.a'"),
        (
            ["normalize=softmax,rleu"],
            "--vary normalize: unknown normalize 'rleu'; did you mean 'relu'?",
        ),
        (
            ["normalize=entmax:alpha=1.2,1.5"],
            "--vary normalize: '1.5' is not key=value; "
            "vary the parameter: --vary normalize=entmax --vary normalize.alpha=1.2,1.5",
        ),
        (["scale=1,1.0"], "--vary scale: 1.0 is given twice; give each value once"),
        (["causal=true", "causal=true"], "--vary causal: true is given twice; give each value once"),
    ],
)
def test_an_error_names_the_key_and_what_was_expected(words: list[str], message: str) -> None:
    with pytest.raises(AttnError) as raised:
        read_varied(words, Origin())
    assert raised.value.typed.startswith(message)


def test_a_range_may_have_as_many_numbers_as_variants_are_compared() -> None:
    assert len(texts("seed=1..10000")["seed"]) == 10_000


def test_python_gives_a_list_of_values_for_each_key() -> None:
    keys = {
        "scale": (0.5, 2),
        "seed": range(1, 3),
        "causal": [True, False, None],
        "normalize": ["softmax", {"entmax": {"alpha": 1.5}}],
        "mask": [None, np.eye(2, dtype=bool), [[1, 1], [0, 1]]],
        "only": [["cat", "sat"]],
        "normalize.temperature": [1, None],
    }
    found = {key: [value.text for value in values] for key, values in varied_keywords(keys).items()}
    assert found == {
        "scale": ["0.5", "2"],
        "seed": ["1", "2"],
        "causal": ["true", "false", "null"],
        "normalize": ["softmax", "entmax:alpha=1.5"],
        "mask": ["null", "array 2", "array 3"],
        "only": ["cat,sat"],
        "normalize.temperature": ["1", "null"],
    }


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"sead": [1]}, "vary: unknown key 'sead'"),
        ({"scale": 2}, "vary, scale: 2 is not a list of values; give a list, such as {'scale': [2]}"),
        ({"normalize": "softmax"}, "vary, normalize: 'softmax' is not a list of values"),
        ({"scale": []}, "vary, scale: has no values; give one or more, or leave it out"),
        ({"scale": ["a"]}, "scale: 'a' is not a finite number"),
        ({"scale": [1, 1.0]}, "vary, scale: 1 is given twice; give each value once"),
        ({"mask": ["m.csv"]}, "mask: 'm.csv' is neither an array nor a mask"),
    ],
)
def test_an_error_names_the_keyword(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as raised:
        varied_keywords(keys)
    assert raised.value.typed.startswith(message)
