"""The folder of a checkpoint: its config.json, and the file of each tensor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PureWindowsPath
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.memory import format_bytes
from attncli.io.documents import read_json
from attncli.io.inputs import Input, Inputs
from attncli.io.paths import check_is_not_refused, is_there, name_of_path, opening, path_of
from attncli.io.safetensors import READER

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
_ADAPTER = "adapter_config.json"
_ADAPTER_FILE = "adapter_model"  # the name of its tensor file, without suffix
MERGE_HINT = "merge it into its model (PEFT's merge_and_unload), and name the folder that this is saved to"
_SNAPSHOTS = "snapshots"  # the folder of a model's versions in the cache of Hugging Face
_QUANTIZATION = "quantization_config"
SUFFIX = ".safetensors"
INDEX = f"{SUFFIX}.index.json"
MAX_CONFIG_SIZE = 2**24  # bytes: config.json has a thousandth of this
MAX_INDEX_SIZE = 2**28  # bytes: an index of a million tensors has half as many
_MAIN = "model"  # every library's name for the file of a whole model, without suffix


@dataclass(frozen=True)
class StoredTensor:
    """One tensor of a checkpoint: its file, its shape, and its type under the file's name for it."""

    file: Path
    shape: tuple[int, ...]
    type: str


@dataclass(frozen=True)
class Checkpoint:
    """The configuration of a model, and the file of each of its tensors."""

    folder: Path
    config: Mapping[str, Any]
    files: Mapping[str, Path]  # by the names of tensors
    inputs: Inputs
    _headers: dict[Path, Mapping[str, StoredTensor]] = field(default_factory=dict)

    @property
    def config_name(self) -> str:
        """The name of config.json in errors."""
        return name_of_path(self.folder / CONFIG)

    @property
    def model_type(self) -> str:
        """The `model_type` of the configuration; raises AttnError if it has none."""
        found = self.config.get("model_type")
        if not isinstance(found, str):
            raise AttnError("has no model_type", where=self.config_name, hint="expected the config of a whole model")
        return found

    @property
    def quantization(self) -> Mapping[str, Any]:
        """The storage of the model's numbers, from its configuration."""
        found = self.config.get(_QUANTIZATION)
        return found if isinstance(found, dict) else {}

    def tensor(self, name: str) -> StoredTensor:
        """The description of a tensor, from its file's header; raises AttnError if the file lacks it."""
        file = self.files[name]
        found = self.header(file).get(name)
        if found is None:
            raise AttnError(f"has no tensor {name}, which the index says is there", where=str(file))
        return found

    def names_with_ending(self, ending: str) -> list[str]:
        """The tensors with a name, or with it after a dot: `model.layers.0.w` for `layers.0.w`."""
        candidates = self._by_last_words.get(_last_words(ending), ()) if "." in ending else self.files
        return [name for name in candidates if f".{name}".endswith(f".{ending}")]

    @cached_property
    def _by_last_words(self) -> Mapping[str, list[str]]:
        """The tensors by the ends of their names: there may be a hundred thousand."""
        names: dict[str, list[str]] = {}
        for name in self.files:
            names.setdefault(_last_words(name), []).append(name)
        return names

    def header(self, file: Path) -> Mapping[str, StoredTensor]:
        """The tensors in a file; it reads the header once."""
        if file not in self._headers:
            listed = READER.descriptions(_open_file(file, self.inputs))
            self._headers[file] = {found.name: StoredTensor(file, found.shape or (), found.type) for found in listed}
        return self._headers[file]


def read_checkpoint(name: str, inputs: Inputs) -> Checkpoint:
    """The checkpoint in a folder; `name` is that folder or a file in it.

    It reads no tensor: with an index it opens no file, otherwise the header of each. Raises AttnError if there is no
    config.json, if there are no safetensors, or if an index names a file outside the folder.
    """
    path = path_of(name)
    check_is_not_refused(path)
    if not is_there(path):
        hint = f"name a model's folder, with its {CONFIG}"
        raise AttnError("there is no such file or folder", where=name, hint=hint)
    with opening(name):
        return _read_checkpoint(path, inputs)


def _read_checkpoint(path: Path, inputs: Inputs) -> Checkpoint:
    """The checkpoint in a folder, or in a file's folder."""
    is_folder = path.is_dir()
    folder = path if is_folder else path.parent
    if not is_folder:
        _check_named_file(path)
    if is_folder and not (folder / CONFIG).exists():
        if (folder / _ADAPTER).exists():
            raise _is_adapter(folder)
        if not any(folder.glob(f"*{SUFFIX}")):
            _check_files(folder)
        snapshots = folder / _SNAPSHOTS
        hint = f"name a folder in {snapshots}" if snapshots.is_dir() else "name the folder of a whole model"
        raise AttnError(f"has no {CONFIG}", where=str(folder), hint=hint)
    config = _read_object(_open_file(folder / CONFIG, inputs), MAX_CONFIG_SIZE)
    index, files = _tensor_files(folder, None if is_folder else path)
    if (folder / _ADAPTER).exists() and files and all(file.stem == _ADAPTER_FILE for file in files):
        raise _is_adapter(path)
    if index is not None:
        return Checkpoint(folder, config, _read_index(index, inputs), inputs)
    places: dict[str, Path] = {}
    checkpoint = Checkpoint(folder, config, places, inputs)
    for file in files:
        for tensor in checkpoint.header(file):
            if tensor in places:
                raise AttnError(f"has the tensor {tensor}, which is in {places[tensor].name} too", where=str(file))
            places[tensor] = file
    return checkpoint


