"""Fitting: Adam learns arrays and numbers of a problem, so that its results come close to targets.

The loss is the mean squared error of a target, or the sum over several. The plan, with the gradients of the learned
values, is built once; a step recomputes only the nodes that depend on them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any, Literal

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import join_words
from attncli.checks.expected import ExpectedStep, expected_numbers
from attncli.engine.dense import DenseEngine, input_array
from attncli.engine.memory import check_memory
from attncli.engine.options import RunOptions
from attncli.engine.run import ALWAYS_FITS
from attncli.ops.records import Operator
from attncli.plan.build import build_plan_to_fit, plan_of
from attncli.plan.graph import GRADIENT, Node, Plan, gradient_name, loss_gradient_name
from attncli.plan.stages.gradients import derivative_by, has_derivative
from attncli.problem.build import check_name, replace_values
from attncli.problem.fields import option_name
from attncli.problem.numbers import to_finite, to_integer
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.problem.weights import stored_values

LEARN, TARGET = "learn", "target"  # the options, and the locations of errors
FIRST_MEAN, SECOND_MEAN, SMALLEST = 0.9, 0.999, 1e-8  # β₁, β₂ and ε of Adam
STEPS, RATE = 1000, 0.05
PATIENCE = 100  # steps in which the lowest loss must fall …
LEAST_FALL = 1e-6  # … by this share

Path = tuple[str, ...]
Values = Mapping[Path, Array]
Stopped = Literal["converged", "steps", "interrupted", "not_finite"]


@dataclass(frozen=True)
class FitOptions:
    """The maximum number of steps, the step size, and a callback for each: the step, the steps, and the loss."""

    steps: int = STEPS
    rate: float = RATE
    progress: Callable[[int, int, float], None] | None = None


def fit_options(steps: Any = STEPS, rate: Any = RATE) -> FitOptions:
    """The options of a fit; raises AttnError if one is not a number, or out of range."""
    size = to_finite(rate, ("rate",))
    if size <= 0:
        raise AttnError(f"{size:g} is not above 0", where="rate", hint=f"expected a number such as {RATE}")
    return FitOptions(to_integer(steps, ("steps",), 1), size)


@dataclass(frozen=True)
class Learned:
    """The values learned for a key, before and after; a number has no axes."""

    key: str
    before: Array
    after: Array


@dataclass(frozen=True)
class Fit:
    """A fitted problem, the learned values, the loss before the first step and after each, and the reason to stop.

    The problem has the lowest loss. `stopped` is "converged" if the loss no longer fell, "steps" after the last step,
    "interrupted", or "not_finite" if the loss was not finite.
    """

    problem: ProblemSpec
    learned: tuple[Learned, ...]
    targets: tuple[str, ...]
    losses: tuple[float, ...]
    stopped: Stopped

    @property
    def best(self) -> int:
        """The step of the lowest loss."""
        return int(np.argmin(self.losses))

    @property
    def values(self) -> Mapping[str, Any]:
        """The learned numbers and arrays by their keys, matrices as `weight_layout` stores them."""
        stored = stored_values(self.problem)
        found: dict[str, Any] = {}
        for one in self.learned:
            name, _, parameter = one.key.partition(".")
            found[one.key] = stored[name].given[parameter] if parameter else stored[name]
        return found


@dataclass(frozen=True)
class Target:
    """The target numbers of a result, on its axes, and which of them are given."""

    name: str
    numbers: Array
    is_given: Array

    def error(self, value: Array) -> tuple[float, Array]:
        """The mean squared error of a value, and its gradient with respect to each number."""
        difference = np.subtract(value, self.numbers, out=np.zeros(value.shape), where=self.is_given)
        count = np.count_nonzero(self.is_given)
        return float((difference**2).sum() / count), difference * 2 / count


@dataclass(frozen=True)
class _Parameter:
    """A value to learn: its name and path, the step whose gradient is its own, and its start.

    A number that must stay above `least` moves by the logarithm of its distance from `least`.
    """

    key: str
    path: Path
    step: str
    start: Array
    least: float | None = None

    @property
    def free(self) -> Array:
        """The start, in the coordinates of the descent."""
        return self.start if self.least is None else np.log(abs(self.start - self.least))

    def value(self, free: Array) -> Array:
        """The value at a point of the descent."""
        return free if self.least is None else self.least + np.sign(self.start - self.least) * np.exp(free)

    def gradient(self, value: Array, gradient: Array) -> Array:
        """The gradient in the coordinates of the descent, from the value's gradient."""
        own = np.asarray(gradient, np.float64).reshape(self.start.shape)
        return own if self.least is None else own * (value - self.least)


