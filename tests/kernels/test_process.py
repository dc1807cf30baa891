"""The process of a user's function, and a command of theirs: what a call gives, and how it may end."""

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.kernels.process import Argument, Call, CallFailure, KernelCommand, KernelProcess, Returned
from attncli.kernels.worker import documented_signature

SOURCE = """
import os, time
import numpy as np
def double(x, *, factor=2):
    print("doubling", x.shape)
    return {"output": x * factor, "more": None}
def nan_between(x): return np.lib.stride_tricks.as_strided(x, (2 * len(x) - 1,), (x.strides[0] // 2,))
def is_contiguous(x): return np.array(float(x.flags.c_contiguous))
def raises(x): return x[7]
def refuses(x):
    raise ValueError("three are too many")
def crashes(x): os.abort()
def leaves(x): os._exit(3)
def waits(x): time.sleep(60)
def changes(x):
    x[0] = 9
    return x
def forks(x):
    return x + (os.fork() == 0)
def forks_and_raises(x):
    if os.fork() == 0:
        raise SystemExit(1)
    return x
def leaves_a_child_behind(x):
    if os.fork() == 0:
        os.setsid()
        time.sleep(20)
    os.abort()
class Mute(Exception):
    def __str__(self): raise RuntimeError("no text")
def raises_without_a_text(x): raise Mute
class Strange:
    def detach(self): raise RuntimeError("never")
def returns_what_can_not_be_read(x): return Strange()
def lists(x): return x.tolist()
def tables(x): return ((1, 2.5), (3, True))
def both(x): return x, x.tolist()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "mine.py").write_text(SOURCE, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def process(folder: Path) -> Iterator[KernelProcess]:
    with KernelProcess(timeout=0.3) as process:
        for name in re.findall(r"^def (\w+)", SOURCE, re.MULTILINE):
            process.load(f"{folder / 'mine.py'}:{name}", name)
        yield process


def call(process: KernelProcess, name: str, memory: str = "", *more: Argument) -> Returned | CallFailure:
    arguments = (Argument("x", "x"), *more)
    return process.call(Call({"x": np.arange(3.0)}, arguments, "float64", memory, ("x",), function=name))


def test_a_call_gives_the_parts_of_what_was_returned_and_keeps_what_was_printed(process: KernelProcess) -> None:
    found = call(process, "double", "", Argument("factor", constant=3.0))
    assert isinstance(found, Returned)
    assert [(part.name, part.type) for part in found.parts] == [("output", "float64"), ("more", "None")]
    assert found.parts[0].array.tolist() == [0, 3, 6]
    assert process.printed == "doubling (3,)"


def test_between_the_numbers_of_a_view_are_others(process: KernelProcess) -> None:
    assert call(process, "is_contiguous").parts[0].array == 1
    assert call(process, "is_contiguous", "gaps").parts[0].array == 0
    between = call(process, "nan_between", "gaps").parts[0].array
    assert np.array_equal(between, [0, np.nan, 1, np.nan, 2], equal_nan=True)


def test_a_changed_argument_is_noticed(process: KernelProcess) -> None:
    assert call(process, "changes").changed == ["x"]
    assert call(process, "changes").parts[0].array.tolist() == [9, 1, 2]


@pytest.mark.parametrize(
    ("name", "kind", "sentence", "is_refusal"),
    [
        (
            "raises",
            "raised",
            "raises IndexError: index 7 is out of bounds for axis 0 with size 3 (mine.py, line 9)",
            False,
        ),
        ("refuses", "raised", "raises ValueError: three are too many (mine.py, line 11)", True),
        ("crashes", "crashed", "crashes with signal 6 (SIGABRT)", False),
        ("waits", "timeout", "takes longer than 0.3 s", False),
    ],
)
def test_a_failure_is_said_and_the_next_call_works(
    name: str, kind: str, sentence: str, is_refusal: bool, process: KernelProcess
) -> None:
    found = call(process, name)
    assert isinstance(found, CallFailure)
    assert (found.kind, found.sentence, found.is_refusal) == (kind, sentence, is_refusal)
    assert call(process, "double").parts[0].array.tolist() == [0, 2, 4]


@pytest.mark.parametrize("name", ["forks", "forks_and_raises"])
def test_a_function_that_forks_answers_once(name: str, process: KernelProcess) -> None:
    for _ in range(3):
        found = call(process, name)
        assert isinstance(found, Returned)
        assert found.parts[0].array.tolist() == [0, 1, 2]
        assert call(process, "double").parts[0].array.tolist() == [0, 2, 4]


def test_a_process_of_another_session_that_is_left_behind_is_not_waited_for(folder: Path) -> None:
    with KernelProcess(timeout=15) as process:
        process.load(f"{folder / 'mine.py'}:leaves_a_child_behind", "leaves_a_child_behind")
        start = time.monotonic()
        found = call(process, "leaves_a_child_behind")
        assert found.sentence == "crashes with signal 6 (SIGABRT)"
        assert time.monotonic() - start < 5


def test_an_exception_whose_text_raises_is_an_exception(process: KernelProcess) -> None:
    found = call(process, "raises_without_a_text")
    assert isinstance(found, CallFailure)
    assert (found.kind, found.sentence) == ("raised", "raises Mute (mine.py, line 31)")


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("lists", ["list of numbers"]),
        ("tables", ["tuple of numbers"]),
        ("both", ["float64", "list of numbers"]),
        ("returns_what_can_not_be_read", ["Strange"]),
    ],
)
def test_what_is_not_an_array_is_one_part_that_says_what_it_is(
    name: str, types: list[str], process: KernelProcess
) -> None:
    found = call(process, name)
    assert isinstance(found, Returned)
    assert [part.type for part in found.parts] == types
    assert found.parts[-1].array is None


SIGNATURES = {
    "f(a, b, c=None, *, scale=1.0) -> Tensor:\n\n    It computes.": "(a, b, c='None', *, scale='1.0')",
    "\nf(a: array, /, b: int | None = 1, *c, **d) -> array\n": "(a: 'array', /, b: 'int | None' = '1', *c, **d)",
    "f(a,\n  b=(1, 2))\n": "(a, b='(1, 2)')",
    "f(a sentence) of words": None,
    "g(a) is another": None,
    "f(a": None,
    "It computes f(a).": None,
    None: None,
}


@pytest.mark.parametrize(("text", "signature"), SIGNATURES.items())
def test_a_function_without_a_signature_has_that_of_its_docstring(text: str | None, signature: str | None) -> None:
    class Compiled:
        __doc__, __name__ = text, "f"

        def __call__(self) -> None: ...

    found = documented_signature(Compiled())
    assert (None if found is None else str(found)) == signature


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("mine.py:duoble", "mine.py: unknown function 'duoble'; did you mean 'double'?"),
        ("mine.py", "'mine.py' is not a function; give FILE.py:FUNCTION, or package.module:function"),
        ("yours.py:double", "yours.py: there is no such file; give FILE.py:FUNCTION"),
        ("broken.py:f", "broken.py, line 2: can't be imported (NameError: name 'nothing' is not defined)"),
        ("no_such_package:f", "no_such_package: can't be imported (ModuleNotFoundError: No module named"),
    ],
)
def test_what_can_not_be_loaded_is_an_error(
    target: str, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "broken.py").write_text("\nnothing\n", encoding="utf-8")
    with KernelProcess(timeout=10) as process, pytest.raises(AttnError) as error:
        process.load(target)
    assert error.value.typed.startswith(message)


PROGRAM = """
import sys
import numpy as np
given = np.load(sys.argv[1])
assert sorted(given) == ["key", "query"], sorted(given)
if sys.argv[3] == "writes":
    np.savez(sys.argv[2], output=given["query"] + given["key"], name="text")
