"""`attn try`: a function of the user's on inputs that reveal mistakes, and the smallest input on which it fails."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from attncli.base.dtypes import BFLOAT16
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.program import DIFFERS, FAILED
from attncli.cli import streams
from attncli.cli.completion import Meanings, complete_from
from attncli.cli.option_values import (
    check_convention,
    check_stdin,
    make_inputs,
    no_effect,
    read_problem_options,
    write_alias_notes,
)
from attncli.cli.output import write_answer
from attncli.cli.output_file import check_is_new, check_is_no_input, named_file, write_problem
from attncli.cli.output_options import OutputOptions, with_output_options, writes_documents
from attncli.cli.problem_options import As, Force, MaxSize, Strict, argument, flag, option, with_problem_options
from attncli.cli.terminal import ProgressBar
from attncli.render.formats import DEFAULT_FORMAT

if TYPE_CHECKING:
    from attncli.kernels.calls import Interface
    from attncli.kernels.process import FunctionDescription, KernelProcess
    from attncli.kernels.report import TrialReport
    from attncli.kernels.trial import Description, TrialOptions

TIMEOUT = 10.0  # seconds
FIRST_TIMEOUT = 120.0  # of the first call, which may import and compile
INTERPRET = "TRITON_INTERPRET"  # the variable by which Triton runs kernels without a driver
WRONG_BFLOAT16 = "Triton's interpreter multiplies it wrongly (triton-lang/triton#11584)"
INPUTS_OF_COMMAND = 10  # drawn: a command starts a process for each


@complete_from
def _complete_library() -> Meanings:
    """The libraries of arrays that a function may take."""
    from attncli.kernels.trial import LIBRARIES

    return dict.fromkeys(LIBRARIES, "")


@with_problem_options(are_listed=False)
@with_output_options("format", "json", "precision", "pager", is_written=writes_documents)
def try_function(
    function: str | None = argument("FILE.py:FUNCTION or package.module:function.", "FUNCTION"),
    problem: str | None = argument("A file whose keys say what it computes.", "PROBLEM"),
    *,
    command: str | None = option(
        "Run a program instead, that reads and writes .npz files.", metavar="'PROG {in} {out}'"
    ),
    arrays: str | None = option(
        "What the function takes; without it found by trying.",
        metavar="numpy|torch|jax|mlx",
        complete=_complete_library,
    ),
    returns: str | None = option("What it returns: output,lse; - is not compared. Else by shape.", metavar="NAME,NAME"),
    backward: bool = flag("Try gradients too: PyTorch's autograd, or FUNCTION_backward.", "--backward"),
    backward_function: str | None = option(
        "Try the gradients of this function of q, k, v and grad_output.", metavar="FUNCTION"
    ),
    lengths: str | None = option(
        "Numbers of queries and keys that it takes (--dim: features); else found by trying.", metavar="N,N"
    ),
    square: bool = flag("It takes as many queries as keys.", "--square"),
    laws: bool = flag("Try laws that need no reference: the same bits in a batch, in chunks …", "--laws"),
    device: str | None = option("Pass tensors on this device of PyTorch: cuda, mps, xpu.", metavar="NAME"),
    interpret: bool = flag("Run Triton kernels in its interpreter, on the CPU.", "--interpret"),
    inputs: str | None = option("Drawn inputs besides the chosen ones; default 100, of a command 10.", metavar="N"),
    timeout: str | None = option("Longest time of a call; default 10.", metavar="SECONDS"),
    rtol: str | None = option("Relative tolerance, instead of the derived one.", metavar="X"),
    atol: str | None = option("Absolute tolerance, instead of the derived one.", metavar="X"),
    output: str | None = option(
        "Write the smallest input as a problem, with what it gave.", "--output", "-o", metavar="FILE"
    ),
    shows_page: bool = flag("Show the failing input in the browser: its errors, its arithmetic.", "--open"),
    quiet: bool = flag("Print the verdict alone.", "--quiet", "-q"),
    convention: As = None,
    force: Force = False,
    output_options: OutputOptions,
    max_size: MaxSize = None,
    strict: Strict = False,
    **keys: Any,
) -> None:
    """Try a function, or a program, that computes what a problem file or options (`keys`) describe."""
    from attncli.checks.report import CheckOptions
    from attncli.kernels.calls import read_returns
    from attncli.kernels.description import describe
    from attncli.kernels.document import trial_answer
    from attncli.kernels.trial import COMMAND, SLIP_SECONDS, TORCH, TrialOptions

    output_options.check_format("try", writes_documents)
    decimals = output_options.decimals  # an error before any work
    if quiet and output_options.output_format.name != DEFAULT_FORMAT:
        message = f"--quiet and --format {output_options.output_format.name} contradict each other"
        raise AttnError(message, hint="leave out one of them")
    function, problem = _targets(function, problem, command)
    check_stdin(problem, *keys.values())
    read_inputs = make_inputs(max_size)
    layout, seed = _layout(keys), _whole(keys.pop("seed", None), "--seed", 0)
    features = _lengths(keys.pop("dim", None), "--dim")
    document = read_problem_options(problem, keys, read_inputs)
    write_alias_notes(document)
    check_convention(convention)
    description, use = describe(document, convention, layout)
    streams.write_warnings([] if use is None else use.remarks, strict=strict)
    file = None if output is None else named_file(output, "--output")
    check_is_no_input(file, read_inputs)
    check_is_new(file, force=force)
    _check_library(arrays)
    options = TrialOptions(
        inputs=_whole(inputs, "--inputs", TrialOptions.inputs if command is None else INPUTS_OF_COMMAND),
        seed=seed,
        library=(arrays or (None if device is None else TORCH)) if command is None else COMMAND,
        layout=layout or (None if command is None else "bhnd"),
        returns=None if returns is None else read_returns(returns, "--returns"),
        check=CheckOptions(rtol=_number(rtol, "--rtol"), atol=_number(atol, "--atol"), seconds=SLIP_SECONDS),
        is_backward=backward or backward_function is not None,
        laws=laws,
        features=features,
        lengths=_lengths(lengths, "--lengths"),
        is_square=square,
        device=device or TrialOptions.device,
        without_dtypes={BFLOAT16: WRONG_BFLOAT16} if interpret or os.environ.get(INTERPRET) == "1" else {},
    )
    with ProgressBar("trying") as progress:
        options = replace(options, progress=progress)
        seconds = None if timeout is None else _number(timeout, "--timeout") or TIMEOUT
        runs = _Run(function, command, backward_function, seconds, {INTERPRET: "1"} if interpret else {})
        report = runs.report(description, options)
    written = _write_smallest(report, file, read_inputs, is_strict=strict)
    answer = trial_answer(report, seed, decimals, written, is_quiet=quiet)
    with streams.while_read():
        write_answer(answer, output_options)
    if shows_page:
        _open_page(report, output_options, decimals, is_strict=strict)
    if not report.passes:
        raise typer.Exit(DIFFERS if report.failed else FAILED)


@dataclass(frozen=True)
class _Run:
    """What is run: a function with its backward function, or a command; how long a call may take, and variables."""

    function: str | None
    command: str | None
    backward: str | None
    seconds: float | None
    environment: Mapping[str, str]

    def report(self, description: "Description", options: "TrialOptions") -> "TrialReport":
        """The report of the trial; raises AttnError where gradients are asked of a command."""
        from attncli.kernels.process import KernelCommand, KernelProcess
        from attncli.kernels.run import try_function

        seconds = self.seconds or TIMEOUT
        if self.command is not None:
            if options.is_backward:
                message = "gradients are tried of a function, not of a command"
                raise AttnError(message, where="--backward", hint="name a function, FILE.py:FUNCTION")
            with KernelCommand(self.command, seconds) as runner:
                interface, found = _interface_of_command(runner.words)
                return try_function(runner, interface, found, description, options)
        assert self.function is not None
        first_seconds = FIRST_TIMEOUT if self.seconds is None else 0.0
        with KernelProcess(seconds, first_seconds, self.environment) as process:
            interface, found, options = _interface(process, self.function, self.backward, options)
            return try_function(process, interface, found, description, options)


def _targets(function: str | None, problem: str | None, command: str | None) -> tuple[str | None, str | None]:
    """The function and the problem; with a command the one argument is the problem.

    Raises AttnError where there is no function, or one besides a command.
    """
    if command is None:
        if function is None:
            raise AttnError("no function", hint="type attn try kernel.py:attention --causal")
        return function, problem
    if problem is not None:
        raise AttnError("a function and --command contradict each other", hint="leave out one of them")
    return None, function


def _layout(keys: dict[str, Any]) -> str | None:
    """The layout that is chosen, one of problems or `nd`, which these do not have."""
    from attncli.kernels.calls import LAYOUTS
    from attncli.problem.layout import LAYOUTS_ELSEWHERE

    layout: str | None = keys.pop("layout", None)
    layout = LAYOUTS_ELSEWHERE.get(layout or "", layout)
    if layout is not None and layout not in LAYOUTS:
        raise UnknownNameError("layout", layout, LAYOUTS, where="--layout")
    return layout


def _check_library(arrays: str | None) -> None:
    from attncli.kernels.trial import LIBRARIES

    if arrays is not None and arrays not in LIBRARIES:
        raise UnknownNameError("library", arrays, LIBRARIES, where="--arrays")


def _whole(text: str | None, option: str, default: int, least: int = 0) -> int:
    """The whole number of an option, not less than `least`; raises AttnError for any other."""
    from attncli.problem.numbers import is_number, read_number, to_integer

    if text is None:
        return default
    value = read_number(text, (option,))
    return to_integer(value if is_number(value) else text, (option,), least)


def _lengths(text: str | None, option: str) -> tuple[int, ...]:
    """The lengths of an option, with commas between; none without it. Raises AttnError for any other text."""
    return () if text is None else tuple(_whole(word.strip(), option, 1, 1) for word in text.split(","))


def _number(text: str | None, option: str) -> float | None:
    """The number from 0 of an option; None where it is not given. Raises AttnError for any other."""
    from attncli.problem.numbers import is_number, read_number, to_number_from

    if text is None:
        return None
    value = read_number(text, (option,))
    return to_number_from(value if is_number(value) else text, (option,), 0)


def _interface(
    process: "KernelProcess", target: str, backward: str | None, options: "TrialOptions"
) -> "tuple[Interface, FunctionDescription, TrialOptions]":
    """How a function is called, and its backward function; gradients are PyTorch's where it has none."""
    from attncli.kernels.calls import read_backward, read_interface, with_autograd
    from attncli.kernels.process import BACKWARD

    found = process.load(target)
    name = target.rpartition(":")[2]
    interface = read_interface(found, name)
    if not options.is_backward:
        return interface, found, options
    own = f"{name}_backward"
    if backward is None and own in found.functions:
        backward = own
    if backward is not None:
        backward = backward if ":" in backward else f"{target.rpartition(':')[0]}:{backward}"
        interface = read_backward(process.load(backward, BACKWARD), backward.rpartition(":")[2], interface)
        return interface, found, options
    if options.library == "numpy" or not ("torch" in found.libraries or options.library == "torch"):
        hint = f"write {own}(q, k, v, grad_output) next to it, or name it with --backward-function"
        hint += "; of one that takes tensors give --arrays torch" if options.library is None else ""
        raise AttnError("NumPy's arrays have no gradients", where="--backward", hint=hint)
    return with_autograd(interface), found, replace(options, library="torch")


