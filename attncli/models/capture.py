"""A capture of a model's run: one plain run, then one with its attentions recorded."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.memory import missing_memory
from attncli.base.text import shorten
from attncli.io.captures import Capture, CapturedLayer
from attncli.models.captured_layers import LayerMaker, layer_names, place_of, places_of
from attncli.models.recording import MOST_WEIGHTS, AttentionCall, Recorder, counting_calls
from attncli.models.running import EAGER, MASK, RunnableCheckpoint, TokenizedText, apply, import_packages
from attncli.models.softmaxes import SoftmaxCall, SoftmaxRecorder
from attncli.problem.arrays import GivenArray

_COPIES = 3  # of the record, at most, during writing
_MOST_TEXT = 120  # characters of names in a note
SCORES = "scores"
# How much outputs of one implementation of attention may differ from another's, relative to the largest number.
_MOST_DIFFERENCE = {"float64": 1e-3, "float32": 1e-3, "float16": 0.03, "bfloat16": 0.1}
_SIZES = {"float64": 8, "float32": 4}  # bytes of a number; others have 2


@dataclass(frozen=True)
class CaptureRequest:
    """The request of a capture: tokens, a decoder's tokens in an encoder-decoder, layers (None: all), and type."""

    tokens: TokenizedText
    target: TokenizedText | None
    layers: Sequence[int] | None = None
    dtype: str | None = None


@dataclass(frozen=True)
class CapturedRun:
    """A capture with its tensors, and remarks on it."""

    capture: Capture
    tensors: Mapping[str, GivenArray]
    missing: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def size(self) -> int:
        """The bytes of the tensors in a file."""
        return sum(_bytes(array) for array in self.tensors.values())


def _bytes(array: GivenArray) -> int:
    """The bytes of an array in a file; in memory, bfloat16 numbers take twice as many."""
    return array.array.nbytes // (2 if array.dtype == "bfloat16" else 1)


def attention_count(found: RunnableCheckpoint) -> int | None:
    """The approximate number of attentions in a run: an encoder-decoder has three a layer."""
    count = found.layer_count
    return None if count is None else count * (3 if found.config.is_encoder_decoder else 1)


def capture_size(found: RunnableCheckpoint, request: CaptureRequest) -> dict[str, int]:
    """The approximate bytes of a capture, by content; empty if the configuration does not say."""
    config = found.text_config
    layers, heads = attention_count(found), getattr(config, "num_attention_heads", None)
    if not layers or not isinstance(heads, int):
        return {}
    share = 1 if request.layers is None else len(request.layers) / (found.layer_count or 1)
    layers = max(round(layers * share), 1)
    groups = getattr(config, "num_key_value_heads", None) or heads
    features = getattr(config, "head_dim", None) or config.hidden_size // heads
    size = _SIZES.get(request.dtype or str(config.dtype).rpartition(".")[2], 2)
    count = max(len(request.tokens.ids), len(request.target.ids) if request.target else 0)
    weights = layers * heads * count * count * size
    sizes = {
        "queries and outputs": 2 * layers * heads * count * features * size,
        "keys and values": 2 * layers * groups * count * features * size,
    }
    return {**sizes, **({"weights": weights} if weights <= MOST_WEIGHTS else {})}


def check_memory(found: RunnableCheckpoint, request: CaptureRequest) -> None:
    """Raise AttnError if the model and its record do not fit in the free memory."""
    stored = sum(file.stat().st_size for file in {*found.checkpoint.files.values()})
    size = stored * (_SIZES.get(request.dtype, 2) / 2 if request.dtype else 1)
    missing = missing_memory(int(size + _COPIES * sum(capture_size(found, request).values())))
    if missing is not None:
        raise AttnError(f"to run the model {missing}", where=found.where, hint="--dtype bfloat16 needs less")


