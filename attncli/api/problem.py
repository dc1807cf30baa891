"""A problem from Python: `Problem(**keys)`, its results, and problems derived from it."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NoReturn, Self, Unpack

from attncli.api.arguments import Cells, Matrix, Position, ProblemKeys, to_edits, to_names
from attncli.api.result import ExplanationText, Result, of_computed
from attncli.api.shown import document_text
from attncli.base.errors import AttnError
from attncli.base.text import count_of, repr_excerpt
from attncli.engine.options import THREADS, RunOptions
from attncli.engine.run import LOCAL, run
from attncli.fit.document import fit_document, outcome
from attncli.fit.learning import RATE, STEPS, Fit, fit, fit_options
from attncli.io.expected import Expected, read_expected
from attncli.io.problem_files import PYTHON, PYTHON_OVER_FILE, Document, Origin, RawValue
from attncli.io.problem_text import values_to_write
from attncli.io.variants import PROBLEM, NamedDocument
from attncli.numbers.arithmetic import MAX_TERMS
from attncli.ops.records import format_value
from attncli.plan.build import gradient_selection, plan_of
from attncli.problem.build import check_name
from attncli.problem.conventions import find_convention
from attncli.problem.fields import DEFAULT_SELECTION, EXPECTED
from attncli.problem.problem_cache import form_of_given, keep, recall
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.problem.weights import stored_values
from attncli.render.formats.html_tables import pairs_table, preformatted
from attncli.render.view import DECIMALS

NOT_EXPECTED = RawValue(None, PYTHON)


class Problem:
    """One computation of attention: its arrays, numbers, labels and operators, converted and checked.

    The keywords are the keys of a problem file (`attn compute --help` lists them): `embeddings` [m x] with `w_q` [x d],
    `w_k` [x d], `w_v` [x e] and `w_o` [h·e o]; or `query` [n d], `key` [m d] and `value` [m e], also [b n h·d] with
    `heads=h`, and [b h n d]; `score="cosine"`, `normalize={"softmax": {"temperature": 2}}`, `mask` [n m], `causal`.

    An array may be a NumPy array, a tensor, a data frame, nested lists, a mapping from labels to rows, or the name of a
    generator (`w_q="randint"` with a `seed`). Words in the index of a data frame, or in its single column of words, are
    the tokens. Integers are computed in float64, floating-point arrays in their common type unless `dtype` names
    another. Arrays are not copied; a text never opens a file: use `load`. None means an absent key.

    A `convention`, such as "torch-sdpa" or "flash", reads the keys as that framework reads them: `attn list
    conventions`.

    Raises AttnError if a key is unknown, a value can't be converted or is out of range, or two of them contradict each
    other.

    >>> problem = Problem(query=[[1, 0]], key=[[1, 0], [0, 1]], score="dot", normalize="hardmax")
    >>> problem.compute().weights.tolist()
    [[1.0, 0.0]]
    >>> problem.key.shape, problem.key_labels
    ((2, 2), ('key_1', 'key_2'))
    """

    _keys: Mapping[str, Any]
    _spec: ProblemSpec

    def __init__(self, *, convention: str | None = None, **keys: Unpack[ProblemKeys]) -> None:
        form = form_of_given(keys) if convention is None else None
        known = recall(form, keys)
        if known is not None:
            vars(self).update(_keys=keys, _spec=known)
            return
        self._fill(NamedDocument("", raw_values(keys), convention, noun=PROBLEM))
        keep(form, keys, self._spec)

    @classmethod
    def of_source(cls, source: NamedDocument) -> Self:
        """The problem of raw values, as a convention reads them, after edits."""
        problem = cls.__new__(cls)
        problem._fill(source)
        return problem

    def _fill(self, source: NamedDocument) -> None:
        """Build the problem; raises AttnError if it is invalid."""
        if source.convention is not None:
            find_convention(str(source.convention), where="convention")
        vars(self).update(source=source, _spec=source.problem())

    @classmethod
    def of_spec(cls, spec: ProblemSpec) -> Self:
        """The problem of checked data, with every value as a file would have it."""
        problem = cls.__new__(cls)
        vars(problem).update(_keys=values_to_write(spec), _spec=spec)
        return problem

    @cached_property
    def source(self) -> NamedDocument:
        """The source of the problem: the given values, the convention, and the edits."""
        return NamedDocument("", raw_values(self._keys), noun=PROBLEM)

    @property
    def spec(self) -> ProblemSpec:
        """The data of the problem, as plans and engines read it: every weight matrix as `x @ W` takes it."""
        return self._spec

    @property
    def expected(self) -> Expected:
        """The expected numbers in the problem's file; empty if it has no `expected`.

        Raises AttnError if there is no result of a name, or a file can't be read.
        """
        return read_expected(self.source.document.get(EXPECTED, NOT_EXPECTED), plan_of(self._spec).expected_names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in FIELDS and FIELDS[name].is_weight:
            return stored_values(self._spec)[name]
        if name == "precision":  # engines read it first, and must have the spec
            raise AttributeError("a problem has a dtype; pass the spec of the problem")
        return getattr(self._spec, name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{name}: a Problem can't be changed; make a new one, problem.replace({name}=...)")

    def __dir__(self) -> Sequence[str]:
        return [*super().__dir__(), *(name for name in dir(self._spec) if not name.startswith("_"))]

    def __repr__(self) -> str:
        shapes = (
            f"{name} {value.shape}" for name, value in stored_values(self._spec).items() if hasattr(value, "shape")
        )
        names = ("score", "normalize", "context") if self._spec.recurrence is None else ("recurrence",)
        stages = ", ".join(f"{name}={getattr(self._spec, name)}" for name in names)
        return f"Problem({', '.join(shapes)}, {stages})"

    def _repr_html_(self) -> str:
        given = {name for name, raw in self.source.document.items() if raw.value is not None}
        values = stored_values(self._spec)
        pairs = [(name, _value_text(value)) for name, value in values.items() if name in given]
        pairs += [("set", f"{edit.cell}={format_value(edit.value)}") for edit in self.source.edits]
        heading = f"Problem, {self._spec.convention}" if self._spec.convention else "Problem"
        return pairs_table(heading, pairs)

    def replace(self, *, convention: str | None = None, **keys: Unpack[ProblemKeys]) -> Self:
        """A new problem with other values of some keys; None removes a key.

        Without a `convention` the keys are read as before. Values drawn from the seed, defaults, and labels are
        determined again. Raises AttnError as `Problem` does.

        >>> problem = Problem(query=[[2, 0]], key=[[1, 0], [0, 1]], normalize="hardmax")
        >>> problem.replace(normalize=None, score="dot").compute().weights.round(4).tolist()
        [[0.8808, 0.1192]]
        """
        document = self.source.document | raw_values(keys, PYTHON_OVER_FILE)
        chosen = self.source.convention if convention is None else convention
        return self.of_source(dataclasses.replace(self.source, document=document, convention=chosen))

    def set(self, numbers: Mapping[str, float | str]) -> Self:
        """A new problem with other numbers in some cells: `problem.set({"w_q[0,1]": 3})`, as `--set` does.

        A cell is an array's key with a label, a position from 0 or "*" for all on each axis of the stored array; a
        drawn array is edited as drawn. Raises AttnError if there is no such cell, or the problem does not allow the
        number.

        >>> problem = Problem(key=[[1, 0], [0, 1]], query=[[1, 0]], tokens=["cat", "sat"])
        >>> problem.set({"key[sat,0]": 5, "query[*,*]": "1/2"}).key.tolist()
        [[1.0, 0.0], [5.0, 1.0]]
        """
        return self.of_source(dataclasses.replace(self.source, edits=(*self.source.edits, *to_edits(numbers))))

    def compute(
        self,
        select: Iterable[str] = DEFAULT_SELECTION,
        *,
        gradient: Matrix | bool = None,
        every_step: bool = False,
        executor: str = THREADS,
    ) -> Result:
        """Compute the problem; the result has the names in `select` as attributes.

        Names are results (`scores` [b h n m], `weights` [b h n m], `context` [b h n e], `output` [b n h·e or o]) and
        any other step; by default scores, weights and output, if the problem computes them. A small problem keeps every
        step in `result.trace`. The `executor` ("threads", "serial" or the address of a Dask scheduler) computes a large
        one in blocks and keeps only the selection, unless `every_step` is true.

        A `gradient` of the output, an array of its shape or True for `grad_output` of the problem or ones, adds the
        gradients of all steps and arrays: `grad_weights`, `grad_w_q`. Without `select` the results are the output and
        the gradients of the given arrays.

        Raises AttnError if a name is unknown or its result is not computed, an operator has no derivative, or there is
        no such executor.

        >>> result = Problem(query=[[1, 0]], key=[[1, 0], [0, 1]], score="dot").compute("scores")
        >>> result.scores.tolist()
        [[1.0, 0.0]]
        >>> Problem(weights=[[0.25, 0.75]], value=[[1], [3]]).compute(gradient=True)
        Result(output (1, 1), grad_value (2, 1), grad_weights (1, 2))
        """
        names = None if select is DEFAULT_SELECTION else to_names(select)
        options = LOCAL if executor is THREADS else RunOptions(executor)  # the default is checked already
        spec = self._with_gradient(gradient)
        if names is None and gradient is not None and gradient is not False:
            names = gradient_selection(spec)
        return of_computed(run(spec, names, every_step=every_step, options=options))

    def fit(
        self, learn: str | Iterable[str], target: Mapping[str, Any], *, steps: int = STEPS, rate: float = RATE
    ) -> "Fitted":
        """Learn arrays and numbers of the problem so that its results come close to a target, as `attn fit` does.

        `learn` names keys (`w_q`, `bias`) and parameters of operators (`score.sigma`, `normalize.temperature`);
        `target` maps names of results or steps to their target numbers, in any form that `attncli.check` takes. The
        loss is their mean squared error, or the sum over several; Adam takes at most so many `steps`, at this `rate`,
        on everything at once, and stops if the loss falls no further.

        Raises UnknownNameError if a name is unknown, AttnError if a key has no gradient, or a target has another shape
        or does not depend on the learned values.

        >>> problem = Problem(query=[[0], [1]], key=[[0], [1]], value=[[0], [1]], score="gaussian")
        >>> fitted = problem.fit("score.sigma", {"output": [[0.2], [0.8]]})
        >>> fitted.stopped, round(fitted.learned["score.sigma"], 4)
        ('converged', 0.6006)
        >>> fitted.problem.compute("output").output.round(4).tolist()
        [[0.2], [0.8]]
        """
        names, targets = to_names(learn, "learn", "w_q"), _targets(target)
        found = fit(self.spec, names, targets, fit_options(steps, rate))
        if found.stopped == "interrupted":
            raise KeyboardInterrupt
        return Fitted(found)

    def _with_gradient(self, gradient: Matrix | bool) -> ProblemSpec:
        """A problem with this gradient of the output, its own or ones for True; the same one without a gradient."""
        if gradient is None or gradient is False:
            return self._spec
        return self._spec.with_gradient() if gradient is True else self.replace(grad_output=gradient).spec

    def explain(
        self,
        cells: Cells = None,
        *,
        select: Iterable[str] = DEFAULT_SELECTION,
        head: Position = None,
        batch: Position = None,
        terms: int | Literal["all"] = MAX_TERMS,
        decimals: int = DECIMALS,
    ) -> ExplanationText:
        """Compute the problem and explain every step from the inputs to the results: `attn compute --explain`.

        `select` names the results, as in `compute`; the other parameters and exceptions are the same as in
        `Result.explain`.

        >>> text = Problem(weights=[[0.5, 0.5]], value=[[1], [3]]).explain((0, 1))
        >>> "C(query_1)[e1] = 0.5·1 + 0.5·3 = 2" in text
        True
        """
        result = self.compute(select, every_step=True)
        return result.explain(cells, head=head, batch=batch, terms=terms, decimals=decimals)


class Fitted:
    """A fitted problem, as `Problem.fit` returns it; `print(fitted)` and a notebook show the report of `attn fit`."""

    def __init__(self, data: Fit) -> None:
        self._data = data

    @property
    def problem(self) -> Problem:
        """The problem with the learned values, at the lowest loss."""
        return Problem.of_spec(self._data.problem)

    @property
    def learned(self) -> Mapping[str, Any]:
        """The learned values by key: arrays, and numbers as floats; matrices as `weight_layout` stores them."""
        return self._data.values

    @property
    def losses(self) -> Sequence[float]:
        """The loss before the first step, and after each."""
        return self._data.losses

    @property
    def stopped(self) -> str:
        """Why the descent stopped: "converged", "steps", or "not_finite" if the loss was not finite."""
        return self._data.stopped

    def __str__(self) -> str:
        return document_text(fit_document(self._data, DECIMALS))

    def __repr__(self) -> str:
        return f"Fitted({', '.join(self.learned)}; {outcome(self._data)}, {self.stopped})"

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def _targets(target: object) -> Mapping[str, Any]:
    """The targets by the names of results; raises AttnError for anything but a mapping."""
    if not isinstance(target, Mapping):
        hint = "give the numbers by the names of results: target={'output': …}"
        raise AttnError(f"{repr_excerpt(target)} has no names", where="target", hint=hint)
    return target


def problem_of(problem: object, keys: Mapping[str, Any], convention: str | None = None) -> Problem:
    """The given problem, or the problem of the keys; raises AttnError for both, or for other values."""
    if problem is None:
        return Problem(convention=convention, **keys)
    if not isinstance(problem, Problem):
        hint = "attncli.load reads a file, attncli.Problem takes arrays"
        raise AttnError(f"{repr_excerpt(problem)} is not a Problem", where="problem", hint=hint)
    if keys:
        message = f"a Problem has its keys already; {', '.join(keys)} would change it"
        raise AttnError(message, where="problem", hint=f"give problem.replace({next(iter(keys))}=...)")
    return problem if convention is None else problem.replace(convention=convention)


def _value_text(value: Any) -> str:
    """The value of a key for a table: an array's lengths, or the words themselves."""
    if isinstance(value, Mapping):  # a vocabulary
        return count_of(len(value), "word")
    if isinstance(value, tuple):
        return ", ".join(map(format_value, value))
    return " × ".join(map(str, value.shape)) if hasattr(value, "shape") else format_value(value)


def raw_values(keys: Mapping[str, Any], origin: Origin = PYTHON) -> Document:
    """Keywords as raw values, in which a text names no file; raises UnknownNameError for an unknown key."""
    for name in keys:
        check_name(name)
    return {name: RawValue(value, origin) for name, value in keys.items()}
