"""The report on heads: a table of them and of their means, their maps as pictures, and the rollout."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import isnan
from typing import TYPE_CHECKING, Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.labels import number_equal_labels, numbered_labels
from attncli.base.lazy_numpy import Array, np
from attncli.base.program import __version__
from attncli.base.text import count_of
from attncli.io.maps import LayerMaps, Maps
from attncli.models.heads import (
    EFFECTIVE_KEYS,
    ENTROPY,
    KINDS,
    LEAST_LOCAL,
    LEAST_MEAN,
    LEAST_UNIFORM,
    PLACES,
    STATISTICS,
    Head,
    HeadNumbers,
    HeadReport,
    Sequences,
    head_report,
    rollout,
    sort_heads,
)
from attncli.numbers.formatting import MINUS
from attncli.render.document import Answer, Document, Drawing, Grid, Section, Statement

if TYPE_CHECKING:
    from attncli.render.formats.text_page import TextPage

HEADS_FORMAT = "attn.heads/1"
DECIMALS = 2
HEADINGS: Mapping[str, str] = {ENTROPY: "entropy", EFFECTIVE_KEYS: "keys"}  # other statistics use their name
LARGE_MAPS = 4  # maps to draw with words and numbers; more are a grid of small ones
LEAST_LOGARITHM = -6.0  # decades below 1 that a logarithmic picture distinguishes
ROLLOUT_FORMULA = "R₁ = A₁,  Rₗ = Aₗ Rₗ₋₁,  Aₗ = ½ (mean of the heads) + ½ I, with rows that sum to 1"
ROLLOUT_ASSUMPTIONS = (
    "R[query, key]: how much of the key's vector has arrived at the query, if attention alone mixes tokens (Abnar & "
    "Zuidema 2020)",
    "assumed: every head counts the same, the residual connection carries half, values, w_o and feed-forward layers "
    "pass vectors on as they are",
)


@dataclass(frozen=True)
class HeadsView:
    """How to show maps: which layers and heads, in which order, how many, and in which form.

    `layers` and `heads` are positions, None for all; `sort` is a statistic, with `-` the smallest first.
    """

    layers: Sequence[int] | None = None
    heads: Sequence[int] | None = None
    sort: str | None = None
    top: int | None = None
    kind: str | None = None
    decimals: int = DECIMALS
    heatmap: bool = False
    logarithm: bool = False
    rollout: bool = False
    maps: bool = False

    @property
    def selects(self) -> bool:
        """Whether heads are picked by what they do, and form no grid of layers and heads."""
        return any(each is not None for each in (self.sort, self.top, self.kind))


@dataclass(frozen=True)
class ModelHeads:
    """The maps of a model, and how to show them."""

    maps: Maps
    view: HeadsView
    title: str = ""

    @cached_property
    def layers(self) -> Sequence[int]:
        """The positions of the shown layers."""
        return range(len(self.maps)) if self.view.layers is None else self.view.layers

    def heads_of(self, layer: int) -> Sequence[int]:
        """The shown heads of a layer, as far as it has them."""
        count = len(self.maps[layer].weights)
        return range(count) if self.view.heads is None else [head for head in self.view.heads if head < count]

    def sequences_of(self, layer: LayerMaps) -> Sequences:
        """The numbers of queries and keys of a layer, their words, padding, and mask."""
        queries, keys = layer.weights.shape[-2:]
        query_tokens = layer.query_tokens or (layer.key_tokens if queries == keys else None)
        words = query_tokens, layer.key_tokens
        return Sequences(queries, keys, *words, layer.real_keys, layer.real_queries, layer.visible)

    @cached_property
    def report(self) -> HeadReport:
        """The report on the shown heads."""
        own = [self.maps[layer] for layer in self.layers]
        weights = [each.weights[list(self.heads_of(at))] for at, each in zip(self.layers, own, strict=True)]
        return head_report(weights, [self.sequences_of(each) for each in own])

    @cached_property
    def heads(self) -> Sequence[Head]:
        """The shown heads, in their order."""
        kind = None if self.view.kind is None else self.view.kind.replace(MINUS, "-")
        heads = [head for head in self.report.heads if kind in (None, head.kind)]
        if kind is not None and kind not in KINDS:
            raise UnknownNameError("kind of head", kind, KINDS, where="--kind")
        if kind is not None and not heads:
            raise AttnError(f"no head is called {kind}", where="--kind", hint=f"there are {_counts(self)}")
        if self.view.sort is not None:
            heads = sort_heads(heads, self.view.sort)
        elif self.view.top is not None:
            heads = sorted(heads, key=lambda head: 0.0 if isnan(head.share) else -head.share)
        return heads if self.view.top is None else heads[: self.view.top]

    def layer_name(self, head: Head) -> str:
        """The name of a head's layer: its number, or its name in a capture."""
        return self.maps[self.layers[head.layer]].name

    def number_of(self, head: Head) -> int:
        """The number of a head in its layer."""
        return self.heads_of(self.layers[head.layer])[head.head]

    def label_of(self, head: Head) -> str:
        """The label of a head: `3.5 previous token 0.93`."""
        return f"{self.layer_name(head)}.{self.number_of(head)} {head.label}"

    def weights_of(self, head: Head) -> Array:
        """The map of a head [n m]."""
        position = self.layers[head.layer]
        return np.asarray(self.maps[position].weights[self.number_of(head)])

    def labels_of(self, layer: LayerMaps) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The labels of the queries and of the keys of a layer."""
        own = self.sequences_of(layer)
        is_self = own.is_self_attention
        sides = (("query_", own.queries, own.query_tokens), ("key_", own.keys, own.key_tokens))
        queries, keys = (
            numbered_labels("token_" if is_self else word, count) if tokens is None else number_equal_labels(tokens)
            for word, count, tokens in sides
        )
        return queries, keys


def statistic_name(name: str, option: str) -> str:
    """The name of a statistic, also from its name in tables; a leading `-` stays.

    Raises UnknownNameError for an unknown statistic.

    >>> statistic_name("-keys", "--sort")
    '-effective_keys'
    """
    bare = name.removeprefix("-")
    found = next((own for own, heading in HEADINGS.items() if bare == heading), bare)
    found = next((place.name for place in PLACES.values() if bare == place.kind), found)
    if found not in STATISTICS:
        raise UnknownNameError("statistic", name, STATISTICS, where=option)
    return f"-{found}" if name.startswith("-") else found


def heads_answer(model: ModelHeads) -> Answer:
    """The answer of `attn heads`: its document, its object, and the rows of a table."""
    return Answer(lambda: _document(model), lambda: heads_object(model), lambda: heads_rows(model))


def heads_object(model: ModelHeads) -> dict[str, Any]:
    """The statistics of each shown head, their means, and with `maps` the weights; None in place of NaN."""
    report, view = model.report, model.view
    content: dict[str, Any] = {
        "format": HEADS_FORMAT,
        "version": __version__,
        "heads": [_head_object(model, head) for head in model.heads],
        "layers": [
            {"layer": position, **_words(model, position), **_numbers(means)}
            for position, means in zip(model.layers, report.layer_means, strict=True)
        ],
        "mean": _numbers(report.mean),
        "equal_weights": _numbers(report.uniform),
    }
    if view.rollout:
        content["rollout"] = {"formula": ROLLOUT_FORMULA, "layers": _rollout(model)}
    return content


def _words(model: ModelHeads, position: int) -> dict[str, Any]:
    """The name of a layer and its words, None if unknown."""
    layer = model.maps[position]
    own = model.sequences_of(layer)
    words = {"query_tokens": own.query_tokens, "key_tokens": own.key_tokens}
    return {"name": layer.name, **{name: tokens and list(tokens) for name, tokens in words.items()}}


def _head_object(model: ModelHeads, head: Head) -> dict[str, Any]:
    """The object of a head: its location, its kind, its numbers, and on request its weights."""
    own = {"layer": model.layers[head.layer], "head": model.number_of(head), "kind": head.kind}
    weights = {"weights": model.weights_of(head)} if model.view.maps else {}
    return {**own, "share": _number(head.share), **_numbers(head), "received": list(head.received), **weights}


def _numbers(numbers: Head | HeadNumbers) -> dict[str, Any]:
    """The numbers of a head, or of a mean of several; None in place of NaN."""
    places = {"kinds": numbers.kinds, "shares": numbers.shares}
    return {
        **{name: _number(numbers.statistics[name]) for name in STATISTICS if name not in PLACES},
        **{name: {kind: _number(number) for kind, number in own.items()} for name, own in places.items()},
    }


def _number(number: float) -> float | None:
    return None if isnan(number) else number


def heads_rows(model: ModelHeads) -> Iterator[Sequence[Any]]:
    """The header and the rows of one table of the shown heads, or of a rollout's queries and keys."""
    if model.view.rollout:
        queries, keys = model.labels_of(model.maps[model.layers[-1]])
        yield ["", *keys]
        for query, row in zip(queries, _rollout(model)[-1].tolist(), strict=True):
            yield [query, *row]
        return
    yield "layer", "head", "kind", "share", *STATISTICS, *(f"share of {name}" for name in PLACES)
    for head in model.heads:
        own = (head.share, *head.statistics.values(), *head.part_of_all.values())
        numbers = ("" if isnan(number) else number for number in own)
        yield model.layers[head.layer], model.number_of(head), head.kind, *numbers


