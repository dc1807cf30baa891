"""The recorded attentions of a run as the layers of a capture: their names, and the keys of their problems."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.io.captures import CapturedLayer
from attncli.models.recording import AttentionCall
from attncli.models.softmaxes import SoftmaxCall
from attncli.problem.arrays import GivenArray, type_of_tensor

_ROUNDINGS = 64  # roundings of the largest score, which is a product of long vectors
_HIDING = -9000.0  # scores below it that have no weight are masked: some models add −10,000
_LOOSE = 1e-2  # more than the rounding of sums of bfloat16
ENCODER, DECODER, CROSS = "encoder", "decoder", "cross"
_CROSS = re.compile(r"cross|encoder_attn|encdec|enc_dec|multihead_attn", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """The location of an attention: its part in an encoder-decoder ("" in others), its number, and if it is a cross."""

    part: str
    number: int | None
    kind: str

    @property
    def name(self) -> str:
        """The name of the layer.

        >>> Place("decoder", 3, "cross").name, Place("", 3, "").name
        ('decoder.3.cross', '3')
        """
        number = "" if self.number is None else str(self.number)
        return ".".join(filter(None, (self.part, number, self.kind)))


def place_of(module: str, *, has_two_parts: bool, number: int | None = None) -> Place:
    """The location of a module's attention, by its name; `number` counts the calls of a module called several times.

    >>> place_of("decoder.block.3.layer.1.EncDecAttention", has_two_parts=True).name
    'decoder.3.cross'
    >>> place_of("encoder.layer.3.attention.self", has_two_parts=False).name
    '3'
    """
    words = module.split(".")
    at = next((at for at, word in enumerate(words) if word.isdecimal()), len(words))
    found = int(words[at]) if at < len(words) else None
    parts = [part for word in words[:at] for part in (ENCODER, DECODER) if part in word] if has_two_parts else []
    kind = CROSS if any(_CROSS.search(word) for word in words[at:]) else ""
    return Place(parts[0] if parts else "", found if number is None else number, kind)


def places_of(modules: Sequence[str], shared: Mapping[str, int], *, has_two_parts: bool) -> list[Place]:
    """The location of each call in their order; modules that are `shared` by layers count their calls."""
    places = []
    seen: Counter[str] = Counter()
    for module in modules:
        pattern = re.sub(r"\d+", "", module)
        is_shared = any(count > 1 and re.sub(r"\d+", "", name) == pattern for name, count in shared.items())
        places.append(place_of(module, has_two_parts=has_two_parts, number=seen[pattern] if is_shared else None))
        seen[pattern] += 1
    return places


def layer_names(modules: Sequence[str], places: Sequence[Place]) -> list[str]:
    """A name for each call: its location, its module if several share that, numbered if one calls twice.

    >>> places = [Place("", 0, ""), Place("", 0, ""), Place("", 1, "")]
    >>> layer_names(["a.0.self_attn", "b.0.self_attn", "b.1.self_attn"], places)
    ['a.0.self_attn', 'b.0.self_attn', '1']
    >>> layer_names(["a.0.self_attn", "a.0.self_attn", "a.1.self_attn"], places)
    ['0.1', '0.2', '1']
    """
    named: dict[str, set[str]] = {}
    for module, place in zip(modules, places, strict=True):
        named.setdefault(place.name, set()).add(module)
    names = [
        module if not place.name or len(named[place.name]) > 1 else place.name
        for module, place in zip(modules, places, strict=True)
    ]
    counts, seen = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(f"{name}.{seen[name]}" if counts[name] > 1 else name)
    return numbered


@dataclass
class LayerMaker:
    """Makes layers from calls, and the tensors that they name: equal masks and biases share a tensor.

    `lengths` are the numbers of tokens of the sequences, the encoder's (or the only one) first. All layers have their
    weights, or none has.
    """

    lengths: Sequence[int]
    tensors: dict[str, GivenArray] = field(default_factory=dict)
    keeps_weights: bool = True

    def make(self, name: str, place: Place, call: AttentionCall | SoftmaxCall) -> CapturedLayer:
        """The layer of a call."""
        if isinstance(call, SoftmaxCall):
            return self._of_softmax(name, place, call)
        return self._of_call(name, place, call)

    def _of_call(self, name: str, place: Place, call: AttentionCall) -> CapturedLayer:
        """The layer of a call of an attention function."""
        inputs = {key: to_given(call.arrays[key]) for key in ("query", "key", "value")}
        weights = call.weights if self.keeps_weights else None
        results = {"output": _by_heads(call.output, inputs["query"]), "weights": weights}
        given = {key: to_given(tensor) for key, tensor in results.items() if tensor is not None}
        keys, others = self._stages(call, inputs)
        if "sink" in others and "weights" in given and _sums_to_one(given["weights"].array):
            del given["weights"]  # some models apply the sink only to the output
        if "weights" in given and _is_single(inputs["query"], given["weights"]):
            keys["dtype"] = "float32"
        arrays = {key: self._add(f"{name}.{key}", array) for key, array in inputs.items()}
        arrays |= {key: self._add(f"{name}.{key}", array, is_shared=True) for key, array in others.items()}
        named = {key: self._add(f"{name}.{key}", array) for key, array in given.items()}
        layer = CapturedLayer(name, keys, arrays, named)
        return self._with_tokens(layer, place, *(inputs[key].array.shape[-2] for key in ("query", "key")))

    def _of_softmax(self, name: str, place: Place, call: SoftmaxCall) -> CapturedLayer:
        """The layer of a softmax: from queries and keys if these make its scores, otherwise from the scores."""
        scores = to_given(call.scores)
        queries, count = scores.array.shape[-2:]
        is_hidden = (scores.array < _HIDING) & (to_given(call.weights).array == 0)
        visible = _plain(_of_one_head(~is_hidden))
        shown = np.where(visible, scores.array, 0)
        keys = mask_keys(visible, queries)
        mask = {} if keys or visible.all() else {"mask": GivenArray(visible)}
        arrays = {"scores": GivenArray(shown, dtype=scores.dtype)}
        if call.query is not None:
            factors = {key: to_given(getattr(call, key)) for key in ("query", "key")}
            found = scale_and_bias(factors["query"], factors["key"], shown, visible)
            if found is not None:
                keys["scale"], bias = found
                arrays = {**factors, **({} if bias is None else {"bias": _not_below_single(_plain(bias), scores)})}
        arrays |= mask
        arrays["value"] = to_given(call.value)
        results = {"weights": to_given(call.weights), "output": to_given(call.output)}
        if not self.keeps_weights:
            del results["weights"]
        output = results["output"].dtype
        types = {array.dtype for key, array in arrays.items() if key != "mask"}
        keys |= {"dtype": output} if types != {output} else {}  # only the softmax in float32
        named, expected = (
            {key: self._add(f"{name}.{key}", array, is_shared=key == "mask") for key, array in group.items()}
            for group in (arrays, results)
        )
        return self._with_tokens(CapturedLayer(name, keys, named, expected), place, queries, count)

    def _with_tokens(self, layer: CapturedLayer, place: Place, queries: int, keys: int) -> CapturedLayer:
        """A layer with its sequences, if they have as many tokens as it has queries and keys."""
        of_queries = len(self.lengths) - 1 if place.part == DECODER else 0
        of_keys = 0 if place.kind == CROSS else of_queries
        return CapturedLayer(
            layer.name,
            layer.keys,
            layer.arrays,
            layer.results,
            of_keys if self.lengths[of_keys] == keys else None,
            of_queries if self.lengths[of_queries] == queries else None,
        )

    def _stages(
        self, call: AttentionCall, inputs: Mapping[str, GivenArray]
    ) -> tuple[dict[str, Any], dict[str, GivenArray]]:
        """The keys of a problem for the settings of a call, and those that are arrays."""
        keys: dict[str, Any] = {}
        arrays: dict[str, GivenArray] = {}
        names = {"scaling": "scale", "softcap": "softcap"}
        keys |= {key: float(call.numbers[name]) for name, key in names.items() if name in call.numbers}
        count = inputs["key"].array.shape[-2]
        bias = None if "position_bias" not in call.arrays else to_given(call.arrays["position_bias"])
        if "attention_mask" in call.arrays:
            mask = to_given(call.arrays["attention_mask"][..., :count])
            visible, added = split_mask(mask.array)
            keys |= (found := mask_keys(visible, inputs["query"].array.shape[-2]))
            if not found and not visible.all():
                arrays["mask"] = GivenArray(_plain(visible))
            if not visible.any(-1).all():
                keys["empty_rows"] = "uniform"
            if added is not None:
                total = added if bias is None else bias.array + added
                bias = GivenArray(total, dtype=mask.dtype)
        if bias is not None:
            arrays["bias"] = GivenArray(_plain(bias.array[..., :count]), dtype=bias.dtype)
        if "sink" in call.arrays:
            sink = to_given(call.arrays["sink"])
            arrays["sink"] = GivenArray(sink.array.reshape(-1), dtype=sink.dtype)
        return keys, arrays

    def _add(self, name: str, array: GivenArray, *, is_shared: bool = False) -> str:
        """The name of the tensor with the numbers of an array."""
        if is_shared:
            for known, other in self.tensors.items():
                if known.endswith(name[name.rindex(".") :]) and _is_equal(array, other):
                    return known
        self.tensors[name] = array
        return name


def _is_equal(left: GivenArray, right: GivenArray) -> bool:
    """Whether two arrays have the same numbers and type."""
    return left.dtype == right.dtype and np.array_equal(left.array, right.array)


def to_given(tensor: Any) -> GivenArray:
    """The numbers of a PyTorch tensor, with their type; bfloat16 becomes float32."""
    dtype = type_of_tensor(tensor)
    array = (tensor if dtype is None else tensor.float()).numpy()
    return GivenArray(array, dtype=dtype or (array.dtype.name if array.dtype.kind == "f" else None))


def _is_single(query: GivenArray, weights: GivenArray) -> bool:
    """Whether a model in float64 computes its softmax in float32, as many do."""
    in_single = weights.array.astype(np.float32)
    return query.dtype == "float64" and np.array_equal(in_single.astype(np.float64), weights.array)


def _sums_to_one(weights: Array) -> bool:
    """Whether every row of weights sums to 1, as without a sink."""
    return bool(np.allclose(weights.sum(-1, dtype=np.float64), 1, atol=_LOOSE))


def _by_heads(output: Any, query: GivenArray) -> Any | None:
    """The output in the queries' layout, [b h n e]: attention functions return [b n h e]; None for any other shape."""
    items, heads, count, _ = query.array.shape
    return output.transpose(1, 2) if tuple(output.shape[:3]) == (items, count, heads) else None


