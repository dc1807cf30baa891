"""The maps of a model from any file that has them: saved maps, or a capture with saved or computed weights."""

from dataclasses import dataclass
from math import prod

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.engine.run import run
from attncli.io import formats
from attncli.io.assemble import assemble
from attncli.io.captures import CapturedLayer, CaptureFile, capture_of
from attncli.io.inputs import Inputs
from attncli.io.maps import BATCH_OPTION, LayerMaps, Maps, read_maps
from attncli.io.paths import locate, path_of
from attncli.io.problem_files import Origin, RawValue
from attncli.plan.build import plan_of
from attncli.problem.build import build
from attncli.problem.fields import EXPECTED, WEIGHTS
from attncli.problem.spec import ProblemSpec

DTYPE = "float64"  # type of the page's numbers
VISIBLE = "visible"  # the step that is true where every mask lets queries see keys


@dataclass(frozen=True)
class ModelFile:
    """A file with the maps of a model, and its capture, if it is one."""

    maps: Maps
    name: str
    capture: CaptureFile | None = None

    @property
    def title(self) -> str:
        """Its subject: the model of a capture, otherwise the name of the file."""
        return self.name if self.capture is None else self.capture.capture.model or self.name


def read_model_maps(file: str, inputs: Inputs, batch: int | None = None) -> ModelFile:
    """The maps in a file; of several batch items one. Raises AttnError if there are none."""
    name, entry = locate(file)
    source = inputs.open(name)
    found = None if entry else capture_of(formats.read_metadata(source), source.name)
    if found is None:
        return ModelFile(read_maps(file, inputs, batch), path_of(source.name).name)
    capture = CaptureFile(found, source, inputs)
    return ModelFile(tuple(_layer_maps(capture, layer, batch) for layer in found.layers), path_of(name).name, capture)


def layer_problem(file: ModelFile, layer: int, *, has_inputs: bool) -> ProblemSpec:
    """The problem of a layer by its position, in float64: a capture's, or one with given weights.

    A capture `has_inputs`, queries and keys; without them it has the weights too.
    """
    maps = file.maps[layer]
    if file.capture is not None and has_inputs:
        document = file.capture.document(file.capture.capture.layers[layer])
        own = {key: raw for key, raw in document.items() if key != EXPECTED}
        return assemble({**own, "dtype": RawValue(DTYPE, Origin())})
    values = {"weights": maps.weights[None].astype(DTYPE), "tokens": maps.key_tokens, "query_tokens": maps.query_tokens}
    return build({**values, "dtype": DTYPE})


def _layer_maps(file: CaptureFile, layer: CapturedLayer, batch: int | None) -> LayerMaps:
    """The maps of a captured layer: the model's own, or else the layer problem's; and its mask."""
    saved = file.weights(layer)
    problem = assemble({key: raw for key, raw in file.document(layer).items() if key != EXPECTED})
    weights = run(problem, (WEIGHTS,)).trace[WEIGHTS].value if saved is None else saved.array
    sequences, masks = file.capture.sequences, file.capture.masks
    sides = (layer.tokens, layer.query_tokens)
    keys, queries = (None if at is None else tuple(sequences[at]) for at in sides)
    real_keys, real_queries = (None if at is None or not masks else np.array(masks[at], bool) for at in sides)
    own = _of_batch(weights, batch, file.input.name)
    mask = _visible(problem)
    visible = None if mask is None else np.broadcast_to(mask, (*weights.shape[:-2], *mask.shape[-2:]))
    seen = None if visible is None else np.asarray(_of_batch(visible, batch, file.input.name).any(axis=0))
    items = prod(weights.shape[:-3])
    return LayerMaps(layer.name, own, keys, queries, real_keys, real_queries, seen, items)


def _visible(problem: ProblemSpec) -> Array | None:
    """The keys that queries see [… n m], by the masks of a problem; None if it has no mask."""
    plan = plan_of(problem)
    if VISIBLE not in {node.name for node in plan.nodes}:
        return None
    return np.asarray(run(problem, (VISIBLE,)).trace[VISIBLE].value)


def _of_batch(weights: Array, batch: int | None, where: str) -> Array:
    """The weights [heads n m] of one batch item; raises AttnError if there are several and none is chosen."""
    items = weights.reshape(prod(weights.shape[:-3]), *([1] * (3 - weights.ndim)), *weights.shape[-3:])
    if batch is None and len(items) > 1:
        raise AttnError(f"has {len(items)} batch items", where=where, hint=f"choose one: {BATCH_OPTION} 0")
    if batch is not None and not -len(items) <= batch < len(items):
        raise AttnError(f"there is no batch item {batch}", where=BATCH_OPTION, hint=f"there are {len(items)}, from 0")
    found: Array = items[batch or 0]
    return found
