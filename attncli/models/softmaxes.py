"""The softmaxes of a model that calls no attention function: scores, weights, values and outputs.

A softmax whose result is the left factor of a product belongs to an attention.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from attncli.models.running import import_packages

_SOFTMAX = ("softmax", "softmax_backward_data")
_PRODUCTS = ("matmul", "bmm", "__matmul__", "einsum", "baddbmm")
_SAME = ("to", "type", "type_as", "float", "half", "view", "reshape", "contiguous", "dropout", "masked_fill")
_EINSUM = re.compile(r"([a-zA-Z]+),([a-zA-Z]+)->([a-zA-Z]+)")  # products of two factors
_TABLES = (3, 4)  # axes of scores: for one batch item [h n m], or [b h n m]


@dataclass
class SoftmaxCall:
    """One softmax in a module: its scores and weights [b h n m], the values they multiply, and the product.

    The scores had so many `axes`: tables of several heads and items have four, attention in blocks more.

    `query` and `key` [b h n d] are the factors of the last product before it, which may have made the scores.
    """

    module: str
    scores: Any
    weights: Any
    query: Any | None = None
    key: Any | None = None
    value: Any | None = None
    output: Any | None = None
    axes: int = max(_TABLES)


@dataclass
class SoftmaxRecorder:
    """Records the softmaxes in a model's wanted modules; `progress` counts each."""

    model: Any
    is_wanted: Callable[[str], bool]
    progress: Callable[[int], None]
    calls: list[SoftmaxCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._names: list[str] = []  # running modules, the innermost last
        self._by_address: dict[int, SoftmaxCall] = {}  # the softmax whose weights are at an address
        self._kept: list[Any] = []  # so that no other tensor gets the address
        self._factors: tuple[Any, Any, Sequence[int]] | None = None  # factors of the last product, and its shape

    @contextmanager
    def recording(self) -> Iterator[None]:
        """A block that watches the functions of PyTorch; no number changes."""
        torch, _ = import_packages()
        handles = []
        for name, module in self.model.named_modules():
            if any(word.isdecimal() for word in name.split(".")):
                handles.append(module.register_forward_pre_hook(partial(self._enter, name)))
                handles.append(module.register_forward_hook(self._leave))
        methods = {"__torch_function__": lambda _mode, *words: self._call(*words)}
        mode = type("SoftmaxMode", (torch.overrides.TorchFunctionMode,), methods)
        try:
            with mode():
                yield
        finally:
            for handle in handles:
                handle.remove()
            self._by_address.clear()
            self._kept.clear()
            self._factors = None

    @property
    def attentions(self) -> list[SoftmaxCall]:
        """The softmaxes whose rows multiply values."""
        return [call for call in self.calls if call.value is not None]

    @property
    def weight_size(self) -> int:
        """The bytes of all attentions' weights together."""
        return sum(call.weights.element_size() * call.weights.nelement() for call in self.attentions)

    @property
    def modules(self) -> list[str]:
        """The modules of softmaxes that multiply values, or whose scores have as many axes as an attention's."""
        found = (call for call in self.calls if call.value is not None or call.axes >= max(_TABLES))
        return list(dict.fromkeys(call.module for call in found))

    @property
    def others(self) -> list[str]:
        """The modules of the other softmaxes, such as attention in blocks."""
        return list(dict.fromkeys(call.module for call in self.calls if call.value is None))

    def _enter(self, name: str, *_: Any) -> None:
        self._names.append(name)

    def _leave(self, *_: Any) -> None:
        self._names.pop()

    def _call(
        self,
        function: Callable[..., Any],
        _types: Sequence[type],
        values: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function of PyTorch, and keep the arguments and results of a softmax and the product after it."""
        result = function(*values, **(named or {}))
        name = getattr(function, "__name__", "")
        if name in _SOFTMAX and self._names and self.is_wanted(self._names[-1]):
            self._keep_softmax(values[0], result)
        elif name in (*_PRODUCTS, *_SAME):
            tensors = [value for value in (*values, *(named or {}).values()) if hasattr(value, "data_ptr")]
            call = self._by_address.get(tensors[0].data_ptr()) if tensors else None
            if call is not None and name in _SAME:
                self._remember(call, result)
            elif call is not None and call.value is None and (product := _product_of(values, tensors, result)):
                call.value, call.output = map(_by_heads, product)
            elif name in _PRODUCTS and len(tensors) > 1:
                self._factors = (tensors[-2], tensors[-1], result.shape)
        return result

    def _keep_softmax(self, scores: Any, weights: Any) -> None:
        """Keep a softmax; if it has more axes than tables have, its values are never found."""
        if scores.ndim >= min(_TABLES):
            call = SoftmaxCall(self._names[-1], _by_heads(scores), _by_heads(weights), axes=scores.ndim)
            if self._factors is not None and _are_of_scores(*self._factors, scores):
                left, right, _ = self._factors
                call.query, call.key = _by_heads(left), _by_heads(right.transpose(-1, -2))
            self.calls.append(call)
            self.progress(len(self.calls))
            if scores.ndim in _TABLES:
                self._remember(call, weights)

    def _remember(self, call: SoftmaxCall, weights: Any) -> None:
        """Note the present address of a call's weights."""
        self._by_address[weights.data_ptr()] = call
        self._kept.append(weights)
        if weights.numel() == call.weights.numel():
            call.weights = _by_heads(weights).reshape(call.weights.shape)


def _are_of_scores(left: Any, right: Any, shape: Sequence[int], scores: Any) -> bool:
    """Whether a product of two factors may have made scores: it has their shape, up to the layout of heads."""
    return bool(
        min(left.ndim, right.ndim) in _TABLES
        and max(left.ndim, right.ndim) in _TABLES
        and left.shape[-1] == right.shape[-2]
        and tuple(shape[-2:]) == tuple(scores.shape[-2:])
        and math.prod(shape) == scores.numel()
    )


def _product_of(values: Sequence[Any], tensors: Sequence[Any], output: Any) -> tuple[Any, Any] | None:
    """The values [… m e] and the output [… n e] of a product of weights; None if it does not multiply each row.

    einsum writes it in any order of axes: `bnij,jbnd->ibnd`.
    """
    weights, value = tensors[:2]
    if values and isinstance(values[0], str):
        found = _EINSUM.fullmatch(values[0].replace(" ", ""))
        own = {*found[2]} - {*found[1]} if found else set()
        if found is None or len(own) != 1 or "..." in values[0]:
            return None
        leading, row, column, feature = found[1][:-2], found[1][-2:-1], found[1][-1], own.pop()
        try:
            value = value.permute([found[2].index(letter) for letter in leading + column + feature])
            output = output.permute([found[3].index(letter) for letter in leading + row + feature])
        except (ValueError, RuntimeError):  # an axis is summed, or there is another
            return None
    return (value, output) if _multiplies_rows(weights, value, output) else None


def _multiplies_rows(weights: Any, value: Any, output: Any) -> bool:
    """Whether a product multiplies each row of weights with the rows of values, whatever the axes before them."""
    return bool(
        min(weights.ndim, value.ndim, output.ndim) >= min(_TABLES)
        and value.shape[-2] == weights.shape[-1]
        and tuple(output.shape) == (*weights.shape[:-1], value.shape[-1])
    )


def _by_heads(tensor: Any) -> Any:
    """A copy of a tensor as [b h n m]; three axes mean one batch item."""
    return tensor.detach().clone().cpu()[(None,) * (max(_TABLES) - tensor.ndim)]
