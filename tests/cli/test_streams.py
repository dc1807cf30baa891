"""Texts in chunks: what one call writes, and how the lines are counted; and messages, broken between words."""

import os
import sys

import pytest

from attncli.cli.streams import BUFFER_SIZE, buffer_chunks, write_error
from attncli.cli.terminal import ProgressBar
from attncli.render.target import wrapped_words
from tests.cli.running import open_terminal, read_terminal


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


MESSAGE = "attn: a_folder/problem.yaml: there is no such file; did you mean 'my problem.yaml'?"
BROKEN = {
    120: [MESSAGE],
    60: ["attn: a_folder/problem.yaml: there is no such file; did you", "mean 'my problem.yaml'?"],
    24: ["attn:", "a_folder/problem.yaml:", "there is no such file;", "did you mean", "'my problem.yaml'?"],
    12: ["attn:", "a_folder/problem.yaml:", "there is no", "such file;", "did you mean", "'my", "problem.yaml'?"],
}


@pytest.mark.parametrize(("width", "lines"), BROKEN.items(), ids=str)
def test_a_message_is_broken_between_words_and_names_are_whole_where_they_fit(width: int, lines: list[str]) -> None:
    assert list(wrapped_words(MESSAGE, width)) == lines


def test_wide_characters_count_twice_where_a_message_is_broken() -> None:
    assert list(wrapped_words("猫猫猫 猫猫", 10)) == ["猫猫猫", "猫猫"]


def test_the_width_of_a_message_is_that_of_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    reading_end, terminal = open_terminal(30)
    monkeypatch.delenv("COLUMNS", raising=False)
    with os.fdopen(terminal, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)  # standard output is a pipe of pytest
        write_error("reading embeddings from the terminal")
    shown = read_terminal(reading_end).decode()  # one read may get half a line
    os.close(reading_end)
    assert shown.split("\r\n") == ["attn: reading embeddings from", "the terminal", ""]
