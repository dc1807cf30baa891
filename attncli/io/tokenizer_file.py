"""A model's tokenizer.json, which the package tokenizers reads only when a sentence is split."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError, missing_package
from attncli.base.memory import format_bytes
from attncli.io.inputs import Inputs
from attncli.io.paths import name_of_path, opening, path_of
from attncli.problem.tokens import encode

MAX_SIZE = 2**27  # bytes: five times the largest known ones


@dataclass(frozen=True, eq=False)
class TokenizerFile:
    """A tokenizer in a file, which opens to split a text."""

    name: str
    folder: Path
    inputs: Inputs

    def split(self, text: str) -> tuple[list[int], tuple[str, ...]]:
        """The numbers and labels of the tokens of a text; raises AttnError like `_read`."""
        return encode(self._read(), text)

    def _read(self) -> Any:
        """The tokenizer; raises AttnError if the package is not installed, or the file has none."""
        try:
            from tokenizers import Tokenizer  # noqa: PLC0415 - an optional extra
        except ImportError:
            raise missing_package("tokenizers", "models", "sentence") from None
        path = self.folder / path_of(self.name)
        name = name_of_path(path)
        with opening(name, path):
            size = path.stat().st_size
        if not path.is_file():
            raise AttnError("is not a file", where=name, hint="name a file tokenizer.json")
        if size > MAX_SIZE:
            raise AttnError(f"has {format_bytes(size)}; a tokenizer has at most {format_bytes(MAX_SIZE)}", where=name)
        source = self.inputs.open(self.name, self.folder)
        if b"\0" in source.head():  # for example a sparse file, which would be read whole
            raise AttnError("is not text", where=name, hint="expected a tokenizer.json")
        try:
            return Tokenizer.from_str(source.text())
        except AttnError:
            raise
        except Exception as error:  # noqa: BLE001 - the package raises nothing more precise
            message = f"is not a tokenizer of the package tokenizers ({error})"
            raise AttnError(message, where=name, hint="name the tokenizer.json of a model") from None
