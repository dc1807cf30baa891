"""A problem from Python: `Problem(**keys)`, `load(path)`, and `attention(query, key, value)`, which computes one."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn, Self, Unpack

from attncli.api.edits import to_edits
from attncli.api.explanation_text import ExplanationText
from attncli.api.keys import KeysBesideVectors, Matrix, ProblemKeys
from attncli.api.names import to_names
from attncli.api.result import Result, of_computed
from attncli.api.views import Cells, Position
from attncli.base.arithmetic import MAX_TERMS
from attncli.base.errors import AttnError
from attncli.base.text import repr_excerpt
from attncli.engine.options import RunOptions
from attncli.engine.run import run
from attncli.io.expected import Expected, read_expected
from attncli.io.inputs import Inputs
from attncli.io.origin import PYTHON, PYTHON_OVER_FILE, Origin, RawValue
from attncli.io.problem_files import Document, read_document
from attncli.io.variants import PROBLEM, NamedDocument
from attncli.plan.build import plan_of
from attncli.problem.build import check_name
from attncli.problem.conventions import find_convention
from attncli.problem.results import DEFAULT_SELECTION, EXPECTED, OUTPUT
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.problem.weights import stored_values
from attncli.render.view import DECIMALS

__all__ = ["Problem", "attention", "load"]

ANSWER = (OUTPUT,)
NOT_EXPECTED = RawValue(None, PYTHON)


class Problem:
    """One computation of attention: its arrays, numbers, labels and operators, converted and checked.

    The keywords are the keys of a problem file (`attn compute --help` lists them): `embeddings` [m x] with `w_q` [x d],
    `w_k` [x d], `w_v` [x e] and `w_o` [h·e o]; or `query` [n d], `key` [m d] and `value` [m e], also [b n h·d] with
    `heads=h`, and [b h n d]; `score="cosine"`, `normalize={"softmax": {"temperature": 2}}`, `mask` [n m], `causal`.

    An array may be a NumPy array, a tensor, a data frame, nested lists, a mapping from labels to rows, or the name of a
    generator (`w_q="randint"` with a `seed`). Words in the index of a data frame, or in its one column of words, are
    the tokens. Integers are computed in float64, floating-point arrays in their common type unless `dtype` names
    another. Arrays are not copied; a text never opens a file: `load` does. None is a key that is not given.

    A `convention`, such as "torch-sdpa" or "flash", reads the keys as that framework reads them: `attn list
    conventions`.

    Raises AttnError where a key is unknown, a value can't be converted or is out of range, or two of them contradict
    each other.

    >>> problem = Problem(query=[[1, 0]], key=[[1, 0], [0, 1]], score="dot", normalize="hardmax")
    >>> problem.compute().weights.tolist()
    [[1.0, 0.0]]
    >>> problem.key.shape, problem.key_labels
    ((2, 2), ('key_1', 'key_2'))
    """

    _source: NamedDocument
    _spec: ProblemSpec

    def __init__(self, *, convention: str | None = None, **keys: Unpack[ProblemKeys]) -> None:
        self._fill(NamedDocument("", _raw_values(keys), convention, noun=PROBLEM))

    @classmethod
    def _of_source(cls, source: NamedDocument) -> Self:
        """The problem of raw values, as a convention reads them, after edits."""
        problem = cls.__new__(cls)
        problem._fill(source)
        return problem

    def _fill(self, source: NamedDocument) -> None:
        """Build the problem; raises AttnError where it can't be."""
        if source.convention is not None:
            find_convention(str(source.convention), where="convention")
        vars(self).update(_source=source, _spec=source.problem())

    @property
    def spec(self) -> ProblemSpec:
        """The data of the problem, as plans and engines read it: every weight matrix as `x @ W` takes it."""
        return self._spec

    @property
    def expected(self) -> Expected:
        """What the file that the problem was loaded from expects of its results; nothing where it has no `expected`.

        Raises AttnError where there is no result of a name, or a file can't be read.
        """
        return read_expected(self._source.document.get(EXPECTED, NOT_EXPECTED), plan_of(self._spec).names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in FIELDS and FIELDS[name].is_weight:
            return stored_values(self._spec)[name]
        if name == "precision":  # engines read it first, and must have the spec
            raise AttributeError("a problem has a dtype; an engine takes the problem's spec")
        return getattr(self._spec, name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{name}: a Problem can't be changed; make a new one, problem.replace({name}=...)")

    def __dir__(self) -> Sequence[str]:
        return [*super().__dir__(), *(name for name in dir(self._spec) if not name.startswith("_"))]

    def __repr__(self) -> str:
        shapes = (
            f"{name} {value.shape}" for name, value in stored_values(self._spec).items() if hasattr(value, "shape")
        )
        stages = ", ".join(f"{name}={getattr(self._spec, name)}" for name in ("score", "normalize", "context"))
        return f"Problem({', '.join(shapes)}, {stages})"

    def replace(self, *, convention: str | None = None, **keys: Unpack[ProblemKeys]) -> Self:
        """A new problem with other values of some keys; None takes a key away.

        Without a `convention` the keys are read as before. What is drawn from the seed, completed or taken from labels
        is so again for the new problem. Raises AttnError as `Problem` does.

        >>> problem = Problem(query=[[2, 0]], key=[[1, 0], [0, 1]], normalize="hardmax")
        >>> problem.replace(normalize=None, score="dot").compute().weights.round(4).tolist()
        [[0.8808, 0.1192]]
        """
        document = self._source.document | _raw_values(keys, PYTHON_OVER_FILE)
        chosen = self._source.convention if convention is None else convention
        return self._of_source(dataclasses.replace(self._source, document=document, convention=chosen))

    def set(self, numbers: Mapping[str, float | str]) -> Self:
        """A new problem with other numbers in some cells: `problem.set({"w_q[0,1]": 3})`, as `--set` does.

        A cell is an array's key and a label, a position from 0 or "*" for every one on each axis, of the array as it is
        stored; what was drawn is edited as it was drawn. Raises AttnError where there is no such cell, or the problem
        does not allow the number.

        >>> problem = Problem(key=[[1, 0], [0, 1]], query=[[1, 0]], tokens=["cat", "sat"])
        >>> problem.set({"key[sat,0]": 5, "query[*,*]": "1/2"}).key.tolist()
        [[1.0, 0.0], [5.0, 1.0]]
        """
        return self._of_source(dataclasses.replace(self._source, edits=(*self._source.edits, *to_edits(numbers))))

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
        names = None if select is DEFAULT_SELECTION else to_names(select)
        return of_computed(run(self._spec, names, every_step=every_step, options=RunOptions(executor)))

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

        `select` names the results, as `compute` has it; the other parameters and what is raised are those of
        `Result.explain`.

        >>> text = Problem(weights=[[0.5, 0.5]], value=[[1], [3]]).explain((0, 1))
        >>> "C(query_1) = 0.5·[1] + 0.5·[3] = [2]" in text
        True
        """
        result = self.compute(select, every_step=True)
        return result.explain(cells, head=head, batch=batch, terms=terms, decimals=decimals)


def attention(
    query: Matrix = None,
    key: Matrix = None,
    value: Matrix = None,
    *,
    select: Iterable[str] = ANSWER,
    executor: str = "threads",
    convention: str | None = None,
    **problem: Unpack[KeysBesideVectors],
) -> Result:
    """Attention of queries over keys and values: softmax(q kᵀ / √d) v, by default.

    `query` [n d], `key` [m d] and `value` [m e] are arrays, tensors, data frames or nested lists, projected already;
    also [b n h·d] with `heads=h`, and [b h n d], where keys and values may have fewer heads. Without `value` the keys
    are the values. Further keywords are the keys of a problem file: `score="cosine"`, `causal=True`, `mask` [n m] (true
    attends). In place of queries and keys they may give what these are made of, `embeddings` [m x] with `w_q` [x d],
    `w_k` [x d] and `w_v` [x e], or a `sentence`.

    The result has the names in `select` as attributes: `output` [n e] (or [b n h·e], [b h n e]), `scores` and `weights`
    [n m] (or [b h n m]), and the name of any other step; without `select` the output, or the weights where there are no
    values. Its type is the common one of the arrays; integers are computed in float64. The `executor` ("threads",
    "serial" or the address of a Dask scheduler) computes what is large. A `convention`, such as "flash", reads the keys
    as that framework does.

    Raises AttnError where a key is unknown, a value can't be converted, or two of them contradict each other.

    Source: Vaswani et al. 2017, eq. 1.

    >>> result = attention([[2, 0]], [[1, 0], [0, 1]], [[10], [20]], score="dot", select=("weights", "output"))
    >>> result.weights.round(4).tolist(), result.output.round(4).tolist()
    ([[0.8808, 0.1192]], [[11.192]])
    >>> attention(sentence="the cat sat", dim=4, seed=1).output.shape
    (3, 4)
    """
    made = Problem(convention=convention, query=query, key=key, value=value, **problem)
    names = made.spec.default_selection[-1:] if select is ANSWER else select
    return made.compute(names, executor=executor)


def load(
    path: str | Path,
    *,
    max_size: int | str | None = None,
    convention: str | None = None,
    **keys: Unpack[ProblemKeys],
) -> Problem:
    """The problem in a file: YAML, JSON, `.npz` or `.safetensors`; `-` is standard input.

    Paths in the file are relative to its folder. The keywords are keys whose values win over those of the file, as
    options do on the command line; None takes a key away, and a text among them opens no file. `max_size`, in bytes or
    as a text such as "2G", is the most that is read into memory of each file, by default a quarter of the memory that
    is free; arrays in `.npy` and `.safetensors` files are mapped and may be larger. A `convention`, such as "flash",
    reads the keys as that framework does.

    Raises AttnError that names the line and the key that are wrong.

    >>> load("missing.yaml", score="cosine")
    Traceback (most recent call last):
        ...
    attncli.base.errors.AttnError: missing.yaml: there is no such file
    """
    over_file = _raw_values(keys, PYTHON_OVER_FILE)
    document = read_document(str(path), Inputs(max_size)) | over_file
    return Problem._of_source(NamedDocument(str(path), document, convention, noun=PROBLEM))


def problem_of(problem: object, keys: Mapping[str, Any], convention: str | None = None) -> Problem:
    """The problem that is given, or that of the keys; raises AttnError where both are given, or something else."""
    if problem is None:
        return Problem(convention=convention, **keys)
    if not isinstance(problem, Problem):
        hint = "attncli.load reads a file, attncli.Problem takes arrays"
        raise AttnError(f"{repr_excerpt(problem)} is no Problem", where="problem", hint=hint)
    if keys:
        message = f"a Problem has its keys already; {', '.join(keys)} would change it"
        raise AttnError(message, where="problem", hint=f"give problem.replace({next(iter(keys))}=...)")
    return problem if convention is None else problem.replace(convention=convention)


def _raw_values(keys: Mapping[str, Any], origin: Origin = PYTHON) -> Document:
    """Keywords as raw values, in which a text names no file; raises UnknownNameError for one that is no key."""
    for name in keys:
        check_name(name)
    return {name: RawValue(value, origin) for name, value in keys.items()}
