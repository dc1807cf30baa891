"""The folder of a checkpoint: which of its files are read, and what is said of one that is none."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attncli.base.errors import AttnError
from attncli.io.inputs import Inputs
from attncli.models.checkpoint import read_checkpoint
from tests.checkpoints import LLAMA, llama_tensors, write_checkpoint, write_index, write_safetensors

pytest.importorskip("safetensors")

TENSORS = llama_tensors()
HALVES = [dict(list(TENSORS.items())[:6]), dict(list(TENSORS.items())[6:])]
QUERY = "model.layers.1.self_attn.q_proj.weight"


@pytest.mark.parametrize("shards", [[TENSORS], HALVES], ids=["one file", "an index"])
@pytest.mark.parametrize("name", ["", "config.json"])
def test_it_has_every_tensor_with_its_shape(shards: list[dict[str, Any]], name: str, tmp_path: Path) -> None:
    found = read_checkpoint(str(write_checkpoint(tmp_path, shards=shards) / name), Inputs())
    assert list(found.files) == list(TENSORS)
    assert (found.tensor(QUERY).shape, found.tensor(QUERY).type) == ((4, 4), "F64")


def test_of_many_files_only_those_are_opened_that_have_what_is_asked_for(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, shards=HALVES)
    (tmp_path / "model-1-of-2.safetensors").write_bytes(b"damaged")
    found = read_checkpoint(str(tmp_path), Inputs())
    assert found.tensor(QUERY).shape == (4, 4)
    with pytest.raises(AttnError, match=r"model-1-of-2\.safetensors: is not a valid"):
        found.tensor("model.embed_tokens.weight")


def test_a_file_that_is_named_is_the_one_that_is_read(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    write_safetensors(tmp_path / "other.safetensors", {"w": TENSORS[QUERY]})
    assert list(read_checkpoint(str(tmp_path / "other.safetensors"), Inputs()).files) == ["w"]
    assert list(read_checkpoint(str(tmp_path), Inputs()).files) == list(TENSORS)


def test_links_are_followed(tmp_path: Path) -> None:
    blobs, snapshot = write_checkpoint(tmp_path / "blobs"), tmp_path / "snapshot"
    snapshot.mkdir()
    for file in blobs.iterdir():
        (snapshot / file.name).symlink_to(file)
    assert read_checkpoint(str(snapshot), Inputs()).tensor(QUERY).shape == (4, 4)


@pytest.mark.parametrize(
    "name", ["../x.safetensors", "/x.safetensors", "a/../../x.safetensors", "a\\x.safetensors", "..", "~x.safetensors"]
)
def test_a_name_in_an_index_never_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    write_checkpoint(tmp_path, shards=HALVES)
    write_index(tmp_path, {QUERY: name})
    with pytest.raises(AttnError, match="is not the name of a file in its folder"):
        read_checkpoint(str(tmp_path), Inputs())


def change_config(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "config.json").write_text(text, encoding="utf-8")


def rename(old: str, new: str) -> Callable[[Path], object]:
    return lambda folder: (folder / old).rename(folder / new)


def make_adapter(folder: Path) -> None:
    rename("config.json", "adapter_config.json")(folder)


def make_cache(folder: Path) -> None:
    rename("config.json", "c.json")(folder)
    (folder / "snapshots").mkdir()


def make_pointer(folder: Path) -> None:
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 16060617592\n"
    (folder / "model.safetensors").write_text(text, encoding="utf-8")


def make_saved_adapter(folder: Path) -> None:
    rename("model.safetensors", "adapter_model.safetensors")(folder)
    (folder / "adapter_config.json").write_text("{}", encoding="utf-8")


def replace_by(name: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return change


def link_to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_endless(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(2**40)  # a file without blocks


def lose_config_and_add_a_pickle(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "x.pt").touch()


def make_pickle(folder: Path) -> None:
    rename("model.safetensors", "pytorch_model.bin")(folder)


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        (change_config("{"), "", r"m/config\.json, line 1: is not JSON: Expecting property name"),
        (change_config("[1]"), "", r"m/config\.json: is not a JSON object"),
        (change_config('{"a": {"b": 1, "b": 2}}'), "", r"m/config\.json: the key 'b' is given twice; keep one of them"),
        (change_config("[" * 100_000), "", r"m/config\.json: lists are nested too deep"),
        (change_config('{"a": 1' + 5000 * "0" + "}"), "", r"m/config\.json, line 1: 1000.* is too large for a"),
        (rename("config.json", "c.json"), "", "m: has no config.json; name the folder of a whole model"),
        (make_cache, "", "m: has no config.json; name a folder in m/snapshots"),
        (make_adapter, "", r"m: is an adapter, which has no attention of its own; merge it"),
        (make_saved_adapter, "", r"m: is an adapter, which has no attention of its own; merge it"),
        (make_pointer, "", r"m/model\.safetensors: is a pointer of Git LFS, .*; git lfs pull fetches it"),
        (make_pickle, "", r"pytorch_model\.bin: "),
        (
            lose_config_and_add_a_pickle,
            "model.safetensors",
            r"^m/model\.safetensors: has no config\.json next to it, which says",
        ),
        (lose_config_and_add_a_pickle, "", "^m: has no config.json; name the folder"),
        (replace_by("config.json", os.mkfifo), "", r"^m/config\.json: is a pipe or a device; a checkpoint has files"),
        (replace_by("config.json", link_to_zeros), "", r"^m/config\.json: is a pipe or a device"),
        (replace_by("config.json", make_endless), "", r"^m/config\.json: has 1\.1 TB; a file of its kind has"),
        (change_config("\0" * 2**20), "", r"^m/config\.json: is not text; expected a JSON object"),
        (lambda folder: os.mkfifo(folder / "pipe"), "pipe", r"^m/pipe: is a pipe or a device; a checkpoint has"),
        (lambda folder: (folder / "x.csv").touch(), "x.csv", r"^m/x\.csv: is not a checkpoint; name a model's folder"),
        (make_adapter, "model.safetensors", r"^m/model\.safetensors: has no config\.json next to it, which says"),
        (make_saved_adapter, "adapter_model.safetensors", r"^m/adapter_model\.safetensors: is an adapter"),
        (replace_by("model.safetensors", os.mkfifo), "", r"^m/model\.safetensors: is a pipe or a device"),
        (replace_by("model.safetensors", link_to_zeros), "model.safetensors", r"^m/model\.safetensors: is a pipe or a"),
        (
            lambda folder: link_to_zeros(folder / "model.safetensors.index.json"),
            "",
            r"index\.json: is a pipe or a device",
        ),
        (
            rename("model.safetensors", "x.txt"),
            "",
            r"m: has no \.safetensors file; name the folder that has",
        ),
        (rename("model.safetensors", "m.gguf"), "m.gguf", r"m/m\.gguf: is a GGUF file, which attn can't read; name"),
        (lambda _: None, "none", "m/none: there is no such file or folder; name a model's folder"),
        (lambda _: None, 5000 * "n", "nnn: there is no such file or folder; name a model's folder"),
        (lambda folder: write_index(folder, [1]), "", r"index\.json: has no weight_map"),
        (lambda folder: write_index(folder, {}), "", r"index\.json: has no weight_map"),
    ],
)
def test_what_is_no_checkpoint_is_said_in_one_line(
    change: Callable[[Path], object], name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    change(write_checkpoint(tmp_path / "m"))
    with pytest.raises(AttnError, match=message) as raised:
        read_checkpoint(f"m/{name}".rstrip("/"), Inputs())
    assert "\n" not in str(raised.value)


def test_a_tensor_in_two_files_without_an_index_is_an_error(tmp_path: Path) -> None:
    write_checkpoint(tmp_path)
    rename("model.safetensors", "a.safetensors")(tmp_path)
    write_safetensors(tmp_path / "b.safetensors", {QUERY: TENSORS[QUERY]})
    with pytest.raises(AttnError, match=rf"b\.safetensors: has the tensor {QUERY}, which is in a\.safetensors too"):
        read_checkpoint(str(tmp_path), Inputs())


def test_an_index_that_names_a_missing_file_or_tensor_is_an_error(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, shards=HALVES)
    write_index(tmp_path, {QUERY: "model-1-of-2.safetensors", "w": "gone.safetensors"})
    found = read_checkpoint(str(tmp_path), Inputs())
    with pytest.raises(AttnError, match=rf"model-1-of-2\.safetensors: has no tensor {QUERY}, which the index says"):
        found.tensor(QUERY)
    with pytest.raises(AttnError, match=r"gone\.safetensors: there is no such file"):
        found.tensor("w")


def test_a_config_without_a_type_is_an_error(tmp_path: Path) -> None:
    config = {key: value for key, value in LLAMA.items() if key != "model_type"}
    found = read_checkpoint(str(write_checkpoint(tmp_path, config)), Inputs())
    with pytest.raises(AttnError, match=r"config\.json: has no model_type"):
        _ = found.model_type
    assert json.loads((tmp_path / "config.json").read_text(encoding="utf-8")) == found.config
