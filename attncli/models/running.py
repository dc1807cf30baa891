"""A checkpoint run by transformers: the model, the tokens of a text, a run; only from its folder, offline."""

import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from attncli.base.errors import AttnError, missing_package
from attncli.base.memory import format_bytes
from attncli.base.text import count_of, shorten
from attncli.io.inputs import Inputs
from attncli.io.paths import path_of
from attncli.models.checkpoint import CONFIG, MAX_CONFIG_SIZE, MERGE_HINT, Checkpoint, read_checkpoint
from attncli.models.config import check_layer_counts
from attncli.models.tensors import has_adapter, root_of

EXTRA = "models"
MASK = "attention_mask"  # tokenizers' name for it: 1 for each token, 0 for padding
EAGER = "eager"  # the implementation of attention that can be watched
DTYPES = ("float32", "float16", "bfloat16", "float64")
_PACKAGES = ("torch", "transformers", "safetensors")
# The classes of transformers that make a model from a configuration, the one without a head first.
_MAKERS = ("AutoModel", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForImageTextToText")
_MOST_NAMES = 3  # tensors to name in a message
_MOST_TEXT = 200  # characters of a library's message
T = TypeVar("T")


@dataclass(frozen=True)
class TokenizedText:
    """The token numbers of a text, their words, and the tokenizer's other inputs to the model."""

    ids: Sequence[int]
    words: Sequence[str]
    others: Mapping[str, Sequence[int]]


def import_packages() -> tuple[Any, Any]:
    """The packages torch and transformers, which may open no connection; raises AttnError if one is missing."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # read at import
    try:
        import safetensors.torch  # noqa: F401, PLC0415 - an optional extra
        import torch  # noqa: PLC0415 - the same
        import transformers  # noqa: PLC0415 - the same
    except ImportError as error:
        missing = error.name if error.name in _PACKAGES else " and ".join(_PACKAGES)
        raise missing_package(str(missing), EXTRA, needs="to run a model needs") from None
    if not hasattr(transformers, "AttentionInterface") or not hasattr(
        transformers.AttentionInterface, "get_interface"
    ):  # before version 5
        hint = f"install it: pip install 'attncli[{EXTRA}]'"
        raise AttnError(f"transformers {transformers.__version__} is too old to be watched", hint=hint)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return torch, transformers


@dataclass(frozen=True)
class RunnableCheckpoint:
    """A checkpoint whose configuration and tokenizer transformers reads; its model is loaded on request."""

    checkpoint: Checkpoint
    where: str

    @property
    def folder(self) -> Path:
        """The folder of the checkpoint."""
        return self.checkpoint.folder

    @property
    def _own(self) -> dict[str, Any]:
        """Arguments for every reader of transformers: read only the folder, and run no code in it."""
        return {"pretrained_model_name_or_path": str(self.folder), "local_files_only": True, "trust_remote_code": False}

    @cached_property
    def config(self) -> Any:
        """The configuration; raises AttnError if transformers has no model of its type."""
        _, transformers = import_packages()
        with as_attn_errors(self.where, "transformers can't read its configuration", self._code_hint):
            return transformers.AutoConfig.from_pretrained(**self._own)

    @property
    def text_config(self) -> Any:
        """The configuration of the part that reads text."""
        return self.config.get_text_config()

    @property
    def layer_count(self) -> int | None:
        """The layers of the model, the larger number of two parts; None if the configuration does not say."""
        names = ("num_hidden_layers", "decoder_layers", "num_decoder_layers")
        counts = [getattr(self.text_config, name, None) for name in names]
        return max((count for count in counts if isinstance(count, int)), default=None)

    @property
    def _code_hint(self) -> str | None:
        """The hint for a checkpoint that brings its model as code."""
        has_code = "auto_map" in self.checkpoint.config
        return "it brings its model as Python code, which is never run" if has_code else None

    @cached_property
    def _tokenizer(self) -> Any:
        """The tokenizer; raises AttnError if the folder has none that can be read."""
        _, transformers = import_packages()
        hint = "give the numbers of the tokens: --ids 464,3797"
        with as_attn_errors(self.where, "transformers can't read its tokenizer", hint):
            return transformers.AutoTokenizer.from_pretrained(**self._own)

    def tokens_of_text(self, text: str, most: int | None) -> TokenizedText:
        """The tokens of a text, at most `most`; raises AttnError if there is none."""
        tokenizer = self._tokenizer
        limit = {} if most is None else {"truncation": True, "max_length": most}
        with as_attn_errors(self.where, "its tokenizer can't read the text"):
            found = dict(tokenizer(text, **limit))
        ids = found.pop("input_ids")
        if not ids:
            hint = "does the folder have its tokenizer? --ids 464,3797 needs none"
            raise AttnError("has no tokens", where="TEXT", hint=hint)
        self._check_ids(ids, "TEXT")
        others = {name: values for name, values in found.items() if len(values) == len(ids)}
        return TokenizedText(ids, self._words(tokenizer, ids), others)

    def tokens_of_ids(self, ids: Sequence[int], most: int | None) -> TokenizedText:
        """Tokens by their numbers, at most `most`; raises AttnError if the model has no such token."""
        ids = ids[:most]
        self._check_ids(ids, "--ids")
        try:
            words = self._words(self._tokenizer, ids)
        except AttnError:  # without a tokenizer they have no words
            words = [str(number) for number in ids]
        return TokenizedText(ids, words, {MASK: [1] * len(ids)})

    def _check_ids(self, ids: Sequence[int], where: str) -> None:
        """Raise AttnError if there are more tokens than positions, or a number is not a token."""
        given = getattr(self.text_config, "vocab_size", None)
        size: int = given if isinstance(given, int) and given > 0 else 2**63
        wrong = next((number for number in ids if not 0 <= number < size), None)
        if wrong is not None:
            raise AttnError(f"{wrong} is not a token", where=where, hint=f"the model has tokens 0 to {size - 1}")
        most = getattr(self.text_config, "max_position_embeddings", None)
        if isinstance(most, int) and 0 < most < len(ids):
            message = f"has {count_of(len(ids), 'token')}, and the model has positions for {most}"
            raise AttnError(message, where=where, hint=f"keep the first ones: --max-tokens {most}")

    def _words(self, tokenizer: Any, ids: Sequence[int]) -> list[str]:
        """The word of each token: its text, or the tokenizer's own form if it is a piece of a letter or a space."""
        names = tokenizer.convert_ids_to_tokens(list(ids))
        texts = [tokenizer.decode([number]).strip() for number in ids]
        return [
            text if text and "\N{REPLACEMENT CHARACTER}" not in text else str(number if name is None else name)
            for text, name, number in zip(texts, names, ids, strict=True)
        ]

    def target_tokens(self, target: TokenizedText) -> TokenizedText:
        """The decoder's input that predicts these tokens: its start, and all but the last of them."""
        names = (f"{name}_token_id" for name in ("decoder_start", "bos", "pad"))
        starts = (getattr(self.config, name, None) for name in names)
        start = next((number for number in starts if number is not None), 0)
        first = self.tokens_of_ids([start], None)
        return TokenizedText([start, *target.ids[:-1]], [*first.words, *target.words[:-1]], {})

    def load(self, dtype: str | None, implementation: str | None = EAGER) -> tuple[Any, list[str]]:
        """The model in a type (None: its tensors'), and the names of the tensors that its files lack.

        `implementation` is its attention's, None the default. Names in the files may have a root in front, as in `attn
        model`. Raises AttnError if transformers can't load it, or if a tensor of a layer, a norm or embeddings is
        missing, which it would draw at random.
        """
        torch, transformers = import_packages()
        makers = [getattr(transformers, name) for name in _MAKERS]
        maker = next((maker for maker in makers if type(self.config) in maker._model_mapping), None)
        if maker is None:
            message = f"transformers has no model that reads tokens of model_type {self.config.model_type!r}"
            raise AttnError(message, where=self.where, hint=self._code_hint)
        kind = "auto" if dtype is None else getattr(torch, dtype)
        given = {"dtype": kind, "attn_implementation": implementation, "use_safetensors": True}
        given["output_loading_info"] = True

        def load_model(**others: Any) -> tuple[Any, list[str]]:
            with as_attn_errors(self.where, "transformers can't load the model"):
                model, info = maker.from_pretrained(config=deepcopy(self.config), **self._own, **given, **others)
            return model.eval(), sorted(info["missing_keys"])

        model, missing = load_model()
        root = root_of(self.checkpoint, missing)
        if root:
            model, missing = load_model(key_mapping={f"^{re.escape(root)}": ""})
        self.check_missing([name for name in missing if _is_of_layers(model, name)])
        return model, missing

    def check_missing(self, names: Sequence[str]) -> None:
        """Raise AttnError if the checkpoint lacks one of some tensors."""
        if not names:
            return
        name = next((name for name in names if has_adapter(self.checkpoint, name)), None)
        if name is not None:
            raise AttnError(f"has an adapter next to the tensor {name}", where=self.where, hint=MERGE_HINT)
        hint = "transformers would draw missing tensors at random: save the whole model"
        raise AttnError(f"has no tensor {_listed(names)}", where=self.where, hint=hint)

    def run(self, model: Any, tokens: TokenizedText, target: Sequence[int] | None) -> Any:
        """The model's outputs for tokens, and for an encoder-decoder's `target`; raises AttnError."""
        torch, _ = import_packages()
        call = getattr(model, "get_text_features", model)  # in a model of texts and images
        known = {*inspect.signature(getattr(call, "forward", call)).parameters}
        inputs = {
            name: torch.tensor([list(values)])
            for name, values in {"input_ids": tokens.ids, **tokens.others}.items()
            if name in known
        }
        if target is not None:
            inputs["decoder_input_ids"] = torch.tensor([list(target)])
        others = {"use_cache": False} if "use_cache" in known else {}
        torch.manual_seed(0)  # for models that choose at random
        hint = "a model that reads images or sound too can't be run on text alone"
        hint = hint if model.dtype in (torch.float32, torch.float64) else "try --dtype float32"
        with torch.no_grad(), as_attn_errors(self.where, "transformers can't run the model on tokens", hint):
            return call(**inputs, **others)


def read_runnable(name: str, inputs: Inputs) -> RunnableCheckpoint:
    """The checkpoint in a folder; raises AttnError if it has no tensors, or one of its files is unreadable."""
    checkpoint = read_checkpoint(name, inputs)
    if not path_of(name).is_dir() and path_of(name).name != CONFIG:
        raise AttnError("is one file of a model", where=name, hint=f"name its folder: {checkpoint.folder}")
    check_layer_counts(checkpoint.config, checkpoint.config_name)
    for file in sorted(checkpoint.folder.iterdir()):
        _check_file(file)
    for file in {*checkpoint.files.values()}:
        if not file.exists():
            raise AttnError("is not there, but the index names it", where=str(file), hint="download the whole model")
    return RunnableCheckpoint(checkpoint, name)


def _check_file(file: Path) -> None:
    """Raise AttnError for a file of a folder that transformers would wait for, or read forever."""
    if file.exists() and not file.is_file() and not file.is_dir():
        raise AttnError("is a pipe or a device", where=str(file), hint="a checkpoint has files: copy it to one")
    if file.suffix == ".json" and file.is_file() and (size := file.stat().st_size) > MAX_CONFIG_SIZE:
        message = f"has {format_bytes(size)}, and JSON of a checkpoint has {format_bytes(MAX_CONFIG_SIZE)} at most"
        raise AttnError(message, where=str(file))


@contextmanager
def as_attn_errors(where: str, message: str, hint: str | None = None) -> Iterator[None]:
    """Raise AttnError, with the first line of a library's message, in place of its exceptions; no warnings."""
    with warnings.catch_warnings(action="ignore"):
        try:
            yield
        except (AttnError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - a library of many models may raise anything
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            said = shorten(f"{type(error).__name__}: {lines[0] if lines else ''}".rstrip(": "), _MOST_TEXT)
            raise AttnError(f"{message} ({said})", where=where, hint=hint) from None


def missing_tensors(names: Sequence[str]) -> str:
    """The remark on tensors that a checkpoint's files lack, and that transformers draws.

    >>> missing_tensors(["pooler.dense.bias", "pooler.dense.weight"])
    'the checkpoint has no pooler.dense.bias, pooler.dense.weight: drawn at random, and read by no attention'
    """
    return f"the checkpoint has no {_listed(names)}: drawn at random, and read by no attention"


def _listed(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"


def _is_of_layers(model: Any, name: str) -> bool:
    """Whether a tensor belongs to a numbered layer, to embeddings, or to a norm."""
    module = name.rpartition(".")[0]
    kind = type(model.get_submodule(module)).__name__
    return any(word.isdecimal() for word in module.split(".")) or "Embedding" in kind or "Norm" in kind


def apply(function: Callable[..., T], value: Any) -> list[T]:
    """A function's results for each tensor in a model's outputs, in their order."""
    if hasattr(value, "untyped_storage"):
        return [function(value)]
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [result for part in parts for result in apply(function, part)]
