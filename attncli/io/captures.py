"""Captures: the inputs and results of each layer in a model's run, as a `.safetensors` file with a problem per layer.

The file's metadata has the layers; the tensors have the arrays of their problems, and the model's results.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.base.text import count_of
from attncli.io import formats
from attncli.io.inputs import STDIN_NAME, Input, Inputs
from attncli.io.paths import STDIN
from attncli.io.problem_files import Document, Origin, RawValue
from attncli.problem.arrays import GivenArray
from attncli.problem.fields import EXPECTED
from attncli.problem.spec import FIELDS

FORMAT_KEY, CAPTURE_KEY = "format", "capture"  # in the metadata: the format's number, and the object in JSON
FORMAT_NAME = "attn.capture/"
FORMAT = f"{FORMAT_NAME}1"
WEIGHTS = "weights"
_DAMAGED = "is not a valid capture"


@dataclass(frozen=True)
class CapturedLayer:
    """One attention of a run: the keys of its problem, and the names of its tensors in the file.

    `name` is the number of the layer, with the part and the kind if a model has several: `decoder.3.cross`. `keys` has
    the values of keys without arrays (`scale`, `causal`), `arrays` the tensors of the others; `results` has the tensors
    of the model's results, by name. `tokens` and `query_tokens` index the capture's sequences, for the keys and the
    queries.
    """

    name: str
    keys: Mapping[str, Any]
    arrays: Mapping[str, str]
    results: Mapping[str, str]
    tokens: int | None = None
    query_tokens: int | None = None


@dataclass(frozen=True)
class Capture:
    """A run of a model: its sequences of tokens, its layers in order, and its origin.

    `model` is the folder's name, `model_type` the family, `dtype` the type of computation, `source` the version of the
    library that ran it. `masks` has a number for each token of each sequence, 0 for padding; it is empty without
    padding. `notes` say which facts of the run are missing in the file, or misleading.
    """

    sequences: Sequence[Sequence[str]]
    layers: Sequence[CapturedLayer]
    model: str = ""
    model_type: str = ""
    dtype: str = ""
    source: str = ""
    masks: Sequence[Sequence[int]] = ()
    notes: Sequence[str] = ()

    @property
    def tokens(self) -> Sequence[str]:
        """The tokens of the first sequence, the text."""
        return self.sequences[0] if self.sequences else ()

    def layer(self, name: str, where: str = "") -> CapturedLayer:
        """The layer with a name; raises UnknownNameError."""
        found = next((layer for layer in self.layers if layer.name == name), None)
        if found is None:
            raise UnknownNameError("layer", name, (layer.name for layer in self.layers), where=where)
        return found

    def values(self, layer: CapturedLayer, file: str) -> dict[str, Any]:
        """The keys of a layer's problem, for a problem file in the capture's folder."""
        labels = {"tokens": layer.tokens, "query_tokens": layer.query_tokens}
        tokens = {key: list(self.sequences[number]) for key, number in labels.items() if number is not None}
        arrays = {key: f"{file}#{tensor}" for key, tensor in layer.arrays.items()}
        expected = {name: f"{file}#{tensor}" for name, tensor in layer.results.items()}
        return {**tokens, **layer.keys, **arrays, **({EXPECTED: expected} if expected else {})}

    def metadata(self) -> dict[str, str]:
        """The metadata of the file, without empty values."""
        content = {name: value for name, value in asdict(self).items() if name in ("sequences", "layers") or value}
        return {FORMAT_KEY: FORMAT, CAPTURE_KEY: json.dumps(content, ensure_ascii=False)}


@dataclass(frozen=True)
class CaptureFile:
    """A capture and its file, whose tensors are not read yet."""

    capture: Capture
    input: Input
    inputs: Inputs

    def document(self, layer: CapturedLayer) -> Document:
        """The raw values of a layer's problem: `assemble` makes the problem, `read_expected` reads its results."""
        origin = Origin(f"{self.input.name}, layer {layer.name}", self.input.path.parent, inputs=self.inputs)
        values = self.capture.values(layer, _file(self.input))
        return {key: RawValue(value, origin) for key, value in values.items()}

    def weights(self, layer: CapturedLayer) -> GivenArray | None:
        """The model's weights in a layer; None if the file lacks them."""
        tensor = {**layer.arrays, **layer.results}.get(WEIGHTS)
        return None if tensor is None else self.array(tensor)

    def array(self, tensor: str) -> GivenArray:
        """The numbers of a tensor; raises AttnError if the file lacks it."""
        array = formats.read_array(self.input, tensor)
        assert isinstance(array, GivenArray)
        return array