def _interface_of_command(words: list[str]) -> "tuple[Interface, FunctionDescription]":
    """How a command is called: with queries, keys and values by their names."""
    from attncli.kernels.calls import Interface, Passed
    from attncli.kernels.cases import LAID_OUT
    from attncli.kernels.process import FunctionDescription

    name = Path(words[0]).name
    passed = tuple(Passed(key, key, is_needed=True) for key in LAID_OUT)
    return Interface(passed, function=name, library="command"), FunctionDescription(name, None, (), ())


def _open_page(report: "TrialReport", options: OutputOptions, decimals: int, *, is_strict: bool) -> None:
    """Show the page of the smallest failing input in the browser: what `attn check` shows of its numbers."""
    from attncli.checks.document import check_answer
    from attncli.cli.browser import page_file, write_and_open
    from attncli.kernels.document import outcome_of

    outcome = outcome_of(report)
    if outcome is None:
        why = "there are no wrong numbers to show" if report.failed else "the function fails on no input"
        streams.write_warnings([no_effect("open", why)], strict=is_strict)
        return
    answer = check_answer([outcome], (), decimals, is_suite=False)
    with page_file(replace(options, format=None, json=False), report.function) as to_file:
        to_page = replace(to_file, strict=is_strict)
        write_and_open(lambda: write_answer(answer, to_page), to_page)


def _write_smallest(report: "TrialReport", file: str | None, inputs: Any, *, is_strict: bool) -> str | None:
    """Write the smallest input as a problem file; the file, or None where nothing was written."""
    from attncli.io.problem_text import ExampleValues
    from attncli.kernels.document import expected_of, trial_verdict

    if file is None:
        return None
    if report.smallest is None and report.laws:
        streams.write_warnings([f"{shlex.quote(file)} is not written: laws have no expected numbers"], strict=is_strict)
        return None
    if report.smallest is None:
        streams.write_warnings(
            [f"{shlex.quote(file)} is not written: the function fails on no input"], strict=is_strict
        )
        return None
    before: Mapping[str, Any] = {"title": f"{trial_verdict(report)}."}
    after = {"expected": expected_of(report.smallest)} if report.smallest.failure.returned else {}
    write_problem(report.smallest.problem, file, inputs, ExampleValues(before, after))
    return file
