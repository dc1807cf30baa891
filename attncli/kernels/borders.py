"""The domain of a function, found by asking: from an input that it takes, one axis or kind after the other is changed."""

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
from attncli.kernels.trial import COMMAND, NUMPY, TYPES, Trial, largest_number

# Lengths that tell whether an axis is free; where it is not, those that tell the rule.
FEW_FEATURES, FEATURES = (1, 3, 64, 256), (1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 40, 48, 64, 72, 80, 96, 128, 192, 256)
LEAST_FEATURES = 4  # with which lengths are asked for, or more
FEW_LENGTHS = (1, 7, 33, 130)
LENGTHS = (1, 2, 3, 4, 5, 8, 12, 15, 16, 17, 31, 32, 33, 48, 64, 65, 96, 100, 127, 128, 129, 192, 256, 384)
FEW_BATCHES, BATCHES = (1, 3), (1, 2, 3, 4)
USUAL_HEADS = ((1, 1), (2, 2), (4, 4), (8, 8))  # where others are not taken
GROUPS = ((4, 2), (2, 1), (8, 2))  # tried of a function that does not say whether it takes them
SECONDS = 60.0  # after which what was not asked is taken
# A function is compiled for each shape where its first call takes so long, and so many times as long as the next one.
COMPILING_SECONDS, TIMES_AS_LONG = 0.15, 5.0
MOST_SHAPES = 6
INNER_INPUTS = (Sizes(1, 1, 1, 8, 16, 8, 8), Sizes(1, 1, 1, 3, 33, 16, 16), Sizes(1, 1, 1, 16, 8, 4, 4))
LEAST_INNER, MOST_INNER = 1e-11, 4e-6  # the largest error of a function that computes in float32, of the largest number
STEP = 1e-6  # of the scale, for a derivative
OF_CONSTANT = 0.05  # of the error that a wrong constant leaves


@dataclass
class _Asker:
    """Asks a function for one input after the other; what it refuses is kept, a sentence for each kind."""

    trial: Trial
    maker: CaseMaker
    end: float
    borders: dict[str, str] = field(default_factory=dict)  # what is refused, by how it is said

    def takes(self, sizes: Sizes, dtype: str, *, memory: Memory = "", extras: Sequence[Extra] = (), kind: str) -> bool:
        """Whether the function takes an input: raises no exception, and returns an output as wide as the values are."""
        if time.monotonic() > self.end:
            return True
        case = self.maker.make(sizes, dtype, memory=memory, extras=extras)
        try:
            found = results_of(self.trial, case)
        except AttnError as error:  # no problem of attn's, such as one of rope with an odd width
            self.borders.setdefault(error.message, kind)
            return False
        is_wrong_shape = not isinstance(found, (dict, CallFailure)) and found.cause == f"shape {OUTPUT}"
        if isinstance(found, CallFailure) and found.kind == "timeout":
            self.end = 0.0  # nothing else is asked
        is_refused = isinstance(found, CallFailure) and found.kind == "raised"
        if is_refused or (is_wrong_shape and sizes.features != sizes.value_features):
            self.borders.setdefault(f"it {found.sentence}", kind)
            return False
        return True

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
    options, base = trial.options, trial.base
    chosen = trial.description.dtypes
    dtypes = list(chosen or TYPES.get(trial.interface.library, TYPES[NUMPY]))
    if not base.is_taken:
        return replace(domain, dtypes=dtypes)
    asker = _Asker(trial, CaseMaker(domain), time.monotonic() + SECONDS)
    if chosen is None:
        dtypes = [one for one in dtypes if one == base.dtype or asker.takes(base.sizes, one, kind=one)]
    domain = replace(domain, dtypes=dtypes, features=_features(asker, trial))
    domain = replace(domain, has_other_value_features=_has_other_widths(asker, trial, domain))
    domain = replace(domain, batches=_batches(asker, trial, domain), heads=_heads(asker, trial, domain))
    trial.base = replace(base, sizes=_smaller(base.sizes, domain))
    domain = replace(domain, order="same" if options.is_square else _order(asker, trial))
    domain = replace(domain, **_lengths(asker, trial, domain))
    domain = replace(domain, **_kinds(asker, trial, domain))
    borders = tuple(f"{kind}: {sentence}" for sentence, kind in asker.borders.items())
    return replace(domain, borders=borders, most_shapes=_most_shapes(trial, domain))


