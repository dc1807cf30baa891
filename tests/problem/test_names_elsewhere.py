"""Names of other libraries: each has what to give in its place, as an option and as a key."""

import re
from inspect import signature

import pytest

from attncli.api.problem import Problem
from attncli.base.errors import UnknownNameError
from attncli.cli.output_options import OutputOptions
from attncli.fit.command import fit
from attncli.problem import names_elsewhere
from attncli.problem.names_elsewhere import hint_elsewhere
from attncli.problem.spec import FIELDS

ROWS = vars(names_elsewhere)["_ROWS"]
OF_OTHER_COMMANDS = ("as", "set", "layer", "against", "rtol", "atol")
OPTIONS = {
    f"--{name.replace('_', '-')}"
    for name in (
        *FIELDS,
        *OutputOptions.rows(),
        *signature(fit).parameters,
        "as",
        "set",
        "layer",
        "against",
        "rtol",
        "atol",
    )
}

# What a user of PyTorch, NumPy, ONNX or transformers types, as an option and as a key, and what to give.
NAMES = [
    (
        "temperature",
        "give --normalize, as in --normalize softmax:temperature=2",
        "give normalize, as in normalize: softmax:temperature=2",
    ),
    ("softmax", "give --normalize softmax", "give normalize: softmax"),
    ("sparsemax", "give --normalize sparsemax", "give normalize: sparsemax"),
    ("gaussian", "give --score gaussian", "give score: gaussian"),
    ("rope", "give --position rope", "give position: rope"),
    (
        "decimals",
        "give --precision, as in --precision 2",
        "give the option --precision, as in --precision 2",
    ),
    ("num_heads", "give --heads, as in --heads 2", "give heads, as in heads: 2"),
    ("is_causal", "give --causal", "give causal: true"),
    ("queries", "give --query", "give query"),
    ("bias_q", "give --b-q", "give b_q"),
    (
        "attention_mask",
        "give --key-mask: 1 is a real key and 0 padding, as in attention_mask",
        "give key_mask: 1 is a real key and 0 padding, as in attention_mask",
    ),
]


@pytest.mark.parametrize(("name", "option", "key"), NAMES)
def test_a_name_of_another_library_says_what_to_give(name: str, option: str, key: str) -> None:
    assert hint_elsewhere(f"--{name.replace('_', '-')}", is_option=True) == option
    assert hint_elsewhere(name) == key
    with pytest.raises(UnknownNameError) as caught:
        Problem(**{"query": [[1]], "key": [[1]], name: 1})
    assert caught.value.hint == key


def test_no_row_has_the_name_of_a_key_and_each_says_what_there_is() -> None:
    assert {*ROWS} & {*FIELDS} == set()
    hints = [str(hint_elsewhere(name, is_option=True)) for name in ROWS]
    assert {option for hint in hints for option in re.findall(r"--[a-z][a-z-]*", hint)} <= OPTIONS
    assert all("{" not in hint for hint in hints)


def test_another_name_has_no_hint_here() -> None:
    assert hint_elsewhere("hedas") is None
