"""The process in which a user's function runs: reads calls from its standard input, answers on its standard output.

It is started as a script (`python -P kernel_worker.py`), and imports nothing of this package: what the user's module
imports is all that there is beside NumPy. What the function prints goes to standard error.

A message is the length of its header, the header in JSON, and the numbers of the arrays that the header lists.
"""

import ast
import faulthandler
import importlib
import importlib.util
import inspect
import json
import linecache
import os
import struct
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np

LENGTH = struct.Struct("<Q")
WIDER = {"bfloat16": "float32"}  # a type that NumPy does not have, and the one that holds its numbers
GAP = float("nan")  # between the numbers of an array with gaps: who reads it reads the wrong memory
STANDARD_LIBRARY = str(Path(os.__file__).parent)
REFUSALS = ("raise ", "raise\n", "assert ", "assert(")
NOT_IMPLEMENTED = ("not implemented", "not support", "unsupported", "should not be set")

Message = dict[str, Any]


def read_message(stream: BinaryIO) -> tuple[Message, dict[str, Any]] | None:
    """The header of the next message, and its arrays by name; None at the end of the stream."""
    start = stream.read(LENGTH.size)
    if len(start) < LENGTH.size:
        return None
    header: Message = json.loads(stream.read(*LENGTH.unpack(start)))
    arrays = {}
    for name, dtype, shape in header.pop("arrays"):
        array = np.empty(shape, dtype)
        content = stream.read(array.nbytes)
        if len(content) < array.nbytes:
            return None
        arrays[name] = np.frombuffer(bytearray(content), dtype).reshape(shape)
    return header, arrays


def write_message(stream: BinaryIO, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a header and its arrays."""
    listed = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    text = json.dumps({**header, "arrays": listed}).encode()
    stream.write(LENGTH.pack(len(text)) + text)
    for array in arrays.values():
        stream.write(np.ascontiguousarray(array).tobytes())
    stream.flush()


def load(target: str) -> tuple[Any, Any]:
    """The module of `FILE.py:FUNCTION` or `MODULE:FUNCTION`, and the function; None where it has none of that name."""
    place, _, name = target.rpartition(":")
    path = Path(place)
    if path.suffix == ".py":
        sys.path.insert(0, str(path.resolve().parent))
        if path.stem in sys.modules and getattr(sys.modules[path.stem], "__file__", "") == str(path.resolve()):
            module = sys.modules[path.stem]
        else:
            spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
            assert spec is not None, path
            assert spec.loader is not None, path
            module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
    else:
        sys.path.insert(0, str(Path.cwd()))
        module = importlib.import_module(place)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return module, found


def load_and_describe(target: str) -> tuple[Message, Any]:
    """What is known of a function before it is called, or why it can't be, and the function."""
    try:
        module, function = load(target)
    except BaseException as error:  # noqa: BLE001 - a module may raise anything, also SystemExit
        return {"error": f"can't be imported ({said_of(error)})", **place_of(error)}, None
    if not callable(function):
        return {"missing": True, "functions": functions_of(module)}, None
    return describe(module, function), function


def functions_of(module: Any) -> list[str]:
    """The names of the functions of a module: those that it defines, or else those that it imports."""
    names = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
    own = [name for name in names if getattr(getattr(module, name), "__module__", None) == module.__name__]
    return own or names


def describe(module: Any, function: Any) -> Message:
    """What is known of a function before it is called; its module is None where that is not known."""
    signature: inspect.Signature | None
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a compiled function, which may say nothing of itself
        signature = documented_signature(function)
    parameters = [
        {
            "name": parameter.name,
            "kind": parameter.kind.name,
            "has_default": parameter.default is not inspect.Parameter.empty,
            "annotation": "" if parameter.annotation is inspect.Parameter.empty else text_of(parameter.annotation),
        }
        for parameter in (signature.parameters.values() if signature else ())
    ]
    names = {} if module is None else vars(module)
    modules = {text_of(getattr(value, "__name__", "")).partition(".")[0] for value in names.values()}
    return {
        "parameters": parameters if signature else None,
        "annotation": text_of(getattr(signature, "return_annotation", "")),
        "libraries": sorted(modules | {str(getattr(function, "__module__", "")).partition(".")[0]}),
        "loaded": [name for name in ("torch", "jax", "mlx") if name in sys.modules],
        "functions": [] if module is None else functions_of(module),
    }


def documented_signature(function: Any) -> inspect.Signature | None:
    """The signature that the docstring of a compiled function begins with; None where it begins otherwise."""
    text, name = str(getattr(function, "__doc__", "") or "").lstrip(), getattr(function, "__name__", "")
    if not name or not text.startswith(f"{name}("):
        return None
    depth = [text[: at + 1].count("(") - text[: at + 1].count(")") for at, letter in enumerate(text) if letter == ")"]
    ends = [at + 1 for at, letter in enumerate(text) if letter == ")"]
    end = next((end for end, left in zip(ends, depth, strict=True) if left == 0), None)
    try:
        (definition,) = ast.parse(f"def {text[:end]}: ...").body
    except SyntaxError:  # a sentence, or C
        return None
    assert isinstance(definition, ast.FunctionDef)
    given = definition.args
    named = [*given.posonlyargs, *given.args]
    defaults = dict(zip(reversed(named), reversed(given.defaults), strict=False))
    defaults |= {one: default for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True) if default}
    kinds = {
        inspect.Parameter.POSITIONAL_ONLY: given.posonlyargs,
        inspect.Parameter.POSITIONAL_OR_KEYWORD: given.args,
        inspect.Parameter.VAR_POSITIONAL: [given.vararg] if given.vararg else [],
        inspect.Parameter.KEYWORD_ONLY: given.kwonlyargs,
        inspect.Parameter.VAR_KEYWORD: [given.kwarg] if given.kwarg else [],
    }
    return inspect.Signature(
        [
            inspect.Parameter(
                one.arg,
                kind,
                default=ast.unparse(defaults[one]) if one in defaults else inspect.Parameter.empty,
                annotation=ast.unparse(one.annotation) if one.annotation else inspect.Parameter.empty,
            )
            for kind, parameters in kinds.items()
            for one in parameters
        ]
    )


