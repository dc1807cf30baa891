"""Attention from Python: `attention(query, key, value)`, `Problem(**keys)` and `load(path)`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from attncli.base.errors import AttnError
from attncli.base.text import repr_excerpt
from attncli.engine.options import RunOptions
from attncli.engine.run import run
from attncli.io import assemble
from attncli.io.expected import Expected, read_expected
from attncli.io.inputs import Inputs
from attncli.io.origin import PYTHON, RawValue
from attncli.io.problem_files import read_document
from attncli.plan.build import plan_of
from attncli.problem.results import DEFAULT_SELECTION, EXPECTED
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.problem.weights import stored_values
from attncli.trace.result import Result

__all__ = ["Problem", "attention", "load"]


class Problem:
    """One computation of attention: its arrays, numbers, labels and operators, converted and checked.

    The keywords are the keys of a problem file (`attn compute --help` lists them): `embeddings` [m x] with `w_q` [x d],
    `w_k` [x d], `w_v` [x e] and `w_o` [h·e o]; or `query` [n d], `key` [m d] and `value` [m e], also [b n h·d] with
    `heads=h`, and [b h n d]; `score="cosine"`, `normalize={"softmax": {"temperature": 2}}`, `mask` [n m], `causal`.

    An array may be a NumPy array, a tensor, a data frame, nested lists, a mapping from labels to rows, or the name of a
    generator (`w_q="randint"` with a `seed`). Integers are computed in float64, floating-point arrays in their common
    type unless `dtype` names another. Arrays are not copied; a text never opens a file: `load` does.

    Raises AttnError where a key is unknown, a value can't be converted or is out of range, or two of them contradict
    each other.

    >>> problem = Problem(query=[[1, 0]], key=[[1, 0], [0, 1]], score="dot", normalize="hardmax")
    >>> problem.compute().weights.tolist()
    [[1.0, 0.0]]
    >>> problem.key.shape, problem.key_labels
    ((2, 2), ('key_1', 'key_2'))
    """

    _spec: ProblemSpec
    _expected: RawValue = RawValue(None, PYTHON)

    def __init__(self, **keys: Any) -> None:
        vars(self)["_spec"] = assemble.from_keywords(keys)

    @classmethod
    def from_spec(cls, spec: ProblemSpec) -> "Problem":
        """The problem of a spec that was built already."""
        problem = cls.__new__(cls)
        vars(problem)["_spec"] = spec
        return problem

    @property
    def spec(self) -> ProblemSpec:
        """The data of the problem, as plans and engines read it: every weight matrix as `x @ W` takes it."""
        return self._spec

    @property
    def expected(self) -> Expected:
        """What the file that the problem was loaded from expects of its results; nothing where it has no `expected`.

        Raises AttnError where there is no result of a name, or a file can't be read.
        """
        return read_expected(self._expected, plan_of(self._spec).names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in FIELDS and FIELDS[name].is_weight:
            return stored_values(self._spec)[name]
        if name == "precision":  # engines read it first, and must have the spec
            raise AttributeError("a problem has a dtype; an engine takes the problem's spec")
        return getattr(self._spec, name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{name}: a Problem can't be changed; make a new one, Problem(..., {name}=...)")

    def __dir__(self) -> Sequence[str]:
        return [*super().__dir__(), *(name for name in dir(self._spec) if not name.startswith("_"))]

    def __repr__(self) -> str:
        shapes = (
            f"{name} {value.shape}" for name, value in stored_values(self._spec).items() if hasattr(value, "shape")
        )
        stages = ", ".join(f"{name}={getattr(self._spec, name)}" for name in ("score", "normalize", "context"))
        return f"Problem({', '.join(shapes)}, {stages})"

    def compute(
        self, select: Iterable[str] = DEFAULT_SELECTION, *, every_step: bool = False, executor: str = "threads"
    ) -> Result:
        """Compute the problem; the result has the names in `select` as attributes.

        Names are those of results (`scores` [b h n m], `weights` [b h n m], `context` [b h n e], `output` [b n h·e or
        o]) and of any other step; without `select` scores, weights and output, as far as the problem computes them. A
        small problem keeps every step in `result.trace`. A large one is computed in blocks by the `executor`
        ("threads", "serial" or the address of a Dask scheduler) and keeps what is selected, unless `every_step` is
        true.

        Raises AttnError where a name is unknown or its result is not computed, or there is no such executor.

        >>> result = Problem(query=[[1, 0]], key=[[1, 0], [0, 1]], score="dot").compute("scores")
        >>> result.scores.tolist()
        [[1.0, 0.0]]
        """
        names = None if select is DEFAULT_SELECTION else _selected_names(select)
        return run(self._spec, names, every_step=every_step, options=RunOptions(executor))


def attention(
    query: Any,
    key: Any,
    value: Any = None,
    *,
    select: Iterable[str] = ("output",),
    executor: str = "threads",
    **problem: Any,
) -> Result:
    """Attention of queries over keys and values that are projected already: softmax(q kᵀ / √d) v, by default.

    `query` [n d], `key` [m d] and `value` [m e] are arrays, tensors, data frames or nested lists; also [b n h·d] with
    `heads=h`, and [b h n d], where keys and values may have fewer heads. Without `value` the keys are the values.
    Further keywords are the keys of a problem file: `score="cosine"`, `causal=True`, `mask` [n m] (true attends).

    The result has the names in `select` as attributes: `output` [n e] (or [b n h·e], [b h n e]), `scores` and `weights`
    [n m] (or [b h n m]), and the name of any other step. Its type is the common one of the arrays; integers are
    computed in float64. The `executor` ("threads", "serial" or the address of a Dask scheduler) computes what is large.

    Raises AttnError where a key is unknown, a value can't be converted, or two of them contradict each other.

    Source: Vaswani et al. 2017, eq. 1.

    >>> result = attention([[2, 0]], [[1, 0], [0, 1]], [[10], [20]], score="dot", select=("weights", "output"))
    >>> result.weights.round(4).tolist(), result.output.round(4).tolist()
    ([[0.8808, 0.1192]], [[11.192]])
    """
    spec = assemble.from_keywords({"query": query, "key": key, "value": value, **problem})
    return run(spec, _selected_names(select), options=RunOptions(executor))


def load(path: str | Path, *, max_size: int | str | None = None) -> Problem:
    """The problem in a file: YAML, JSON, `.npz` or `.safetensors`; `-` is standard input.

    Paths in the file are relative to its folder. `max_size`, in bytes or as a text such as "2G", is the most that is
    read into memory of each file, by default a quarter of the memory that is free; arrays in `.npy` and
    `.safetensors` files are mapped and may be larger. Raises AttnError that names the line and the key that are wrong.

    >>> load("missing.yaml")
    Traceback (most recent call last):
        ...
    attncli.base.errors.AttnError: missing.yaml: there is no such file
    """
    document = read_document(str(path), Inputs(max_size))
    problem = Problem.from_spec(assemble.assemble(document))
    if EXPECTED in document:
        vars(problem)["_expected"] = document[EXPECTED]
    return problem


def _selected_names(select: Any) -> tuple[str, ...]:
    """The names in `select`, or the one that it is; raises AttnError where it holds anything but text."""
    try:
        names = (select,) if isinstance(select, str) else tuple(select)
    except TypeError:  # it can't be iterated over
        names = (None,)
    if not all(isinstance(name, str) for name in names):
        message, hint = f"{repr_excerpt(select)} is no list of names", 'give names of results, such as ("weights",)'
        raise AttnError(message, where="select", hint=hint)
    return names
