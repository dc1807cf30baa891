"""Functions of a text tried in this process, without the start of another."""

from typing import Any

from attncli.io.problem_files import Origin, RawValue
from attncli.kernels.borders import find_domain, find_precision
from attncli.kernels.calls import read_interface
from attncli.kernels.domain import Domain
from attncli.kernels.probing import find_call, find_mask
from attncli.kernels.process import FORWARD, FunctionDescription, KernelHere, Parameter
from attncli.kernels.report import TrialReport
from attncli.kernels.run import try_function
from attncli.kernels.trial import Description, Trial, TrialOptions


def described(*names: str, optional: str = "") -> FunctionDescription:
    """What a process says of a function with these parameters; the optional ones have a default."""
    parameters = [Parameter(name, False, False, False, False, "") for name in names]
    parameters += [Parameter(name, False, False, False, True, "") for name in optional.split()]
    return FunctionDescription("kernel.py:attention", tuple(parameters), (), ("attention",))


def find_text(
    source: str,
    *names: str,
    optional: str = "",
    types: tuple[str, ...] | None = ("float64",),
    features: tuple[int, ...] = (),
    lengths: tuple[int, ...] = (),
    is_square: bool = False,
    **keys: Any,
) -> tuple[Trial, Domain]:
    """How the function `attention` of a text is called, and its domain, without its being tried."""
    found = described(*names, optional=optional)
    description = Description({key: RawValue(value, Origin()) for key, value in keys.items()}, None, dtypes=types)
    options = TrialOptions(inputs=0, features=features, lengths=lengths, is_square=is_square)
    trial = Trial(_runner(source), read_interface(found, "attention"), description, options)
    find_call(trial, found)
    find_mask(trial)
    domain = find_domain(trial)
    find_precision(trial, domain)
    return trial, domain


def _runner(source: str) -> KernelHere:
    names: dict[str, Any] = {}
    exec(source, names)
    return KernelHere({FORWARD: names["attention"]})


def try_text(
    source: str,
    *names: str,
    optional: str = "",
    inputs: int = 0,
    types: tuple[str, ...] | None = ("float64",),
    convention: str | None = None,
    found: FunctionDescription | None = None,
    laws: bool = False,
    **keys: Any,
) -> TrialReport:
    """The report of the function `attention` of a text, which is to compute what the keys say; `found` describes it."""
    found = described(*names, optional=optional) if found is None else found
    document = {key: RawValue(value, Origin()) for key, value in keys.items()}
    interface = read_interface(found, "attention")
    description = Description(document, convention, dtypes=types)
    options = TrialOptions(inputs=inputs, laws=laws)
    return try_function(_runner(source), interface, found, description, options)
