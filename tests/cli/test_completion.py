"""Completion of what depends on the problem: results, steps and labels, without a word where it can't be read."""

import os
from pathlib import Path

import pytest

from attncli.problem.fields import RESULTS
from tests.cli.running import Ran, Run
from tests.problems import write_file

PROBLEM = "sentence: the cat saw the dog\nvocabulary: {the: [1, 0], cat: [0, 1], saw: [1, 1], dog: [2, 0]}\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    write_file(tmp_path, PROBLEM)
    write_file(tmp_path, "embeddings: [[1, 2], [3]]\n", "wrong.yaml")
    labels = """["été", "a b", "a,b", "don't", "(x)", "*", "?", "cat", "cat", "$x", "x;y", "~"]"""
    write_file(tmp_path, f"embeddings: {[[number] for number in range(12)]}\ntokens: {labels}\n", "w.yaml")
    write_file(tmp_path, "cat,1,2\ndog,3,4\n", "w.csv")
    os.mkfifo(tmp_path / "pipe")


def complete(words: str, run: Run) -> Ran:
    """What bash is offered for the last of these words."""
    return run(
        env={"_ATTN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    )


OFFERED = {
    "attn compute --select ou": ["output"],
    "attn compute --select weights,ou": ["weights,output"],
    "attn compute --select output,ou": [],
    "attn compute p.yaml --select exp": ["exponentials"],
    "attn compute p.yaml --causal --select weights,visible": ["weights,visible_by_causal", "weights,visible"],
    "attn p.yaml --select dot": ["dot_products"],
    "attn compute p.yaml --only c": ["cat"],
    "attn compute p.yaml --only cat,the": ["cat,the#1", "cat,the#2"],
    "attn compute p.yaml --cell s": ["saw"],
    "attn compute p.yaml --cell saw,": ["saw,the#1", "saw,cat", "saw,saw", "saw,the#2", "saw,dog", "saw,*"],
    "attn compute p.yaml --cell *,": ["*,the#1", "*,cat", "*,saw", "*,the#2", "*,dog", "*,*"],
    "attn compute p.yaml --cell saw,d": ["saw,dog"],
    "attn compute p.yaml --cell saw,dog,": [],
    "attn compute p.yaml --only cat --cell ": ["cat"],
    "attn compute w.yaml --cell ": ["été", "cat#1", "cat#2"],  # the other labels need quotes
    "attn compute p.yaml --cell cat,cat --cell d": ["dog"],
    "attn compute --embeddings w.csv --only ": ["cat", "dog"],
    "attn compute --sentence a,b --dim 2 --seed 1 --cell ": ["a", "b"],
    "attn generate p.yaml --only d": ["dog"],
    "attn check p.yaml --only d": ["dog"],
    "attn check p.yaml w.yaml --against exp": ["exponentials="],
    "attn check --against ou": ["output="],
    "attn check --against output=p": [],
    "attn check --against weights,ou": [],
    "attn compute p.yaml --set v": ["vocabulary["],
    "attn compute p.yaml --set embeddings[c": ["embeddings[cat,"],
    "attn compute p.yaml --set embeddings[cat,": [f"embeddings[cat,{column}]=" for column in ("x1", "x2", "*")],
    "attn check p.yaml --set embeddings[cat,x1]": [],
    "attn compute p.yaml --set scores[": [],
    "attn compare p.yaml --vary norm": ["normalize="],
    "attn compare p.yaml --vary normalize=soft": ["normalize=softmax", "normalize=softmax1"],
    "attn compare p.yaml --vary causal=": ["causal=true", "causal=false"],
    "attn compare p.yaml --vary align=t": ["align=top_left"],
    "attn compare p.yaml --vary mask=win": ["mask=window"],
    "attn compare p.yaml --vary normalize.t": ["normalize.temperature="],
    "attn compare p.yaml --vary scale=": [],
    "attn compare p.yaml --vary only=c": [],
    "attn compare p.yaml --vary sead=": [],
    "attn compare p.yaml --as torch-s": ["torch-sdpa"],
    "attn compute p.yaml --as fl": ["flash"],
    "attn compare p.yaml --vary scale=1 --select exp": ["exponentials"],
    "attn compute --kv": ["--kv-latent-norm", "--kv-heads"],  # which the short help leaves out
}


@pytest.mark.parametrize(("words", "offered"), OFFERED.items(), ids=OFFERED)
def test_words_are_completed_by_the_problem(words: str, offered: list[str], run: Run) -> None:
    ran = complete(words, run)
    assert (ran.stdout.split(), ran.stderr) == (offered, "")


TOO_LARGE = "--seed 1 --token-count 3000000 --dim 8"
UNREADABLE = [
    TOO_LARGE,
    "no.yaml",
    "wrong.yaml",
    "w.csv",
    "pipe",
    "-",
    ".",
    "/dev/zero",
    "p.yaml --heads 3",
    "p.yaml --score x",
]


@pytest.mark.parametrize("problem", UNREADABLE)
@pytest.mark.parametrize(("option", "offered"), [("--only ", []), ("--cell ", []), ("--select pres", RESULTS[-3:])])
def test_nothing_is_said_where_the_problem_can_not_be_read(
    problem: str, option: str, offered: list[str], run: Run
) -> None:
    ran = complete(f"attn compute {problem} {option}", run)
    assert (ran.stdout.split(), ran.stderr) == (list(offered), "")