def _rollout(model: ModelHeads) -> Array:
    """The rollout after each shown layer."""
    layers = [model.maps[position] for position in model.layers]
    own = [layer.weights[list(model.heads_of(at))] for at, layer in zip(model.layers, layers, strict=True)]
    return rollout(own)


def _document(model: ModelHeads) -> Document:
    """The document of the heads: their maps or their table, or the rollout."""
    view = model.view
    sections = _rollout_sections(model) if view.rollout else _head_sections(model)
    return Document(sections, view.decimals, has_heatmaps=view.heatmap, are_side_by_side=False)


def _head_sections(model: ModelHeads) -> Iterator[Section]:
    """The counts of heads by kind; below, their maps, or their table and the means."""
    yield Section("", blocks=(Statement(f"{_what(model)}: ", _counts(model)),))
    if not model.view.heatmap:
        yield _table(model)
        if not model.view.selects:
            yield _means(model)
    elif len(model.heads) <= LARGE_MAPS or model.view.selects:
        yield Section("", tuple(map_of(model, head) for head in model.heads), remarks=logarithm_remarks(model))
    else:
        draw = Drawing(lambda page: _draw_maps(model, page))
        yield Section("", remarks=logarithm_remarks(model), blocks=(draw,))


def _what(model: ModelHeads) -> str:
    """The counts of shown layers, heads and tokens: `6 layers × 12 heads, 9 tokens`."""
    layer = model.maps[model.layers[0]]
    own = model.sequences_of(layer)
    counts = {len(model.heads_of(position)) for position in model.layers}
    heads = count_of(max(counts), "head") if len(counts) == 1 else f"{min(counts)} to {max(counts)} heads"
    tokens = (
        count_of(own.keys, "token")
        if own.is_self_attention
        else f"{count_of(own.queries, 'query')} and {count_of(own.keys, 'key')}"
    )
    return f"{count_of(len(model.layers), 'layer')} × {heads}, {tokens}"


