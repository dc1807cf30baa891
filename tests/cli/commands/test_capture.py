"""`attn capture` before a model is run: what is wrong with its options, and what is missing."""

import sys
from pathlib import Path

import pytest

from tests.checkpoints import write_checkpoint
from tests.cli.running import Run

WRONG = {
    "no file": ([], "-o: is missing; name a file: -o captured.safetensors"),
    "another format": (["-o", "c.npz"], "c.npz: is not a .safetensors file; name captured.safetensors"),
    "a file that is there": (["-o", "old.safetensors"], "old.safetensors: already exists"),
    "no range": (["-o", "c.safetensors", "--layers", "3-0"], "--layers: '3-0' is not a layer; write 0-3, or 0,5,11"),
    "no number": (["-o", "c.safetensors", "--max-tokens", "0"], "--max-tokens: 0 is less than 1"),
    "no capture": (["--against", "old.safetensors"], "old.safetensors"),
    "one file of a model": (["-o", "c.safetensors"], "model/model.safetensors: is one file of a model"),
}


@pytest.mark.parametrize(("words", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_option_is_an_error(words: list[str], said: str, run: Run, tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "model")
    (tmp_path / "old.safetensors").write_bytes(b"")
    ran = run("capture", "model/model.safetensors", "The cat.", *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"attn: {said}")


def test_a_package_that_is_missing_is_named_with_its_extra(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    write_checkpoint(tmp_path / "model")
    ran = run("capture", "model", "The cat.", "-o", "c.safetensors")
    assert ran.returncode == 2
    assert ran.stderr == "attn: to run a model needs the package torch; install it: pip install 'attncli[models]'\n"
