"""Sparse selection: the scores of a lightning indexer, and the mask of the keys that each query keeps by them.

An indexer is a small attention of several heads without softmax. Its scores say which keys the attention sees at all.
"""

from typing import Annotated, Any

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import largest, number, products, sqrt, total
from attncli.ops.code import Code, CodeCall
from attncli.ops.decorators import mask, structural
from attncli.ops.masks import verdict
from attncli.ops.records import MaskSign, Range

INDEX_SCORES_FORMULA = "Iᵢⱼ = Σₐ {weights}ᵢₐ max(0, {query}ₐᵢ·{key}ⱼ) / √(ι η)"


def index_scores_by_hand(
    write: ArithmeticWriter, query: Array, key: Array, weights: Array, result: Any, **_: Any
) -> list[str]:
    """Each head's product with the key, negative ones as 0, and their sum, weighted by head [ι].

    If there are many heads, only the most important one's product.
    """
    heads, (own,) = len(query), key
    matches = [largest([0, products(row, own)]) for row in query]
    numbers = [write.computed(f"match of head {head}", match) for head, match in enumerate(matches, 1)]
    shown = range(heads)
    if write.is_long(heads):
        shown = range(at := int(np.argmax(abs(weights * np.maximum(query @ own, 0)))), at + 1)
    term = total(number(weight) * match for weight, match in zip(weights, numbers, strict=True))
    name = f"I({write.query}, {write.key})"
    return [
        *(numbers[head].line for head in shown),
        write.equation(term / sqrt(number(heads) * len(own)), result, name=name),
    ]


def _index_scores_code(call: CodeCall) -> str:
    """The products of all heads, negative ones as 0, and their sum, weighted by head."""
    heads, features = call.shapes["query"][-3], call.shapes["query"][-1]
    axis = "[..., None, :, :]" if call.option("has_head_axis") else ""
    matches = "matches = ({query} @ {key}.mT).clip(0) * {weights}.swapaxes(-1, -2)[..., None]"
    return f"{matches}\nmatches.sum(axis=-3){axis} / np.sqrt({heads * features})"


def _top_code(call: CodeCall, order: str) -> str:
    """The rank of each key by the scores of its row; keys that other rules hide come last."""
    lines, is_seen = [], ""
    scores = "{index_scores}"
    if call.has("candidates"):
        lines, is_seen = ["seen = {candidates} > 0"], " & seen"
        scores = "np.where(seen, {index_scores}, -np.inf)"
    lines += [f"order = {order.format(f'-{scores}')}", "place = np.argsort(order, axis=-1)"]
    return "\n".join([*lines, f"(place < {{keys}}){is_seen}"])


@structural(by_hand=index_scores_by_hand, code=_index_scores_code)
def index_scores(query: Array, key: Array, weights: Array, *, has_head_axis: bool = False) -> Array:
    """The scores of an indexer [… n m], from its queries [… ι n η], its keys [… 1 m η] and its heads' weights [… n ι].

    Each head's positive dot product with the key is multiplied by the query's weight for the head. Their sum is divided
    by √(ι η), which changes no choice. With `has_head_axis` the result is [… 1 n m].

    >>> query, key = np.array([[[1.0, 0.0]], [[-1.0, 2.0]]]), np.array([[[2.0, 0.0], [0.0, 2.0]]])
    >>> index_scores(query, key, np.array([[1.0, 3.0]]))
    array([[1., 6.]])
    """
    heads, features = query.shape[-3], query.shape[-1]
    summed: Any = 0.0
    for head in range(heads):  # one by one: a table of all heads would be the computation's largest
        matches = np.maximum(query[..., head, :, :] @ key[..., 0, :, :].mT, 0)
        summed = summed + weights[..., head, None] * matches
    scores: Array = summed / np.sqrt(query.dtype.type(heads * features))
    return scores[..., None, :, :] if has_head_axis else scores


@structural(is_exact=True)
def given_index_scores(x: Array, *, shape: tuple[int, ...], at: list[int] | None = None) -> Array:
    """Given scores in the shape of the table of scores, for all queries or the rows `at`."""
    table = x if at is None else x[..., at, :]
    return table.reshape(shape)


def top_by_hand(
    write: ArithmeticWriter, index_scores: Array, result: Any, candidates: Array | None = None, *, keys: int
) -> list[str]:
    """The rank of one key among those that no other rule hides, by their scores [m]."""
    scores, column = index_scores, write.column
    seen = np.ones(len(scores), dtype=bool) if candidates is None else np.asarray(candidates) != 0
    seen = np.broadcast_to(seen, scores.shape)
    if not seen[column]:
        return verdict(f"another rule hides {write.key} from {write.query}", result)
    before = (scores > scores[column]) | ((scores == scores[column]) & (np.arange(len(scores)) < column))
    place, many = 1 + int(np.count_nonzero(before & seen)), count_of(int(np.count_nonzero(seen)), "key")
    own = f"I({write.query}, {write.key}) is {write(scores[column])}"
    return verdict(f"{own}, number {place} of {many} that no other rule hides; {keys} are kept", result)


@mask(
    formula="visible where Iᵢⱼ is one of the largest of row i, as many as keys says, that no other rule hides",
    shapes="index_scores[n m], candidates[n m] -> [n m]",
    source="DeepSeek-AI 2025 (DeepSeek-V3.2-Exp), §2.1, eq. 2; of equal scores torch.topk promises no order",
    example={
        "index_scores": [[1, 3, 2], [1, 3, 2]],
        "candidates": [[1, 1, 1], [1, 0, 1]],
        "keys": 2,
        "gives": [[False, True, True], [True, False, True]],
    },
    formula_in_force=lambda keys: f"visible where Iᵢⱼ is one of the {keys} largest of row i that no other rule hides",
    by_hand=top_by_hand,
    code=Code(
        lambda call: _top_code(call, "np.argsort({}, axis=-1, kind='stable')"),
        lambda call: _top_code(call, "torch.argsort({}, dim=-1, stable=True)"),
    ),
    reads_rows=True,
    sign=MaskSign("<", "not among the keys with the highest index scores", precedence=-1),
)
def top(index_scores: Array, candidates: Array | None = None, *, keys: Annotated[int, Range(least=1)]) -> Array:
    """A query sees only the keys with an indexer's highest scores, among those that no other rule hides.

    If scores tie, the first key wins. A query that otherwise sees at most `keys` keys keeps all of them. `candidates`
    is true where every other rule is, by default everywhere. The scores are `index_scores`, given or made by an
    indexer; no gradient passes through the choice.

    >>> top(np.array([[1.0, 3.0, 2.0, 3.0]]), keys=2)
    array([[False,  True, False,  True]])
    >>> top(np.array([[1.0, 3.0, 2.0, 3.0]]), np.array([[True, False, True, False]]), keys=3)
    array([[ True, False,  True, False]])
    """
    candidates = np.ones((1, 1), dtype=bool) if candidates is None else candidates != 0
    scores, seen = np.broadcast_arrays(index_scores, candidates)
    order = np.argsort(-scores, axis=-1, kind="stable")
    seen_in_order = np.take_along_axis(seen, order, axis=-1)
    kept = seen_in_order & (np.cumsum(seen_in_order, axis=-1) <= keys)
    chosen = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(chosen, order, kept, axis=-1)
    return chosen
