"""The types of rope's scaling: the frequencies that each makes of the plain ones, and the attention factor of some.

Plain frequencies are base^(−2f/dims). Types and names are those of config.json, as transformers reads it in
modeling_rope_utils.py.
"""

import math
from collections.abc import Callable, Mapping

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.ops.rope_scaling import ALTERNATING, AXES, AXIAL, TRAINED_LENGTH, ScaledRope

BETA_FAST, BETA_SLOW = 32.0, 1.0  # the turns in training at which a pair stays, and at which it is slowed (YaRN)
RAMP_WIDTH = 0.001  # of a ramp whose ends are equal
TURN = 2 * math.pi

Frequencies = Callable[[Array, ScaledRope], Array]


@dataclass(frozen=True)
class ScalingType:
    """A type of scaling: `frequencies(plain [f], rope)` returns those in force, `attention_factor(rope)` a number.

    `parameters` are the names of its own parameters.
    """

    formula: str
    source: str  # where it is not rope's own
    frequencies: Frequencies
    parameters: tuple[str, ...] = ()
    attention_factor: Callable[[ScaledRope], float] | None = None
    reads_position_count: bool = False


def stretched_base(rope: ScaledRope) -> float:
    """The base that `dynamic` has for a sequence of so many positions, or with an `alpha` for all of them."""
    if rope.dims < 4:
        raise AttnError(f"dynamic needs several pairs, and {rope.dims} features turn", where="scaling")
    stretch: float = base_stretch(rope) ** (rope.dims / (rope.dims - 2))
    return rope.base * stretch


def base_stretch(rope: ScaledRope) -> float:
    """What stretches the base of `dynamic`, before its power: 1 of a sequence that is no longer than the model's."""
    alpha = rope.scaling.get("alpha")
    if alpha is not None:
        return float(alpha)
    factor = float(rope.scaling["factor"])
    count = max(rope.count, rope.model_count)
    return factor * count / rope.model_count - (factor - 1)


def _dynamic(plain: Array, rope: ScaledRope) -> Array:
    """The plain frequencies of a larger base."""
    frequencies: Array = stretched_base(rope) ** (-np.arange(0, rope.dims, 2) / rope.dims)
    return frequencies


def yarn_ends(rope: ScaledRope) -> tuple[float, float]:
    """The numbers of the pairs between which `yarn` goes over from pairs that stay to pairs that are slowed."""
    if rope.base <= 1:
        raise AttnError(f"yarn needs a base greater than 1, and it is {rope.base:g}", where="base")
    low, high = (yarn_pair(rope, turns) for turns in yarn_turns(rope))
    if rope.scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0), min(high, rope.dims - 1)


def yarn_turns(rope: ScaledRope) -> tuple[float, float]:
    """How often the pairs at both ends of the ramp of `yarn` turn in the sequences of training."""
    return rope.scaling.get("beta_fast", BETA_FAST), rope.scaling.get("beta_slow", BETA_SLOW)


def yarn_pair(rope: ScaledRope, turns: float) -> float:
    """The number of the pair, with a fraction, that turns so often in the sequences of training."""
    return rope.dims * math.log(rope.trained_count / (turns * TURN)) / (2 * math.log(rope.base))


def kept_shares(plain: Array, rope: ScaledRope) -> Array:
    """How much of each pair's frequency `yarn` and `llama3` keep, from 0 to 1; the rest is divided by the factor."""
    if rope.scaling.type == "yarn":
        low, high = yarn_ends(rope)
        ramp = (np.arange(len(plain)) - low) / (high - low or RAMP_WIDTH)
        return np.asarray(1 - np.clip(ramp, 0, 1))
    slow, fast = rope.scaling["low_freq_factor"], rope.scaling["high_freq_factor"]
    if fast <= slow:
        message = f"high_freq_factor is {fast:g}, and low_freq_factor is {slow:g}"
        raise AttnError(message, where="scaling", hint="expected a greater high_freq_factor")
    turns = rope.trained_count * plain / TURN
    return np.asarray(np.clip((turns - slow) / (fast - slow), 0, 1))


def _partly_kept(plain: Array, rope: ScaledRope) -> Array:
    """Fast pairs keep their frequency, slow ones have it divided by the factor."""
    share = kept_shares(plain, rope)
    return np.asarray(plain * share + plain / rope.factor * (1 - share))


def length_factors(rope: ScaledRope) -> tuple[str, tuple[float, ...]]:
    """The name and the numbers of the list that `longrope` divides by: of short or of long sequences."""
    name = "long_factor" if rope.count > rope.trained_count else "short_factor"
    factors = rope.scaling[name]
    if 2 * len(factors) != rope.dims:
        message = f"{name} has {count_of(len(factors), 'number')}, and {rope.dims // 2} pairs turn"
        raise AttnError(message, where="scaling", hint="give one for each pair")
    return name, factors


