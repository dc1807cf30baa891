"""Inputs: how much is read of files and streams, which file a name means, and which versions were read."""

import io
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.io import inputs
from attncli.io.inputs import Inputs, WatchedInputs, file_version
from attncli.io.paths import locate
from tests.problems import write_file

PROBLEM = "embeddings: [[1, 2], [3, 4]]\n"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero here")
def test_a_stream_without_end_is_read_up_to_the_limit() -> None:
    with pytest.raises(AttnError) as caught:
        Inputs("3M").open("/dev/zero")
    assert caught.value.typed == (
        "/dev/zero: has more than the 3.0 MB that may be read (--max-size); allow more with --max-size"
    )


def test_by_default_the_limit_is_a_share_of_the_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(inputs, "available_memory", lambda: 40)
    with pytest.raises(AttnError, match=r"p.yaml: has 29 bytes, more than the 10 bytes that may be read \(1/4 of the"):
        attncli.load(write_file(tmp_path, PROBLEM))
    assert attncli.load(write_file(tmp_path, PROBLEM), max_size=1000).compute().output.shape == (2, 2)


def test_a_system_that_does_not_tell_its_memory_has_no_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(inputs, "available_memory", lambda: None)
    assert attncli.load(write_file(tmp_path, PROBLEM)).compute().output.shape == (2, 2)


@pytest.mark.parametrize("size", ["", "big", "1X", "-1", "1e3", "nan", "1iB"])
def test_a_size_that_is_none_is_an_error(size: str) -> None:
    with pytest.raises(AttnError, match=r"--max-size: '.*' is not a size; expected bytes, or a size such as 500M, 2G"):
        Inputs(size)


def test_an_array_that_stays_in_its_file_may_be_larger_than_the_limit(tmp_path: Path) -> None:
    np.save(tmp_path / "floats.npy", np.ones((100, 100)))
    np.save(tmp_path / "integers.npy", np.ones((100, 100), dtype=int))
    write_file(tmp_path, "embeddings: floats.npy\n", "f.yaml")
    write_file(tmp_path, "embeddings: integers.npy\n", "i.yaml")
    assert attncli.load(tmp_path / "f.yaml", max_size=1000).embeddings.shape == (100, 100)
    with pytest.raises(AttnError, match=r"integers.npy: has 80.0 kB, more than the 1.0 kB"):
        attncli.load(tmp_path / "i.yaml", max_size=1000)


def test_a_large_table_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    write_file(tmp_path, "1,2,3,4\n" * 100_000, "x.csv")
    with pytest.raises(AttnError, match=r"x.csv: has 800.0 kB, more than the 700.0 kB"):
        attncli.load(write_file(tmp_path, "embeddings: x.csv\n"), max_size="700K")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_read_once_for_all_of_its_entries(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    np.savez(content := io.BytesIO(), a=np.eye(2), b=np.ones((2, 2)))
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(content.getvalue(),), daemon=True)
    writer.start()
    problem = attncli.load(write_file(tmp_path, "query: pipe#a\nkey: pipe#b\n"))
    writer.join()
    assert (problem.query.tolist(), problem.key.tolist()) == ([[1, 0], [0, 1]], [[1, 1], [1, 1]])


class Terminal(io.BytesIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_is_announced_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Terminal(b"1,2\n")))
    announced: list[str] = []
    assert Inputs(on_terminal=announced.append).open("-").text() == "1,2\n"
    assert announced == ["standard input"]


def test_the_files_that_were_opened_are_known(tmp_path: Path) -> None:
    write_file(tmp_path, "1,2\n", "x.csv")
    read = Inputs()
    read.open("x.csv", tmp_path)
    (tmp_path / "link").symlink_to("x.csv")
    assert read.name_of((tmp_path / "link").stat()) == str(tmp_path / "x.csv")
    assert read.name_of(tmp_path.stat()) is None


LOCATED = {
    "x.npz#w": ("x.npz", "w"),
    "a#b.npz": ("a#b.npz", ""),
    "a#b.npz#w": ("a#b.npz", "w"),
    "d#1/x.npz#w#2": ("d#1/x.npz", "w#2"),
    "d#1/missing.npz#w": ("d#1/missing.npz", "w"),
    "missing.npz#layer.0": ("missing.npz", "layer.0"),
    "x#y": ("x", "y"),
    "-": ("-", ""),
    "-#w": ("-", "w"),
}


@pytest.mark.parametrize(("text", "located"), LOCATED.items(), ids=LOCATED)
def test_a_file_that_exists_has_precedence_over_an_entry(text: str, located: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "d#1").mkdir()
    for name in ("x.npz", "a#b.npz", "d#1/x.npz"):
        (tmp_path / name).touch()
    assert locate(text, tmp_path) == located


def test_a_number_sign_in_a_path_is_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d#1").mkdir()
    write_file(tmp_path / "d#1", "1,2\n3,4\n", "x#2.csv")
    np.savez("d#1/x#3.npz", w=np.eye(2), v=np.eye(2))
    write_file(tmp_path / "d#1", "embeddings: x#2.csv\nw_q: x#3.npz#w\n", "p#1.yaml")
    problem = attncli.load("d#1/p#1.yaml")
    assert problem.embeddings.tolist() == [[1, 2], [3, 4]]
    assert problem.w_q.tolist() == [[1, 0], [0, 1]]


