"""The stages in order: from a Problem to the Trace of every step.

    project ─ split heads ─ SCORE (times scale) ─ NORMALIZE ─ CONTEXT ─ merge heads ─ w_o
"""

from collections.abc import Iterable, Mapping
from typing import Any

from attncli.arrays import Array, np
from attncli.catalogue import Chosen, Entry
from attncli.ops import heads as head_axis
from attncli.ops import look_up
from attncli.problem import Problem
from attncli.shapes import Letters
from attncli.trace import DEFAULT_SELECTION, Result, Step, Trace, unchanged

HEADS: Letters = ("h",)


def run(problem: Problem, select: Iterable[str] = DEFAULT_SELECTION) -> Result:
    """Compute a problem and keep every step; raises AttnError where `select` names no result."""
    return Result(trace(problem), select)


def trace(problem: Problem) -> Trace:
    """Every step of the computation, in order."""
    recorder = Recorder()
    _project(problem, recorder)
    _split(problem, recorder)
    _score(problem, recorder)
    _normalize(problem, recorder)
    _context(problem, recorder)
    _merge(problem, recorder)
    queries, chosen = problem.query_labels, problem.chosen_queries
    return Trace(
        pipeline={stage: str(getattr(problem, stage)) for stage in ("score", "normalize", "context")},
        labels={
            "n": queries if chosen is None else tuple(queries[at] for at in chosen),
            "m": problem.key_labels,
        },
        steps=tuple(recorder.steps.values()),
    )


class Recorder:
    """Computes steps one after another, each from the ones before, and keeps them by name."""

    def __init__(self) -> None:
        self.steps: dict[str, Step] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.steps

    def give(self, name: str, value: Array, axes: Letters, symbol: str, formula: str = "given") -> None:
        """Keep a quantity as the user gave it."""
        self.steps[name] = Step(name, "given", symbol, formula, value, axes)

    def step(
        self,
        name: str,
        stage: str,
        function: Any,
        inputs: Mapping[str, str],
        *,
        axes: Letters,
        symbol: str,
        formula: str,
        options: Mapping[str, Any] | None = None,
        entry: Entry | None = None,
    ) -> None:
        """Apply a function to earlier steps and keep its result, after what passed through its taps."""
        options = options or {}
        arguments = {argument: self.steps[source].value for argument, source in inputs.items()}
        leading = axes[:1] if axes[0] == "h" else ()

        def tap(inner_name: str, value: Array) -> Array:
            assert entry is not None  # only entries tap
            inner = next(i for i in entry.inner if i.name == inner_name)
            kept = inner_name if inner_name not in self.steps else f"{name}_{inner_name}"
            at = (*leading, *inner.axes)[-value.ndim :]
            self.steps[kept] = Step(
                kept, stage, inner.symbol, inner.formula, value, at, inputs=inputs, options=options, inside=name
            )
            return value

        listening = {"tap": tap} if entry is not None and entry.taps else {}
        value = function(**arguments, **options, **listening)
        notes = _empty_rows(value) if name == "weights" else ()
        self.steps[name] = Step(
            name, stage, symbol, formula, value, axes, function, inputs, options, entry, notes=notes
        )


def _project(problem: Problem, recorder: Recorder) -> None:
    """Queries, keys and values: given, or projected from the sequences."""
    chosen = problem.chosen_queries
    key_features = problem.score.entry.shapes.arrays.get("key", ("m", "c"))[-1]  # d where it must be the query's
    asking = "query_embeddings" if problem.query_embeddings is not None else "embeddings"
    for name, symbol in (("embeddings", "X"), ("query_embeddings", "Y")):
        value = getattr(problem, name)
        if value is not None:
            rows, features = ("n", "y") if name == "query_embeddings" else ("m", "x")
            own_rows = "n" if name == "embeddings" and problem.asks_itself and chosen is None else rows
            recorder.give(name, value, (own_rows, features), symbol)
    for role, letter, rows, source, symbol in (
        ("query", "q", "n", asking, "Q"),
        ("key", "k", "m", "embeddings", "K"),
        ("value", "v", "m", "embeddings", "V"),
    ):
        features = {"query": "d", "key": key_features, "value": "e"}[role]
        given = getattr(problem, role)
        if given is not None:
            recorder.give(role, given if role != "query" or chosen is None else given[chosen], (rows, features), symbol)
            continue
        if role == "value" and problem.key is not None:
            recorder.step(
                "value", "project", unchanged, {"x": "key"}, axes=(rows, features), symbol="V", formula="V = K"
            )
            continue
        if role == "query" and chosen is not None:
            recorder.step(
                "asking",
                "given",
                head_axis.rows,
                {"x": source},
                options={"at": chosen},
                axes=("n", recorder.steps[source].axes[1]),
                symbol=f"{recorder.steps[source].symbol}ₒ",
                formula=f"the rows of {source} that ask",
            )
            source = "asking"
        _project_one(problem, recorder, role, letter, source, (rows, features), symbol)


