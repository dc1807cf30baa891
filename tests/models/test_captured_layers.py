"""Recorded attentions as problems: masks and biases as keys, and the names of layers."""

import numpy as np
import pytest

from attncli.models.captured_layers import mask_keys, places_of, scale_and_bias, split_mask
from attncli.problem.arrays import GivenArray

COUNT = 7
ROWS, COLUMNS = np.indices((COUNT, COUNT))
CAUSAL = np.tri(COUNT, dtype=bool)


@pytest.mark.parametrize(
    ("visible", "keys"),
    [
        (CAUSAL, {"causal": True}),
        (CAUSAL & (ROWS - COLUMNS < 3), {"causal": True, "window": [2, 0]}),
        (abs(ROWS - COLUMNS) < 3, {"window": [2, 2]}),
        (COLUMNS - ROWS < 2, {"window": [-1, 1]}),
        (COLUMNS != 0, {}),
        (np.ones_like(CAUSAL), {}),
        (CAUSAL[1:], {}),
        (np.stack([CAUSAL, CAUSAL.T]), {}),
    ],
    ids=["causal", "causal window", "window", "left and one", "padding", "all", "not square", "of heads"],
)
def test_a_mask_is_keys_where_these_say_it(visible: np.ndarray, keys: dict[str, object]) -> None:
    assert mask_keys(visible, visible.shape[-2]) == keys


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_a_mask_of_numbers_hides_and_what_it_adds_are_told_apart(dtype: type) -> None:
    mask = np.where(CAUSAL, np.array(-0.5 * (ROWS - COLUMNS), dtype), np.finfo(dtype).min)
    visible, added = split_mask(mask)
    assert (visible == CAUSAL).all()
    assert (added == np.where(CAUSAL, -0.5 * (ROWS - COLUMNS), 0)).all()
    assert split_mask(CAUSAL)[1] is None


@pytest.mark.parametrize("bias", [None, "keys", "distances", "both"])
def test_the_scale_and_the_bias_of_scores_are_found(bias: str | None) -> None:
    drawn = np.random.default_rng(3)
    query, key = (GivenArray(drawn.normal(size=(1, 2, COUNT, 5)), dtype="float64") for _ in "qk")
    added = {"keys": drawn.normal(size=(1, 2, 1, COUNT)), "distances": np.sin(COLUMNS - ROWS)[None, None]}
    added["both"] = added["keys"] + added["distances"]
    given = np.broadcast_to(added[bias], (1, 2, COUNT, COUNT)) if bias else 0
    scores = np.where(CAUSAL, 5**-0.5 * query.array @ key.array.swapaxes(-1, -2) + given, 0)
    found = scale_and_bias(query, key, scores, CAUSAL)
    if bias == "both":
        assert found is None
        return
    scale, found_bias = found
    assert scale == 5**-0.5
    assert (found_bias is None) == (bias is None)
    if bias:
        np.testing.assert_allclose(np.where(CAUSAL, found_bias, 0), np.where(CAUSAL, given, 0), atol=1e-12)


def test_layers_that_share_a_module_count_its_calls() -> None:
    module = "encoder.groups.0.layers.0.attention"
    places = places_of([module] * 3, {module: 3}, has_two_parts=False)
    assert [place.name for place in places] == ["0", "1", "2"]