def fit(problem: ProblemSpec, learn: Sequence[str], targets: Mapping[str, Any], options: FitOptions) -> Fit:
    """Learn arrays and numbers of a problem, named by keys, so that results come close to named `targets`.

    Targets have every form that `attncli.checks.expected.expected_numbers` reads. After Ctrl-C it returns the best so
    far. Raises UnknownNameError for an unknown name, AttnError if a value can't be learned, or a target does not fit
    its result or does not depend on the learned values; its path begins with "learn", or with "target" and a name.

    >>> from attncli.problem.build import build
    >>> problem = build({"scores": [[0.0, 1.0]], "scale": 1.0})
    >>> found = fit(problem, ["scale"], {"weights": [[0.1, 0.9]]}, FitOptions())
    >>> found.stopped, round(float(found.learned[0].after), 3)  # the logarithm of 0.9/0.1
    ('converged', 2.197)
    """
    problem = replace(problem, grad_output=None)
    wanted = [read_target(problem, name, value) for name, value in targets.items()]
    if not wanted:
        raise AttnError("there is no target", where=TARGET, hint="name a result and its numbers, such as output")
    parameters = _parameters(problem, learn, [target.name for target in wanted])
    loss = _Loss(problem, parameters, wanted)
    with np.errstate(all="ignore"):  # a loss that is not finite ends the descent
        losses, best, stopped = _descend(loss, options)
    values = {parameter.path: value for parameter, value in zip(parameters, best, strict=True)}
    learned = tuple(Learned(p.key, p.start, value) for p, value in zip(parameters, best, strict=True))
    fitted = replace_values(problem, _values_with(problem, values))
    return Fit(fitted, learned, tuple(targets), tuple(losses), stopped)


def read_target(problem: ProblemSpec, name: str, value: Any) -> Target:
    """The target numbers of a result; raises AttnError if they do not fit it, or there are none."""
    path = (TARGET, name)
    try:
        found = expected_numbers(value, ExpectedStep(problem, plan_of(problem), name, {}), path)
    except AttnError as error:
        raise error if error.path else error.at(*path) from None
    is_given = found.is_given & np.isfinite(found.array)
    if not is_given.any():
        raise AttnError("has no number", where=path)
    return Target(name, found.array.astype(np.float64), is_given)


def _parameters(problem: ProblemSpec, learn: Sequence[str], targets: Sequence[str]) -> list[_Parameter]:
    """The values to learn; raises AttnError if there are none, one is impossible, or a target does not read it."""
    if not learn:
        raise AttnError("nothing is learned", where=LEARN, hint="name a key, such as w_q or score.sigma")
    plan = plan_of(problem)
    found: dict[Path, _Parameter] = {}
    for key in learn:
        path = _path(problem, plan, key)
        if path not in found:
            found[path] = _parameter(problem, plan, ".".join(path), path, targets)
    for name in targets:
        needed = plan.needed_for([name])
        if not any(_reads(node, found) for node in plan.nodes if node.name in needed):
            keys = join_words([parameter.key for parameter in found.values()])
            raise AttnError(f"does not depend on {keys}", where=(TARGET, name), hint="learn the keys it is made of")
    return list(found.values())


def _path(problem: ProblemSpec, plan: Plan, key: str) -> Path:
    """The path of a key; raises UnknownNameError for an unknown one, AttnError if it is missing."""
    found = plan.parameters.get(key)
    if found is not None:
        return found
    name, _, parameter = key.partition(".")
    operators = {f"{field}.{p.name}" for field, operator in _operators(problem) for p in operator.record.parameters}
    if key not in FIELDS and key not in operators:
        names = learnable(plan)
        short = [name for name, path in plan.parameters.items() if ".".join(path) in names]
        raise UnknownNameError("key to learn", key, dict.fromkeys((*names, *short)), where=LEARN)
    check_name(name)
    hint = f"expected one of {', '.join(learnable(plan))}"
    if parameter or getattr(problem, name) is not None:
        is_array = FIELDS[name].is_array and not parameter
        raise AttnError(f"{key} has no gradient" if not is_array else f"nothing reads {key}", where=LEARN, hint=hint)
    if FIELDS[name].is_array or FIELDS[name].kind == "number":
        hint = f"give a start: {option_name(name)} {'normal --seed 0' if FIELDS[name].is_random_fill else 'X'}"
        raise AttnError(f"{key} is not given", where=LEARN, hint=hint)
    raise AttnError(f"{key} has no gradient", where=LEARN, hint=hint)


def _operators(problem: ProblemSpec) -> list[tuple[str, Operator]]:
    """The operators of a problem, by their keys."""
    return [(name, value) for name in FIELDS if isinstance(value := getattr(problem, name), Operator)]


