"""Test vectors: small inputs with the right results and gradients, and which mistakes each of them reveals.

Inputs are multiples of 1/16, which every type has exactly, and results are computed in float64 and rounded to float32:
a seed gives the same bytes everywhere.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from attncli.base.dtypes import Precision, as_floats
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.checks.report import CheckOptions
from attncli.checks.slips.search import run_attempt, single_attempts
from attncli.checks.tolerance import compute_reference, in_type
from attncli.io.assemble import assemble
from attncli.io.problem_files import Origin, RawValue
from attncli.kernels.domain import Sizes
from attncli.kernels.trial import SCORES, largest_number
from attncli.problem.arrays import GivenArray
from attncli.problem.fields import GRADIENT_PREFIX, LSE, OUTPUT
from attncli.problem.spec import ProblemSpec

TYPES = ("float32", "float16", "bfloat16")
STEP = 16  # inputs are multiples of 1/16
ROUNDINGS = 8  # of a kernel, of the largest number: three times the median of what is measured, more than any
OF_OPERANDS = 8  # so much smaller is the part of a score that rounding what is multiplied changes
MARGIN = 2.0  # times the tolerance: what a mistake changes by more is seen, whatever the rounding
PAGE_SIZE = 4
LOUD = 64.0  # the factor of queries whose scores overflow exponentials of float32
GRADIENTS = ("query", "key", "value", "past_key", "past_value", "bias", "sink")


@dataclass(frozen=True)
class VectorRow:
    """A test vector: its name, what it is for, the keys of its problem that are not drawn, and its sizes.

    `extras` are drawn arrays besides query, key and value; `is_loud` says that exponentials of its scores overflow,
    `grows` that scores grow from key to key.
    """

    name: str
    about: str
    sizes: Sizes
    keys: Mapping[str, Any] = field(default_factory=dict)
    extras: tuple[str, ...] = ()
    dtype: str = "float32"
    is_loud: bool = False
    grows: bool = False


_SMALL = Sizes(2, 2, 2, 5, 7, 4, 3)  # batch, heads, heads of keys, queries, keys, features, features of values
_GROUPS = Sizes(2, 4, 2, 5, 7, 4, 3)
_SQUARE = Sizes(1, 2, 2, 7, 7, 4, 3)
_FEW, _MANY = Sizes(1, 2, 2, 3, 7, 4, 3), Sizes(1, 2, 2, 7, 3, 4, 3)
_TILES = Sizes(1, 2, 1, 3, 67, 4, 3)

ROWS: Sequence[VectorRow] = (
    VectorRow("plain", "two batch items, two heads", _SMALL),
    VectorRow("groups", "four heads, two of keys", _GROUPS),
    VectorRow("one_key_head", "four heads, one of keys", Sizes(2, 4, 1, 5, 7, 4, 3)),
    VectorRow("scale", "scale 0.75", _SMALL, {"scale": 0.75}),
    VectorRow("causal", "causal, as many queries as keys", _SQUARE, {"causal": True}),
    VectorRow("causal_top_left", "causal from the first key", _FEW, {"causal": True, "align": "top_left"}),
    VectorRow("causal_bottom_right", "causal to the last key", _FEW, {"causal": True, "align": "bottom_right"}),
    VectorRow(
        "causal_empty", "queries before the first key, which see none", _MANY, {"causal": True, "align": "bottom_right"}
    ),
    VectorRow("window", "the query's key and two before it", _SQUARE, {"window": (2, 0)}),
    VectorRow("window_both", "two keys before, one after", _SQUARE, {"window": (2, 1)}),
    VectorRow("softcap", "softcap 2, causal", _SQUARE, {"softcap": 2.0, "causal": True}),
    VectorRow("softcap_bias", "softcap 2, before a bias", _SMALL, {"softcap": 2.0}, ("bias",)),
    VectorRow("sink", "a sink for each head", _SMALL, extras=("sink",)),
    VectorRow("sink_window", "a sink and a window", _SQUARE, {"window": (2, 0)}, ("sink",)),
    VectorRow("bias", "a bias for each query and key", _SMALL, extras=("bias",)),
    VectorRow("mask", "a mask, with a query that sees no key", _SMALL, extras=("mask",)),
    VectorRow("key_lengths", "batch items of different lengths", _GROUPS, extras=("key_lengths",)),
    VectorRow("packed", "three sequences, causal", Sizes(1, 2, 2, 9, 9, 4, 3), {"causal": True}, ("cu_seqlens",)),
    VectorRow("pages", "a paged cache of keys", Sizes(2, 4, 2, 1, 11, 4, 3), extras=("page_table", "key_lengths")),
    VectorRow("decode", "one query and a cache", Sizes(2, 4, 2, 1, 3, 4, 3), {"causal": True}, ("past",)),
    VectorRow("tiles", "67 keys whose scores grow", _TILES, grows=True),
    VectorRow(
        "tiles_window",
        "a window after 50 hidden keys",
        _TILES,
        {"window": (8, 0), "align": "bottom_right"},
        grows=True,
    ),
    VectorRow("overflow", "scores whose exponentials overflow", _SMALL, is_loud=True),
    VectorRow("float16", "float16, with groups", _GROUPS, dtype="float16"),
    VectorRow("bfloat16", "bfloat16, with groups", _GROUPS, dtype="bfloat16"),
)


@dataclass(frozen=True, eq=False)
class Vector:
    """A row with its numbers: the arrays of its problem, and the results by name, in float32."""

    row: VectorRow
    arrays: Mapping[str, Array]

    @cached_property
    def problem(self) -> ProblemSpec:
        """The problem of its inputs, in its own type."""
        return self.problem_in(self.row.dtype)

    def problem_in(self, dtype: str) -> ProblemSpec:
        """The same problem in a type; every type has its numbers."""
        given: dict[str, Any] = {
            name: GivenArray(array, dtype=dtype if array.dtype.kind == "f" else None)
            for name, array in self.arrays.items()
        }
        document = {
            key: RawValue(value, Origin()) for key, value in ({**given, **self.row.keys, "dtype": dtype}).items()
        }
        return assemble(document).with_gradient() if self.has_gradients else assemble(document)

    @property
    def has_gradients(self) -> bool:
        """Whether it has gradients: a paged cache has none."""
        return "grad_output" in self.arrays

    @property
    def names(self) -> Sequence[str]:
        """The names of its results."""
        made = [key for key in GRADIENTS if key in self.arrays] if self.has_gradients else []
        return (OUTPUT, LSE, *(f"{GRADIENT_PREFIX}{key}" for key in made))

    @cached_property
    def _exact(self) -> Mapping[str, Array]:
        """The right results and the scores, in float64."""
        reference = compute_reference(self.problem, [*self.names, SCORES], CheckOptions())
        return {name: reference.value(name) for name in (*self.names, SCORES)}

    @property
    def results(self) -> Mapping[str, Array]:
        """The right results."""
        return {name: self._exact[name].astype(np.float32) for name in self.names}

    def tolerances(self, dtype: str) -> dict[str, float]:
        """By how much a number of each result may differ that a right kernel of a type has computed.

        Rounding errors grow with the scores and with the largest number of the result, of gradients with that of all.
        They are not measured, which would give others on each machine, and are rounded up to a power of 2.
        """
        scores, accumulated = largest_number(self._exact[SCORES]), Precision(dtype).accumulation_dtype
        error = Precision(accumulated).epsilon * (1 + scores)
        if dtype != accumulated:
            error += Precision(dtype).epsilon * (1 + scores / OF_OPERANDS)
        sizes = {name: largest_number(self._exact[name]) for name in self.names}
        of_gradients = max((size for name, size in sizes.items() if name.startswith(GRADIENT_PREFIX)), default=0.0)
        sizes |= {name: of_gradients for name in sizes if name.startswith(GRADIENT_PREFIX)}
        return {name: 2.0 ** math.ceil(math.log2(ROUNDINGS * error * size)) for name, size in sizes.items()}

    @cached_property
    def reveals(self) -> dict[str, list[str]]:
        """The mistakes that the results reveal, each by the first that does: output, lse, gradients.

        One that is revealed changes a number by more than MARGIN times the tolerance of the type, in each variant.
        """
        allowed, first = self.tolerances(self.row.dtype), dict[str, int]()
        exact = in_type(self.problem, "float64")
        on_demand = tuple(name for name in self.names if name != OUTPUT)
        for attempt in single_attempts(exact, self.row.dtype, on_demand, has_examples=True):
            try:
                with np.errstate(all="ignore"):
                    values = run_attempt(attempt, self.names)
            except AttnError:  # an operator may refuse what a mistake gives it
                continue
            seen = (
                at
                for at, name in enumerate(self.names)
                if name in values and _is_seen(as_floats(values[name]), self._exact[name], allowed[name])
            )
            slip = attempt.slips[0]
            first[slip] = max(first.get(slip, 0), next(seen, len(self.names)))
        return {name: [slip for slip, own in first.items() if own == at] for at, name in enumerate(self.names)}


def _is_seen(wrong: Array, right: Array, allowed: float) -> bool:
    """Whether a number is wrong by more than the tolerance and its margin."""
    if wrong.shape != right.shape:
        return True
    with np.errstate(invalid="ignore"):
        same = (wrong == right) | (np.isnan(wrong) & np.isnan(right)) | (abs(wrong - right) <= MARGIN * allowed)
    return not bool(same.all())


def make_vector(row: VectorRow, seed: int = 0) -> Vector:
    """The numbers of a row from a seed; those of each row are its own.

    >>> vector = make_vector(ROWS[0])
    >>> vector.arrays["query"].shape, vector.results["output"].shape
    ((2, 2, 5, 4), (2, 2, 5, 3))
    """
    return _Maker(row, np.random.default_rng([seed, zlib.crc32(row.name.encode())])).make()


@dataclass(frozen=True)
class _Maker:
    """Draws the arrays of a row."""

    row: VectorRow
    random: "np.random.Generator"

    def make(self) -> Vector:
        """The vector."""
        s = self.row.sizes
        arrays: dict[str, Array] = {
            "query": self._numbers(s.batch, s.heads, s.queries, s.features),
            "key": self._numbers(s.batch, s.kv_heads, s.keys, s.features),
            "value": self._numbers(s.batch, s.kv_heads, s.keys, s.value_features),
        }
        if self.row.is_loud:
            arrays["query"] *= LOUD
        if self.row.grows:
            arrays["query"][..., 0] = 2.0
            arrays["key"][..., 0] = np.arange(s.keys) / STEP
        for extra in self.row.extras:
            arrays |= getattr(self, f"_{extra}")(s, arrays)
        if "page_table" not in arrays:
            arrays["grad_output"] = self._numbers(s.batch, s.heads, s.queries, s.value_features)
        held = Precision(self.row.dtype).numpy_name
        return Vector(self.row, {n: x.astype(held) if x.dtype.kind == "f" else x for n, x in arrays.items()})

    def _numbers(self, *shape: int) -> Array:
        """Multiples of 1/16 from −3 to 3, more near 0."""
        both: Array = self.random.integers(-24, 25, (2, *shape)).sum(axis=0) / STEP
        return both

    def _sink(self, s: Sizes, _arrays: Mapping[str, Array]) -> dict[str, Array]:
        return {"sink": self._numbers(s.heads)}

    def _bias(self, s: Sizes, _arrays: Mapping[str, Array]) -> dict[str, Array]:
        return {"bias": self._numbers(s.queries, s.keys)}

    def _mask(self, s: Sizes, _arrays: Mapping[str, Array]) -> dict[str, Array]:
        mask = self.random.integers(0, 3, (s.queries, s.keys)) > 0
        mask[1], mask[2] = False, np.arange(s.keys) == s.keys - 1  # one sees no key, the next the last alone
        return {"mask": mask}

    def _key_lengths(self, s: Sizes, _arrays: Mapping[str, Array]) -> dict[str, Array]:
        return {"key_lengths": np.array([s.keys - 2 * item for item in range(s.batch)])}

    def _cu_seqlens(self, s: Sizes, _arrays: Mapping[str, Array]) -> dict[str, Array]:
        return {"cu_seqlens": np.array([0, 2, 3, s.queries])}

    def _past(self, s: Sizes, _arrays: Mapping[str, Array]) -> dict[str, Array]:
        """A cache before as many keys as there are queries."""
        new = {
            name: self._numbers(s.batch, s.kv_heads, s.queries, _arrays[name].shape[-1]) for name in ("key", "value")
        }
        return {**new, **{f"past_{name}": _arrays[name] for name in new}}

    def _page_table(self, s: Sizes, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Keys and values as pages in the reverse order, behind one that none reads."""
        count = -(-s.keys // PAGE_SIZE)
        table: Array = np.arange(s.batch * count, 0, -1).reshape(s.batch, count)
        found: dict[str, Array] = {"page_table": table}
        for name in ("key", "value"):
            pages = np.full((s.batch * count + 1, PAGE_SIZE, s.kv_heads, arrays[name].shape[-1]), 48.0)
            for item, number in np.ndindex(*table.shape):
                rows = arrays[name][item, :, number * PAGE_SIZE : (number + 1) * PAGE_SIZE]
                pages[table[item, number], : rows.shape[1]] = rows.swapaxes(0, 1)
            found[name] = pages
        return found
