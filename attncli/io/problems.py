"""A Problem from a file, from options, or from both: each key is read by its kind, options win over the file."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attncli.arrays import Array
from attncli.errors import AttnError, UnknownNameError
from attncli.io import drawing, matrix, values
from attncli.io.chosen import above, choose, finite, flag, integer, word
from attncli.io.matrix import Draw, Labelled
from attncli.io.readers import binary, json, yaml
from attncli.io.source import STDIN, Origin, path_of, read_text
from attncli.precision import common
from attncli.problem import KEYS, Key, Problem

# What a worked example says beside its problem; `attn compute` passes over it.
STORY = ("title", "about", "source", "expected", "parts", "together")


@dataclass(frozen=True)
class Written:
    """A value as it was written, and where."""

    value: Any
    origin: Origin


Document = dict[str, Written]

# Parameters that are vectors: a table of one row or column may stand for them.
VECTORS = (", v", ", b", ", slopes", ", frequencies")
# What is laid over the scores takes the type of the queries, keys and values.
ADDED = ("bias", "mask", "sink", "key_lengths")


def load(path: str | Path) -> Problem:
    """The problem in a YAML or JSON file; raises AttnError that says what is wrong with it and where."""
    return assemble(read_document(str(path)))


def read_document(name: str) -> Document:
    """The keys of a YAML or JSON file, or of standard input for `-`, as they were written."""
    if name == STDIN:
        return parse_document(read_text("standard input"), "standard input")
    path = path_of(name)
    suffix = path.suffix.lower()
    if suffix in matrix.TABLES:
        hint = f"give it as an option: --embeddings {name}"
        raise AttnError("is a table, not a problem", where=name, hint=hint)
    if suffix in (binary.NPZ, binary.SAFETENSORS):
        return _arrays(name, path)
    if suffix not in matrix.DOCUMENTS:
        expected = ", ".join((*matrix.DOCUMENTS, binary.NPZ, binary.SAFETENSORS))
        raise AttnError("is no problem file", where=name, hint=f"expected {expected} or -")
    return parse_document(read_text(name, path), name, path.parent)


def _arrays(name: str, path: Path) -> Document:
    """The keys of a file of arrays; an array of no axes is a number, a word is one."""
    origin = Origin(name, path.parent)
    document = {}
    for key, entry in binary.entries(path).items():
        value: Any = entry
        if isinstance(entry, binary.Typed):
            value = _unpacked(entry, KEYS[key].kind if key in KEYS else "")
        document[key] = Written(value, origin)
    return document


def _unpacked(entry: binary.Typed, kind: str) -> Any:
    """An array as its key takes it: numbers and short lists as Python has them, matrices as they are."""
    if entry.array.ndim and kind not in ("labels", "window"):
        return Labelled(entry.array, dtype=entry.dtype)
    found = entry.array.tolist()
    return [int(x) if float(x).is_integer() else x for x in found] if isinstance(found, list) else found


def parse_document(text: str, name: str, folder: Path = Path()) -> Document:
    """The keys of a YAML or JSON text, as they were written; paths in it are relative to the folder."""
    value, lines = _parse(text, name)
    if value is None:
        raise AttnError("is empty", where=name)
    if not isinstance(value, Mapping):
        hint = "expected keys such as embeddings: and w_q:; a matrix alone is given as --embeddings"
        raise AttnError("is no problem", where=name, hint=hint)
    origin = Origin(name, folder, lines=lines)
    return {key: Written(entry, origin) for key, entry in value.items()}


def _parse(text: str, name: str) -> tuple[Any, dict[int, int]]:
    """JSON where it looks like JSON and is; YAML otherwise."""
    if name.lower().endswith(".json"):
        return json.read(text, name), {}
    if text.lstrip()[:1] == "{":
        try:
            return json.read(text, name), {}
        except AttnError:
            return yaml.read(text, name)
    return yaml.read(text, name)


def assemble(document: Mapping[str, Written]) -> Problem:
    """Read every key by its kind, draw what is drawn, and check that it fits together."""
    for key, written in document.items():
        if key not in KEYS and key not in STORY:
            raise UnknownNameError("key", key, KEYS, where=written.origin.name or None)
    document = {key: written for key, written in document.items() if key in KEYS and written.value is not None}
    found: dict[str, Any] = {}
    labels: dict[str, tuple[str, ...]] = {}
    types: list[str] = []
    for key, written in document.items():
        value = _read(KEYS[key], written)
        if isinstance(value, Labelled):
            if value.labels:
                labels[key] = _text_labels(value.labels, written.origin.where(key))
            if value.dtype and key not in ADDED:
                types.append(value.dtype)
            value = value.array
        found[key] = value
    _label(found, labels, document)
    if types:
        found.setdefault("dtype", common(types))
    try:
        _embed(found)
        return Problem(**drawing.draw(found))
    except AttnError as error:
        raise _placed(error, document) from None


def _placed(error: AttnError, document: Mapping[str, Written]) -> AttnError:
    """An error of a Problem, which knows the key, with the file or the option that the key was written in."""
    key, comma, rest = (error.where or "").partition(",")
    if key in document:
        error.where = document[key].origin.where(key) + comma + rest
        return error
    files = {written.origin.name for written in document.values() if written.origin.name}
    return error.at(files.pop()) if len(files) == 1 else error


def _read(key: Key, written: Written) -> Any:
    """One value by its key's kind."""
    readers: Mapping[str, Callable[[Key, Written, str], Any]] = {
        "matrix": _array,
        "vector": _vector,
        "truths": _truths,
        "counts": _counts,
        "vocabulary": _vocabulary,
        "labels": lambda key, written, where: _labels(written.value, where),
        "text": lambda key, written, where: _string(written.value, where),
        "integer": lambda key, written, where: integer(written.value, where, key.least),
        "number": lambda key, written, where: (
            finite(written.value, where) if key.above is None else above(written.value, where, key.above)
        ),
        "flag": lambda key, written, where: flag(written.value, where),
        "window": lambda key, written, where: values.window(written.value, where),
        "word": lambda key, written, where: word(written.value, key.words, where),
    }
    where = written.origin.where(key.name, written.value)
    if key.kind in readers:
        return readers[key.kind](key, written, where)
    return choose(key.kind, written.value, written.origin, key.name, _read_parameter)


