"""The kinds of inputs: each makes a case at random, from the samples, the registries and the grammar of the options."""

import io
import json
import math
import random
import struct
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import typer.main

import attncli.cli
from attncli.cli.commands import COMMANDS
from attncli.io import examples
from attncli.ops import kinds as kinds_of_operators
from attncli.ops import operators
from attncli.problem.fields import RESULTS
from attncli.problem.spec import FIELDS
from tests.fuzz import literals
from tests.fuzz.cases import Case, run
from tests.fuzz.texts import INSERTED, changed_bytes, changed_text

SAMPLES = Path(attncli.__file__).parents[1] / "samples"
Make = Callable[[random.Random], Case]

# Commands that load a model or start processes, which would take seconds each.
SLOW_COMMANDS = ("capture", "try", "vectors")
# Options that wait for a person, a browser or a cluster.
WAITING_OPTIONS = ("--watch", "--open", "--pager", "--executor", "--install-completion", "--show-completion")
_OUTPUTS = (
    *("x.json", "x.csv", "x.yaml", "x.md", "x.tex", "x.html", "x.svg", "x.npz", "x.npy", "x.py", "x.ipynb", "x.txt"),
    *("x", "x.safetensors", "x.xlsx", "x.pdf", "x.png", "no/x.json", "p.yaml", ".", "-", "x.toml"),
)
CHECKED = 0.1  # the share of inputs whose numbers are checked, which takes as long as many computations
_VALUES = ("0", "1", "2", "-1", "3", "1.5", "nan", "inf", "1e400", "", " ", "all", "0-1", "1,2", "x", "*", "[0,0]", "-")


@cache
def sample_texts() -> Mapping[str, str]:
    """The problems of the samples and of the demos that are small, by their names."""
    files = [*SAMPLES.glob("*.yaml"), *SAMPLES.glob("published/*.yaml"), *SAMPLES.glob("worked/*.yaml")]
    texts = {file.stem: file.read_text(encoding="utf-8") for file in files}
    texts |= {f"demo_{name}": examples.text(name) for name in examples.names()}
    return {name: text for name, text in sorted(texts.items()) if len(text) < 3000}


@cache
def tables() -> Mapping[str, bytes]:
    """The tables that samples name, by their paths."""
    return {str(path.relative_to(SAMPLES)): path.read_bytes() for path in sorted(SAMPLES.rglob("*.csv"))}


def problem_file(choose: random.Random) -> Case:
    """A sample with changes of its text, computed or checked."""
    text = changed_text(choose, choose.choice(list(sample_texts().values())))
    files = {"p.yaml": text.encode("utf-8", "surrogatepass"), **(tables() if ".csv" in text else {})}
    words = choose.choice(
        [
            ("compute", "p.yaml"),
            ("p.yaml", "--json"),
            ("compute", "p.yaml", "--explain"),
            ("show", "p.yaml"),
        ]
    )
    return Case(("check", "p.yaml") if choose.random() < CHECKED else words, files)


def problem_in_json(choose: random.Random) -> Case:
    """A problem in JSON, with values of other types, keys that are there twice, and changes of its text."""
    keys = {name: _json_value(choose) for name in choose.sample(list(FIELDS), choose.randrange(3))}
    text = json.dumps({"query": [[1, 0.5], [0, 2]], "key": [[1, 0], [0, 1], [2, 2]], **keys})
    if choose.random() < 0.7:
        text = changed_text(choose, text)
    return Case(
        (choose.choice(["compute", "check", "show"]), "p.json"), {"p.json": text.encode("utf-8", "surrogatepass")}
    )


def _json_value(choose: random.Random, depth: int = 0) -> Any:
    """Any value that JSON can have."""
    sort = choose.randrange(10 if depth < 3 else 7)
    if sort < 5:
        return choose.choice(
            [None, True, False, 0, 1, -1, 2, 0.5, 10**20, -(2**63), "", "x", "1/2", "cat", "softmax", "causal"]
        )
    if sort < 7:
        return [
            [choose.choice([0, 1, 0.5, -2]) for _ in range(choose.choice([1, 2, 3]))]
            for _ in range(choose.choice([1, 2, 3]))
        ]
    if sort < 9:
        return [_json_value(choose, depth + 1) for _ in range(choose.randrange(4))]
    return {choose.choice(["normal", "gaussian", "sigma", "rope", "base", "0", ""]): _json_value(choose, depth + 1)}


