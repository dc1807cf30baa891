"""Inputs that broke something once, and some at random: none ends in a way that nobody foresaw, or is misread."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.fuzz.cases import Case, Ran, commands_made_once, failure, run
from tests.fuzz.kinds import KINDS, make_case
from tests.fuzz.shrink import shrink

T = TypeVar("T")
SPREADSHEET = "workbook"  # the kind that needs a package of the extra `peers`


def of_kinds(names: Iterable[T], kind_of: Callable[[T], str]) -> list[Any]:
    """The parameters of a test, of which those that read spreadsheets are for the tests with peers."""
    return [
        pytest.param(x, id=kind_of(x), marks=[pytest.mark.peer] * kind_of(x).startswith(SPREADSHEET)) for x in names
    ]


KEPT = of_kinds(sorted((Path(__file__).parent / "corpus").glob("*.json")), lambda path: path.stem)
EVERY_KIND = of_kinds(KINDS, str)


@pytest.mark.parametrize("path", KEPT)
def test_what_broke_something_once_no_longer_does(path: Path, tmp_path: Path) -> None:
    assert failure(Case.from_json(path.read_text(encoding="utf-8")), tmp_path) is None


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_no_input_of_a_kind_at_random_breaks_anything(kind: str, tmp_path: Path) -> None:
    with commands_made_once():
        for number in range(10):
            name, case = make_case(0, number, kind)
            assert failure(case, tmp_path) is None, (name, number)


@pytest.mark.deep
def test_no_input_of_many_breaks_anything(tmp_path: Path) -> None:
    with commands_made_once():
        failed = {number: found for number in range(2000) if (found := failure(make_case(3, number)[1], tmp_path))}
    assert failed == {}


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_an_input_is_kept_as_it_is(kind: str) -> None:
    case = make_case(0, 1, kind)[1]
    assert Case.from_json(case.to_json()).to_json() == case.to_json()


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_number_and_a_seed_make_the_same_input(kind: str) -> None:
    first, second = (make_case(5, 8, kind)[1] for _ in range(2))
    assert first.words == second.words
    assert [len(raw) for raw in first.files.values()] == [len(raw) for raw in second.files.values()]


WORDS = ("compute", "--embeddings", "1.5 2", "--explain", "--json")
JUDGED = {
    "a number read otherwise": Case(WORDS, numbers=[[1.5, 3.0]]),
    "a number read that is none": Case(WORDS, numbers=[[1.5, None]]),
    "a matrix of another shape": Case(WORDS, numbers=[[1.5], [2.0], [0.0]]),
    "a plain number that is refused": Case(("compute", "--embeddings", "1.5 x"), numbers=[[1.5]], must_be_read=True),
    "a mask read otherwise": Case((*WORDS, "--mask", "causal"), visible=[[False]]),
}


@pytest.mark.parametrize("case", JUDGED.values(), ids=JUDGED)
def test_what_is_misread_is_found(case: Case, tmp_path: Path) -> None:
    assert failure(case, tmp_path) is not None


def test_an_exception_is_found_with_its_place_and_its_input_becomes_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(text: str) -> None:
        raise ZeroDivisionError(text)

    monkeypatch.setattr("attncli.problem.mask_expressions._Parser", parse)
    case = Case(
        ("compute", "p.yaml", "--mask", "causal & causal", "--stats"),
        {"p.yaml": b"query: [[1]]\nkey: [[1]]\n", "x": b"1"},
    )
    said = failure(case, tmp_path)
    assert said == "ZeroDivisionError in attncli/problem/mask_expressions.py, parse_mask"
    with commands_made_once():
        small = shrink(case, lambda other: failure(other, tmp_path) == said)
    assert len(json.dumps(small.words)) < 30
    assert "x" not in small.files


def test_a_command_that_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(*_: object) -> Ran:
        while True:
            pass

    monkeypatch.setattr("attncli.cli.run", wait)
    monkeypatch.setattr("tests.fuzz.cases.TIME_LIMIT", 0.05)
    assert failure(Case(("demo",)), tmp_path) == "TooSlowError"


def test_a_command_has_no_more_memory_than_the_limit(tmp_path: Path) -> None:
    ran = run(Case(("compute", "--seed", "1", "--token-count", "50000", "--dim", "4", "--select", "weights")), tmp_path)
    assert ran.status == 2
    assert "GB" in ran.stderr
