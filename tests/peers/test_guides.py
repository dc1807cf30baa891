"""The code for PyTorch in the guides runs, and `attn check` takes what it writes."""

import subprocess
import sys
from pathlib import Path

import pytest

from docs.generation import console_blocks
from tests.cli.running import run_in_process
from tests.documents.reading import DOCUMENTS

pytest.importorskip("torch")
pytest.importorskip("safetensors")


def test_a_case_that_pytorch_saves_agrees(tmp_path: Path) -> None:
    (code,) = console_blocks.blocks(DOCUMENTS["docs/check.md"], "py")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    ran = run_in_process("check", "case.safetensors", "--causal", folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1].startswith("All ")
