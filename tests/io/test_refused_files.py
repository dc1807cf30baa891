"""Pickles of PyTorch's and GGUF files are refused by their names, with what to do."""

from pathlib import Path

import pytest

from attncli.base.errors import AttnError
from attncli.io import formats
from attncli.io.origin import Origin
from attncli.io.parse import read_text_array
from attncli.io.problem_files import read_document
from tests.io.opened import opened


@pytest.mark.parametrize("name", ["model.pt", "model.bin", "model.PTH", "model.ckpt"])
def test_a_pickle_is_refused_with_the_lines_that_convert_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"PK\3\4, as an archive of NumPy begins")
    for read in (
        lambda: read_document(str(path)),
        lambda: read_text_array(f"{path}#w_q", ("w_q",), Origin()),
        lambda: formats.list_arrays(opened(path)),
    ):
        with pytest.raises(
            AttnError, match=r"pickle .* torch\.load\(FILE, weights_only=True\)\.items\(\)\}; safetensors\.torch"
        ) as e:
            read()
        assert str(e.value).startswith(str(path))


def test_a_gguf_file_is_refused() -> None:
    with pytest.raises(AttnError, match="is a GGUF file, which attn does not read"):
        read_document("model.gguf")
