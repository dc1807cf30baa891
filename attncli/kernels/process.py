"""A user's function in a process of its own, or a command of theirs: called with arrays, within a time limit."""

import io
import os
import queue
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, Self, cast

from attncli.base.errors import AttnError, UnknownNameError, did_you_mean
from attncli.base.lazy_numpy import Array, np
from attncli.kernels import worker as kernel_worker

LEAST_LOAD_SECONDS = 120.0  # to import PyTorch takes a while where the disk is cold
MAX_PRINTED = 4000  # characters of what a function printed that are kept, its last ones
SECONDS_BETWEEN_SIGNALS = 0.1  # after so long one that ends the program is seen
MOST_READ = 2**20  # bytes at a time
SECONDS_TO_END = 5.0  # of a process that has closed its output
NPZ_TYPES = "fiub"  # kinds of the arrays in what a command writes

REFUSED, REFUSED_STATUS = "refused:", 64  # how a command says that it does not take an input

FORWARD, BACKWARD = "forward", "backward"  # the functions of a kernel

FailureKind = Literal["raised", "crashed", "timeout", "result"]


@dataclass(frozen=True)
class Argument:
    """One argument of a call: an array of the call by its name, or a constant, as a keyword or by its position."""

    name: str
    array: str | None = None
    constant: Any = None
    is_positional: bool = False

    def as_object(self) -> dict[str, Any]:
        """Its fields as JSON has them."""
        value = {"constant": self.constant} if self.array is None else {"array": self.array}
        return {"name": self.name, "is_positional": self.is_positional, **value}


@dataclass(frozen=True, eq=False)
class Call:
    """One call: the arrays by name, the arguments in order, the type and the memory of the arrays.

    `gradients` names the arguments whose gradients PyTorch's automatic differentiation is asked for; the gradient of
    the output is the array `grad_output`.
    """

    arrays: Mapping[str, Array]
    arguments: Sequence[Argument]
    dtype: str
    memory: str = ""
    laid_out: Sequence[str] = ()
    library: str = "numpy"
    function: str = FORWARD
    gradients: Sequence[str] = ()
    device: str = "cpu"

    @property
    def header(self) -> dict[str, Any]:
        """All but the arrays, as JSON has it."""
        others = {name: value for name, value in vars(self).items() if name not in ("arrays", "arguments")}
        return {"kind": "call", "arguments": [argument.as_object() for argument in self.arguments], **others}


@dataclass(frozen=True, eq=False)
class ReturnedPart:
    """A part of what a function returned: the name that it has there, the array, and the name of its type."""

    name: str | None
    array: Array | None
    type: str


@dataclass(frozen=True, eq=False)
class Returned:
    """What a call returned, and which of its arguments it has changed."""

    parts: Sequence[ReturnedPart]
    changed: Sequence[str] = ()


@dataclass(frozen=True)
class CallFailure:
    """Why a call returned nothing: a sentence without its subject, such as `crashes with signal 11 (SIGSEGV)`.

    `is_refusal` is whether a statement of the function's own refuses the input; `cause` tells one failure from another;
    `is_in_library` is whether no code of the user's own was running, as in a function of a library.
    """

    kind: FailureKind
    sentence: str
    cause: str
    is_refusal: bool = False
    is_in_library: bool = False


class Runner(Protocol):
    """What calls the function that is tried."""

    def call(self, call: Call) -> Returned | CallFailure:
        """Call the function with arrays."""
        ...

    @property
    def printed(self) -> str:
        """What the function printed in the last call."""
        ...


@dataclass(frozen=True)
class Parameter:
    """A parameter of the user's function, as its signature has it."""

    name: str
    is_positional_only: bool
    is_keyword: bool
    takes_any: bool  # *args or **kwargs
    has_default: bool
    annotation: str


@dataclass(frozen=True)
class FunctionDescription:
    """What is known of a function before it is called; `parameters` is None where it says nothing of them."""

    target: str
    parameters: Sequence[Parameter] | None
    libraries: Sequence[str]  # the packages that its module has names of
    functions: Sequence[str]  # of its module
    loaded: Sequence[str] = ()  # libraries of arrays that its import loads


