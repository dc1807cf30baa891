"""Options in messages: keywords in Python, nothing in files."""

import re
from pathlib import Path

import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.base.option_texts import with_keywords, without_options
from docs.generation.packages import packages

ROOT = Path(attncli.__file__).parent
IN_PYTHON = {
    "--head 1 … 3 shows another, --head all each": 'head=1 … 3 shows another, head="all" each',
    "give --normalize topk:k=2 or --scale 2": 'give normalize="topk:k=2" or scale=2',
    "choose some with --head N, --batch N or --select NAME": "choose some with head=N, batch=N or select=NAME",
    "it is read --as flash": "it is read convention flash",
    "--cell QUERY,KEY picks others.": "explain((query, key)) picks others.",
    "give --layout nhd.": 'give layout="nhd".',
    "an entry: --w-q 'f.npz#w'": "an entry: w_q='f.npz#w'",
    "see attn compare --vary scale=1,2": "see attn compare --vary scale=1,2",
    "By hand: attn compute --query '0; 1' --causal": "By hand: attn compute --query '0; 1' --causal",
    "unknown token '--scale'": "unknown token '--scale'",
    "a − b, x--y": "a − b, x--y",
}


@pytest.mark.parametrize(("typed", "expected"), IN_PYTHON.items(), ids=IN_PYTHON)
def test_options_become_keywords(typed: str, expected: str) -> None:
    assert with_keywords(typed) == expected
    assert str(AttnError("is wrong", where="--set", hint=typed)) == f"--set: is wrong; {expected}"
    assert AttnError("is wrong", where="--set", hint=typed).typed == f"--set: is wrong; {typed}"


WITHOUT = {
    "weights: 70 × 70 numbers of each variant: --select weights shows them": "weights: 70 × 70 numbers of each variant",
    "These pairs are marked; --cell QUERY,KEY picks others.": "These pairs are marked.",
    "one result (--select weights) has tables; --format csv has all; b": "one result has tables; b",
    "-- not an option": "-- not an option",
    "Next: change it: attn compute demo.yaml --set x=1": "Next: change it: attn compute demo.yaml --set x=1",
    "unknown '--scale'": "unknown '--scale'",
}


@pytest.mark.parametrize(("text", "expected"), WITHOUT.items(), ids=WITHOUT)
def test_clauses_with_options_are_left_out(text: str, expected: str) -> None:
    assert without_options(text) == expected


# What says "attn …", or an option that Python does not have, is there to be typed in a shell.
TYPED = re.compile(r"attn [a-z]+[^;]*|--(?:force|json|output|watch)|(?<=['\"])--\S*")
TEXTS = re.compile(r'"((?:[^"\\]|\\.)*--[a-z](?:[^"\\]|\\.)*)"')


def test_no_text_of_the_package_keeps_an_option_in_python() -> None:
    named = {*packages("core"), *packages("wing")} - {"base", "cli", "demos"}
    files = [file for name in named for file in (ROOT / name).rglob("*.py") if not file.stem.endswith("command")]
    texts = [(file, text) for file in files for text in _texts(file)]
    assert len(texts) > 50
    kept = {(file.name, text) for file, text in texts if "--" in TYPED.sub("", with_keywords(text))}
    assert not kept


def _texts(file: Path) -> list[str]:
    """The texts of a module with options of the command line in them."""
    return [] if "--" not in (source := file.read_text("utf-8")) else TEXTS.findall(source)
