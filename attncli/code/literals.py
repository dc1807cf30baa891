"""Numbers and arrays as code: small ones inline, others loaded from files."""

import builtins
import keyword
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from attncli.base.dtypes import HELD_AS_SINGLE, Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.code import Library

MODULES: Mapping[Library, str] = {"numpy": "np", "torch": "torch"}
TITLES: Mapping[Library, str] = {"numpy": "NumPy", "torch": "PyTorch"}
_TAKEN = frozenset({*keyword.kwlist, *dir(builtins), *MODULES.values()})
# NumPy's names, as patterns, and their PyTorch equivalents.
_TORCH_NAMES: tuple[tuple[str, str], ...] = (
    (r"np\.sqrt\((\d[\d.e+-]*)\)", r"\1 ** 0.5"),
    (r"np\.logaddexp\(0, ", "torch.nn.functional.softplus("),
    (r"np\.concatenate\(", "torch.cat("),
    (r"np\.transpose\(", "torch.permute("),
    (r"np\.take_along_axis\(", "torch.take_along_dim("),
    (r"\.repeat\(", ".repeat_interleave("),
    (r"\.max\(axis=", ".amax(axis="),
    (r"\.min\(axis=", ".amin(axis="),
    (r"\.astype\(", ".to("),
    (r"\bnp\.array\(", "torch.tensor("),
    (r"\bnp\.", "torch."),
    (r"\baxis=", "dim="),
    (r"\bkeepdims=", "keepdim="),
)


def variable_of(step: str) -> str:
    """The variable of a step, named after it.

    >>> variable_of("score.sigma"), variable_of("lambda")
    ('score_sigma', 'lambda_')
    """
    name = re.sub(r"\W", "_", step)
    return f"{name}_" if name in _TAKEN else name


def in_torch(code: str) -> str:
    """Code in NumPy's names, translated to PyTorch's.

    >>> in_torch("np.exp(scores - scores.max(axis=-1, keepdims=True)) / np.sqrt(4)")
    'torch.exp(scores - scores.amax(dim=-1, keepdim=True)) / 4 ** 0.5'
    """
    for pattern, replacement in _TORCH_NAMES:
        code = re.sub(pattern, replacement, code)
    return code


INLINE = 64  # numbers of an inline array
INLINE_ON_STANDARD_OUTPUT = 10_000  # the same on standard output, which has no files next to it
LINE_WIDTH = 110
EXPECTED_DIGITS = 12  # digits of compared results


def option_text(value: Any) -> str:
    """An option as code.

    >>> option_text(5.0), option_text(float("inf")), option_text((2, 3)), option_text("tanh")
    ('5.0', 'np.inf', '(2, 3)', "'tanh'")
    """
    if isinstance(value, (float, np.floating)):
        return repr(float(value)) if math.isfinite(value) else _number_text(float(value))
    return repr(value)


def _number_text(x: float, digits: int | None = None) -> str:
    """A number as code; an integer as NumPy prints it: `2.`."""
    if not math.isfinite(x):
        return "np.nan" if math.isnan(x) else "np.inf" if x > 0 else "-np.inf"
    if x == int(x) and abs(x) < 2**53:
        return f"{int(x)}." if x or math.copysign(1, x) > 0 else "-0."
    return repr(x) if digits is None else f"{x:.{digits}g}"


