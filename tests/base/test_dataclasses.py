"""Dataclasses whose methods are not generated at the start: each is as the standard library would make it."""

import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from functools import cached_property
from typing import Any

import pytest

import attncli.base.dataclasses
from attncli.base.dataclasses import dataclass as ours

Decorator = Callable[..., Callable[[type], Any]]
BOTH = pytest.mark.parametrize("dataclass", [dataclasses.dataclass, ours], ids=["standard library", "ours"])


@pytest.fixture(params=[0, 100], autouse=True, ids=["written at once", "written later"])
def first_instances(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many instances are made before `__init__` is written for their class."""
    monkeypatch.setattr(attncli.base.dataclasses, "FIRST_INSTANCES", request.param)


def make_point(dataclass: Decorator) -> Any:
    @dataclass(frozen=True)
    class Point:
        """A point."""

        x: float
        y: float = 0.0
        tags: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

        @cached_property
        def squared(self) -> float:
            return self.x**2 + self.y**2

    return Point


def make_named(dataclass: Decorator) -> Any:
    @dataclass(frozen=True, eq=False, kw_only=True)
    class Named:
        name: str = "n"
        size: int
        word: str = field(default="w")

        def __repr__(self) -> str:
            return self.name

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError(self.size)

    return Named


def make_nested(dataclass: Decorator) -> Any:
    @dataclass(frozen=True)
    class Part:
        first: int
        last: int = 9

    @dataclass(frozen=True)
    class Whole(Part):
        last: int = 5
        more: int = 7

    return Whole


@pytest.fixture(params=[make_point, make_named, make_nested], ids=["point", "named", "nested"])
def classes(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """One class as the standard library makes it, and as we do."""
    return request.param(dataclasses.dataclass), request.param(ours)


def test_the_signature_is_that_of_the_standard_library(classes: tuple[Any, Any]) -> None:
    theirs, mine = (inspect.signature(cls) for cls in classes)
    assert [str(parameter) for parameter in mine.parameters.values()] == [
        str(parameter) for parameter in theirs.parameters.values()
    ]


def test_the_fields_are_those_of_the_standard_library(classes: tuple[Any, Any]) -> None:
    theirs, mine = ([(f.name, f.type, f.repr, f.compare) for f in dataclasses.fields(cls)] for cls in classes)
    assert mine == theirs
    assert classes[1].__match_args__ == classes[0].__match_args__


@BOTH
def test_values_are_given_by_position_or_name_and_the_others_are_defaults(dataclass: Decorator) -> None:
    point = make_point(dataclass)
    assert (point(1.0, y=2.0).x, point(1.0, y=2.0).y, point(x=3.0).y) == (1.0, 2.0, 0.0)
    assert repr(point(1.0)) == "make_point.<locals>.Point(x=1.0, y=0.0)"
    assert (make_nested(dataclass)(1).last, make_nested(dataclass)(1, 2, 3).more) == (5, 3)


@BOTH
def test_what_a_factory_makes_is_made_for_each_instance(dataclass: Decorator) -> None:
    point = make_point(dataclass)
    one, other = point(1.0), point(1.0)
    one.tags["a"] = 1
    assert (other.tags, point(1.0, tags={"b": 2}).tags) == ({}, {"b": 2})


@BOTH
@pytest.mark.parametrize(("args", "values"), [((), {}), ((1, 2, {}, 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2})])
def test_a_value_that_is_missing_unknown_or_given_twice_is_an_error(
    args: tuple[Any, ...], values: dict[str, Any], dataclass: Decorator
) -> None:
    with pytest.raises(TypeError, match=r"Point.__init__\(\)"):
        make_point(dataclass)(*args, **values)


@BOTH
def test_values_of_keywords_alone_are_not_given_by_position(dataclass: Decorator) -> None:
    named = make_named(dataclass)
    assert (named(size=2).name, repr(named(size=2, name="m"))) == ("n", "m")
    with pytest.raises(TypeError, match="positional"):
        named(2)
    with pytest.raises(ValueError, match="-1"):
        named(size=-1)


@BOTH
def test_instances_can_not_be_changed(dataclass: Decorator) -> None:
    one = make_point(dataclass)(1.0)
    with pytest.raises(FrozenInstanceError):
        one.x = 2.0
    with pytest.raises(FrozenInstanceError):
        one.z = 2.0
    with pytest.raises(FrozenInstanceError):
        del one.x
    assert one.squared == 1.0
    assert dataclasses.replace(one, x=2.0).squared == 4.0


@BOTH
def test_instances_are_equal_where_what_is_compared_is(dataclass: Decorator) -> None:
    point, other = make_point(dataclass), make_point(dataclass)
    assert point(1.0) == point(1.0, tags={"a": 1})
    assert hash(point(1.0)) == hash(point(1.0, tags={"a": 1}))
    assert len({point(1.0), point(1.0), point(2.0)}) == 2
    assert point(1.0) != point(2.0)
    assert point(1.0) != other(1.0)
    named = make_named(dataclass)
    assert named(size=1) != named(size=1)


@BOTH
def test_an_instance_is_the_same_whenever_it_is_made(dataclass: Decorator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attncli.base.dataclasses, "FIRST_INSTANCES", 2)
    point, whole = make_point(dataclass), make_nested(dataclass)
    assert {repr(point(1.0, tags={"a": 1})) for _ in range(5)} == {"make_point.<locals>.Point(x=1.0, y=0.0)"}
    assert len({whole(1, more=2) for _ in range(5)}) == 1


@ours(frozen=True)
class Sent:
    """A class that another process imports."""

    values: tuple[int, ...]


def test_instances_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(Sent((1, 2)))) == Sent((1, 2))
