"""What an unknown model type is said to be near to: a version of it, its base, or a typing error."""

import pytest

from attncli.models.families import family_names, nearest_family


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("qwen4", "qwen3"),
        ("qwen4_moe", "qwen3_moe"),
        ("llama2", "llama"),
        ("llama5", "llama4"),
        ("gemma5", "gemma4"),
        ("t6", "t5"),
        ("gpt-neox", "gpt_neox"),
        ("Mistral", "mistral"),
    ],
)
def test_the_nearest_family_is_the_nearest_version_of_the_same_name(name: str, nearest: str) -> None:
    assert nearest_family(name, family_names()) == nearest


@pytest.mark.parametrize(("name", "nearest"), [("gpt2-xl", "gpt2"), ("glm4_moe_v2", "glm4_moe"), ("bert-base", "bert")])
def test_the_nearest_family_is_the_longest_that_the_name_begins_with(name: str, nearest: str) -> None:
    assert nearest_family(name, family_names()) == nearest


@pytest.mark.parametrize(("name", "nearest"), [("lama", "llama"), ("mistrall", "mistral"), ("wihsper", "whisper")])
def test_the_nearest_family_is_the_one_that_was_mistyped(name: str, nearest: str) -> None:
    assert nearest_family(name, family_names()) == nearest


@pytest.mark.parametrize("name", ["mamba", "deberta", "deepseek_v3", "xlnet", "zamba3", "codegen2", "7", "-", ""])
def test_a_name_with_a_few_letters_of_a_family_is_near_to_none(name: str) -> None:
    assert nearest_family(name, family_names()) is None
