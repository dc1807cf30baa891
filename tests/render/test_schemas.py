"""Schemas: what attn reads and writes is valid, and what it refuses is not, at the key that it names."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from attncli.base.errors import AttnError
from attncli.io import examples, yaml
from attncli.io.assemble import assemble
from attncli.io.problem_files import file_parts, parse_document
from attncli.render.schemas import SCHEMAS, schema_of
from tests.documents.reading import ROOT
from tests.schemas import validator

TEXTS = {f"demo {name}": examples.text(name) for name in examples.names()} | {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted((ROOT / "samples").rglob("*.yaml"))
}
GIVEN = {"embeddings": [[1, 0], [0, 1]]}
BROKEN: list[tuple[str, Any]] = [
    ("embedings", [[1, 0]]),
    ("embeddings", True),
    ("embeddings", []),
    ("embeddings", [1, 0]),
    ("embeddings", [[[[1, 0]]]]),
    ("embeddings", [[1, "1,5"]]),
    ("embeddings", [[1, None]]),
    ("embeddings", [["one", 2]]),
    ("query", [1, 2]),
    ("w_q", [[[1, 0], [0, 1]]]),
    ("w_q", {"nrmal": {"std": 2}}),
    ("b_q", [[[1]]]),
    ("heads", 0),
    ("heads", -2),
    ("heads", 1.5),
    ("heads", "2"),
    ("heads", [2]),
    ("kv_heads", "one"),
    ("seed", -1),
    ("seed", 0.5),
    ("dim", 0),
    ("token_count", True),
    ("scale", "half"),
    ("scale", [1]),
    ("scale", False),
    ("softcap", 0),
    ("softcap", -30),
    ("clip_qkv", 0),
    ("causal", 1),
    ("causal", "yes"),
    ("score", "dott"),
    ("score", ["dot"]),
    ("score", {"gaussian": {"sigma": -1}}),
    ("score", {"gaussian": {"sgma": 1}}),
    ("score", {"gaussian": {}, "dot": {}}),
    ("score", 3),
    ("normalize", "softmaxx"),
    ("normalize", {"softmax": {"temperature": 0}}),
    ("normalize", {"softmax": {"temperature": [1, 2]}}),
    ("normalize", {"topk": {"k": 0}}),
    ("context", "weighted"),
    ("position", {"rope": {"base": -10000}}),
    ("position", "ropes"),
    ("window", 3),
    ("window", [1]),
    ("window", [1, 2, 3]),
    ("window", [1, 0.5]),
    ("mask", 1),
    ("mask", [[2, 1], [1, 1]]),
    ("mask", {"windw": {"left": 1, "right": 0}}),
    ("key_mask", [[0.5, 1]]),
    ("align", "top"),
    ("dtype", "float12"),
    ("layout", "hbnd"),
    ("tokens", []),
    ("tokens", {"a": 1}),
    ("sentence", 3),
    ("parts", {}),
]


def assemble_parts(text: str) -> None:
    for part in file_parts(parse_document(text, "p.yaml"), "p.yaml"):
        assemble(part.problem)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_one_of_json_schema(kind: str) -> None:
    Draft202012Validator.check_schema(schema_of(kind))


@pytest.mark.parametrize("name", TEXTS)
def test_every_demo_and_sample_is_valid(name: str) -> None:
    found = validator("problem").iter_errors(yaml.read(TEXTS[name], name, (), ())[0])
    assert [(list(error.path), error.message) for error in found] == []


@pytest.mark.parametrize(("key", "value"), BROKEN)
def test_what_is_refused_is_not_valid_at_the_same_key(key: str, value: Any) -> None:
    values = {**GIVEN, key: value}
    (found,) = validator("problem").iter_errors(values)
    assert (found.path[0] if found.path else found.message.split("'")[1]) == key
    with pytest.raises(AttnError) as refused:
        assemble_parts("".join(yaml.yaml_text(values)))
    assert key in " ".join(str(refused.value).split(":"))


def test_a_result_without_what_every_result_has_is_not_valid() -> None:
    assert [error.message for error in validator("result").iter_errors({"format": "attn.result/2"})][:2] == [
        "'attn.result/1' was expected",
        "'version' is a required property",
    ]
