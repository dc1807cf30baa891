"""Laws that a function keeps without any reference: the same bits in a batch, in chunks, next to other numbers.

A law changes an input and says what the function then has to give: the same bits, or numbers that agree. Each is a
function of the function that is tried and of an input; it yields what has to be alike.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from attncli.base.dtypes import HALF, Precision, coarsest
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.checks.tolerance import UNITS
from attncli.kernels.calls import LSE, OUTPUT, STATE
from attncli.kernels.cases import CaseMaker, KernelCase
from attncli.kernels.domain import Domain, Extra, Sizes
from attncli.kernels.process import CallFailure
from attncli.kernels.report import Failure, LawResult
from attncli.kernels.shrink import taken
from attncli.kernels.trial import Trial, largest_number

Results = Mapping[str, Array]
Kind = Literal["bits", "numbers"]
Pair = tuple[Results, Results, Kind]  # what is right, what is given, and how alike they have to be
# Batch items, queries and keys, the smallest first: of the first that breaks a law the result is shown.
SIZES = (
    (2, 1, 5),
    (2, 5, 5),
    (3, 16, 16),
    (2, 33, 33),
    (3, 1, 70),
    (2, 70, 70),
    (3, 1, 130),
    (2, 130, 130),
    (5, 9, 300),
)
OTHER = 3.0  # what other numbers are multiplied by
UNREAD = (np.nan, 1e30)  # what is in memory that is not to be read
SHIFT = 0.5  # of the keys, which shifts all scores of a query by the same number
# Keys of a problem with which a score depends on where its key is, or not on the key alone.
OF_POSITIONS = ("causal", "window", "position", "mask", "bias", "sink", "key_lengths", "key_mask", "recurrence")


@dataclass
class Function:
    """The function, which gives the results of an input once; raises _RefusedError where it gives none."""

    trial: Trial
    domain: Domain
    known: dict[int, tuple[KernelCase, Results]] = field(default_factory=dict)

    def __call__(self, case: KernelCase) -> Results:
        """The results of an input: the output, the log-sum-exp and the state, in attn's axes."""
        if id(case) not in self.known:
            self.known[id(case)] = case, self._called(case)
        return self.known[id(case)][1]

    def _called(self, case: KernelCase) -> Results:
        """The output, log-sum-exp and state in attn's axes."""
        returned = self.trial.runner.call(
            self.trial.interface.call(case, self.trial.problem_of(case), self.trial.visible)
        )
        found = returned if isinstance(returned, CallFailure) else self.trial.results(case, returned)
        if isinstance(found, (CallFailure, Failure)):
            raise _RefusedError
        return {name: found[name].array for name in (OUTPUT, LSE, STATE) if name in found}

    def takes(self, case: KernelCase) -> bool:
        """Whether an input is in the domain of the function."""
        return self.domain.takes(case.sizes)

    def visible(self, case: KernelCase) -> Array:
        """Who sees whom, [n m] or [b h n m]."""
        table, sizes = self.trial.visible(case, ()), case.sizes
        return np.ones((sizes.queries, sizes.keys), bool) if table is None else table


class _RefusedError(Exception):
    """The function gives nothing for an input."""


Law = Callable[[Function, KernelCase], Iterator[Pair]]


@dataclass(frozen=True)
class LawRecord:
    """A law: its name, what it says, the keys of a problem with which it does not apply, and what it needs."""

    name: str
    sentence: str
    function: Law
    never_with: Sequence[str] = ()
    only_with: str = ""  # a key of the problem, or a further argument that the function takes
    extras: tuple[Extra, ...] = ()


LAWS: dict[str, LawRecord] = {}


def law(
    sentence: str, *, never_with: Sequence[str] = (), only_with: str = "", extras: tuple[Extra, ...] = ()
) -> Callable[[Law], Law]:
    """Register a law by the name of its function."""

    def register(function: Law) -> Law:
        name = function.__name__.removeprefix("_")
        LAWS[name] = LawRecord(name, sentence, function, never_with, only_with, extras)
        return function

    return register


def _rows(results: Results, items: "slice | Array", rows: slice = slice(None)) -> Results:
    """The results of some batch items and queries; a state has no queries."""
    found = {}
    for name, array in results.items():
        found[name] = array[items] if name == STATE else array[items][:, :, rows]
    return found


