"""The names of code: variables of steps, and what NumPy's functions are called in PyTorch."""

import builtins
import keyword
import re
from collections.abc import Mapping

from attncli.ops.code import Library

MODULES: Mapping[Library, str] = {"numpy": "np", "torch": "torch"}
TITLES: Mapping[Library, str] = {"numpy": "NumPy", "torch": "PyTorch"}
_TAKEN = frozenset({*keyword.kwlist, *dir(builtins), *MODULES.values()})
# NumPy's names, as patterns, and what PyTorch has in their place.
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
    """The variable of a step, which has its name.

    >>> variable_of("score.sigma"), variable_of("lambda")
    ('score_sigma', 'lambda_')
    """
    name = re.sub(r"\W", "_", step)
    return f"{name}_" if name in _TAKEN else name


def in_torch(code: str) -> str:
    """Code in NumPy's names in PyTorch's.

    >>> in_torch("np.exp(scores - scores.max(axis=-1, keepdims=True)) / np.sqrt(4)")
    'torch.exp(scores - scores.amax(dim=-1, keepdim=True)) / 4 ** 0.5'
    """
    for pattern, replacement in _TORCH_NAMES:
        code = re.sub(pattern, replacement, code)
    return code
