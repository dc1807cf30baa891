"""How a function of the user's is called: which key each of its parameters is, in which layout, and what it returns."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import join_words
from attncli.engine.run import run
from attncli.io.entries import ALIASES
from attncli.kernels.cases import BOUNDS, LAID_OUT, PAGE_SIZE, PAGES, KernelCase
from attncli.kernels.domain import Extra
from attncli.kernels.process import BACKWARD, FORWARD, Argument, Call, FunctionDescription, Parameter, Returned
from attncli.ops.position_biases import published_slopes
from attncli.problem.conventions import hides
from attncli.problem.fields import GRADIENT_PREFIX
from attncli.problem.layout import ARRAY_LAYOUTS, as_given, in_own_order, layout_text
from attncli.problem.names_elsewhere import key_elsewhere
from attncli.problem.spec import ProblemSpec

NO_HEADS = "nd"  # the layout of a function of queries [n d], in addition to those of problems
LAYOUTS = (*ARRAY_LAYOUTS, NO_HEADS)
# The output of some functions, such as those of transformers, has tokens and heads exchanged.
EXCHANGED = {"bhnd": "bnhd", "hnd": "nhd", "bnhd": "bhnd", "nhd": "hnd"}
OUTPUT, LSE, WEIGHTS, STATE = "output", "lse", "weights", "present_state"
RETURNED = (OUTPUT, LSE, WEIGHTS, STATE, "scores", "masked_scores")  # the results that can be compared
# Names of the position of the first query among the keys, where a cache is passed as keys: no key of a problem is that.
PAST_NAMES = ("offset", "q_offset", "query_offset", "start_pos", "start_position", "past", "past_len", "past_length")
GROUPS = "enable_gqa"  # whether there are fewer heads of keys, which shapes say to attn
MODULE = "module"  # the layer, of which functions of transformers read a few attributes
ASKS_STATE = ("output_final_state", "return_final_state", "return_state")  # whether the last state is returned too
SLOPES = ("alibi_slopes", "slopes")  # of ALiBi, a number for each head
INVERTED = ("key_padding_mask", "src_key_padding_mask", "memory_key_padding_mask")  # true where a key is padding
OWN_WIDTH = ("sliding_window",)  # a number that counts the query's own key
EXTRAS: Mapping[str, Extra] = {
    "mask": "mask",
    "bias": "bias",
    "sink": "sink",
    "key_lengths": "key_lengths",
    "key_mask": "key_mask",
    "past_key": "past",
    "past": "past",
    "cu_seqlens": "packed",
    "decay": "decay",
    "beta": "beta",
    "past_state": "past_state",
}
# The number of the bounds of which the longest sequence is passed, by the names that it has.
LONGEST = {"max_seqlen": 0, "max_seqlen_q": 0, "max_seqlen_k": 1, "max_seqlen_kv": 1}
_OWN_NAMES = {  # of parameters that stand for no key of a problem
    **dict.fromkeys(PAST_NAMES, "past"),
    **dict.fromkeys(ASKS_STATE, ASKS_STATE[0]),
    **dict.fromkeys(SLOPES, SLOPES[0]),
    **{name: name for name in (*LONGEST, MODULE)},
}
# The keys that the table of a mask can stand for.
MASKS = ("mask", "causal", "window", "key_lengths", "key_mask", *BOUNDS)


@dataclass(frozen=True)
class Passed:
    """A parameter of the function, and the key of the problem that it is given."""

    parameter: str
    key: str
    is_positional: bool = False
    is_needed: bool = False


@dataclass(frozen=True)
class Interface:
    """How a function is called: its parameters, the layout of its arrays, their library, and what it returns.

    `returns` names the parts of what it returns, with None for those that are not compared.
    """

    passed: tuple[Passed, ...]
    layout: str = "bhnd"
    library: str = "numpy"
    returns: tuple[str | None, ...] = (OUTPUT,)
    left: tuple[str, ...] = ()  # parameters that stay at their defaults
    mask_axes: int = 2  # or 4, with those of batch items and heads
    adds_masks: bool = False  # whether its mask is numbers that are added, −∞ where a key is hidden, not booleans
    backward: tuple[Passed, ...] = ()  # those of a backward function
    gradients: tuple[str, ...] = ()  # the keys whose gradients are compared
    has_autograd: bool = False
    device: str = "cpu"
    have_decays_of_features: bool = False
    lse_base: int = 0  # 2, or e
    output_layout: str = ""  # of the output, where it is another than that of queries
    function: str = "function"

    @property
    def keys(self) -> set[str]:
        """The keys that the function is given."""
        return {one.key for one in self.passed}

    @property
    def extras(self) -> tuple[Extra, ...]:
        """The further arguments that it can be given, and its backward function too."""
        has_cache = "past" in self.keys or {"past_key", "past_value"} <= self.keys
        keys = self.keys & {one.key for one in self.backward} if self.backward else self.keys
        keys = keys | {"bias"} if self.adds_masks else keys
        found = dict.fromkeys(EXTRAS[key] for key in keys if key in EXTRAS)
        return tuple(sorted(extra for extra in found if extra != "past" or has_cache))

    @property
    def needed(self) -> tuple[Extra, ...]:
        """The further arguments that have no default."""
        has_module = MODULE in self.keys  # whose functions take None for a mask
        needed = {one.key for one in self.passed if one.is_needed and not has_module}
        needed |= {"key_lengths"} if PAGES in self.keys else set()  # what is behind them in the last page is unread
        return tuple(extra for extra in self.extras if any(EXTRAS.get(key) == extra for key in needed))

    @property
    def signature(self) -> str:
        """The call as it would be written: `attention(q, k, v, is_causal)`."""
        return f"{self.function}({', '.join(one.parameter for one in self.passed)})"

    def call(self, case: KernelCase, problem: ProblemSpec, plain: "PlainMask") -> Call:
        """The call of the function with an input; `problem` is what attn computes of it."""
        given = Given(self, case, problem, plain)
        arguments, arrays = given.arguments(self.passed)
        gradients: Sequence[str] = ()
        if self.has_autograd:
            arrays["grad_output"] = laid_out(case.arrays["grad_output"], self.layout)
            gradients = [name for name in self.gradients if name in arrays]
        return Call(
            arrays,
            arguments,
            case.dtype,
            case.memory,
            [name for name in (*LAID_OUT, "past_key", "past_value") if name in arrays],
            self.library,
            FORWARD,
            gradients,
            self.device,
        )

    def backward_call(
        self, case: KernelCase, problem: ProblemSpec, plain: "PlainMask", made: Mapping[str, Array]
    ) -> Call:
        """The call of the backward function, which may be given what the forward function has `made`."""
        given = Given(self, case, problem, plain, made)
        arguments, arrays = given.arguments(self.backward)
        names = [name for name in (*LAID_OUT, "grad_output") if name in arrays]
        return Call(arrays, arguments, case.dtype, case.memory, names, self.library, BACKWARD, device=self.device)


NEEDED = Passed("", "scale", is_needed=True)

# The table of who sees whom, by the keys that the function has no parameter of its own for; None where all see all.
PlainMask = Callable[[KernelCase, Sequence[str]], Array | None]


@dataclass(frozen=True)
class Given:
    """What the parameters of one call are given."""

    interface: Interface
    case: KernelCase
    problem: ProblemSpec
    plain: PlainMask
    made: Mapping[str, Array] | None = None

    def arguments(self, passed: Sequence[Passed]) -> tuple[list[Argument], dict[str, Array]]:
        """The arguments in order, and their arrays."""
        arguments, arrays = [], {}
        for one in passed:
            value = self._value(one)
            if value is None:
                if one.is_positional or one.is_needed:
                    arguments.append(Argument(one.parameter, is_positional=one.is_positional))
            elif isinstance(value, np.ndarray):
                arrays[one.key] = np.ascontiguousarray(value)
                arguments.append(Argument(one.parameter, one.key, is_positional=one.is_positional))
            else:
                arguments.append(Argument(one.parameter, None, value, one.is_positional))
        return arguments, arrays

    def _value(self, one: Passed) -> Any:
        """An array or a number; None where the parameter keeps its default."""
        values: Mapping[str, Callable[[Passed], Any]] = {
            **dict.fromkeys((*LAID_OUT, "past_key", "past_value", "grad_output"), self._laid_out),
            **dict.fromkeys(("bias", "sink", "key_lengths"), lambda one: self.case.arrays.get(one.key)),
            **dict.fromkeys((OUTPUT, LSE), lambda one: (self.made or {}).get(one.key)),
            **dict.fromkeys(("decay", "beta"), self._of_tokens),
            "past_state": self._state,
            ASKS_STATE[0]: lambda _: True,
            MODULE: self._module,
            "mask": self._mask,
            "key_mask": self._key_mask,
            "past": lambda one: self.case.past if self.case.past or one.is_needed else None,
            "causal": lambda _: bool(self.problem.causal),
            "scale": self._scale,
            "softcap": lambda _: None if self.problem.softcap is None else float(self.problem.softcap),
            "window": self._window,
            "heads": lambda _: self.case.sizes.heads,
            "kv_heads": lambda _: self.case.sizes.kv_heads,
            SLOPES[0]: self._slopes,
            PAGES: lambda _: self.case.pages[PAGES],
            "page_size": lambda _: PAGE_SIZE,
            **dict.fromkeys(BOUNDS, lambda one: self.case.arguments.get(one.key)),
            **dict.fromkeys(LONGEST, self._longest),
            GROUPS: lambda _: self.case.sizes.heads != self.case.sizes.kv_heads,
        }
        return values[one.key](one)

    def _laid_out(self, one: Passed) -> Array | None:
        """Queries, keys or values; where the function takes a cache, the first keys are in it, not among the others."""
        case, key = self.case, one.key
        if key in ("key", "value") and PAGES in self.interface.keys:
            return case.pages[key]
        cached = case.past if "past_key" in self.interface.keys else 0
        if key.startswith("past_") and not case.past and not one.is_needed:
            return None
        array = case.arrays[key.removeprefix("past_")]
        if key in ("key", "value"):
            array = array[:, :, cached:]
        elif key.startswith("past_"):
            array = array[:, :, :cached]
        return laid_out(array, self.interface.layout)

    def _of_tokens(self, one: Passed) -> Array | None:
        """Numbers of each token, or of its features too, in the layout of the function."""
        array = self.case.arrays.get(one.key)
        if array is None:
            return None
        features = array if array.ndim == 4 else array[..., None]
        found = laid_out(features, self.interface.layout)
        return found if array.ndim == 4 else found[..., 0]

    def _state(self, _: Passed) -> Array | None:
        array = self.case.arrays.get("past_state")
        return None if array is None else _without_batch(array, self.interface.layout)

    def _module(self, _: Passed) -> Mapping[str, Any]:
        """The attributes of a layer of transformers that its attention functions read."""
        sizes = self.case.sizes
        groups = {"num_key_value_groups": sizes.heads // sizes.kv_heads}
        own = {"training": False, "is_causal": bool(self.problem.causal), "scaling": self._scale(NEEDED)}
        return {"attributes": own | groups | {"head_dim": sizes.features, "layer_idx": 0, "config": {}}}

    def _mask(self, _: Passed) -> Array | None:
        found = self._mask_table()
        return found if found is None or found.ndim == 4 or self.interface.mask_axes == 2 else found[None, None]

    def _mask_table(self) -> Array | None:
        """Who sees whom, or numbers that are added to the scores; None where all see all."""
        own = [key for key in MASKS if key in self.interface.keys and key != "mask"]
        visible = self.plain(self.case, own)
        if not self.interface.adds_masks:
            return ~visible if visible is not None and hides(self.problem.convention, "mask") else visible
        if visible is None and "bias" not in self.case.arrays:
            return None
        added = self.case.arrays.get("bias", np.zeros((), self.case.arrays["query"].dtype))
        return np.where(True if visible is None else visible, added, -np.inf).astype(added.dtype)

    def _key_mask(self, one: Passed) -> Array | None:
        mask = self.case.arrays.get("key_mask")
        is_inverted = one.parameter in INVERTED or hides(self.problem.convention, "key_mask")
        return ~mask if mask is not None and is_inverted else mask

    def _longest(self, one: Passed) -> int | None:
        """The length of the longest of packed sequences."""
        bounds = self.case.arguments.get(BOUNDS[LONGEST[one.key]])
        return None if bounds is None else int(np.diff(bounds).max())

    def _slopes(self, _: Passed) -> Array | None:
        """The slope of each head where the problem has ALiBi: its own, or those that are published."""
        position = self.problem.position
        if position is None or position.record.name != "alibi":
            return None
        own = position.parameters.get("slopes")
        heads = self.case.sizes.heads
        return published_slopes(shape=(heads,)) if own is None else np.broadcast_to(own, (heads,))

    def _scale(self, one: Passed) -> float | None:
        if self.problem.scale is None and one.is_needed:
            return 1 / math.sqrt(self.case.sizes.features)
        return None if self.problem.scale is None else float(self.problem.scale)

    def _window(self, one: Passed) -> Any:
        """The keys on the left and on the right, −1 for all; a number that counts the query's own key where one is."""
        if self.problem.window is None:
            return None
        left, right = (-1 if math.isinf(side) else int(side) for side in self.problem.window)
        return left + 1 if one.parameter in OWN_WIDTH else [left, right]