@dataclass
class KernelProcess:
    """A process that imports functions once and calls them as often as asked; it is started anew after a crash."""

    timeout: float
    first_timeout: float = 0.0  # of the first call, which may import and compile, if it is longer
    environment: Mapping[str, str] = field(default_factory=dict)  # variables in addition to those of this process
    targets: dict[str, str] = field(default_factory=dict)  # those that are loaded, by their names for calls
    _process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)
    _answers: "queue.Queue[Any]" = field(default_factory=queue.Queue, repr=False)
    _errors: Any = field(default=None, repr=False)
    _folder: Any = field(default=None, repr=False)
    _has_answered: bool = field(default=False, repr=False)

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        # What is written is appended, wherever the process was, for the file is emptied before each call.
        self._errors = (Path(self._folder.name) / "printed").open("a+b")
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._errors.close()
        self._folder.cleanup()

    def load(self, target: str, function: str = FORWARD) -> FunctionDescription:
        """Import a function under a name for its calls; raises AttnError where that can't be done."""
        place, colon, name = target.rpartition(":")
        is_file = place.endswith(".py")
        if not colon or not place or not name:
            hint = "give FILE.py:FUNCTION, or package.module:function"
            raise AttnError(f"{target!r} is not a function", hint=hint)
        if is_file and not Path(place).is_file():
            raise AttnError("there is no such file", where=place, hint="give FILE.py:FUNCTION")
        self.targets[function] = target
        self._start()
        answer = self._load(function)
        if isinstance(answer, CallFailure):
            raise AttnError(
                f"its import {answer.sentence}", where=place, hint=self._last_line() or "import it in Python"
            )
        if "error" in answer:
            line = f"line {answer['line']}" if answer.get("line") else ""
            own = [line] if line and Path(answer["file"]).name == Path(place).name else []
            raise AttnError(answer["error"], where=[place, *own], hint="import it in Python, and mend what fails there")
        if "missing" in answer:
            names = answer["functions"]
            error = UnknownNameError("function", name, names, where=place)
            error.hint = did_you_mean(name, names) or (f"it has {', '.join(names)}" if names else "it has no function")
            raise error
        return _read_description(target, answer)

    def call(self, call: Call) -> Returned | CallFailure:
        """Call the function; a failure says how it ended."""
        if self._process is None:
            self._start()
            loaded = [self._load(function) for function in self.targets]
            failed = next((answer for answer in loaded if isinstance(answer, CallFailure)), None)
            if failed is not None:
                return failed
        os.ftruncate(self._errors.fileno(), 0)
        found = self._ask(
            call.header, call.arrays, max(self.timeout, 0.0 if self._has_answered else self.first_timeout)
        )
        self._has_answered = True
        return found if isinstance(found, CallFailure) else _read_answer(*found)

    @property
    def printed(self) -> str:
        """What the function printed in the last call, on standard output and standard error."""
        self._errors.seek(0)
        text: str = self._errors.read().decode("utf-8", "replace")[-MAX_PRINTED:]
        return text.strip("\n")

    def _last_line(self) -> str:
        lines = self.printed.splitlines()
        return lines[-1].strip() if lines else ""

    def _start(self) -> None:
        if self._process is not None:
            return
        words = [sys.executable, "-u", "-P", str(Path(kernel_worker.__file__))]  # -u: what is printed is there at once
        self._answers = queue.Queue()
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **self.environment},
            start_new_session=True,  # Ctrl-C is this process's
        )
        assert self._process.stdout is not None
        own = _Pipe(os.dup(self._process.stdout.fileno()))
        threading.Thread(target=_read_answers, args=(own, self._answers), daemon=True).start()

    def _load(self, function: str) -> "Mapping[str, Any] | CallFailure":
        """Import a function in the process; the answer says what it is."""
        header = {"kind": "load", "function": function, "target": self.targets[function]}
        found = self._ask(header, {}, max(self.timeout, LEAST_LOAD_SECONDS))
        return found if isinstance(found, CallFailure) else found[0]

    def _ask(
        self, header: Mapping[str, Any], arrays: Mapping[str, Array], seconds: float
    ) -> "tuple[dict[str, Any], dict[str, Array]] | CallFailure":
        """The answer to a message; a failure, and no process any more, where there is none in time or it has ended."""
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError):  # the process has ended: there is no answer either
            kernel_worker.write_message(cast("BinaryIO", self._process.stdin), header, arrays)
        try:
            found = self._next_answer(time.monotonic() + seconds)
        except queue.Empty:
            self._stop()
            sentence = f"takes longer than {seconds:g} s"
            return CallFailure("timeout", sentence, sentence)
        if found is not None:
            answer: tuple[dict[str, Any], dict[str, Array]] = found
            return answer
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(SECONDS_TO_END)
        sentence = how_it_ended(self._process.poll())
        self._stop()
        return CallFailure("crashed", sentence, sentence)

    def _next_answer(self, end: float) -> Any:
        """The next answer, None where the process has ended; raises queue.Empty where there is none until the `end`.

        A process that the function has forked may hold the end of the pipe open after it.
        """
        assert self._process is not None
        while True:
            has_ended = self._process.poll() is not None
            with suppress(queue.Empty):  # in one long wait Python would not see a signal that came just before it
                return self._answers.get(timeout=SECONDS_BETWEEN_SIGNALS)
            if has_ended:
                return None
            if time.monotonic() >= end:
                raise queue.Empty

    def _stop(self) -> None:
        if self._process is not None:
            _kill_group(self._process)
            self._process = None


