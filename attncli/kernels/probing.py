"""How a function is called, found by trying: the library of its arrays, their layout, and what its mask is."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from attncli.base.dtypes import HALF
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import join_words
from attncli.engine.run import run
from attncli.kernels.calls import (
    LAYOUTS,
    LSE,
    NO_HEADS,
    OUTPUT,
    Interface,
    describe_layout,
    find_output_layout,
    find_returns,
    first_annotation,
    visible_table,
)
from attncli.kernels.cases import BOUNDS, MEMORIES, PAGE_SIZE, PAGES, CaseMaker, KernelCase
from attncli.kernels.domain import Domain, Extra, Sizes
from attncli.kernels.process import CallFailure, FunctionDescription
from attncli.kernels.report import Failure
from attncli.kernels.trial import COMMAND, JAX, MLX, NUMPY, RECURRENT, SCORES, TORCH, TYPES, Base, Trial, largest_number
from attncli.problem.arrays import GivenArray
from attncli.problem.conventions import find_convention
from attncli.problem.spec import ProblemSpec

# The first has no two axes of the same length that a layout could confuse; constrained kernels take the others,
# with lengths and features in powers of two, and one query as in decoding.
PROBES: tuple[Sizes, ...] = (
    Sizes(2, 3, 3, 5, 5, 4, 4),
    Sizes(2, 4, 4, 128, 128, 64, 64),
    Sizes(2, 4, 4, 1, 128, 64, 64),
    Sizes(2, 4, 4, 256, 256, 128, 128),
    Sizes(2, 4, 4, 64, 64, 16, 16),
    Sizes(1, 1, 1, 128, 128, 64, 64),
)
MOST_ALIKE = 12  # numbers, of which fewer may be alike by chance
PROBE_SECONDS = 20.0  # after which no friendlier input is tried
FIRST_TYPES = ("float64", "float32")  # of the first probe, and of those that constrained kernels take
FRIENDLY_TYPES = ("float32", "float16", "bfloat16", "float64")
PLAIN_LAYOUTS = ("bhnd", "hnd", NO_HEADS)  # which differ in how many axes there are, so that the shape tells them apart
# How well a call works: it gives the right numbers, the right shape, or anything else, or it raises in code of the
# user's own; then, worse, it refuses the arrays, or raises in a library. No other is tried after one without an end.
_RIGHT, _SHAPE, _OTHER, _RAISED, _REFUSED, _IN_LIBRARY, _TIMED_OUT = range(7)
_FOUND_NO_ARRAY = ("tensor", "torch")  # in the text of an error where NumPy's arrays are not what a function takes
_ARRAYS = {
    NUMPY: "NumPy arrays",
    TORCH: "PyTorch tensors",
    JAX: "JAX arrays",
    MLX: "MLX arrays",
    COMMAND: ".npz files",
}
# What is to be typed, by words of the error of a function that refuses arrays of the CPU.
_INTERPRET = "--interpret runs a Triton kernel on the CPU, --device cuda on a GPU"
_NEEDS_DEVICE = {
    "active drivers": _INTERPRET,
    "from triton (cpu tensor": _INTERPRET,
    "libcuda": _INTERPRET,
    "cuda": "--device cuda passes tensors of a GPU",
}
# The recurrences that read these arrays of each token.
_RECURRENCES = {
    frozenset(): ("linear",),
    frozenset({"decay"}): ("gated",),
    frozenset({"beta"}): ("delta",),
    frozenset({"decay", "beta"}): ("gated_delta",),
}
ALIKE = 0.5  # less than this, the output is a wrong one in this layout rather than a right one in another
_ANY_MASKS = ("attention_mask", "attn_mask", "mask")  # names of a mask of keys, or of queries and keys
LOOSE = 1e-3  # of the largest number: so near are results of the right layout in any type


def find_call(trial: Trial, found: FunctionDescription) -> None:
    """Find the library of the arrays, the layout and what is returned: as chosen, or with which the function works.

    The first with which it gives the right numbers is taken; otherwise of the PLAIN_LAYOUTS the first in which the
    output has the right shape, or else the first.
    """
    options = trial.options
    libraries = [options.library] if options.library else _libraries(found)
    trial.interface = replace(trial.interface, device=options.device)
    layouts = [options.layout] if options.layout else _layouts(trial)
    best: _Probe | None = None
    for probe in _probes(trial, libraries, layouts):
        if best is None or (probe.rank < best.rank and probe.may_replace(best)):
            best = probe
        if best.quality in (_RIGHT, _TIMED_OUT):
            break
    assert best is not None
    _check_can_be_called(trial, best, libraries)
    trial.interface, trial.base = best.interface, Base(best.sizes, best.dtype, best.failure is None)
    if options.returns is not None:
        trial.interface = replace(trial.interface, returns=options.returns)
    is_found = best.quality == _RIGHT
    found_or_not = ", found by trying" if is_found else ", assumed, for none gave the right numbers (--layout)"
    how = "" if len(libraries) * len(layouts) == 1 else found_or_not
    arrays = _ARRAYS[trial.interface.library]
    own_layout = describe_layout(trial.interface.layout)
    call = [f"{trial.interface.signature}: {arrays}, {own_layout}{how}"]
    if trial.interface.output_layout:
        call.append(f"returns {describe_layout(trial.interface.output_layout)}")
    trial.remarks[:0] = call


@dataclass(frozen=True)
class _Probe:
    """How well a call works, how it is made, and how it failed, if it gave nothing."""

    quality: int
    interface: Interface
    sizes: Sizes
    dtype: str
    failure: CallFailure | None = None
    unlikeness: float = 1.0  # 1 less the correlation with the right output, of an output of the right shape

    @property
    def rank(self) -> tuple[int, float]:
        """The smaller the better: of those that give other numbers the most alike, of those that raise the first."""
        is_own = self.quality <= _RAISED or self.quality == _TIMED_OUT
        return (min(self.quality, _OTHER) if is_own else self.quality), self.unlikeness

    def may_replace(self, best: "_Probe") -> bool:
        """Whether its layout is one to take: a usual one, or one that its numbers, or a refusal, speak for."""
        is_likely = self.quality in (_RIGHT, _REFUSED) or self.unlikeness < ALIKE
        is_first_with_numbers = best.failure is not None and self.failure is None
        return self.interface.layout in PLAIN_LAYOUTS or is_likely or is_first_with_numbers


def _probes(trial: Trial, libraries: list[str], layouts: Sequence[str]) -> Iterator[_Probe]:
    """How each call works, the likelier and the more telling first, until the time is over.

    PyTorch is added to the libraries where a failure says that arrays of NumPy are no tensors.
    """
    end = time.monotonic() + PROBE_SECONDS
    for sizes in _probe_sizes(trial):
        for library in libraries:
            failures = []
            for layout, interface in product(layouts, _interfaces(trial)):
                probe = _probe_types(trial, replace(interface, library=library, layout=layout), sizes)
                failures += [probe.failure] if probe.failure is not None else []
                yield probe
            if trial.options.library is None and TORCH not in libraries and _are_no_tensors(failures):
                libraries.append(TORCH)
        if time.monotonic() > end:
            return


def _are_no_tensors(failures: Sequence[CallFailure]) -> bool:
    """Whether what was raised says that NumPy's arrays are not the tensors that a function takes."""
    of_types = [one.sentence.casefold() for one in failures if one.cause.startswith(("TypeError ", "AttributeError "))]
    names_array = any("numpy.ndarray' object has no attribute" in text for text in of_types)
    return names_array or any(word in text for text in of_types for word in _FOUND_NO_ARRAY)


