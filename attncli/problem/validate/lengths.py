"""The length of every axis: arrays that share a letter agree, and heads share what there is evenly."""

from typing import TYPE_CHECKING

from attncli.base.axes import Length, Letters, bind
from attncli.base.errors import AttnError
from attncli.problem.layout import Layout

if TYPE_CHECKING:
    from attncli.problem.spec import Problem

Lengths = dict[str, Length]


def check_lengths(problem: "Problem", layout: Layout) -> Lengths:
    """Bind the letters of every array; the lengths that come back are those that one head sees."""
    lengths = _widths(problem, layout)
    _sizes(problem, layout, lengths)
    heads = _per_head(problem, layout, lengths)
    _cache(problem, layout, lengths, heads)
    _output(problem, layout, heads)
    if problem.sink is not None:
        bind(heads, "sink", ("h",), problem.sink.shape)
    return heads


def _widths(problem: "Problem", layout: Layout) -> Lengths:
    """Bind queries [n d], keys [m c] and values [m e] as they come in; beside a cache new keys are [k c]."""
    lengths: Lengths = {}
    own, rows = "x" if problem.query_embeddings is None else "y", new_keys(problem)
    of_queries, of_keys = layout.given, layout.of_keys(layout.given)
    for name, letters in {
        "embeddings": (*layout.items, rows, "x"),
        "query_embeddings": (*layout.items, "n", "y"),
        "query": (*of_queries, "n", "d"),
        "key": (*of_keys, rows, "c"),
        "value": (*of_keys, rows, "e"),
        "w_q": (own, "d"),
        "w_k": ("x", "c"),
        "w_v": ("x", "e"),
    }.items():
        _bind(problem, lengths, name, letters)
    for letter, source in {"d": own, "c": "x", "e": "c" if problem.key is not None else "x"}.items():
        if letter not in lengths:
            lengths[letter] = lengths[source]
    for name, letter in {"b_q": "d", "b_k": "c", "b_v": "e"}.items():
        _bind(problem, lengths, name, (letter,))
    if "n" not in lengths:
        lengths["n"] = lengths[rows]
    return lengths


def new_keys(problem: "Problem") -> str:
    """The letter of the keys that are given or projected: all there are, or those that follow a cache."""
    return "m" if problem.past_key is None else "k"


def _bind(problem: "Problem", lengths: Lengths, name: str, letters: Letters) -> None:
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


def _sizes(problem: "Problem", layout: Layout, lengths: Lengths) -> None:
    """A size that is given is the size there is, whether the matrix was drawn or given.

    `d_k` and `d_v` count the features of all query heads together; keys and values have the share of their heads.
    """
    for name, letters in {"token_count": "m", "dim": "x", "d_k": "dc", "d_v": "e"}.items():
        wanted = getattr(problem, name)
        for letter in letters:
            if wanted is None or letter not in lengths:
                continue
            size = lengths[letter].size
            if letter in "ce" and layout.splits:
                size = size * layout.heads // layout.kv_heads
            if size != wanted:
                raise AttnError(f"{name} is {wanted}; {lengths[letter].owner}", where=name)


def _per_head(problem: "Problem", layout: Layout, lengths: Lengths) -> Lengths:
    """The lengths that one head sees: features shared among query heads, or among key heads."""
    found = {letter: lengths[letter] for letter in "bnmkdcexy" if letter in lengths}
    if layout.has_heads:
        found["h"] = Length(layout.heads, f"there are {layout.heads} query heads")
        found["g"] = Length(layout.kv_heads, f"there are {layout.kv_heads} key heads")
    else:
        found["h"] = Length(1, "there is one head")
    if not layout.splits:
        return found
    for letter, what, heads in (("d", "queries", "heads"), ("c", "keys", "kv_heads"), ("e", "values", "kv_heads")):
        count, whole = getattr(layout, heads), lengths[letter]
        if whole.size % count:
            raise AttnError(
                f"{count} heads can't share the {whole.size} features of the {what}",
                where="heads" if getattr(problem, heads) is None else heads,
                hint=f"choose a divisor of {whole.size}",
            )
        shared = f"{whole.owner}, over {count} heads" if count > 1 else whole.owner
        found[letter] = Length(whole.size // count, shared)
    return found


def _cache(problem: "Problem", layout: Layout, lengths: Lengths, heads: Lengths) -> None:
    """The cache is shaped like the keys as they come in, or has an axis of heads; then m = p + k."""
    for name, letter in (("past_key", "c"), ("past_value", "e")):
        array = getattr(problem, name)
        if array is None:
            continue
        if 0 in array.shape[:-2] or array.shape[-1] == 0:
            raise AttnError("has no numbers", where=name)
        apart = layout.apart or array.ndim == len(layout.items) + 3
        leading = layout.of_keys((*layout.items, "h")) if apart else layout.items
        known = heads if apart else {**lengths, "p": heads["p"]} if "p" in heads else dict(lengths)
        bind(known, name, (*leading, "p", letter), array.shape)
        heads["p"] = known["p"]
    if problem.past_key is not None:
        past, new = heads["p"], heads["k"]
        heads["m"] = Length(past.size + new.size, f"{past.owner}, {new.owner}")


def _output(problem: "Problem", layout: Layout, heads: Lengths) -> None:
    """The output weights fit the merged heads."""
    record, width = problem.context.record, heads["e"]
    if record.shapes.result[-1] != "e":
        w = problem.context.arrays.get("w")
        if w is None or w.ndim < 2:  # the operator's own check says so
            return
        width = Length(w.shape[-1 if problem.weight_layout == "in_out" else -2], f"{record.name} gives (e)")
    merged = Length(width.size * layout.heads, f"{width.owner}; merged heads have {width.size * layout.heads} (e)")
    after = {"e": width if layout.heads == 1 else merged}
    _bind(problem, after, "w_o", ("e", "o"))
    after.setdefault("o", after["e"])
    _bind(problem, after, "b_o", ("o",))


new_key_letter = new_keys