def table_file(choose: random.Random) -> Case:
    """A table with changes of its text or of its bytes."""
    text = choose.choice(
        [
            "cat,1,2\ndog,3,4\n",
            "1 0 1\n0 1 0\n",
            ',x,y\nthe,1,-2.5e3\n"le, chat",nan,.5\n',
            "1;0;2\n2;0;0\n",
            "# numbers\na\tb\n1\t2\n3\t4\n",
            ",0,1\n0,1,0\n1,0,1\n",
            *(raw.decode() for raw in tables().values()),
            "".join(f"{number},{number * 0.37}\n" for number in range(1500)),  # read by another reader: it is large
        ]
    )
    raw = changed_text(choose, text).encode("utf-8", "surrogatepass")
    if choose.random() < 0.1:
        raw = changed_bytes(choose, raw)
    name = choose.choice(["x.csv", "x.csv", "x.tsv", "x.txt", "x", "-"])
    words = choose.choice(
        [
            ("compute", "--embeddings", name),
            ("show", name),
            ("heads", name),
        ]
    )
    if choose.random() < CHECKED:
        words = ("check", "p.yaml", "--against", f"output={name}")
    files = {"p.yaml": b"embeddings: [[1, 2], [3, 4]]\n"}
    return Case(words, files, raw) if name == "-" else Case(words, {**files, name: raw})


TYPES = (
    "f2",
    "f4",
    "f8",
    ">f4",
    ">f8",
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u8",
    ">i8",
    "?",
    "c8",
    "c16",
    "U3",
    "S3",
    "g",
    "M8[D]",
    "O",
    "V4",
)


def _array(choose: random.Random, types: Sequence[str] = TYPES) -> np.ndarray:
    """An array of any type and form that NumPy saves."""
    shape = choose.choice([(2, 3), (2, 3), (3, 2), (1, 1), (3,), (), (0, 2), (2, 2, 3), (1, 2, 2, 3)])
    stream = np.random.default_rng(choose.randrange(2**32))
    type_ = choose.choice(types)
    if type_ == "O":
        return np.array([None, 1], dtype=object)
    if type_ in ("M8[D]", "V4"):
        return np.zeros(shape, dtype=type_)
    numbers = stream.standard_normal(shape) * choose.choice([1, 1, 100])
    if np.dtype(type_).kind == "f" and choose.random() < 0.2 and numbers.size:
        numbers.flat[0] = choose.choice([math.nan, math.inf, -math.inf, -0.0])
    with np.errstate(all="ignore"):
        array = numbers.astype(type_) if np.dtype(type_).kind != "u" else abs(numbers).astype(type_)
    return np.asfortranarray(array) if choose.random() < 0.3 else array


def _npy(array: np.ndarray, version: tuple[int, int] | None = None) -> bytes:
    """The bytes of an .npy file."""
    np.lib.format.write_array(stream := io.BytesIO(), array, version=version)
    return stream.getvalue()


def _safetensors(arrays: Mapping[str, np.ndarray], choose: random.Random) -> bytes:
    """The bytes of a .safetensors file, whose header is sometimes wrong."""
    names = {
        "f2": "F16",
        "f4": "F32",
        "f8": "F64",
        "i1": "I8",
        "i2": "I16",
        "i4": "I32",
        "i8": "I64",
        "u1": "U8",
        "u8": "U64",
        "b1": "BOOL",
    }
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}} if choose.random() < 0.2 else {}
    data = b""
    for name, array in arrays.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": names[array.dtype.str[1:]],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header)
    if choose.random() < 0.5:
        text = changed_text(choose, text)
    encoded = text.encode("utf-8", "surrogatepass")
    length = len(encoded) + (choose.choice([0, 1, -1, 2**40, 2**63]) if choose.random() < 0.1 else 0)
    return struct.pack("<Q", length % 2**64) + encoded + data


