"""A trial of a function from Python: `try_function(attention, causal=True)`, and its report."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from attncli.api.arguments import ProblemKeys
from attncli.api.problem import Problem, raw_values
from attncli.api.shown import document_html, document_text
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.text import repr_excerpt
from attncli.checks.report import CheckOptions, Explanation
from attncli.kernels.calls import LAYOUTS, read_backward, read_interface, read_returns, with_autograd
from attncli.kernels.description import describe
from attncli.kernels.document import trial_document, trial_verdict
from attncli.kernels.process import BACKWARD, FORWARD, KernelHere
from attncli.kernels.report import TrialReport
from attncli.kernels.run import try_function as try_kernel
from attncli.kernels.trial import LIBRARIES, SLIP_SECONDS, TORCH, TrialOptions
from attncli.problem.conventions import find_convention
from attncli.problem.numbers import to_integer, to_number_from
from attncli.render.view import DECIMALS

__all__ = ["Trial", "try_function"]


class Trial:
    """The findings of a trial, as `try_function` returns them; `print(trial)` shows the report of `attn try`.

    A trial is true if the function passes, so that `assert try_function(…)` works; `raise_for_failure` also gives the
    reason.
    """

    def __init__(self, data: TrialReport) -> None:
        self._data = data

    @property
    def passes(self) -> bool | None:
        """Whether it failed on no input; None where too few inputs tell."""
        return self._data.passes

    @property
    def tried(self) -> int:
        """How many inputs were tried, without inputs that the function rejects."""
        return self._data.count

    @property
    def failed(self) -> int:
        """On how many inputs it failed."""
        return self._data.failed

    @property
    def explained_by(self) -> Sequence[Explanation]:
        """The slips that explain its results: each has `slips`, their names, a `sentence` and `parameters`."""
        return self._data.explanations

    @property
    def right_with(self) -> Sequence[str]:
        """The options of conventions with which it is right, if it gave wrong numbers, such as `--as flash`."""
        return self._data.right_with

    @property
    def smallest(self) -> Problem | None:
        """The smallest input on which it fails, as a problem to compute; None if it passes."""
        return None if self._data.smallest is None else Problem.of_spec(self._data.smallest.problem)

    def raise_for_failure(self) -> None:
        """Raise AssertionError, whose message is the report, if it fails; do nothing otherwise."""
        __tracebackhide__ = True  # pytest shows the line of the test
        if not self.passes:
            raise AssertionError(str(self))

    @property
    def domain(self) -> str:
        """What inputs it takes, as it was found by trying, in a line."""
        return self._data.domain.told()

    def __bool__(self) -> bool:
        return bool(self.passes)

    def __str__(self) -> str:
        return document_text(trial_document(self._data, DECIMALS))

    def __repr__(self) -> str:
        return f"Trial({trial_verdict(self._data)})"

    def _repr_html_(self) -> str:
        return document_html(trial_document(self._data, DECIMALS))


def try_function(
    function: Callable[..., Any],
    *,
    inputs: int = 100,
    arrays: str | None = None,
    returns: str | Sequence[str] | None = None,
    backward: bool | Callable[..., Any] = False,
    rtol: float | None = None,
    atol: float | None = None,
    convention: str | None = None,
    **keys: Unpack[ProblemKeys],
) -> Trial:
    """Call a function on inputs that reveal mistakes, and shrink the smallest input on which it fails.

    The function takes queries, keys and values, and inputs named like its other parameters: `mask`, `is_causal`,
    `sm_scale`. A search finds their form, unless `arrays` ("numpy" or "torch") and the key `layout` ("bnhd") give it.
    The other `keys` say what it computes, `causal=True`, as a `convention` reads them. It returns the output, or also
    the results that `returns` names: `("output", "lse")`.

    In addition to some hundred chosen inputs, it draws so many `inputs` from the key `seed`. With `backward=True` it
    also tries gradients by PyTorch's autograd, or by a function of q, k, v and grad_output. Instead of the derived
    tolerance, numbers may differ by `atol + rtol · |expected|`.

    It calls the function in this process, without a time limit: `attn try` uses a separate process, where the function
    may crash or not end.

    Raises AttnError if it can't be called so, or rejects every input, or a key or another argument is wrong.

    >>> import numpy as np
    >>> def attention(q, k, v):
    ...     scores = q @ k.swapaxes(-1, -2)
    ...     weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    ...     return weights / weights.sum(axis=-1, keepdims=True) @ v
    >>> try_function(attention, score="dot", inputs=0, dtype="float64")
    Trial(attention passes all 88 inputs)
    >>> trial = try_function(attention, inputs=0, dtype="float64")
    >>> [explanation.slips for explanation in trial.explained_by], trial.smallest.query.shape
    ([('no_scale',)], (1, 2))
    """
    if not callable(function):
        raise AttnError(f"{repr_excerpt(function)} is not a function", where="function")
    if arrays is not None and arrays not in LIBRARIES:
        raise UnknownNameError("library", arrays, LIBRARIES, where="arrays")
    if convention is not None:
        find_convention(convention, where="convention")
    runner = KernelHere({FORWARD: function})
    found = runner.description(FORWARD)
    name = getattr(function, "__name__", type(function).__name__)
    interface = read_interface(found, name)
    layout = keys.pop("layout", None)
    if layout is not None and layout not in LAYOUTS:
        raise UnknownNameError("layout", layout, LAYOUTS, where="layout")
    options = TrialOptions(
        inputs=to_integer(inputs, ("inputs",), 0),
        seed=to_integer(keys.pop("seed", None) or 0, ("seed",), 0),
        library=arrays,
        layout=layout,
        returns=None if returns is None else read_returns(returns, "returns"),
        check=CheckOptions(rtol=_tolerance(rtol, "rtol"), atol=_tolerance(atol, "atol"), seconds=SLIP_SECONDS),
        is_backward=backward is not False,
    )
    if callable(backward):
        runner.functions[BACKWARD] = backward
        of_backward = getattr(backward, "__name__", type(backward).__name__)
        interface = read_backward(runner.description(BACKWARD), of_backward, interface)
    elif backward:
        if arrays != TORCH and TORCH not in found.libraries:
            hint = "give the function that computes them: backward=attention_backward"
            raise AttnError("NumPy's arrays have no gradients", where="backward", hint=hint)
        interface, options = with_autograd(interface), replace(options, library=TORCH)
    description, _ = describe(raw_values(keys), convention, layout)
    return Trial(try_kernel(runner, interface, found, description, options))


def _tolerance(value: float | None, name: str) -> float | None:
    """A tolerance as a number from 0; None if it is absent. Raises AttnError for any other value."""
    return None if value is None else to_number_from(value, (name,), 0)
