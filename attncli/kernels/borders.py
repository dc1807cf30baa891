"""The domain of a function, found by asking: an input that it takes is changed in one axis or kind after the other."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.kernels.calls import NO_HEADS, OUTPUT
from attncli.kernels.cases import CaseMaker
from attncli.kernels.domain import Domain, Extra, Lengths, Memory, Order, Sizes, lengths_of
from attncli.kernels.probing import first_domain, is_near, reference_of, results_of
from attncli.kernels.process import CallFailure
from attncli.kernels.report import Failure
from attncli.kernels.trial import COMMAND, NUMPY, TYPES, Trial, largest_number

# Lengths that tell whether an axis is free; where it is not, those that tell the rule.
FEW_FEATURES, FEATURES = (1, 3, 64, 256), (1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 40, 48, 64, 72, 80, 96, 128, 192, 256)
LEAST_FEATURES = 4  # with which lengths are asked for, or more
FEW_LENGTHS = (1, 7, 33, 130, 300)
LENGTHS = (1, 2, 3, 4, 5, 8, 12, 15, 16, 17, 31, 32, 33, 48, 64, 65, 96, 100, 127, 128, 129, 192, 256, 257, 384)
FEW_BATCHES, BATCHES = (1, 3), (1, 2, 3, 4)
USUAL_HEADS = ((1, 1), (2, 2), (4, 4), (8, 8))  # where others are not taken
GROUPS = ((4, 2), (2, 1), (8, 2))  # tried of a function that does not say whether it takes them
SECONDS = 60.0  # after which what was not asked is taken
# A function is compiled for each shape where its first call takes so long, and so many times as long as the next one.
COMPILING_SECONDS, TIMES_AS_LONG = 0.15, 5.0
MOST_SHAPES = 6
SLOW_SECONDS = 0.1  # of a call, with which the inputs that tell most are tried first
INNER_INPUTS = (Sizes(1, 1, 1, 8, 16, 8, 8), Sizes(1, 1, 1, 3, 33, 16, 16), Sizes(1, 1, 1, 16, 40, 4, 4))
LEAST_INNER, MOST_INNER = 1e-11, 4e-6  # the largest error of a function that computes in float32, of the largest number
STEP = 1e-6  # of the scale, for a derivative
SAME = 1e-12  # of each number, with a scale that is given in place of the default
OF_CONSTANT = 0.05  # of the error that a wrong constant leaves


@dataclass
class _Asker:
    """Asks a function for one input after the other, until the `end`; `borders` say what it refuses, and how."""

    trial: Trial
    maker: CaseMaker
    end: float
    has_shape: bool  # whether the output of what it takes has the right shape
    borders: dict[str, tuple[str, str]] = field(
        default_factory=dict
    )  # the kind of input and what is said, by its cause

    def takes(
        self, kind: str, dtype: str | None = None, memory: Memory = "", extras: Sequence[Extra] = (), **sizes: int
    ) -> bool:
        """Whether the function takes an input with some other `sizes`, or of another kind, than it is known to take.

        It does where it raises no exception, and returns an output of the right shape where it does so otherwise.
        """
        if time.monotonic() > self.end:
            return True
        own = replace(self.trial.base.sizes, **sizes)
        try:
            case = self.maker.make(own, dtype or self.trial.base.dtype, memory=memory, extras=extras)
            found = results_of(self.trial, case)
        except AttnError as error:  # no problem of attn's, such as one of rope with an odd width
            self.borders.setdefault(error.message, (kind, error.message))
            return False
        if isinstance(found, CallFailure) and found.kind == "timeout":
            self.end = 0.0  # nothing else is asked
        if isinstance(found, CallFailure):
            is_refused = found.kind == "raised"
        else:
            is_refused = isinstance(found, Failure) and self.has_shape
        if is_refused and not isinstance(found, dict):
            self.borders.setdefault(found.cause, (kind, f"it {found.sentence}"))
        return not is_refused

    def lengths(self, few: Sequence[int], many: Sequence[int], takes: Callable[[int], bool], known: int) -> Lengths:
        """The rule of an axis of which one length is `known` to be taken."""
        asked = {known: True} | {length: takes(length) for length in few if length != known}
        if all(asked.values()):
            return Lengths()
        asked |= {length: takes(length) for length in many if length not in asked}
        return lengths_of([x for x, is_taken in asked.items() if is_taken], [x for x in asked if not asked[x]])


def find_domain(trial: Trial) -> Domain:
    """What inputs the function takes, and how it says so of the others."""
    domain = first_domain(trial, trial.interface)
    options = trial.options
    dtypes = list(trial.description.dtypes or TYPES.get(trial.interface.library, TYPES[NUMPY]))
    if trial.description.dtypes is None:
        trial.untried += [f"{dtype}: {why}" for dtype, why in options.without_dtypes.items() if dtype in dtypes]
        dtypes = [one for one in dtypes if one not in options.without_dtypes]
    domain = replace(domain, dtypes=dtypes)
    if not trial.base.is_taken:
        return domain
    maker = CaseMaker(domain)
    has_shape = isinstance(results_of(trial, maker.make(trial.base.sizes, trial.base.dtype)), dict)
    asker = _Asker(trial, maker, time.monotonic() + SECONDS, has_shape)
    for find in (_dtypes, _features, _widths, _batches, _heads, _order, _lengths, _kinds):
        domain = find(asker, domain)
    borders = tuple(f"{kind}: {said}" for kind, said in asker.borders.values())
    return replace(domain, borders=borders, most_shapes=_most_shapes(trial, domain))


def _dtypes(asker: _Asker, domain: Domain) -> Domain:
    """The types of the numbers, where the user has chosen none."""
    trial = asker.trial
    if trial.description.dtypes is not None:
        return domain
    return replace(domain, dtypes=[x for x in domain.dtypes if x == trial.base.dtype or asker.takes(x, dtype=x)])


def _features(asker: _Asker, domain: Domain) -> Domain:
    """The widths of queries, keys and values together."""
    chosen = asker.trial.options.features
    if chosen:
        return replace(domain, features=Lengths(only=tuple(sorted(chosen))))

    def takes(width: int) -> bool:
        return asker.takes(f"d = {width}", features=width, value_features=width)

    known = asker.trial.base.sizes.features
    return replace(domain, features=asker.lengths(FEW_FEATURES, FEATURES, takes, known))


def _widths(asker: _Asker, domain: Domain) -> Domain:
    """Whether values may be wider or narrower than keys."""
    width = asker.trial.base.sizes.features
    others = (width + 2, width * 2, width // 2, *domain.features.only)
    other = next((other for other in others if other != width and domain.features.takes(other)), None)
    has_others = other is not None and asker.takes("values of another width than keys", value_features=other)
    return replace(domain, has_other_value_features=has_others)


def _batches(asker: _Asker, domain: Domain) -> Domain:
    """The numbers of batch items."""
    if not domain.has_batch:
        return domain

    def takes(batch: int) -> bool:
        return asker.takes(count_of(batch, "batch item"), batch=batch)

    return replace(domain, batches=asker.lengths(FEW_BATCHES, BATCHES, takes, asker.trial.base.sizes.batch))


def _heads(asker: _Asker, domain: Domain) -> Domain:
    """The numbers of heads of queries and of keys; groups where it takes them rightly, or says that it does.

    From here on the asked inputs have as few heads, batch items and features as the domain allows.
    """
    trial, base = asker.trial, asker.trial.base
    own = (base.sizes.heads, base.sizes.kv_heads)

    def takes(pair: tuple[int, int]) -> bool:
        kind = count_of(pair[0], "head") if pair[0] == pair[1] else f"{pair[0]} heads, {pair[1]} of keys"
        return pair == own or asker.takes(kind, heads=pair[0], kv_heads=pair[1])

    heads = [pair for pair in domain.heads if takes(pair)]
    is_said = len({*domain.heads}) == 1 or trial.interface.layout == NO_HEADS
    if len(heads) < len(domain.heads) and not is_said:
        heads += [pair for pair in USUAL_HEADS if pair not in heads and takes(pair)]
    has_groups = any(heads != kv_heads for heads, kv_heads in domain.heads)
    may_have_groups = not (is_said or has_groups or domain.is_recurrence or domain.has_gradients)
    if may_have_groups and all(_has_groups(trial, domain, pair) for pair in GROUPS):
        heads += GROUPS
    domain = replace(domain, heads=heads or [own])
    small = domain.fit(replace(base.sizes, batch=1, features=LEAST_FEATURES, value_features=LEAST_FEATURES))
    fewest = min(domain.heads)
    small = replace(small, heads=fewest[0], kv_heads=fewest[1], queries=base.sizes.queries, keys=base.sizes.keys)
    trial.base = replace(base, sizes=small)
    return domain


def _has_groups(trial: Trial, domain: Domain, pair: tuple[int, int]) -> bool:
    """Whether the function gives the right numbers for heads in groups, which nothing says that it takes.

    Or those of heads that read keys in turns: this is a mistake, but one with groups.
    """
    sizes = replace(trial.base.sizes, heads=pair[0], kv_heads=pair[1])
    return _is_right(trial, domain, sizes) or _is_right(trial, domain, sizes, repeats=pair[0] // pair[1])


def _is_right(trial: Trial, domain: Domain, sizes: Sizes, repeats: int = 1) -> bool:
    """Whether the function gives the right numbers for an input, or those with its key heads so many times in turns."""
    case = CaseMaker(domain).make(sizes, trial.base.dtype)
    found = results_of(trial, case)
    if not isinstance(found, dict) or OUTPUT not in found:
        return False
    in_turns = {name: np.tile(case.arrays[name], (1, repeats, 1, 1)) for name in ("key", "value")}
    right = reference_of(trial.problem_of(case.with_arrays(**in_turns)), OUTPUT)
    return is_near(found[OUTPUT].array.reshape(right.shape), right, trial.base.dtype)


def _order(asker: _Asker, domain: Domain) -> Domain:
    """Whether there may be other numbers of queries than of keys."""
    sizes = asker.trial.base.sizes
    length = sizes.keys
    if asker.trial.options.is_square:
        return replace(domain, order="same")
    if sizes.queries != length or domain.is_recurrence:
        return domain

    def takes(queries: int, keys: int) -> bool:
        kind = "fewer queries than keys" if queries < keys else "more queries than keys"
        return asker.takes(kind, queries=queries, keys=keys)

    half = max(length // 2, 1)
    takes_fewer = takes(half, length) or takes(length, 2 * length)
    takes_more = takes(length, half) or takes(2 * length, length)
    orders: dict[tuple[bool, bool], Order] = {(True, True): "", (True, False): "fewer", (False, True): "more"}
    order = orders.get((takes_fewer, takes_more))
    if order is None:
        one = replace(sizes, queries=1)  # which may be broadcast to all queries, rather than taken
        order = "same or one" if takes(1, length) and _is_right(asker.trial, domain, one) else "same"
    return replace(domain, order=order)


def _lengths(asker: _Asker, domain: Domain) -> Domain:
    """The numbers of queries and of keys."""
    sizes, chosen = asker.trial.base.sizes, asker.trial.options.lengths
    if chosen:
        rule = Lengths(only=tuple(sorted(chosen)))
        return replace(domain, queries=rule, keys=rule)

    def takes_keys(length: int) -> bool:
        return asker.takes(count_of(length, "key"), queries=length if domain.order else sizes.queries, keys=length)

    keys = asker.lengths(FEW_LENGTHS, LENGTHS, takes_keys, sizes.keys)
    if domain.order.startswith("same"):
        return replace(domain, queries=keys, keys=keys)

    def takes_queries(length: int) -> bool:
        bounds = {"fewer": max(length, sizes.keys), "more": min(length, sizes.keys)}
        of_keys = keys.nearest(bounds.get(domain.order, sizes.keys))
        return asker.takes(count_of(length, "query"), queries=length, keys=of_keys)

    queries = asker.lengths(FEW_LENGTHS, LENGTHS, takes_queries, sizes.queries)
    return replace(domain, queries=queries, keys=keys)


def _kinds(asker: _Asker, domain: Domain) -> Domain:
    """How arrays may be in memory, and which further arguments there may be."""
    most = max(domain.heads)  # of several heads and items even transposed arrays are no contiguous ones
    batch = domain.batches.nearest(2)

    def takes(memory: Memory) -> bool:
        kind = "arrays that are views"
        return not memory or asker.takes(kind, memory=memory, batch=batch, heads=most[0], kv_heads=most[1])

    memories = [one for one in domain.memories if takes(one)]
    extras = [one for one in domain.extras if one in domain.needed or asker.takes(one, extras=(one,))]
    go_together = len(extras) < 2 or asker.takes("all arguments at once", extras=extras)
    return replace(domain, memories=tuple(memories), extras=tuple(extras), go_together=go_together)


def _most_shapes(trial: Trial, domain: Domain) -> int | None:
    """How many shapes are tried of a function that is compiled for each; None of another. Also whether it is slow."""
    if trial.interface.library == COMMAND:
        return None
    own = trial.base.sizes
    case = CaseMaker(domain).make(replace(own, queries=own.queries + 1, keys=own.keys + 2), trial.base.dtype)
    call = trial.interface.call(case, trial.problem_of(case), trial.visible)
    seconds = []
    for _ in range(2):
        start = time.monotonic()
        trial.runner.call(call)
        seconds.append(time.monotonic() - start)
    first, again = seconds
    trial.is_slow = again > SLOW_SECONDS
    return MOST_SHAPES if first > COMPILING_SECONDS and first > TIMES_AS_LONG * again else None


def find_precision(trial: Trial, domain: Domain) -> None:
    """Find whether the function computes float64 numbers as float32, or with a constant of few digits."""
    if "float64" not in domain.dtypes or not trial.base.is_taken:
        return
    errors = list(_errors(trial, domain))
    if len(errors) < len(INNER_INPUTS) or not all(LEAST_INNER < size < MOST_INNER for size, _ in errors):
        return
    trial.inner = "float32"
    factors = [factor for _, factor in errors if factor is not None]
    if len(factors) == len(errors) and np.ptp(factors) < OF_CONSTANT * abs(factors[0]):
        sign = "+" if factors[0] > 0 else "−"
        trial.remarks.append(
            f"its scores are multiplied by 1 {sign} {abs(factors[0]):.2g}, as by a constant of too few digits, such as "
            "log₂ e = 1.44269504; float64 is judged as float32"
        )
    else:
        size = max(size for size, _ in errors)
        trial.remarks.append(f"computes in float32 inside (float64 has errors of {size:.1g}), and is judged so")


def _errors(trial: Trial, domain: Domain) -> Iterator[tuple[float, float | None]]:
    """The largest error of some inputs, relative to the largest number, and the factor of the scores behind it."""
    for sizes in INNER_INPUTS:
        case = CaseMaker(domain, 1).make(sizes, "float64")
        found = results_of(trial, case)
        if not isinstance(found, dict) or OUTPUT not in found:
            return
        problem = trial.problem_of(case)
        right = reference_of(problem, OUTPUT)
        error = found[OUTPUT].array.reshape(right.shape).astype(np.float64) - right
        if not np.isfinite(error).all():  # as of rows that see no key
            return
        scale = CaseMaker(domain).scale_of(case.sizes)
        same, more = (reference_of(replace(problem, scale=scale * x), OUTPUT) for x in (1.0, 1 + STEP))
        factor = _factor(error, (more - right) / STEP) if np.allclose(same, right, rtol=SAME, atol=0) else None
        yield float(abs(error).max() / largest_number(right)), factor


def _factor(error: Array, slope: Array) -> float | None:
    """By what part of itself the scale is wrong, if that explains an error; None where it does not."""
    size = float((slope * slope).sum())
    if size == 0:
        return None
    factor = float((error * slope).sum()) / size
    left = abs(error - factor * slope).max()
    return factor if left < OF_CONSTANT * abs(error).max() else None