def read_capture(name: str, inputs: Inputs) -> CaptureFile:
    """The capture in a file; raises AttnError for another file, or a damaged one."""
    source = inputs.open(name)
    found = capture_of(formats.read_metadata(source), source.name)
    if found is None:
        hint = "attn capture CHECKPOINT 'The text.' -o captured.safetensors writes one"
        raise AttnError("is not a capture", where=source.name, hint=hint)
    return CaptureFile(found, source, inputs)


def problem_of(capture: Capture, source: Input) -> dict[str, Any]:
    """A capture as a problem file: a part for each layer."""
    file = _file(source)
    parts = [{"title": layer.name, **capture.values(layer, file)} for layer in capture.layers]
    return {"title": f"{capture.model}: {count_of(len(parts), 'captured layer')}", "parts": parts}


def _file(source: Input) -> str:
    """The name of the file in its folder, or of standard input."""
    return STDIN if source.name == STDIN_NAME else source.path.name


def capture_of(metadata: Mapping[str, str], where: str) -> Capture | None:
    """The capture in a file's metadata; None if there is none.

    Raises AttnError if they are damaged, or of a later format.
    """
    name = metadata.get(FORMAT_KEY, "")
    if not name.startswith(FORMAT_NAME):
        return None
    if name != FORMAT:
        raise AttnError(f"is a capture of format {name}", where=where, hint=f"this version reads {FORMAT}")
    try:
        found = json.loads(metadata.get(CAPTURE_KEY, ""))
        layers = [CapturedLayer(**layer) for layer in found.pop("layers")]
        capture = Capture(layers=layers, **found)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise AttnError(f"{_DAMAGED}: its metadata can't be read", where=where) from None
    _check_sequences(capture, where)
    for layer in capture.layers:
        _check_layer(layer, len(capture.sequences), (where, f"layer {layer.name}"))
    names = [layer.name for layer in capture.layers]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise AttnError(f"{_DAMAGED}: it has layer {twice} twice", where=where)
    return capture


def _check_sequences(capture: Capture, where: str) -> None:
    """Raise AttnError if the sequences are not lists of tokens, or the origin is not text."""
    texts = (capture.model, capture.model_type, capture.dtype, capture.source)
    are_lists = isinstance(capture.sequences, list) and all(isinstance(tokens, list) for tokens in capture.sequences)
    tokens = [token for tokens in capture.sequences for token in tokens] if are_lists else [None]
    if not all(isinstance(text, str) for text in (*texts, *tokens)):
        raise AttnError(f"{_DAMAGED}: its tokens are not lists of text", where=where)
    if not isinstance(capture.notes, list | tuple) or not all(isinstance(note, str) for note in capture.notes):
        raise AttnError(f"{_DAMAGED}: its notes are not a list of text", where=where)
    are_masks = isinstance(capture.masks, list | tuple) and all(isinstance(mask, list) for mask in capture.masks)
    lengths = [len(mask) for mask in capture.masks] if are_masks else [-1]
    if lengths and lengths != [len(tokens) for tokens in capture.sequences]:
        raise AttnError(f"{_DAMAGED}: its masks do not match its tokens", where=where)
    if any(number not in (0, 1) for mask in capture.masks for number in mask):
        raise AttnError(f"{_DAMAGED}: its masks have numbers other than 0 and 1", where=where)


def _check_layer(layer: CapturedLayer, count: int, where: ErrorPath) -> None:
    """Raise AttnError if the facts about a layer have wrong types, or unknown keys."""
    names = isinstance(layer.arrays, dict) and isinstance(layer.results, dict) and isinstance(layer.keys, dict)
    tensors = [*layer.arrays.values(), *layer.results.values()] if names else [None]
    if not names or not all(isinstance(text, str) for text in (layer.name, *tensors)):
        raise AttnError(f"{_DAMAGED}: a layer has no names of tensors", where=where)
    for number in (layer.tokens, layer.query_tokens):
        if number is not None and (type(number) is not int or not 0 <= number < count):
            raise AttnError(f"{_DAMAGED}: there are no tokens {number}", where=where)
    for key in (*layer.keys, *layer.arrays):
        if key not in FIELDS:
            raise UnknownNameError("key", key, FIELDS, where=where)
