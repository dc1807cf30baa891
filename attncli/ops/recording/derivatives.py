"""Derivatives of functions of plans from records, and tests whether to trust such a record."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

from attncli.base.lazy_numpy import Array, as_array, np
from attncli.ops.derivatives import ByNumber, Derivative, DerivativeRecord, Formula, NoDerivative
from attncli.ops.recording.arrays import NotRecordedError, Recorded
from attncli.ops.recording.expression import argument, ordered
from attncli.ops.recording.guard import COUNTED, OTHER_NUMBERS, copies, few_tokens, numbers_for
from attncli.ops.recording.record import Recording, record
from attncli.ops.recording.reverse import gradient
from attncli.ops.records import MATMUL, TAP, OperatorRecord, StructuralRecord
from attncli.ops.registry import NO_ARRAYS

GRAD, FORWARD = "grad", "forward"  # a result's gradient, and the result itself, as derivatives name them
WITH_NUMBERS = frozenset({"score", "normalize", "context", "gate"})  # kinds with learned numbers
WITHOUT_DERIVATIVES = frozenset({"mask", "generator"})
STEP, TOLERANCE, TRIES = 1e-6, 1e-4, 3  # of a finite difference


@dataclass(frozen=True)
class RecordedDerivative:
    """The derivative of a function of plans by one of its arguments: each call is recorded and differentiated.

    >>> from attncli.ops.scores import dot
    >>> by_key = RecordedDerivative(dot, "key")
    >>> by_key(np.array([[1.0]]), query=np.array([[2.0, 3.0]]), key=np.array([[5.0, 7.0]]))
    array([[2., 3.]])
    """

    function: Any
    argument: str
    formula: Formula = "{d_argument} = Σ {d_result} ∂{result}/∂{argument}"
    symbol: str = ""  # of a numeric parameter
    keeps_sign: bool = False

    @cached_property
    def record(self) -> DerivativeRecord:
        """Its record: it reads everything that the function reads."""
        code = self.function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        own = getattr(self.function, "record", None)
        return DerivativeRecord(
            self.formula,
            reads=tuple(name for name in names if name not in (TAP, MATMUL)),
            options=(),
            is_whole=True,
            symbol=self.symbol,
            is_recorded=True,
            operator=own.title if isinstance(own, OperatorRecord) else "",
            keeps_sign=self.keeps_sign,
            objection=None if is_of_this_package(self) else self.objection,
        )

    @property
    def __name__(self) -> str:
        return f"{self.function.__name__}_{self.argument}"

    def __call__(self, grad: Array, **given: Any) -> Array:
        """The gradient of the argument, from the result's gradient and the function's inputs.

        Raises NotRecordedError, with the operator's name, if the function can't be recorded with these numbers.
        """
        try:
            return self.value(grad, given)
        except NotRecordedError as error:
            name = self.record.operator or self.function.__name__
            message = f"{name} has no derivative by {self.argument} with these numbers: {error.message}"
            raise NotRecordedError(message, where=error.where) from error

    def value(self, grad: Array, given: Mapping[str, Any]) -> Array:
        """The same, but NotRecordedError is unchanged."""
        made = self.recorded(grad, given, has_names=False)
        of = given[self.argument]
        if made is None:
            return np.zeros(np.shape(of), grad.dtype)
        found: Array = as_array(made.result.value)
        return found if found.dtype == grad.dtype else found.astype(grad.dtype)

    def objection(self, shapes: Mapping[str, tuple[int, ...]], options: Mapping[str, Any]) -> str:
        """The reason not to trust it; empty if there is none.

        The function is recorded with other numbers, for a few tokens, without the axes of batch items and heads. The
        record must have the function's value, and the gradient must equal the slope of finite differences.
        """
        given = tuple((name, few_tokens(self.function.record, name, shape)) for name, shape in shapes.items())
        return _objection(_Tried(self.function, self.argument, given, dict(options), repr(sorted(options.items()))))

    def read(self, arrays: Mapping[str, Any], options: Mapping[str, Any]) -> Collection[str]:
        """The arguments whose numbers the gradient needs, not only their shapes; its own may be among them."""
        given = {name: value for name, value in arrays.items() if name != GRAD}
        made = self.recorded(arrays[GRAD], {**given, **options}, has_names=False)
        reached = set() if made is None else set(ordered(made.result))
        return [name for name in arrays if name == GRAD or (made is not None and made.arguments.get(name) in reached)]

    def recorded(
        self, grad: Array, given: Mapping[str, Any], numbers: Collection[str] = (), *, has_names: bool = True
    ) -> Recording | None:
        """The record of the gradient, which has the result's gradient as another argument; None if it is 0 everywhere.

        It records `numbers` among the options too. Raises NotRecordedError.
        """
        arrays, options = arrays_of(self.function.record, given, (self.argument, *numbers))
        made = record(self.function, arrays, options, has_names=has_names)
        seed = argument(GRAD, as_array(grad))
        with np.errstate(all="ignore"):
            found = gradient(made.result, made.arguments[self.argument], Recorded(seed, []))
        if found is None:
            return None
        taps = {**made.taps, FORWARD: made.result}
        return replace(made, result=found.expression, arguments={**made.arguments, GRAD: seed}, taps=taps)


def arrays_of(
    function_record: OperatorRecord | StructuralRecord | DerivativeRecord,
    given: Mapping[str, Any],
    numbers: Collection[str] = (),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a function's inputs: its arrays and the named numbers, which are recorded, and the rest."""
    parameters = function_record.parameters if isinstance(function_record, OperatorRecord) else ()
    kinds = {parameter.name: parameter.kind for parameter in parameters}
    others = {name for name in (*kinds, *NO_ARRAYS) if kinds.get(name) != "array"}
    arrays = {
        name: value
        for name, value in given.items()
        if name in numbers or (name not in others and hasattr(value, "shape"))
    }
    return arrays, {name: value for name, value in given.items() if name not in arrays}