@law("the same input gives the same bits again")
def _same_bits_again(function: Function, case: KernelCase) -> Iterator[Pair]:
    for _ in range(2):
        yield function(case), function(replace(case)), "bits"


@law("a batch item gives the same bits alone")
def _same_bits_alone(function: Function, case: KernelCase) -> Iterator[Pair]:
    for item in range(case.sizes.batch if function.domain.has_batch else 0):
        alone = function(taken(case, "b", slice(item, item + 1)))
        yield alone, _rows(function(case), slice(item, item + 1)), "bits"


@law("a batch item gives the same bits at another place of the batch")
def _same_bits_at_any_place(function: Function, case: KernelCase) -> Iterator[Pair]:
    if case.sizes.batch > 1:
        order = np.arange(case.sizes.batch)[::-1]
        yield _rows(function(case), order), function(taken(case, "b", order)), "bits"


@law("a batch item gives the same bits next to other items")
def _same_bits_next_to_others(function: Function, case: KernelCase) -> Iterator[Pair]:
    if case.sizes.batch > 1:
        first = slice(0, 1)
        yield _rows(function(case), first), _rows(function(_with_others(case, lambda x: x[1:])), first), "bits"


@law("a head gives the same bits next to other heads")
def _heads_independent(function: Function, case: KernelCase) -> Iterator[Pair]:
    own = case.sizes.heads // case.sizes.kv_heads  # those that read the first key head
    if case.sizes.kv_heads > 1:
        changed = case.arrays["query"].copy()
        changed[:, own:] *= OTHER
        others = _with_others(case, lambda x: x[:, 1:]).with_arrays(query=changed)
        both = (function(case), function(others))
        right, given = ({name: x[:, :own] for name, x in found.items()} for found in both)
        yield right, given, "bits"


