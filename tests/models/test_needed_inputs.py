"""What must be given beside the input of a layer's attention."""

from typing import Any

import pytest

from attncli.models.families import family_names, read_family
from attncli.models.layer import Entry
from attncli.models.layer_file import needed_inputs


def rope(**parameters: Any) -> dict[str, Entry]:
    return {"position": Entry({"rope": Entry({name: Entry(value) for name, value in parameters.items()})})}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({}, []),
        ({"position": Entry("alibi")}, []),
        (rope(base=10000.0), []),
        (rope(scaling={"rope_type": "linear", "factor": 2.0}), []),
        (rope(scaling={"rope_type": "default", "mrope_section": [1, 2, 3]}), []),
        (rope(scaling={"rope_type": "axial"}), ["positions"]),
        (rope(scaling={"rope_type": "unheard of"}), []),
        ({"query_embeddings": Entry("normal")}, ["query_embeddings"]),
        (
            rope(scaling={"rope_type": "axial"}) | {"query_embeddings": Entry("normal")},
            ["query_embeddings", "positions"],
        ),
    ],
)
def test_arrays_that_no_checkpoint_has_are_needed(entries: dict[str, Entry], expected: list[str]) -> None:
    assert needed_inputs(entries) == expected


def test_in_every_cross_attention_another_sequence_asks() -> None:
    parts = {name: read_family(name, "").parts.get("cross") for name in family_names()}
    assert [name for name, part in parts.items() if part is not None and "query_embeddings" not in part.keys] == []
