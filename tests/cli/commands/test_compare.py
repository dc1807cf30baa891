"""`attn compare`: variants from words to JSON, tables and files."""

import csv
import io
import json
import math
import re
from pathlib import Path

import pytest

from tests.cli.running import Run
from tests.problems import write_file

PROBLEM = "embeddings: [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]\ntokens: [the, cat, sat]\nscale: 0.5\n"
DRAWN = ("compare", "--sentence", "the cat sat", "--dim", "4")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    write_file(tmp_path, PROBLEM)
    write_file(tmp_path, PROBLEM.replace("0.5", "1"), "other.yaml")
    parts = "parts:\n- {title: wide, scale: 1}\n- {scale: 2}\n- {show: [output], scale: 2}\n- {title: wide, scale: 3}\n"
    write_file(tmp_path, PROBLEM + parts, "parts.yaml")


def names(run: Run, *words: str) -> list[str]:
    """The names of the variants of a problem."""
    ran = run("compare", *words, "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    return [variant["name"] for variant in json.loads(ran.stdout)["variants"]]


def test_json_has_the_variants_their_statistics_and_what_differs(run: Run) -> None:
    weights = "0.5 0.5; 0.75 0.25"
    ran = run(
        *("compare", "--weights", weights, "--value", "4; 8", "--tokens", "the,cat", "--select", "weights", "--json"),
        *("--set", "weights[1,0]=1", "--set", "weights[1,1]=0"),
    )
    found = json.loads(ran.stdout)
    before, after = found["variants"]
    assert found["format"] == "attn.compare/1"
    assert (before["name"], after["name"]) == ("as given", "weights[1,0]=1, weights[1,1]=0")
    assert after["keys"] == {"set": "weights[1,0]=1, weights[1,1]=0"}
    assert after["weights"] == [[0.5, 0.5], [1.0, 0.0]]
    assert after["pipeline"] == {"context": "weighted_sum"}
    assert after["key_tokens"] == ["the", "cat"]
    assert after["statistics"] == {
        "support": [2, 1],
        "entropy": [math.log(2), 0.0],
        "effective_keys": [pytest.approx(2), 1.0],
        "largest": [0.5, 1.0],
        "largest_key": ["the", "the"],
    }
    (difference,) = found["differences"]
    assert difference["variants"] == ["as given", after["name"]]
    assert (difference["name"], difference["max_abs"], difference["total_variation"]) == ("weights", 0.25, 0.25)
    assert difference["kl"] == 0  # of the first row; of the second it is infinite
    assert (difference["infinite_kl_count"], difference["reordered_count"], difference["row_count"]) == (1, 0, 2)
    (first,) = found["first_differences"]
    assert (first["step"], first["position"], first["numbers"]) == ("weights", [1, 0], [0.75, 1.0])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("p.yaml", "--vary", "scale=1,2"), ["scale=1", "scale=2"]),
        (("p.yaml", "--vary", "scale=1"), ["as given", "scale=1"]),
        (("p.yaml", "other.yaml"), ["file=p.yaml", "file=other.yaml"]),
        (("parts.yaml",), ["part=wide", "part=2", "part=4"]),
        (("parts.yaml", "p.yaml"), ["file=parts.yaml", "file=p.yaml"]),
        (("parts.yaml", "--vary", "scale=3,4"), ["scale=3", "scale=4"]),
        (("p.yaml", "--as", "torch-sdpa", "--as", "flash"), ["as=torch-sdpa", "as=flash"]),
        (("p.yaml", "--as", "torch-sdpa, flash"), ["as=torch-sdpa", "as=flash"]),
        (("--query", "1 0", "--key", "1 0; 0 1", "--vary", "score=dot"), ["as given", "score=dot"]),
        (("--sentence", "the cat", "--seed", "1..3"), ["seed=1", "seed=2", "seed=3"]),
        (("p.yaml", "--score", "gaussian:sigma=2,dot"), ["score=gaussian:sigma=2", "score=dot"]),
        (("parts.yaml", "--dtype", "float32,float64"), ["dtype=float32", "dtype=float64"]),
    ],
)
def test_files_conventions_and_values_vary(words: tuple[str, ...], expected: list[str], run: Run) -> None:
    assert names(run, *words) == expected


def test_the_problem_is_read_from_standard_input_too(run: Run) -> None:
    ran = run("compare", "-", "--vary", "scale=1,2", "--json", input=PROBLEM)
    assert [variant["keys"] for variant in json.loads(ran.stdout)["variants"]] == [{"scale": "1"}, {"scale": "2"}]


def test_an_option_holds_for_every_variant(run: Run) -> None:
    ran = run("compare", "p.yaml", "other.yaml", "--scale", "2", "--select", "scores", "--json")
    assert json.loads(ran.stdout)["differences"][0]["max_abs"] == 0


def test_csv_has_a_row_for_each_variant_query_and_key(run: Run) -> None:
    ran = run(*DRAWN, "--vary", "seed=1..3", "--vary", "heads=1,2", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(ran.stdout)))
    assert list(rows[0]) == ["variant", "seed", "heads", "batch", "head", "query", "key", "scores", "weights"]
    assert len(rows) == 3 * (1 + 2) * 9
    assert rows[9] | {"scores": "", "weights": ""} == {
        "variant": "seed=1, heads=2",
        "seed": "1",
        "heads": "2",
        "batch": "0",
        "head": "0",
        "query": "the",
        "key": "the",
        "scores": "",
        "weights": "",
    }
    of_one = json.loads(run(*DRAWN, "--vary", "seed=1..3", "--json").stdout)["variants"][0]
    assert [float(row["weights"]) for row in rows[:9]] == [weight for row in of_one["weights"] for weight in row]