def array_file(choose: random.Random) -> Case:
    """Arrays in .npy, .npz and .safetensors, sound ones of every type or with changes of headers and bytes."""
    sort = choose.choice(["npy", "npz", "safetensors"])
    if sort == "npy":
        array = _array(choose)
        raw = _npy(array, choose.choice([None, (1, 0), (2, 0), (3, 0)]))
        is_exact = array.ndim == 2 and array.dtype.kind in "fiu" and array.dtype.itemsize <= 8 and array.size
        if is_exact and choose.random() < 0.5:
            numbers = [[float(cell) for cell in row] for row in array.astype(np.float64).tolist()]
            words = ("compute", "--embeddings", "x.npy", "--dtype", "float64", *literals.SHOW)
            return Case(words, {"x.npy": raw}, numbers=numbers)
        if choose.random() < 0.6:
            head, _, rest = raw.partition(b"\n")
            header = changed_text(choose, head[10:].decode("latin-1")).encode("utf-8", "surrogatepass")
            raw = raw[:8] + struct.pack("<H", min(len(header) + 1, 65535)) + header + b"\n" + rest
        name = choose.choice(["x.npy", "x.npy", "x"])
    elif sort == "npz":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", choose.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
            for key in choose.sample(["query", "key", "value", "mask", "heads", "x/y", "../x"], choose.randrange(1, 4)):
                archive.writestr(f"{key}.npy", _npy(_array(choose)))
        raw, name = stream.getvalue(), choose.choice(["x.npz", "x.npz", "x"])
    else:
        types = ("f2", "f4", "f8", "i1", "i4", "i8", "u1", "?")
        raw = _safetensors({key: _array(choose, types) for key in choose.sample(["query", "key", "x"], 2)}, choose)
        name = choose.choice(["x.safetensors", "x.safetensors", "x"])
    if choose.random() < 0.4:
        raw = changed_bytes(choose, raw)
    entry = choose.choice(["", "", "#query", "#key[0:1]", "#x", "#query[:, ::2]", "#nothing", "[0]"])
    words = choose.choice(
        [("compute", name), ("compute", "--embeddings", name + entry), ("show", name), ("heads", name), ("check", name)]
    )
    return Case(words, {name: raw})


@cache
def _work_sheet() -> bytes:
    """A work sheet for a spreadsheet program, as `attn worksheet` writes it."""
    problem = b"query: [[1, 0], [0, 1]]\nkey: [[1, 2], [0, 1], [1, 1]]\nvalue: [[1, 0], [0, 1], [2, 2]]\n"
    with tempfile.TemporaryDirectory() as folder:
        ran = run(Case(("worksheet", "p.yaml", "-o", "sheet.xlsx"), {"p.yaml": problem}), Path(folder))
        assert ran.status == 0, ran.stderr
        return (Path(folder) / "sheet.xlsx").read_bytes()


def workbook(choose: random.Random) -> Case:
    """A work sheet that came back: with answers, cells of other types, lines of its hidden sheet or parts changed."""
    import openpyxl  # an extra, which the other kinds do without

    book = openpyxl.load_workbook(io.BytesIO(_work_sheet()))
    for _ in range(choose.choice([1, 2, 8])):
        page = choose.choice(book.worksheets)
        at = page.cell(choose.randrange(1, page.max_row + 2), choose.randrange(1, page.max_column + 2))
        new = choose.choice(
            [
                None,
                0.5,
                1,
                -2,
                "x",
                "=A1",
                "=1/0",
                True,
                "1,5",
                "0.25",
                "",
                "[1, 2]",
                '["query", 0, 9]',
                "expected",
                1e300,
            ]
        )
        if isinstance(at.value, str) and choose.random() < 0.5:
            new = changed_text(choose, at.value)
        if "MergedCell" not in type(at).__name__:
            at.value = openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE.sub("", new) if isinstance(new, str) else new
    if choose.random() < 0.1 and len(book.worksheets) > 1:
        del book[choose.choice(book.sheetnames)]
    if all(page.sheet_state == "hidden" for page in book.worksheets):
        return workbook(choose)
    book.active = next(number for number, page in enumerate(book.worksheets) if page.sheet_state != "hidden")
    book.save(stream := io.BytesIO())
    raw = stream.getvalue()
    if choose.random() < 0.2:
        raw = _changed_archive(choose, raw)
    words = choose.choice(
        [
            ("check", "s.xlsx"),
            ("check", "s.xlsx"),
            ("compute", "s.xlsx"),
            ("show", "s.xlsx"),
            ("compute", "--embeddings", "s.xlsx"),
        ]
    )
    return Case(words, {"s.xlsx": raw})


def _changed_archive(choose: random.Random, raw: bytes) -> bytes:
    """An archive with a change in the text of one of its files."""
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(stream := io.BytesIO(), "w") as new:
        changed = choose.choice(old.namelist())
        for name in old.namelist():
            content = old.read(name)
            if name == changed:
                content = changed_text(choose, content.decode("latin-1")).encode("latin-1", "replace")
            new.writestr(name, content)
    return stream.getvalue()


def checkpoint(choose: random.Random) -> Case:
    """The config.json of a model, with changes."""
    config = json.loads((SAMPLES / "tiny_model/config.json").read_text(encoding="utf-8"))
    for _ in range(choose.randrange(3)):
        config[choose.choice(list(config))] = _json_value(choose)
    text = json.dumps(config)
    if choose.random() < 0.5:
        text = changed_text(choose, text)
    files = {"m/config.json": text.encode("utf-8", "surrogatepass")}
    raw = (SAMPLES / "tiny_model/model.safetensors").read_bytes()
    if choose.random() < 0.5:
        files["m/model.safetensors"] = changed_bytes(choose, raw[:600]) + raw[600:] if choose.random() < 0.3 else raw
    words = choose.choice(
        [
            ("model", "m"),
            ("model", "m", "--layer", "0"),
            ("model", "m/config.json", "--layer", "-1"),
            ("model", "m", "--layer", "0-1", "-o", "layers"),
        ]
    )
    return Case(words, files)


