"""A commented problem to start from: every key, with an example of its value and its meaning."""

from collections.abc import Iterator, Mapping

from attncli.ops.registry import taken_kinds
from attncli.problem.fields import Field, TemplateUse
from attncli.problem.spec import FIELDS

COMMENT_COLUMN = 40  # where the meaning of a key begins, unless its value is longer

_HEAD = """\
# A problem of attention; every key of it. `attn show KEY` says more of one.
# A line that begins with # is not in force: remove the # to try it.
# One that begins with ## needs another key beside it, or takes the place of one:
# value needs key, past_key and past_value go together, sentence and vocabulary replace embeddings and tokens;
# residual, with residual_norm, replaces embeddings, and so does token_table, where tokens are numbers: [2, 0, 1].
# token_positions, token_scale and residual_norm go with token_table.
"""
_MARKS: Mapping[TemplateUse, str] = {"active": "", "optional": "#", "together": "##"}


def problem_template() -> str:
    """The text of a problem in YAML: the keys by their panels, those that are not needed to begin commented out."""
    return "\n".join([_HEAD, *_lines()])


def _lines() -> Iterator[str]:
    """The lines of the keys, under the titles of their panels."""
    panels = dict.fromkeys(field.panel for field in FIELDS.values())
    for number, panel in enumerate(panels):
        yield f"# {panel}" if number == 0 else f"\n# {panel}"
        yield from (_line(field) for field in FIELDS.values() if field.panel == panel)
    yield ""


def _line(field: Field) -> str:
    """A key with an example of its value and its meaning."""
    return f"{f'{_MARKS[field.template]}{field.name}: {field.example}':{COMMENT_COLUMN}}  # {_meaning(field)}"


def _meaning(field: Field) -> str:
    """The help of a key, with its choices, or where they are listed."""
    if field.kind in taken_kinds():
        return f"{field.help} (attn list {field.kind})"
    missing = [word for word in field.words if word not in field.help]
    return f"{field.help} ({', '.join(field.words)})" if missing else field.help
