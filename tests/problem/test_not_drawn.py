"""Arrays that are not drawn: a generator in their place is refused, and none is proposed."""

from pathlib import Path

import pytest

from attncli import Problem
from attncli.base.errors import AttnError, did_you_mean
from attncli.io.assemble import read_value
from attncli.io.origin import Origin, RawValue
from attncli.problem.spec import FIELDS

NOT_DRAWN = [
    name for name, field in FIELDS.items() if field.letters and field.kind != "labels" and not field.is_random_fill
]


@pytest.mark.parametrize("value", ["zeros", {"normal": {"std": 2}}], ids=str)
@pytest.mark.parametrize("name", NOT_DRAWN)
def test_a_generator_of_an_array_that_is_not_drawn_is_refused(name: str, value: object) -> None:
    with pytest.raises(AttnError, match=f"^{name}: can't be drawn; give "):
        Problem(embeddings=[[1, 2]], seed=1, **{name: value})


@pytest.mark.parametrize("name", ["vocabulary", *(name for name in NOT_DRAWN if name != "mask")])
def test_no_generator_is_proposed_where_none_may_stand(name: str, tmp_path: Path) -> None:
    with pytest.raises(AttnError) as caught:
        read_value(FIELDS[name], RawValue("nothing", Origin(folder=tmp_path)))
    forms = "give numbers ('1 0; 0 1', '[[1, 0], [0, 1]]') or a file (words.csv, model.npz#w_q, -)"
    assert str(caught.value) == f"{name}: unknown file 'nothing'; {forms}"


@pytest.mark.parametrize(
    ("name", "text", "nearest"),
    [("mask", "windw:left=2", "window"), ("w_q", "normall:std=2", "normal"), ("w_q", "NORMAL", "normal")],
)
def test_the_nearest_operator_is_proposed(name: str, text: str, nearest: str, tmp_path: Path) -> None:
    with pytest.raises(AttnError, match=f"did you mean '{nearest}'"):
        read_value(FIELDS[name], RawValue(text, Origin(folder=tmp_path)))


def test_capitals_do_not_make_a_name_another_one() -> None:
    assert did_you_mean("w_Q", ["w_v", "w_q", "w_k"]) == "did you mean 'w_q'?"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"w_q": {"normall": {"std": 2}}}, "w_q: unknown generator 'normall'; did you mean 'normal'?"),
        ({"mask": {"windo": {"left": 2}}}, "mask: unknown mask 'windo'; did you mean 'window'?"),
        ({"bias": {"normall": {"std": 2}}}, "bias: is not a matrix; expected lists of numbers"),
        (
            {"score": {"general": {"w": {"normall": {}}}}},
            "score, general, w: unknown generator 'normall'; did you mean 'normal'?",
        ),
    ],
)
def test_a_mistyped_operator_with_parameters_proposes_the_nearest(keys: dict[str, object], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        Problem(embeddings=[[1, 2]], seed=1, **keys)
    assert str(caught.value) == message