def capture_run(
    found: RunnableCheckpoint, request: CaptureRequest, progress: Callable[[int, int], None]
) -> CapturedRun:
    """Run the model twice, and record the second run; `progress` gets the count of finished attentions.

    It then runs once with its default implementation of attention, and a remark says if that gives other numbers.
    Raises AttnError if it can't be run or recorded, or if the second run differs from the first.
    """
    run, plain = _recorded_run(found, request, progress)
    more = _implementation_notes(found, request, plain)  # by another model: the first one needs no memory now
    notes = [*run.notes, *more]
    return replace(run, capture=replace(run.capture, notes=notes), notes=notes)


def _recorded_run(
    found: RunnableCheckpoint, request: CaptureRequest, progress: Callable[[int, int], None]
) -> tuple[CapturedRun, Any]:
    """The recorded run of the model, and the outputs of its plain run."""
    model, missing = found.load(request.dtype)
    target = None if request.target is None else request.target.ids
    counts: Counter[str] = Counter()
    with counting_calls(model, counts):
        plain = found.run(model, request.tokens, target)
    has_two_parts = bool(found.config.is_encoder_decoder)
    total = attention_count(found) or 0

    def is_wanted(module: str) -> bool:
        if request.layers is None or any(count > 1 for name, count in counts.items() if name == module):
            return True
        return place_of(module, has_two_parts=has_two_parts).number in request.layers

    def tell(done: int) -> None:
        progress(done, max(done, total))

    recorder = Recorder(model, is_wanted, tell)
    softmaxes = SoftmaxRecorder(model, lambda module: not recorder.is_calling and is_wanted(module), tell)
    with recorder.recording(), softmaxes.recording():
        recorded = found.run(model, request.tokens, target)
    _check_equal(plain, recorded, found.where)
    lengths = [len(request.tokens.ids), *([len(request.target.ids)] if request.target is not None else [])]
    maker = LayerMaker(lengths, keeps_weights=recorder.has_weights)
    if recorder.count:
        calls: Sequence[AttentionCall | SoftmaxCall] = recorder.calls
        left_out = softmaxes.modules if request.layers is None else []
        notes = _others(found, recorder) if request.layers is None else []
    else:
        calls, left_out = softmaxes.attentions, softmaxes.others
        maker.keeps_weights = softmaxes.weight_size <= MOST_WEIGHTS
        _check_softmaxes(found, softmaxes, request)
        notes = []
    modules = [call.module for call in calls]
    # A randomly drawn tensor may only belong to a module after the last attention.
    position = {module: at for at, module in enumerate(counts)}
    last = max((position.get(module, -1) for module in modules), default=-1)
    found.check_missing([name for name in missing if position.get(name.rpartition(".")[0], last) < last])
    layers, repeated = _layers(calls, maker, counts, request, has_two_parts=has_two_parts)
    names = [layer.name for layer in layers if SCORES in layer.arrays]
    notes += [f"scores are captured in {_some(names)}: more than products of queries and keys"] if names else []
    if left_out:
        places = dict.fromkeys(place_of(name, has_two_parts=has_two_parts).name or name for name in left_out)
        notes.append(f"left out {_some([*places])}: attention in blocks, or in another form that is not recorded")
    if repeated:
        about = "are parts of one attention each, which the model combines: none is the attention of its layer"
        notes.append(f"{_some(repeated)} {about}")
    if not layers:
        hint = "it numbers its layers from 0" if request.layers is not None else None
        raise AttnError("none of the requested layers has attention", where=found.where, hint=hint)
    return CapturedRun(_capture(found, request, layers, model), maker.tensors, missing, notes), plain


def _check_softmaxes(found: RunnableCheckpoint, recorder: SoftmaxRecorder, request: CaptureRequest) -> None:
    """Raise AttnError if the model calls no attention function, and no softmax multiplies values."""
    if recorder.attentions or request.layers is not None:
        return
    why = "its softmaxes multiply no values in a form that is recorded" if recorder.others else "it has no softmax"
    message = f"{found.config.model_type} calls no attention function of transformers, and {why}"
    raise AttnError(message, where=found.where, hint="attn model writes the file of a layer of many families")