@dataclass(frozen=True)
class _Pipe:
    """The end of a pipe, read without a buffer: who closes that would wait for a thread that reads."""

    descriptor: int

    def read(self, size: int) -> bytes:
        """So many bytes, or those until the end."""
        found = bytearray()
        while len(found) < size and (more := os.read(self.descriptor, min(size - len(found), MOST_READ))):
            found += more
        return bytes(found)


def _read_answers(pipe: _Pipe, answers: "queue.Queue[Any]") -> None:
    """Put each message of a pipe into a queue, and None at its end."""
    with suppress(OSError, ValueError):
        while (message := kernel_worker.read_message(cast("BinaryIO", pipe))) is not None:
            answers.put(message)
    answers.put(None)
    os.close(pipe.descriptor)


def how_it_ended(status: int | None) -> str:
    """How a process ended, by its status: `crashes with signal 11 (SIGSEGV)`.

    >>> how_it_ended(-11), how_it_ended(3)
    ('crashes with signal 11 (SIGSEGV)', 'ends the process with status 3')
    """
    if status is not None and status < 0:
        try:
            name = f" ({signal.Signals(-status).name})"
        except ValueError:
            name = ""
        return f"crashes with signal {-status}{name}"
    return f"ends the process with status {status}"


def _read_answer(answer: Mapping[str, Any], arrays: Mapping[str, Array]) -> Returned | CallFailure:
    """What a call returned, or what it raised."""
    if "raised" in answer:
        place = f" ({Path(answer['file']).name}, line {answer['line']})" if answer["file"] else ""
        cause = f"{answer['type']} {answer['file']} {answer['line']}"
        sentence = f"raises {answer['raised']}{place}"
        return CallFailure("raised", sentence, cause, answer["is_refusal"], is_in_library=answer["is_in_library"])
    parts = [
        ReturnedPart(part["name"], arrays.get(str(number)), "None" if part["is_none"] else part["type"])
        for number, part in enumerate(answer["parts"])
    ]
    return Returned(parts, answer["changed"])


def _read_description(target: str, answer: Mapping[str, Any]) -> FunctionDescription:
    """What is known of a function, of the description of it."""
    parameters = answer["parameters"]
    known = None if parameters is None else tuple(map(_parameter, parameters))
    return FunctionDescription(target, known, answer["libraries"], answer["functions"], answer["loaded"])


def _parameter(found: Mapping[str, Any]) -> Parameter:
    kind = found["kind"]
    return Parameter(
        found["name"],
        is_positional_only=kind == "POSITIONAL_ONLY",
        is_keyword=kind == "KEYWORD_ONLY",
        takes_any=kind in ("VAR_POSITIONAL", "VAR_KEYWORD"),
        has_default=found["has_default"],
        annotation=found["annotation"],
    )


