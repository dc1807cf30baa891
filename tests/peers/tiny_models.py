"""Models of transformers with few layers and random weights: saved as checkpoints, and what their attention computes.

A `TinyModel` is a row of a table. To add one: the model type, the arguments of its configuration class (small sizes,
and whatever switches the family's peculiarities on), and what differs from a decoder whose layers are
`layers.N.self_attn`: the names of modules, the class of the model, its inputs.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

ROUNDING = 1e-9  # of the output's size, where the model computes in float64
FLOAT32 = 2e-6  # the same, where the model itself computes a part in float32

EPSILON = 0.02  # of norms: large enough to be seen
VOCABULARY = 50
MOST_PARAMETERS = 30_000_000  # of a tiny model, all parts together
LENGTH = 11
ITEMS = 2
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": VOCABULARY,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def tokens(_config: Any) -> dict[str, Any]:
    """Two items of token numbers, none of them a token of padding (0, 1, 2)."""
    import torch

    drawn = torch.Generator().manual_seed(7)
    return {"input_ids": torch.randint(3, VOCABULARY, (ITEMS, LENGTH), generator=drawn)}


@dataclass(frozen=True)
class TinyModel:
    """One row of a table: a model, the layers to compare, and the modules whose input and output are compared."""

    model_type: str
    config: Mapping[str, Any] = field(default_factory=dict)
    layers: Sequence[int] = (0, 1)
    float32: str = ""  # what the model computes in float32 whatever its type: rope, norms, softmax; "" for nothing
    part: str | None = None
    module: str = "layers.{layer}.self_attn"  # its name, or the end of it
    output: str = "{module}"  # the module whose output is that of the attention, where it is another
    block: str | None = None  # the module whose input is the residual stream, where `residual` is to be compared too
    sizes: Mapping[str, Any] = field(default_factory=lambda: SIZES)  # what `config` is written upon
    model_class: str = "AutoModelForCausalLM"
    kernel: str = "sdpa"  # in float64; "eager" for models that have no other, whose softmax is often in float32
    inputs: Callable[[Any], Mapping[str, Any]] = tokens
    variant: str = ""  # what tells this row from others of the same model type
    embeddings: str = "hidden_states"  # the module's argument, where it is given by name
    query_embeddings: str | None = None  # the same of the sequence that asks, in cross-attention
    source: str = "{module}"  # the module whose input is `embeddings`, where it is another
    items: int = 0  # the axis of what passes that counts the items
    method: str = "forward"  # what of the model is called, by its name or its path
    default_type: str = "float64"  # of the numbers that a model makes on its way
    tokens: str = "input_ids"  # its argument with the tokens that the part looks up
    given: Callable[[Any], Mapping[str, Any]] = lambda _config: {}  # what the user must know of the inputs: positions

    @property
    def name(self) -> str:
        """Its name in the list of tests."""
        return "-".join(filter(None, (self.model_type, self.part, self.variant)))

    @property
    def tolerance(self) -> float:
        """How far outputs may differ, in parts of the largest."""
        return FLOAT32 if self.float32 else ROUNDING


@dataclass(frozen=True)
class CapturedAttention:
    """What one layer's attention was given, and what it returned."""

    embeddings: Any
    query_embeddings: Any | None
    residual: Any | None
    output: Any
    tokens: list[int] | None = None  # of the first item, of the first layer
    given: Mapping[str, Any] = field(default_factory=dict)  # the arrays of other keys


def make_config(row: TinyModel) -> Any:
    """The configuration of a row's model."""
    import transformers

    with warnings.catch_warnings(action="ignore"):  # of settings that a random model has no use for
        return transformers.AutoConfig.for_model(row.model_type, **deepcopy({**row.sizes, **row.config}))


def make_checkpoint(row: TinyModel, folder: Path) -> list[CapturedAttention]:
    """Save the model of a row in a folder; what the attention of each of its layers computes."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with warnings.catch_warnings(action="ignore"):  # of what a random model has no use for
        config = make_config(row)
        config._experts_implementation = "eager"  # the other ones have no float64
        for name in [name for name, value in vars(config).items() if "eps" in name and isinstance(value, float)]:
            setattr(config, name, EPSILON)
        torch.manual_seed(17)
        maker = getattr(transformers, row.model_class)
        make = maker.from_config if row.model_class.startswith("AutoModel") else maker._from_config
        model = make(config, attn_implementation=row.kernel).double().eval()
        assert model.num_parameters() < MOST_PARAMETERS, "say the sizes of the model's other parts too"
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.requires_grad:  # positions that are computed, not learned, stay
                    parameter.normal_(0, 0.4)
        try:
            torch.set_default_dtype(getattr(torch, row.default_type))
            captured = _run(model, row)
        finally:
            torch.set_default_dtype(torch.float32)
        model.save_pretrained(folder)
    return captured


def _run(model: Any, row: TinyModel) -> list[CapturedAttention]:
    """Run the model once, and keep what passes through the modules of each layer."""
    import torch

    kept: dict[tuple[int, str], Any] = {}

    def keep(layer: int, name: str, pick: Callable[..., Any]) -> Callable[..., None]:
        def hook(_module: Any, words: tuple[Any, ...], named: Mapping[str, Any], result: Any) -> None:
            value = pick(words, named, result).detach().clone().transpose(0, row.items)
            grid = value.ndim > 3  # of an image: rows and columns of tokens
            kept[layer, name] = (value.flatten(1, 2) if grid else value).numpy()

        return hook

    def argument(name: str, place: int = 0) -> Callable[..., Any]:
        return lambda words, named, _result: named[name] if name in named else words[place]

    hooks = []
    for layer in row.layers:
        module = _find(model, row.module.format(layer=layer))
        output = _find(model, row.output.format(layer=layer, module=row.module.format(layer=layer)))
        source = _find(model, row.source.format(layer=layer, module=row.module.format(layer=layer)))
        wanted = [
            (source, "embeddings", argument(row.embeddings, 1 if row.query_embeddings and source is module else 0)),
            (
                output,
                "output",
                lambda _words, _named, result: result[0] if isinstance(result, tuple | list) else result,
            ),
        ]
        if row.query_embeddings:
            wanted.append((module, "query_embeddings", argument(row.query_embeddings)))
        if row.block:
            wanted.append((_find(model, row.block.format(layer=layer)), "residual", argument("hidden_states")))
        hooks += [
            target.register_forward_hook(keep(layer, name, pick), with_kwargs=True) for target, name, pick in wanted
        ]
    inputs = row.inputs(model.config)
    with torch.no_grad():
        attrgetter(row.method)(model)(**inputs)
    for hook in hooks:
        hook.remove()
    first = inputs[row.tokens][0].tolist() if row.tokens in inputs else None
    names = ("embeddings", "query_embeddings", "residual", "output")
    given = row.given(model.config)
    return [
        CapturedAttention(*(kept.get((layer, name)) for name in names), first if layer == 0 else None, given)
        for layer in row.layers
    ]


def _find(model: Any, name: str) -> Any:
    """The module of this name, or the only one whose name ends in it."""
    found = [module for known, module in model.named_modules() if known == name or known.endswith(f".{name}")]
    assert len(found) == 1, f"{len(found)} modules {name}"
    return found[0]
