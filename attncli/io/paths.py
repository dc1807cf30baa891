"""Paths: the file and the entry that a text names, errors for unreadable ones, and the samples."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attncli.base.errors import AttnError

STDIN = "-"
SAMPLES = "samples"  # the guides' folder
_PICTURES = (".svg", ".png", ".html")  # pictures among the samples, which no command reads
_PACKAGE = Path(__file__).resolve().parents[1]

_PICKLE = (
    "is a PyTorch pickle, which can run code, so attn does not open it",
    "convert it with: state = {name: x.clone().contiguous() for name, x in torch.load(FILE, weights_only=True)"
    ".items()}; "
    "safetensors.torch.save_file(state, 'model.safetensors')",
)
_FOR_READERS = (
    "is a text for people, so attn does not read it",
    "write the numbers of a work sheet into its .yaml or .xlsx, or under expected: in the problem file",
)
# Refused files, by suffix: what they are, and how to convert them.
_REFUSED: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys((".bin", ".pt", ".pth", ".ckpt"), _PICKLE),
    **dict.fromkeys((".md", ".tex", ".html", ".pdf"), _FOR_READERS),
    ".gguf": ("is a GGUF file, which attn can't read", "name the model's folder, or file, in safetensors"),
}
_SLICES = re.compile(r"(?s)(.+)(\[[^\[\]]*\])\s*")


def locate(text: str, folder: Path = Path()) -> tuple[str, str]:
    """The path, and the entry with its slices, in `file#entry[slices]`; without an entry only the slices.

    A path may contain `#` and brackets; an existing one has precedence.

    >>> locate("weights.npz#w_q"), locate("words.npy[0:2]")
    (('weights.npz', 'w_q'), ('words.npy', '[0:2]'))
    """
    name, slices = split_slices(text)
    paths = [text, *([name] if slices else []), *names_before_marks(text)]
    files = ((path, folder / path_of(path)) for path in paths)
    existing = (path for path, file in files if path == STDIN or (is_there(file) and not file.is_dir()))
    by_suffix = (path for path in reversed(paths) if Path(path).suffix)
    path = next(existing, None) or next(by_suffix, text.partition("#")[0])
    return path, text[len(path) :].removeprefix("#")


def names_before_marks(text: str) -> Sequence[str]:
    """The possible file names in `file#entry`: the text before each `#`, the longest first.

    >>> names_before_marks("p.yaml#Head #2")
    ['p.yaml#Head ', 'p.yaml']
    """
    return [text[:at] for at in reversed(range(1, len(text))) if text[at] == "#"]


def split_slices(text: str) -> tuple[str, str]:
    """The name and the slices of `name[slices]`; without slices only the name.

    >>> split_slices("c_attn.weight[:, 0:768]"), split_slices("w_q")
    (('c_attn.weight', '[:, 0:768]'), ('w_q', ''))
    """
    match = _SLICES.fullmatch(text)
    return (text, "") if match is None else (match[1], match[2])


def is_there(path: Path) -> bool:
    """Whether a file, a folder or a stream of that name exists; False for an impossible name."""
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, or in a folder without permission
        return False


def path_of(name: str) -> Path:
    """The path of a file's name, with `~` expanded; raises AttnError for a name that is not a path."""
    if not name:
        raise AttnError("the name of a file is empty", hint="name a file, or - for standard input")
    try:
        if "\0" not in name:
            return Path(name).expanduser() if name.startswith("~") else Path(name)
    except RuntimeError:
        raise AttnError("the home folder does not exist", where=name) from None
    raise AttnError("a path can't have the character NUL", where=name)


def name_of_path(path: Path) -> str:
    """The name of a path, the inverse of `path_of`: a folder `~x` that is not a home is `./~x`.

    >>> name_of_path(Path("~x/config.json")), name_of_path(Path("x/config.json"))
    ('./~x/config.json', 'x/config.json')
    """
    name = str(path)
    return f"./{name}" if name.startswith("~") else name


def nearest_file(path: Path) -> str | None:
    """The file or folder next to a missing one with the most similar name, ignoring suffixes."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a missing file needs it

    try:
        files = list(path.parent.iterdir())
    except OSError:
        return None
    for stem in get_close_matches(path.stem, {file.stem for file in files}, n=1):
        names = [file.name for file in files if file.stem == stem]
        return get_close_matches(path.name, names, n=1, cutoff=0)[0]
    return None


def _hint_of_missing(name: Path, path: Path | None) -> str | None:
    """The hint for a missing file."""
    if path is None:
        return None
    if path.is_symlink():
        return f"it is a link to {str(path.readlink())!r}"
    if not path.parent.is_dir():
        is_sample = name.parts[0] == SAMPLES and not Path(SAMPLES).exists()
        return "attn init --samples writes those of the guides" if is_sample else f"there is no folder {name.parent}"
    nearest = nearest_file(path)
    return f"did you mean {str(name.with_name(nearest))!r}?" if nearest else None


@contextmanager
def opening(name: str, path: Path | None = None) -> Iterator[None]:
    """Turn the system's errors about opening or reading a file into AttnError."""
    try:
        yield
    except FileNotFoundError:
        raise AttnError("there is no such file", where=name, hint=_hint_of_missing(Path(name), path)) from None
    except IsADirectoryError:
        raise AttnError("is a folder", where=name, hint="name a file in it") from None
    except OSError as error:
        raise AttnError(f"can't be read ({error.strerror or error})", where=name) from None


def check_is_not_refused(path: Path, name: str | None = None) -> None:
    """Raise AttnError for a file of a format that is never read; `name` is for the error."""
    message, hint = _REFUSED.get(path.suffix.lower(), (None, None))
    if message is not None:
        raise AttnError(message, where=name or str(path), hint=hint)


def sample_files() -> dict[str, bytes]:
    """The contents of every sample by its path below the folder of samples: `published/illustrated.yaml`.

    Raises AttnError if the package was installed without them.
    """
    # A wheel has them in the package, a checkout next to it.
    folder = next((parent / SAMPLES for parent in (_PACKAGE, _PACKAGE.parent) if (parent / SAMPLES).is_dir()), None)
    if folder is None:
        raise AttnError("has no samples", where=str(_PACKAGE), hint="install attncli again, from an index of packages")
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in _PICTURES)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if "__pycache__" not in path.parts}