def _check_can_be_called(trial: Trial, best: _Probe, libraries: Sequence[str]) -> None:
    """Raise AttnError where a library refuses what the function is given in every layout: that is no wrong number."""
    if best.failure is None or best.quality not in (_REFUSED, _IN_LIBRARY) or not best.failure.is_in_library:
        return
    arrays = " or ".join(_ARRAYS[library] for library in libraries)
    layouts = f"in layout {trial.options.layout}" if trial.options.layout else "in any layout"
    message = f"can't be called with {arrays} {layouts}: it {best.failure.sentence}"
    hint = hint_of(best.failure.sentence, "write a function (query, key, value) that calls it")
    raise AttnError(message, where=trial.interface.function, hint=hint)


def hint_of(sentence: str, otherwise: str) -> str:
    """What to type where a function refuses arrays of the CPU, by what it says; otherwise another hint."""
    said = sentence.casefold()
    return next((hint for text, hint in _NEEDS_DEVICE.items() if text in said), otherwise)


def _interfaces(trial: Trial) -> list[Interface]:
    """The calls to try: decays of each token, or of each of its key features."""
    own = trial.interface
    if "decay" not in own.keys:
        return [own]
    are_of_features = any(one.parameter == "gk" for one in own.passed)
    return [replace(own, have_decays_of_features=one) for one in (are_of_features, not are_of_features)]