def _not_below_single(array: Array, like: GivenArray) -> GivenArray:
    """Computed numbers, in the inputs' type, but at least float32."""
    dtype = "float64" if like.dtype == "float64" else "float32"
    return GivenArray(array.astype(dtype), dtype=dtype)


def _of_one_head(tables: Array) -> Array:
    """The first of the tables of all heads [b h n m] if they are the same; otherwise all of them."""
    return tables[:1, :1] if (tables == tables[:1, :1]).all() else tables


def _plain(array: Array) -> Array:
    """An array without the leading axes of length 1."""
    while array.ndim > 2 and array.shape[0] == 1:
        array = array[0]
    return array


def split_mask(mask: Array) -> tuple[Array, Array | None]:
    """Where a mask lets queries see keys, and the numbers that it adds there; None if it adds nothing.

    >>> visible, added = split_mask(np.array([[0.0, -np.inf], [0.5, 0.0]]))
    >>> visible.tolist(), added.tolist()
    ([[True, False], [True, True]], [[0.0, 0.0], [0.5, 0.0]])
    """
    if mask.dtype.kind == "b":
        return mask, None
    visible = mask > np.finfo(mask.dtype).min / 2
    added = np.where(visible, mask, 0)
    return np.asarray(visible), np.asarray(added) if added.any() else None