def _implementation_notes(found: RunnableCheckpoint, request: CaptureRequest, plain: Any) -> list[str]:
    """The remark if the model gives other numbers with its default implementation of attention."""
    try:
        model, _ = found.load(request.dtype, None)
        name = model.config._attn_implementation
        if name == EAGER:
            return []
        default = found.run(model, request.tokens, None if request.target is None else request.target.ids)
    except AttnError as error:
        return [f"eager attention was captured, and not compared with the default: {error}"]
    largest = max(_differences(plain, default), default=0.0)
    if largest <= _MOST_DIFFERENCE[str(model.dtype).rpartition(".")[2]]:
        return []
    return [
        f"eager attention was captured: the output differs from that of {name}, the default, by {largest:.2g} of its "
        "largest number"
    ]


def _differences(first: Any, second: Any) -> Iterator[float]:
    """The largest difference of each numeric tensor in two outputs, relative to the second's largest number."""
    pairs = zip(apply(lambda tensor: tensor, first), apply(lambda tensor: tensor, second), strict=False)
    for one, other in pairs:
        if one.shape == other.shape and one.is_floating_point() and one.numel():
            size = float(other.abs().max())
            yield float((one.double() - other.double()).abs().max()) / (size or 1.0)


def _some(names: Sequence[str]) -> str:
    """Names in a line, cut if there are many."""
    return shorten(", ".join(names), _MOST_TEXT)


def _capture(
    found: RunnableCheckpoint, request: CaptureRequest, layers: Sequence[CapturedLayer], model: Any
) -> Capture:
    """The capture of some layers."""
    _, transformers = import_packages()
    sequences = [tokens for tokens in (request.tokens, request.target) if tokens is not None]
    words = [list(tokens.words) for tokens in sequences]
    masks = [list(tokens.others.get(MASK, [1] * len(tokens.ids))) for tokens in sequences]
    has_padding = any(0 in mask for mask in masks)
    dtype = str(model.dtype).rpartition(".")[2]
    source = f"transformers {transformers.__version__}"
    name, family = found.folder.resolve().name, found.config.model_type
    return Capture(words, layers, name, family, dtype, source, masks if has_padding else ())


def _check_equal(plain: Any, recorded: Any, where: str) -> None:
    """Raise AttnError if any bit of two runs differs."""
    torch, _ = import_packages()

    def bits(tensor: Any) -> Any:
        return tensor.contiguous().view(torch.uint8) if tensor.ndim else tensor[None].view(torch.uint8)

    pairs = zip(apply(bits, plain), apply(bits, recorded), strict=True)
    if not all(torch.equal(left, right) for left, right in pairs):
        message = "the recorded run differs from the plain run, so its numbers are not the model's"
        raise AttnError(message, where=where, hint="does the model choose at random?")


def _layers(
    calls: Sequence[AttentionCall | SoftmaxCall],
    maker: LayerMaker,
    counts: Mapping[str, int],
    request: CaptureRequest,
    *,
    has_two_parts: bool,
) -> tuple[list[CapturedLayer], list[str]]:
    """The requested layers of recorded calls, and the names of those that share an attention."""
    modules = [call.module for call in calls]
    places = places_of(modules, counts, has_two_parts=has_two_parts)
    names = layer_names(modules, places)
    wanted = [
        (name, place, call)
        for name, place, call in zip(names, places, calls, strict=True)
        if request.layers is None or place.number in request.layers
    ]
    shared = Counter((call.module, place) for _, place, call in wanted)
    repeated = [name for name, place, call in wanted if shared[call.module, place] > 1]
    return [maker.make(name, place, call) for name, place, call in wanted], repeated


def _others(found: RunnableCheckpoint, recorder: Recorder) -> list[str]:
    """The remark on layers that call no attention function, such as state-space layers."""
    numbers = {place_of(call.module, has_two_parts=False).number for call in recorder.calls}
    count = found.layer_count
    others = [] if count is None else [str(number) for number in range(count) if number not in numbers]
    has_others = bool(others) and not found.config.is_encoder_decoder and len(recorder.calls) < (count or 0)
    noun = "layer" if len(others) == 1 else "layers"
    return [f"left out {noun} {_some(others)}, without a call of an attention function"] if has_others else []
