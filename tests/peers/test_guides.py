"""The code for PyTorch and transformers in the guides runs, and `attn` takes what it writes."""

import json
from pathlib import Path

import numpy as np
import pytest

from docs.generation import console_blocks
from tests.cli.running import run_in_process
from tests.documents.reading import DOCUMENTS, ROOT

pytest.importorskip("torch")
pytest.importorskip("safetensors")


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)


def test_a_case_that_pytorch_saves_agrees(tmp_path: Path) -> None:
    code, _fixture = console_blocks.blocks(DOCUMENTS["docs/check.md"], "py")
    exec(code, {})
    ran = run_in_process("check", "case.safetensors", "--causal", folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("All ")


def test_the_model_saves_the_arrays_of_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    saving, _ = console_blocks.blocks(DOCUMENTS["docs/models.md"], "py")
    with console_blocks.new_folder() as folder:
        monkeypatch.chdir(folder)
        exec(saving, {})
        monkeypatch.undo()
        for stored in (ROOT / "samples" / "tiny_run").iterdir():  # each processor rounds float32 otherwise
            assert np.allclose(np.load(folder / stored.name), np.load(stored), rtol=0, atol=1e-5), stored.name


def test_a_pickle_that_is_converted_is_read_with_tensors_that_share_their_numbers(tmp_path: Path) -> None:
    import torch

    _, converting = console_blocks.blocks(DOCUMENTS["docs/models.md"], "py")
    table = torch.arange(6.0).reshape(2, 3)
    torch.save({"table": table, "head": table, "turned": table.T}, tmp_path / "pytorch_model.bin")
    exec(converting, {})
    ran = run_in_process("compute", "--query", "1 0", "--key", "model.safetensors#turned", "--json", folder=tmp_path)
    assert json.loads(ran.stdout)["scores"] == pytest.approx(np.array([0, 1, 2])[None] / np.sqrt(2))