def scale_and_bias(
    query: GivenArray, key: GivenArray, scores: Array, visible: Array
) -> tuple[float, Array | None] | None:
    """The scale that turns products of queries and keys into these scores, and the added bias.

    The bias, None if there is none, depends only on keys, or only on distances. None if the scores are made in another
    way.

    >>> one = GivenArray(np.eye(2)[None, None], dtype="float64")
    >>> scale_and_bias(one, one, 0.5 * one.array, np.ones((2, 2), bool))
    (0.5, None)
    """
    products = query.array.astype(np.float64) @ key.array.astype(np.float64).swapaxes(-1, -2)
    if products.shape != scores.shape:
        return None
    products = np.where(visible, products, 0)
    rounding = 2.0**-8 if query.dtype == "bfloat16" else float(np.finfo(query.dtype or "float64").eps)
    allowed = _ROUNDINGS * rounding * float(abs(scores).max())
    usual = query.array.shape[-1] ** -0.5
    fitted = float((products * scores).sum() / ((products**2).sum() or 1.0))
    for scale in (usual, 1.0, fitted):
        if abs(scores - scale * products).max() <= allowed:
            return scale, None
    for scale in (usual, 1.0):
        rest = np.where(visible, scores - scale * products, 0)
        for bias in (_bias_of_keys(rest, visible), _bias_of_distances(rest, visible)):
            if abs(np.where(visible, rest - bias, 0)).max() <= allowed:
                return scale, bias
    return None


