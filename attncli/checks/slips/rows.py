"""Slips of rows: keys and values that are empty, stale or in another page, and permuted results of queries."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

from attncli.base.lazy_numpy import Array, np
from attncli.checks.slips.maps import expected_context, others_of, read_rows, same_part, with_changed_rows
from attncli.checks.slips.records import Computation, FittedNumber, Variant, evaluate_names, plan_slip
from attncli.checks.slips.softmax import softmax_node
from attncli.checks.slips.tiles import added, reads_of_context
from attncli.plan.graph import Node

MAX_KEYS, MAX_EMPTY = 512, 128  # rows to search for empty ones, and how many there may be
MAX_QUERIES = 512  # rows whose results may be others'
PAGES = (8, 16, 32, 64, 128)
FEW_ROWS, FEW_FEATURES, MANY_FEATURES = 12, 8, 32  # rows and features in which to look for a solution
MAX_PAGES = 128
FEW_NAMED = 6  # rows that a sentence names
BOTH = ("key", "value")
NEAR = 0.05  # share of the right computation's distance below which a solution is worth a try
STALE = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256)
STALE_ROWS = FittedNumber("rows", lambda case: [rows for rows in STALE if 2 * rows <= case.key_count], is_whole=True)


@dataclass(frozen=True)
class _Sums:
    """The known facts about some rows of queries [r]: scores, values to sum, and expected numbers.

    `scores` are [r m], with the mask, `empty` the scores of zero keys; `content` is the keys' contribution, and `slots`
    the contribution of the keys' positions, such as the mask. `values` are [r m e], `found` and `own` [r e].
    """

    scores: Array
    empty: Array
    content: Array
    slots: Array
    values: Array
    found: Array
    own: Array

    @property
    def largest(self) -> Array:
        """The number subtracted from the scores of each row [r 1]."""
        largest = np.maximum(self.scores, self.empty).max(axis=-1, keepdims=True)
        return np.where(np.isfinite(largest), largest, 0)

    @property
    def powers(self) -> tuple[Array, Array]:
        """The exponentials of the scores and of the empty keys' scores."""
        return np.exp(self.scores - self.largest), np.exp(self.empty - self.largest)

    def distance(self, output: Array) -> Array:
        """The squared distance of expected numbers from outputs [… r e], relative to the right outputs."""
        right = float(((self.own - self.found) ** 2).sum()) or 1.0
        with np.errstate(all="ignore"):
            distances: Array = ((output - self.found) ** 2).sum(axis=(-2, -1)) / right
        return np.where(np.isfinite(distances), distances, np.inf)


def _sums(case: Computation, expected: Mapping[str, Array]) -> _Sums | None:
    """The sums of a few rows, those farthest from the expected numbers; None if they are unknown."""
    found, context, score = expected_context(case, expected), reads_of_context(case), case.node_of_stage("score")
    if found is None or context is None or score is None or "key" not in score.inputs:
        return None
    weights = case.plan.by_name[context.inputs["weights"]]
    masked, content = weights.inputs["scores"], case.plan.results["capped_scores"]
    nothing = case.with_changed_value(score.inputs["key"], _emptied, options={"first": 0, "count": None})
    names = [masked, content, context.inputs["value"], "context"]
    values = evaluate_names(case.plan, case.problem, names, case.problem.precision)
    empty = evaluate_names(nothing.plan, case.problem, [masked], case.problem.precision)[masked]
    own = values["context"]
    error = np.where(np.isfinite(found), abs(found - own), 0).sum(axis=-1) if found.shape == own.shape else np.zeros(1)
    if not error.any() or not np.isfinite(found).all():
        return None
    at = np.unravel_index(np.argsort(-error, axis=None)[:FEW_ROWS], error.shape)
    temperature, few = weights.options.get("temperature", 1.0), slice(0, FEW_FEATURES)
    tables = (values[masked], empty, values[content])
    scores, empty, content_of = (np.broadcast_to(x, (*error.shape, x.shape[-1]))[at] / temperature for x in tables)
    value = values[context.inputs["value"]][..., few]
    value = np.broadcast_to(value, (*error.shape[:-1], *value.shape[-2:]))
    value = np.broadcast_to(value[at[:-1]], (len(scores), *value.shape[-2:]))
    with np.errstate(invalid="ignore"):
        slots = np.where(np.isneginf(scores), -np.inf, scores - content_of)
    return _Sums(scores, empty, content_of, slots, value, found[at][:, few], own[at][:, few])


