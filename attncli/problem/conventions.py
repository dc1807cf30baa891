"""Conventions: how each framework reads the keys of a problem."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import repr_excerpt
from attncli.ops.records import Operator
from attncli.problem.convert import to_field
from attncli.problem.layout import OWN_LAYOUTS, laid_out, layout_text
from attncli.problem.mask_expressions import TABLE, MaskExpression, MaskLeaf, operators_of_mask
from attncli.problem.recurrences import heads_before_tokens
from attncli.problem.spec import DEFAULTS, FIELDS, ConventionUse

Window = tuple[float, float]

HEADS_SECOND, HEADS_THIRD, HEADS_OF_ONE_ITEM = "bhnd", "bnhd", "nhd"  # orders of axes; attn's is the first


@dataclass(frozen=True, eq=False)
class Reading:
    """How a framework reads one word, as a sentence; and its translation to attn's keys if attn differs.

    `change` translates the word's converted value to attn's; `reorder` puts its array into attn's order of axes, given
    the word, the array and the other values. The word's presence sets `keys`, unless they are given themselves: only
    with one of the words in `beside`, if any, and never with one in `not_beside`. `limit` says why the framework
    rejects a value, or "".
    """

    text: str
    change: Callable[[Any], Any] | None = None
    reorder: Callable[[str, Array, Mapping[str, Any]], Array] | None = None
    keys: Mapping[str, Any] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    not_beside: tuple[str, ...] = ()
    limit: Callable[[Any], str] | None = None

    def matters(self, words: Collection[str]) -> bool:
        """Whether its keys have an effect with these words."""
        return not self.beside or not {*self.beside}.isdisjoint(words)

    def opponents(self, words: Collection[str]) -> Sequence[str]:
        """The words that prevent its keys, which would have an effect, from applying."""
        return [word for word in self.not_beside if word in words] if self.matters(words) else []


@dataclass(frozen=True, eq=False)
class Convention:
    """How one framework reads the words of a problem.

    `words` has the reading of each word: a key, or one operator of a key, `position alibi`. `defaults` are keys that
    apply unless given. It takes only one word of each group in `exclusive`. `layouts` are the orders of axes of its
    queries, keys and values: the one with the right number of axes sets the key `layout`, unless that is given.
    """

    name: str
    title: str
    version: str  # the version that was run, or whose documentation was read; "" for this program
    source: str
    words: Mapping[str, Reading]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    exclusive: tuple[tuple[str, ...], ...] = ()
    layouts: tuple[str, ...] = (HEADS_SECOND,)
    is_run: bool = True  # tests compare it with the framework; otherwise it comes from the documentation

    @property
    def evidence(self) -> str:
        """The source of this knowledge."""
        if not self.version:
            return "as this program computes"
        known = "tested against" if self.is_run else "from its documentation,"
        return f"{known} version {self.version}"

    def reading(self, key: str, value: Any) -> Reading | None:
        """Its reading of a key's value; None if it has no such word."""
        operator = f"{key} {value.record.name}" if isinstance(value, Operator) else key
        return self.words.get(operator, self.words.get(key))

    @property
    def layout_text(self) -> str:
        """The orders of the axes of queries, keys and values.

        >>> find_convention("jax").layout_text
        '(batch, tokens, heads, features) or (tokens, heads, features)'
        """
        return " or ".join(map(layout_text, self.layouts))


def _inverted(mask: Array) -> Array:
    """True where a mask is false."""
    return np.logical_not(mask)


def _row_of_infinities(bias: Array) -> str:
    """The remark on a bias with a row of −∞; otherwise ""."""
    has_row = bool(np.isneginf(bias).all(axis=-1).any())
    return "gives NaN for a row of −∞ in bias: read as a row without keys" if has_row else ""


def with_its_own(window: Window) -> Window:
    """A window without the query's own key, which its sides also count; a side of 0 or without limit stays.

    >>> with_its_own((3, 0))
    (2, 0)
    """
    left, right = (max(side - 1, 0) for side in window)
    return left, right


def _one_number(window: Window) -> str:
    """The remark on a window with two different sides, if the framework takes one number; otherwise ""."""
    left, right = window
    return "" if left == right or 0 in window else "takes one number for both sides of window: read as two"


def _limited(window: Window) -> str:
    """The remark on a window with an unlimited side; otherwise ""."""
    return "has no window without a limit: read as attn reads it" if inf in window else ""