@law("a query gives the same bits without the queries after it", never_with=("position", "recurrence"))
def _same_bits_in_chunks(function: Function, case: KernelCase) -> Iterator[Pair]:
    """Without the keys after it too, where it sees none of these: the first chunk of a prefill."""
    for count in {1, case.sizes.queries // 2, case.sizes.queries - 1} - {0, case.sizes.queries}:
        for letters in ("n", "nm"):
            fewer = taken(case, letters, slice(0, count))
            seen, of_fewer = function.visible(case)[..., :count, :], function.visible(fewer)
            keys = fewer.sizes.keys
            if function.takes(fewer) and np.array_equal(seen[..., :keys], of_fewer) and not seen[..., keys:].any():
                yield _rows(function(case), slice(None), slice(0, count)), function(fewer), "bits"


@law("the last query gives the same bits alone, as in decoding", never_with=("position", "recurrence"))
def _same_bits_in_decoding(function: Function, case: KernelCase) -> Iterator[Pair]:
    at = slice(case.sizes.queries - 1, case.sizes.queries)
    last = taken(case, "n", at)
    is_other = case.sizes.queries > 1 and function.takes(last)
    if is_other and np.array_equal(function.visible(case)[..., at, :], function.visible(last)):
        yield _rows(function(case), slice(None), at), function(last), "bits"


@law("a query does not see later keys", only_with="causal")
def _later_keys_without_effect(function: Function, case: KernelCase) -> Iterator[Pair]:
    sizes = case.sizes
    if sizes.queries == sizes.keys > 1:  # however the mask is aligned
        half = (sizes.keys + 1) // 2
        others = _with_others(case, lambda x: x[:, :, half:])
        both = (function(case), function(others))
        right, given = (_rows({OUTPUT: found[OUTPUT]}, slice(None), slice(0, half)) for found in both)
        yield right, given, "bits"


@law("a state that is carried on gives the same as all tokens at once", only_with="past_state")
def _same_with_carried_state(function: Function, case: KernelCase) -> Iterator[Pair]:
    whole, half = function(case), function.domain.keys.nearest(max(case.sizes.keys // 2, 1))
    if STATE in whole and half < case.sizes.keys and function.domain.keys.takes(case.sizes.keys - half):
        first = function(taken(case, "nm", slice(0, half)))
        rest = taken(case, "nm", slice(half, None)).with_arrays(past_state=first[STATE])
        second = function(rest)
        yield _rows({OUTPUT: whole[OUTPUT]}, slice(None), slice(0, half)), {OUTPUT: first[OUTPUT]}, "numbers"
        yield _rows({OUTPUT: whole[OUTPUT]}, slice(None), slice(half, None)), {OUTPUT: second[OUTPUT]}, "numbers"
        yield {STATE: whole[STATE]}, {STATE: second[STATE]}, "numbers"


@law("values of 1 give 1", never_with=("sink", "recurrence", "mask", "window", "causal", "key_mask", "key_lengths"))
def _values_of_one(function: Function, case: KernelCase) -> Iterator[Pair]:
    given = function(case.with_arrays(value=np.ones_like(case.arrays["value"])))[OUTPUT]
    yield {OUTPUT: np.ones_like(given)}, {OUTPUT: given}, "numbers"


@law("values of twice the size give twice the output, to the bit")
def _values_doubled(function: Function, case: KernelCase) -> Iterator[Pair]:
    changed = {"value": 2 * case.arrays["value"]}
    if "past_state" in case.arrays:
        changed["past_state"] = 2 * case.arrays["past_state"]
    yield {OUTPUT: 2 * function(case)[OUTPUT]}, {OUTPUT: function(case.with_arrays(**changed))[OUTPUT]}, "bits"


@law("the order of the keys does not matter", never_with=OF_POSITIONS)
def _keys_permuted(function: Function, case: KernelCase) -> Iterator[Pair]:
    if case.sizes.keys > 1:
        yield function(case), function(taken(case, "m", np.arange(case.sizes.keys)[::-1])), "numbers"


@law(
    "a number added to all scores of a query does not matter",
    never_with=("sink", "position", "recurrence", "score", "softcap"),
)
def _scores_shifted(function: Function, case: KernelCase) -> Iterator[Pair]:
    changed = case.with_arrays(key=case.arrays["key"] + SHIFT)
    right, given = ({OUTPUT: function(one)[OUTPUT]} for one in (case, changed))
    yield right, given, "numbers"


@law("two halves of the keys, merged by their log-sum-exps, give the whole", never_with=OF_POSITIONS)
def _halves_merged(function: Function, case: KernelCase) -> Iterator[Pair]:
    whole, half = function(case), function.domain.keys.nearest(max(case.sizes.keys // 2, 1))
    parts = [taken(case, "m", at) for at in (slice(0, half), slice(half, None))] if half < case.sizes.keys else []
    if LSE in whole and parts and all(function.takes(part) for part in parts):
        found = [function(part) for part in parts]
        sums = np.stack([part[LSE].astype(np.float64) for part in found])
        weights = np.exp(sums - np.logaddexp.reduce(sums))
        merged = sum(w[..., None] * part[OUTPUT] for w, part in zip(weights, found, strict=True))
        yield {OUTPUT: whole[OUTPUT]}, {OUTPUT: merged}, "numbers"


@law("what lies in memory behind the length of an item is not read", only_with="key_lengths", extras=("key_lengths",))
def _padding_unread(function: Function, case: KernelCase) -> Iterator[Pair]:
    hidden = np.arange(case.sizes.keys) >= case.arrays["key_lengths"][:, None]  # [b m]
    yield from _unread(function, case, hidden[:, None, :, None])


@law("what lies in memory of masked keys is not read", only_with="key_mask", extras=("key_mask",))
def _masked_keys_unread(function: Function, case: KernelCase) -> Iterator[Pair]:
    yield from _unread(function, case, ~case.arrays["key_mask"][:, None, :, None])


@law("padding gives the same bits as none", only_with="key_lengths", extras=("key_lengths",))
def _same_bits_padded(function: Function, case: KernelCase) -> Iterator[Pair]:
    lengths = case.arrays["key_lengths"]
    for item, length in enumerate(lengths.tolist()):
        alone = taken(taken(case, "b", slice(item, item + 1)), "m", slice(0, length))
        if function.takes(alone):
            yield function(alone), _rows(function(case), slice(item, item + 1)), "bits"


def _unread(function: Function, case: KernelCase, hidden: Array) -> Iterator[Pair]:
    """The results with other numbers where keys and values are hidden."""
    for number in UNREAD:
        changed = {name: np.where(hidden, number, case.arrays[name]) for name in ("key", "value")}
        with np.errstate(over="ignore"):
            yield function(case), function(case.with_arrays(**changed)), "bits"


def _with_others(case: KernelCase, part: Callable[[Array], Array]) -> KernelCase:
    """An input with other keys and values in a part of their axes."""
    changed = {}
    for name in ("key", "value"):
        changed[name] = case.arrays[name].copy()
        part(changed[name])[...] *= OTHER
    return case.with_arrays(**changed)


def try_laws(trial: Trial, domain: Domain, names: Iterable[str] = LAWS) -> tuple[LawResult, ...]:
    """Whether a function keeps each law, on inputs of growing sizes; the first that breaks one is told."""
    return tuple(_tried(trial, domain, LAWS[name]) for name in names)


def _tried(trial: Trial, domain: Domain, record: LawRecord) -> LawResult:
    """Whether a function keeps a law."""
    document = (*trial.description.document, *domain.needed)
    excluded = next((key for key in record.never_with if key in document), None)
    if excluded is not None:
        return LawResult(record.name, record.sentence, None, f"does not apply with {excluded}")
    if record.only_with and record.only_with not in (*document, *domain.extras):
        return LawResult(record.name, record.sentence, None, f"the function is not given {record.only_with}")
    count = 0
    for case in _cases(trial, domain, record):
        try:
            for right, given, kind in record.function(Function(trial, domain), case):
                count += 1
                broken = _difference(case, right, given, kind, trial.inner)
                if broken:
                    return LawResult(record.name, record.sentence, False, broken, case.sizes, case.dtype)
        except _RefusedError:
            continue
    return LawResult(record.name, record.sentence, True if count else None, "" if count else "no input fits")


def _cases(trial: Trial, domain: Domain, record: LawRecord) -> Iterator[KernelCase]:
    """The inputs of a law, the smallest first, in the first type and in one with fewer digits."""
    maker = CaseMaker(domain, trial.options.seed)
    dtypes = dict.fromkeys((domain.dtypes[0], domain.dtypes[-1]))
    heads = [pair for pair in domain.heads if pair[0] > 1] or domain.heads
    made = set()
    for batch, queries, keys in SIZES:
        sizes = domain.fit(Sizes(batch, *heads[0], queries, keys, 8, 8))
        for dtype in dtypes:
            if (sizes, dtype) not in made:
                made.add((sizes, dtype))
                yield maker.make(sizes, dtype, extras=record.extras, about=record.sentence)


def _difference(case: KernelCase, right: Results, given: Results, kind: Kind, inner: str | None) -> str:
    """How results differ, in words: how many numbers, by how much, and the first; "" where they are alike."""
    for name in (name for name in right if name in given):
        expected, found = (np.asarray(x[name]) for x in (right, given))
        precision = _precision(case, expected, inner)
        with np.errstate(invalid="ignore"):
            same = (expected == found) | (np.isnan(expected) & np.isnan(found))
            if kind == "numbers":
                same |= abs(expected.astype(np.float64) - found) <= _allowed(case, precision, expected)
        if not same.all():
            first = np.unravel_index(int(np.flatnonzero(~same)[0]), same.shape)
            values = f"{_text(found[first])}, not {_text(expected[first])}"
            where = f"{name}[{', '.join(map(str, first))}] is {values}"
            by = _units(expected, found, same, precision.epsilon)
            return f"{count_of(int((~same).sum()), 'number')} of {same.size} differ{by}; {where}"
    return ""


def _allowed(case: KernelCase, precision: Precision, right: Array) -> float:
    """By how much numbers may differ that are computed in another order."""
    inner = Precision(precision.accumulation_dtype).epsilon
    features = case.sizes.features
    size = largest_number(case.arrays["query"]) * largest_number(case.arrays["key"]) * features**0.5
    largest = max(largest_number(right), largest_number(case.arrays["value"]))
    return float(UNITS * (precision.epsilon + inner * size) * largest)


def _precision(case: KernelCase, result: Array, inner: str | None) -> Precision:
    """The type of a result, or one in which it is computed: NumPy holds bfloat16 as float32."""
    own = case.dtype if case.dtype in HALF else "float64"
    return Precision(coarsest([own, result.dtype.name, inner or own]))


def _units(right: Array, given: Array, same: Array, epsilon: float) -> str:
    """The largest difference in units in the last place of the type, where it is small."""
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = np.fmax(abs(right), abs(given))[~same].astype(np.float64)
        unit = epsilon * 2.0 ** np.floor(np.log2(sizes))
        units = float(np.max(abs(right.astype(np.float64) - given)[~same] / unit))
    return f" by up to {units:.3g} units in the last place" if np.isfinite(units) else ""


def _text(number: float) -> str:
    return np.format_float_positional(number, unique=True, trim="-") if abs(number) < 1e6 else f"{number:.9g}"