def _bias_of_keys(rest: Array, visible: Array) -> Array:
    """The mean number added to the scores of each key [b h 1 m], over the queries that see it."""
    counts = np.maximum(visible.sum(-2, keepdims=True), 1)
    return np.asarray(rest.sum(-2, keepdims=True) / counts)


def _bias_of_distances(rest: Array, visible: Array) -> Array:
    """The mean number added to scores at each distance of query and key [b h n m], where visible."""
    seen = np.broadcast_to(visible, rest.shape)
    bias = np.zeros_like(rest)
    queries, keys = np.indices(rest.shape[-2:])
    for distance in range(1 - rest.shape[-2], rest.shape[-1]):
        at = keys - queries == distance
        bias[..., at] = (rest[..., at].sum(-1) / np.maximum(seen[..., at].sum(-1), 1))[..., None]
    return bias


def mask_keys(visible: Array, query_count: int) -> dict[str, Any]:
    """The keys `causal` and `window` equivalent to a mask of one table; empty if there are none, or all is visible.

    >>> mask_keys(np.tri(4, dtype=bool), 4), mask_keys(np.tri(4, dtype=bool) & ~np.tri(4, k=-2, dtype=bool), 4)
    ({'causal': True}, {'causal': True, 'window': [1, 0]})
    """
    table = _plain(visible)
    if table.ndim != 2 or table.shape != (query_count, query_count) or table.all():
        return {}
    left = int(np.argmax(table[-1])) if table[-1].any() else 0
    left = query_count - 1 - left
    right = int(query_count - 1 - np.argmax(table[0][::-1]))
    rows, columns = np.indices(table.shape)
    if not np.array_equal(table, (rows - columns <= left) & (columns - rows <= right)):
        return {}
    is_whole = left == query_count - 1
    if right == 0:
        return {"causal": True} if is_whole else {"causal": True, "window": [left, 0]}
    return {"window": [-1 if is_whole else left, -1 if right == query_count - 1 else right]}