def text_of(value: Any) -> str:
    """A value of the user's as text, which may raise anything: then nothing."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - what a class of the user's raises
        return ""


def said_of(error: BaseException) -> str:
    """The type of an exception and the first line of what it says, or the `assert` of one that says nothing."""
    lines = text_of(error).strip().splitlines()
    if not lines and isinstance(error, AssertionError) and (frames := traceback.extract_tb(error.__traceback__)):
        lines = [linecache.getline(frames[-1].filename, frames[-1].lineno or 0).partition("#")[0].strip()]
    return f"{type(error).__name__}: {lines[0]}" if any(lines) else type(error).__name__


def place_of(error: BaseException) -> Message:
    """The file and line of the innermost frame that is no library's, and whether a statement there refuses the input.

    It does where it is a `raise` or an `assert`, or where what is raised says that something is not implemented. The
    error is in a library where no code of the user's own was running.
    """
    here = str(Path(__file__).resolve())
    every = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != here]
    frames = [frame for frame in every if not frame.filename.startswith("<")]
    own = [frame for frame in frames if "site-packages" not in frame.filename]
    if isinstance(error, SyntaxError) and error.filename:
        return {"file": error.filename, "line": error.lineno, "is_refusal": False, "is_in_library": False}
    said = text_of(error).casefold()
    refuses = isinstance(error, NotImplementedError) or any(text in said for text in NOT_IMPLEMENTED)
    is_in_library = all(is_of_a_library(frame.filename) for frame in every)
    if not own:
        return {"file": None, "line": None, "is_refusal": refuses, "is_in_library": is_in_library}
    last = own[-1]
    source = linecache.getline(last.filename, last.lineno or 0).lstrip()
    refuses = refuses or (last is frames[-1] and source.startswith(REFUSALS))
    return {"file": last.filename, "line": last.lineno, "is_refusal": refuses, "is_in_library": is_in_library}


def is_of_a_library(file: str) -> bool:
    """Whether a file is of an installed package or of Python itself, also of what NumPy and Python generate."""
    return "site-packages" in file or file.startswith((STANDARD_LIBRARY, "<frozen ", "<__array_function__"))


def in_memory(array: Any, memory: str, new: Any) -> Any:
    """An array with the same numbers, otherwise in memory; `new(shape)` makes an array full of NaN.

    `transposed` has the tokens before the heads, or of two axes the columns one after the other; `gaps` has a number
    that is none of the array's after each.
    """
    if memory == "transposed" and array.ndim >= 2:
        axes = (-3, -2) if array.ndim >= 3 else (-2, -1)
        shape = list(array.shape)
        shape[axes[0]], shape[axes[1]] = shape[axes[1]], shape[axes[0]]
        turned = new(tuple(shape)).swapaxes(*axes)
        turned[...] = array
        return turned
    if memory == "gaps":
        wide = new((*array.shape[:-1], 2 * array.shape[-1]))[..., ::2]
        wide[...] = array
        return wide
    return array


def make_arrays(arrays: Mapping[str, Any], header: Message) -> dict[str, Any]:
    """The arguments as arrays of the library, of the type of the call, and the laid out ones as its memory says."""
    dtype, memory, device = header["dtype"], header["memory"], header["device"]
    new_of = {"torch": of_torch, "jax": of_jax, "mlx": of_mlx}.get(header["library"])
    made = {}
    for name, array in arrays.items():
        own_memory = memory if name in header["laid_out"] else ""
        if new_of is not None:
            made[name] = new_of(array, dtype if array.dtype.kind == "f" else None, own_memory, device)
        else:

            def new_array(shape: Any, of_type: Any = array.dtype) -> Any:
                return np.full(shape, GAP, of_type)

            made[name] = in_memory(array, own_memory, new_array)
    return made


def of_torch(array: Any, dtype: str | None, memory: str, device: str) -> Any:
    """A tensor of PyTorch on a device."""
    import torch  # noqa: PLC0415 - only where tensors are asked for

    tensor = torch.from_numpy(array)
    tensor = (tensor if dtype is None else tensor.to(getattr(torch, dtype))).to(device)

    def new(shape: Any) -> Any:
        return torch.full(shape, GAP, dtype=tensor.dtype, device=device)

    return in_memory(tensor, memory, new)


def of_jax(array: Any, dtype: str | None, _memory: str, _device: str) -> Any:
    """An array of JAX, which has no views."""
    import jax.numpy as jnp  # noqa: PLC0415 - only where arrays of JAX are asked for

    return jnp.asarray(array) if dtype is None else jnp.asarray(array).astype(dtype)


def of_mlx(array: Any, dtype: str | None, _memory: str, _device: str) -> Any:
    """An array of MLX."""
    import mlx.core as mx  # noqa: PLC0415 - only where arrays of MLX are asked for

    return mx.array(array) if dtype is None else mx.array(array).astype(getattr(mx, dtype))


def wait_for(device: str) -> None:
    """Wait until a device has done its work, so that an error of it is one of this call."""
    kind = device.partition(":")[0]
    if kind != "cpu":
        import torch  # noqa: PLC0415 - only a device of PyTorch's

        getattr(getattr(torch, kind, None), "synchronize", lambda: None)()


def to_array(value: Any) -> tuple[Any, str] | None:
    """A value as an array, and the name of its type; None where it is no array of numbers."""
    if not isinstance(value, np.ndarray):
        if isinstance(value, (str, bytes, type(None), list, tuple)):
            return None
        try:
            for method in ("detach", "cpu"):
                value = getattr(value, method, lambda value=value: value)()
            name = str(getattr(value, "dtype", "")).rpartition(".")[2]
            if name in WIDER:
                of_library = getattr(sys.modules.get("mlx.core"), WIDER[name], None)  # as MLX names a type
                is_mlx = type(value).__module__.startswith("mlx.")
                wide = value.float() if hasattr(value, "float") else value.astype(of_library if is_mlx else WIDER[name])
                return np.asarray(wide), name
            value = np.asarray(value)
        except Exception:  # noqa: BLE001 - a tensor of another library may raise anything
            return None
    return (value, value.dtype.name) if value.dtype.kind in "fiub" else None


def results_of(value: Any) -> list[tuple[str | None, Any]]:
    """What a function returned, part by part, with the names that they have; a list of numbers is one part."""
    if is_list_of_numbers(value):
        return [(None, value)]
    if isinstance(value, Mapping):
        return [(str(name), part) for name, part in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value, strict=True))
    if isinstance(value, (tuple, list)):
        return [(None, part) for part in value]
    return [(None, value)]


def is_list_of_numbers(value: Any) -> bool:
    """Whether a value is a list or a tuple of Python's numbers, or of such lists."""
    if not isinstance(value, (list, tuple)) or hasattr(value, "_fields") or not value:
        return False
    return all(type(one) in (int, float, bool) or is_list_of_numbers(one) for one in value)


