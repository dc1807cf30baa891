"""Arrays of a model in, arrays out: heads, batch items and files of numbers on the command line."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from attncli import attention
from tests.cli.running import Run

B, H, G, N, M, D = 2, 4, 2, 3, 5, 6


@pytest.fixture
def arrays(tmp_path: Path) -> dict[str, np.ndarray]:
    """Queries, keys and values of several heads, each in its file."""
    random = np.random.default_rng(0)
    shapes = {"q": (B, H, N, D), "k": (B, G, M, D), "v": (B, G, M, D)}
    found = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    for name, array in found.items():
        np.save(tmp_path / f"{name}.npy", array)
    return found


FILES = ("compute", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy")


def test_arrays_go_in_and_arrays_come_out(run: Run, tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    ran = run(*FILES, "--causal", "--select", "output", "-o", "o.npy")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    expected = attention(*arrays.values(), causal=True).output
    found = np.load(tmp_path / "o.npy")
    np.testing.assert_array_equal(found, expected)
    assert (found.dtype, found.shape) == (np.float32, (B, H, N, D))


def test_an_archive_has_the_selected_results(run: Run, tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    assert run(*FILES, "--select", "weights,present_key", "-o", "o.npz").returncode == 0
    found = np.load(tmp_path / "o.npz")
    assert sorted(found) == ["present_key", "weights"]
    np.testing.assert_array_equal(found["present_key"], arrays["k"])


def test_an_archive_can_be_a_problem_whose_keys_options_override(run: Run, tmp_path: Path) -> None:
    x = np.eye(3)
    np.savez(tmp_path / "p.npz", query=x, key=x, mask=np.tri(3, dtype=bool), score="dot", scale=2.0)
    scores = json.loads(run("compute", "p.npz", "--json", "--scale", "5").stdout)["scores"]
    assert scores == (5 * x).tolist()
    weights = json.loads(run("compute", "p.npz", "--json").stdout)["weights"]
    assert np.array_equal(np.array(weights) > 0, np.tri(3, dtype=bool))


def test_the_json_has_batch_items_and_heads_as_lists_in_lists(run: Run, arrays: dict[str, np.ndarray]) -> None:
    result = json.loads(run(*FILES, "--json", "--explain").stdout)
    assert np.shape(result["weights"]) == (B, H, N, M)
    shapes = {step["name"]: step["shape"] for step in result["steps"]}
    assert shapes["repeated_key"] == [B, H, M, D]
    assert shapes["key"] == [B, G, M, D]


def test_one_head_of_one_batch_item_is_explained_or_all_of_them(run: Run, arrays: dict[str, np.ndarray]) -> None:
    def weights(*options: str) -> list[str]:
        shown = run(*FILES, "--explain", *options).stdout.split("weights  A")[1].split("context  C")[0]
        return [line for line in shown.splitlines() if line.startswith("batch item")]

    assert weights("--batch", "1", "--head", "3") == ["batch item 1, head 3"]
    assert weights("--batch", "0", "--head", "all") == [f"batch item 0, head {head}" for head in range(H)]
    assert len(weights("--batch", "all", "--head", "all")) == B * H
    assert len(weights()) == 1


def test_a_table_can_be_of_one_head_alone(run: Run, arrays: dict[str, np.ndarray]) -> None:
    shown = run(*FILES, "--select", "weights,present_key", "--head", "3", "--batch", "0").stdout
    assert "batch item 0, head 3\n" in shown
    assert "batch item 0, key head 1\n" in shown
    assert "head 2" not in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--head", "4"], "--head: there is no head 4; expected 0 to 3, or all"),
        (["--batch", "2"], "--batch: there is no batch item 2; expected 0 to 1, or all"),
        (["--head", "x"], "--head: 'x' is not a position; expected 0 to 3, or all"),
        (
            ["-o", "o.npy"],
            "--output o.npy: a .npy file holds one array; selected are scores, weights, output; select one",
        ),
        (["-o", "o.npy", "--explain"], "--output o.npy: a .npy file holds one array; --explain writes every step; "),
        (["--mask", "[[1, 2]]"], "--mask: 2 is neither 0 nor 1"),
        (["--window", "3"], "--window: '3' is not a window; expected LEFT,RIGHT"),
        (["--position", "rope:dims=3"], "--position: rope rotates pairs; it can't rotate 3 of a head's 6 features"),
        (["--position", "rope:interleaved=1"], "--position, rope, interleaved: 1 is neither true nor false"),
        (["--bias", "q.npz"], "q.npz: there is no such file"),
        (["--kv-heads", "3"], "--kv-heads: kv_heads is 3; key has 2 heads on its second axis"),
    ],
)
def test_an_error_is_one_line_and_writes_no_file(
    run: Run, tmp_path: Path, arrays: dict[str, np.ndarray], options: list[str], message: str
) -> None:
    ran = run(*FILES, *options)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: {message}")
    assert ran.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k.npy", "q.npy", "v.npy"]


def test_a_query_without_visible_keys_is_one_warning(run: Run) -> None:
    ran = run("compute", "--query", "[[1], [2]]", "--key", "[[1], [2]]", "--mask", "[[0, 0], [0, 1]]", "--json")
    assert ran.returncode == 0
    assert re.fullmatch("attn: warning: .* query_1: .*\n", ran.stderr)
    assert json.loads(ran.stdout)["output"] == [[0], [2]]


def test_an_option_can_turn_off_a_flag_of_the_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("query: [[1]]\nkey: [[1], [2]]\ncausal: true\n", encoding="utf-8")
    assert json.loads(run("compute", "p.yaml", "--json").stdout)["weights"] == [[1, 0]]
    assert json.loads(run("compute", "p.yaml", "--json", "--no-causal").stdout)["weights"][0][1] > 0


def test_a_problem_with_several_axes_is_generated_as_files_that_compute_the_same(
    run: Run, tmp_path: Path, arrays: dict[str, np.ndarray]
) -> None:
    options = [*FILES[1:], "--causal", "--window", "2,inf", "--position", "rope:dims=4", "--dtype", "float64"]
    assert run("generate", *options, "-o", "made").returncode == 0
    for problem_file in ("made/problem.yaml", "made.yaml"):
        if problem_file == "made.yaml":
            assert run("generate", *options, "-o", problem_file).returncode == 0
        again = run("compute", problem_file, "--select", "output", "-o", "again.npy")
        assert (again.returncode, again.stderr) == (0, "")
        expected = attention(*arrays.values(), causal=True, window=(2, np.inf), position="rope:dims=4", dtype="float64")
        np.testing.assert_array_equal(np.load(tmp_path / "again.npy"), expected.output)


@pytest.mark.parametrize("options", [[], ["--kv-heads", "2"], ["--kv-heads", "1", "--d-v", "4"]])
def test_grouped_heads_can_be_drawn(run: Run, options: list[str]) -> None:
    ran = run(
        "compute", "--token-count", "3", "--dim", "8", "--seed", "1", "--init", "normal", "--heads", "4", "--json",
        "--explain", *options,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    kv_heads = int(options[1]) if options else 4
    shapes = {step["name"]: step["shape"] for step in result["steps"]}
    assert shapes["key"] == [3, 2 * kv_heads]
    assert np.shape(result["output"]) == (3, 8)
