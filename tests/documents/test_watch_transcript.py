"""The transcript of `--watch` in docs/compare.md is what the command prints while its file is edited."""

import os
import re
import shlex
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

from attncli.cli import watch as watching
from docs.generation import console_blocks
from tests.cli.running import run_in_process
from tests.documents.reading import DOCUMENTS, ROOT

# In place of the first text the second, as somebody who edits the file types them.
EDITS = (("[0, 2, 1], ", "[0, 1, 1], "), ("w_q: [[", "w_q: ["), ("", ""))


def test_the_transcript_is_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (transcript,) = console_blocks.blocks(DOCUMENTS["docs/compare.md"], "text")
    command, *shown = transcript.splitlines()
    path = Path(shutil.copy(ROOT / "samples" / "three_words.yaml", tmp_path))

    def events(_folders: object) -> Generator[None, None, None]:
        for old, new in edits:
            time = path.stat().st_mtime_ns + (10**6 if old else 0)
            path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
            os.utime(path, ns=(time, time))
            yield
        raise KeyboardInterrupt

    edits = iter(EDITS)
    monkeypatch.setattr(watching, "find_events", lambda _option: events)
    ran = run_in_process(*shlex.split(command.removeprefix("$ attn ")), folder=tmp_path)
    messages = [line for line in shown if line.startswith("attn: ")]
    assert [line for line in shown if line not in messages] == ran.stdout.splitlines()
    assert without_times(messages) == without_times(ran.stderr.splitlines())


def without_times(lines: list[str]) -> list[str]:
    """The lines without the time of a save."""
    return [re.sub(r"\d\d:\d\d:\d\d ", "", line) for line in lines]