def class_list(choose: random.Random) -> Case:
    """The names of a class, for which exercises are written."""
    text = changed_text(
        choose, choose.choice(["name\nAnn\nBo\n", "First name,Last name\nAnn,Lee\nBo,Ray\n", "Ann;1\nBo;2\n"])
    )
    words = ("worksheet", "p.yaml", "--by-hand", "--variants", "2", "--names", "class.csv", "-o", "out")
    files = {"p.yaml": b"query: [[1, 0]]\nkey: [[1, 2], [0, 1]]\n", "class.csv": text.encode("utf-8", "surrogatepass")}
    return Case(words, files)


# Masks of one word, and whether the query at position i sees key j.
_MASKS: Mapping[str, Callable[[int, int], bool]] = {
    "causal": lambda i, j: j <= i,
    "window:left=1,right=0": lambda i, j: i - 1 <= j <= i,
    "window: left=0, right=2": lambda i, j: i <= j <= i + 2,
    "prefix:size=2": lambda _, j: j < 2,
    "prefix:size=0": lambda _i, _j: False,
    "chunked:size=2": lambda i, j: i // 2 == j // 2,
    "dilated:step=2": lambda i, j: (i - j) % 2 == 0,
    "global:tokens=1 3": lambda i, j: bool({i, j} & {1, 3}),
    "document:ids=0 0 1 1 0": lambda i, j: (0, 0, 1, 1, 0)[i] == (0, 0, 1, 1, 0)[j],
    "1 0 1 0 1; 1 1 0 0 0; 0 0 0 0 1; 1 1 1 1 1; 0 1 0 1 0": lambda i, j: (
        ("10101", "11000", "00001", "11111", "01010")[i][j] == "1"
    ),
}
_ROWS = "; ".join(["0"] * 5)


def _mask_text(choose: random.Random, depth: int) -> tuple[str, str]:
    """The text of an expression, and the same expression of Python on truth tables, whose signs bind alike."""
    sort = choose.random()
    if depth > 3 or sort < 0.35:
        number = choose.randrange(len(_MASKS))
        return list(_MASKS)[number], f"masks[{number}]"
    if sort < 0.5:
        text, python = _mask_text(choose, depth + 1)
        return f"~({text})", f"~({python})"
    if sort < 0.6:
        text, python = _mask_text(choose, 9)
        return f"~{text}", f"~{python}"
    parts = [_mask_text(choose, depth + 1) for _ in range(choose.choice([2, 2, 3]))]
    signs = [choose.choice("&|") for _ in parts[1:]]
    space = choose.choice(["", " ", "  "])
    text, python = parts[0]
    for sign, (more_text, more_python) in zip(signs, parts[1:], strict=True):
        text, python = f"{text}{space}{sign}{space}{more_text}", f"{python} {sign} {more_python}"
    return (f"({text})", f"({python})") if choose.random() < 0.4 else (text, python)


def mask(choose: random.Random) -> Case:
    """A mask expression, evaluated on truth tables by Python's own signs; or one with changes."""
    text, python = _mask_text(choose, 0)
    words = ("compute", "--query", _ROWS, "--key", _ROWS)
    if choose.random() < 0.5:
        return Case((*words, "--mask", changed_text(choose, text).replace("\0", ""), "--select", "masked_scores"))
    tables_ = [np.array([[seen(i, j) for j in range(5)] for i in range(5)]) for seen in _MASKS.values()]
    visible = eval(python, {"masks": tables_})  # of `_mask_text`, with numpy's own `~`, `&` and `|`
    is_seen = [[bool(cell) for cell in row] for row in visible]
    return Case((*words, "--mask", text, "--select", "masked_scores", "--json"), visible=is_seen)


@cache
def options() -> Mapping[str, Sequence[tuple[str, bool]]]:
    """The options of each command, and whether they take a value."""
    group: Any = typer.main.get_command(attncli.cli.app)
    context = group.make_context("attn", [], resilient_parsing=True)
    found: dict[str, list[tuple[str, bool]]] = {}
    for name in COMMANDS:
        parameters = group.get_command(context, name).get_params(context)
        found[name] = [
            (option, not getattr(parameter, "is_flag", False))
            for parameter in parameters
            for option in (*parameter.opts, *parameter.secondary_opts)
            if option.startswith("-") and option not in WAITING_OPTIONS
        ]
    return found


