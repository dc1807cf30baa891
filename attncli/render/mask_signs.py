"""A picture of the masks: for each query and key whether it is visible, and if not, which rule hides it."""

from collections.abc import Iterator, Mapping

from attncli.base.lazy_numpy import Array, np
from attncli.render.grid import Grid, parts
from attncli.trace.steps import Step, Trace

VISIBLE = "●"
# The rules in the order in which one is named where several hide a key: sign and meaning.
SIGNS = {
    "key_lengths": ("░", "padding"),
    "mask": ("×", "masked"),
    "bias": ("−", "bias −∞"),
    "causal": ("▷", "after the query (causal)"),
    "window": ("·", "outside the window"),
}


def pictures(trace: Trace, step: Step, fixed: Mapping[str, int]) -> Iterator[tuple[Grid, str]]:
    """The table of visible keys as signs, and the legend that counts each of them."""
    rules = {name: trace[source].value for name, source in step.inputs.items()}
    for at, said in parts(trace, step, fixed):
        visible = step.value[at]
        signs = np.full(visible.shape, VISIBLE)
        for name in reversed([name for name in SIGNS if name in rules]):
            signs[~_at(rules[name], at, visible.shape)] = SIGNS[name][0]
        shape = (len(trace.labels["n"]), visible.shape[-1])  # one row may serve every query
        grid = Grid(
            values=np.broadcast_to(visible, shape).astype(np.int64),
            rows=trace.labels["n"],
            columns=trace.labels["m"],
            corner="n\\m",
            slice=said,
            signs=np.broadcast_to(signs, shape).tolist(),
        )
        yield grid, _legend(grid, rules)


def _at(rule: Array, at: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    """A rule at a position on the leading axes, as wide as the table it is part of."""
    own = at[len(at) - (rule.ndim - 2) :]
    part = rule[tuple(min(index, size - 1) for index, size in zip(own, rule.shape, strict=False))]
    return np.broadcast_to(part, shape)


def _legend(grid: Grid, rules: Mapping[str, Array]) -> str:
    """What the signs mean and how many cells have each."""
    assert grid.signs is not None
    cells = [sign for row in grid.signs for sign in row]
    meanings = [(VISIBLE, "visible"), *(SIGNS[name] for name in SIGNS if name in rules)]
    return "   ".join(f"{sign} {meaning}: {cells.count(sign)}" for sign, meaning in meanings)
