"""Functions of a text tried in this process, without the start of another."""

from typing import Any

from attncli.analysis.kernels.calls import read_interface
from attncli.analysis.kernels.report import TrialReport
from attncli.analysis.kernels.run import try_function
from attncli.analysis.kernels.trial import Description, TrialOptions
from attncli.io import kernel_worker
from attncli.io.kernel_process import Call, CallFailure, FunctionDescription, Parameter, Returned, ReturnedPart
from attncli.io.problem_files import Origin, RawValue


class InThisProcess:
    """A runner that calls functions directly, as the process of a kernel does."""

    printed = ""

    def __init__(self, source: str, name: str) -> None:
        names: dict[str, Any] = {}
        exec(source, names)
        self.functions = {"forward": names[name]}
        self.calls = 0

    def call(self, call: Call) -> Returned | CallFailure:
        self.calls += 1
        header = {**vars(call), "arguments": [argument.as_object() for argument in call.arguments]}
        arrays = {name: array.copy() for name, array in call.arrays.items()}
        answer, results = kernel_worker.call(self.functions, header, arrays)
        if "raised" in answer:
            return CallFailure("raised", f"raises {answer['raised']}", answer["type"], answer["is_refusal"])
        parts = [
            ReturnedPart(part["name"], results.get(str(number)), "None" if part["is_none"] else part["type"])
            for number, part in enumerate(answer["parts"])
        ]
        return Returned(parts, answer["changed"])


def described(*names: str, optional: str = "") -> FunctionDescription:
    """What a process says of a function with these parameters; the optional ones have a default."""
    parameters = [Parameter(name, False, False, False, False, "") for name in names]
    parameters += [Parameter(name, False, False, False, True, "") for name in optional.split()]
    return FunctionDescription("kernel.py:attention", tuple(parameters), False, ("attention",))


def try_text(
    source: str,
    *names: str,
    optional: str = "",
    inputs: int = 0,
    types: tuple[str, ...] | None = ("float64",),
    **keys: Any,
) -> TrialReport:
    """The report of the function `attention` of a text, which is to compute what the keys say."""
    found = described(*names, optional=optional)
    document = {key: RawValue(value, Origin()) for key, value in keys.items()}
    interface = read_interface(found, "attention")
    description = Description(document, dtypes=types)
    runner = InThisProcess(source, "attention")
    return try_function(runner, interface, found, description, TrialOptions(inputs=inputs))
