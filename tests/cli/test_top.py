"""--top N: the keys with the largest weights of each query, in texts, objects and CSV."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from attncli.render.rows import largest_keys
from tests.arrays import normal
from tests.cli.running import Run

# Equal weights, one weight, a weight that is largest of all, and none.
WEIGHTS = "0.25 0.5 0.25; 0 0 1; 0.1 0.2 0.7; 0 0 0"
PROBLEM = ("compute", "--weights", WEIGHTS, "--query-tokens", "a,b,c,d", "--tokens", "x,y,z", "--select", "weights")


def test_a_text_ends_with_the_largest_keys_of_each_query_without_those_of_weight_0(run: Run) -> None:
    shown = run(*PROBLEM, "--top", "2").stdout.partition("\nlargest keys\n")[2].splitlines()
    assert shown[0].split() == ["query", "→", "key", "weight"]
    assert [line.split() for line in shown[2:]] == [
        ["a", "→", "y", "0.50"],
        ["a", "→", "x", "0.25"],
        ["b", "→", "z", "1.00"],
        ["c", "→", "z", "0.70"],
        ["c", "→", "y", "0.20"],
    ]


def test_objects_have_a_list_for_each_query(run: Run) -> None:
    result = json.loads(run(*PROBLEM, "--top", "2", "--json").stdout)
    assert result["top"] == [
        {"keys": ["y", "x"], "weights": [0.5, 0.25]},
        {"keys": ["z"], "weights": [1]},
        {"keys": ["z", "y"], "weights": [0.7, 0.2]},
        {"keys": [], "weights": []},
    ]


def test_csv_has_a_row_for_each_key(run: Run) -> None:
    table = run(*PROBLEM, "--top", "9", "--format", "csv").stdout.partition("\n\n")[2]
    assert table.splitlines()[:6] == [
        "# largest keys",
        "batch,head,query,rank,key,weight",
        "0,0,a,1,y,0.5",
        "0,0,a,2,x,0.25",
        "0,0,a,3,z,0.25",
        "0,0,b,1,z,1.0",
    ]


@pytest.mark.parametrize("name", ["markdown", "latex"])
def test_documents_have_a_table_of_them(name: str, run: Run) -> None:
    document = run(*PROBLEM, "--top", "1", "--format", name).stdout
    assert re.search(r"\bz\b.*0\.7", document.partition("largest keys")[0 if name == "latex" else 2])


def test_they_are_those_of_the_head_and_the_batch_item_that_are_shown(run: Run, tmp_path: Path) -> None:
    query = normal(2, 3, 6)
    np.savez(tmp_path / "p.npz", query=query, key=query)
    words = ("compute", "p.npz", "--heads", "2", "--top", "1", "--select", "output")
    whole, part = (json.loads(run(*words, *more, "--json").stdout)["top"] for more in ((), ("--head", "1")))
    assert np.shape(whole) == (2, 2, 3)
    assert part == [[item[1]] for item in whole]
    assert "batch item 1, head 0" in run(*words).stdout.partition("largest keys")[2]


def test_they_are_shown_before_and_after_an_edit(run: Run) -> None:
    ran = run(*PROBLEM, "--top", "1", "--set", "weights[b,x]=2", "--json")
    result = json.loads(ran.stdout)
    assert (result["before"]["top"][1], result["top"][1]) == (
        {"keys": ["z"], "weights": [1]},
        {"keys": ["x"], "weights": [2]},
    )


@pytest.mark.parametrize("count", ["0", "-1", "x"])
def test_a_number_from_1_is_expected(count: str, run: Run) -> None:
    ran = run(*PROBLEM, "--top", count)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("attn: --top: ")


def test_of_equal_weights_the_first_key_comes_first_and_nan_last() -> None:
    assert largest_keys(np.array([[np.nan, 1, 2, 2]]), 4).tolist() == [[2, 3, 1, 0]]
