"""The page of a problem file with parts: a page of a problem for each part, and what they share, once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attncli.base.program import __version__
from attncli.io.documents import json_text
from attncli.page import page_object
from attncli.render.view import View

FORMAT = "attn.parts_page/1"


def parts_object(view: View) -> dict[str, Any]:
    """The object that the scripts of the page read.

    `about` is what the file is about. `nodes` and `plans` are those of all parts, each once. `parts` are objects of
    pages of a problem without nodes, whose `plans` are positions in the list; in addition each has its number `part`,
    from 1, its `about`, and in `show` the names of the steps that are shown of it. `guide`: whether one has a story.
    """
    nodes: dict[str, tuple[int, Mapping[str, Any]]] = {}
    plans: dict[str, tuple[int, Mapping[str, Any]]] = {}
    parts = []
    for number, part in enumerate(view.parts, 1):
        content = page_object(replace(part, title=part.title or f"Part {number}"))
        own = [_position(node, nodes) for node in content.pop("nodes")]
        moved = [{**plan, "nodes": [own[at] for at in plan["nodes"]]} for plan in content["plans"]]
        trace = part.result.trace
        shown = list(dict.fromkeys(trace[name].name for name in part.result.select))
        content |= {"plans": [_position(plan, plans) for plan in moved], "show": shown}
        parts.append({**content, "part": number, "about": part.about})
    return {
        "format": FORMAT,
        "version": __version__,
        "title": view.title or view.heading,
        "about": view.about,
        "guide": any(part["guide"] for part in parts),
        "nodes": [node for _, node in nodes.values()],
        "plans": [plan for _, plan in plans.values()],
        "parts": parts,
    }


def _position(content: Mapping[str, Any], known: dict[str, tuple[int, Mapping[str, Any]]]) -> int:
    """The position of an object among those that are known, to which it is added where it is new."""
    return known.setdefault("".join(json_text(content)), (len(known), content))[0]
