"""The samples that the guides use, as the package or its checkout has them."""

from pathlib import Path

from attncli.base.errors import AttnError
from attncli.io.paths import SAMPLES

PICTURES = (".svg", ".png", ".html")  # of the documents, which no command reads

_PACKAGE = Path(__file__).resolve().parents[1]


def sample_files() -> dict[str, bytes]:
    """The contents of every sample by its path below the folder of samples: `published/illustrated.yaml`.

    Raises AttnError where the package was installed without them.
    """
    # A wheel has them in the package, a checkout beside it.
    folder = next((parent / SAMPLES for parent in (_PACKAGE, _PACKAGE.parent) if (parent / SAMPLES).is_dir()), None)
    if folder is None:
        raise AttnError("has no samples", where=str(_PACKAGE), hint="install attncli again, from an index of packages")
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in PICTURES)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if "__pycache__" not in path.parts}
