"""The checks of a Problem: does what was given fit together? Every error names both sides of a contradiction."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attncli.catalogue import Chosen
from attncli.errors import AttnError
from attncli.shapes import Length, Letters, bind

if TYPE_CHECKING:
    from attncli.problem import Problem

Lengths = dict[str, Length]


def check(problem: "Problem") -> None:
    """Raise AttnError where the keys of a problem contradict each other."""
    _sources(problem)
    lengths = _widths(problem)
    _sizes(problem, lengths)
    _labels(problem)
    _heads(problem, lengths)
    _entry(problem.score, "score", _per_head(lengths, problem.heads), problem)
    _entry(problem.normalize, "normalize", {}, problem)
    _entry(problem.context, "context", _per_head(lengths, problem.heads), problem)
    if "needs distribution" in problem.context.entry.traits and "distribution" not in problem.normalize.entry.traits:
        raise AttnError(
            f"{problem.context.entry.name} draws with the weights as probabilities; "
            f"{problem.normalize.entry.name} makes none",
            where="context",
            hint="normalize with softmax, sparsemax, entmax, topk or hardmax",
        )
    _ = problem.chosen_queries


def _sources(problem: "Problem") -> None:
    """Keys and queries come from somewhere, and nothing is given that would not be used."""
    if problem.embeddings is None and problem.key is None:
        raise AttnError(
            "there is nothing to attend to",
            hint="give embeddings, or query and key, or sentence and vocabulary, or seed, token_count and dim",
        )
    if problem.query is None and problem.query_embeddings is None and problem.embeddings is None:
        raise AttnError("nobody asks", hint="give query, query_embeddings or embeddings")
    if problem.key is None and problem.value is not None:
        raise AttnError("value is given and key is not", hint="give key too, or w_v in place of value")
    unused = {
        "w_q": problem.query,
        "b_q": problem.query,
        "query_embeddings": problem.query,
        "w_k": problem.key,
        "b_k": problem.key,
        "w_v": problem.key,
        "b_v": problem.key,
    }
    for name, instead in unused.items():
        if getattr(problem, name) is not None and instead is not None:
            given = "query" if instead is problem.query else "key"
            raise AttnError(
                f"{given} is given already projected, so {name} would not be used",
                where=name,
                hint=f"leave out {name}, or give embeddings in place of {given}",
            )
    if problem.query is not None and problem.key is not None and problem.embeddings is not None:
        raise AttnError(
            "query and key are given, so embeddings would not be used",
            where="embeddings",
            hint="leave out one or the other",
        )


def _widths(problem: "Problem") -> Lengths:
    """Bind the letters of every array: projected queries [n d], keys [m c] and values [m e]."""
    lengths: Lengths = {}
    own = "x" if problem.query_embeddings is None else "y"
    for name, letters in {
        "embeddings": ("m", "x"),
        "query_embeddings": ("n", "y"),
        "query": ("n", "d"),
        "key": ("m", "c"),
        "value": ("m", "e"),
        "w_q": (own, "d"),
        "w_k": ("x", "c"),
        "w_v": ("x", "e"),
    }.items():
        _bind_weight(problem, lengths, name, letters)
    for letter, source in {"d": own, "c": "x", "e": "c" if problem.key is not None else "x"}.items():
        if letter not in lengths:
            lengths[letter] = lengths[source]
    for name, letter in {"b_q": "d", "b_k": "c", "b_v": "e"}.items():
        _bind_weight(problem, lengths, name, (letter,))
    if "n" not in lengths:
        lengths["n"] = lengths["m"]
    return lengths


def _bind_weight(problem: "Problem", lengths: Lengths, name: str, letters: Letters) -> None:
    """Bind one array of the problem, if it was given; weights as `weight_layout` stores them."""
    array = getattr(problem, name)
    if array is None:
        return
    if 0 in array.shape:
        raise AttnError("has no numbers", where=name)
    shape = array.shape
    if name.startswith("w_") and problem.weight_layout == "out_in":
        shape = shape[::-1]
    bind(lengths, name, letters, shape)


def _sizes(problem: "Problem", lengths: Lengths) -> None:
    """A size that is given is the size there is, whether the matrix was drawn or given."""
    for name, letters in {"token_count": "m", "dim": "x", "d_k": "dc", "d_v": "e"}.items():
        wanted = getattr(problem, name)
        for letter in letters:
            if wanted is not None and letter in lengths and lengths[letter].size != wanted:
                raise AttnError(f"{name} is {wanted}; {lengths[letter].owner}", where=name)


def _labels(problem: "Problem") -> None:
    """There are as many labels as rows."""
    keys = problem.key if problem.key is not None else problem.embeddings
    asking = next(x for x in (problem.query, problem.query_embeddings, problem.embeddings) if x is not None)
    for name, rows, what in (("tokens", keys, "keys"), ("query_tokens", asking, "queries")):
        labels = getattr(problem, name)
        if labels is not None and rows is not None and len(labels) != len(rows):
            raise AttnError(f"there are {len(labels)} labels for {len(rows)} {what}", where=name)


def _heads(problem: "Problem", lengths: Lengths) -> None:
    """Each head gets the same number of features; the output weights fit the merged heads."""
    for letter, what in (("d", "queries"), ("c", "keys"), ("e", "values")):
        size = lengths[letter].size
        if size % problem.heads:
            raise AttnError(
                f"{problem.heads} heads can't share the {size} features of the {what}",
                where="heads",
                hint=f"choose a divisor of {size}",
            )
    after = dict(lengths)
    entry = problem.context.entry
    if entry.shapes.result[-1] != "e":
        w = problem.context.parameters.get("w")
        if w is None:
            return
        size = w.shape[-1 if problem.weight_layout == "in_out" else -2] * problem.heads
        after["e"] = Length(size, f"{entry.name} gives {size} features (e)")
    _bind_weight(problem, after, "w_o", ("e", "o"))
    after.setdefault("o", after["e"])
    _bind_weight(problem, after, "b_o", ("o",))


def _per_head(lengths: Lengths, heads: int) -> Lengths:
    """The lengths that one head sees."""
    if heads == 1:
        return {letter: lengths[letter] for letter in "nmdce"}
    shared = {
        letter: Length(lengths[letter].size // heads, f"{lengths[letter].owner}, over {heads} heads")
        for letter in "dce"
    }
    return {"n": lengths["n"], "m": lengths["m"], **shared}


def _entry(chosen: Chosen, where: str, lengths: Mapping[str, Length], problem: "Problem") -> None:
    """The parameters that an entry needs are there, and its arrays fit the queries, keys and values."""
    entry = chosen.entry
    for parameter in entry.parameters:
        if parameter.required and parameter.name not in chosen.parameters:
            raise AttnError(
                f"{entry.name} needs {parameter.name}",
                where=where,
                hint=f"for example {entry.name}:{_example(parameter.name, parameter.kind)}",
            )
    bound = dict(lengths)
    for name, letter in (("query", "d"), ("key", "c"), ("value", "e")):
        wanted = entry.shapes.arrays.get(name)
        if wanted and wanted[-1] != letter:
            bind(bound, name, wanted, (lengths[wanted[0]].size, lengths[letter].size))
    for name, value in chosen.arrays.items():
        _parameter(f"{where}, {name}", value, entry.parameter(name).letters, bound, problem)


def _parameter(where: str, value: Any, letters: Letters, bound: Lengths, problem: "Problem") -> None:
    """Bind an array that a score or a context brings."""
    shape = value.shape
    if problem.weight_layout == "out_in" and len(letters) == 2:
        shape = (*shape[:-2], shape[-1], shape[-2])
    bind(bound, where, letters, shape, leading=("h",))


def _example(name: str, kind: str) -> str:
    """How a parameter is given on the command line."""
    return f"{name}={name}.csv" if kind == "array" else f"{name}=2"
