"""A capture of a model's run: the model is run as it is, then once more with its attentions recorded."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.memory import missing_memory
from attncli.base.text import shorten
from attncli.io.captures import Capture, CapturedLayer
from attncli.models.captured_layers import LayerMaker, layer_names, place_of, places_of
from attncli.models.recording import MOST_WEIGHTS, Recorder, counting_calls
from attncli.models.running import RunnableCheckpoint, TokenizedText, apply, import_packages
from attncli.models.softmaxes import SoftmaxRecorder
from attncli.problem.arrays import GivenArray

_COPIES = 3  # of what is recorded, at the most, while it is written
_MOST_TEXT = 120  # characters of names in a note
_SIZES = {"float64": 8, "float32": 4}  # bytes of a number; others have 2


@dataclass(frozen=True)
class CaptureRequest:
    """What is captured: the tokens, those of an encoder-decoder's decoder, the layers (None: all), and the type."""

    tokens: TokenizedText
    target: TokenizedText | None
    layers: Sequence[int] | None = None
    dtype: str | None = None


@dataclass(frozen=True)
class CapturedRun:
    """A capture with its tensors, and what is said of it."""

    capture: Capture
    tensors: Mapping[str, GivenArray]
    missing: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def size(self) -> int:
        """The bytes of the tensors in a file."""
        return sum(_bytes(array) for array in self.tensors.values())


def _bytes(array: GivenArray) -> int:
    """The bytes of an array in a file: numbers of bfloat16 are held in twice as many."""
    return array.array.nbytes // (2 if array.dtype == "bfloat16" else 1)


def attention_count(found: RunnableCheckpoint) -> int | None:
    """About how many attentions a run has: an encoder-decoder has three a layer."""
    count = found.layer_count
    return None if count is None else count * (3 if found.config.is_encoder_decoder else 1)


def capture_size(found: RunnableCheckpoint, request: CaptureRequest) -> dict[str, int]:
    """About how many bytes a capture takes, by what they are of; nothing where the configuration does not say."""
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
    """Raise AttnError where the model, and what is recorded of it, do not fit in the free memory."""
    stored = sum(file.stat().st_size for file in {*found.checkpoint.files.values()})
    size = stored * (_SIZES.get(request.dtype, 2) / 2 if request.dtype else 1)
    missing = missing_memory(int(size + _COPIES * sum(capture_size(found, request).values())))
    if missing is not None:
        raise AttnError(f"to run the model {missing}", where=found.where, hint="--dtype bfloat16 needs less")


def capture_run(
    found: RunnableCheckpoint, request: CaptureRequest, progress: Callable[[int, int], None]
) -> CapturedRun:
    """Run the model twice, and record the second run; `progress` is told how many attentions of all have run.

    Raises AttnError where it can't be run or recorded, and where the second run differs from the first.
    """
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

    recorder = Recorder(model, is_wanted, lambda done: progress(done, max(done, total)))
    with recorder.recording():
        recorded = found.run(model, request.tokens, target)
    _check_equal(plain, recorded, found.where)
    lengths = [len(request.tokens.ids), *([len(request.target.ids)] if request.target is not None else [])]
    maker = LayerMaker(lengths, keeps_weights=recorder.has_weights)
    if recorder.count:
        layers = _layers(recorder, maker, counts, request, has_two_parts=has_two_parts)
        notes = _others(found, recorder) if request.layers is None else []
    else:
        softmaxes = SoftmaxRecorder(model, is_wanted, recorder.progress)
        with softmaxes.recording():
            recorded = found.run(model, request.tokens, target)
        _check_equal(plain, recorded, found.where)
        maker.keeps_weights = softmaxes.weight_size <= MOST_WEIGHTS
        layers = _layers_of_softmaxes(found, softmaxes, maker, counts, request)
        names = [layer.name for layer in layers if "scores" in layer.arrays]
        notes = [f"scores are captured in {_some(names)}: more than products of queries and keys"] if names else []
        if softmaxes.others:
            notes.append(f"left out {_some(softmaxes.others)}: attention in blocks, or none")
    if not layers:
        hint = "it numbers its layers from 0" if request.layers is not None else None
        raise AttnError("none of the layers that are asked for has attention", where=found.where, hint=hint)
    return CapturedRun(_capture(found, request, layers, model), maker.tensors, missing, notes)