ATTENDS = Reading("1 or true attends")
HIDES = Reading("1 or true hides", change=_inverted)
REAL_KEYS = Reading("1 is a real key")
PADDING = Reading("1 is padding", change=_inverted)
AS_MASK = Reading("as a mask [b 1 1 m], 1 is a real key")
REAL_COUNTS = Reading("so many keys of each batch item are real")
ADDED = Reading("added to the scores")
ADDED_BUT_NO_ROW = Reading("added to the scores; a row of −∞ is NaN", limit=_row_of_infinities)
SCALE = Reading("in place of 1/√d")
BEFORE_ALL = Reading("before bias and masks")
TOP_LEFT = Reading("top left, query i attends to keys 0 … i")
AT_END = {"align": "bottom_right"}
BOTTOM_RIGHT = Reading("bottom right, the last query is at the last real key", keys=AT_END)
BESIDE_ITS_OWN = "so many keys on either side of its own"
WINDOW = Reading(f"{BESIDE_ITS_OWN}; −1: no limit")
GROUPED = Reading("query head h reads key head h // (heads / kv_heads)")
CACHE_FIRST = Reading("the cache comes first, and queries after it")
NO_OFFSET = Reading(
    "put before the keys by the caller; masks count from the first of them",
    keys={"align": "first_key"},
    beside=("causal", "window"),
    not_beside=("position",),
)
TOKENS_FIRST = Reading("(batch, tokens, heads · features) or (batch, tokens, heads)", reorder=heads_before_tokens)
LAYER_WEIGHTS = ("w_q", "w_k", "w_v", "w_o")  # the weights in frameworks' layers
OUT_IN = Reading("stored out_in, x @ W.T", keys={"weight_layout": "out_in"})

# A table: one word per line would make it four times as long.
# fmt: off
# attn itself: its own reading of every word that a convention may have.
ATTN = Convention("attn", "attn, without a convention", "", "attn list, attn show", {
        "past_key": CACHE_FIRST, "mask": ATTENDS, "key_mask": REAL_KEYS, "bias": ADDED,
        "causal": Reading("top left after any cache: query i is at new key i, unless align is given"),
        "window": WINDOW, "key_lengths": REAL_COUNTS, "scale": SCALE, "softcap": BEFORE_ALL,
        "position": Reading("alibi is −slope · |position of the query − j|; rope rotates halves"),
        "kv_heads": GROUPED, "sink": Reading("one more key in the softmax, which is dropped"),
        "qk_norm": Reading("of each head, before rope"),
        "query_scale": Reading("of its position, after norm and rope"), "value_norm": Reading("of each head"),
        "decay": Reading("(batch, heads, tokens, features) or (batch, heads, tokens)"),
        "beta": Reading("(batch, heads, tokens)"),
        "context_norm": Reading("of each head, before w_o"), "score": Reading("scaled_dot unless it is given"),
        "normalize": Reading("softmax unless it is given"), "context": Reading("weighted_sum unless it is given"),
        **dict.fromkeys((x for x in FIELDS if FIELDS[x].is_weight), Reading("stored in_out, x @ W")),
    }, defaults={"empty_rows": "zeros"})
TORCH_SDPA = Convention("torch-sdpa", "PyTorch torch.nn.functional.scaled_dot_product_attention", "2.13",
    "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html", {
        "mask": ATTENDS, "key_mask": AS_MASK, "bias": ADDED, "causal": TOP_LEFT, "past_key": NO_OFFSET,
        "scale": SCALE, "kv_heads": GROUPED,
    }, defaults={"empty_rows": "zeros"}, exclusive=(("mask", "key_mask", "bias", "causal"),))
TORCH_MHA = Convention("torch-mha", "PyTorch torch.nn.MultiheadAttention", "2.13",
    "https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html", {
        "mask": HIDES, "key_mask": PADDING, "bias": ADDED, "causal": TOP_LEFT,
        **dict.fromkeys((*LAYER_WEIGHTS, "w_qkv"), OUT_IN),  # w_qkv is its in_proj_weight
    }, defaults={"empty_rows": "nan"}, exclusive=(("mask", "bias", "causal"),))
ONNX = Convention("onnx", "ONNX operators Attention, opset 25, and LinearAttention, opset 27", "1.23",
    "https://onnx.ai/onnx/operators/onnx__Attention.html", {
        "past_key": CACHE_FIRST, "mask": ATTENDS, "bias": ADDED,
        "causal": Reading("top left after any cache; with key_lengths bottom right"), "window": WINDOW,
        "key_lengths": Reading("nonpad_kv_seqlen, the last query is at the last real key",
            keys=AT_END, beside=("causal", "window")),
        "scale": SCALE, "softcap": BEFORE_ALL, "kv_heads": GROUPED, "decay": TOKENS_FIRST, "beta": TOKENS_FIRST,
    }, defaults={"empty_rows": "zeros"}, exclusive=(("mask", "bias"), ("past_key", "key_lengths")))