NAMES = ("words.csv", "problem.yaml", "model.npz")
MISSING = {
    "p.yam": "p.yam: there is no such file or folder; expected",
    "problm.yaml": "problm.yaml: there is no such file; did you mean 'problem.yaml'?",
    "problem.yml": "problem.yml: there is no such file; did you mean 'problem.yaml'?",
    "problem": "problem: there is no such file; did you mean 'problem.yaml'?",
    "x.yaml": "x.yaml: there is no such file",
    "dir/x.yaml": "dir/x.yaml: there is no such file; there is no folder dir",
    "samples/x.yaml": "samples/x.yaml: there is no such file; attn init --samples writes those of the guides",
    "": "the name of a file is empty; name a file, or - for standard input",
    ".": ".: is a folder; name a file in it",
}


@pytest.mark.parametrize(("name", "message"), MISSING.items(), ids=MISSING)
def test_a_missing_problem_has_the_nearest_name(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in NAMES:
        Path(file).touch()
    with pytest.raises(AttnError) as caught:
        attncli.load(name)
    assert caught.value.typed.startswith(message)


MISSING_ARRAYS = {
    "embeddings: wordz.csv": "wordz.csv: there is no such file; did you mean 'words.csv'?",
    "embeddings: words": "p.yaml, embeddings: unknown file or generator 'words'; did you mean 'words.csv'?",
    "embeddings: words.cvs": "p.yaml, embeddings: unknown file or generator 'words.cvs'; did you mean 'words.csv'?",
    "embeddings: modl.npz#w": "modl.npz: there is no such file; did you mean 'model.npz'?",
    "embeddings: ''": "p.yaml, embeddings: '' does not name a file; give a file, numbers in brackets, or a generator",
    "sentence: a\nvocabulary: wordz.csv": "wordz.csv: there is no such file; did you mean 'words.csv'?",
    "embeddings: '#w'": (
        "p.yaml, embeddings: '#w' does not name a file; give a file, numbers in brackets, or a generator"
    ),
    "embeddings: no/x.csv": "no/x.csv: there is no such file; there is no folder no",
    "embeddings: [[1]]\nscore: general:w=wordz.csv": "wordz.csv: there is no such file; did you mean 'words.csv'?",
}


@pytest.mark.parametrize(("text", "message"), MISSING_ARRAYS.items(), ids=MISSING_ARRAYS)
def test_a_missing_array_has_the_nearest_name(text: str, message: str, tmp_path: Path) -> None:
    for file in NAMES:
        (tmp_path / file).touch()
    with pytest.raises(AttnError) as caught:
        attncli.load(write_file(tmp_path, text))
    assert caught.value.typed.replace(f"{tmp_path}/", "") == message


TOO_LONG = {
    f"embeddings: [[1]]\nb_q: {','.join(['1'] * 300)}\n": "b_q has 300 numbers",
    f"embeddings: {'x' * 300}\n": "unknown file or generator 'xxx",
    f"embeddings: {'x' * 300}.csv#w\n": "can't be read (File name too long)",
}


@pytest.mark.parametrize(("text", "message"), TOO_LONG.items(), ids=["numbers", "a word", "a file"])
def test_a_text_may_be_longer_than_any_name_of_a_file(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(AttnError) as caught:
        attncli.load(write_file(tmp_path, text))
    assert message in caught.value.typed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "w.csv"
    path.write_bytes(b"1,2\n")
    return path


def test_the_version_is_that_before_the_file_was_read(file: Path) -> None:
    inputs, before = WatchedInputs(), file_version(str(file))
    inputs.open(str(file))
    file.write_bytes(b"1,2,3\n")
    inputs.open(str(file))
    assert inputs.versions == {str(file): before}
    assert file_version(str(file)) != before


def test_a_file_is_read_once_into_memory(file: Path) -> None:
    source = WatchedInputs().open(str(file))
    file.unlink()
    assert source.read() == b"1,2\n"


def test_a_file_larger_than_the_limit_is_left_to_its_reader(file: Path) -> None:
    source = WatchedInputs("3").open(str(file))
    assert source.content is None
    with pytest.raises(AttnError, match="more than the 3 bytes that may be read"):
        source.read()


def test_a_missing_file_is_known_by_its_name_in_its_folder(tmp_path: Path) -> None:
    inputs = WatchedInputs()
    with pytest.raises(AttnError, match="there is no such file"):
        inputs.open("w.csv", tmp_path)
    assert inputs.versions == {str(tmp_path / "w.csv"): None}


def test_a_file_in_a_folder_that_begins_with_a_tilde_has_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~x").mkdir()
    (tmp_path / "~x" / "w.csv").write_bytes(b"1,2\n")
    inputs = WatchedInputs()
    inputs.open("w.csv", Path("~x"))
    ((name, version),) = inputs.versions.items()
    assert version is not None
    assert file_version(name) == version


def test_a_file_of_the_same_time_and_size_in_its_place_is_another_version(file: Path, tmp_path: Path) -> None:
    before = file_version(str(file))
    other = tmp_path / "other"
    other.write_bytes(b"1,2\n")
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    other.replace(file)
    assert file_version(str(file)) != before