def _longrope(plain: Array, rope: ScaledRope) -> Array:
    """Each pair's frequency divided by a number of its own."""
    return np.asarray(plain / np.asarray(length_factors(rope)[1]))


def proportional_count(rope: ScaledRope) -> int:
    """How many pairs turn; the others, which have a frequency of 0, stay as they are."""
    return int(rope.scaling.get("partial_rotary_factor", 1.0) * rope.dims // 2)


def _proportional(plain: Array, rope: ScaledRope) -> Array:
    """The first pairs with the frequencies of all features, the others with 0."""
    turns = np.arange(len(plain)) < proportional_count(rope)
    return np.asarray(np.where(turns, plain / rope.scaling.get("factor", 1.0), 0.0))


def axial_steps(rope: ScaledRope) -> tuple[Array, int]:
    """The numerators 2g of the exponents of `axial`, and their denominator w.

    Each axis has the frequencies of a head of its share of the features; alternating, the first axis has every
    second frequency of the whole head from the first on, the next from the second on.
    """
    axes, pairs = rope.scaling.axis_count or 1, rope.dims // 2
    if rope.scaling.get(ALTERNATING):
        return 2 * np.arange(pairs).reshape(-1, axes).T.reshape(-1), rope.dims
    return np.tile(2 * np.arange(pairs // axes), axes), rope.dims // axes


def _axial(plain: Array, rope: ScaledRope) -> Array:
    """Frequencies of several axes, one after the other."""
    steps, width = axial_steps(rope)
    return np.asarray(rope.base ** (-steps / width))


def magnitude(factor: float, weight: float = 1.0) -> float:
    """YaRN's attention factor for a factor of lengths: 0.1 · weight · ln(factor) + 1.

    >>> round(magnitude(4.0), 4), magnitude(0.5)
    (1.1386, 1.0)
    """
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1


def _yarn_attention_factor(rope: ScaledRope) -> float:
    """The magnitude of the factor; where both weights are given, the ratio of the magnitudes with each."""
    above, below = rope.scaling.get("mscale"), rope.scaling.get("mscale_all_dim")
    if above and below:
        return magnitude(rope.factor, above) / magnitude(rope.factor, below)
    return magnitude(rope.factor)


def _longrope_attention_factor(rope: ScaledRope) -> float:
    """√(1 + ln(factor) / ln(trained length)), or the one that is given for short or for long sequences."""
    given = rope.scaling.get("long_mscale" if rope.count > rope.trained_count else "short_mscale")
    if given is not None:
        return float(given)
    if rope.factor <= 1:
        return 1.0
    if rope.trained_count <= 1:
        message = f"longrope needs {TRAINED_LENGTH} greater than 1, and it is {rope.trained_count:g}"
        raise AttnError(message, where="scaling", hint="or give attention_factor")
    return math.sqrt(1 + math.log(rope.factor) / math.log(rope.trained_count))


PLAIN = "θ₀ = base^(−2f/dims)"
PARTLY_KEPT = f"θ = θ₀ (s + (1 − s) / factor), {PLAIN}"

TYPES: Mapping[str, ScalingType] = {
    "default": ScalingType("θ = base^(−2f/dims)", "", lambda plain, rope: plain),
    "linear": ScalingType(
        f"θ = θ₀ / factor, {PLAIN}", "", lambda plain, rope: plain / rope.scaling["factor"], ("factor",)
    ),
    "dynamic": ScalingType(
        "θ = (base r^(dims/(dims − 2)))^(−2f/dims), r = alpha, or factor N / max_position_embeddings − factor + 1",
        "Peng et al. 2023, §3.3 (NTK-aware)",
        _dynamic,
        ("factor", "alpha"),
        reads_position_count=True,
    ),
    "yarn": ScalingType(
        f"{PARTLY_KEPT}, s = 1 − min(max((f − low) / (high − low), 0), 1)",
        "Peng et al. 2023",
        _partly_kept,
        ("factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
        attention_factor=_yarn_attention_factor,
    ),
    "llama3": ScalingType(
        f"{PARTLY_KEPT}, s = min(max((turns − low_freq_factor) / (high_freq_factor − low_freq_factor), 0), 1)",
        "the code of Llama 3.1",
        _partly_kept,
        ("factor", "low_freq_factor", "high_freq_factor"),
    ),
    "longrope": ScalingType(
        f"θ = θ₀ / factors[f], {PLAIN}",
        "Ding et al. 2024",
        _longrope,
        ("short_factor", "long_factor", "factor", "short_mscale", "long_mscale"),
        attention_factor=_longrope_attention_factor,
        reads_position_count=True,
    ),
    AXIAL: ScalingType(
        "θ = base^(−2f/w), f and w those of the features of one axis",
        "the code of Qwen2-VL and Pixtral",
        _axial,
        (AXES, ALTERNATING),
    ),
    "proportional": ScalingType(
        f"θ = θ₀ / factor of the first pairs, 0 of the others, {PLAIN}",
        "the code of Gemma 4",
        _proportional,
        ("factor",),
    ),
}