# 2.1 and later.
FLASH = Convention("flash", "FlashAttention flash_attn_func", "2.8",
    "https://github.com/Dao-AILab/flash-attention, flash_attn_interface.py, README of 2.1, csrc mask.h", {
        "causal": BOTTOM_RIGHT, "window": Reading(f"bottom right, {BESIDE_ITS_OWN}; −1: no limit", keys=AT_END),
        "key_lengths": Reading("cu_seqlens or cache_seqlens, the last query is at the last real key"),
        "past_key": CACHE_FIRST, "scale": SCALE, "softcap": Reading("before the masks"),
        "position alibi": Reading("−slope · |i + m − n − j|, bottom right", keys=AT_END), "kv_heads": GROUPED,
    }, defaults={"empty_rows": "zeros"}, layouts=(HEADS_THIRD,), is_run=False)
XFORMERS = Convention("xformers", "xFormers xformers.ops.memory_efficient_attention", "0.0.35",
    "https://facebookresearch.github.io/xformers/components/ops.html, xformers/ops/fmha/attn_bias.py", {
        "past_key": NO_OFFSET, "bias": ADDED,
        "causal": Reading("LowerTriangularMask, top left; with a window bottom right"),
        "window": Reading(f"LocalAttentionFromBottomRightMask, bottom right, {BESIDE_ITS_OWN}", keys=AT_END),
        "scale": SCALE, "kv_heads": GROUPED,
    }, defaults={"empty_rows": "nan"},  # as in its documentation's equivalent code; its kernels may give 0
    exclusive=(("bias", "window"),), layouts=(HEADS_THIRD,), is_run=False)
KERAS = Convention("keras", "Keras keras.layers.MultiHeadAttention", "3.15",
    "https://keras.io/api/layers/attention_layers/multi_head_attention/", {
        "mask": ATTENDS, "key_mask": REAL_KEYS, "causal": TOP_LEFT,
        "window": Reading("sliding_window, so many keys on a side with its own",
            change=with_its_own, limit=_one_number),
        **dict.fromkeys(LAYER_WEIGHTS, Reading("in_out with heads apart, (features, heads, head features)")),
    }, defaults={"empty_rows": "uniform"})
# A layer without projections.
KERAS_ATTENTION = Convention("keras-attention", "Keras keras.layers.Attention", "3.15",
    "https://keras.io/api/layers/attention_layers/attention/", {
        "key_mask": REAL_KEYS, "causal": TOP_LEFT,
        "scale": Reading("the learned number of use_scale; without it there is no scale"),
        "score dot": Reading("the score unless it is given"),
    }, defaults={"empty_rows": "uniform", "score": "dot"})
JAX = Convention("jax", "JAX jax.nn.dot_product_attention", "0.10",
    "https://docs.jax.dev/en/latest/_autosummary/jax.nn.dot_product_attention.html", {
        "past_key": NO_OFFSET, "mask": ATTENDS, "key_mask": AS_MASK,
        "bias": Reading("added to the scores; a row of −∞ is NaN, or uniform over those of its keys that masks hide",
            limit=_row_of_infinities),
        "causal": TOP_LEFT, "window": Reading(f"top left, {BESIDE_ITS_OWN}", limit=_limited),
        "key_lengths": REAL_COUNTS, "scale": SCALE, "kv_heads": GROUPED,
    }, defaults={"empty_rows": "uniform"}, exclusive=(("mask", "key_mask"),), layouts=(HEADS_THIRD, HEADS_OF_ONE_ITEM))
MLX = Convention("mlx", "MLX mlx.core.fast.scaled_dot_product_attention", "0.32",
    "https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core.fast.scaled_dot_product_attention.html", {
        "past_key": Reading("put before the keys by the caller; causal is bottom right, so queries come after it"),
        "mask": ATTENDS, "key_mask": AS_MASK, "bias": ADDED_BUT_NO_ROW, "causal": BOTTOM_RIGHT, "scale": SCALE,
        "kv_heads": GROUPED, "sink": Reading("sinks, one more key in the softmax, which is dropped"),
    }, defaults={"empty_rows": "uniform"}, exclusive=(("mask", "key_mask", "bias", "causal"),))
