"""One cell of a step, worked out by hand with the numbers in it."""

from typing import Any

from attncli.arrays import np
from attncli.catalogue import written_for
from attncli.pen import Pen
from attncli.trace import Step, Trace

ROW_OF = {"query": "n", "key": "m", "value": "m", "output": "n"}


def lines(trace: Trace, step: Step, at: dict[str, int], places: int) -> list[str]:
    """The arithmetic of a step for the query, key (and head) in `at`; nothing where there is none to show."""
    row, column = at["n"], at["m"]
    pen = Pen(places, trace.labels["n"][row], trace.labels["m"][column], row, column)
    if step.stage == "project" and not step.does_nothing:
        return [_projection(trace, step, at, pen)]
    if step.stage == "scale":
        unscaled = _taken(trace[step.inputs["scores"]], {"h": 0, **at})
        return [f"{pen(step.options['scale'])}·{pen.factor(unscaled)} = {pen(_taken(step, {'h': 0, **at}))}"]
    writer = written_for(step.function) if step.entry is not None and step.function is not None else None
    if writer is None or step.entry is None:
        return []
    taken = {"n": row, "h": at.get("h", 0)}
    if step.stage == "score":
        taken["m"] = column
    arguments = {
        name: _taken(trace[source], taken if name in ("query", "key", "scores", "weights") else {"h": taken["h"]})
        for name, source in step.inputs.items()
    }
    result = _taken(step, taken if step.stage == "context" else {**taken, "m": column})
    named = {name: arguments.pop(name) for name in list(arguments) if name in {p.name for p in step.entry.parameters}}
    with np.errstate(all="ignore"):  # the step that overflowed has its note
        return writer(pen, **arguments, result=result, **named, **step.options)


def _taken(step: Step, at: dict[str, int]) -> Any:
    """A step's value at the positions given on some of its axes."""
    return step.value[tuple(at[letter] if letter in at else slice(None) for letter in step.axes)]


def _projection(trace: Trace, step: Step, at: dict[str, int], pen: Pen) -> str:
    """The line `query(word_1) = 1·[2 0 2] + 0·[2 0 0] + 0·[2 1 2] = [2 0 2]`: one row of `x @ w + b`."""
    letter = ROW_OF[step.name]
    row = {name: trace[source].value for name, source in step.inputs.items()}
    x, result = row["x"][at[letter]], step.value[at[letter]]
    name = f"{step.name}({trace.labels[letter][at[letter]]})"
    if "w" in row:
        return pen.mixture(name, step.axes[-1], x, row["w"], result, plus=row.get("b"))
    return f"{name} = {pen(x)} + {pen(row['b'])} = {pen(result)}"
