"""What a configuration says of rope: in the old form, in the new one, and for each kind of layer."""

import re
from typing import Any

import pytest

from attncli.base.errors import AttnError
from attncli.models.config import check_rope, rope_names, rope_of_layer

YARN = {"rope_type": "yarn", "factor": 4.0}
BY_KIND = {"rope_parameters": {"full_attention": {**YARN, "rope_theta": 1e6}, "sliding_attention": {"rope_theta": 1e4}}}


@pytest.mark.parametrize(
    ("config", "layer_type", "base", "partial", "scaling"),
    [
        ({}, None, None, None, None),
        ({"rope_theta": 5e5, "rope_scaling": None}, None, 5e5, None, None),
        ({"rope_theta": 5e5, "rope_scaling": YARN, "partial_rotary_factor": 0.5}, None, 5e5, 0.5, YARN),
        ({"rope_parameters": {**YARN, "rope_theta": 1e6}}, "full_attention", 1e6, None, YARN),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}, None, 1e6, None, None),
        ({"rope_scaling": {"type": "linear", "factor": 2}}, None, None, None, {"type": "linear", "factor": 2}),
        (BY_KIND, "sliding_attention", 1e4, None, None),
        (BY_KIND, "full_attention", 1e6, None, YARN),
        (
            {"rope_scaling": YARN, "max_position_embeddings": 64, "original_max_position_embeddings": 16},
            None,
            None,
            None,
            {**YARN, "max_position_embeddings": 64, "original_max_position_embeddings": 16},
        ),
    ],
)
def test_a_layer_turns_as_its_configuration_says(
    config: dict[str, Any], layer_type: str | None, base: float | None, partial: float | None, scaling: Any
) -> None:
    found = rope_of_layer(config, layer_type)
    assert (found["rope_theta"], found["partial_rotary_factor"], found["rope_scaling"]) == (base, partial, scaling)


def test_a_scaling_that_is_no_mapping_is_an_error() -> None:
    expected = 'config.json, rope_scaling: must be a mapping such as {rope_type: linear, factor: 2}, not "linear"'
    with pytest.raises(AttnError, match=re.escape(expected)):
        check_rope({"rope_scaling": "linear"}, "config.json")
    check_rope({"rope_parameters": BY_KIND["rope_parameters"], "rope_scaling": None}, "config.json")


def test_what_else_stands_there_is_kept() -> None:
    config = {"rope_parameters": {"rope_type": "default", "mrope_section": [1, 2, 3]}}
    assert rope_of_layer(config, None)["rope"]["mrope_section"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("config", "base", "scaling"),
    [
        ({"rope_theta": 5e5, "rope_scaling": YARN}, ("rope_theta",), ("rope_scaling",)),
        (
            {"rope_theta": 5e5, "rope_scaling": YARN, "max_position_embeddings": 64},
            ("rope_theta",),
            ("rope_scaling", "max_position_embeddings"),
        ),
        (BY_KIND, ("rope_parameters.full_attention.rope_theta",), ("rope_parameters.full_attention",)),
    ],
)
def test_the_names_in_the_configuration_are_known(config: dict[str, Any], base: Any, scaling: Any) -> None:
    found = rope_names(config, "full_attention")
    assert (found["rope_theta"], found["rope_scaling"]) == (base, scaling)