# fmt: on
_LIST = (ATTN, TORCH_SDPA, TORCH_MHA, ONNX, FLASH, XFORMERS, KERAS, KERAS_ATTENTION, JAX, MLX)  # for `attn list`
CONVENTIONS: Mapping[str, Convention] = {convention.name: convention for convention in _LIST}


def find_convention(name: Any, where: str | None = None) -> Convention:
    """The convention of that name.

    Raises UnknownNameError with the nearest name, and AttnError for a value that is not a name.

    >>> find_convention("torch-mha").words["mask"].text
    '1 or true hides'
    """
    if not isinstance(name, str):
        hint = f"expected one of {', '.join(CONVENTIONS)}"
        raise AttnError(f"{repr_excerpt(name)} is not the name of a convention", where=where, hint=hint)
    if name not in CONVENTIONS:
        raise UnknownNameError("convention", name, CONVENTIONS, where=where)
    return CONVENTIONS[name]


def hides(use: ConventionUse | None, key: str) -> bool:
    """Whether a problem's convention has inverted a key's mask.

    >>> hides(ConventionUse("torch-mha", ""), "mask"), hides(None, "mask")
    (True, False)
    """
    reading = None if use is None else find_convention(use.name).words.get(key)
    return reading is not None and reading.change is _inverted


