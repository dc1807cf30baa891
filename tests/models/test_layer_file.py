"""The file of a layer: its layout, that it is read back as what was written, and the inputs that it needs."""

from pathlib import Path
from typing import Any

import pytest

from attncli.io.paths import locate
from attncli.io.problem_files import parse_document
from attncli.models.checkpoint import StoredTensor
from attncli.models.families import family_names, read_family
from attncli.models.layer import Entry
from attncli.models.layer_file import layer_text, needed_inputs
from attncli.models.tensors import TensorReference


def tensor(name: str, file: str = "model.safetensors", slices: str = "") -> TensorReference:
    return TensorReference(name, slices, StoredTensor(Path(file), (4, 4), "F32"))


BASE = Entry(5e5, "config.json: rope_theta")
ENTRIES = {
    "w_q": Entry(tensor("h.0.q", slices="[0:4]"), "[12, 4] F32"),
    "w_o": Entry(tensor("a.rather.long.name.of.a.tensor.weight"), "[4, 4] F32"),
    "heads": Entry(2, "config.json: n_head"),
    "position": Entry({"rope": Entry({"base": BASE, "scaling": Entry({"type": "linear", "factor": 2})})}, "in halves"),
    "window": Entry([3, 0]),
    "causal": Entry(True),
}
TEXT = """\
# Layer 0.
#
# attn compute

# Projections and heads
w_q: "model.safetensors#h.0.q[0:4]"       # [12, 4] F32
w_o: "model.safetensors#a.rather.long.name.of.a.tensor.weight"  # [4, 4] F32
heads: 2                                  # config.json: n_head

# The three stages
position:                                 # in halves
  rope:
    base: 500000.0                        # config.json: rope_theta
    scaling:
      type: linear
      factor: 2

# Which keys each query sees
window: [3, 0]
causal: true
"""


def test_each_key_stands_under_its_title_with_its_comment_beside_it() -> None:
    assert layer_text(ENTRIES, ["Layer 0.", "", "attn compute"], Path()) == TEXT


def test_an_operator_without_parameters_is_a_word() -> None:
    text = layer_text({"position": Entry({"rope": Entry({})}, "plain")}, [], Path())
    assert text.splitlines()[-1].split() == ["position:", "rope", "#", "plain"]


def test_a_title_is_one_line_whatever_the_folder_is_called() -> None:
    assert layer_text({}, ["Layer 0 of a\nheads: 9"], Path()) == "# Layer 0 of a\\nheads: 9\n"


@pytest.mark.parametrize(
    "folder", ["a b", "a#b", "a'b\"c", "ä€", "a[0]", "a\nb", "a: b", "~root", "-", "\x85\u2028", "😀", "a\\b"]
)
def test_a_tensor_in_any_folder_is_found_again(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(folder) / "m.safetensors"
    file.parent.mkdir()
    file.touch()
    text = layer_text({"w_q": Entry(tensor("h.0.q", str(file), "[0:4]"))}, [], Path())
    written: Any = parse_document(text, "p.yaml")["w_q"].value
    path, entry = locate(written)
    assert (Path(path).samefile(file), entry) == (True, "h.0.q[0:4]")


def test_a_folder_that_is_a_link_names_files_from_where_it_leads_to(tmp_path: Path) -> None:
    file = tmp_path / "models" / "m.safetensors"
    for folder in (file.parent, tmp_path / "far" / "away"):
        folder.mkdir(parents=True)
    file.touch()
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    text = layer_text({"w_q": Entry(tensor("q", str(file)))}, [], tmp_path / "link")
    written: Any = parse_document(text, "p.yaml")["w_q"].value
    path, _ = locate(written)
    assert (tmp_path / "link" / path).samefile(file)


def test_files_are_named_relative_to_the_folder_of_the_problem(tmp_path: Path) -> None:
    entries = {"w_q": Entry(tensor("q", str(tmp_path / "models" / "m.safetensors")))}
    assert '"../models/m.safetensors#q"' in layer_text(entries, [], tmp_path / "problems")


def rope(**parameters: Any) -> dict[str, Entry]:
    return {"position": Entry({"rope": Entry({name: Entry(value) for name, value in parameters.items()})})}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({}, []),
        ({"position": Entry("alibi")}, []),
        (rope(base=10000.0), []),
        (rope(scaling={"rope_type": "linear", "factor": 2.0}), []),
        (rope(scaling={"rope_type": "default", "mrope_section": [1, 2, 3]}), []),
        (rope(scaling={"rope_type": "axial"}), ["positions"]),
        (rope(scaling={"rope_type": "unheard of"}), []),
        ({"query_embeddings": Entry("normal")}, ["query_embeddings"]),
        ({"mask": Entry("causal")}, []),
        ({"mask": Entry({"needed": Entry("where the window wraps around")})}, ["mask"]),
        (
            rope(scaling={"rope_type": "axial"}) | {"query_embeddings": Entry("normal")},
            ["query_embeddings", "positions"],
        ),
    ],
)
def test_arrays_that_no_checkpoint_has_are_needed(entries: dict[str, Entry], expected: list[str]) -> None:
    assert needed_inputs(entries) == expected


def test_in_every_cross_attention_another_sequence_asks() -> None:
    parts = {name: read_family(name, "").parts.get("cross") for name in family_names()}
    assert [name for name, part in parts.items() if part is not None and "query_embeddings" not in part.keys] == []
