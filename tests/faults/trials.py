"""One run in a process of its own in which one allocation, one call on files or one byte that is written fails."""

import ctypes
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

# The calls on files that a full or broken disk makes fail, as Python's audit events name them. To remove a file is
# none of them: a disk that is full still can.
FILE_EVENTS = ("open", "os.rename", "os.link", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "tempfile.mkdtemp")
SET_HANDLER = 304  # the place of PyDataMem_SetHandler in the table of NumPy's C interface
NO_SPACE = 28


@dataclass(frozen=True)
class Ended:
    """How a run ended: its status (None: a signal), what it wrote, the files in its folder, and how often it called."""

    status: int | None
    stdout: bytes
    stderr: str
    files: Mapping[str, bytes]
    calls: int


class _Allocator(ctypes.Structure):
    """PyDataMemAllocator of NumPy."""

    _fields_ = (
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class _Handler(ctypes.Structure):
    """PyDataMem_Handler of NumPy."""

    _fields_ = (("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", _Allocator))


class Calls:
    """Counts calls, of which one fails."""

    def __init__(self, failing: int) -> None:
        self.count, self.failing = 0, failing

    def fails(self) -> bool:
        """Whether this call is the one."""
        self.count += 1
        return self.count == self.failing


_kept: list[Any] = []  # what C code refers to for as long as the process


def fail_array(calls: Calls) -> None:
    """From here on the memory of an array is refused when its turn comes."""
    # Python code can't be called while an exception is on its way, when arrays are freed: none is freed here, by a
    # function of C that ignores its arguments.
    libc = ctypes.CDLL(None)
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    for name, arguments in (("malloc", [size]), ("calloc", [size, size]), ("realloc", [pointer, size])):
        function = getattr(libc, name)
        function.restype, function.argtypes = pointer, arguments

    def counted(name: str) -> Callable[..., int | None]:
        allocate = getattr(libc, name)
        return lambda _context, *arguments: None if calls.fails() else allocate(*arguments)

    functions = (
        ctypes.CFUNCTYPE(pointer, pointer, size)(counted("malloc")),
        ctypes.CFUNCTYPE(pointer, pointer, size, size)(counted("calloc")),
        ctypes.CFUNCTYPE(pointer, pointer, pointer, size)(counted("realloc")),
        libc.getpid,
    )
    allocator = _Allocator(None, *(ctypes.cast(function, pointer).value for function in functions))
    handler = _Handler(b"failing", 1, allocator)
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [pointer, ctypes.c_char_p, pointer]
    name = b"mem_handler"
    capsule = new_capsule(ctypes.addressof(handler), name, None)
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = pointer, [ctypes.py_object, ctypes.c_char_p]
    table = get_pointer(import_module("numpy._core._multiarray_umath")._ARRAY_API, None)
    address = ctypes.cast(table, ctypes.POINTER(pointer))[SET_HANDLER]
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)
    _kept.extend([handler, functions, name, capsule, set_handler(capsule)])


def fail_file(calls: Calls) -> None:
    """From here on a call on a file of the working folder fails when its turn comes, as on a full disk."""
    folder = os.getcwd()  # noqa: PTH109 - no call of our own is to be counted

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in FILE_EVENTS:
            return
        path = os.fspath(arguments[0]) if isinstance(arguments[0], (str, os.PathLike)) else None
        is_own = path is not None and (not os.path.isabs(path) or path.startswith(folder))  # noqa: PTH117 - the same
        if is_own and calls.fails():
            raise OSError(NO_SPACE, os.strerror(NO_SPACE))

    sys.addaudithook(refuse)


def fail_write(calls: Calls) -> None:
    """From here on files can't be longer than so many bytes."""
    import resource  # not on Windows

    resource.setrlimit(resource.RLIMIT_FSIZE, (calls.failing, resource.RLIM_INFINITY))


def fail_object(calls: Calls) -> None:
    """From here on the memory of a Python object is refused when its turn comes."""
    import_module("_testcapi").set_nomemory(calls.failing, calls.failing + 1)  # of CPython's own tests


FAULTS: Mapping[str, Callable[[Calls], None]] = {
    "array": fail_array,
    "file": fail_file,
    "write": fail_write,
    "object": fail_object,
}
NEVER = 2**31 - 1


def run(
    words: tuple[str, ...], files: Mapping[str, bytes], folder: Path, fault: str = "array", at: int = NEVER
) -> Ended:
    """Run `attn` in a child of this process, in which a fault happens at the `at`-th call, or at none."""
    fill(folder / "work", files)
    counted = folder / "calls"
    reading_end, errors = os.pipe()  # which can be written where files are full; it has room for some screens
    child = os.fork()
    if child == 0:
        _run_child(words, folder, errors, FAULTS[fault], Calls(at))
    os.close(errors)
    _, ended = os.waitpid(child, 0)
    with open(reading_end, errors="backslashreplace") as stream:  # noqa: PTH123 - a descriptor
        said = stream.read()
    return Ended(
        os.waitstatus_to_exitcode(ended) if os.WIFEXITED(ended) else None,
        (folder / "stdout").read_bytes(),
        said,
        {str(path.relative_to(folder / "work")): path.read_bytes() for path in _paths(folder / "work")},
        int(counted.read_text() or 0) if counted.exists() else 0,
    )


def _paths(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def fill(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder that has these files alone."""
    for path in _paths(folder):
        if str(path.relative_to(folder)) not in files:
            path.unlink()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    for name, raw in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)


def _run_child(
    words: tuple[str, ...], folder: Path, errors: int, begin: Callable[[Calls], None], calls: Calls
) -> NoReturn:
    """Be `attn` with these words; the number of calls is written to a file when the process ends."""
    import attncli.__main__

    counted = os.open(folder / "calls", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(folder / "stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.dup2(errors, 2)
    os.chdir(folder / "work")
    sys.argv = ["attn", *words]
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, errors="backslashreplace")  # noqa: SIM115
    exit_now = os._exit

    def leave(status: int) -> NoReturn:
        os.write(counted, str(calls.count).encode())
        exit_now(status)

    if begin is not fail_write:  # which would not write the number either, and has none
        os._exit = leave
    begin(calls)
    attncli.__main__.main()
