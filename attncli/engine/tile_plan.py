"""Tile plans: how to compute a problem in tiles of some queries and some keys, decided once for all blocks.

If the score is a product, its factors are computed once for all blocks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array, np
from attncli.engine.blocks import BlockInput, BlockPlan
from attncli.engine.dense import with_digits_of, with_scalars
from attncli.engine.options import BlockSizes
from attncli.engine.products import Summation, choose_summation, typical_score_limit
from attncli.ops.elementwise import scale as scale_scores
from attncli.ops.masks import apply_mask
from attncli.ops.products import SHORT_SUM
from attncli.ops.records import OnlineNormalizer, Operator, OperatorRecord
from attncli.ops.registry import record_of
from attncli.plan.graph import Node
from attncli.problem.spec import ProblemSpec

LEFT, RIGHT = "left factor", "right factor"
SMALL_SCORES = 60.0  # exponentials of larger or unknown scores are likely to leave the safe range of sums


@dataclass(frozen=True)
class TilePlan:
    """The common plan of all tiles: the nodes up to the scores, and how to accumulate keys.

    `product` names the node that is the product of LEFT and RIGHT times `scale`, if any; `nodes` come after it. With an
    `exp_scale` f the numerators are exponentials, exp(f · score).
    """

    nodes: Sequence[Node]
    scores_before_mask: str
    visible: str  # the node of unmasked cells; "" without masks
    keys: int  # per tile, at most
    min_unmasked_keys: int  # no mask is computed for a run of so many keys that all queries see
    normalizer: Callable[..., Array]
    parameters: Mapping[str, Any]
    dtype: str
    query: str  # the input with the query axis: queries, or the left factor
    value: str
    sink: str | None
    fill: str | None  # for queries that see no key: nan, or uniform for the mean of all values
    ones: Array  # [keys 1]: a product with it sums numerators
    summation: Summation
    exp_scale: float | None
    product: str | None = None
    scale: float = 1.0

    @property
    def for_few_keys(self) -> "TilePlan":
        """The same in the wider type; if there is none, with a running maximum (no `exp_scale`) and short sums.

        For queries that see few keys the rounding of each exponential matters; the maximum's is exactly 1.
        """
        dtype = Precision(self.dtype).widened_name
        if dtype == self.dtype:
            return replace(self, exp_scale=None, summation=replace(self.summation, features=SHORT_SUM, keys=SHORT_SUM))
        summation = replace(self.summation, score_dtype=dtype)
        return replace(self, dtype=dtype, ones=self.ones.astype(dtype), summation=summation)

    @property
    def scales_query(self) -> bool:
        """Whether scaling queries may replace scaling scores, because no other operation follows."""
        return self.product is not None and all(node.stage == "mask" for node in self.nodes)

    @property
    def has_own_operators(self) -> bool:
        """Whether other packages' operators compute scores, which may be views of their inputs."""
        return not all(node.is_built_in for node in self.nodes)

    @property
    def rule(self) -> OnlineNormalizer:
        """The online form of the normalizer."""
        record = record_of(self.normalizer)
        assert isinstance(record, OperatorRecord)
        assert record.online is not None  # tiles need one
        return record.online


def can_tile(problem: ProblemSpec) -> bool:
    """Whether scores are computed, and masks, the normalizer and the context can take keys tile by tile."""
    is_linear = problem.normalize.record.online is not None and problem.context.record.is_weighted_sum
    return is_linear and problem.given_table is None and problem.difference is None and not problem.chooses_keys


def make_tile_plan(
    plan: BlockPlan, normalize: Operator, rows: int, keys: int, sizes: BlockSizes
) -> tuple[BlockPlan, TilePlan]:
    """The tile plan of a tileable problem, with `rows` queries and `keys` keys per tile, and its block plan."""
    dtype = plan.precision.accumulation_dtype
    inputs = {name: x.astype(dtype) for name, x in plan.inputs.items()}
    value = plan.context_nodes[-1].inputs["value"]
    rule = normalize.record.online
    parameters = with_scalars(normalize.options, plan.precision.scalar)
    exp_scale = None if rule is None or rule.exp_scale is None else rule.exp_scale(parameters)
    score, masking, nodes = plan.score_nodes[0], plan.score_nodes[-1], plan.score_nodes
    product = _factor(nodes, inputs, plan.precision)
    limit, features = None, 0
    if product is not None:
        nodes, features = product.nodes, product.right.value.shape[-1]
        inputs |= {LEFT: product.left, RIGHT: product.right}
        read = {value}.union(*(node.inputs.values() for node in nodes))
        for unused in {score.inputs["query"], score.inputs["key"]} - read:
            del inputs[unused]
        if exp_scale is not None:
            limit = typical_score_limit(product.left.value, product.right.value, product.scale * exp_scale)
    if all(value not in node.inputs.values() for node in nodes):
        inputs[value] = replace(inputs[value], is_shared=True)  # among the query heads of a key head
    sink = next((node.inputs["sink"] for node in plan.context_nodes if "sink" in node.inputs), None)

    summation = choose_summation(limit, features, rows * plan.groups, keys, dtype)
    tile_plan = TilePlan(
        nodes=[with_digits_of(node, plan.precision) for node in nodes],
        scores_before_mask=masking.inputs["scores"] if masking.function is apply_mask else plan.scores,
        visible=masking.inputs.get("visible", ""),
        keys=keys,
        min_unmasked_keys=sizes.min_unmasked_keys,
        normalizer=normalize.record.function,
        parameters=parameters,
        dtype=dtype,
        query=score.inputs["query"] if product is None else LEFT,
        value=value,
        fill=None if plan.fill is None else plan.fill.options["fill"],
        sink=sink,
        ones=np.ones((keys, 1), dtype),
        summation=summation,
        exp_scale=exp_scale if limit is not None and limit <= SMALL_SCORES else None,
        product=None if product is None else product.name,
        scale=1.0 if product is None else product.scale,
    )
    return replace(plan, inputs=inputs), tile_plan


@dataclass(frozen=True)
class _Product:
    """A node that is a product of two factors times a scale, and the nodes after it."""

    name: str
    left: BlockInput
    right: BlockInput
    scale: float
    nodes: Sequence[Node]


def _factor(nodes: Sequence[Node], inputs: Mapping[str, BlockInput], precision: Precision) -> _Product | None:
    """The first node, a score, as a product, with the following scale; None if it is not a product."""
    score, *nodes = nodes
    rule = score.record.factorization if score.record is not None else None
    if rule is None:
        return None
    query, key = inputs[score.inputs["query"]], inputs[score.inputs["key"]]
    name, scale = score.name, rule.scale(precision.scalar(query.value.shape[-1]))
    if nodes and nodes[0].function is scale_scores:
        name, scale, *nodes = nodes[0].name, scale * nodes[0].options["scale"], *nodes[1:]
    arrays = {argument: inputs[source].value for argument, source in score.inputs.items()}
    del arrays["query"], arrays["key"]
    left = rule.left(query.value, **arrays, **score.options)
    right = rule.right(key.value, **arrays, **score.options)
    factors = BlockInput(LEFT, left, query.axes), BlockInput(RIGHT, right, key.axes, is_shared=True)
    return _Product(name, *factors, scale, nodes)
