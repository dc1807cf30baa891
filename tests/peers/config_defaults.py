"""The defaults of the configuration classes of transformers, for the values that families read.

`python -m tests.peers.config_defaults` writes them to attncli/models, where `attn model` reads them: a config.json may
leave out whatever its class has as default, and nested ones do.
"""

import ast
import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

from attncli.models.families import DEFAULTS_FILE, Part, family_names, models_folder, read_family

OF_ROPE = ("rope_theta", "partial_rotary_factor", "max_position_embeddings", "original_max_position_embeddings")


def class_defaults() -> dict[str, dict[str, dict[str, Any]]]:
    """By family and by the key of config.json under which a part's values are: the default of each value."""
    from transformers import CONFIG_MAPPING

    found: dict[str, dict[str, dict[str, Any]]] = {}
    for family in family_names():
        for part in read_family(family, "").parts.values():
            config_class = CONFIG_MAPPING[family] if family in CONFIG_MAPPING else None  # noqa: SIM401 - lazy, no get
            for name in part.config.split(".") if part.config else ():
                config_class = getattr(config_class, "sub_configs", {}).get(name)
            if config_class is None or not hasattr(config_class, "__dataclass_fields__"):
                continue
            values = {field.name: field.default for field in dataclasses.fields(config_class)}
            values["rope_theta"] = config_class.default_theta
            plain = (bool, int, float, str, list, tuple)
            of_part = found.setdefault(family, {}).setdefault(part.config or "", {})
            of_part |= {name: values[name] for name in names_read(part) if isinstance(values.get(name), plain)}
    return json.loads(json.dumps(found))  # tuples are lists


def names_read(part: Part) -> Iterator[str]:
    """The names that the expressions of a part read."""
    templates = re.findall(r"\{([^{}]*)\}", json.dumps([part.names, part.keys], ensure_ascii=False))
    texts = [part.layers, part.layer_type, *(row["when"] for row in part.unsupported), *expressions(part.keys)]
    yield from OF_ROPE
    for text in [*texts, *filter(is_expression, templates)]:
        nodes = ast.walk(ast.parse(str(text).strip(), mode="eval"))
        yield from (node.id for node in nodes if isinstance(node, ast.Name))


def expressions(value: Any) -> Iterator[str]:
    """Every expression in rows."""
    if isinstance(value, dict):
        yield from (str(value[name]) for name in ("is", "when") if name in value)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from expressions(inner)


def is_expression(text: str) -> bool:
    """Whether what stands in braces is an expression: braces of JSON are none."""
    try:
        ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return False
    return True


if __name__ == "__main__":
    text = json.dumps(class_defaults(), indent=1, sort_keys=True)
    (models_folder() / DEFAULTS_FILE).write_text(f"{text}\n", encoding="utf-8")  # type: ignore[attr-defined]