@cache
def _operator_texts() -> Sequence[str]:
    """Every operator by its name, and with each of its parameters."""
    texts = []
    for kind in kinds_of_operators():
        for name, record in operators(kind).items():
            texts.append(name)
            texts += [
                f"{name}:{parameter.name}={value}"
                for parameter in record.parameters
                for value in ("1", "2", "-1", "0.5", "x")
            ]
    return texts


def _option_value(choose: random.Random, option: str) -> str:
    """A value for an option: its example, a literal, an operator, a mask, a file, a name; sometimes with changes."""
    field = FIELDS.get(option.removeprefix("--").replace("-", "_"))
    example = field.example if field is not None else choose.choice(["0", "1", "weights", "query", "md", "csv"])
    value = choose.choice(
        [
            example,
            example,
            choose.choice(_VALUES),
            choose.choice(_operator_texts()),
            choose.choice(RESULTS),
            choose.choice(["p.yaml", "x.csv", "x.npy", "none.npy", "p.yaml#query", "x.npy[0:1]", "."]),
            literals.literal(choose, has_expressions=True).text,
            "1 0; 0 1",
            _mask_text(choose, 2)[0],
        ]
    )
    if option in ("-o", "--save", "--junit", "--csv"):
        return choose.choice(_OUTPUTS)
    value = changed_text(choose, value) if choose.random() < 0.25 else value
    return value.replace("\0", "")


def _own_module(word: str) -> bool:
    """Whether a word may name a module, or a file outside of the folder: such words import or read what is there."""
    return "/" in word.replace("no/x", "") or "~" in word[:2] or (":" in word and "=" not in word)


def command_line(choose: random.Random) -> Case:
    """A command with options at random, and changes of its words."""
    command = choose.choice([name for name in COMMANDS if name not in SLOW_COMMANDS])
    words = [command]
    if choose.random() < 0.8:
        words.append(
            choose.choice(["p.yaml", "p.yaml", "x.csv", "x.npy", "-", "softmax", "tutorial", "problem", "none.yaml"])
        )
    common = [option for option in options()[command] if option[0].removeprefix("--").replace("-", "_") not in FIELDS]
    for _ in range(choose.choice([0, 1, 1, 2, 2, 3, 5])):
        choices = choose.choice([common, options()[command]]) or options()[command]
        option, has_value = choose.choice(choices)
        value = [_option_value(choose, option)] if has_value else []
        words += [f"{option}={value[0]}"] if value and choose.random() < 0.5 else [option, *value]
    if choose.random() < 0.15:
        at = choose.randrange(len(words))
        words[at] = choose.choice([words[at][:-1], words[at] + choose.choice(INSERTED), choose.choice(words), ""])
    words = [word.replace("\0", "") for word in words]
    if any(_own_module(word) for word in words) or set(words) & {*SLOW_COMMANDS, *WAITING_OPTIONS}:
        return command_line(choose)
    text = choose.choice(list(sample_texts().values()))
    if choose.random() < 0.1:
        text = changed_text(choose, text)
    files = {"p.yaml": text.encode("utf-8", "surrogatepass"), "x.csv": b"a,b\n1,2\n3,4\n", "x.npy": _npy(np.eye(3))}
    if ".csv" in text:
        files |= tables()
    return Case(tuple(words), files, choose.choice([b"", b"query: [[1]]\nkey: [[1]]\n", b"1,2\n"]))


# A row for each kind: how many of about a hundred inputs are of it, and what makes one.
KINDS: Mapping[str, tuple[float, Make]] = {
    "yaml": (15, literals.in_yaml),
    "json": (10, literals.in_json),
    "csv": (14, literals.in_csv),
    "option": (12, literals.in_option),
    "problem": (11, problem_file),
    "problem-json": (8, problem_in_json),
    "table": (5, table_file),
    "array": (10, array_file),
    "workbook": (0.5, workbook),
    "checkpoint": (2, checkpoint),
    "class": (1, class_list),
    "mask": (6, mask),
    "command": (9, command_line),
}


def make_case(seed: int, number: int, only: str | None = None) -> tuple[str, Case]:
    """The input of a number in the sequence of a seed, and its kind: the same at every call."""
    choose = random.Random(f"{seed}/{number}")
    shares = [share for share, _ in KINDS.values()]
    name = only or choose.choices(list(KINDS), shares)[0]
    return name, KINDS[name][1](choose)
