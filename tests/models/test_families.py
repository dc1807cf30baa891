"""Laws over the files of all families, how one is like another, and which is near to an unknown name."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
import yaml

from attncli.base.errors import AttnError
from attncli.models.families import Part, family_names, models_folder, nearest_family, read_family
from attncli.problem.spec import FIELDS
from tests.peers.family_tables import ROWS

PARTS = [
    (family, name, part)
    for family in family_names()
    for name, part in read_family(family, "config.json").parts.items()
    if part.model is None
]


def family_file(name: str) -> str:
    """The text of a family's file."""
    return models_folder().joinpath("families", f"{name}.yaml").read_text(encoding="utf-8")


def rows(value: Any) -> Iterator[Any]:
    """Every mapping in the rows of a part."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from rows(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from rows(inner)


def expressions(part: Part) -> Iterator[str]:
    """Every expression of a part."""
    yield from (part.layers, part.layer_type, *(row["when"] for row in part.unsupported))
    for row in rows(dict(part.keys)):
        yield from (row[name] for name in ("is", "when") if name in row)


@pytest.mark.parametrize(("family", "name", "part"), PARTS, ids=lambda value: value if isinstance(value, str) else "")
def test_every_row_is_a_key_and_every_expression_can_be_read(family: str, name: str, part: Part) -> None:
    assert part.keys.keys() <= FIELDS.keys()
    for text in expressions(part):
        ast.parse(str(text).strip(), mode="eval")


def test_a_family_says_what_it_is_and_where_that_was_read() -> None:
    for name in family_names():
        family, document = read_family(name, "config.json"), yaml.safe_load(family_file(name))
        assert (family.about, family.source) == (document["about"], document["source"]), name
        assert family.about, name
        assert family.source.startswith("transformers "), name
        assert family.parts, name


def test_a_family_is_in_a_table_of_the_peers_or_its_parts_are_like_those_of_one_that_is() -> None:
    compared = {row.model_type for row in ROWS}
    parts = [(name, part) for name in family_names() for part in read_family(name, "").parts.values()]
    compared |= {part.defaults.get("model_type") for name, part in parts if name in compared and part.model}
    known = [without_place(part) for name, part in parts if name in compared]
    assert [name for name, part in parts if name not in compared and without_place(part) not in known] == []


def without_place(part: Part) -> Part:
    """What a part is wherever its config and its tensors are."""
    return replace(part, config=None, roots=())


def test_of_families_with_equal_parts_one_has_them_and_the_others_are_like_it() -> None:
    with_parts = [name for name in family_names() if "\nparts:" in family_file(name)]
    parts = {name: read_family(name, "").parts for name in with_parts}
    assert [pair for pair in combinations(with_parts, 2) if parts[pair[0]] == parts[pair[1]]] == []


def test_a_family_that_is_like_another_replaces_rows_and_leaves_some_out() -> None:
    llama, phi3 = (read_family(name, "").parts["decoder"] for name in ("llama", "phi3"))
    assert phi3.keys["heads"] == llama.keys["heads"]
    assert phi3.keys["w_q"] is None
    assert "qkv_proj" in phi3.keys["w_qkv"]["tensor"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("lama", "did you mean 'llama'?"), ("my own model", "attn list models has the known ones")],
)
def test_a_family_that_is_not_known_is_an_error_of_its_file(name: str, hint: str) -> None:
    with pytest.raises(AttnError) as raised:
        read_family(name, "m/config.json")
    assert str(raised.value) == f"m/config.json: unknown model_type {name!r}; {hint}"


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


@pytest.mark.parametrize("name", ["mamba", "funnel", "perceiver", "zamba3", "7", "-", ""])
def test_a_name_with_a_few_letters_of_a_family_is_near_to_none(name: str) -> None:
    assert nearest_family(name, family_names()) is None