def _array(key: Key, written: Written, where: str) -> Labelled | Draw:
    """A matrix with as many axes as its key may have; booleans are no numbers."""
    found = matrix.read(written.value, key.name, written.origin)
    if isinstance(found, Draw):
        return found
    if found.array.dtype.kind == "b" and key.kind != "truths":
        raise AttnError("true and false are not numbers", where=where, hint="write 1 and 0")
    return Labelled(_with_axes(found.array, key, where), found.labels, found.dtype)


def _with_axes(array: Array, key: Key, where: str) -> Array:
    """The array, if it may have that many axes; a table of one row or column may stand for a vector."""
    allowed = key.axes or (len(key.letters),)
    if allowed == (1,) and array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim not in allowed:
        usual = {1: "one row of numbers", 2: "rows of numbers"}
        few = array.ndim < allowed[0] or len(allowed) == 1
        wanted = usual[allowed[0]] if few else f"at most {allowed[-1]} axes"
        axes = "axis" if array.ndim == 1 else "axes"
        raise AttnError(f"has {array.ndim} {axes}", where=where, hint=f"expected {wanted}")
    return array


def _vector(key: Key, written: Written, where: str) -> Labelled | Draw:
    """One row of numbers; on the command line also `3,5`, and one number alone."""
    return _array(key, Written(values.listed(written.value), written.origin), where)