def in_words_of(name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays by key in the form of a convention: masks that hide are inverted.

    >>> in_words_of("torch-mha", {"mask": np.array([True, False])})
    {'mask': array([False,  True])}
    """
    use = ConventionUse(name, "")
    return {key: _inverted(array) if hides(use, key) else array for key, array in arrays.items()}


def read_words(convention: Convention, given: Mapping[str, Any]) -> tuple[dict[str, Any], ConventionUse]:
    """Translate converted values to attn's keys, and record the changes.

    A value of one of attn's own keys, such as `align`, applies unchanged.

    >>> values, use = read_words(find_convention("flash"), {"causal": True})
    >>> values["align"], use.changes
    ('bottom_right', ('causal: bottom right, the last query is at the last real key',))
    """
    found, defaults = _with_rule_as_key(given), {**DEFAULTS, **convention.defaults}
    words = {key: found[key] for key in ATTN.words if key in found and not _is_default(found[key], defaults[key])}
    values, in_force = dict(given), dict(convention.defaults)
    changed: dict[Reading, list[str]] = {}
    for key, value in words.items():
        reading = convention.reading(key, value)
        if reading is None:
            continue
        has_keys = reading.matters(words) and not reading.opponents(words)
        keys = {name: new for name, new in reading.keys.items() if name not in given} if has_keys else {}
        # A rule is not inverted; in an expression only the word's own leaves change.
        expression = _expression_with(key, given)
        is_changed = expression is not None or not isinstance(value, (Operator, MaskExpression))
        changes_value = reading.change is not None and is_changed
        if reading.change is not None and expression is not None:
            values["mask"] = _with_changed_leaves(values["mask"], key, reading.change)
        elif reading.change is not None and changes_value:
            values[key] = reading.change(value)
            if key not in given:
                del values["mask"]  # it named the rule
        if reading.reorder is not None:
            values[key] = reading.reorder(key, value, given)
            changes_value = values[key] is not value
        if keys or changes_value:
            changed.setdefault(reading, []).append(_name(convention, key, value))
        in_force |= keys
    values |= {name: to_field(FIELDS[name], value) for name, value in in_force.items() if name not in given}
    changes: tuple[str, ...] = ()
    layout = given.get("layout") or _layout(convention, given)
    if layout is not None:
        values["layout"] = layout
        changes = (f"{', '.join(laid_out(given))}: {layout_text(layout)}",) if layout not in OWN_LAYOUTS else ()
    changes += tuple(
        f"{', '.join(names)}: {reading.text}"
        for reading, names in changed.items()
        if reading.change or reading.reorder or reading.keys.items() & in_force.items()  # a later word may override it
    )
    remarks = tuple(_remarks(convention, words))
    return values, ConventionUse(convention.name, convention.version, changes, remarks)


def _layout(convention: Convention, given: Mapping[str, Any]) -> str | None:
    """The convention's order of axes for arrays with so many axes; None if it is attn's own.

    Packed sequences have no batch axis; their heads come after the tokens if other arrays' do.
    """
    counts, layouts = {given[name].ndim for name in laid_out(given)}, convention.layouts
    if given.get("cu_seqlens") is not None and HEADS_THIRD in layouts:
        layouts = (*layouts, HEADS_OF_ONE_ITEM)
    return next((layout for layout in layouts if {len(layout)} == counts and layout != HEADS_SECOND), None)


def _with_rule_as_key(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values with a named mask as the key of that name: `mask: causal` becomes `causal: true`.

    An expression stays, in addition to the keys for its names.
    """
    rule = given.get("mask")
    own = {one.record.name: _value_as_key(one) for one in operators_of_mask(rule) if one.record.name in FIELDS}
    if isinstance(rule, MaskExpression):
        return {**own, **given}
    if own.keys() & given.keys() or not own:
        return given
    return {**{key: value for key, value in given.items() if key != "mask"}, **own}


def _value_as_key(rule: Operator) -> Any:
    """The value for the key of a mask's name: its parameters in order, or true."""
    parameters = tuple(rule.parameters[one.name] for one in rule.record.parameters)
    return to_field(FIELDS[rule.record.name], parameters or True)


def _expression_with(key: str, given: Mapping[str, Any]) -> MaskExpression | None:
    """The expression that contains a word: a mask of its name, or for `mask` a table; None if none does."""
    expression = given.get("mask")
    if not isinstance(expression, MaskExpression) or (key in given and key != "mask"):
        return None
    name = TABLE if key == "mask" else key
    return expression if any(leaf.name == name for leaf in expression.leaves) else None


def _with_changed_leaves(expression: MaskExpression, key: str, change: Callable[[Any], Any]) -> MaskExpression:
    """The expression with the tables (for the key `mask`) or the masks of a name replaced."""

    def changed(leaf: MaskLeaf) -> Any:
        if leaf.name == TABLE:
            return change(leaf.value) if key == "mask" else leaf.value
        if leaf.name != key:
            return leaf.value
        parameters = zip(leaf.operator.record.parameters, change(_value_as_key(leaf.operator)), strict=True)
        return Operator(leaf.operator.record, {parameter.name: value for parameter, value in parameters})

    return expression.map(changed)


def _is_default(value: Any, default: Any) -> bool:
    """Whether a value is its key's default."""
    if isinstance(value, Operator) or isinstance(default, Operator):
        return not getattr(value, "arrays", None) and str(value) == str(default)
    return not hasattr(value, "shape") and bool(value == default)


def _name(convention: Convention, key: str, value: Any) -> str:
    """The word of a convention for a key and its value: `position alibi`."""
    word = f"{key} {value.record.name}" if isinstance(value, Operator) else key
    return word if word in convention.words else key


def _remarks(convention: Convention, words: Mapping[str, Any]) -> Iterator[str]:
    """The remarks on words that the framework lacks or can't combine, which attn reads in its own way.

    Weights cause none: the inputs of a framework without projections were projected before.
    """
    for key, value in words.items():
        reading = convention.reading(key, value)
        if reading is None:
            if not FIELDS[key].is_weight:
                name = f"{key} {value}" if isinstance(value, Operator) else key
                yield f"{convention.name} has no {name}: read as attn reads it"
            continue
        if reading.limit is not None and (limit := reading.limit(value)):
            yield f"{convention.name} {limit}"
        if opponents := reading.opponents(words):
            yield f"{convention.name} with {' and '.join(opponents)}: {key} is read as attn reads it"
    for group in convention.exclusive:
        together = [key for key in group if key in words]
        if len(together) > 1:
            names = " and ".join(together)
            yield f"{convention.name} does not take {names} together: attn combines them"


def readings(convention: Convention) -> Sequence[tuple[str, str]]:
    """A convention's words and their readings; words with the same reading share a row.

    >>> readings(find_convention("torch-mha"))[0]
    ('mask', '1 or true hides')
    >>> readings(find_convention("flash"))[0]
    ('query, key, value', '(batch, tokens, heads, features)')
    """
    layouts = [] if convention.layouts == (HEADS_SECOND,) else [("query, key, value", convention.layout_text)]
    words: dict[Reading, list[str]] = {}
    for word, reading in convention.words.items():
        words.setdefault(reading, []).append(word)
    return [*layouts, *((", ".join(alike), reading.text) for reading, alike in words.items())]


def missing_words(convention: Convention) -> Sequence[str]:
    """The keys without a word in a convention; not weights, if it has no projections.

    A stage with a default, such as softmax, is missing only in its other operators.

    >>> missing_words(find_convention("torch-sdpa"))[:3]
    ['window', 'key_lengths', 'softcap']
    """
    has = {word.split()[0] for word in convention.words}
    missing = [key for key in ATTN.words if key not in has and not FIELDS[key].is_weight]
    return [f"other {key}" if isinstance(DEFAULTS[key], Operator) else key for key in missing]
