"""The masks of xFormers, whose kernels need a GPU, hide what its convention hides."""

from typing import Any

import numpy as np
import pytest

from tests.peers.test_conventions import output

LENGTHS = [(3, 5), (5, 3)]


def weights(words: dict[str, Any], n: int, m: int) -> np.ndarray:
    """The weights of queries and keys that are all alike: equal, where they are not 0."""
    return output({"query": np.ones((n, 2)), "key": np.ones((m, 2)), "value": np.eye(m), **words}, "xformers")


@pytest.mark.parametrize(("n", "m"), LENGTHS)
@pytest.mark.parametrize(
    ("words", "mask", "options"),
    [
        ({"causal": True}, "LowerTriangularMask", ()),
        ({"causal": True, "align": "bottom_right"}, "LowerTriangularFromBottomRightMask", ()),
        ({"window": (1, 2)}, "LocalAttentionFromBottomRightMask", (1, 2)),
        ({"window": (1, 0), "causal": True}, "LowerTriangularFromBottomRightLocalAttentionMask", (2,)),
    ],
)
def test_a_mask_of_xformers_hides_what_its_convention_hides(
    words: dict[str, Any], mask: str, options: tuple[int, ...], n: int, m: int
) -> None:
    masks = pytest.importorskip("xformers.ops.fmha.attn_bias")
    visible = np.asarray(getattr(masks, mask)(*options).materialize((n, m))) == 0
    with np.errstate(invalid="ignore"):  # a row without keys is 0 / 0, and NaN
        np.testing.assert_allclose(weights(words, n, m), visible / visible.sum(axis=1, keepdims=True))
