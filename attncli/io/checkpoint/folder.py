"""The folder of a checkpoint: its config.json, and which file has which tensor."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.io.checkpoint.files import read_index, tensor_files
from attncli.io.checkpoint.json_files import read_object
from attncli.io.inputs import Inputs
from attncli.io.paths import is_there, name_of_path, opening, path_of
from attncli.io.readers.safetensors import list_safetensors
from attncli.io.refused_files import check_is_not_refused

CONFIG = "config.json"
_ADAPTER = "adapter_config.json"
_ADAPTER_FILE = "adapter_model"  # the name, without its suffix, of its tensors
MERGE_HINT = "merge it into its model (PEFT's merge_and_unload), and name the folder that this is saved to"
_SNAPSHOTS = "snapshots"  # where the cache of Hugging Face has the folders of a model's versions
_QUANTIZATION = "quantization_config"


@dataclass(frozen=True)
class StoredTensor:
    """One tensor of a checkpoint: the file it is in, its shape, and its type by the file's name for it."""

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
    _by_last_words: dict[str, list[str]] = field(default_factory=dict)

    @property
    def config_name(self) -> str:
        """The name of config.json in errors."""
        return name_of_path(self.folder / CONFIG)

    @property
    def model_type(self) -> str:
        """The `model_type` of the configuration; raises AttnError where it has none."""
        found = self.config.get("model_type")
        if not isinstance(found, str):
            raise AttnError("has no model_type", where=self.config_name, hint="expected the config of a whole model")
        return found

    @property
    def quantization(self) -> Mapping[str, Any]:
        """How the model's numbers are stored, as its configuration says it."""
        found = self.config.get(_QUANTIZATION)
        return found if isinstance(found, dict) else {}

    def tensor(self, name: str) -> StoredTensor:
        """The description of a tensor, by the header of its file; raises AttnError where the file does not have it."""
        file = self.files[name]
        found = self.header(file).get(name)
        if found is None:
            raise AttnError(f"has no tensor {name}, which the index says is there", where=str(file))
        return found

    def names_with_ending(self, ending: str) -> list[str]:
        """The tensors whose names are a name, or have it behind a dot: `model.layers.0.w` of `layers.0.w`."""
        if not self._by_last_words:
            for name in self.files:
                self._by_last_words.setdefault(_last_words(name), []).append(name)
        candidates = self._by_last_words.get(_last_words(ending), ()) if "." in ending else self.files
        return [name for name in candidates if f".{name}".endswith(f".{ending}")]

    def header(self, file: Path) -> Mapping[str, StoredTensor]:
        """The tensors in a file, whose header is read once."""
        if file not in self._headers:
            listed = list_safetensors(self.inputs.open(name_of_path(file)))
            self._headers[file] = {found.name: StoredTensor(file, found.shape or (), found.type) for found in listed}
        return self._headers[file]


def read_checkpoint(name: str, inputs: Inputs) -> Checkpoint:
    """The checkpoint in a folder; `name` is that folder or a file in it.

    Of tensors none is read: where there is an index no file is opened, otherwise the header of each. Raises AttnError
    where there is no config.json, where there are no safetensors, and where an index names a file outside the folder.
    """
    path = path_of(name)
    check_is_not_refused(path)
    if not is_there(path):
        hint = f"name a model's folder, with its {CONFIG}"
        raise AttnError("there is no such file or folder", where=name, hint=hint)
    with opening(name):
        return _read_checkpoint(path, inputs)


def _read_checkpoint(path: Path, inputs: Inputs) -> Checkpoint:
    """The checkpoint in a folder, or in that of a file."""
    folder = path if path.is_dir() else path.parent
    if not (folder / CONFIG).exists():
        if (folder / _ADAPTER).exists():
            raise _is_adapter(folder)
        for file in sorted(folder.iterdir()):
            check_is_not_refused(file)
        snapshots = folder / _SNAPSHOTS
        hint = f"name a folder in {snapshots}" if snapshots.is_dir() else "name the folder of a whole model"
        raise AttnError(f"has no {CONFIG}", where=str(folder), hint=hint)
    config = read_object(inputs.open(name_of_path(folder / CONFIG)))
    index, files = tensor_files(folder, None if path.is_dir() else path)
    if (folder / _ADAPTER).exists() and files and all(file.stem == _ADAPTER_FILE for file in files):
        raise _is_adapter(folder)
    if index is not None:
        return Checkpoint(folder, config, read_index(index, inputs), inputs)
    places: dict[str, Path] = {}
    checkpoint = Checkpoint(folder, config, places, inputs)
    for file in files:
        for tensor in checkpoint.header(file):
            if tensor in places:
                raise AttnError(f"has the tensor {tensor}, which is in {places[tensor].name} too", where=str(file))
            places[tensor] = file
    return checkpoint


def _last_words(name: str) -> str:
    """The end of a tensor's name that few others have: `q_proj.weight`."""
    return ".".join(name.rsplit(".", 2)[-2:])


def _is_adapter(folder: Path) -> AttnError:
    """The error of a folder that has the changes to a model alone."""
    return AttnError("is an adapter, which has no attention of its own", where=str(folder), hint=MERGE_HINT)
