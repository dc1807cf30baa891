"""Problem: what is asked, checked. Its fields are the keys of a problem file and the options of `attn compute`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from attncli.base.axes import Letters
from attncli.base.dtypes import NAMES
from attncli.base.lazy_numpy import Array
from attncli.ops import look_up
from attncli.ops.registry import Operator
from attncli.problem.find import find_label
from attncli.problem.layout import Layout, layout_of
from attncli.problem.results import DEFAULT_SELECTION
from attncli.problem.validate import check

if TYPE_CHECKING:
    from attncli.trace.result import Result

SOURCES = "Where the numbers come from"
PROJECTIONS = "Projections"
STAGES = "The three stages"
RANDOM = "Random numbers"
NUMBERS = "Numbers"
HEADS = "Heads"
MASKS = "Who may attend to whom"
CACHE = "The cache"
QUERIES = "Which queries"


@dataclass(frozen=True)
class Field:
    """What is said about one key of a problem: how it is read, and its help."""

    name: str
    # "matrix", "vector", "truths", "counts", "window", "labels", "text", "vocabulary", "integer", "number", "word",
    # "flag", or a kind of the catalogue
    kind: str
    help: str
    panel: str
    letters: Letters = ()
    words: tuple[str, ...] = ()  # the choices of a word
    least: float | None = None  # of an integer
    above: float | None = None  # of a number
    axes: tuple[int, ...] = ()  # how many axes a matrix may have; without it as many as letters


def _key(kind: str, panel: str, help: str, *, default: Any = None, letters: str = "", **more: Any) -> Any:
    """A field of Problem and its Key, in one place."""
    said = {"kind": kind, "panel": panel, "help": help, "letters": tuple(letters.split()), **more}
    if isinstance(default, Operator):
        return field(default_factory=lambda: default, metadata=said)
    return field(default=default, metadata=said)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is asked: arrays, numbers, labels and chosen entries, each a key of a problem file.

    Sequences are [n d], with batch items [b n d], or with heads apart [b h n d].

    Raises AttnError where two of them contradict each other.
    """

    embeddings: Array | None = _key(
        "matrix", SOURCES, "the sequence; queries, keys and values are projected from it", letters="m x", axes=(2, 3)
    )
    query_embeddings: Array | None = _key(
        "matrix", SOURCES, "a second sequence that asks (cross-attention)", letters="n y", axes=(2, 3)
    )
    tokens: tuple[str, ...] | None = _key("labels", SOURCES, "labels of the rows of embeddings or key", letters="m")
    query_tokens: tuple[str, ...] | None = _key("labels", SOURCES, "labels of the queries", letters="n")
    sentence: str | None = _key("text", SOURCES, "text whose words are looked up in the vocabulary")
    vocabulary: Mapping[str, Array] | None = _key("vocabulary", SOURCES, "the vector of each word")
    query: Array | None = _key("matrix", SOURCES, "queries, already projected", letters="n d", axes=(2, 3, 4))
    key: Array | None = _key("matrix", SOURCES, "keys, already projected", letters="m c", axes=(2, 3, 4))
    value: Array | None = _key(
        "matrix", SOURCES, "values, already projected; without it the keys", letters="m e", axes=(2, 3, 4)
    )
    w_q: Array | None = _key("matrix", PROJECTIONS, "query weights; without it the identity", letters="y d")
    w_k: Array | None = _key("matrix", PROJECTIONS, "key weights", letters="x c")
    w_v: Array | None = _key("matrix", PROJECTIONS, "value weights", letters="x e")
    w_o: Array | None = _key("matrix", PROJECTIONS, "output weights, after the heads are merged", letters="e o")
    b_q: Array | None = _key("vector", PROJECTIONS, "query bias", letters="d")
    b_k: Array | None = _key("vector", PROJECTIONS, "key bias", letters="c")
    b_v: Array | None = _key("vector", PROJECTIONS, "value bias", letters="e")
    b_o: Array | None = _key("vector", PROJECTIONS, "output bias", letters="o")
    weight_layout: str = _key(
        "word",
        PROJECTIONS,
        "how matrices are stored: in_out (x @ W) or out_in (x @ W.T, as nn.Linear does)",
        default="in_out",
        words=("in_out", "out_in"),
    )
    heads: int | None = _key("integer", HEADS, "query heads that attend side by side; without it one", least=1)
    kv_heads: int | None = _key("integer", HEADS, "key and value heads, each for several query heads", least=1)
    qk_norm: Operator | None = _key("qk_norm", HEADS, "brings queries and keys of each head to one size")
    sink: Array | None = _key(
        "vector", HEADS, "a logit for each head that takes part in the softmax and is dropped", letters="h"
    )
    score: Operator = _key(
        "score",
        STAGES,
        "how well each key answers each query",
        default=Operator(look_up("score", "scaled_dot")),
    )
    scale: float | None = _key("number", STAGES, "number multiplied into the score instead of the score's own")
    softcap: float | None = _key(
        "number", STAGES, "squeezes scores between -softcap and softcap, before bias and masks", above=0
    )
    position: Operator | None = _key("position", STAGES, "what tells the model where queries and keys stand")
    normalize: Operator = _key(
        "normalize", STAGES, "from scores to weights", default=Operator(look_up("normalize", "softmax"))
    )
    context: Operator = _key(
        "context",
        STAGES,
        "from weights and values to the answer",
        default=Operator(look_up("context", "weighted_sum")),
    )
    mask: Array | None = _key(
        "truths", MASKS, "1 or true where the query may attend to the key; broadcasts", letters="n m", axes=(1, 2, 3, 4)
    )
    bias: Array | None = _key(
        "matrix", MASKS, "numbers added to the scores; broadcasts", letters="n m", axes=(1, 2, 3, 4)
    )
    causal: bool = _key("flag", MASKS, "no query sees a key that stands after it", default=False)
    window: tuple[float, float] | None = _key(
        "window", MASKS, "keys visible to the left and right of a query; inf or -1 for no limit"
    )
    key_lengths: Array | None = _key(
        "counts", MASKS, "how many keys of each batch item are real; the rest is padding", letters="b"
    )
    align: str = _key(
        "word",
        MASKS,
        "where queries stand among the keys: from the first (after the cache), or up to the last real key",
        default="top_left",
        words=("top_left", "bottom_right"),
    )
    past_key: Array | None = _key("matrix", CACHE, "keys that come before key", letters="p c", axes=(2, 3, 4))
    past_value: Array | None = _key("matrix", CACHE, "values that come before value", letters="p e", axes=(2, 3, 4))
    only: tuple[str, ...] | None = _key(
        "labels", QUERIES, "the queries to compute: labels, or positions from 0", letters="n"
    )
    seed: int | None = _key("integer", RANDOM, "starts the random numbers", least=0)
    generator: str = _key(
        "word",
        RANDOM,
        "the stream of random numbers: pcg64, or legacy (numpy.random.seed)",
        default="pcg64",
        words=("pcg64", "legacy"),
    )
    init: Operator | None = _key("generator", RANDOM, "draws every projection, and embedding, that is missing")
    token_count: int | None = _key("integer", RANDOM, "how many embeddings to draw", least=1)
    dim: int | None = _key("integer", RANDOM, "features of the embeddings to draw", least=1)
    d_k: int | None = _key("integer", RANDOM, "columns of w_q and w_k to draw; without it dim", least=1)
    d_v: int | None = _key("integer", RANDOM, "columns of w_v to draw; without it dim", least=1)

    dtype: str | None = _key(
        "word", NUMBERS, "the type that is computed and stored; without it the inputs' own", words=NAMES
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def is_self_attention(self) -> bool:
        """Whether queries and keys come from one sequence (self-attention)."""
        return self.query is None and self.query_embeddings is None

    @cached_property
    def layout(self) -> Layout:
        """The axes before queries and keys, and how many heads there are."""
        return layout_of(self)

    @property
    def asking(self) -> Array:
        """The array whose rows ask."""
        return next(x for x in (self.query, self.query_embeddings, self.embeddings) if x is not None)

    @property
    def past_count(self) -> int:
        """How many keys are in the cache."""
        return 0 if self.past_key is None else int(self.past_key.shape[-2])

    @property
    def new_key_count(self) -> int:
        """How many keys are given or projected, the cache apart."""
        source = self.key if self.key is not None else self.embeddings
        assert source is not None  # check() saw to it
        return int(source.shape[-2])

    @property
    def key_labels(self) -> tuple[str, ...]:
        """The name of each key, cached ones first: its token, or its number from 1."""
        past, new = self.past_count, self.new_key_count
        if self.tokens and len(self.tokens) == past + new:
            return self.tokens
        return _numbered("past", past) + (self.tokens or _numbered("token" if self.is_self_attention else "key", new))

    @property
    def query_labels(self) -> tuple[str, ...]:
        """The name of each query, before `only` chooses among them."""
        if self.query_tokens:
            return self.query_tokens
        count = int(self.asking.shape[-2])
        if self.is_self_attention or (self.query_embeddings is None and self.tokens and count == self.new_key_count):
            return self.key_labels[self.past_count :]
        return _numbered("query", count)

    @property
    def selected_query_labels(self) -> tuple[str, ...]:
        """The names of the queries that are computed."""
        labels, chosen = self.query_labels, self.selected_queries
        return labels if chosen is None else tuple(labels[at] for at in chosen)

    @property
    def selected_queries(self) -> list[int] | None:
        """The positions of the queries to compute, or None for all."""
        if self.only is None:
            return None
        return [at for wanted in self.only for at in find_label(wanted, self.query_labels, where="only")]

    def compute(
        self, select: Iterable[str] = DEFAULT_SELECTION, *, every_step: bool = False, executor: str = "threads"
    ) -> "Result":
        """Run the pipeline; the result has the selected names as attributes.

        What is large is computed in blocks by the `executor` ("threads", "serial" or the address of a Dask scheduler),
        and of its tables of scores and weights the selected ones are kept; with `every_step` nothing is left out.
        """
        from attncli.engine.options import RunOptions  # noqa: PLC0415 - the same
        from attncli.engine.run import run  # noqa: PLC0415 - the pipeline stands on Problem; this is its public face

        return run(self, select, every_step=every_step, options=RunOptions(executor))


@lru_cache(maxsize=8)  # everything that asks who is who asks again, and there may be a hundred thousand
def _numbered(word: str, count: int) -> tuple[str, ...]:
    """The labels `token_1`, `token_2` and so on."""
    return tuple(f"{word}_{number}" for number in range(1, count + 1))


FIELDS: Mapping[str, Field] = {f.name: Field(name=f.name, **f.metadata) for f in fields(Problem)}

ProblemSpec = Problem
from attncli.base.dtypes import Precision

Problem.query_source = property(lambda s: s.asking)
Problem.precision = property(lambda s: Precision(s.dtype or "float64"))