def _smaller(sizes: Sizes, domain: Domain) -> Sizes:
    """Sizes as few numbers as the domain allows, but for the queries and keys: they are asked for often."""
    heads, kv_heads = min(domain.heads)
    fitted = domain.fit(replace(sizes, batch=1, features=LEAST_FEATURES, value_features=LEAST_FEATURES))
    return replace(fitted, heads=heads, kv_heads=kv_heads, queries=sizes.queries, keys=sizes.keys)


def _features(asker: _Asker, trial: Trial) -> Lengths:
    """The widths of queries, keys and values together."""
    base, chosen = trial.base, trial.options.features
    if chosen:
        return Lengths(only=tuple(sorted(chosen)))

    def takes(width: int) -> bool:
        sizes = replace(base.sizes, features=width, value_features=width)
        return asker.takes(sizes, base.dtype, kind=f"d = {width}")

    return asker.lengths(FEW_FEATURES, FEATURES, takes, base.sizes.features)


def _has_other_widths(asker: _Asker, trial: Trial, domain: Domain) -> bool:
    """Whether values may be wider or narrower than keys."""
    base, width = trial.base, trial.base.sizes.features
    others = (other for other in (width + 2, width * 2, width // 2, *domain.features.only) if other != width)
    other = next((other for other in others if domain.features.takes(other)), None)
    if other is None:
        return False
    sizes = replace(base.sizes, value_features=other)
    return asker.takes(sizes, base.dtype, kind="values of another width than keys")


def _order(asker: _Asker, trial: Trial) -> Order:
    """Whether there may be other numbers of queries than of keys."""
    base, length = trial.base, trial.base.sizes.keys
    if base.sizes.queries != length:
        return ""

    def takes(queries: int, keys: int, kind: str) -> bool:
        sizes = replace(base.sizes, queries=queries, keys=keys)
        return asker.takes(sizes, base.dtype, kind=kind)

    half = max(length // 2, 1)
    fewer, more = "fewer queries than keys", "more queries than keys"
    takes_fewer = takes(half, length, fewer) or takes(length, 2 * length, fewer)
    takes_more = takes(length, half, more) or takes(2 * length, length, more)
    if takes_fewer:
        return "" if takes_more else "fewer"
    if takes_more:
        return "more"
    return "same or one" if takes(1, length, fewer) else "same"


def _lengths(asker: _Asker, trial: Trial, domain: Domain) -> dict[str, Lengths]:
    """The numbers of queries and of keys."""
    base, chosen = trial.base, trial.options.lengths
    if chosen:
        same = Lengths(only=tuple(sorted(chosen)))
        return {"queries": same, "keys": same}
    sizes = base.sizes

    def takes_keys(length: int) -> bool:
        queries = length if domain.order else sizes.queries
        return asker.takes(replace(sizes, queries=queries, keys=length), base.dtype, kind=count_of(length, "key"))

    keys = asker.lengths(FEW_LENGTHS, LENGTHS, takes_keys, sizes.keys)
    if domain.order.startswith("same"):
        return {"queries": keys, "keys": keys}

    def takes_queries(length: int) -> bool:
        most = {"fewer": max(length, sizes.keys), "more": min(length, sizes.keys)}.get(domain.order, sizes.keys)
        chosen = replace(sizes, queries=length, keys=keys.nearest(most))
        return asker.takes(chosen, base.dtype, kind=count_of(length, "query"))

    return {"keys": keys, "queries": asker.lengths(FEW_LENGTHS, LENGTHS, takes_queries, sizes.queries)}


def _batches(asker: _Asker, trial: Trial, domain: Domain) -> Lengths:
    """The numbers of batch items."""
    if not domain.has_batch:
        return Lengths()
    base = trial.base

    def takes(batch: int) -> bool:
        return asker.takes(replace(base.sizes, batch=batch), base.dtype, kind=count_of(batch, "batch item"))

    return asker.lengths(FEW_BATCHES, BATCHES, takes, base.sizes.batch)


def _heads(asker: _Asker, trial: Trial, domain: Domain) -> Sequence[tuple[int, int]]:
    """The numbers of heads of queries and of keys; groups where it takes them rightly, or says that it does."""
    base = trial.base
    own = (base.sizes.heads, base.sizes.kv_heads)

    def takes(pair: tuple[int, int]) -> bool:
        kind = count_of(pair[0], "head") if pair[0] == pair[1] else f"{pair[0]} heads, {pair[1]} of keys"
        sizes = replace(base.sizes, heads=pair[0], kv_heads=pair[1])
        return pair == own or asker.takes(sizes, base.dtype, kind=kind)

    found = [pair for pair in domain.heads if takes(pair)]
    is_said = len({*domain.heads}) == 1 or trial.interface.layout == NO_HEADS
    if len(found) < len(domain.heads) and not is_said:
        found += [pair for pair in USUAL_HEADS if pair not in found and takes(pair)]
    found = found or [own]
    if is_said or any(heads != kv_heads for heads, kv_heads in domain.heads):
        return found
    return [*found, *(GROUPS if all(_is_right_with(trial, domain, pair) for pair in GROUPS) else ())]


def _is_right_with(trial: Trial, domain: Domain, pair: tuple[int, int]) -> bool:
    """Whether the function gives the right numbers for heads in groups, which nothing says that it takes."""
    sizes = replace(trial.base.sizes, heads=pair[0], kv_heads=pair[1])
    case = CaseMaker(replace(domain, heads=(pair,))).make(sizes, trial.base.dtype)
    found = results_of(trial, case)
    if not isinstance(found, dict) or OUTPUT not in found:
        return False
    right = reference_of(trial.problem_of(case), OUTPUT)
    return is_near(found[OUTPUT].array.reshape(right.shape), right, trial.base.dtype)


def _kinds(asker: _Asker, trial: Trial, domain: Domain) -> dict[str, object]:
    """How arrays may be in memory, and which further arguments there may be."""
    sizes, dtype = trial.base.sizes, trial.base.dtype
    memories = [one for one in domain.memories if not one or asker.takes(sizes, dtype, memory=one, kind="other views")]
    extras = [
        one for one in domain.extras if one in domain.needed or asker.takes(sizes, dtype, extras=(one,), kind=one)
    ]
    go_together = len(extras) < 2 or asker.takes(sizes, dtype, extras=extras, kind="all arguments at once")
    return {"memories": tuple(memories), "extras": tuple(extras), "go_together": go_together}


def _most_shapes(trial: Trial, domain: Domain) -> int | None:
    """How many shapes are tried of a function that is compiled for each; None of another."""
    if trial.interface.library == COMMAND:
        return None
    sizes = domain.fit(replace(trial.base.sizes, queries=trial.base.sizes.queries + 1, keys=trial.base.sizes.keys + 2))
    case = CaseMaker(domain).make(sizes, trial.base.dtype)
    call = trial.interface.call(case, trial.problem_of(case), trial.visible)
    seconds = []
    for _ in range(2):
        start = time.monotonic()
        trial.runner.call(call)
        seconds.append(time.monotonic() - start)
    first, again = seconds
    return MOST_SHAPES if first > COMPILING_SECONDS and first > TIMES_AS_LONG * again else None


def find_precision(trial: Trial, domain: Domain) -> None:
    """Find whether the function computes float64 numbers with the digits of float32, or with a constant of few digits."""
    if "float64" not in domain.dtypes or domain.needed or not trial.base.is_taken:
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
    """The largest error of some inputs, as a part of the largest number, and the factor of the scores that explains it."""
    for sizes in INNER_INPUTS:
        case = CaseMaker(domain, 1).make(sizes, "float64")
        found = results_of(trial, case)
        if not isinstance(found, dict) or OUTPUT not in found:
            return
        problem = trial.problem_of(case)
        right = reference_of(problem, OUTPUT)
        error = found[OUTPUT].array.reshape(right.shape).astype(np.float64) - right
        scale = CaseMaker(domain).scale_of(case.sizes)
        slope = (reference_of(replace(problem, scale=scale * (1 + STEP)), OUTPUT) - right) / STEP
        yield float(abs(error).max() / largest_number(right)), _factor(error, slope)


def _factor(error: Array, slope: Array) -> float | None:
    """By what part of itself the scale is wrong, if that explains an error; None where it does not."""
    size = float((slope * slope).sum())
    if size == 0:
        return None
    factor = float((error * slope).sum()) / size
    left = abs(error - factor * slope).max()
    return factor if left < OF_CONSTANT * abs(error).max() else None
