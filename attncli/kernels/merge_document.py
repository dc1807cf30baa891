"""The report of a merge: the verdict on what was expected, the whole, and a number of it worked out by hand."""

from collections.abc import Iterator, Sequence
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.program import __version__
from attncli.base.text import count_of
from attncli.checks.quantity import AGREES, DIFFERS, count_of_differences, short_number
from attncli.kernels.merge import BASES, Merged, MergeVerdict
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import Term, exp, largest, ln, number, products, total
from attncli.problem.fields import LSE, OUTPUT
from attncli.render.document import Answer, Block, Document, Grid, Lines, Pairs, Section, Statement

MERGE_FORMAT = "attn.merge/1"
MAX_TABLES = 4  # of heads and batch items that are shown
DIGITS = 6  # of a number that differs
INDICES = "₀₁₂₃₄₅₆₇₈₉"


def merge_answer(
    merged: Merged, verdicts: Sequence[MergeVerdict], decimals: int, cell: tuple[int, ...] | None = None
) -> Answer:
    """The answer of a merge; the number at `cell`, a position of the output, is worked out by hand."""
    return Answer(
        lambda: Document(_sections(merged, verdicts, decimals, cell), decimals),
        lambda: merge_object(merged, verdicts),
    )


def verdict_of(verdict: MergeVerdict, base: str) -> str:
    """The verdict in a line, without a full stop."""
    differ = count_of_differences(verdict.differ, verdict.count)
    if verdict.agrees:
        number = count_of(verdict.count, "number")
        how = "in both bases: the parts can't tell them apart" if verdict.is_undecided else f"in base {base}"
        return f"{verdict.name} agrees {how} ({number}, largest error {short_number(verdict.max_abs)})"
    if verdict.base:
        return f"{verdict.name} agrees in base {verdict.base}, not in base {base}: {differ}"
    names = " or ".join(found.name for found in verdict.explanations[:2])
    return f"{verdict.name}: {differ}" + (f"; explained by {names}" if names else " in base e and in base 2")


def _sections(
    merged: Merged, verdicts: Sequence[MergeVerdict], decimals: int, cell: tuple[int, ...] | None
) -> Iterator[Section]:
    """The verdicts, or else the whole; then the arithmetic of a cell."""
    for verdict in verdicts:
        yield Section("", blocks=tuple(_verdict_blocks(verdict, merged.base)))
    if not verdicts:
        yield _summary(merged)
        if cell is None:
            yield _table_section(merged, OUTPUT, merged.output)
            yield _table_section(merged, LSE, np.atleast_2d(merged.lse))
    if cell is not None:
        yield Section("", blocks=(Lines(tuple(_worked_lines(merged, cell, decimals)), "cyan", "mathematics"),))


def _summary(merged: Merged) -> Section:
    """What was merged, and how much each part weighs."""
    shape = " × ".join(map(str, merged.parts.output.shape))
    first = Statement(f"{count_of(len(merged.names), 'part')} merged in base {merged.base}: output {shape}.")
    weights = merged.parts.weights.reshape(len(merged.names), -1)
    pairs = [
        (f"part {at}", f"{name}, weight {short_number(own.min())} to {short_number(own.max())}")
        for at, (name, own) in enumerate(zip(merged.names, weights, strict=True), 1)
    ]
    empty = int(np.isneginf(merged.parts.lse).sum())
    said = (f"  {count_of(empty, 'query')} without any key: output 0, lse −∞",) if empty else ()
    return Section("", blocks=(first, Pairs(pairs), *([Lines(said, "dim")] if said else [])))


def _verdict_blocks(verdict: MergeVerdict, base: str) -> Iterator[Block]:
    """The verdict, the mistakes that explain it, and the worst number."""
    style = AGREES if verdict.agrees else DIFFERS
    yield Statement(f"{verdict_of(verdict, base)}.", style=style)
    if verdict.agrees:
        return
    if verdict.explanations:
        yield Pairs([(found.name, found.sentence) for found in verdict.explanations])
    elif not verdict.base:
        yield Lines(("  no known mistake explains these numbers",), "dim")
    at = ", ".join(map(str, verdict.position))
    numbers = f"yours {verdict.given:.{DIGITS}g}, correct {verdict.correct:.{DIGITS}g} in base {base}"
    allowed = f"largest error {short_number(verdict.max_abs)}, allowed {short_number(verdict.allowed)}"
    if np.isinf(verdict.max_abs):
        allowed = "largest error infinite: NaN or an infinity is on one side alone"
    yield Lines((f"  {allowed}", f"    at {verdict.name}[{at}]: {numbers}"))


