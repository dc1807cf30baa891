"""Texts in chunks: what one call writes, and how the lines are counted."""

import pytest

from attncli.cli.streams import BUFFER_SIZE, buffer_chunks
from attncli.cli.terminal import ProgressBar


@pytest.mark.parametrize(
    "chunks", [[], ["one"], ["a\n"] * 100_000, ["x" * BUFFER_SIZE, "y"], ["y", "x" * (BUFFER_SIZE + 1), "z"]]
)
def test_buffered_chunks_are_the_same_text_in_fewer_chunks(chunks: list[str]) -> None:
    buffered = list(buffer_chunks(chunks))
    assert "".join(buffered) == "".join(chunks)
    assert len(buffered) <= len("".join(chunks)) / BUFFER_SIZE + 2


def test_lines_count_as_done_when_the_next_chunk_is_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(ProgressBar, "__call__", lambda _, done, total: calls.append((done, total)))
    chunks = ["{\n", "1\n2\n", "3\n", "}\n"]
    assert list(ProgressBar("writing").count_lines(chunks, 4)) == chunks
    assert calls == [(1, 4), (3, 4)]


def test_a_text_of_one_chunk_has_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(ProgressBar, "__call__", lambda _, done, total: calls.append((done, total)))
    assert list(ProgressBar("writing").count_lines(["1\n2\n3\n"], 2)) == ["1\n2\n3\n"]
    assert calls == []