def _probe_sizes(trial: Trial) -> list[Sizes]:
    """The sizes to try, the friendlier last; of features and lengths those that the user has said."""
    options = trial.options
    found = PROBES if not (options.features or options.lengths) else PROBES[1:]
    if options.features:
        found = tuple(replace(one, features=options.features[0], value_features=options.features[0]) for one in found)
    if options.lengths:
        queries, keys = options.lengths[0], max(options.lengths)
        found = tuple(replace(one, queries=min(one.queries, queries), keys=queries) for one in found)
        found += (replace(found[0], queries=queries, keys=keys),)
    return list(dict.fromkeys(found))


def _probe_types(trial: Trial, interface: Interface, sizes: Sizes) -> _Probe:
    """How well a call works, in the first type in which it gives something."""
    dtypes = trial.description.dtypes or (FIRST_TYPES if sizes == PROBES[0] else FRIENDLY_TYPES)
    known = TYPES.get(interface.library, TYPES[NUMPY])
    probes = []
    for dtype in [one for one in dtypes if one in known] or dtypes[:1]:  # JAX makes float32 of float64
        probes.append(_probe(trial, interface, sizes, dtype))
        if probes[-1].failure is None or probes[-1].quality == _TIMED_OUT:
            return probes[-1]
    return min(probes, key=lambda probe: probe.quality)


def _libraries(found: FunctionDescription) -> list[str]:
    """The libraries of arrays to try, the likelier first: by annotations, and by what the module imports."""
    annotations = first_annotation(found.parameters)
    if "torch" in annotations or "tensor" in annotations:
        return [TORCH]
    if "ndarray" in annotations or "numpy" in annotations:
        return [NUMPY]
    named = [one for one in (TORCH, JAX, MLX) if one in found.libraries]
    return [*named, NUMPY, *(one for one in found.loaded if one not in named)]


def _layouts(trial: Trial) -> list[str]:
    """The layouts to try, the likelier first; heads are side by side only where the function knows their number."""
    knows_heads = "heads" in trial.interface.keys or trial.description.heads is not None
    name = trial.description.convention
    own = () if name is None else find_convention(name).layouts
    likely = ["nhd", "hnd", NO_HEADS] if "packed" in trial.interface.needed else []
    likely += ["bnhd"] if PAGES in trial.interface.keys else []  # as pages have them
    layouts = dict.fromkeys((*likely, *own, "bhnd", "hnd", NO_HEADS, "bnhd", "nhd"))
    return [layout for layout in layouts if layout in LAYOUTS] + (["bnd"] if knows_heads else [])


def _probe(trial: Trial, interface: Interface, sizes: Sizes, dtype: str) -> _Probe:
    """How well a call works with arrays of some sizes and a type."""
    domain = first_domain(trial, interface)
    case = CaseMaker(domain).make(_with_heads(sizes, domain), dtype)
    sizes = case.sizes
    before, trial.interface = trial.interface, interface
    try:
        problem = trial.problem_of(case)
        returned = trial.runner.call(interface.call(case, problem, trial.visible))
        if isinstance(returned, CallFailure):
            return _Probe(_quality_of(returned), interface, sizes, dtype, returned)
        interface = replace(
            interface,
            returns=find_returns(returned, case, interface.layout, is_recurrence=domain.is_recurrence) or (OUTPUT,),
            output_layout=find_output_layout(returned, case, interface.layout),
        )
        trial.interface = interface
        results = trial.results(case, returned)
        output = None if isinstance(results, Failure) or OUTPUT not in results else results[OUTPUT].array
        if output is None:
            return _Probe(_OTHER, interface, sizes, dtype)
        reference = reference_of(problem, OUTPUT)
        output = output.reshape(reference.shape)
        quality = _RIGHT if is_near(output, reference, dtype) else _SHAPE
        is_by_shape = LSE in interface.returns and returned.parts[interface.returns.index(LSE)].name is None
        if quality == _RIGHT and is_by_shape and isinstance(results, dict):
            interface = _with_known_sums(trial, problem, results[LSE].array, dtype)
        return _Probe(quality, interface, sizes, dtype, unlikeness=_unlikeness(output, reference))
    finally:
        trial.interface = before