def _check_named_file(path: Path) -> None:
    """Raise AttnError if a file does not name a checkpoint, or there is no config.json next to it."""
    _check_is_file(path)
    if path.name != CONFIG and path.suffix != SUFFIX and not path.name.endswith(INDEX):
        hint = f"name a model's folder, its {CONFIG}, or a {SUFFIX} file or index in it"
        raise AttnError("is not a checkpoint", where=name_of_path(path), hint=hint)
    if not (path.parent / CONFIG).exists():
        if path.stem == _ADAPTER_FILE:
            raise _is_adapter(path)
        message = f"has no {CONFIG} next to it, which says how its layers attend"
        raise AttnError(message, where=name_of_path(path), hint="name a file in the folder of a whole model")


def _check_files(folder: Path) -> None:
    """Raise AttnError if a folder has a file of a format that attn never reads."""
    for file in sorted(folder.iterdir()):
        check_is_not_refused(file)


def _last_words(name: str) -> str:
    """The end of a tensor's name that few others share: `q_proj.weight`."""
    return ".".join(name.rsplit(".", 2)[-2:])


def _is_adapter(path: Path) -> AttnError:
    """The error for a folder, or a file, with only the changes to a model."""
    return AttnError("is an adapter, which has no attention of its own", where=str(path), hint=MERGE_HINT)


def _tensor_files(folder: Path, named: Path | None) -> tuple[Path | None, list[Path]]:
    """The index of a checkpoint (None if there is none), or the files of its tensors.

    `named` is the file that the user named, if it is one of these. Otherwise it is the file or index named `model`,
    then the only index, then every safetensors file. Raises AttnError if there is none.
    """
    if named is not None and named.name.endswith(INDEX):
        return named, []
    if named is not None and named.suffix == SUFFIX:
        return None, [named]
    indexes, files = sorted(folder.glob(f"*{INDEX}")), sorted(folder.glob(f"*{SUFFIX}"))
    for index in indexes:
        if index.name == f"{_MAIN}{INDEX}" or len(indexes) == 1:
            return index, []
    main = [file for file in files if file.stem == _MAIN]
    if main or files:
        return None, main or files
    _check_files(folder)
    hint = f"name the folder that has {_MAIN}{SUFFIX}, or {_MAIN}{INDEX} and the files that it names"
    raise AttnError(f"has no {SUFFIX} file", where=str(folder), hint=hint)


def _read_index(index: Path, inputs: Inputs) -> Mapping[str, Path]:
    """The file of each tensor by the tensor's name; raises AttnError if one would be outside the folder."""
    source = _open_file(index, inputs)
    names = _read_object(source, MAX_INDEX_SIZE).get("weight_map")
    if not isinstance(names, dict) or not names:
        raise AttnError("has no weight_map of tensors and their files", where=source.name)
    paths: dict[str, Path] = {}  # one for each file: there may be a hundred thousand tensors
    for name in set(map(str, names.values())):
        if not _is_plain(name):
            message = f"names the file {name!r}, which is not the name of a file in its folder"
            raise AttnError(message, where=source.name, hint=f"expected a name that ends in {SUFFIX}")
        paths[name] = index.parent / name
    return {tensor: paths[str(name)] for tensor, name in names.items()}


def _is_plain(name: str) -> bool:
    """Whether a name is a plain file name in a folder, on every system; a link there may lead anywhere."""
    return PureWindowsPath(name).name == name and name.endswith(SUFFIX) and name.isprintable() and name[0] != "~"


def _open_file(path: Path, inputs: Inputs) -> Input:
    """The input of a file of a checkpoint; raises AttnError for a pipe or a device, which may never end."""
    _check_is_file(path)
    return inputs.open(name_of_path(path))


def _check_is_file(path: Path) -> None:
    """Raise AttnError for a pipe or a device."""
    name = name_of_path(path)
    with opening(name, path):
        is_stream = not path.is_file() and not path.is_dir() and path.exists()
    if is_stream:
        raise AttnError("is a pipe or a device", where=name, hint="a checkpoint has files: copy it to one")


def _read_object(source: Input, limit: int) -> Mapping[str, Any]:
    """The object in a JSON file; raises AttnError if there is none, or an object in it repeats a key."""
    with opening(source.name, source.path):
        size = source.path.stat().st_size
    if size > limit:
        message = f"has {format_bytes(size)}; a file of its kind has {format_bytes(limit)} at most"
        raise AttnError(message, where=source.name)
    if b"\0" in source.head():  # a file without blocks, which would be read whole
        raise AttnError("is not text", where=source.name, hint="expected a JSON object")
    found = read_json(source.text(), source.name)
    if not isinstance(found, dict):
        raise AttnError("is not a JSON object", where=source.name)
    return found