@dataclass
class ArrayWriter:
    """Writes arrays as code for one library; `files` has the loaded ones, by file name.

    `stem` is the beginning of file names; None if there can be no files.
    """

    library: Library
    precision: Precision
    stem: str | None
    files: dict[str, Array] = field(default_factory=dict)

    @property
    def real_type(self) -> str:
        """The name of the type that a script computes in: float32 for narrower ones."""
        name = self.precision.name
        return "float32" if name in ("float16", *HELD_AS_SINGLE) else name

    def lines(self, name: str, array: Array, *, digits: int | None = None) -> list[str]:
        """The lines that make an array, by the name of its file; the first has no indentation."""
        array = self._converted(array)
        if self._is_inline(array, name):
            return self._inline(array, digits)
        file = self._free_file(name, array)
        self.files[file] = array
        loaded = f"np.load({file!r})"
        return [loaded if self.library == "numpy" else f"torch.from_numpy({loaded})"]

    def _free_file(self, name: str, array: Array) -> str:
        """The name of an array's file; several parts of an example may use the same name."""
        numbers = chain([""], (f".{number}" for number in count(2)))
        names = (f"{self.stem}.{name}{number}.npy" for number in numbers)
        return next(own for own in names if own not in self.files or self._is_in(own, array))

    def _is_in(self, file: str, array: Array) -> bool:
        """Whether a file has this array."""
        return np.array_equal(self.files[file], array, equal_nan=array.dtype.kind == "f")

    def _converted(self, array: Array) -> Array:
        """The array in the type of the script; booleans and integers unchanged."""
        return array.astype(self.real_type) if array.dtype.kind == "f" else array

    def _is_inline(self, array: Array, name: str) -> bool:
        """Whether an array is inline; raises AttnError if it can't be, and there are no files."""
        if array.dtype == np.longdouble and not np.array_equal(array, array.astype(np.float64), equal_nan=True):
            limit = 0
        else:
            limit = INLINE_ON_STANDARD_OUTPUT if self.stem is None else INLINE
        if array.size > limit and self.stem is None:
            message = (
                f"{name.removesuffix('.expected')} has {array.size} numbers, which go to a file next to the script"
            )
            raise AttnError(message, hint="name the script: -o attention.py")
        return array.size <= limit

    def _inline(self, array: Array, digits: int | None) -> list[str]:
        """An array with its numbers."""
        call, kind = "np.array(", array.dtype.kind
        dtype = {"b": "bool", "f": "" if self._is_default else f"{MODULES[self.library]}.{self.real_type}"}.get(
            kind, ""
        )
        if not array.size:
            return self._translated([f"np.zeros({array.shape}{dtype and f', dtype={dtype}'})"])
        texts = [_cell_text(x, kind, digits) for x in array.ravel()]
        cells = np.array(texts, dtype=object).reshape(array.shape)
        return self._translated(_nested(call, cells, f"{dtype and f', dtype={dtype}'})"))

    def _translated(self, lines: list[str]) -> list[str]:
        return [in_torch(line) for line in lines] if self.library == "torch" else lines

    @property
    def _is_default(self) -> bool:
        """Whether numbers with a decimal point have the script's type, to which PyTorch's default is set."""
        return self.library == "torch" or self.real_type == "float64"


def _cell_text(x: Any, kind: str, digits: int | None) -> str:
    """One number of an array as code."""
    if kind != "f":
        return str(int(x))
    if x.dtype == np.float32 and np.isfinite(x) and x != np.trunc(x) and digits is None:
        return str(x)
    return _number_text(float(x), digits)


def _nested(before: str, cells: Any, after: str) -> list[str]:
    """Nested lists of cells as lines, a row on each unless all are short."""
    if cells.ndim == 0:
        return [f"{before}{cells.item()}{after}"]
    whole = f"{before}{_one_line(cells)}{after}"
    if len(whole) <= LINE_WIDTH and (cells.ndim < 3 or cells.shape[0] < 2):
        return [whole]
    if cells.ndim > 1:
        width = max(map(len, cells.flat))
        cells = np.array([text.rjust(width) for text in cells.flat], dtype=object).reshape(cells.shape)
    lines = _broken(cells)
    if after.startswith(", "):  # more arguments have their own line, as a formatter would write them
        lines, after = [*_with_comma(lines), f"{after[2:-1]},"], ")"
    return [before, *(f"    {line}" for line in lines), after]


def _one_line(cells: Any) -> str:
    """Nested lists of cells in one line."""
    if cells.ndim == 0:
        return str(cells.item())
    if cells.ndim == 1:
        return f"[{', '.join(cells)}]"
    return f"[{', '.join(_one_line(row) for row in cells)}]"


def _broken(cells: Any) -> list[str]:
    """Nested lists of cells, a row on each line, and long rows on several."""
    line = _one_line(cells)
    if cells.ndim == 1 or (len(line) <= LINE_WIDTH - 30 and cells.ndim < 2):
        if len(line) <= LINE_WIDTH - 10:
            return [line]
        per_line = max((LINE_WIDTH - 10) // (max(map(len, cells)) + 2), 1)
        parts = [", ".join(cells[at : at + per_line]) for at in range(0, len(cells), per_line)]
        return ["[", *(f"    {part}," for part in parts), "]"]
    inner = [line for row in cells for line in _with_comma(_broken(row))]
    return ["[", *(f"    {line}" for line in inner), "]"]


def _with_comma(lines: list[str]) -> list[str]:
    return [*lines[:-1], f"{lines[-1]},"]
