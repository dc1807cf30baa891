"""The chosen entries: their parameters are there, and their arrays fit queries, keys and values."""

from typing import TYPE_CHECKING, Any

from attncli.base.axes import Letters, bind
from attncli.base.errors import AttnError
from attncli.ops.registry import Operator
from attncli.problem.layout import Layout
from attncli.problem.validate.lengths import Lengths

if TYPE_CHECKING:
    from attncli.problem.spec import Problem


def check_entries(problem: "Problem", layout: Layout, lengths: Lengths) -> None:
    """Raise AttnError where a chosen entry lacks a parameter or does not fit what it works on."""
    for stage in ("score", "normalize", "context", "position", "qk_norm"):
        chosen = getattr(problem, stage)
        if chosen is not None:
            _entry(chosen, stage, lengths, problem, layout)
    if "needs distribution" in problem.context.entry.traits and "distribution" not in problem.normalize.entry.traits:
        raise AttnError(
            f"{problem.context.entry.name} draws with the weights as probabilities; "
            f"{problem.normalize.entry.name} makes none",
            where="context",
            hint="normalize with softmax, sparsemax, entmax, topk or hardmax",
        )
    if "needs distribution" in problem.context.entry.traits and problem.sink is not None:
        raise AttnError(f"{problem.context.entry.name} draws one key; with a sink there may be none", where="sink")
    if problem.position is not None:
        _position(problem, problem.position, lengths)


def _entry(chosen: Operator, where: str, lengths: Lengths, problem: "Problem", layout: Layout) -> None:
    """The parameters that an entry needs are there, and its arrays fit."""
    entry = chosen.entry
    for parameter in entry.parameters:
        if parameter.required and parameter.name not in chosen.parameters:
            raise AttnError(
                f"{entry.name} needs {parameter.name}",
                where=where,
                hint=f"for example {entry.name}:{_example(parameter.name, parameter.kind)}",
            )
        value = chosen.parameters.get(parameter.name)
        if parameter.kind == "array" and isinstance(value, float) and not isinstance(parameter.default, float):
            hint = f"expected [{' '.join(parameter.letters)}]"
            raise AttnError("is one number", where=f"{where}, {parameter.name}", hint=hint)
    bound = dict(lengths)
    for name, letter in (("query", "d"), ("key", "c"), ("value", "e")):
        wanted = entry.shapes.arrays.get(name)
        if wanted and wanted[-1] != letter:
            bind(bound, name, wanted, (lengths[wanted[0]].size, lengths[letter].size))
    for name, value in chosen.arrays.items():
        letters = entry.parameter(name).letters
        leading = ("h",) if layout.has_heads and where in ("score", "context") else ()
        _parameter(f"{where}, {name}", value, letters, bound, problem, leading)


def _parameter(where: str, value: Any, letters: Letters, bound: Lengths, problem: "Problem", leading: Letters) -> None:
    """Bind an array that an entry brings; matrices that are multiplied lie as `weight_layout` says."""
    shape = value.shape
    multiplied = len(letters) == 2 and not where.startswith("position")
    if problem.weight_layout == "out_in" and multiplied and len(shape) > 1:
        shape = (*shape[:-2], shape[-1], shape[-2])
    bind(bound, where, letters, shape, leading=leading)


def _position(problem: "Problem", chosen: Operator, lengths: Lengths) -> None:
    """What a position acts on is there."""
    name = chosen.entry.name
    if "embeddings" in chosen.entry.traits:
        _on_embeddings(problem, chosen)
    if "products" in chosen.entry.traits:
        dot = "dot" in (problem.score.entry.name, problem.score.entry.unscaled)
        if not dot:
            raise AttnError(
                f"{name} adds keys to a dot product; the score is {problem.score.entry.name}",
                where="position",
                hint="score with dot or scaled_dot",
            )
    if name in ("t5", "shaw"):
        _table_rows(chosen)
    if "heads" in chosen.entry.traits:
        _turning(chosen, lengths)


def _on_embeddings(problem: "Problem", chosen: Operator) -> None:
    """Positions that are added to embeddings need embeddings, and a row for each of them."""
    name = chosen.entry.name
    for given in ("query", "key"):
        if getattr(problem, given) is not None:
            raise AttnError(
                f"{name} is added to embeddings, and {given} is given already projected",
                where="position",
                hint="give embeddings",
            )
    table = chosen.parameters.get("table")
    if table is None:
        return
    if problem.query_embeddings is not None and problem.query_embeddings.shape[-1] != table.shape[-1]:
        raise AttnError(
            f"query_embeddings has {problem.query_embeddings.shape[-1]} columns (y); "
            f"the table has {table.shape[-1]} (x)",
            where="position, table",
        )
    first = problem.past_count + chosen.parameters.get("offset", 0)
    longest = max(x.shape[-2] for x in (problem.embeddings, problem.query_embeddings) if x is not None)
    if first < 0 or first + longest > len(table):
        raise AttnError(
            f"the table has positions 0 to {len(table) - 1}; {first} to {first + longest - 1} are asked for",
            where="position, table",
        )


def _table_rows(chosen: Operator) -> None:
    """The table of relative positions can be divided as the entry divides it."""
    rows = len(chosen.parameters["table"])
    if chosen.entry.name == "shaw":
        if rows % 2 == 0:
            raise AttnError(
                f"has {rows} rows", where="position, table", hint="expected an odd number: the middle is distance 0"
            )
        return
    half = rows // 2 if chosen.parameters.get("bidirectional", True) else rows
    if half < 2 or (chosen.parameters.get("bidirectional", True) and rows % 2):
        raise AttnError(f"{rows} buckets can't be divided", where="position, table", hint="expected an even number ≥ 4")
    if chosen.parameters.get("max_distance", 128) <= half // 2:
        raise AttnError(
            f"max_distance is not beyond the {half // 2} buckets of one distance each", where="position, max_distance"
        )


def _turning(chosen: Operator, lengths: Lengths) -> None:
    """The features that are turned come in pairs, and there are so many."""
    frequencies, dims = chosen.parameters.get("frequencies"), chosen.parameters.get("dims")
    if frequencies is not None and dims is not None:
        raise AttnError("dims and frequencies both say how many features turn", where="position, dims")
    for letter in "dc":
        size = lengths[letter].size
        turning = 2 * len(frequencies) if frequencies is not None else dims or size
        if turning % 2 or turning > size:
            raise AttnError(
                f"{chosen.entry.name} turns pairs, and can't turn {turning} of the {size} features of a head",
                where="position",
                hint="give dims, an even number",
            )


def _example(name: str, kind: str) -> str:
    """How a parameter is given on the command line."""
    return f"{name}={name}.csv" if kind == "array" else f"{name}=2"
