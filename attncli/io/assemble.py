"""A Problem from a file, from options, or from both: each key is read by its kind, options win over the file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attncli.base.dtypes import common
from attncli.base.errors import AttnError, UnknownNameError
from attncli.io import random_fill
from attncli.io.origin import RawValue
from attncli.io.parse.matrix import LabelledArray
from attncli.io.parse.problem_keys import read_key, text_labels
from attncli.io.problem_files import EXAMPLE_KEYS, read_document
from attncli.problem.spec import FIELDS, Problem

# What is laid over the scores takes the type of the queries, keys and values.
ADDED = ("bias", "mask", "sink", "key_lengths")


def load(path: str | Path) -> Problem:
    """The problem in a YAML or JSON file; raises AttnError that says what is wrong with it and where."""
    return assemble(read_document(str(path)))


def assemble(document: Mapping[str, RawValue]) -> Problem:
    """Read every key by its kind, draw what is drawn, and check that it fits together."""
    for key, written in document.items():
        if key not in FIELDS and key not in EXAMPLE_KEYS:
            raise UnknownNameError("key", key, FIELDS, where=written.origin.name or None)
    document = {key: written for key, written in document.items() if key in FIELDS and written.value is not None}
    found: dict[str, Any] = {}
    labels: dict[str, tuple[str, ...]] = {}
    types: list[str] = []
    for key, written in document.items():
        value = read_key(FIELDS[key], written)
        if isinstance(value, LabelledArray):
            if value.labels:
                labels[key] = text_labels(value.labels, written.origin.where(key))
            if value.dtype and key not in ADDED:
                types.append(value.dtype)
            value = value.array
        found[key] = value
    _label(found, labels, document)
    if types:
        found.setdefault("dtype", common(types))
    try:
        _embed(found)
        return Problem(**random_fill.draw(found))
    except AttnError as error:
        raise _placed(error, document) from None


def _placed(error: AttnError, document: Mapping[str, RawValue]) -> AttnError:
    """An error of a Problem, which knows the key, with the file or the option that the key was written in."""
    key, comma, rest = (error.where or "").partition(",")
    if key in document:
        error.where = document[key].origin.where(key) + comma + rest
        return error
    files = {written.origin.name for written in document.values() if written.origin.name}
    return error.at(files.pop()) if len(files) == 1 else error


def _label(values: dict[str, Any], labels: Mapping[str, tuple[str, ...]], document: Mapping[str, RawValue]) -> None:
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
    from attncli.io.parse import sentence  # noqa: PLC0415 - most problems have no sentence

    tokens, values["embeddings"] = sentence.embed(text, vocabulary)
    values.setdefault("tokens", tokens)