def learnable(plan: Plan) -> list[str]:
    """The names of a plan's arrays and numbers that have a gradient."""
    paths = {path: node for node in plan.nodes for path in (node.source, *node.numbers.values()) if path}
    return [".".join(path) for path, node in paths.items() if _is_real(node, path)]


def _is_real(node: Node, path: Path) -> bool:
    """Whether an array holds real numbers, or a node has a derivative with respect to a number."""
    if path == node.source:
        field = FIELDS[path[0]]
        return len(path) > 1 or field.kind in ("matrix", "vector")
    option = next(option for option, own in node.numbers.items() if own == path)
    return has_derivative(node, option)


def _parameter(problem: ProblemSpec, plan: Plan, key: str, path: Path, targets: Sequence[str]) -> _Parameter:
    """The value to learn for a key; raises AttnError if no gradient reaches it, or only a slice of it is computed."""
    readers = [node for node in plan.nodes if _reads(node, (path,))]
    needed = plan.needed_for(targets)
    if not any(node.name in needed for node in readers):
        raise AttnError(f"{join_words(targets)} does not depend on {key}", where=LEARN, hint="learn another key")
    if not all(_is_real(node, path) for node in readers):
        raise AttnError(f"{key} has no gradient", where=LEARN, hint=f"expected one of {', '.join(learnable(plan))}")
    if path == readers[0].source:
        array = input_array(readers[0], problem)
        if key in ("embeddings", "token_table") and (problem.vocabulary or problem.token_table is not None):
            message, hint = f"{key} are looked up, and words share them", "give embeddings to learn them"
            raise AttnError(message, where=LEARN, hint=hint)
        if readers[0].axes and np.prod(readers[0].shape) != array.size:
            raise AttnError(f"{key} is read in part", where=LEARN, hint="leave out only")
        return _Parameter(key, path, readers[0].name, np.asarray(array, np.float64))
    return _number(readers[0], key, path)


def _number(node: Node, key: str, path: Path) -> _Parameter:
    """A number to learn, from the node that has it among its options."""
    option = next(option for option, own in node.numbers.items() if own == path)
    start = float(node.options[option])
    if len(path) > 1:
        assert node.record is not None
        limits = node.record.parameter(option).range
        least = limits.above if limits.above is not None else limits.least
    else:
        least = FIELDS[key].above
    if derivative_by(node, option).record.keeps_sign:
        least = 0.0
    if start == least:
        hint = f"it stays {'above' if least else 'on one side of'} {least:g}: start from another number"
        raise AttnError(f"{key} is {start:g}", where=LEARN, hint=hint)
    return _Parameter(key, path, key, np.asarray(start), least)


def _reads(node: Node, paths: Collection[Path]) -> bool:
    """Whether a node is an array, or has a number among its options, at one of these paths."""
    return node.source in paths or any(path in paths for path in node.numbers.values())


def _values_with(problem: ProblemSpec, values: Values) -> dict[str, Any]:
    """The fields of a problem with other arrays and numbers, in the arrays' types."""
    changed: dict[str, Any] = {}
    for (name, *parameter), value in values.items():
        if parameter:
            operator = changed.get(name, getattr(problem, name))
            before = operator.parameters[parameter[0]]
            own = value.astype(before.dtype) if getattr(before, "ndim", 0) else float(value)
            changed[name] = Operator(operator.record, {**operator.given, parameter[0]: own})
        else:
            before = getattr(problem, name)
            changed[name] = value.astype(before.dtype) if hasattr(before, "dtype") else float(value)
            if name == problem.embeddings_source:
                changed["embeddings"] = changed[name]
    return changed


