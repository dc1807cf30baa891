"""What each head of a model does, from Python: `heads(maps)`, and the table that it returns."""

from collections.abc import Sequence
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from attncli.api.frames import import_pandas
from attncli.api.shown import document_html, document_text
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.io.inputs import Inputs
from attncli.io.maps import EAGER_HINT, maps_of_arrays, with_padding, with_words
from attncli.models import heads as statistics
from attncli.models.captured_maps import ModelFile, read_model_maps
from attncli.models.heads import Head
from attncli.models.heads_document import HeadsView, ModelHeads, heads_answer, heads_rows
from attncli.problem.arrays import GivenArray, to_array
from attncli.problem.numbers import to_integer
from attncli.render.document import Document
from attncli.render.formats import JSON, find_format
from attncli.render.target import TEXT_FILE

if TYPE_CHECKING:
    import pandas

__all__ = ["Head", "Heads", "heads"]


class Heads:
    """The report on each head of a model, as `heads` returns it; `print(found)` shows the text of `attn heads`."""

    def __init__(self, data: ModelFile) -> None:
        self._data = data

    @cached_property
    def _model(self) -> ModelHeads:
        """The maps with the settings for showing them."""
        return ModelHeads(self._data.maps, HeadsView())

    @property
    def heads(self) -> Sequence[Head]:
        """The heads, layer by layer: each has its `layer` and `head`, `kind`, and its numbers, NaN for missing ones.

        `kinds` and `shares` have the mean weight on each place, over the queries that have it and over all, by kind of
        head; `statistics` has `entropy`, `effective_keys`, `distance`, and the means of `kinds` by the names of the
        table's columns.
        """
        return self._model.report.heads

    @property
    def weights(self) -> Sequence[Array]:
        """The maps of each layer [h n m]."""
        return tuple(layer.weights for layer in self._data.maps)

    def rollout(self) -> Array:
        """How much of each key's vector has arrived at each query after each layer, [layers n n].

        Source: Abnar & Zuidema 2020, section 3. Raises AttnError if queries and keys are not the same sequence.
        """
        return statistics.rollout(self.weights)

    def to_pandas(self) -> "pandas.DataFrame":
        """A row for each head: its layer and head, kind, share and statistics; raises AttnError without pandas."""
        header, *rows = heads_rows(self._model)
        frame = import_pandas().DataFrame(rows, columns=list(header))
        numbers = [name for name in header if name not in ("layer", "head", "kind")]
        return frame.assign(**{name: import_pandas().to_numeric(frame[name]) for name in numbers})

    def to_json(self) -> str:
        """The text of `attn heads --json`."""
        return "".join(find_format(JSON).render_answer(heads_answer(self._model), TEXT_FILE))

    def save_page(self, path: "str | PathLike[str]") -> None:
        """Write the page of the model, as `attn heads FILE -o model.html` does."""
        from attncli.io.output_files import atomic_write_file  # noqa: PLC0415
        from attncli.models.page import render_model  # noqa: PLC0415 - only a page needs it

        atomic_write_file(fspath(path), "".join(render_model(self._data)))

    @property
    def _document(self) -> Document:
        return heads_answer(self._model).document()

    def __str__(self) -> str:
        return document_text(self._document)

    def __repr__(self) -> str:
        kinds = dict.fromkeys(head.kind for head in self.heads)
        return f"Heads({len(self._data.maps)} layers, {len(self.heads)} heads: {', '.join(kinds)})"

    def _repr_html_(self) -> str:
        return document_html(self._document)


def heads(
    maps: Any,
    *,
    tokens: Sequence[str] | None = None,
    query_tokens: Sequence[str] | None = None,
    batch: int | None = None,
    lengths: int | Sequence[int] | None = None,
    mask: Any = None,
) -> Heads:
    """Report what each head of a model does, by its maps: its weight on places, and a kind.

    `maps` are one array [layers heads n m], or an array or tensor [heads n m] or [batch heads n m] for each layer, as
    in `outputs.attentions` of transformers; or the name of a file with such arrays, or of a capture. The `tokens` are
    the words of the keys, and of the queries unless `query_tokens` are given. `batch` chooses one of several batch
    items. Padding does not count: `lengths` has the number of tokens of each batch item, `mask` [items m] 1 for each
    token and 0 for padding, as tokenizers give it.

    Raises AttnError if the maps have another form.

    >>> import numpy as np
    >>> found = heads(np.tile(np.eye(4), (2, 3, 1, 1)), tokens=["the", "cat", "the", "mat"])
    >>> found
    Heads(2 layers, 6 heads: itself)
    >>> found.heads[0].kinds["first token"], found.heads[0].shares["first token"], found.heads[0].label
    (0.0, 0.25, 'itself 1.00')
    """
    item = None if batch is None else to_integer(batch, ("batch",), least=None)
    if isinstance(maps, str | PathLike):
        found = read_model_maps(fspath(maps), Inputs(), item)
    else:
        is_list = isinstance(maps, list | tuple)
        arrays = [_layer_array(each, at) for at, each in enumerate(maps)] if is_list else []
        found = ModelFile(maps_of_arrays(arrays if is_list else to_array(maps, ("maps",)), "maps", item), "maps")
    words = [None if each is None else tuple(map(str, each)) for each in (tokens, query_tokens)]
    for name, own, axis in zip(("tokens", "query_tokens"), words, (-1, -2), strict=True):
        if own is not None and len(own) not in {layer.weights.shape[axis] for layer in found.maps}:
            raise AttnError(f"{len(own)} words, and no layer has so many", where=name)
    known = with_padding(with_words(found.maps, *words), lengths, mask, item, ("lengths", "mask"))
    return Heads(ModelFile(known, found.name, found.capture))


def _layer_array(maps: Any, layer: int) -> GivenArray:
    """The maps of one layer; raises AttnError if a model did not return them."""
    if maps is None:
        raise AttnError("is None", where=("maps", f"layer {layer}"), hint=EAGER_HINT)
    return to_array(maps, ("maps", f"layer {layer}"))
