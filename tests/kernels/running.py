"""Functions of a text tried in this process, without the start of another."""

from typing import Any

from attncli.io.problem_files import Origin, RawValue
from attncli.kernels.calls import read_interface
from attncli.kernels.process import FORWARD, FunctionDescription, KernelHere, Parameter
from attncli.kernels.report import TrialReport
from attncli.kernels.run import try_function
from attncli.kernels.trial import Description, TrialOptions


def described(*names: str, optional: str = "") -> FunctionDescription:
    """What a process says of a function with these parameters; the optional ones have a default."""
    parameters = [Parameter(name, False, False, False, False, "") for name in names]
    parameters += [Parameter(name, False, False, False, True, "") for name in optional.split()]
    return FunctionDescription("kernel.py:attention", tuple(parameters), (), ("attention",))


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
    names_of_text: dict[str, Any] = {}
    exec(source, names_of_text)
    runner = KernelHere({FORWARD: names_of_text["attention"]})
    return try_function(runner, interface, found, description, TrialOptions(inputs=inputs, laws=laws))