def _project_one(
    problem: Problem, recorder: Recorder, role: str, letter: str, source: str, axes: Letters, symbol: str
) -> None:
    """`x @ w + b` for one role, or nothing where there is neither."""
    inputs, formula = {"x": source}, f"{symbol} = {recorder.steps[source].symbol}"
    for argument, sign in (("w", " W"), ("b", " + b")):
        name = f"{argument}_{letter}"
        given = getattr(problem, name)
        if given is not None:
            letters = (recorder.steps[source].axes[1], axes[1]) if argument == "w" else (axes[1],)
            recorder.give(name, _in_out(problem, given), letters, f"{sign.strip(' +')}{_SUBSCRIPTS[letter]}")
            inputs[argument] = name
            formula += f"{sign}{_SUBSCRIPTS[letter]}"
    function: Any = unchanged if len(inputs) == 1 else head_axis.project
    recorder.step(role, "project", function, inputs, axes=axes, symbol=symbol, formula=formula)


_SUBSCRIPTS = {"q": "_Q", "k": "_K", "v": "_V", "o": "_O"}


def _in_out(problem: Problem, weights: Array) -> Array:
    """A matrix as the pipeline multiplies it, from the right: what is stored out_in is turned."""
    return weights.swapaxes(-1, -2) if problem.weight_layout == "out_in" and weights.ndim > 1 else weights


def _split(problem: Problem, recorder: Recorder) -> None:
    """Each head gets its share of the features; one head has nothing to split."""
    if problem.heads == 1:
        return
    for role in ("query", "key", "value"):
        recorder.step(
            f"{role}_heads",
            "split",
            head_axis.split,
            {"x": role},
            options={"heads": problem.heads},
            axes=HEADS + recorder.steps[role].axes,
            symbol=f"{recorder.steps[role].symbol}ₕ",
            formula=f"the features of {recorder.steps[role].symbol}, shared among {problem.heads} heads",
        )


def _score(problem: Problem, recorder: Recorder) -> None:
    """How well each key answers each query, times the scale where one is asked for."""
    chosen = problem.score
    if problem.scale is None:
        _apply(problem, recorder, "scores", "score", chosen, symbol="S")
        return
    if chosen.entry.unscaled:
        chosen = Chosen(look_up("score", chosen.entry.unscaled), chosen.parameters)
    _apply(problem, recorder, "unscaled_scores", "score", chosen, symbol="S₀")
    recorder.step(
        "scores",
        "scale",
        np.multiply,
        {"x1": "unscaled_scores"},
        options={"x2": problem.scale},
        axes=recorder.steps["unscaled_scores"].axes,
        symbol="S",
        formula=f"S = {problem.scale:g} S₀",
    )


def _normalize(problem: Problem, recorder: Recorder) -> None:
    """From scores to weights."""
    _apply(problem, recorder, "weights", "normalize", problem.normalize, symbol="A")


def _context(problem: Problem, recorder: Recorder) -> None:
    """From weights and values to what each head answers."""
    _apply(problem, recorder, "context", "context", problem.context, symbol="C")


def _apply(problem: Problem, recorder: Recorder, name: str, stage: str, chosen: Chosen, *, symbol: str) -> None:
    """Run one entry of the catalogue on the steps that its signature names, with its own parameters."""
    entry = chosen.entry
    per_head = "_heads" if problem.heads > 1 else ""
    inputs = {
        array: f"{array}{per_head}" if array in ("query", "key", "value") else array
        for array in entry.shapes.arrays
        if array in ("query", "key", "value", "scores", "weights")
    }
    options = {}
    for parameter, value in chosen.parameters.items():
        if getattr(value, "ndim", 0):
            letters = entry.parameter(parameter).letters
            given = _in_out(problem, value) if len(letters) == 2 else value
            recorder.give(f"{stage}.{parameter}", given, (*HEADS, *letters)[-value.ndim :], parameter)
            inputs[parameter] = f"{stage}.{parameter}"
        else:
            options[parameter] = value
    axes = (HEADS if problem.heads > 1 else ()) + entry.shapes.result
    recorder.step(
        name,
        stage,
        entry.function,
        inputs,
        axes=axes,
        symbol=symbol,
        formula=entry.formula,
        options=options,
        entry=entry,
    )


def _merge(problem: Problem, recorder: Recorder) -> None:
    """The heads side by side, through the output weights."""
    source = "context"
    features = recorder.steps["context"].axes[-1]
    if problem.heads > 1:
        recorder.step(
            "merged",
            "merge",
            head_axis.merge,
            {"x": "context"},
            axes=("n", features),
            symbol="M",
            formula="M = the heads of C, side by side",
        )
        source = "merged"
    axes = ("n", features if problem.w_o is None else "o")
    _project_one(problem, recorder, "output", "o", source, axes, "O")


def _empty_rows(weights: Array) -> tuple[str, ...]:
    """A note where a query attends to nothing."""
    empty = np.argwhere(~(weights != 0).any(axis=-1))
    if not len(empty):
        return ()
    rows = ", ".join(str(int(row[-1])) for row in empty[:5]) + (", …" if len(empty) > 5 else "")
    return (f"nothing is attended by {len(empty)} of the queries (positions {rows}): weights 0, output 0",)