def _with_known_sums(trial: Trial, problem: ProblemSpec, found: Array, dtype: str) -> Interface:
    """The call whose part of the shape of a log-sum-exp is one by its numbers too, in base e or 2, or is not compared.

    One that is only like it is compared: it may be a wrong one.
    """
    interface = trial.interface
    lse, scores = (reference_of(problem, name).astype(np.float64) for name in (LSE, SCORES))
    largest = scores.max(axis=-1)
    found = found.astype(np.float64).reshape(lse.shape)
    if is_near(found, lse, dtype):
        return interface
    position = interface.returns.index(LSE) + 1
    if is_near(found, lse / np.log(2), dtype):
        trial.remarks.append(f"part {position}: the log-sum-exp in base 2")
        return replace(interface, lse_base=2)
    known = {"the largest score": largest, "the sum of the exponentials": np.exp(lse - largest)}
    said = next((said for said, right in known.items() if is_near(found, right, dtype)), None)
    if said is None and _unlikeness(found, lse) < ALIKE:
        return interface
    trial.remarks.append(f"part {position}: {said or 'none of the known results'}, not compared")
    return replace(interface, returns=tuple(None if name == LSE else name for name in interface.returns))


def _unlikeness(output: Array, reference: Array) -> float:
    """1 less the correlation of two arrays, to a tenth, where they are finite and vary; else 1."""
    both = np.stack([output.ravel().astype(np.float64), reference.ravel()])
    if both.shape[1] < MOST_ALIKE or not np.isfinite(both).all() or (np.ptp(both, axis=1) == 0).any():
        return 1.0
    return round(1 - float(np.corrcoef(both)[0, 1]), 1)


def _quality_of(failure: CallFailure) -> int:
    """How well a call works that gives nothing."""
    if failure.kind == "timeout":
        return _TIMED_OUT
    if failure.is_refusal:
        return _REFUSED
    return _IN_LIBRARY if failure.is_in_library else _RAISED


def find_mask(trial: Trial) -> None:
    """Find what the mask is: a boolean of queries and keys, numbers added to the scores, or one for each key.

    Tried where no convention says what it is; a query that sees no key may have any result.
    """
    interface = trial.interface
    name = next((one.parameter for one in interface.passed if one.key in ("mask", "key_mask")), None)
    if name is None or trial.description.convention is not None:
        return
    for said, variant in _masks(interface, name):
        trial.interface = variant
        if _is_right_with_mask(trial):
            trial.remarks += [f"{name}: {said}, found by trying"] if said else []
            return
    trial.interface = interface


def _masks(interface: Interface, name: str) -> Iterator[tuple[str, Interface]]:
    """What a mask may be, in words, and how it is passed: first what its name says."""
    yield "", interface
    if name.strip("_").casefold() in _ANY_MASKS:
        passed = tuple(replace(one, key="mask") if one.parameter == name else one for one in interface.passed)
        interface = replace(interface, passed=passed)
        yield "true where a query sees a key", interface
    if "mask" in interface.keys:
        added = "numbers added to the scores, −∞ where a key is hidden"
        for axes, words in ((2, ""), (4, " [1, 1, queries, keys]")):
            if axes == 4:
                yield f"true where a query sees a key{words}", replace(interface, mask_axes=4)
            yield f"{added}{words}", replace(interface, adds_masks=True, mask_axes=axes)


def _is_right_with_mask(trial: Trial) -> bool:
    """Whether the function gives the right numbers for queries that see a key, with a mask on several batch items."""
    interface, sizes, dtype = trial.interface, trial.base.sizes, trial.base.dtype
    domain = first_domain(trial, interface)
    kind: Extra = "mask" if "mask" in interface.keys else "key_mask"
    extras: Sequence[Extra] = (kind, "bias") if interface.adds_masks else (kind,)
    case = CaseMaker(domain).make(sizes, dtype, extras=extras)
    found, problem = results_of(trial, case), trial.problem_of(case)
    if not isinstance(found, dict) or OUTPUT not in found:
        return False
    right, visible = reference_of(problem, OUTPUT), visible_table(problem)
    sees = np.broadcast_to(visible, (*(1,) * (4 - visible.ndim), *visible.shape)).any(axis=-1)  # [b h n]
    seen = np.broadcast_to(sees, right.shape[:-1])
    return is_near(found[OUTPUT].array.reshape(right.shape)[seen], right[seen], dtype)