print("it ran")
sys.exit(sys.argv[3] == "fails" and 3)
"""


def run_command(folder: Path, mode: str) -> tuple[Returned | CallFailure, str]:
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    with KernelCommand(f"{sys.executable} {folder / 'program.py'} {{in}} {{out}} {mode}", timeout=30) as command:
        arguments = (Argument("query", "query"), Argument("key", "key"))
        found = command.call(Call({"query": np.ones(2), "key": np.arange(2.0)}, arguments, "float64"))
        return found, command.printed


def test_a_command_reads_and_writes_arrays_by_their_names(folder: Path) -> None:
    found, printed = run_command(folder, "writes")
    assert isinstance(found, Returned)
    assert [part.name for part in found.parts] == ["output", "name"]
    assert found.parts[0].array.tolist() == [1, 2]
    assert found.parts[1].array is None
    assert printed == "it ran"


def test_how_a_command_fails_is_said(folder: Path) -> None:
    assert run_command(folder, "fails")[0].sentence == "ends the process with status 3: it ran"
    assert run_command(folder, "nothing")[0].sentence == "writes no {out}"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("prog {in}", "--command: has no {out}; write --command 'prog {in} {out}': each is the name of an .npz file"),
        ("prog '{in} {out}", '--command: "prog \'{in} {out}" is not a command (No closing quotation)'),
    ],
)
def test_a_command_without_its_files_is_an_error(command: str, message: str) -> None:
    with pytest.raises(AttnError) as error:
        KernelCommand(command, timeout=1)
    assert error.value.typed == message


def test_a_command_that_is_not_there_is_an_error() -> None:
    with KernelCommand("no-such-program {in} {out}", timeout=1) as command, pytest.raises(AttnError) as error:
        command.call(Call({}, (), "float64"))
    assert error.value.typed == "--command: 'no-such-program' can't be started (No such file or directory)"


def test_a_process_that_a_command_leaves_behind_is_not_waited_for(folder: Path) -> None:
    program = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(20)\nprint('done')\n"
    (folder / "leaves.py").write_text(program, encoding="utf-8")
    start = time.monotonic()
    with KernelCommand(f"{sys.executable} {folder / 'leaves.py'} {{in}} {{out}}", timeout=15) as command:
        found = command.call(Call({"query": np.ones(2)}, (Argument("query", "query"),), "float64"))
        assert (found, command.printed) == (CallFailure("result", "writes no {out}", "no file"), "done")
    assert time.monotonic() - start < 5
