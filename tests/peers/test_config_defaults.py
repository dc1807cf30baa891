"""What families say of transformers: the defaults of configuration classes, and the file that has the attention."""

from pathlib import Path

import pytest

from attncli.models.families import config_defaults, family_names, read_family
from tests.peers.config_defaults import class_defaults

transformers = pytest.importorskip("transformers")


def test_the_defaults_are_those_of_the_configuration_classes() -> None:
    assert config_defaults() == class_defaults(), "write them anew: python -m tests.peers.config_defaults"


def test_the_source_of_each_family_is_a_file_of_transformers() -> None:
    package = Path(transformers.__file__).parent
    sources = {name: read_family(name, "").source.removeprefix("transformers 5.23, ") for name in family_names()}
    assert [name for name, source in sources.items() if not (package / source).is_file()] == []
