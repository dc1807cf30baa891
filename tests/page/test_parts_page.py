"""The page of a file with parts: a page of a problem for each, of which what they share is there once."""

from dataclasses import replace

import numpy as np

from attncli.engine.run import run
from attncli.io.documents import json_text
from attncli.page import page_object, parts_object, render
from attncli.plan.trace import RunResult
from attncli.render.view import View
from tests.problems import problem

WEIGHTS = {"scores": [[0.0, 1.0], [2.0, 0.0]], "value": [[1.0], [2.0]]}
NORMALIZERS = ("softmax", "sparsemax", "softmax")


def part(normalize: str) -> View:
    """The view of the weights of a part, with every step."""
    trace = run(problem(**WEIGHTS, normalize=normalize), every_step=True).trace
    return View(RunResult(trace, ("weights",)), title=normalize, about=f"By {normalize}.")


WHOLE = View(
    part("softmax").result, title="Normalizers", about="Who gets how much?", parts=tuple(map(part, NORMALIZERS))
)


def test_each_part_is_the_page_of_its_problem() -> None:
    content = parts_object(WHOLE)
    assert (content["title"], content["about"]) == ("Normalizers", "Who gets how much?")
    for number, (found, view) in enumerate(zip(content["parts"], WHOLE.parts, strict=True), 1):
        own = page_object(view)
        assert (found["part"], found["title"], found["about"]) == (number, view.title, view.about)
        assert found["show"] == ["weights"]
        np.testing.assert_equal(found["values"], own["values"])
        plans = [content["plans"][at] for at in found["plans"]]
        names = [[content["nodes"][at]["name"] for at in plan["nodes"]] for plan in plans]
        assert names == [[own["nodes"][at]["name"] for at in plan["nodes"]] for plan in own["plans"]]
        assert [found["results"][plan["results"]] for plan in plans] == [
            own["results"][plan["results"]] for plan in own["plans"]
        ]


def test_what_parts_share_is_there_once() -> None:
    content = parts_object(WHOLE)
    assert content["parts"][0]["plans"] == content["parts"][2]["plans"]
    for name in ("nodes", "plans"):
        texts = ["".join(json_text(each)) for each in content[name]]
        assert len(texts) == len(set(texts))


def test_the_page_of_a_view_with_parts_is_that_of_the_parts() -> None:
    assert "attn.parts_page/1" in "".join(render(WHOLE))


def test_each_part_has_a_story() -> None:
    content = parts_object(replace(WHOLE, parts=tuple(replace(view, guide=True) for view in WHOLE.parts)))
    assert content["guide"]
    for part in content["parts"]:
        guide = part["guide"]
        assert guide["stories"][guide["plans"][0]]["stops"][-1] == ["context", "context"]
        sections = [part["sections"][at]["names"] for at in content["plans"][part["plans"][0]]["sections"]]
        assert ["context"] in sections  # whatever the part selects, the last step of its story can be explored
