"""Attention in one call, `attention(query, key, value)`, and problems of files: `load` and `load_layer`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Unpack

from attncli.api.arguments import KeysBesideVectors, Matrix, ProblemKeys
from attncli.api.problem import Problem, raw_values
from attncli.api.result import Result
from attncli.engine.options import THREADS
from attncli.io.inputs import Inputs
from attncli.io.problem_files import PYTHON_OVER_FILE, read_document
from attncli.io.variants import PROBLEM, NamedDocument
from attncli.models.checkpoint import read_checkpoint
from attncli.models.layer_file import layer_document
from attncli.problem.fields import OUTPUT
from attncli.problem.numbers import to_integer

ANSWER = (OUTPUT,)


def attention(
    query: Matrix = None,
    key: Matrix = None,
    value: Matrix = None,
    *,
    select: Iterable[str] = ANSWER,
    gradient: Matrix | bool = None,
    executor: str = THREADS,
    convention: str | None = None,
    **problem: Unpack[KeysBesideVectors],
) -> Result:
    """Attention of queries over keys and values: softmax(q kᵀ / √d) v, by default.

    `query` [n d], `key` [m d] and `value` [m e] are arrays, tensors, data frames or nested lists, already projected;
    also [b n h·d] with `heads=h`, and [b h n d], where keys and values may have fewer heads. Without `value` the keys
    are the values. Further keywords are the keys of a problem file: `score="cosine"`, `causal=True`, `mask` [n m] (true
    attends). Instead of queries and keys they may give their source: `embeddings` [m x] with `w_q` [x d], `w_k` [x d]
    and `w_v` [x e], or a `sentence`.

    The result has the names in `select` as attributes: `output` [n e] (or [b n h·e], [b h n e]), `scores` and `weights`
    [n m] (or [b h n m]), and the name of any other step; by default the output, or the weights if there are no values.
    With a `gradient` of the output, an array or True for ones, it also has the gradients of the given arrays,
    `grad_query` and so on. The type is the common one of the arrays; integers are computed in float64. The `executor`
    ("threads", "serial" or the address of a Dask scheduler) computes large problems. A `convention`, such as "flash",
    reads the keys as that framework does.

    Raises AttnError if a key is unknown, a value can't be converted, or two of them contradict each other.

    Source: Vaswani et al. 2017, eq. 1.

    >>> result = attention([[2, 0]], [[1, 0], [0, 1]], [[10], [20]], score="dot", select=("weights", "output"))
    >>> result.weights.round(4).tolist(), result.output.round(4).tolist()
    ([[0.8808, 0.1192]], [[11.192]])
    >>> attention(sentence="the cat sat").output.shape
    (3, 8)
    """
    made = Problem(convention=convention, query=query, key=key, value=value, **problem)
    if select is ANSWER and gradient is not None and gradient is not False:
        return made.compute(gradient=gradient, executor=executor)
    names = made.spec.default_selection[-1:] if select is ANSWER else select
    return made.compute(names, gradient=gradient, executor=executor)


def load(
    path: str | Path,
    *,
    max_size: int | str | None = None,
    convention: str | None = None,
    **keys: Unpack[ProblemKeys],
) -> Problem:
    """The problem in a file: YAML, JSON, `.npz` or `.safetensors`; `-` is standard input, `file#part` a part of a file.

    Paths in the file are relative to its folder. The keywords are keys that replace the file's, as options do on the
    command line; None removes a key, and a text among them opens no file. `max_size`, in bytes or as a text such as
    "2G", limits the memory for each file, by default a quarter of the free memory; arrays in `.npy` and `.safetensors`
    files are mapped and may be larger. A `convention`, such as "flash", reads the keys as that framework does.

    Raises AttnError that names the wrong line and key.

    >>> load("missing.yaml", score="cosine")
    Traceback (most recent call last):
        ...
    attncli.base.errors.AttnError: missing.yaml: there is no such file
    """
    over_file = raw_values(keys, PYTHON_OVER_FILE)
    document = read_document(str(path), Inputs(max_size)) | over_file
    return Problem.of_source(NamedDocument(str(path), document, convention, noun=PROBLEM))


def load_layer(
    checkpoint: str | Path,
    layer: int,
    part: str | None = None,
    *,
    max_size: int | str | None = None,
    **keys: Unpack[ProblemKeys],
) -> Problem:
    """The attention of one layer of a model's checkpoint, a folder with config.json and `.safetensors` files.

    It is the problem that `attn model` writes: layers count from 0, negative ones from the end, and `part` is encoder,
    decoder or cross if the model has several, by default the first. The keywords are further keys, which replace the
    layer's: `embeddings` [n x] or [b n x], the input of the attention, without which there is nothing to compute.
    Tensors are mapped, and `max_size` works as in `load`.

    Raises AttnError if there is no such checkpoint, layer or part, or the family of the model is unknown.

    >>> load_layer("missing", 0, embeddings=[[1, 0]])
    Traceback (most recent call last):
        ...
    attncli.base.errors.AttnError: missing: there is no such file or folder; name a model's folder, with its config.json
    """
    found = read_checkpoint(str(checkpoint), Inputs(max_size))
    document = layer_document(found, to_integer(layer, ("layer",), least=None), part) | raw_values(
        keys, PYTHON_OVER_FILE
    )
    return Problem.of_source(NamedDocument(f"{checkpoint}, layer {layer}", document, noun=PROBLEM))
