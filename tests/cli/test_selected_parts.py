"""--head, --batch and --cell: in every format what is written is the part that was asked for."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests.cli.running import Run

B, H, G, N, E = 2, 4, 2, 3, 5
WORDS = ("compute", "p.npz", "--heads", str(H), "--kv-heads", str(G))


@pytest.fixture
def whole(run: Run, tmp_path: Path) -> dict[str, np.ndarray]:
    """Every result of a problem with batch items and heads, in `p.npz`."""
    rng = np.random.default_rng(0)
    arrays = {"query": rng.normal(size=(B, N, H * E)), **{n: rng.normal(size=(B, N, G * E)) for n in ("key", "value")}}
    np.savez(tmp_path / "p.npz", **arrays)
    assert run(*WORDS, "--select", "weights,output,present_key,context", "-o", "whole.npz").returncode == 0
    with np.load(tmp_path / "whole.npz") as loaded:
        return dict(loaded)


def read(file: Path, name: str) -> np.ndarray:
    """The array in a file."""
    match file.suffix:
        case ".npy":
            return np.load(file)
        case ".npz":
            with np.load(file) as loaded:
                return loaded[name]
        case ".json":
            return np.array(json.loads(file.read_text())[name])
        case _:
            return np.array(yaml.safe_load(file.read_text())[name])


@pytest.mark.parametrize("suffix", ["npy", "npz", "json", "yaml"])
@pytest.mark.parametrize("name", ["weights", "output", "context"])
def test_the_axis_of_one_head_or_batch_item_is_kept_with_length_1(
    name: str, suffix: str, whole: dict[str, np.ndarray], run: Run, tmp_path: Path
) -> None:
    has_heads = whole[name].ndim == 4  # the output's heads are merged: it is not cut
    head = whole[name][:, 3:4] if has_heads else whole[name]
    for options, expected in (
        (("--head", "3"), head),
        (("--batch", "1"), whole[name][1:]),
        (("--head", "3", "--batch", "1"), head[1:]),
        (("--head", "all", "--batch", "all"), whole[name]),
    ):
        assert run(*WORDS, "--select", name, *options, "-o", f"x.{suffix}").returncode == 0
        np.testing.assert_array_equal(read(tmp_path / f"x.{suffix}", name), expected)


def test_key_heads_are_those_of_the_query_head(whole: dict[str, np.ndarray], run: Run) -> None:
    result = json.loads(run(*WORDS, "--select", "present_key,scores", "--head", "3", "--explain", "--json").stdout)
    steps = {step["name"]: step for step in result["steps"]}
    key_heads = steps["key_heads"]
    assert key_heads["shape"] == [B, 1, N, E]
    np.testing.assert_array_equal(np.array(key_heads["value"])[:, 0], whole["present_key"][..., E:])


def test_a_parameter_of_one_number_a_head_is_cut_with_its_label(run: Run) -> None:
    words = ("compute", "--seed", "1", "--token-count", "2", "--dim", "4", "--heads", "2", "--sink", "5,7")
    shown = run(*words, "--select", "sink", "--head", "1", "-f", "csv").stdout
    assert list(csv.reader(shown.splitlines())) == [["", "head 1"], ["z", "7.0"]]
    (sink,) = [
        step
        for step in json.loads(run(*words, "--head", "1", "--explain", "--json").stdout)["steps"]
        if step["name"] == "weights_and_sink"
    ]
    assert sink["shape"] == [1, 2, 3]


@pytest.mark.usefixtures("whole")
def test_csv_and_tables_have_the_part_alone(run: Run) -> None:
    words = (*WORDS, "--select", "weights", "--head", "2", "--batch", "0")
    (header, *rows) = csv.reader(run(*words, "-f", "csv").stdout.splitlines())
    assert (header, len(rows)) == (["", "key_1", "key_2", "key_3"], N)
    for form in ("table", "markdown", "latex"):
        shown = run(*words, "-f", form).stdout
        assert shown.count("query_3" if form == "table" else "query\\_3") == 1
        assert "batch item 0, head 2" in shown


CELL = ("compute", "t.yaml", "--cell", "word_1,word_3")
LINES = ("Q(word_1)·K(word_3) = 2·2 + 0·4 + 2·3 = 10", "10/√3 = 5.7735")


@pytest.mark.usefixtures("tutorial")
def test_a_cell_without_explain_is_its_worked_lines_alone(run: Run) -> None:
    shown = run(*CELL).stdout
    assert "cell  query word_1, key word_3" in shown
    for line in (
        *LINES,
        "1/1.3349 = 0.7491",
        "C(word_1) = 0.2361·[1 1 0] + 0.0074·[0 1 1] + 0.7491·[1 2 1] + 0.0074·[0 0 0] = [0.9852 1.7417 0.7565]",
    ):
        assert f"\n  {line}\n" in shown
    assert "─" not in shown, "no table"
    markdown = run(*CELL, "-f", "markdown").stdout
    assert r"= 2\cdot2 + 0\cdot4 + 2\cdot3 = 10$" in markdown
    assert r"$10/\sqrt{3} = 5.7735$" in markdown
    assert "|" not in markdown
    latex = run(*CELL, "-f", "latex").stdout
    assert r"$10/\sqrt{3} = 5.7735$" in latex
    assert "tabular" not in latex


@pytest.mark.usefixtures("tutorial")
def test_the_head_of_the_cell_can_be_chosen(run: Run) -> None:
    words = ("--seed", "1", "--token-count", "3", "--dim", "4", "--heads", "2", "--cell", "0,1")
    assert "cell  head 1, query token_1, key token_2\n" in run("compute", *words, "--head", "1").stdout


@pytest.mark.parametrize(
    ("terms", "gap"), [((), "… 8 more …"), (("--terms", "4"), "… 16 more …"), (("--terms", "all"), "")]
)
def test_a_long_sum_has_as_many_terms_as_asked_for(terms: tuple[str, ...], gap: str, run: Run) -> None:
    words = ("--seed", "1", "--token-count", "2", "--dim", "20", "--score", "dot", "--cell", "0,1")
    (line,) = re.findall(r"Q\(token_1\)·K\(token_2\).*", run("compute", *words, *terms).stdout)
    assert line.count("·") == 1 + (20 - int(gap.split()[1]) if gap else 20)
    assert gap in line
