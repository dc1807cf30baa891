"""A right kernel as text, and forty wrong ones: what is replaced in it, and the options that say what it should do."""

from collections.abc import Mapping
from dataclasses import dataclass

RIGHT = """
import numpy as np

TILE = 4


def attention(q, k, v, causal=False, window=None, softcap=None, scale=None, mask=None, bias=None, sink=None):
    batch, heads, n, d = q.shape
    groups, m = k.shape[1:3]
    kind = q.dtype
    k = np.repeat(k, heads // groups, axis=1)
    v = np.repeat(v, heads // groups, axis=1)
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scale = d**-0.5 if scale is None else scale
    rows = np.arange(n)[:, None]
    top = np.full((batch, heads, n, 1), -np.inf)
    total = np.zeros((batch, heads, n, 1))
    output = np.zeros((batch, heads, n, v.shape[-1]))
    for start in range(0, m, TILE):
        columns = np.arange(start, min(start + TILE, m))
        scores = q @ k[:, :, columns].swapaxes(-1, -2) * scale
        if softcap is not None:
            scores = softcap * np.tanh(scores / softcap)
        if bias is not None:
            scores = scores + bias[:, columns]
        seen = np.ones((n, len(columns)), bool)
        if causal:
            seen &= columns <= rows
        if window is not None:
            seen &= (rows - columns <= window[0]) & (columns - rows <= window[1])
        if mask is not None:
            seen &= mask[:, columns]
        scores = np.where(seen, scores, -np.inf)
        largest = np.maximum(top, scores.max(axis=-1, keepdims=True))
        safe = np.where(largest == -np.inf, 0, largest)
        kept = np.exp(top - safe)
        numerators = np.exp(scores - safe)
        total = total * kept + numerators.sum(axis=-1, keepdims=True)
        output = output * kept + numerators @ v[:, :, columns]
        top = largest
    if sink is not None:
        final = np.maximum(safe, sink[:, None, None])
        total = total * np.exp(safe - final) + np.exp(sink[:, None, None] - final)
        output, safe = output * np.exp(safe - final), final
    empty = total == 0
    lse = np.where(empty, -np.inf, safe + np.log(np.where(empty, 1, total)))[..., 0]
    return (output / np.where(empty, 1, total)).astype(kind), lse


def attention_backward(q, k, v, grad_output):
    scale = q.shape[-1] ** -0.5
    scores = q @ k.swapaxes(-1, -2) * scale
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    dv = weights.swapaxes(-1, -2) @ grad_output
    dw = grad_output @ v.swapaxes(-1, -2)
    ds = weights * (dw - (dw * weights).sum(axis=-1, keepdims=True))
    return scale * ds @ k, scale * ds.swapaxes(-1, -2) @ q, dv
"""


@dataclass(frozen=True)
class WrongKernel:
    """What is replaced in the right kernel, each text once, and the options of a trial that it fails."""

    replaced: Mapping[str, str]
    options: str = ""
    slip: str = ""  # the mistake that is to be named; none where nothing has a name for it
    kind: str = "differs"
    numbers: int = 24  # of queries, keys and values at most, in the smallest input

    @property
    def source(self) -> str:
        """The wrong kernel."""
        source = RIGHT
        for old, new in self.replaced.items():
            assert source.count(old) == 1, old
            source = source.replace(old, new)
        return source


SCALED = "* scale\n        if softcap"
LOOP = "    for start in range(0, m, TILE):\n"
CAUSAL = "seen &= columns <= rows"
WINDOW = "(rows - columns <= window[0]) & (columns - rows <= window[1])"
CAP = "scores = softcap * np.tanh(scores / softcap)"
BIAS = "scores = scores + bias[:, columns]"
TOTAL = "total = total * kept + numerators"
OUTPUT = "output = output * kept + numerators"
LARGEST = "largest = np.maximum(top, scores.max(axis=-1, keepdims=True))"
SAFE = "safe = np.where(largest == -np.inf, 0, largest)"
HIDDEN = "scores = np.where(seen, scores, -np.inf)"
LSE = "safe + np.log(np.where(empty, 1, total))"
MASK = "seen &= mask[:, columns]"
START = "    kind = q.dtype\n"