def _counts(model: ModelHeads) -> str:
    """The number of heads of each kind, the largest first."""
    counts = Counter(head.kind for head in model.report.heads)
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common())


def _shown(model: ModelHeads) -> Sequence[str]:
    """The entropy, the places with weight of any head, and the statistic for sorting.

    Every head has weight on offsets and on nearby keys: these are shown only if they name a head.
    """
    always = (ENTROPY, EFFECTIVE_KEYS, (model.view.sort or "").removeprefix("-"))
    heads, kinds = [head.statistics for head in model.heads], {head.kind for head in model.heads}
    return [
        name
        for name in STATISTICS
        if name in always
        or (name in PLACES and PLACES[name].kind in kinds)
        or (name in PLACES and PLACES[name].is_common and any(each[name] > 0 for each in heads))
    ]


def _grid(model: ModelHeads, rows: Sequence[tuple[str, Head | HeadNumbers]], corner: str) -> Grid:
    """A table of statistics, a row each."""
    names = _shown(model)
    values = np.array([[numbers.statistics[name] for name in names] for _, numbers in rows])
    headings = tuple(HEADINGS.get(name, name) for name in names)
    labels = tuple(label for label, _ in rows)
    return Grid(values.reshape(len(rows), len(names)), labels, headings, corner, aligns_columns=True)


def _table(model: ModelHeads) -> Section:
    """The table of the shown heads, and the meaning of its columns."""
    rows: list[tuple[str, Head | HeadNumbers]] = [(model.label_of(head), head) for head in model.heads]
    rows += [("equal weights", model.report.uniform)] if model.view.selects else []
    return Section("", (_grid(model, rows, "layer.head"),), remarks=tuple(_remarks(model)))


