"""Random fill: generators make arrays, in a fixed order, with the shapes that the other arrays imply."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attncli.base.axes import Letters, format_lengths
from attncli.base.errors import AttnError, ErrorPath
from attncli.base.lazy_numpy import Array, np
from attncli.base.memory import missing_memory
from attncli.ops import look_up
from attncli.ops.initializers import Stream, stream
from attncli.ops.norms import USES, array_letters
from attncli.ops.records import Operator
from attncli.problem.draft import Draft
from attncli.problem.fields import RANDOM, TABLES, VALUE_SOURCES, given_table
from attncli.problem.operators import PendingRandom
from attncli.problem.spec import FIELDS, LABEL_KEYS, OPERATOR_FIELDS, SENTENCE_GENERATOR
from attncli.problem.tokens import distinct_words, embed
from attncli.problem.weights import PACKED, Heads, packed_key, packed_parts, sizes_of_parts

# The arrays that may be drawn, in the order in which they use the stream, the fields' order. Array parameters of
# operators come after them.
FILLED: Mapping[str, Letters] = {name: field.letters for name, field in FIELDS.items() if field.is_random_fill}
FILLED_LETTERS = {part for letters in FILLED.values() for letter in letters for part in letter.split("+")}
BYTES_PER_NUMBER = 8  # generators make float64
DEFAULT_GENERATOR = "randint"
LINEAR = "linear"  # the generator of the weights and biases of nn.Linear
SENTENCE_DIM, SENTENCE_SEED = 8, 0  # so that a sentence suffices
# An axis without a length takes the first known length of these; h·e: the merged heads.
_SUBSTITUTES = {
    "n": ("m",),
    "d": ("c", "x"),
    "c": ("d", "x"),
    "e": ("x",),
    "h·e": ("e", "x"),
    "u": ("h·e", "e", "x"),
    "o": ("x",),
    "v": ("o", "h·e", "e", "x", "c"),
    "x": ("y",),
    "y": ("x",),
    "t": ("m",),
    "μ": ("y", "x"),
    "λ": ("x",),
    "ρ": ("d", "x"),
    "η": ("x",),
}
SIZE_FIELDS = tuple(name for name, field in FIELDS.items() if field.sizes)  # the sizes of drawn arrays
_SIZE_OF_LETTER = {letter: name for name in SIZE_FIELDS for letter in FIELDS[name].drawn_sizes}  # else dim
_IN_PLACE_OF_DRAWN = (  # the hint if there is no seed
    "give --seed 1, or instead of drawn embeddings --embeddings FILE (the attention's own input), --residual FILE "
    "(the input of the layer's norm), or --tokens 464,3797 (rows of a token_table)"
)
_IN_PLACE_OF_LABELS = (  # the same if tokens are given without a table
    "without a token_table, which a model's first layer has, tokens are only labels; give --residual FILE (the input "
    "of the layer's norm), --embeddings FILE (the attention's own input), or --seed 1"
)


def fill(draft: Draft) -> Draft:
    """Make every pending array of a problem, and missing arrays by `init`.

    Weights are in_out; the stream draws them in the shapes of `weight_layout`. Records the generator of each array, and
    the unused keys about random numbers. Raises AttnError if a seed or a size is missing.
    """
    values = draft.values
    pending = {name: value.generator for name, value in values.items() if isinstance(value, PendingRandom)}
    missing = _missing(values)
    pending |= {name: generator for name, generator in missing.items() if name not in pending}
    filled = {name: value for name, value in values.items() if not isinstance(value, PendingRandom)}
    filler, is_chosen = _Filler(filled), values.get("init") is not None or not _is_drawn_sentence(values)
    if pending:
        for name in _in_order(pending):
            if name == "embeddings" and filled.get("sentence") is not None:
                filler.embed_sentence(pending[name])
            else:
                letters = FILLED[name]
                filled[name] = filler.make(name, pending[name], letters, keeps_size=name in missing and not is_chosen)
                filled |= {"embeddings": filled[name]} if name == "residual" else {}
    if filler.generators and filled.get("generator") == "torch":
        filled.setdefault("dtype", "float32")
    for name in OPERATOR_FIELDS:
        if isinstance(filled.get(name), Operator):
            filled[name] = filler.fill_parameters(name, filled[name])
    read = {*filler.read, *sizes_of_parts(filled), *(["init"] if missing else [])}
    reason = "no drawn array needs it" if filler.generators else "nothing is drawn"
    keys = (name for name, field in FIELDS.items() if field.panel == RANDOM and values.get(name) is not None)
    unread = {name: reason for name in keys if name not in read}
    return replace(draft, values=filled, unread={**draft.unread, **unread}, generators=filler.generators)


def _in_order(pending: Mapping[str, Operator]) -> list[str]:
    """The arrays to make, in the order of FILLED; a bias of `nn.Linear` follows its weight."""
    biases = {name for name in pending if name.startswith("b_") and pending[name].record.name == LINEAR}
    biases = {name for name in biases if _weight_of(name) in pending}
    names = (name for name in FILLED if name in pending and name not in biases)
    return [each for name in names for each in (name, f"b_{name[2:]}") if each == name or each in biases]


def _weight_of(bias: str) -> str:
    """The weight whose product a bias is added to.

    >>> _weight_of("b_q")
    'w_q'
    """
    return bias.replace("b_", "w_", 1)


def _needs_vectors(values: Mapping[str, Any]) -> bool:
    """Whether a vector is drawn for each word of a sentence."""
    return values.get("sentence") is not None and values.get("embeddings") is None


def _is_drawn_sentence(values: Mapping[str, Any]) -> bool:
    """Whether a sentence uses the default drawing: no stream of random numbers is named."""
    return _needs_vectors(values) and values.get("generator") is None


def _missing(values: Mapping[str, Any]) -> dict[str, Operator]:
    """The generators from `init` for missing arrays: embeddings with given sizes, and projections."""
    has_sizes = values.get("token_count") is not None or values.get("dim") is not None
    is_sentence_drawn = _needs_vectors(values)
    has_table = given_table(values) is not None
    sequences = VALUE_SOURCES if has_table else ("embeddings", "residual", "key", "query")
    has_sequence = any(values.get(name) is not None for name in sequences)
    if has_table and values.get("dim") is None and not (has_sequence or is_sentence_drawn):
        return {}  # a table needs no values
    init = values.get("init")
    if init is None and (is_sentence_drawn or (has_sizes and not has_sequence)):
        init = Operator(look_up("generator", SENTENCE_GENERATOR if _is_drawn_sentence(values) else DEFAULT_GENERATOR))
    if init is None:
        return {}
    names = [] if has_sequence and not is_sentence_drawn else ["embeddings"]
    names += [] if has_table or values.get("query") is not None else ["w_q"]
    names += [] if has_table or values.get("key") is not None else ["w_k"]
    names += [] if values.get("value" if has_table else "key") is not None else ["w_v"]
    names += ["w_o"] if (values.get("heads") or 1) > 1 else []
    return {name: init for name in names if values.get(name) is None and packed_key(values, name) is None}


class _Filler:
    """Makes one array after another; the stream starts at the first drawn array."""

    def __init__(self, filled: dict[str, Any]) -> None:
        self.filled = filled
        self.is_out_in = filled.get("weight_layout") == "out_in"
        self.read: set[str] = set()  # the keys about random numbers used so far
        self.generators: dict[str, Operator] = {}  # of the arrays made so far
        self._stream: Stream = None

    def make(self, name: str, generator: Operator, letters: Letters, *, keeps_size: bool) -> Array:
        """One array of the problem; a projection with `keeps_size` has the standard deviation 1/√rows."""
        leading = self._leading_sizes() if name in TABLES else ()
        shape = (*leading, *(sum(self._size(x, (name,)) for x in letter.split("+")) for letter in letters))
        if keeps_size and FIELDS[name].is_weight:
            generator = Operator(generator.record, {"std": shape[0] ** -0.5})
        if generator.record.name == LINEAR and name.startswith("b_") and not generator.given.get("inputs"):
            generator = Operator(generator.record, {"inputs": self._rows_of(name)})
        return self._generate((name,), generator, shape, is_weight=FIELDS[name].is_weight)

    def _rows_of(self, bias: str) -> int:
        """The number of features that a bias's weight multiplies; raises AttnError if there is no weight."""
        weight = self.filled.get(_weight_of(bias))
        if weight is None:
            hint = f"give {_weight_of(bias)}, or {bias}: {{{LINEAR}: {{inputs: 4}}}}"
            raise AttnError("is drawn like a bias of nn.Linear, but has no weight", where=bias, hint=hint)
        return int(weight.shape[-2])

    def _leading_sizes(self) -> tuple[int, ...]:
        """The lengths of the axes before the queries of a table: batch items and heads, if the values have them."""
        shapes = (x.shape for name in VALUE_SOURCES if (x := self.filled.get(name)) is not None)
        shape: tuple[int, ...] = next(shapes, ())
        heads = (self.filled.get("heads") or shape[1],) if len(shape) > 3 else ()
        heads = heads or ((self._heads[0],) if self._heads[0] > 1 else ())
        return (*shape[:-2][:1], *heads)

    def embed_sentence(self, generator: Operator) -> None:
        """Draw a vector for each distinct word of the sentence, and set its tokens and embeddings."""
        sentence, path = self.filled["sentence"], ("vocabulary",)
        words = distinct_words(sentence)
        table = self._generate(path, generator, (len(words), self._size("x", path)), is_weight=False)
        self.filled["vocabulary"] = dict(zip(words, table, strict=True))
        tokens, self.filled["embeddings"] = embed(sentence, self.filled["vocabulary"])
        self.filled.setdefault("tokens", tokens)

    def fill_parameters(self, field: str, operator: Operator) -> Operator:
        """The operator with its pending arrays made, in the sizes of one head."""
        pending = {name: value for name, value in operator.given.items() if isinstance(value, PendingRandom)}
        for name, value in pending.items():
            parameter, path = operator.record.parameter(name), (field, name)
            letters = array_letters(field, operator, name) if field in USES else parameter.letters
            shape = tuple(self._parameter_size(letter, operator, path) for letter in letters)
            array = self._generate(path, value.generator, shape, is_weight=parameter.is_weight)
            operator = Operator(operator.record, {**operator.given, name: array})
        return operator

    def _hint_without_seed(self, name: str) -> str:
        """The hint if a key is drawn and there is no seed."""
        if name != "embeddings":
            return "give one, such as 42"
        return _IN_PLACE_OF_DRAWN if self.filled.get("tokens") is None else _IN_PLACE_OF_LABELS

    def _generate(self, path: ErrorPath, generator: Operator, shape: tuple[int, ...], *, is_weight: bool) -> Array:
        """An array of a shape; weights are drawn in the shape that `weight_layout` stores."""
        name = ", ".join(path)
        if generator.record.is_drawn and self._stream is None:
            if self.filled.get("seed") is None and _needs_vectors(self.filled):
                self.filled["seed"] = SENTENCE_SEED
            if self.filled.get("seed") is None:
                message = f"{name} is drawn at random and there is no seed"
                raise AttnError(message, where="seed", hint=self._hint_without_seed(name))
            try:
                self.read |= {"generator", "seed"}
                self._stream = stream(self.filled.get("generator", "pcg64"), self.filled["seed"])
            except ValueError as error:  # legacy seeds have 32 bits
                raise AttnError(str(error), where="seed") from None
        self.generators[".".join(path)] = generator
        self._check_memory(path, shape)
        is_transposed = is_weight and (self.is_out_in or generator.record.name == LINEAR)
        stored_shape = shape[::-1] if is_transposed else shape
        try:
            drawn = generator.record.function(self._stream, stored_shape, **generator.given)
            array: Array = np.asarray(drawn, dtype=np.float64)
        except (ValueError, OverflowError) as error:
            raise AttnError(f"{generator} can't be drawn ({error})", where=path) from None
        except MemoryError:
            raise AttnError(f"there is not enough memory for {format_lengths(shape)} numbers", where=path) from None
        return array.T if is_transposed else array

    def _check_memory(self, path: ErrorPath, shape: tuple[int, ...]) -> None:
        """Raise AttnError, with the key of its greatest length, if an array does not fit in memory."""
        missing = missing_memory(BYTES_PER_NUMBER * math.prod(shape))
        if missing is not None:
            keys = [name for name in SIZE_FIELDS if self.filled.get(name) == max(shape)]
            message = f"{', '.join(path)} of {format_lengths(shape)} numbers {missing}"
            raise AttnError(message, where=keys[0] if keys else path)

    def _parameter_size(self, letter: str, operator: Operator, path: ErrorPath) -> int:
        """The length of an axis of an array parameter."""
        if "+" in letter:
            return sum(self._parameter_size(part, operator, path) for part in letter.split("+"))
        if "·" in letter:  # the features of all heads together
            return self._head_counts["hg".index(letter[0])] * self._parameter_size(letter[-1], operator, path)
        if letter == "h":
            return self._heads[0]
        if letter in "nmtxyλμη":  # of the sequence, whatever the heads
            return self._size(letter, path)
        if letter == "a":
            for name, array in operator.arrays.items():
                letters = operator.record.parameter(name).letters
                if "a" in letters:
                    return int(array.shape[letters.index("a") - len(letters)])
            letter = "d"
        size = self._size(letter, path)
        return size if self._has_input_head_axis else size // (self._heads[1 if letter in "ce" else 0])

    @property
    def _has_input_head_axis(self) -> bool:
        """Whether the inputs have a head axis."""
        return self.filled.get("query") is not None and self.filled["query"].ndim == 4

    @property
    def _head_counts(self) -> tuple[int, int]:
        """The numbers of query heads and of key heads, also for inputs with a head axis."""
        if not self._has_input_head_axis:
            return self._heads
        heads = int(self.filled["query"].shape[1])
        return heads, heads if self.filled.get("key") is None else int(self.filled["key"].shape[1])

    @property
    def _heads(self) -> tuple[int, int]:
        """The numbers of query heads and of key heads."""
        heads = int(self.filled.get("heads") or 1)
        return heads, int(self.filled.get("kv_heads") or heads)

    def _size(self, letter: str, path: ErrorPath) -> int:
        """The length of an axis, from the arrays, else from given sizes.

        Keys and values have as many features as queries, times their share of heads.
        """
        heads, kv_heads = self._heads
        if letter == "ζ":
            return self._size("ι", path) * self._size("η", path)
        if letter == "ι":
            return self._size_of_array(letter) or 1
        for axis in (letter, *_SUBSTITUTES.get(letter, ())):
            is_kv_axis = axis in ("c", "e")
            for size, is_kv_size in ((self._size_of_array(axis), is_kv_axis), (self._size_of_field(axis), False)):
                if size is not None:
                    query_size = size * heads // kv_heads if is_kv_size else size
                    return query_size * kv_heads // heads if letter in ("c", "e") else query_size
        rows = self._rows_of_weights((letter, *_SUBSTITUTES.get(letter, ()))) if letter in ("x", "y") else None
        if rows is not None:
            return rows
        if letter == "x" and _needs_vectors(self.filled):
            return SENTENCE_DIM
        if letter not in FILLED_LETTERS:
            hint = "give the matrix"
            raise AttnError("can't be drawn: its number of rows is not known", where=path, hint=hint)
        field = "token_count" if letter in "nm" else "dim"
        raise AttnError(f"{', '.join(path)} is drawn and its size is not known", where=field, hint=f"give {field}")

    def _size_of_array(self, letter: str) -> int | None:
        """The length of an axis from an array, or from a list of labels; None if none has it."""
        for name, letters in FILLED.items():
            array = self.filled.get(name)
            if array is None or letter not in letters:
                continue
            if letter in ("x", "y") and FIELDS[name].is_weight:
                continue
            return int(array.shape[letters.index(letter) - len(letters)])
        for name, keys in PACKED.items():
            if self.filled.get(name) is not None and letter in {FIELDS[key].letters[-1] for key in keys}:
                parts = packed_parts(self.filled, Heads(*self._heads), name)
                return next(part.size for part in parts if FIELDS[part.key].letters[-1] == letter)
        labels = self.filled.get(LABEL_KEYS.get(letter, ""))
        return len(labels) if labels else None

    def _rows_of_weights(self, letters: Letters) -> int | None:
        """The features of a sequence from the weights that multiply it; None if there are none."""
        names = [name for letter in letters for name, field in FIELDS.items() if field.letters[:1] == (letter,)]
        arrays = (self.filled.get(name) for name in names if FIELDS[name].is_weight)
        return next((int(array.shape[-2]) for array in arrays if array is not None), None)

    def _size_of_field(self, letter: str) -> int | None:
        """The length of an axis from a field such as `dim`; None if it is not given."""
        name = _SIZE_OF_LETTER.get(letter, "dim" if letter not in _SUBSTITUTES else "")
        size = self.filled.get(name)
        if size is None:
            return None
        self.read.add(name)
        return int(size)