def is_near(output: Array, right: Array, dtype: str) -> bool:
    """Whether numbers are the right ones, in a function of a type."""
    limit = LOOSE * (10 if dtype in HALF else 1)
    with np.errstate(all="ignore"):
        return bool(np.allclose(output, right, rtol=0, atol=limit * largest_number(right), equal_nan=True))


def reference_of(problem: ProblemSpec, name: str) -> Array:
    """What attn computes, [b h n e]."""
    found: Array = getattr(run(problem, name), name)
    return found


def results_of(trial: Trial, case: KernelCase) -> "dict[str, GivenArray] | CallFailure | Failure":
    """What the function returns of an input, or why it is nothing."""
    returned = trial.runner.call(trial.interface.call(case, trial.problem_of(case), trial.visible))
    return returned if isinstance(returned, CallFailure) else trial.results(case, returned)


def first_domain(trial: Trial, interface: Interface) -> Domain:
    """The domain before anything but the layout is known."""
    description, layout = trial.description, interface.layout
    has_batch = "b" in layout and "packed" not in interface.needed
    knows_heads = "h" in layout or "heads" in interface.keys or description.heads is not None
    recurrence = trial.recurrence
    knows_groups = bool({"kv_heads", "enable_gqa"} & interface.keys)
    if layout == NO_HEADS:
        heads = [(1, 1)]
    elif description.heads is not None or description.kv_heads is not None:
        kv_heads = description.kv_heads or description.heads or 1
        several = [description.heads] if description.heads else [2 * kv_heads, kv_heads, 3 * kv_heads]
        heads = [(count, kv_heads if description.kv_heads else count) for count in several]
    else:
        heads = [(2, 2), (1, 1), (3, 3)] if knows_heads else [(1, 1)]
        heads += [(4, 2), (2, 1), (6, 3), (6, 2)] if knows_groups and knows_heads else []
    return Domain(
        heads=heads,
        has_batch=has_batch,
        memories=tuple(MEMORIES) if interface.library in (NUMPY, TORCH) else ("",),
        extras=_extras(trial, interface),
        needed=(*interface.needed, *_read_always(trial, interface)),
        has_gradients=trial.options.is_backward,
        page_size=PAGE_SIZE if PAGES in interface.keys else 1,
        have_same_bounds=BOUNDS[0] in interface.keys and BOUNDS[1] not in interface.keys,
        scale=trial.scale,
        order="" if recurrence is None else "same",
        is_recurrence=recurrence is not None,
        has_unit_keys=recurrence is not None and "delta" in recurrence.name,
        has_empty_rows=not interface.adds_masks or "empty_rows" in description.document,
        have_decays_of_features=interface.have_decays_of_features,
    )


def _read_always(trial: Trial, interface: Interface) -> list[Extra]:
    """The numbers of each token that a recurrence reads, although the function has a default for them."""
    raw = trial.description.document.get("recurrence")
    if trial.recurrence is None or "slopes=" in str(raw and raw.value):  # from which decays are made
        return []
    of_tokens = [extra for extra in interface.extras if extra in ("decay", "beta")]
    return [x for x in of_tokens if x in trial.recurrence.shapes.arrays and x not in interface.needed]


def _extras(trial: Trial, interface: Interface) -> Sequence[Extra]:
    """The further arguments that are tried: those that the problem does not say already."""
    said = set(trial.description.document)
    reads = {*RECURRENT} if trial.recurrence is None else {*RECURRENT} - {*trial.recurrence.shapes.arrays}
    unread = [extra for extra in interface.needed if extra in reads]
    if unread:
        message = f"takes {join_words(unread)}, which {'is' if len(unread) == 1 else 'are'} of a recurrence"
        hint = f"say which it computes: --recurrence {' or '.join(_RECURRENCES[frozenset(unread) & {'decay', 'beta'}])}"
        raise AttnError(message, where=interface.function, hint=hint)
    return [extra for extra in interface.extras if extra not in said | reads]


def _with_heads(sizes: Sizes, domain: Domain) -> Sizes:
    """Sizes with heads that the function may have, and one batch item where it has no axis of them.

    Those of the first probe are as different as can be, those of constrained kernels usual ones where they may be.
    """
    equal = [pair for pair in domain.heads if pair[0] == pair[1]]
    usual = (sizes.heads, sizes.kv_heads)
    heads, kv_heads = usual if len(equal) > 1 and sizes != PROBES[0] else max(equal or domain.heads)
    return replace(sizes, batch=sizes.batch if domain.has_batch else 1, heads=heads, kv_heads=kv_heads)
