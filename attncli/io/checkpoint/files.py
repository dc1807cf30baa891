"""The files of a checkpoint that hold its tensors: those that an index names, or those that stand in its folder."""

from collections.abc import Mapping
from pathlib import Path, PureWindowsPath

from attncli.base.errors import AttnError
from attncli.io.checkpoint.json_files import read_object
from attncli.io.inputs import Inputs
from attncli.io.paths import name_of_path
from attncli.io.refused_files import check_is_not_refused

SAFETENSORS = ".safetensors"
INDEX = f"{SAFETENSORS}.index.json"
_MAIN = "model"  # the name, without its suffix, that every library gives the file of a whole model


def tensor_files(folder: Path, named: Path | None) -> tuple[Path | None, list[Path]]:
    """The index of a checkpoint (None where there is none), or the files of its tensors.

    `named` is the file that the user named, if it is one of these. Without it that is the file or index of the name
    `model`, otherwise the only index, otherwise every file of safetensors. Raises AttnError where there is none.
    """
    if named is not None and named.name.endswith(INDEX):
        return named, []
    if named is not None and named.suffix == SAFETENSORS:
        return None, [named]
    indexes, files = sorted(folder.glob(f"*{INDEX}")), sorted(folder.glob(f"*{SAFETENSORS}"))
    for index in indexes:
        if index.name == f"{_MAIN}{INDEX}" or len(indexes) == 1:
            return index, []
    main = [file for file in files if file.stem == _MAIN]
    if main or files:
        return None, main or files
    for file in sorted(folder.iterdir()):
        check_is_not_refused(file)
    hint = f"name the folder that has {_MAIN}{SAFETENSORS}, or {_MAIN}{INDEX} and the files that it names"
    raise AttnError(f"has no {SAFETENSORS} file", where=str(folder), hint=hint)


def read_index(index: Path, inputs: Inputs) -> Mapping[str, Path]:
    """The file of each tensor by the tensor's name; raises AttnError where one would be outside the folder."""
    source = inputs.open(name_of_path(index))
    names = read_object(source).get("weight_map")
    if not isinstance(names, dict) or not names:
        raise AttnError("has no weight_map of tensors and their files", where=source.name)
    paths: dict[str, Path] = {}  # one for each file: there may be a hundred thousand tensors
    for name in set(map(str, names.values())):
        if not _is_plain(name):
            message = f"names the file {name!r}, which is no name of a file in its folder"
            raise AttnError(message, where=source.name, hint=f"expected a name that ends in {SAFETENSORS}")
        paths[name] = index.parent / name
    return {tensor: paths[str(name)] for tensor, name in names.items()}


def _is_plain(name: str) -> bool:
    """Whether a name is that of a file in a folder, on every system; a link there may lead anywhere."""
    return PureWindowsPath(name).name == name and name.endswith(SAFETENSORS) and name.isprintable() and name[0] != "~"