@dataclass
class KernelHere:
    """Functions of this process, called without a time limit: one that crashes ends it."""

    functions: dict[str, Any]
    printed: str = ""

    def description(self, function: str) -> FunctionDescription:
        """What is known of a function before it is called."""
        found = self.functions[function]
        module = sys.modules.get(str(getattr(found, "__module__", None)))
        return _read_description(str(getattr(found, "__name__", found)), kernel_worker.describe(module, found))

    def call(self, call: Call) -> Returned | CallFailure:
        """Call the function with copies of the arrays; Ctrl-C is not its failure."""
        printed = io.StringIO()
        arrays = {name: array.copy() for name, array in call.arrays.items()}
        with redirect_stdout(printed), redirect_stderr(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NaN and overflows, which numbers show
            answer, results = kernel_worker.call(self.functions, call.header, arrays)
        self.printed = printed.getvalue()[-MAX_PRINTED:].strip("\n")
        if answer.get("type") == KeyboardInterrupt.__name__:
            raise KeyboardInterrupt
        return _read_answer(answer, results)


@dataclass
class KernelCommand:
    """A command of the user's, `prog {in} {out}`, that reads the arrays of an `.npz` file and writes another."""

    command: str
    timeout: float
    _printed: str = ""

    def __post_init__(self) -> None:
        try:
            self.words = shlex.split(self.command)
        except ValueError as error:
            raise AttnError(f"{self.command!r} is not a command ({error})", where="--command") from None
        for name in ("{in}", "{out}"):
            if not any(name in word for word in self.words):
                hint = "write --command 'prog {in} {out}': each is the name of an .npz file"
                raise AttnError(f"has no {name}", where="--command", hint=hint)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open between calls."""

    def call(self, call: Call) -> Returned | CallFailure:
        """Write the arrays, run the command and read what it has written; raises AttnError if it can't be started."""
        with tempfile.TemporaryDirectory() as folder:
            given, made = Path(folder) / "in.npz", Path(folder) / "out.npz"
            arrays: Any = {argument.name: call.arrays[argument.array or ""] for argument in call.arguments}
            np.savez(given, **arrays)
            words = [word.replace("{in}", str(given)).replace("{out}", str(made)) for word in self.words]
            # A file: a process that the command leaves behind would hold the end of a pipe open.
            with tempfile.TemporaryFile() as printed:
                process = self._started(words, printed)
                try:
                    process.wait(self.timeout)
                except subprocess.TimeoutExpired:
                    sentence = f"takes longer than {self.timeout:g} s"
                    return CallFailure("timeout", sentence, sentence)
                finally:
                    _kill_group(process)
                printed.seek(0)
                self._printed = printed.read().decode("utf-8", "replace")[-MAX_PRINTED:].strip("\n")
            refused = [line for line in self._printed.splitlines() if line.startswith(REFUSED)]
            if process.returncode == REFUSED_STATUS or (process.returncode and refused):
                reason = (refused or self._printed.splitlines()[-1:] or [f"status {REFUSED_STATUS}"])[-1]
                sentence = f"refuses it: {reason.removeprefix(REFUSED).strip()}"
                return CallFailure("raised", sentence, sentence, is_refusal=True)
            if process.returncode:
                last = self._printed.splitlines()[-1:] if process.returncode > 0 else []
                sentence = ": ".join([how_it_ended(process.returncode), *last])
                return CallFailure("crashed" if process.returncode < 0 else "raised", sentence, sentence)
            return _read_npz(made)

    @staticmethod
    def _started(words: Sequence[str], printed: Any) -> "subprocess.Popen[bytes]":
        """The process of the command, which prints into a file; raises AttnError if it can't be started."""
        try:
            return subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            message = f"{words[0]!r} can't be started ({error.strerror})"
            raise AttnError(message, where="--command") from None

    @property
    def printed(self) -> str:
        """What the command printed in the last call."""
        return self._printed


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """End a process with those that it has started."""
    with suppress(OSError, AttributeError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(OSError):
        process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):  # what was not written to a process that has ended
            if stream is not None:
                stream.close()


def _read_npz(file: Path) -> Returned | CallFailure:
    """The arrays of what a command has written."""
    if not file.exists():
        return CallFailure("result", "writes no {out}", "no file")
    try:
        with np.load(file, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
    except Exception as error:  # noqa: BLE001 - a damaged archive raises errors of zipfile, zlib and NumPy
        return CallFailure("result", f"writes an {{out}} that is not an .npz file ({error})", "damaged")
    parts = [
        ReturnedPart(name, array if array.dtype.kind in NPZ_TYPES else None, array.dtype.name)
        for name, array in arrays.items()
    ]
    return Returned(parts)
