"""The inputs and outputs of each attention of a model, recorded where transformers looks up its attention function."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from attncli.models.running import import_packages

MOST_WEIGHTS = 2**26  # bytes of all layers' weights together to keep
_ARGUMENTS = ("module", "query", "key", "value", "attention_mask")  # arguments of an attention function, in order
_SINKS = ("s_aux", "sinks")  # models' names for the extra logit of each head


@dataclass(frozen=True)
class AttentionCall:
    """One call of an attention: the name of its module, its tensors, and its numbers.

    The arrays are query, key, value [b h n d], attention_mask, position_bias and sink, as the model has them; the
    weights are None if they are large.
    """

    module: str
    arrays: Mapping[str, Any]
    numbers: Mapping[str, float]
    output: Any
    weights: Any | None


@dataclass
class Recorder:
    """Records the attention calls of a model's wanted modules; `progress` counts every call."""

    model: Any
    is_wanted: Callable[[str], bool]
    progress: Callable[[int], None]
    calls: list[AttentionCall] = field(default_factory=list)
    count: int = 0
    has_weights: bool = True

    def __post_init__(self) -> None:
        self._names = {id(module): name for name, module in self.model.named_modules()}
        self._size = 0
        self.is_calling = False  # an attention function: its inner calls are recorded

    @contextmanager
    def recording(self) -> Iterator[None]:
        """A block in which every attention function that transformers looks up records its arguments and results.

        The implementation keeps its name, so that masks, and everything else that depends on it, stay the same.
        """
        _, transformers = import_packages()
        interface = transformers.AttentionInterface
        original = interface.get_interface

        def recorded(registry: Any, name: str, default: Callable[..., Any]) -> Callable[..., Any]:
            return partial(self._call, original(registry, name, default))

        interface.get_interface = recorded
        try:
            yield
        finally:
            interface.get_interface = original

    def _call(self, function: Callable[..., Any], /, *values: Any, **named: Any) -> Any:
        """Call an attention function, and keep its arguments and results."""
        given = {**dict(zip(_ARGUMENTS, values, strict=False)), **named}
        module = self._names.get(id(given["module"]), type(given["module"]).__name__)
        is_kept = self.is_wanted(module)
        arrays = {name: _copy(given[name]) for name in _ARGUMENTS[1:] if given.get(name) is not None} if is_kept else {}
        self.is_calling = True
        try:
            result = function(*values, **named)
        finally:
            self.is_calling = False
        if is_kept:
            self._keep(module, arrays, given, result)
        self.count += 1
        self.progress(self.count)
        return result

    def _keep(self, module: str, arrays: dict[str, Any], given: Mapping[str, Any], result: Any) -> None:
        """Keep one call."""
        output, weights = result if isinstance(result, tuple) else (result, None)
        bias = given.get("position_bias")
        sink = next((given[name] for name in _SINKS if given.get(name) is not None), None)
        others = {"position_bias": bias, "sink": sink}
        arrays |= {name: _copy(value) for name, value in others.items() if value is not None}
        numbers = {name: given[name] for name in ("scaling", "softcap") if _is_number(given.get(name))}
        self.calls.append(AttentionCall(module, arrays, numbers, _copy(output), self._weights(weights)))

    def _weights(self, weights: Any | None) -> Any | None:
        """A copy of weights, while all of them together are small."""
        self._size += 0 if weights is None else weights.element_size() * weights.nelement()
        self.has_weights = self.has_weights and self._size <= MOST_WEIGHTS
        return _copy(weights) if weights is not None and self.has_weights else None


def _is_number(value: Any) -> bool:
    """Whether a value is a number, not a tensor with one for each head."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _copy(tensor: Any) -> Any:
    """A copy of the tensor's present numbers."""
    return tensor.detach().clone().cpu()


@contextmanager
def counting_calls(model: Any, counts: Counter[str]) -> Iterator[None]:
    """A block that counts the calls of each module by name, which changes no number."""

    def count(name: str, *_: Any) -> None:
        counts[name] += 1

    handles = [module.register_forward_pre_hook(partial(count, name)) for name, module in model.named_modules()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