def recording_of(
    function: Any, arrays: Mapping[str, Any], options: Mapping[str, Any], numbers: Collection[str] = ()
) -> Recording | None:
    """The record of a call of a function of plans, or of a derivative; None for a gradient that is 0.

    The named numbers among the options are recorded like arrays. Raises NotRecordedError.
    """
    if isinstance(function, RecordedDerivative):
        given = {name: value for name, value in arrays.items() if name != GRAD}
        return function.recorded(arrays[GRAD], {**options, **given}, numbers)
    recorded, others = arrays_of(function.record, {**options, **arrays}, numbers)
    return record(function, recorded, others)


def is_of_this_package(function: Any) -> bool:
    """Whether a function of plans, or a derivative's function, belongs to this package."""
    own = function.function if isinstance(function, RecordedDerivative) else function
    return str(own.__module__).startswith("attncli.")


@cache
def derivatives_of(function: Any) -> Mapping[str, Derivative | NoDerivative | None] | None:
    """The derivatives of a function of plans, by its arguments and numbers; None if it has none.

    Records of the function give those that have only a formula, and those of operators' other arrays and numbers.
    Counts have none, and masks and generators have none at all. Nor have this package's own numbers that say how to
    compute, such as the base of rope or an eps under a root.
    """
    own = function.record
    given = own.derivatives or {}
    if isinstance(own, StructuralRecord):
        return None if own.derivatives is None else {name: _resolved(function, name, given[name]) for name in given}
    if own.kind in WITHOUT_DERIVATIVES:
        return None
    names = [name for name in own.arguments if name not in NO_ARRAYS]
    has_numbers = own.kind in WITH_NUMBERS or not own.is_built_in
    kinds = ("array", "number") if has_numbers else ("array",)
    numbers = {parameter.name for parameter in own.parameters if parameter.kind == "number"}
    names += [parameter.name for parameter in own.parameters if parameter.kind in kinds]
    counted = COUNTED | {parameter.name for parameter in own.parameters if parameter.is_counts}
    found: dict[str, Derivative | NoDerivative | None] = {}
    for name in dict.fromkeys((*names, *given)):
        usual = ByNumber(name, RecordedDerivative.formula) if name in numbers else RecordedDerivative.formula
        found[name] = _resolved(function, name, given.get(name, None if name in counted else usual))
    return found


def _resolved(function: Any, name: str, given: Any) -> Derivative | NoDerivative | None:
    """A derivative from an entry of a record: itself, or recorded if the entry is only a formula."""
    if isinstance(given, ByNumber):
        return RecordedDerivative(function, name, given.formula, given.symbol, given.keeps_sign)
    is_formula = isinstance(given, str) or (callable(given) and not hasattr(given, "record"))
    found: Derivative | NoDerivative | None = RecordedDerivative(function, name, given) if is_formula else given
    return found


@dataclass(frozen=True)
class _Tried:
    """The inputs of a trial of a record; the same ones are tried once."""

    function: Any
    name: str
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    options: Mapping[str, Any] = field(compare=False)
    options_text: str


@cache
def _objection(tried: _Tried) -> str:
    """The reason not to trust a derivative, found with other numbers."""
    agreed, refusal = 0, ""
    for seed in range(TRIES):
        given = {key: numbers_for(key, shape, seed) for key, shape in tried.shapes} | dict(tried.options)
        try:
            refusal = _difference(tried, given, seed)
        except NotRecordedError as error:
            return f"{error.message} ({error.where})" if error.where else error.message
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - somebody else's function may raise anything with few tokens
            return f"it can't be tried with few tokens ({type(error).__name__}: {error})"
        agreed += not refusal
    return "" if agreed * 2 > TRIES else refusal


def _difference(tried: _Tried, given: dict[str, Any], seed: int) -> str:
    """How a gradient differs from finite differences, or a record from its function; empty if neither does."""
    function, of = tried.function, given[tried.name]
    with np.errstate(all="ignore"):
        value = np.asarray(function(**copies(given)))
        if not np.array_equal(value, np.asarray(function(**copies(given))), equal_nan=True):
            return OTHER_NUMBERS
        stream = np.random.default_rng(seed)
        grad, way = stream.standard_normal(value.shape), stream.standard_normal(np.shape(of))
        arrays, options = arrays_of(function.record, copies(given), (tried.name,))
        made = record(function, arrays, options)
        if not np.allclose(made.result.value, value, rtol=1e-9, atol=1e-12, equal_nan=True):
            return "its record has different numbers from the function"
        ends = [np.asarray(function(**copies({**given, tried.name: of + step * way}))) for step in (STEP, -STEP)]
        is_finite = np.isfinite(value) & np.isfinite(ends[0]) & np.isfinite(ends[1])
        if not is_finite.any():
            return "it gives no finite number in a trial with other numbers"
        grad = np.where(is_finite, grad, 0)
        slope = float(np.sum(RecordedDerivative(function, tried.name).value(grad, copies(given)) * way))
        differences = np.where(is_finite, grad * (ends[0] - ends[1]), 0) / (2 * STEP)
    found = float(differences.sum())
    if not np.isfinite(slope):
        return "it gives no finite slope in a trial with other numbers"
    if abs(found - slope) <= TOLERANCE * (1 + abs(differences).sum()):
        return ""
    return f"its record has the slope {slope:.6g}, finite differences {found:.6g}"
