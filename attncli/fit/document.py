"""The report of a fit: the fall of the loss and why it stopped, the loss as a curve, and the learned values."""

from collections.abc import Iterator
from typing import Any

from attncli.base.program import __version__
from attncli.base.text import count_of, join_words
from attncli.engine.run import run
from attncli.fit.learning import Fit
from attncli.numbers.formatting import decimal
from attncli.render.curve import Plot, Series
from attncli.render.document import Answer, Block, Document, Pairs, Section, Statement, with_decimal_sign
from attncli.render.tables import grids

FIT_FORMAT = "attn.fit/1"
DIGITS = 4  # significant digits of a loss
# Why the descent stopped, at the end of a line that begins with the fall of the loss.
STOPPED = {
    "converged": "and no further",
    "steps": "--steps allows more",
    "interrupted": "interrupted",
    "not_finite": "then not finite: a lower --rate may help",
}


def fit_answer(fit: Fit, file: str | None, decimals: int, *, has_arrays: bool = True) -> Answer:
    """The answer to a fit of the problem in a file; with `has_arrays` it shows learned arrays."""
    return Answer(lambda: fit_document(fit, decimals, has_arrays=has_arrays), lambda: fit_object(fit, file))


def fit_document(fit: Fit, decimals: int, *, has_arrays: bool = True) -> Document:
    """The document of a fit; its first line gives the fall of the loss, and why it stopped."""
    return with_decimal_sign(Document(_sections(fit, decimals, has_arrays=has_arrays), decimals), fit.problem)


def fit_object(fit: Fit, file: str | None) -> dict[str, Any]:
    """The file of the problem, the learned values, the targets, the losses, and the reason to stop."""
    return {
        "format": FIT_FORMAT,
        "version": __version__,
        "problem": file,
        "learned": dict(fit.values),
        "targets": list(fit.targets),
        "stopped": fit.stopped,
        "steps": len(fit.losses) - 1,
        "loss": fit.losses[fit.best],
        "losses": list(fit.losses),
    }


def verdict(fit: Fit) -> str:
    """The fall of the loss, and why it stopped, in a line."""
    what = "Mean squared error" if len(fit.targets) == 1 else "Sum of the mean squared errors"
    return f"{what} of {join_words(fit.targets)}: {outcome(fit)}, {STOPPED[fit.stopped]}"


def outcome(fit: Fit) -> str:
    """The loss before and after: `0.5 → 0.01 in 200 steps`."""
    losses = (f"{loss:.{DIGITS}g}" for loss in (fit.losses[0], fit.losses[fit.best]))
    return f"{' → '.join(losses)} in {count_of(len(fit.losses) - 1, 'step')}"


def _sections(fit: Fit, decimals: int, *, has_arrays: bool) -> Iterator[Section]:
    """The verdict with the learned numbers, the loss of each step, and the arrays."""
    numbers = [one for one in fit.learned if not one.after.ndim]
    pairs = [(one.key, " → ".join(decimal(float(x), decimals) for x in (one.before, one.after))) for one in numbers]
    blocks: list[Block] = [Statement(f"{verdict(fit)}.")]
    yield Section("", blocks=(*blocks, *([Pairs(pairs)] if pairs else [])))
    if len(fit.losses) > 1:
        lowest = Series("lowest", [fit.best], [fit.losses[fit.best]])
        curve = Series("loss of each step", range(len(fit.losses)), fit.losses)
        yield Section("", plots=(Plot("", lowest, (curve,), "steps", "loss"),))
    arrays = [one.key for one in fit.learned if one.after.ndim]
    if arrays and has_arrays:
        trace = run(fit.problem, fit.targets, every_step=True).trace
        for key in arrays:
            step = next(step for step in trace.steps if ".".join(step.node.source) == key)
            yield Section(key, grids=tuple(grids(trace, step)))
