"""--stats: a section in texts and an entry in objects, of the part that is shown, and of large problems."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.arrays import normal
from tests.cli.running import Run

# The first query is undecided between two keys, the second one sure, the third one has more weight than 1.
WEIGHTS = ("compute", "--weights", "0.5 0.5 0; 0 0 1; 0.25 0.5 0.5", "--value", "1; 2; 3", "--stats")
TOKENS = ("--query-tokens", "a,b,c", "--tokens", "x,y,z")
LN_2 = math.log(2)
OBJECT = {
    "support": [2, 1, 3],
    "entropy": [LN_2, 0, "NaN"],
    "effective_keys": [2, 1, "NaN"],
    "largest": [0.5, 1, 0.5],
    "largest_key": ["x", "z", "y"],
}
TABLE = """\
statistics
query → key   support    entropy   effective keys   largest
───────────────────────────────────────────────────────────
a → x               2     0.6931                2       0.5
b → z               1          0                1       1.0
c → y               3        NaN              NaN       0.5
  support: the keys with a weight; largest: the largest weight, and → the key that has it
  effective keys: exp(entropy), as many keys of equal weight have that entropy, in nats
  NaN: the weights are not a distribution, one is negative or their sum is not 1
"""


def test_the_visible_keys_are_counted_where_they_are_selected(run: Run) -> None:
    """A causal mask of 100 queries and keys: four tiles, of which one sees nothing."""
    given = ("compute", "--token-count", "100", "--dim", "2", "--seed", "1", "--embeddings", "normal", "--causal")
    found = json.loads(run(*given, "--select", "visible", "--stats", "--json").stdout)
    counts = {"least": 1, "mean": 50.5, "most": 100, "density": 0.505, "empty": 1, "full": 1, "mixed": 2, "tile": 64}
    assert found["visible_keys"] == counts
    assert "statistics" not in found
    text = run(*given, "--select", "visible", "--stats").stdout
    assert "\nvisible keys\n" in text
    assert "tiles of 64 queries × 64 keys" in text
    assert "entropy" not in text
    both = json.loads(run(*given, "--select", "visible,output", "--stats", "--json").stdout)
    assert (both["visible_keys"], len(both["statistics"]["entropy"])) == (counts, 100)
    table = run(*given, "--select", "visible", "--stats", "--format", "csv").stdout.rpartition("# visible keys\n")[2]
    assert table == "batch,head,least,mean,most,density,empty,full,mixed\n0,0,1,50.5,100,0.505,1,1,2\n"


def test_each_batch_item_with_a_mask_of_its_own_is_counted(run: Run) -> None:
    given = (
        "compute",
        *(f"--{name}=[[[1],[1]],[[1],[1]]]" for name in ("query", "key")),
        "--key-lengths",
        "1,2",
        "--select",
        "visible",
        "--stats",
    )
    assert json.loads(run(*given, "--json").stdout)["visible_keys"]["density"] == [0.5, 1]
    assert "batch item 0" in run(*given).stdout


def test_a_text_ends_with_the_statistics_of_each_query(run: Run) -> None:
    for options in ((), ("--select", "output"), ("--explain",), ("--cell", "a,y")):
        before, _, statistics = run(*WEIGHTS, *TOKENS, *options).stdout.rpartition("\nstatistics\n")
        assert f"statistics\n{statistics}" == TABLE
        assert before


@pytest.mark.parametrize("select", ["weights", "output"])
def test_json_has_the_statistics_beside_the_results(select: str, run: Run) -> None:
    result = json.loads(run(*WEIGHTS, *TOKENS, "--json", "--select", select).stdout)
    assert result["statistics"] == OBJECT
    assert list(result)[-2:] == [select, "statistics"]


def test_yaml_has_them_too(run: Run) -> None:
    result = yaml.safe_load(run(*WEIGHTS, *TOKENS, "--format", "yaml").stdout)["statistics"]
    assert result["largest_key"] == OBJECT["largest_key"]
    assert result["effective_keys"] == [2, 1, pytest.approx(math.nan, nan_ok=True)]


@pytest.mark.parametrize("name", ["markdown", "latex"])
def test_a_document_has_a_table_of_them(name: str, run: Run) -> None:
    document = run(*WEIGHTS, *TOKENS, "--format", name).stdout
    for text in ("effective keys", "largest", "0.6931", "in nats"):
        assert text in document


def test_csv_ends_with_a_table_of_them(run: Run) -> None:
    tables = run(*WEIGHTS, *TOKENS, "--select", "weights", "--format", "csv").stdout.split("\n\n")
    assert tables[0].startswith("# weights\n,x,y,z\n")
    assert tables[1].splitlines() == [
        "# statistics",
        "batch,head,query,support,entropy,effective_keys,largest,largest_key",
        f"0,0,a,2,{LN_2},2.0,0.5,x",
        "0,0,b,1,0.0,1.0,1.0,z",
        "0,0,c,3,nan,nan,0.5,y",
    ]


def test_the_table_of_csv_has_a_row_for_each_head_and_batch_item_that_is_shown(run: Run, tmp_path: Path) -> None:
    query = normal(2, 3, 6)
    np.savez(tmp_path / "p.npz", query=query, key=query)
    words = ("compute", "p.npz", "--heads", "2", "--stats", "--select", "weights")
    whole = json.loads(run(*words, "--json").stdout)["statistics"]
    for options, shown in (((), [(0, 0), (0, 1), (1, 0), (1, 1)]), (("--head", "1"), [(0, 1), (1, 1)])):
        run(*words, *options, "-o", "out.tsv")
        rows = (tmp_path / "out.tsv").read_text().partition("# statistics\n")[2].splitlines()[1:]
        assert [tuple(map(int, row.split("\t")[:2])) for row in rows[::3]] == shown
        entropies = [float(row.split("\t")[4]) for row in rows]
        assert entropies == [entropy for item, head in shown for entropy in whole["entropy"][item][head]]


def test_a_spreadsheet_computes_no_label_of_the_table(run: Run) -> None:
    ran = run(*WEIGHTS, "--query-tokens", "=1+1,b,c", "--tokens", "x,y,z", "--safe-csv", "--format", "csv")
    assert "\n0,0,'=1+1,2," in ran.stdout


def test_without_the_option_there_are_none(run: Run) -> None:
    for name in ("table", "json"):
        assert "statistics" not in run(*WEIGHTS[:-1], "--format", name).stdout


def test_a_query_without_keys_has_no_largest_weight(run: Run) -> None:
    words = ("compute", "--query", "1; 1", "--key", "1", "--mask", "0; 1", "--stats", "--select", "output")
    shown = run(*words).stdout.partition("\nstatistics\n")[2].splitlines()
    assert [line.split()[:4] for line in shown[2:4]] == [["query_1", "0", "NaN", "NaN"], ["query_2", "→", "key_1", "1"]]
    statistics = json.loads(run(*words, "--json").stdout)["statistics"]
    assert (statistics["largest"], statistics["largest_key"]) == ([0, 1], [None, "key_1"])


def test_equal_labels_have_their_number(run: Run) -> None:
    ran = run(*WEIGHTS, "--query-tokens", "a,b,c", "--tokens", "x,y,y", "--json")
    assert json.loads(ran.stdout)["statistics"]["largest_key"] == ["x", "y#2", "y#1"]


def test_statistics_are_those_of_the_head_and_the_batch_item_that_are_shown(run: Run, tmp_path: Path) -> None:
    query = normal(2, 3, 6)
    np.savez(tmp_path / "p.npz", query=query, key=query)
    words = ("compute", "p.npz", "--heads", "2", "--stats")
    whole = json.loads(run(*words, "--json").stdout)["statistics"]
    part = json.loads(run(*words, "--json", "--head", "1", "--batch", "0").stdout)["statistics"]
    for name, values in whole.items():
        assert part[name] == [[values[0][1]]]
    tables = run(*words, "--head", "1").stdout.partition("\nstatistics\n")[2]
    assert [line for line in tables.splitlines() if "head" in line] == ["batch item 0, head 1", "batch item 1, head 1"]


def test_a_large_problem_has_statistics_also_where_its_output_alone_is_shown(run: Run, tmp_path: Path) -> None:
    query = normal(400, 3)
    np.save(tmp_path / "q.npy", query)
    words = ("compute", "--query", "q.npy", "--key", "q.npy", "--stats")
    result = json.loads(run(*words, "--json", "--select", "weights").stdout)
    weights = np.array(result["weights"])
    np.testing.assert_allclose(result["statistics"]["entropy"], -(weights * np.log(weights)).sum(-1), rtol=1e-12)
    shown = run(*words).stdout
    assert "scores and weights, 400 × 400 numbers each, are left out" in shown
    assert shown.count("\nquery_400") == 2  # in the output and in the statistics


def test_weights_that_do_not_fit_are_an_error_that_names_the_option(run: Run) -> None:
    ran = run("compute", "--token-count", "1000000", "--dim", "1", "--seed", "1", "--stats")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("attn: --stats: is about the weights, and the run needs 8.0 TB of memory")
    assert ran.stderr.endswith("; leave it out, or compute some of the queries with only\n")
