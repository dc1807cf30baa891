"""Arrays of norms in a problem: their shapes, errors that name them, edits, files, and random ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attncli
from attncli import AttnError
from attncli.problem.edits import apply_edits, parse_edit
from tests.problems import problem, write_file

KEYS = {"embeddings": [[1.0, 2, 3, 4], [2, 1, 0, 1]], "heads": 2}
WITH_GAINS = {**KEYS, "qk_norm": {"rms": {"query_gain": [1.0, 2], "key_gain": [[1.0, 2], [3, 4]]}}}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"qk_norm": {"rms": {"query_gain": [1, 2, 3]}}},
            "qk_norm, query_gain has 3 numbers (d); embeddings has 4 columns (x), over 2 heads",
        ),
        (
            {"qk_norm": {"rms": {"key_gain": np.ones((3, 2))}}},
            "qk_norm, key_gain has 3 query heads (h); there are 2 query heads",
        ),
        (
            {"qk_norm": {"rms": {"query_gain": [1, 2], "over": "all"}}},
            "qk_norm, query_gain has 2 numbers (h·d); all heads together have 4 features (h·d)",
        ),
        ({"value_norm": {"layer": {"gain": 2}}}, "value_norm, gain: is one number; expected [e]"),
        (
            {"context_norm": {"rms": {"bias": [1, 2, 3, 4, 5], "over": "all"}}},
            "context_norm, bias has 5 numbers (h·e); all heads together have 4 features (h·e)",
        ),
        ({"qk_norm": {"rms": {"gain": [1, 2]}}}, "qk_norm: unknown parameter of rms 'gain'"),
        ({"value_norm": {"rms": {"when": "after_rope"}}}, "value_norm: unknown parameter of rms 'when'"),
        ({"value_norm": "rsm"}, "value_norm: unknown value_norm 'rsm'"),
        ({"qk_norm": "rms:over=both"}, "qk_norm, rms, over: unknown word 'both'; expected one of head, all"),
    ],
)
def test_an_array_that_does_not_fit_is_an_error_that_names_it(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        problem(**KEYS, **keys)
    assert message in str(caught.value)


def test_keys_and_values_have_gains_of_their_own_heads() -> None:
    keys = {"embeddings": np.eye(8), "heads": 4, "kv_heads": 2, "w_k": np.eye(8)[:, :4], "w_v": np.eye(8)[:, :4]}
    norm = {"rms": {"gain": [1, 2, 3, 4]}}
    spec = problem(**keys, value_norm=norm, context_norm={"rms": {"gain": np.ones((4, 2))}})
    assert spec.value_norm is not None
    assert spec.value_norm.arrays["gain"].tolist() == [[1, 2], [3, 4]]
    with pytest.raises(AttnError, match=r"value_norm, gain has 4 key and value heads \(g\); there are 2 key heads"):
        problem(**keys, value_norm={"rms": {"gain": np.ones((4, 2))}})


def test_the_norm_of_a_context_has_the_features_that_the_context_gives() -> None:
    context = {"attentional": {"w": np.ones((5, 8))}}
    keys = {"query": np.ones((1, 4)), "key": np.ones((3, 4)), "weight_layout": "out_in", "context": context}
    assert problem(**keys, context_norm={"rms": {"gain": np.ones(5)}}).context_norm is not None
    with pytest.raises(AttnError, match=r"context_norm, gain has 4 numbers \(e\); attentional gives \(e\)"):
        problem(**keys, context_norm={"rms": {"gain": np.ones(4)}})


@pytest.mark.parametrize(
    ("edit", "key", "at"),
    [("qk_norm.query_gain[d2]=5", "query_gain", (1,)), ("qk_norm.key_gain[1,0]=5", "key_gain", (1, 0))],
)
def test_a_number_of_a_gain_can_be_set(edit: str, key: str, at: tuple[int, ...]) -> None:
    before, after = problem(**WITH_GAINS), apply_edits(problem(**WITH_GAINS), [parse_edit(edit)])
    assert before.qk_norm is not None
    assert after.qk_norm is not None
    changed = after.qk_norm.arrays[key] != before.qk_norm.arrays[key]
    assert [tuple(map(int, index)) for index in np.argwhere(changed)] == [at]
    assert after.qk_norm.arrays[key][at] == 5


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("qk_norm: 'rms:query_gain=normal,key_gain=normal,over=all'", {"query_gain": (8,), "key_gain": (4,)}),
        ("qk_norm: 'rms:query_gain=normal,key_bias=normal'", {"query_gain": (2,), "key_bias": (2,)}),
        ("value_norm: 'rms:gain=normal,over=all'", {"gain": (4,)}),
        ("context_norm: {layer: {gain: normal, bias: zeros, over: all}}", {"gain": (8,), "bias": (8,)}),
    ],
)
def test_gains_are_drawn_in_the_shape_that_they_have(tmp_path: Path, text: str, shapes: dict[str, Any]) -> None:
    sizes = "{heads: 4, kv_heads: 2, token_count: 3, dim: 8, seed: 1, init: normal}"
    drawn = attncli.load(write_file(tmp_path, f"{sizes[1:-1]}".replace(", ", "\n") + f"\n{text}\n")).spec
    norm = getattr(drawn, text.partition(":")[0])
    assert {name: array.shape for name, array in norm.arrays.items()} == shapes