def call(functions: Mapping[str, Any], header: Message, arrays: dict[str, Any]) -> tuple[Message, dict[str, Any]]:
    """Call a function; the answer has what it returned and which of its arguments it has changed, or what it raised.

    A process that the function has forked, and that comes back from it too, ends here: the answer is of the first.
    """
    process = os.getpid()
    try:
        return called(functions, header, arrays)
    finally:
        if os.getpid() != process:
            os._exit(0)


def called(functions: Mapping[str, Any], header: Message, arrays: dict[str, Any]) -> tuple[Message, dict[str, Any]]:
    """The answer of a call."""
    try:
        made = make_arrays(arrays, header)
        before = {name: found[0].copy() for name, value in made.items() if (found := to_array(value)) is not None}
        gradients = header.get("gradients") or []
        for name in gradients:
            made[name].requires_grad_(True)
        positional, named = [], {}
        for argument in header["arguments"]:
            value = made[argument["array"]] if "array" in argument else argument["constant"]
            value = tuple(value) if isinstance(value, list) else value
            if isinstance(value, dict):
                value = SimpleNamespace(**value["attributes"])
            if argument["is_positional"]:
                positional.append(value)
            else:
                named[argument["name"]] = value
        returned = results_of(functions[header["function"]](*positional, **named))
        wait_for(header["device"])
        if gradients:
            returned += autograd(returned[0][1], gradients, made, arrays["grad_output"])
    except BaseException as error:  # noqa: BLE001 - a function may raise anything, also SystemExit
        return {"raised": said_of(error), "type": type(error).__name__, **place_of(error)}, {}
    parts: list[Message] = []
    numbers: dict[str, Any] = {}
    for number, (name, part) in enumerate(returned):
        converted = to_array(part)
        described = type(part).__name__ if converted is None else converted[1]
        described += " of numbers" if is_list_of_numbers(part) else ""
        parts.append({"name": name, "is_array": converted is not None, "type": described, "is_none": part is None})
        if converted is not None:
            numbers[str(number)] = converted[0]
    changed = [name for name, array in before.items() if not is_same(made[name], array)]
    return {"parts": parts, "changed": changed}, numbers


