"""A script of NumPy or PyTorch that computes a result again, prints it, and compares it with the program's."""

import math
import textwrap
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import PurePath

from attncli.base.axes import legend
from attncli.base.dtypes import FLOAT8
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.program import __version__
from attncli.base.text import escape_control
from attncli.code.literals import EXPECTED_DIGITS, LINE_WIDTH, MODULES, TITLES, ArrayWriter, variable_of
from attncli.code.steps import CodeStep, code_steps
from attncli.ops.code import Library
from attncli.render.target import TextTarget
from attncli.render.view import View

# Permitted differences of results, by number type: a script rounds elsewhere.
TOLERANCES: Mapping[str, float] = {
    "longdouble": 1e-12,
    "float64": 1e-9,
    "float32": 1e-4,
    "float16": 3e-2,
    "bfloat16": 1e-1,
}


def array_writer(view: View, target: TextTarget, library: Library) -> ArrayWriter:
    """The writer of a view's arrays; raises AttnError if the library lacks the type of its numbers."""
    precision = view.result.trace.precision
    if precision.name in FLOAT8 or (library == "torch" and precision.is_extended):
        message = f"{TITLES[library]} can't compute in {precision.name}"
        raise AttnError(message, hint="give another dtype, such as float64")
    return ArrayWriter(library, precision, None if target.file is None else PurePath(target.file).stem)


def render(view: View, target: TextTarget, library: Library) -> Iterator[str]:
    """The lines of a script; raises AttnError if a step has no code."""
    arrays = array_writer(view, target, library)
    steps = code_steps(view, arrays)
    checks = list(result_lines(view, arrays))
    for line in (
        *_head(view, arrays, steps),
        *_section("What is given", [step for step in steps if step.is_given]),
        *_section("Step by step", [step for step in steps if not step.is_given]),
        "",
        "# The results, compared with attn's",
        *checks,
    ):
        yield f"{target.encodable(line)}\n"


render_numpy = partial(render, library="numpy")
render_torch = partial(render, library="torch")


def files_beside(view: View, target: TextTarget, library: Library) -> Mapping[str, Array]:
    """The arrays that a script loads from its folder, by file name."""
    arrays = array_writer(view, target, library)
    code_steps(view, arrays)
    list(result_lines(view, arrays))
    return arrays.files


numpy_files = partial(files_beside, library="numpy")
torch_files = partial(files_beside, library="torch")


def import_lines(arrays: ArrayWriter) -> list[str]:
    """The imports, and the type of numbers."""
    if arrays.library == "numpy":
        return ["import numpy as np"]
    lines = ["import numpy as np", "import torch"] if arrays.files else ["import torch"]
    return [*lines, "", f"torch.set_default_dtype(torch.{arrays.real_type})"]


def _head(view: View, arrays: ArrayWriter, steps: list[CodeStep]) -> Iterator[str]:
    """The docstring and the imports."""
    yield f'"""{_in_docstring(view.title or "Attention")}: {view.heading}.'
    yield ""
    letters = dict.fromkeys(letter for step in steps for letter in step.node.letters)
    own, name = view.result.trace.precision.name, arrays.real_type
    kind = "" if own == name else f" Numbers of {own} are computed in {name}."
    yield from textwrap.wrap(f"Written by attn {__version__}.{kind} Axes: {legend(letters)}.", LINE_WIDTH)
    yield '"""'
    yield ""
    yield from import_lines(arrays)


def _in_docstring(text: str) -> str:
    """A one-line text that does not end its docstring."""
    return escape_control(text.replace("\\", "\\\\").replace('"', "'"))


def _section(title: str, steps: list[CodeStep]) -> Iterator[str]:
    """The lines of some steps under a title."""
    if steps:
        yield ""
        yield f"# {title}"
    for step in steps:
        yield from step.lines


def result_lines(view: View, arrays: ArrayWriter) -> Iterator[str]:
    """The lines that print each selected result, and compare it."""
    for name in view.result.select:
        yield f"print({name!r}, {variable_of(view.result.trace[name].name)}, sep='\\n')"
    yield from assertion_lines(view, arrays)


def assertion_lines(view: View, arrays: ArrayWriter, before: str = "") -> Iterator[str]:
    """The lines that compare each selected result; `before` is the object whose attributes are the variables."""
    for name in view.result.select:
        step = view.result.trace[name]
        first, *more = arrays.lines(f"{name}.expected", step.value, digits=EXPECTED_DIGITS)
        yield f"expected = {first}"
        yield from more
        yield _assertion(name, f"{before}{name}" if before else variable_of(step.name), step.value, arrays)


def _assertion(name: str, variable: str, value: Array, arrays: ArrayWriter) -> str:
    """The line that compares a result with the expected one."""
    message = f"{name}: attn has other numbers"
    if value.dtype.kind != "f":
        return f"assert ({variable} == expected).all(), {message!r}"
    tolerance = TOLERANCES[arrays.precision.name]
    finite = abs(value[np.isfinite(value)])
    largest = float(finite.max(initial=0))
    absolute = tolerance * 10.0 ** math.ceil(math.log10(largest)) if largest > 1 else tolerance
    close = f"{MODULES[arrays.library]}.allclose({variable}, expected, rtol={tolerance:g}, atol={absolute:g}"
    return f"assert {close}{', equal_nan=True' if np.isnan(value).any() else ''}), {message!r}"
