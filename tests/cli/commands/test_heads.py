"""`attn heads`: what it prints and writes of saved maps in every shape, and what it says of files that have none."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attncli.models.heads import PLACES
from tests.captures import WORDS as WORDS_OF_CAPTURE
from tests.captures import write_tiny_capture
from tests.cli.running import Run
from tests.models.heads_by_hand import BLOCK_TWICE, HEADS

WORDS = "the cat . the cat"
TRIANGLE = np.tri(5) / np.arange(1, 6)[:, None]
BACK = np.eye(5, k=-1) + np.diag([1.0, 0, 0, 0, 0])
FIRST = np.eye(5)[[0] * 5]
MAPS = np.stack([[TRIANGLE, BACK], [FIRST, (FIRST + TRIANGLE) / 2]])  # layers, heads


@pytest.fixture(autouse=True)
def _maps(tmp_path: Path) -> None:
    np.save(tmp_path / "maps.npy", MAPS)


def heads_of(run: Run, *words: str) -> list[dict[str, Any]]:
    ran = run("heads", *words, "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    found: list[dict[str, Any]] = json.loads(ran.stdout)["heads"]
    return found


def test_the_table_says_what_each_head_does(run: Run) -> None:
    shown = run("heads", "maps.npy", "--tokens", WORDS).stdout
    assert shown.startswith("2 layers × 2 heads, 5 tokens: ")
    for start in ("0.0 uniform ", "0.1 previous token 1.00 ", "1.0 first token 1.00 ", "1.1 first token 0.66 "):
        assert sum(line.startswith(start) for line in shown.splitlines()) == 1
    assert "equal weights" in shown
    assert "induction" in shown


def test_without_words_it_says_what_they_are_for(run: Run) -> None:
    assert "--tokens names the words" in run("heads", "maps.npy").stdout


@pytest.mark.parametrize(
    "arrays",
    [
        {"all": MAPS},
        {f"layer{number}.attention": maps for number, maps in enumerate(MAPS)},
        {f"arr_{number}": maps[None] for number, maps in enumerate(MAPS)},  # transformers: a batch of one
        {"all": MAPS[:, None], "tokens": np.array(WORDS.split())},
    ],
    ids=["one array", "a layer each", "with batch items", "stacked, with words"],
)
def test_maps_are_read_in_every_shape(arrays: dict[str, np.ndarray], run: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "saved.npz", **arrays)
    found = heads_of(run, "saved.npz", "--tokens", WORDS)
    assert [(each["layer"], each["head"]) for each in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert found == heads_of(run, "maps.npy", "--tokens", WORDS)
    assert [each["kind"] for each in found] == ["uniform", "previous token", "first token", "first token"]


def test_layers_stand_in_the_order_of_their_numbers(run: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "saved.npz", **{f"layer.{at}": (BACK if at == 10 else FIRST)[None] for at in (10, 2, 9)})
    assert [each["kind"] for each in heads_of(run, "saved.npz")] == ["first token", "first token", "previous token"]


def test_tensors_are_read_too(run: Run, tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file({"attentions": MAPS.astype(np.float32)}, tmp_path / "saved.safetensors")
    assert [each["kind"] for each in heads_of(run, "saved.safetensors")][1:] == ["previous token", *["first token"] * 2]


def test_one_batch_item_is_chosen(run: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", a=np.stack([MAPS[0], MAPS[1]]), b=np.stack([MAPS[1], MAPS[0]]))
    refused = run("heads", "two.npz")
    assert (refused.returncode, refused.stderr) == (2, "attn: two.npz#a: has 2 batch items; choose one: --batch 0\n")
    assert heads_of(run, "two.npz", "--batch", "0") == heads_of(run, "maps.npy")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--sort first", [(1, 0), (1, 1), (0, 0), (0, 1)]),
        ("--sort=-first --top 1", [(0, 1)]),
        ("--top 2", [(0, 1), (1, 0)]),
        ("--layer 1", [(1, 0), (1, 1)]),
        ("--layer=-1 --head 0", [(1, 0)]),
        ("--head 1 --layer 0-1", [(0, 1), (1, 1)]),
        ("--kind first\\ token", [(1, 0), (1, 1)]),
    ],
)
def test_heads_are_sorted_and_chosen(options: str, expected: list[tuple[int, int]], run: Run) -> None:
    words = [word.replace("\\", " ").strip() for word in options.replace("\\ ", "\\").split()]
    assert [(each["layer"], each["head"]) for each in heads_of(run, "maps.npy", *words)] == expected


def test_json_has_the_weights_to_the_last_bit(run: Run, tmp_path: Path) -> None:
    weights = np.random.default_rng(3).dirichlet(np.ones(4), size=(1, 2, 4)).astype(np.float32)
    np.save(tmp_path / "maps.npy", weights)
    found = heads_of(run, "maps.npy", "--maps")
    assert np.array_equal(np.array([each["weights"] for each in found], np.float32), weights[0])


def test_csv_is_one_table_with_every_digit(run: Run, tmp_path: Path) -> None:
    shown = run("heads", "maps.npy", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(shown)))
    for row, head in zip(rows, heads_of(run, "maps.npy"), strict=True):
        means = {place.name: head["kinds"][place.kind] for place in PLACES.values()}
        shares = {f"share of {place.name}": head["shares"][place.kind] for place in PLACES.values()}
        others = {name: value for name, value in head.items() if name not in ("kinds", "shares", "received")}
        expected = {**others, **means, **shares}
        assert {name: text or None for name, text in row.items()} == {
            name: None if value is None else str(value) for name, value in expected.items()
        }
    assert run("heads", "maps.npy", "-o", "heads.csv").returncode == 0
    assert (tmp_path / "heads.csv").read_text(encoding="utf-8") == shown


def test_a_heat_map_is_a_grid_of_layers_and_heads(run: Run, tmp_path: Path) -> None:
    lines = run("heads", "maps.npy", "--heatmap", "--layer", "0-1", env={"COLUMNS": "80"}).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    np.save(tmp_path / "maps.npy", np.tile(MAPS, (3, 6, 1, 1)))
    lines = run("heads", "maps.npy", "--heatmap").stdout.splitlines()
    assert lines[2].split() == [str(head) for head in range(12)]
    assert [line[0] for line in lines[3:] if line[:1].isdigit()][:6] == list("012345")
    assert max(map(len, lines)) <= 80


def test_small_weights_are_seen_in_logarithms(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "maps.npy", np.array([[[[1.0, 0.0], [0.999, 0.001]]]]))
    shown = run("heads", "maps.npy", "--heatmap", "--logarithm").stdout
    assert "-3.00" in shown
    assert "masked: 0, which has no logarithm" in shown


def test_the_rollout_has_its_formula_and_what_it_assumes(run: Run) -> None:
    shown = run("heads", "maps.npy", "--rollout", "--tokens", WORDS).stdout
    assert "Rₗ = Aₗ Rₗ₋₁" in shown
    assert "assumed: every head counts the same" in shown
    found = json.loads(run("heads", "maps.npy", "--rollout", "--json").stdout)["rollout"]["layers"]
    assert np.allclose(found[0], MAPS[0].mean(axis=0) / 2 + np.eye(5) / 2)


def test_words_come_from_a_file_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("\n".join(WORDS.split()) + "\n", encoding="utf-8")
    (tmp_path / "words.json").write_text(json.dumps(WORDS.split()), encoding="utf-8")
    expected = heads_of(run, "maps.npy", "--tokens", WORDS)
    for text in ("words.txt", "words.json", WORDS.replace(" ", ",")):
        assert heads_of(run, "maps.npy", "--tokens", text) == expected


def test_padding_does_not_count(run: Run, tmp_path: Path) -> None:
    """The last two queries look at the first key, where there is nothing else to look at."""
    maps = np.stack([np.eye(5), np.eye(5)[[0, 1, 2, 0, 0]]])[None, :, None]  # layers, batch items, heads
    np.save(tmp_path / "padded.npy", maps)
    np.save(tmp_path / "mask.npy", np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]))
    (tmp_path / "mask.json").write_text("[[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]", encoding="utf-8")
    item = ["padded.npy", "--batch", "1"]
    assert heads_of(run, *item)[0]["kinds"]["itself"] == 0.5  # of queries 1 to 4, which see other keys too
    for option in (["--lengths", "5,3"], ["--mask-file", "mask.npy"], ["--mask-file", "mask.json"]):
        (found,) = heads_of(run, *item, *option)
        assert (found["kind"], found["kinds"]["itself"], found["kinds"]["first token"]) == ("itself", 1, 0)
        assert found["received"] == [1, 1, 1, 0, 0]
    assert "2 keys of padding: left out as keys and queries" in run("heads", *item, "--lengths", "5,3").stdout
    hint = "no query gives weight to the last 2 keys; if they are padding: --lengths 3"
    assert hint in run("heads", *item).stdout


def test_rows_that_are_no_distribution_are_said(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "half.npy", np.eye(4)[None] / 2)
    shown = run("heads", "half.npy").stdout
    assert "entropy and keys leave out rows that are not distributions" in shown
    assert "sums of 0.5 to 0.5" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("maps.npy --tokens the,cat", "--tokens: 2 words, and the maps have 5; one for each token"),
        ("maps.npy --sort frist", "--sort: unknown statistic 'frist'; did you mean 'first'?"),
        ("maps.npy --top 0", "--top: 0 is not a number of heads"),
        ("maps.npy --layer 2", "--layer: there is no layer 2; they go from 0 to 1"),
        ("maps.npy --head x", "--head: 'x' is not a head"),
        (
            "maps.npy --kind mixed",
            "--kind: no head is called mixed; there are 2 first token, 1 uniform, 1 previous token",
        ),
        ("maps.npy --kind inductoin", "--kind: unknown kind of head 'inductoin'; did you mean 'induction'?"),
        ("maps.npy --lengths 6", "--lengths: 6 is not a number of tokens, but the maps have 5 keys"),
        ("maps.npy --lengths 5,x", "--lengths: "),
        ("maps.npy --mask-file vector.npy", "--mask-file: 3 numbers in a row, but the maps have 5 keys"),
        ("maps.npy -o heads.npz", "--output heads.npz: no list of heads is written as npz"),
        ("maps.npy --batch 1", "--batch: there are no batch items"),
        ("mask.npy", "mask.npy: holds bool, not weights"),
        ("vector.npy", "vector.npy: has the shape (3,); expected [layers heads n m]"),
        ("attentions.pt", "is a PyTorch pickle"),
        ("words.csv", "words.csv: is not a file of saved maps"),
    ],
)
def test_what_can_t_be_done_is_said(words: str, message: str, run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "mask.npy", np.ones((2, 2, 3, 3), bool))
    np.save(tmp_path / "vector.npy", np.ones(3))
    (tmp_path / "attentions.pt").write_bytes(b"\x80\x02")
    (tmp_path / "words.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    ran = run("heads", *words.split())
    assert (ran.returncode, ran.stdout) == (2, "")
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_capture_has_its_words_and_what_is_not_saved_is_computed(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    write_tiny_capture(tmp_path / "captured.safetensors")
    ran = run("heads", "captured.safetensors", "--json", "--maps")
    found = json.loads(ran.stdout)
    assert [layer["name"] for layer in found["layers"]] == ["0", "1", "decoder.1.cross"]
    assert found["layers"][0]["key_tokens"] == list(WORDS_OF_CAPTURE)
    assert np.triu(np.array(found["heads"][0]["weights"]), 1).max() == 0  # the first layer is causal
    lines = run("heads", "captured.safetensors", "--layer", "decoder.1.cross").stdout.splitlines()
    assert sum(line.startswith("decoder.1.cross.") for line in lines) == 4


def test_the_list_of_heads_has_what_they_are_called_and_the_rule(run: Run) -> None:
    shown = " ".join(run("list", "heads").stdout.split())
    assert all(place.kind in shown for place in PLACES.values())
    assert "The mean weight on a place is over the queries that see a key there and other keys too." in shown


def test_induction_heads_are_found_by_their_kind(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "induction.npy", HEADS["textbook induction"].weights[None])
    (found,) = heads_of(run, "induction.npy", "--tokens", " ".join(BLOCK_TWICE), "--kind", "induction")
    assert (found["kinds"]["induction"], found["shares"]["induction"]) == pytest.approx((0.9, 0.4))
    assert found["kinds"]["separators"] is None