def is_same(value: Any, before: Any) -> bool:
    """Whether an argument has the numbers that it had before."""
    now = to_array(value)
    return now is not None and np.array_equal(now[0], before, equal_nan=before.dtype.kind == "f")


def autograd(output: Any, names: list[str], made: Mapping[str, Any], gradient: Any) -> list[tuple[str | None, Any]]:
    """The gradients of some arguments by PyTorch's automatic differentiation; zeros where none reaches an argument."""
    import torch  # noqa: PLC0415 - only where tensors are asked for

    if not getattr(output, "requires_grad", False):
        raise TypeError("the output has no gradient: it is no tensor, or was made from detached ones")
    inputs = [made[name] for name in names]
    upstream = torch.from_numpy(gradient).to(output.device, output.dtype)
    found = torch.autograd.grad(output, inputs, upstream, allow_unused=True)
    return [
        (f"grad_{name}", torch.zeros_like(made[name]) if gradient is None else gradient)
        for name, gradient in zip(names, found, strict=True)
    ]


def main() -> None:
    """Answer messages until the other side closes the stream."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what the function prints is no answer
    faulthandler.enable()
    try:
        import resource  # noqa: PLC0415 - not on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is a verdict, and needs no dump
    except ImportError:
        pass
    functions: dict[str, Any] = {}
    while (message := read_message(requests)) is not None:
        header, arrays = message
        if header["kind"] == "load":
            described, functions[header["function"]] = load_and_describe(header["target"])
            write_message(answers, described, {})
        else:
            write_message(answers, *call(functions, header, arrays))


if __name__ == "__main__":
    main()