def _truths(key: Key, written: Written, where: str) -> Labelled:
    """A table of true and false, or of 1 and 0."""
    found = _array(key, written, where)
    if isinstance(found, Draw):
        raise AttnError("can't be drawn", where=where, hint="give a table of 1 and 0")
    return Labelled(values.truths(found.array, where))


def _counts(key: Key, written: Written, where: str) -> Labelled:
    """Whole numbers from 0."""
    found = _vector(key, written, where)
    if isinstance(found, Draw):
        raise AttnError("can't be drawn", where=where, hint="give whole numbers")
    return Labelled(values.counts(found.array, where))


def _read_parameter(value: Any, key: str, origin: Origin) -> Any:
    """A matrix that is a parameter of a score or a context."""
    found = matrix.read(value, key, origin)
    if isinstance(found, Draw):
        return found
    if found.array.ndim == 0:
        return float(found.array)
    vector = found.array.ndim == 2 and 1 in found.array.shape and key.endswith(VECTORS)
    return found.array.reshape(-1) if vector else found.array


def _labels(value: Any, where: str) -> tuple[str, ...]:
    """Labels: a list of words or numbers, or one of them."""
    value = value.tolist() if hasattr(value, "tolist") else value
    listed = value if isinstance(value, (list, tuple)) else [value]
    for label in listed:
        if label is None or isinstance(label, (bool, list, dict)):
            raise AttnError(f"{json.said(label)} is no label", where=where, hint="put the word in quotes")
    if not listed:
        raise AttnError("has no labels", where=where)
    return _text_labels(map(str, listed), where)


def _text_labels(labels: Iterable[str], where: str) -> tuple[str, ...]:
    """Labels that a file can hold: bytes that are no UTF-8 reach Python as halves of surrogate pairs."""
    found = tuple(labels)
    for label in found:
        if any("\ud800" <= letter <= "\udfff" for letter in label):
            raise AttnError(f"{label!a} is no Unicode text", where=where, hint="save it as UTF-8")
    return found


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise AttnError(f"{value!r} is no text", where=where)
    return value


def _vocabulary(key: Key, written: Written, where: str) -> dict[str, Any]:
    """A vector for each word: a mapping, or a table with labels."""
    found = matrix.read(written.value, key.name, written.origin)
    if isinstance(found, Draw) or not found.labels:
        raise AttnError("has no words", where=where, hint="expected a vector for each word, as in {cat: [.4, .5]}")
    if len(set(found.labels)) < len(found.labels):
        twice = next(label for label in found.labels if found.labels.count(label) > 1)
        raise AttnError(f"the word {twice!r} stands twice", where=where)
    return dict(zip(found.labels, found.array, strict=True))


def _label(values: dict[str, Any], labels: Mapping[str, tuple[str, ...]], document: Mapping[str, Written]) -> None:
    """Labels beside a matrix become tokens, unless tokens are given; an option wins over the file."""
    for name, owners in (("tokens", ("embeddings", "key")), ("query_tokens", ("query_embeddings", "query"))):
        for owner in owners:
            if owner not in labels:
                continue
            newer = document[owner].origin.options and not (name in document and document[name].origin.options)
            if name not in values or newer:
                values[name] = labels[owner]


def _embed(values: dict[str, Any]) -> None:
    """A sentence and its vocabulary together stand for tokens and embeddings."""
    text, vocabulary = values.get("sentence"), values.get("vocabulary")
    if text is None and vocabulary is None:
        return
    if text is None or vocabulary is None:
        there, missing = ("sentence", "vocabulary") if vocabulary is None else ("vocabulary", "sentence")
        raise AttnError(f"{there} is given without {missing}", where=missing, hint="give both")
    if "embeddings" in values:
        raise AttnError("sentence and embeddings are both given", where="embeddings", hint="leave out one of them")
    from attncli.io import sentence  # noqa: PLC0415 - most problems have no sentence

    tokens, values["embeddings"] = sentence.embed(text, vocabulary)
    values.setdefault("tokens", tokens)