class _Loss:
    """The loss of a problem as a function of the learned values, with its gradients."""

    def __init__(self, problem: ProblemSpec, parameters: Sequence[_Parameter], targets: Sequence[Target]) -> None:
        self.problem, self.parameters, self.targets = problem, parameters, targets
        self.paths = {parameter.path for parameter in parameters}
        try:
            self.plan = build_plan_to_fit(problem, [target.name for target in targets], self.paths)
        except AttnError as error:
            error.path, error.hint = (LEARN,), "choose another, or learn a later key"
            raise
        self.gradients = [gradient_name(parameter.step) for parameter in parameters]
        for parameter, name in zip(parameters, self.gradients, strict=True):
            if self.plan.find(name) is None:
                raise AttnError(f"{parameter.key} has no gradient", where=LEARN)
        names = [*self.gradients, *(target.name for target in targets)]
        if self.plan.size > ALWAYS_FITS:
            check_memory(problem, self.plan, names, RunOptions(), is_dense=True)
        needed = self.plan.needed_for(names)
        self.nodes = [node for node in self.plan.nodes if node.name in needed and node.name not in self.seeds]
        self.engine = DenseEngine(self.plan, problem, problem.precision)
        self.engine.run(node for node in self.nodes if node.name not in self.changing)

    @cached_property
    def seeds(self) -> Mapping[str, str]:
        """The gradients of the loss with respect to the target steps, and these steps."""
        steps = dict.fromkeys(self.plan.resolve(target.name) for target in self.targets)
        return {loss_gradient_name(step): step for step in steps}

    @cached_property
    def changing(self) -> Collection[str]:
        """The nodes that depend on the learned values."""
        changing = set(self.seeds)
        for node in self.plan.nodes:
            if _reads(node, self.paths) or any(name in changing for name in node.inputs.values()):
                changing |= {node.name, *node.taps.values()}
        return changing

    def at(self, values: Sequence[Array]) -> tuple[float, list[Array]]:
        """The loss at these learned values, and its gradient with respect to each."""
        by_path = {parameter.path: value for parameter, value in zip(self.parameters, values, strict=True)}
        numbers = {path: float(value) for path, value in by_path.items() if not value.ndim}
        self.engine.problem = replace(self.problem, **_values_with(self.problem, by_path))
        nodes = [node.with_numbers(numbers) for node in self.nodes if node.name in self.changing]
        self.engine.run(node for node in nodes if node.stage != GRADIENT)
        loss, seeds = 0.0, {name: np.zeros(self.plan[step].shape) for name, step in self.seeds.items()}
        for target in self.targets:
            step = self.plan.resolve(target.name)
            error, gradient = target.error(self.engine.values[step])
            loss += error
            seeds[loss_gradient_name(step)] += gradient
        self.engine.values |= {name: self.problem.precision.round(seed) for name, seed in seeds.items()}
        self.engine.run(node for node in nodes if node.stage == GRADIENT)
        return loss, [self.engine.values[self.plan.resolve(name)] for name in self.gradients]

    @property
    def rounding(self) -> float:
        """The loss due to the rounding of the targets alone."""
        unit = np.finfo(np.float32 if self.problem.precision.name == "float32" else np.float64).eps
        return sum(float(np.mean((unit * target.numbers[target.is_given]) ** 2)) for target in self.targets)


def _descend(loss: _Loss, options: FitOptions) -> tuple[list[float], list[Array], Stopped]:
    """The losses, the values at the lowest, and the reason to stop.

    Source: Kingma & Ba 2015 (Adam), Algorithm 1.
    """
    parameters = loss.parameters
    free = [parameter.free for parameter in parameters]
    first, second = ([np.zeros_like(x) for x in free] for _ in range(2))
    best = values = [parameter.start for parameter in parameters]
    losses, lowest = list[float](), list[float]()
    try:
        for step in range(options.steps + 1):
            found, gradients = loss.at(values)
            if not isfinite(found) or not all(np.isfinite(gradient).all() for gradient in gradients):
                _check_has_begun(losses, found)
                return losses, best, "not_finite"
            if not losses or found < lowest[-1]:
                best = values
            losses.append(found)
            lowest.append(min([found, *lowest[-1:]]))
            if options.progress is not None:
                options.progress(step, options.steps, found)
            if found <= loss.rounding or not _falls(lowest):
                return losses, best, "converged"
            for at, (parameter, gradient) in enumerate(zip(parameters, gradients, strict=True)):
                own = parameter.gradient(values[at], gradient)
                first[at] = FIRST_MEAN * first[at] + (1 - FIRST_MEAN) * own
                second[at] = SECOND_MEAN * second[at] + (1 - SECOND_MEAN) * own**2
                mean, square = first[at] / (1 - FIRST_MEAN ** (step + 1)), second[at] / (1 - SECOND_MEAN ** (step + 1))
                free[at] = free[at] - options.rate * mean / (np.sqrt(square) + SMALLEST)
            values = [np.asarray(parameter.value(x)) for parameter, x in zip(parameters, free, strict=True)]
    except KeyboardInterrupt:
        if not losses:
            raise
        return losses, best, "interrupted"
    return losses, best, "steps"


def _check_has_begun(losses: Sequence[float], found: float) -> None:
    """Raise AttnError if the initial loss or its gradients are not finite."""
    if not losses:
        what = "the loss" if not isfinite(found) else "a gradient"
        raise AttnError(f"{what} is not finite at the start", where=LEARN, hint="attn compute shows where that begins")


def _falls(lowest: Sequence[float]) -> bool:
    """Whether the lowest loss still falls."""
    return len(lowest) <= PATIENCE or lowest[-1] < lowest[-1 - PATIENCE] * (1 - LEAST_FALL)
