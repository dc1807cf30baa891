"""Lists, help, completion and start-up: all read the records."""

import json
import re
from collections.abc import Callable

import pytest

from attncli.checks.bugs import bugs
from attncli.checks.slips import SLIPS
from attncli.ops import kinds, operators
from attncli.problem.conventions import CONVENTIONS, Convention
from attncli.render.meanings import every_meaning, render_meanings
from attncli.render.target import TextTarget
from tests.cli.running import Run

EVERY = [(kind, name) for kind in kinds() for name in operators(kind)]


def test_the_list_has_every_operator_slip_and_convention_with_its_summary(run: Run) -> None:
    lines = [line.split(None, 1) for line in run("list").stdout.splitlines() if line.startswith(" ")]
    expected = [(name, operators(kind)[name].summary) for kind, name in EVERY]
    expected += [(slip.name, slip.sentence) for slip in SLIPS.values()]
    expected += [(record.name, f"{record.title} ({record.evidence})") for record in CONVENTIONS.values()]
    assert [tuple(line) for line in lines] == expected


@pytest.mark.parametrize(
    ("plural", "kind"), [("scores", "score"), ("contexts", "context"), ("norms", "norm"), ("qk_norms", "qk_norm")]
)
def test_one_kind_is_listed_by_its_plural(plural: str, kind: str, run: Run) -> None:
    shown = [line.split()[0] for line in run("list", plural).stdout.splitlines()]
    assert shown == [plural, *operators(kind)]


def test_a_kind_is_listed_by_the_singular_of_its_plural_too(run: Run) -> None:
    singular, plural = (run("list", kind).stdout.splitlines()[1:] for kind in ("normalizer", "normalizers"))
    assert singular == plural != []


@pytest.mark.parametrize("words", [(), ("models",), ("keys",)])
def test_a_list_as_json_has_the_names_and_summaries_of_the_written_one(words: tuple[str, ...], run: Run) -> None:
    written = [line.split(None, 1) for line in run("list", *words).stdout.splitlines() if line.startswith(" ")]
    content = json.loads(run("list", *words, "--json").stdout)
    assert content.pop("format") == "attn.list/1"
    assert [[row["name"], row["summary"]] for rows in content.values() for row in rows] == written


def test_several_names_are_shown_one_after_the_other(run: Run) -> None:
    each = [run("show", name).stdout for name in ("w_q", "softmax")]
    assert run("show", "w_q", "softmax").stdout == "\n".join(each)


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_numbers_of_an_example_are_rounded_as_those_of_tables(kind: str, name: str, run: Run) -> None:
    assert not re.search(r"\.\d{5}", run("show", name).stdout.partition("example")[2])


@pytest.mark.parametrize("word", ["slips", "slip"])
def test_slips_are_listed_by_their_plural_and_their_name(word: str, run: Run) -> None:
    assert [line.split()[0] for line in run("list", word).stdout.splitlines()] == [word, *SLIPS]


@pytest.mark.parametrize("word", ["conventions", "convention"])
def test_conventions_are_listed_by_their_plural_and_their_name(word: str, run: Run) -> None:
    assert [line.split()[0] for line in run("list", word).stdout.splitlines()] == [word, *CONVENTIONS]


def test_bugs_are_listed_with_what_was_wrong_and_the_slip_that_names_it(run: Run) -> None:
    lines = [line.split(None, 1) for line in run("list", "bugs").stdout.splitlines()[1:]]
    assert [tuple(line) for line in lines] == [(bug.source, f"{bug.sentence} ({bug.slip})") for bug in bugs().values()]


def test_the_sources_of_all_operators_are_listed_in_the_order_of_a_bibliography(run: Run) -> None:
    lines = run("list", "sources").stdout.splitlines()[1:]
    source = operators("generator")["ones"].source
    column = next(line.index(source) for line in lines if source in line)
    named = {line[column:]: line[:column].strip().split(", ") for line in lines}
    assert list(named) == sorted(named, key=str.casefold)
    assert sorted(name for names in named.values() for name in names) == sorted(name for _, name in EVERY)
    assert all(operators(kind)[name].source in named for kind, name in EVERY)
    assert "sources" not in run("list").stdout.splitlines()


@pytest.fixture(scope="module")
def shown_of() -> Callable[[str, str], str]:
    """What `attn show` has of a word of a kind."""
    meanings = {(meaning.kind, meaning.names[0]): meaning for meaning in every_meaning()}
    return lambda kind, name: render_meanings([meanings[kind, name]], TextTarget())


@pytest.mark.parametrize("convention", CONVENTIONS.values(), ids=lambda convention: convention.name)
def test_show_has_what_a_convention_makes_of_each_word(
    convention: Convention, shown_of: Callable[[str, str], str]
) -> None:
    shown = " ".join(shown_of("convention", convention.name).split())
    assert shown.startswith(f"{convention.name} (convention) {convention.title}.")
    assert convention.evidence in shown
    assert convention.source in shown
    for word, reading in convention.words.items():
        assert word in shown
        assert reading.text in shown


@pytest.mark.parametrize("word", ["mask_inverted", "mask-inverted", "Mask_Inverted"])
def test_show_says_what_a_slip_is_and_where_it_is_made(word: str, run: Run) -> None:
    slip, shown = SLIPS["mask_inverted"], run("show", word).stdout
    assert shown.startswith("mask_inverted  (slip)\n")
    assert slip.sentence in shown
    assert f"made where  {slip.applies_where}" in shown


def test_show_has_every_meaning_of_a_word(shown_of: Callable[[str, str], str], run: Run) -> None:
    assert run("show", "causal").stdout == "\n".join(shown_of(kind, "causal") for kind in ("mask", "key", "term"))


@pytest.mark.parametrize("kind", kinds())
def test_show_has_every_field_of_the_record(kind: str, shown_of: Callable[[str, str], str]) -> None:
    for name, record in operators(kind).items():
        shown = shown_of(kind, name)
        assert shown.startswith(f"{name}  ({kind})\n")
        for text in (record.summary, record.formula, record.source, *map(str, record.parameters)):
            assert text in shown


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("attn compute --score ga", ["gaussian"]),
        ("attn compute --normalize s", ["softmax", "softmax1", "sigmoid", "sum", "sparsemax"]),
        ("attn compute --generator l", ["legacy"]),
        ("attn compute --format j", ["json"]),
        ("attn compute --mask ca", ["causal"]),
        ("attn compute --mask w", ["window"]),
        ("attn compute --mask bi", []),
        ("attn show entm", ["entmax"]),
        ("attn show masked_s", ["masked_scores"]),
        ("attn show mask_inv", ["mask_inverted"]),
        ("attn list sl", ["slips"]),
        ("attn show gq", ["gqa"]),
        ("attn list n", ["normalizers", "norms"]),
        ("attn demo tut", ["tutorial"]),
        ("attn gen", ["generate"]),
    ],
)
def test_the_shell_completes_names(words: str, offered: list[str], run: Run) -> None:
    place = str(len(words.split()) - 1)
    ran = run(env={"_ATTN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place})
    assert ran.stdout.split() == offered


def test_the_version_is_the_packages(run: Run) -> None:
    import attncli

    assert run("--version").stdout == f"attn {attncli.__version__}\n"


def test_alone_it_shows_its_help(run: Run) -> None:
    ran = run()
    assert ran.returncode == 0
    assert ran.stdout == run("--help").stdout