def _remarks(model: ModelHeads) -> Iterator[str]:
    """The meaning of the columns, the naming of heads, and the reason for missing numbers."""
    places = "; ".join(f"{name}: {PLACES[name].about}" for name in _shown(model) if name in PLACES)
    yield (
        f"keys: exp(entropy), mean over the queries; mean weight, over the queries that see such a key and others, on "
        f"{places}"
    )
    yield (
        f"a head is named after the place with the largest mean, from {LEAST_MEAN} and above equal weights; local: "
        f"{LEAST_LOCAL} times equal weights, and no other name; uniform: {LEAST_UNIFORM} of their entropy or more"
    )
    if not any(model.sequences_of(layer).has_words for layer in model.maps):
        yield "--tokens names the words, for induction, duplicates and separators"
    yield from _padding_remarks(model)
    sums = [each for head in model.heads if head.sums is not None for each in head.sums]
    if sums:
        yield (
            f"entropy and keys leave out rows that are not distributions: some have negative weights, or sums of "
            f"{min(sums):.4g} to {max(sums):.4g}"
        )
    if any(all(isnan(mean) for mean in head.kinds.values()) for head in model.heads):
        yield "NaN: no row of the head has finite weights with a sum above 0, or the queries see one key alone"


def _padding_remarks(model: ModelHeads) -> Iterator[str]:
    """Padding, or apparent padding: keys at an end to which no head of a layer gives weight."""
    shown = [model.maps[position] for position in model.layers]
    counts = {int((~np.asarray(each.real_keys, bool)).sum()) for each in shown if each.real_keys is not None} - {0}
    if counts:
        yield f"{count_of(max(counts), 'key')} of padding: left out as keys and queries"
    elif all(each.real_keys is None and each.visible is None for each in shown):
        used = [(each.weights != 0).any(axis=(0, 1)) for each in shown]
        ends = {int(np.flatnonzero(own)[-1]) + 1 for own in used if own.any()}
        most = max(map(len, used))
        if len(ends) == 1 and (end := max(ends)) < most:
            unused = count_of(most - end, "key")
            yield f"no query gives weight to the last {unused}; if they are padding: --lengths {end}"


def _means(model: ModelHeads) -> Section:
    """The means over the heads of each layer and over all, and the numbers of equal weights."""
    report = model.report
    means = zip(model.layers, report.layer_means, strict=True)
    layers = [(f"layer {model.maps[position].name}", mean) for position, mean in means]
    rows = layers if len(model.layers) > 1 else []
    rows += [("all heads", report.mean), ("equal weights", report.uniform)]
    return Section("means", (_grid(model, rows, ""),))


def map_of(model: ModelHeads, head: Head) -> Grid:
    """The map of a head as a coloured table."""
    layer = model.maps[model.layers[head.layer]]
    queries, keys = model.labels_of(layer)
    label = f"layer {model.layer_name(head)}, head {model.number_of(head)}: {head.label}"
    weights = _drawn(model, model.weights_of(head))
    return Grid(weights, queries, keys, "n\\m", label, is_heatmap=not model.view.logarithm)


def _drawn(model: ModelHeads, weights: Array) -> Array:
    """The numbers to draw: weights, or their logarithms to base 10, where 0 is minus infinity."""
    if not model.view.logarithm:
        return weights
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithms: Array = np.log10(weights.astype(np.float64))
    return np.where(weights > 0, np.maximum(logarithms, LEAST_LOGARITHM), logarithms)


def logarithm_remarks(model: ModelHeads) -> tuple[str, ...]:
    """The meaning of the colours for logarithms."""
    least = f"{LEAST_LOGARITHM:.0f}".replace("-", MINUS)
    text = f"log₁₀ of the weights; {least} of smaller ones too; masked: 0, which has no logarithm"
    return (text,) if model.view.logarithm else ()


def _draw_maps(model: ModelHeads, page: "TextPage") -> None:
    """Draw the grid of the maps: a row for each layer, a column for each head."""
    from attncli.render.heatmap.map_grid import print_map_grid  # noqa: PLC0415 - only `--heatmap` needs it

    rows = [
        (f"{model.layer_name(heads[0])}", [map_of(model, head) for head in heads])
        for heads in (list(group) for _, group in groupby(model.heads, lambda head: head.layer))
    ]
    longest = max((model.heads_of(position) for position in model.layers), key=len)
    print_map_grid(page, rows, [str(head) for head in longest], model.view.decimals)


def _rollout_sections(model: ModelHeads) -> Iterator[Section]:
    """The rollout after the last shown layer, with its formula and assumptions."""
    last = model.maps[model.layers[-1]]
    queries, keys = model.labels_of(last)
    found = _rollout(model)[-1]
    grid = Grid(found, queries, keys, "n\\m", is_heatmap=True)
    yield Section(
        f"rollout of layers {model.maps[model.layers[0]].name} to {last.name}",
        (grid,),
        formula=ROLLOUT_FORMULA,
        remarks=ROLLOUT_ASSUMPTIONS,
    )
