"""The page of a model: the maps of every layer and head, and each layer's problem, which opens on a click."""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from math import isnan
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.program import __version__
from attncli.engine.run import run
from attncli.models.captured_maps import ModelFile, layer_problem
from attncli.models.heads import PLACES, STATISTICS, Head
from attncli.models.heads_document import HeadsView, ModelHeads
from attncli.page import page_object
from attncli.page.document import page_document
from attncli.page.page_plans import is_computed_by_page
from attncli.plan.trace import RunResult, Step
from attncli.problem.fields import WEIGHTS
from attncli.render.color_map import ANCHORS
from attncli.render.view import DECIMALS, View

MODEL_FORMAT = "attn.model_page/1"
STORED = np.dtype("<f4")  # the type of the page's numbers: 1e-7 of each
MOST_INPUTS = 800_000  # numbers of a page besides its maps
MOST_WEIGHTS = 2_000_000  # numbers of all maps
EVERY_STEP = 4_000_000  # numbers of a layer's steps, which the page computes when it opens

WHOLE = HeadsView()  # every head of every layer


def render_model(file: ModelFile, view: HeadsView = WHOLE) -> Iterator[str]:
    """The page of a model as HTML, in chunks; raises AttnError if there are too many numbers."""
    yield from page_document(model_object(file, view), file.title)


def model_object(file: ModelFile, view: HeadsView = WHOLE) -> dict[str, Any]:
    """The object for the scripts of a model's page.

    - `layers`: `name`, the position of its `template`, its `weights` and, where the page computes them, the `values`
      of the steps that it does not compute, each `{shape, data}` with the numbers of STORED in Base64.
    - `templates`: objects of pages of a problem without `values`; layers that differ in numbers alone have one.
    - `heads`: `layer` (a position), `head`, `kind`, `label`, `share`, and `statistics` by name;
      None where there is no number.
    - `statistics`: the `name`, the `title` and the meaning of each that some head has, in their order.
    - `sort`: the statistic by which heads are sorted first, or null.
    """
    model = ModelHeads(file.maps, view)
    _check_size(model)
    results, left_out = _results(file, model.layers)
    templates: dict[str, dict[str, Any]] = {}
    layers = []
    for position, result in zip(model.layers, results, strict=True):
        content = page_object(View(result), EVERY_STEP, has_variants=False)
        del content["values"]
        key = json.dumps(content)
        templates.setdefault(key, content)
        layers.append(
            {
                "name": model.maps[position].name,
                "template": list(templates).index(key),
                "weights": stored(model.maps[position].weights),
                "values": {step.name: stored(step.value) for step in _inputs(result)},
            }
        )
    return {
        "format": MODEL_FORMAT,
        "version": __version__,
        "title": file.title,
        "decimals": DECIMALS,
        "colors": [list(rgb) for rgb in ANCHORS],
        "left_out": [left_out] if left_out else [],
        "sort": model.view.sort,
        "statistics": _statistics(model),
        "heads": [_head_object(model, head) for head in model.heads],
        "layers": layers,
        "templates": list(templates.values()),
    }


def stored(array: Array) -> dict[str, Any]:
    """An array as its shape and its numbers, in the order of rows, in Base64."""
    numbers = np.ascontiguousarray(array, STORED)
    return {"shape": list(array.shape), "data": b64encode(numbers.tobytes()).decode("ascii")}


def _check_size(model: ModelHeads) -> None:
    """Raise AttnError if the maps exceed a page's numbers."""
    sizes = [int(model.maps[position].weights.size) for position in model.layers]
    if sum(sizes) > MOST_WEIGHTS:
        fitting = MOST_WEIGHTS // max(sizes)
        hint = f"choose some layers: --layer 0-{fitting - 1}" if fitting > 1 else "choose one layer, or fewer tokens"
        message = f"the maps have {sum(sizes):,} numbers, and a page has room for {MOST_WEIGHTS:,}"
        raise AttnError(message, where="--output", hint=hint)


def _results(file: ModelFile, layers: Sequence[int]) -> tuple[list[RunResult], str]:
    """The results of the layers with every step, and the steps left out if they have too many numbers.

    The values and their dependent steps go first, then the queries and keys too.
    """
    problems = [layer_problem(file, layer, has_inputs=True) for layer in layers]
    for select, left_out in ((None, ""), ((WEIGHTS,), "the arithmetic of contexts")):
        results = [run(problem, select, every_step=True) for problem in problems]
        count = sum(int(step.value.size) for result in results for step in _inputs(result))
        if count <= MOST_INPUTS:
            return results, _sentence(left_out, len(layers))
    problems = [layer_problem(file, layer, has_inputs=False) for layer in layers]
    return [run(problem, every_step=True) for problem in problems], _sentence("the arithmetic", len(layers))


def _sentence(left_out: str, count: int) -> str:
    """The content left out of a page of so many layers, as a sentence; empty if nothing is."""
    if not left_out:
        return ""
    fewer = "a shorter text" if count == 1 else f"fewer layers (--layer 0-{count // 2 - 1})"
    return f"There is no room here for {left_out}: a page of {fewer} has it."


def _inputs(result: RunResult) -> Iterator[Step]:
    """The steps that selected results need and the page does not compute; it always has the weights."""
    needed = result.trace.plan.needed_for(result.select)
    found = (step for step in result.trace.steps if not is_computed_by_page(result.trace, step))
    return (step for step in found if step.name in needed and step.name != WEIGHTS)


def _statistics(model: ModelHeads) -> list[dict[str, str]]:
    """The statistics that some head has: names, titles and meanings."""
    own = {name for head in model.heads for name, number in head.statistics.items() if not isnan(number)}
    kinds = {head.kind for head in model.heads}
    others = {place.name for place in PLACES.values() if not place.is_common and place.kind not in kinds}
    others.discard((model.view.sort or "").removeprefix("-"))
    names = [name for name in STATISTICS if name in own - others]
    return [
        {"name": name, "title": PLACES[name].kind, "about": PLACES[name].about}
        if name in PLACES
        else {"name": name, "title": name.replace("_", " "), "about": ""}
        for name in names
    ]


def _head_object(model: ModelHeads, head: Head) -> dict[str, Any]:
    """The object of a head: its layer by position in the page, its number, its kind, and its statistics."""
    numbers = {name: None if isnan(number) else number for name, number in head.statistics.items()}
    own = {"layer": head.layer, "head": model.number_of(head), "kind": head.kind, "label": head.label}
    return {**own, "share": None if isnan(head.share) else head.share, "statistics": numbers}