def _without_batch(array: Array, layout: str) -> Array:
    """An array [b h …] without the axes that a layout does not have."""
    return array[0, 0] if layout == NO_HEADS else array if "b" in layout else array[0]


def laid_out(array: Array, layout: str) -> Array:
    """An array [b h n d] in a layout: with heads side by side where it has no heads, the first item where no batch."""
    if layout == NO_HEADS:
        first: Array = array[0, 0]
        return first
    if "h" not in layout:
        batch, _, tokens, _ = array.shape
        array = array.transpose(0, 2, 1, 3).reshape(batch, tokens, -1)
    found: Array = as_given(array, layout)
    return found


def in_own_axes(array: Array, layout: str, heads: int) -> Array:
    """An array of a layout as [b h n d]; the inverse of `laid_out`."""
    if layout == NO_HEADS:
        return array[None, None]
    array = in_own_order(array, layout)
    if "h" not in layout:
        batch, tokens, _ = array.shape
        array = array.reshape(batch, tokens, heads, -1).transpose(0, 2, 1, 3)
    return array


def shape_in(layout: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in a layout of an array [b h n d], without its numbers.

    >>> shape_in("bnhd", (2, 3, 5, 4)), shape_in("bnd", (2, 3, 5, 4))
    ((2, 5, 3, 4), (2, 5, 12))
    """
    return laid_out(np.broadcast_to(np.zeros(1, bool), shape), layout).shape


def describe_layout(layout: str) -> str:
    """A layout with its axes in words."""
    return f"{layout} (tokens, features)" if layout == NO_HEADS else f"{layout} {layout_text(layout)}"


def read_interface(description: FunctionDescription, name: str) -> Interface:
    """How a function is called, by the names of its parameters; raises AttnError where that can't be told."""
    passed, left = _read_parameters(description, name, LAID_OUT)
    return Interface(passed, left=left, function=name)


def read_backward(description: FunctionDescription, name: str, interface: Interface) -> Interface:
    """The same with the parameters of a backward function, which returns gradients of queries, keys and values."""
    passed, _ = _read_parameters(description, name, (*LAID_OUT, "grad_output"))
    return replace(interface, backward=passed, gradients=LAID_OUT)


def with_autograd(interface: Interface) -> Interface:
    """The same with the gradients of PyTorch's automatic differentiation compared."""
    gradients = tuple(key for key in (*LAID_OUT, "bias", "sink") if key in interface.keys)
    return replace(interface, gradients=gradients, has_autograd=True)


def _read_parameters(
    description: FunctionDescription, name: str, usual: Sequence[str]
) -> tuple[tuple[Passed, ...], tuple[str, ...]]:
    """The parameters that are given a key, and the names of those that keep their defaults."""
    if description.parameters is None:  # as of a compiled function: queries, keys and values come first
        return tuple(Passed(key, key, is_positional=True, is_needed=True) for key in usual), ()
    parameters = [one for one in description.parameters if not one.takes_any]
    known = (*_PASSED, *_MADE) if "grad_output" in usual else _PASSED
    keys = {one.name: _key_of(one.name, known) for one in parameters}
    if MODULE in keys.values():
        keys = {name: "mask" if key == "key_mask" else key for name, key in keys.items()}
    if not set(LAID_OUT) <= set(keys.values()):
        first = [one.name for one in parameters if not one.is_keyword][: len(usual)]
        if len(first) < len(usual):
            takes_any = [one for one in description.parameters if one.takes_any]
            if takes_any and not parameters:
                return tuple(Passed(key, key, is_positional=True, is_needed=True) for key in usual), ()
            hint = "write a function (query, key, value) that calls it"
            raise AttnError(f"{name} does not take {join_words(list(usual))}", where=description.target, hint=hint)
        keys = {
            **{other: None for other in keys if keys[other] in usual},
            **{k: v for k, v in keys.items() if v not in usual},
        }
        keys |= dict(zip(first, usual, strict=True))
    passed: list[Passed] = []
    left = []
    for one in parameters:
        key = keys[one.name]
        if key is not None and key not in [other.key for other in passed]:
            passed.append(Passed(one.name, key, one.is_positional_only, not one.has_default))
        elif one.has_default:
            left.append(one.name)
        else:
            hint = "write a function (query, key, value) that calls it"
            raise AttnError(f"{name} takes {one.name!r}, which attn does not know", where=description.target, hint=hint)
    return tuple(passed), tuple(left)


_PASSED = (
    *LAID_OUT,
    *("past_key", "past_value", "mask", "bias", "sink", "key_lengths", "key_mask", "causal", "scale", "softcap"),
    *("decay", "beta", "past_state", "window", "heads", "kv_heads", *BOUNDS, PAGES, "page_size"),
)
PASSED_KEYS = {*_PASSED, "position"}  # keys of a problem that a function may be given
_MADE = ("grad_output", OUTPUT, LSE)  # what a backward function is given, too


def _key_of(parameter: str, passed: Sequence[str]) -> str | None:
    """The one of the keys that a parameter is, by its name; None where it is none of them."""
    plain = parameter.strip("_").casefold()
    if "gqa" in plain:
        return GROUPS
    if plain in _OWN_NAMES:
        return _OWN_NAMES[plain]
    plural = plain.removesuffix("s")
    candidates = (plain, ALIASES.get(plain), key_elsewhere(plain), plural, ALIASES.get(plural))
    return next((key for key in candidates if key in passed), None)


def read_returns(names: str | Sequence[str], where: str) -> tuple[str | None, ...]:
    """The results that a function returns, of which a text has commas between: None for `-`, which is not compared.

    Raises UnknownNameError for a result that can't be compared.

    >>> read_returns("output, -, -, lse", "--returns")
    ('output', None, None, 'lse')
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    found = tuple(None if name == "-" else ALIASES.get(name, name) for name in names)
    for name in found:
        if name is not None and name not in RETURNED:
            raise UnknownNameError("result", name, (*RETURNED, "-"), where=where)
    return found


def find_returns(
    returned: Returned, case: KernelCase, layout: str, *, is_recurrence: bool = False
) -> tuple[str | None, ...]:
    """Which result each part of what was returned is: by its name, or by its shape; the first is the output."""
    sizes = case.sizes
    of_rows = _lse_shapes(case, layout)
    of_tables, of_state = _table_shape(case, layout), _state_shape(case, layout)
    found: list[str | None] = []
    for number, part in enumerate(returned.parts):
        own = None if part.name is None else ALIASES.get(part.name.casefold(), part.name.casefold())
        shape = None if part.array is None else part.array.shape
        if (own or "").startswith(GRADIENT_PREFIX):  # by automatic differentiation
            continue
        if own in RETURNED:
            found.append(own if part.type != "None" else None)
        elif number == 0:
            found.append(OUTPUT)
        elif is_recurrence:
            found.append(STATE if shape == of_state else None)
        elif shape == of_tables and WEIGHTS not in found and sizes.keys != sizes.value_features:
            found.append(WEIGHTS)
        elif shape in of_rows and LSE not in found:
            found.append(LSE)
        else:
            found.append(None)
    return tuple(found)


def find_output_layout(returned: Returned, case: KernelCase, layout: str) -> str:
    """The layout of the first part of what was returned, where its tokens and heads are exchanged; else ""."""
    first = returned.parts[0].array if returned.parts else None
    sizes, exchanged = case.sizes, EXCHANGED.get(layout)
    if first is None or exchanged is None:
        return ""
    shapes = [shape_in(x, (sizes.batch, sizes.heads, sizes.queries, sizes.value_features)) for x in (layout, exchanged)]
    return exchanged if first.shape == shapes[1] != shapes[0] else ""


def _lse_shapes(case: KernelCase, layout: str) -> Sequence[tuple[int, ...]]:
    """The shapes that a number for each query of each head may have: heads first, or as the layout has them."""
    sizes = case.sizes
    own = (sizes.batch, sizes.heads, sizes.queries)
    if layout == NO_HEADS:
        return [own[2:]]
    start = 0 if "b" in layout else 1
    return [own[start:], (own[0], own[2], own[1])[start:]]


def _table_shape(case: KernelCase, layout: str) -> tuple[int, ...]:
    """The shape of a table of queries and keys."""
    sizes = case.sizes
    own = (sizes.batch, sizes.heads, sizes.queries, sizes.keys)
    return own[2:] if layout == NO_HEADS else own if "b" in layout else own[1:]


def _state_shape(case: KernelCase, layout: str) -> tuple[int, ...]:
    """The shape of the state of a recurrence."""
    sizes = case.sizes
    own = (sizes.batch, sizes.heads, sizes.features, sizes.value_features)
    return own[2:] if layout == NO_HEADS else own if "b" in layout else own[1:]


def to_own_axes(name: str, array: Array, case: KernelCase, layout: str) -> tuple[Array | None, str]:
    """A result in attn's axes, or None, and the shapes that it should have."""
    sizes = case.sizes
    if name == OUTPUT or name.startswith(GRADIENT_PREFIX):
        key = name.removeprefix(GRADIENT_PREFIX)
        if key in ("bias", "sink"):
            expected = case.arrays[key].shape
            return (array, "") if array.shape == expected else (None, str(expected))
        heads = sizes.heads if key in (OUTPUT, "query") else sizes.kv_heads
        rows = sizes.queries if key in (OUTPUT, "query") else sizes.keys
        width = sizes.features if key in ("query", "key") else sizes.value_features
        expected = shape_in(layout, (sizes.batch, heads, rows, width))
        return (in_own_axes(array, layout, heads), "") if array.shape == expected else (None, str(expected))
    own: tuple[int, ...] = (sizes.batch, sizes.heads, sizes.queries)
    if name == LSE:
        expected, turned = _lse_shapes(case, layout)[0], _lse_shapes(case, layout)[-1]
        if array.shape == turned != expected:  # tokens before heads
            array = array.swapaxes(-1, -2)
    elif name == STATE:
        expected, own = _state_shape(case, layout), (*own[:2], sizes.features, sizes.value_features)
    else:
        expected, own = _table_shape(case, layout), (*own, sizes.keys)
    return (array.reshape(own), "") if array.shape == expected else (None, str(expected))


def visible_table(problem: ProblemSpec) -> Array:
    """Who sees whom, [n m] or [b h n m] where batch items or heads differ."""
    found: Array = run(problem, "visible").visible
    return found


def parameters_said(interface: Interface, problem_keys: Sequence[str]) -> tuple[list[str], list[str]]:
    """The keys of the problem that the function is given, and those that it must know of itself."""
    keys = interface.keys | ({*MASKS} if "mask" in interface.keys else set())
    keys |= {"position"} if SLOPES[0] in interface.keys else set()
    given = [key for key in problem_keys if key in keys]
    return given, [key for key in problem_keys if key not in given]


def first_annotation(parameters: Sequence[Parameter] | None) -> str:
    """The annotations of the parameters, joined, in small letters."""
    return " ".join(one.annotation for one in parameters or ()).casefold()