def _table_section(merged: Merged, name: str, values: Array) -> Section:
    """The tables of a result [… rows columns], one for each of the first heads and batch items."""
    leading = list(np.ndindex(values.shape[:-2]))
    columns = tuple(f"e{at + 1}" if name == OUTPUT else str(at) for at in range(values.shape[-1]))
    grids = tuple(
        Grid(
            values[index],
            tuple(map(str, range(values.shape[-2]))),
            columns,
            slice_label=f"{name}[{', '.join(map(str, index))}]" if index else "",
            is_abridged=True,
        )
        for index in leading[:MAX_TABLES]
    )
    more = len(leading) - len(grids)
    remarks = (f"… {count_of(more, 'table')} more: -o whole.npz writes all",) if more > 0 else ()
    return Section(name, grids, remarks=remarks)


def worked_cell(merged: Merged, text: str | None, wrong: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """The position of the output that a text `0,1,2` names; else a wrong number's, or one of a row where parts share.

    Raises AttnError where the output has no such position.
    """
    shape = merged.parts.output.shape
    if text is None and wrong is not None:
        return wrong
    if text is None:
        smallest = merged.parts.weights.min(axis=0)
        at = np.unravel_index(int(np.nan_to_num(smallest).argmax()), smallest.shape)
        return (*map(int, at), 0)
    words = [word.strip() for word in text.split(",")]
    hint = f"the output has the shape {shape}, counted from 0: --cell {','.join(['0'] * len(shape))}"
    if len(words) != len(shape) or not all(word.isdecimal() for word in words):
        raise AttnError(f"{text!r} is not a position of the output", where="--cell", hint=hint)
    cell = tuple(map(int, words))
    if any(at >= length for at, length in zip(cell, shape, strict=True)):
        raise AttnError(f"there is no position {text}", where="--cell", hint=hint)
    return cell


def _worked_lines(merged: Merged, cell: tuple[int, ...], decimals: int) -> Iterator[str]:
    """The arithmetic of one number of the output, and of the log-sum-exp of its row."""
    parts, row = merged.parts, cell[:-1]
    write = ArithmeticWriter(decimals, "", [""], 0, 0)
    signs = [str(at).translate(str.maketrans("0123456789", INDICES)) for at in range(1, len(merged.names) + 1)]
    where = ", ".join(map(str, row))
    yield f"output[{', '.join(map(str, cell))}] of {count_of(len(signs), 'part')}"
    seen = [at for at in range(len(signs)) if not np.isneginf(parts.lses[at][row])]
    for at, sign in enumerate(signs):
        if at not in seen:
            yield f"lse{sign} = −∞: part {at + 1} has no key for the query, weight 0"
    if not seen:
        yield "no part has a key: output 0, lse −∞"
        return
    lses: list[Term] = []
    for at in seen:
        given = number(float(parts.lses[at][row]) / BASES[merged.base])
        if merged.base == "e":
            yield write.equation(given, float(parts.lses[at][row]), name=f"lse{signs[at]}")
            lses.append(given)
        else:
            own = write.computed(f"lse{signs[at]}", given * ln(2))
            yield own.line
            lses.append(own)
    most = write.computed("max", largest(lses))
    yield most.line
    terms = []
    for at, lse in zip(seen, lses, strict=True):
        term = write.computed(f"t{signs[at]}", exp(lse - most))
        yield term.line
        terms.append(term)
    names = " + ".join(f"t{signs[at]}" for at in seen)
    whole = write.computed(names, total(terms))
    yield whole.line
    weights = []
    for at, term in zip(seen, terms, strict=True):
        weight = write.computed(f"w{signs[at]}", term / whole)
        yield weight.line
        weights.append(weight)
    outputs = [float(parts.outputs[at][cell]) for at in seen]
    names = " + ".join(f"w{signs[at]}·output{signs[at]}" for at in seen)
    yield write.equation(products(weights, outputs), float(parts.output[cell]), name=f"output = {names}")
    lse_term: Term = most + ln(whole)
    if merged.base != "e":
        lse_term = lse_term / ln(2)
    formula = "max + ln(Σ t)" if merged.base == "e" else "(max + ln(Σ t))/ln 2"
    yield write.equation(lse_term, float(parts.lse[row]) / BASES[merged.base], name=f"lse[{where}] = {formula}")


def merge_object(merged: Merged, verdicts: Sequence[MergeVerdict]) -> dict[str, Any]:
    """The object of a merge."""
    return {
        "format": MERGE_FORMAT,
        "version": __version__,
        "parts": list(merged.names),
        "lse_base": merged.base,
        "dtype": merged.dtype,
        "output": merged.output,
        "lse": merged.lse,
        "weights": merged.parts.weights,
        "against": [
            {**vars(verdict), "position": list(verdict.position), "explanations": [*map(vars, verdict.explanations)]}
            for verdict in verdicts
        ],
    }