def _some(names: Sequence[str]) -> str:
    """Names in a line, cut where they are many."""
    return shorten(", ".join(names), _MOST_TEXT)


def _capture(
    found: RunnableCheckpoint, request: CaptureRequest, layers: Sequence[CapturedLayer], model: Any
) -> Capture:
    """The capture of some layers."""
    _, transformers = import_packages()
    words = [list(tokens.words) for tokens in (request.tokens, request.target) if tokens is not None]
    dtype = str(model.dtype).rpartition(".")[2]
    source = f"transformers {transformers.__version__}"
    return Capture(words, layers, found.folder.resolve().name, found.config.model_type, dtype, source)


def _check_equal(plain: Any, recorded: Any, where: str) -> None:
    """Raise AttnError where a number of two runs differs, in any bit."""
    torch, _ = import_packages()

    def bits(tensor: Any) -> Any:
        return tensor.contiguous().view(torch.uint8) if tensor.ndim else tensor[None].view(torch.uint8)

    pairs = zip(apply(bits, plain), apply(bits, recorded), strict=True)
    if not all(torch.equal(left, right) for left, right in pairs):
        message = "the run that was recorded differs from the plain run, so that what it recorded is not the model's"
        raise AttnError(message, where=where, hint="does the model choose at random?")


def _layers(
    recorder: Recorder, maker: LayerMaker, counts: Mapping[str, int], request: CaptureRequest, *, has_two_parts: bool
) -> list[CapturedLayer]:
    """The layers of recorded calls, those that are asked for."""
    modules = [call.module for call in recorder.calls]
    places = places_of(modules, counts, has_two_parts=has_two_parts)
    names = layer_names(modules, places)
    return [
        maker.make(name, place, call)
        for call, place, name in zip(recorder.calls, places, names, strict=True)
        if request.layers is None or place.number in request.layers
    ]


def _others(found: RunnableCheckpoint, recorder: Recorder) -> list[str]:
    """What is said of layers that call no attention function, as those of a state space."""
    numbers = {place_of(call.module, has_two_parts=False).number for call in recorder.calls}
    count = found.layer_count
    others = [] if count is None else [str(number) for number in range(count) if number not in numbers]
    has_others = bool(others) and not found.config.is_encoder_decoder and len(recorder.calls) < (count or 0)
    noun = "layer" if len(others) == 1 else "layers"
    return [f"left out {noun} {_some(others)}, without a call of an attention function"] if has_others else []


def _layers_of_softmaxes(
    found: RunnableCheckpoint,
    recorder: SoftmaxRecorder,
    maker: LayerMaker,
    counts: Mapping[str, int],
    request: CaptureRequest,
) -> list[CapturedLayer]:
    """The layers of a model whose softmaxes were recorded; raises AttnError where none multiplies values."""
    calls = recorder.attentions
    if not calls and request.layers is None:
        why = "its attention is in blocks" if recorder.others else "it may have no attention"
        message = f"{found.config.model_type} calls no attention function of transformers, and {why}"
        raise AttnError(message, where=found.where, hint="attn model writes the file of a layer of many families")
    modules = [call.module for call in calls]
    places = places_of(modules, counts, has_two_parts=bool(found.config.is_encoder_decoder))
    return [
        maker.make_of_softmax(name, place, call)
        for call, place, name in zip(calls, places, layer_names(modules, places), strict=True)
        if request.layers is None or place.number in request.layers
    ]
