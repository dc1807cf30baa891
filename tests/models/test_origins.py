"""Where the values of a layer are from, as a comment says it."""

import pytest

from attncli.models.layer import Origins

ORIGINS = Origins({"count": ("n_head",), "layer": (), "size": ("d", "n_head")}, frozenset({"eps", "rope_parameters"}))


@pytest.mark.parametrize(
    ("read", "note", "expected"),
    [
        ([], "", "the model's code"),
        ([], "as in the paper", "as in the paper"),
        (["layer"], "", "the model's code"),
        (["d"], "", "config.json: d"),
        (["size", "count"], "of a head", "config.json: d, n_head; of a head"),
        (["eps"], "", "default of eps, not in config.json"),
        (["rope_parameters.rope_theta"], "", "default of rope_parameters.rope_theta, not in config.json"),
        (["d", "eps"], "", "config.json: d; default of eps, not in config.json"),
    ],
)
def test_a_comment_has_the_names_in_config_json_the_defaults_and_the_note(
    read: list[str], note: str, expected: str
) -> None:
    assert ORIGINS.comment(read, note) == expected