def test_all_pairs_are_compared_where_that_is_asked_for(run: Run) -> None:
    ran = run("compare", "p.yaml", "--vary", "scale=1,2,4", "--select", "weights", "--all-pairs", "--json")
    pairs = [difference["variants"] for difference in json.loads(ran.stdout)["differences"]]
    assert pairs == [["scale=1", "scale=2"], ["scale=1", "scale=4"], ["scale=2", "scale=4"]]


def test_one_head_is_compared_and_written(run: Run) -> None:
    ran = run(*DRAWN, "--seed", "1", "--heads", "2", "--vary", "scale=1,2", "--head", "1", "--json")
    found = json.loads(ran.stdout)
    every = json.loads(run(*DRAWN, "--seed", "1", "--heads", "2", "--vary", "scale=1,2", "--json").stdout)
    assert found["variants"][1]["weights"] == every["variants"][1]["weights"][1:]
    assert found["variants"][1]["statistics"]["largest"] == every["variants"][1]["statistics"]["largest"][1:]
    assert [difference["position"][0] for difference in found["differences"][:2]] == [1, 1]
    table = run(*DRAWN, "--seed", "1", "--heads", "2", "--vary", "scale=1,2", "--head", "1", "--format", "csv").stdout
    assert {row["head"] for row in csv.DictReader(io.StringIO(table))} == {"1"}


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".csv", ".tsv", ".txt", ".md", ".tex"])
def test_the_suffix_of_a_file_picks_the_format(suffix: str, run: Run, tmp_path: Path) -> None:
    ran = run("compare", "p.yaml", "--vary", "scale=1,2", "-o", f"out{suffix}")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    words = {".json": "json", ".yaml": "yaml", ".csv": "csv", ".txt": "table", ".md": "markdown", ".tex": "latex"}
    text = (tmp_path / f"out{suffix}").read_text(encoding="utf-8")
    if suffix in words:
        assert text == run("compare", "p.yaml", "--vary", "scale=1,2", "--format", words[suffix]).stdout
    else:
        assert text.startswith("variant\tscale\tbatch")


def test_a_warning_is_said_once_with_the_variants_that_it_is_of(run: Run) -> None:
    ran = run("compare", "p.yaml", "--vary", "mask=null", "--vary", "mask=1 1 1; 0 0 0; 1 1 1", "--json")
    mask = "mask=1 1 1; 0 0 0; 1 1 1"
    assert re.fullmatch(rf"attn: warning: .* cat: .* \({re.escape(mask)}\)\n", ran.stderr)
    ran = run("compare", "p.yaml", "--vary", "scale=1..5", "--mask", "1 1 1; 0 0 0; 1 1 1", "--json")
    assert re.fullmatch(r"attn: warning: .* cat: [^()]*\n", ran.stderr)
    ran = run("compare", "p.yaml", "--vary", "seed=1..3", "--align", "bottom_right", "--json")
    assert ran.stderr.splitlines() == [
        "attn: warning: --vary seed has no effect: nothing is drawn",
        "attn: warning: --align has no effect: no mask and no position scheme reads the positions of the queries",
    ]
    ran = run("compare", "p.yaml", "--seed", "1..3", "--json")
    assert ran.stderr.splitlines() == ["attn: warning: --seed has no effect: nothing is drawn"]
    strict = run("compare", "p.yaml", "--vary", "seed=1..3", "--json", "--strict")
    assert (strict.returncode, strict.stdout) == (2, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("p.yaml",), "one problem and nothing that varies; give --vary KEY=VALUE"),
        (("p.yaml", "--vary", "scale=a"), "--vary scale: 'a' is not a finite number"),
        (("p.yaml", "--vary", "scale=1", "--scale", "2"), "--scale: scale is given and varied; leave out one of them"),
        (("p.yaml", "--vary", "heads=1,3"), "variant heads=3, --vary heads: 3 heads can't share the 4 features"),
        (("p.yaml", "--vary", "heads=1,2", "--head", "1"), "variant heads=1, --head: there is only head 0"),
        (("p.yaml", "p.yaml"), "p.yaml: is given twice; name each problem once"),
        (("p.yaml", "none.yaml"), "none.yaml: there is no such file"),
        (("p.yaml", "--as", "flash", "--as", "flash"), "--as: flash is given twice; give each convention once"),
        (("p.yaml", "--vary", "seed=1", "--seed", "1..3"), "--seed: seed is given and varied; leave out one of them"),
        (("p.yaml", "--seed", "3..1"), "--seed: the range 3..1 is empty; did you mean 1..3?"),
        (("p.yaml", "--score", "dot,cosin"), "--score: unknown score 'cosin'; did you mean 'cosine'?"),
        (("p.yaml", "--vary", "set=1"), "--vary: unknown key 'set'; give --set"),
        (("p.yaml", "--vary", "scale=1", "--select", "wieghts"), "--select: unknown result 'wieghts'"),
        (("p.yaml", "--vary", "scale=1", "-o", "x.npz"), "--output x.npz: no comparison is written as npz"),
        (("-", "--vary", "w_q=-"), "standard input: is named twice, but can be read only once; use - once"),
        (("p.yaml", "--vary", "scale=1", "-o", "p.yaml"), "--output p.yaml: is the input p.yaml"),
        (
            ("p.yaml", "--vary", "scale=1", "--format", "csv", "--select", "weights,output"),
            "--select: has weights for each query and key, output for each query and feature",
        ),
    ],
)
def test_an_error_is_one_line_and_nothing_is_written(words: tuple[str, ...], message: str, run: Run) -> None:
    ran = run("compare", *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: {message}")
    assert ran.stderr.count("\n") == 1