WRONG = {
    # scale
    "without the scale": WrongKernel({SCALED: "\n        if softcap"}, slip="no_scale"),
    "scaled by d": WrongKernel({"scale = d**-0.5 if": "scale = 1 / d if"}, slip="scale_by_d"),
    "scaled by the width of the values": WrongKernel({"scale = d**-0.5 if": "scale = v.shape[-1] ** -0.5 if"}),
    "the scale that is given is ignored": WrongKernel({"if scale is None else scale": ""}, "--scale 0.3"),
    # masks
    "no causal mask": WrongKernel({CAUSAL: "pass"}, "--causal", "no_causal"),
    "the next key is seen": WrongKernel({CAUSAL: "seen &= columns <= rows + 1"}, "--causal", "causal_off_by_one"),
    "a query does not see its own key": WrongKernel({CAUSAL: "seen &= columns < rows"}, "--causal"),
    "aligned bottom right": WrongKernel({CAUSAL: "seen &= columns <= rows + m - n"}, "--causal", "causal_bottom_right"),
    "aligned top left": WrongKernel({}, "--causal --align bottom_right", "causal_top_left"),
    "the causal mask counts in its tile": WrongKernel({CAUSAL: "seen &= columns - start <= rows"}, "--causal"),
    "a window that is too wide": WrongKernel({WINDOW: WINDOW.replace("window[0]", "window[0] + 1")}, "--window 2,0"),
    "a window that is too narrow": WrongKernel({WINDOW: WINDOW.replace("<= window[0]", "< window[0]")}, "--window 2,0"),
    "a window without a right side": WrongKernel({WINDOW: "(rows - columns <= window[0])"}, "--window 1,1"),
    "a mask that is inverted": WrongKernel({MASK: "seen &= ~mask[:, columns]"}, slip="mask_inverted"),
    "the mask of the first tile everywhere": WrongKernel({MASK: "seen &= mask[:, : len(columns)]"}),
    "hidden scores are 0": WrongKernel({HIDDEN: "scores = np.where(seen, scores, 0)"}, "--causal", "masked_with_zero"),
    "hidden scores are a finite number": WrongKernel({HIDDEN: "scores = np.where(seen, scores, -30)"}, "--causal"),
    "a maximum of minus infinity": WrongKernel({SAFE: "safe = largest"}, kind="not_finite"),
    # softcap, bias, sink
    "softcap without its factor": WrongKernel({CAP: "scores = np.tanh(scores / softcap)"}, "--softcap 2"),
    "softcap after the bias": WrongKernel(
        {CAP: "pass", BIAS: f"{BIAS}\n        scores = softcap * np.tanh(scores / softcap)"}, "--softcap 1"
    ),
    "softcap after the mask": WrongKernel(
        {CAP: "pass", HIDDEN: f"{HIDDEN}\n        scores = softcap * np.tanh(scores / softcap)"},
        "--softcap 2 --causal",
        "softcap_after_mask",
    ),
    "the bias of the first tile everywhere": WrongKernel({BIAS: "scores = scores + bias[:, : len(columns)]"}),
    "a bias that is scaled": WrongKernel({BIAS: "scores = scores + scale * bias[:, columns]"}),
    "no sink": WrongKernel({"    if sink is not None:": "    if False:"}, slip="no_sink"),
    # the online softmax
    "the output is not rescaled": WrongKernel({OUTPUT: "output = output + numerators"}),
    "the sum is not rescaled": WrongKernel({TOTAL: "total = total + numerators"}),
    "the maximum of the tile alone": WrongKernel({LARGEST: "largest = scores.max(axis=-1, keepdims=True)"}),
    "no maximum is subtracted": WrongKernel({LARGEST: "largest = np.zeros_like(top)"}, kind="not_finite"),
    # tiles
    "the last tile is ignored": WrongKernel({LOOP: "    for start in range(0, max(m - m % TILE, 1), TILE):\n"}),
    "the tail of 64 keys is ignored": WrongKernel(
        {"TILE = 4": "TILE = 64", LOOP: "    for start in range(0, max(m - m % TILE, 1), TILE):\n"}, numbers=131
    ),
    "the last key of a whole tile": WrongKernel(
        {LOOP: f"{LOOP}        m = m if m % 8 or m < 8 else m - 1\n"}, numbers=24
    ),
    # heads, memory, types
    "groups are tiled": WrongKernel(
        {
            f"{x} = np.repeat({x}, heads // groups, axis=1)": f"{x} = np.tile({x}, (1, heads // groups, 1, 1))"
            for x in "kv"
        },
        "--kv-heads 2",
        "kv_heads_tiled",
    ),
    "keys of the first batch item": WrongKernel({START: f"{START}    k = np.broadcast_to(k[:1], k.shape)\n"}),
    "strides are ignored": WrongKernel({START: f'{START}    q = q.ravel("K").reshape(q.shape)\n'}),
    "sums in float16": WrongKernel({TOTAL: "total = total.astype(np.float16) * kept.astype(np.float16) + numerators"}),
    "an argument is scaled in place": WrongKernel(
        {START: f"{START}    v *= 1\n    q += 1\n    q -= 1\n    q *= 1 + 1e-9\n"}, kind="differs"
    ),
    # the log-sum-exp, gradients
    "the log-sum-exp to base 2": WrongKernel(
        {LSE: "(safe + np.log(np.where(empty, 1, total))) / np.log(2)"}, slip="lse_in_base_2"
    ),
    "a gradient without the row sum": WrongKernel({" - (dw * weights).sum(axis=-1, keepdims=True)": ""}, "--backward"),
    "gradients without the scale": WrongKernel({"ds = weights * (dw": "ds = weights / scale * (dw"}, "--backward"),
    # other ends
    "an index beyond the last key": WrongKernel({LOOP: f"{LOOP}        k[:, :, start + 1]\n"}, kind="raised"),
}
