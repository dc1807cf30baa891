"""The forms in which a matrix can be written, for the help and for errors."""

from collections.abc import Sequence

# An example of each form of numbers and of files, as it is typed in a shell, and what it means.
NUMBERS = (
    ("'1 0; 0 1'", "rows by ;, numbers by blanks or commas; also -2*sqrt(3)/3"),
    ("'[[1, 0], [0, 1]]'", "nested lists, as in YAML and JSON"),
)
FILES = (
    ("words.csv", "a file: .csv .tsv .txt .yaml .json .npy .npz .safetensors"),
    ("model.npz#w_q", "an entry of it; a part of that: 'model.npz#w_q[:, 0:64]'"),
    ("-", "standard input"),
)
DRAWN = (("normal:std=2", "drawn from --seed"),)


def forms_hint(noun: str | None, names: Sequence[str]) -> str:
    """What a matrix can be, in a sentence; `names` are those of the operators that may stand for it, `noun` their kind.

    >>> forms_hint("mask", ["causal", "window"])
    "give numbers ('1 0; 0 1', '[[1, 0], [0, 1]]'), a file (words.csv, model.npz#w_q, -) or a mask (causal, window)"
    """
    numbers, files = (", ".join(example for example, _ in forms) for forms in (NUMBERS, FILES))
    given = f"give numbers ({numbers})"
    if noun is None:
        return f"{given} or a file ({files})"
    return f"{given}, a file ({files}) or a {noun} ({', '.join(names)})"