def range_of_rows(case: Computation, expected: Mapping[str, Array], kinds: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """The first index and the count of wrong rows, for each of some kinds.

    Their keys and values are 0 (`empty`), only their values are (`valueless`), they are left out (`missing`), or
    read twice (`twice`).
    """
    keys = case.key_count
    sums = _sums(case, expected) if 1 < keys <= MAX_KEYS else None
    if sums is None:
        return
    own, empty = sums.powers
    summed = _before(own[..., None] * sums.values)
    totals, others = _before(own), _before(empty)
    for kind in kinds:
        nearest = []
        for count in range(1, min(keys, MAX_EMPTY + 1)):
            missing = summed[:, count:] - summed[:, :-count]
            own_part, all_keys = totals[:, count:] - totals[:, :-count], totals[:, -1:]
            of_zeros = others[:, count:] - others[:, :-count]
            total = {
                "empty": all_keys - own_part + of_zeros,
                "valueless": all_keys,
                "missing": all_keys - own_part,
                "twice": all_keys + own_part,
            }[kind]
            with np.errstate(all="ignore"):
                output = (summed[:, -1:] + (missing if kind == "twice" else -missing)) / total[..., None]
            distances = sums.distance(np.moveaxis(output, 1, 0))
            nearest.append((float(distances.min()), int(distances.argmin()), count))
        distance, first, count = min(nearest)
        if distance < NEAR**2:
            yield first, count


def _missing_rows(case: Computation, expected: Mapping[str, Array]) -> Iterator[tuple[int, ...]]:
    for first, count in range_of_rows(case, expected, ("missing",)):
        if first + count < case.key_count:  # others are a tail
            yield first, count


def _before(x: Array) -> Array:
    """The sums of the numbers before each position along axis 1, and of all of them."""
    zeros = np.zeros_like(x[:, :1])
    return np.concatenate([zeros, np.cumsum(x, axis=1)], axis=1)


@plan_slip(
    "weights are a softmax, of several keys",
    number=FittedNumber("first_and_count", solve=partial(range_of_rows, kinds=("empty", "valueless"))),
)
def rows_of_zeros(case: Computation, number: Sequence[int]) -> Iterator[Variant]:
    """Some keys and values are 0, as rows of a cache that were not written, and take part in the softmax."""
    first, count = number
    which, are = (f"Row {first}", "is") if count == 1 else (f"Rows {first} to {first + count - 1}", "are")
    for changed, what in with_changed_rows(case, (BOTH, ["value"]), _emptied, first=first, count=count):
        yield Variant(changed, f"{which} of the {what} {are} 0, as if not written.")


@plan_slip(
    "weights are a softmax, of several keys",
    softmax_node,
    number=FittedNumber("first_and_count", solve=_missing_rows),
)
def keys_left_out(case: Computation, weights: Node, number: Sequence[int]) -> Iterator[Variant]:
    """Some keys before the last ones are left out, as a tile that is skipped."""
    first, count = number
    changed = case.with_changed_value(
        weights.inputs["scores"], added, options={"first": first, "count": count, "by": -inf}
    )
    which = f"Key {first} is" if count == 1 else f"Keys {first} to {first + count - 1} are"
    yield Variant(changed, f"{which} left out, as a tile that is skipped.")


def _emptied(x: Array, *, first: int, count: int | None) -> Array:
    """Rows, some of which are 0, or all from the first on."""
    emptied = np.array(x)
    emptied[..., first : None if count is None else first + count, :] = 0
    return emptied


@plan_slip("there are several keys and values", number=STALE_ROWS)
def rows_stale(case: Computation, number: int) -> Iterator[Variant]:
    """The last rows of the values, or of keys and values, still belong to the block before."""
    rows, are_those = ("row", "is the one") if number == 1 else (f"{number} rows", "are those")
    for changed, what in with_changed_rows(case, (["value"], BOTH), _repeated, rows=number):
        yield Variant(changed, f"The last {rows} of the {what} {are_those} before: a block is stale.")


def _repeated(x: Array, *, rows: int) -> Array:
    """Rows whose last ones repeat those before them."""
    return np.concatenate([x[..., :-rows, :], x[..., -2 * rows : -rows, :]], axis=-2)


def _page_pairs(
    case: Computation, expected: Mapping[str, Array], change: Callable[[Array], Array]
) -> Iterator[tuple[int, ...]]:
    """The tokens of a page, and two exchanged pages, or a page and the one that replaces it."""
    sums = _sums(case, expected)
    if sums is None:
        return
    for tokens in PAGES:
        count = sums.scores.shape[-1] // tokens
        if 2 <= count <= MAX_PAGES:
            distances = np.min([sums.distance(output) for output in _with_pages(sums, tokens, count, change)], axis=0)
            one, other = np.unravel_index(int(np.argmin(distances)), distances.shape)
            if distances[one, other] < NEAR**2:
                pages = int(one), int(other)
                yield (tokens, *(sorted(pages) if change is _exchanging else pages))


def _with_pages(sums: _Sums, tokens: int, count: int, change: Callable[[Array], Array]) -> Iterator[Array]:
    """Outputs [i j r e] with the pages i and j exchanged, or i replaced: of values, of keys and values, of keys."""

    def paged(x: Array) -> Array:
        return x[:, : tokens * count].reshape(len(x), count, tokens, *x.shape[2:])

    own, values = sums.powers[0], paged(sums.values)
    with np.errstate(invalid="ignore", over="ignore"):
        powers = np.exp(paged(sums.content)[:, None] + paged(sums.slots)[:, :, None] - sums.largest[..., None, None])
    of_slots = paged(own)
    summed, total = (own[..., None] * sums.values).sum(axis=1), own.sum(axis=1)
    exchanged = [
        (np.einsum("rip,rjpe->ijre", of_slots, values), None),
        (np.einsum("rijp,rjpe->ijre", powers, values), powers.sum(axis=-1)),
        (np.einsum("rijp,ripe->ijre", powers, values), powers.sum(axis=-1)),
    ]
    for sums_of_pages, totals in exchanged:
        output = summed + change(sums_of_pages)
        divisor = total if totals is None else total + change(np.moveaxis(totals, 0, -1))
        with np.errstate(all="ignore"):
            yield output / divisor[..., None]


def _replacing(of_pages: Array) -> Array:
    """How a sum changes if i has the content of j."""
    return np.asarray(of_pages - np.einsum("ii...->i...", of_pages)[:, None])


def _exchanging(of_pages: Array) -> Array:
    """How a sum changes if i and j exchange contents, from each slot i with the content of j."""
    own = np.einsum("ii...->i...", of_pages)
    change: Array = of_pages + of_pages.swapaxes(0, 1) - own[:, None] - own[None]
    return change


@plan_slip(
    "there are several pages of keys and values",
    number=FittedNumber("tokens_and_pages", solve=partial(_page_pairs, change=_exchanging)),
)
def pages_exchanged(case: Computation, number: Sequence[int]) -> Iterator[Variant]:
    """Two pages of the values, of the keys, or of both are exchanged, as by a page table that is wrong."""
    tokens, one, other = number
    for changed, what in with_changed_rows(case, (["value"], BOTH, ["key"]), _exchanged, pages=tuple(number)):
        yield Variant(changed, f"The pages {one} and {other} of the {what}, of {tokens} tokens, are exchanged.")


@plan_slip(
    "there are several pages of keys and values",
    number=FittedNumber("tokens_and_pages", solve=partial(_page_pairs, change=_replacing)),
)
def page_of_another(case: Computation, number: Sequence[int]) -> Iterator[Variant]:
    """A page of the values, of the keys, or of both is another one, as by one wrong entry of a page table."""
    tokens, one, other = number
    options = {"pages": tuple(number), "is_both": False}
    for changed, what in with_changed_rows(case, (["value"], BOTH, ["key"]), _exchanged, **options):
        yield Variant(changed, f"Page {one} of the {what}, of {tokens} tokens, is read from page {other}.")


def _exchanged(x: Array, *, pages: Sequence[int], is_both: bool = True) -> Array:
    """Rows with two pages exchanged, or with the first one replaced by the other."""
    tokens, *both = pages
    one, other = (slice(page * tokens, (page + 1) * tokens) for page in both)
    exchanged = np.array(x)
    exchanged[..., one, :] = x[..., other, :]
    if is_both:
        exchanged[..., other, :] = x[..., one, :]
    return exchanged


def _order_of_values(case: Computation, expected: Mapping[str, Array]) -> Iterator[tuple[int, ...]]:
    """The key whose value each key has, from the values with which the weights give one head's expected numbers.

    Not for shifted values or two exchanged pages, which other slips cover.
    """
    found, context = expected_context(case, expected), reads_of_context(case)
    if found is None or context is None or found.shape != context.shape or not np.isfinite(found).all():
        return
    names = [context.inputs["weights"], context.inputs["value"]]
    values = evaluate_names(case.plan, case.problem, names, case.problem.precision)
    weights, value = (values[name][(0,) * (values[name].ndim - 2)].astype(np.float64) for name in names)
    queries, keys = weights.shape
    if not 1 < keys <= min(queries, MAX_KEYS) or not np.isfinite(weights).all():
        return
    read, _, rank, _ = np.linalg.lstsq(weights, found[(0,) * (found.ndim - 2)].astype(np.float64), rcond=None)
    if rank < keys:
        return
    order = (abs(read[:, None] - value[None]) ** 2).sum(axis=-1).argmin(axis=1)
    if sorted(order.tolist()) == list(range(keys)) and not _is_shift_or_exchange(order):
        yield tuple(order.tolist())


def _is_shift_or_exchange(order: Array) -> bool:
    """Whether rows are all shifted alike, or not at all, or two pages of them are exchanged."""
    steps = order - np.arange(len(order))
    moved = steps[steps != 0]
    is_exchange = len(set(abs(moved).tolist())) == 1 and len(moved) in [2 * tokens for tokens in PAGES]
    return len(set((steps % len(order)).tolist())) == 1 or is_exchange


@plan_slip(
    "there are as many queries as keys, or more, and a few hundred keys",
    needs_all="n",
    is_paired=False,
    number=FittedNumber("keys", solve=_order_of_values),
)
def values_permuted(case: Computation, number: Sequence[int]) -> Iterator[Variant]:
    """The values belong to other keys, in another order."""
    name = read_rows(case).get("value", "")
    if name in case.plan.by_name and case.plan.by_name[name].shape[-2] == len(number):
        changed = case.with_changed_value(name, _rows_of, options={"rows": tuple(number)})
        yield Variant(changed, f"The values belong to other keys: {others_of(number, FEW_NAMED)}.")


def _rows_read(case: Computation, expected: Mapping[str, Array]) -> Iterator[tuple[int, ...]]:
    """The row whose result each row has, if every row has one's, and not all their own."""
    found, context = expected_context(case, expected), case.node("context")
    if found is None or context is None or not 1 < found.shape[-2] <= MAX_QUERIES or not np.isfinite(found).all():
        return
    own = evaluate_names(case.plan, case.problem, ["context"], case.problem.precision)["context"]
    if found.shape != own.shape:
        return
    rows, computed = (np.moveaxis(x, -2, 0).reshape(x.shape[-2], -1)[:, :MANY_FEATURES] for x in (found, own))
    allowed = same_part(case) * float(abs(own).max())
    is_same = abs(rows[:, None] - computed).max(axis=-1) <= allowed
    is_own = is_same.diagonal()
    read = np.where(is_own, np.arange(len(rows)), is_same.argmax(axis=1))
    if is_same.any(axis=1).all() and not is_own.all():
        yield tuple(read.tolist())


@plan_slip(
    "there are several queries, of which no more than a few hundred",
    find="context",
    needs_all="n",
    is_paired=False,
    number=FittedNumber("rows", solve=_rows_read),
)
def rows_permuted(case: Computation, context: Node, number: Sequence[int]) -> Iterator[Variant]:
    """The results of queries belong to others, such as the row before."""
    if context.shape[-2] != len(number):
        return
    changed = case.with_changed_value("context", _rows_of, options={"rows": tuple(number)})
    yield Variant(changed, f"The results of queries belong to others: row {others_of(number, FEW_NAMED)}.")


def _rows_of(x: Array, *, rows: Sequence[int]) -> Array:
    """The rows in another order."""
    return x.take(rows, axis=-2)
