"""A notebook: each step with its purpose and its formula, as code that runs, and as a shaded table.

It is JSON in the format of Jupyter, nbformat 4.5. It stores tables, so that a reader sees them before running it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.code.literals import ArrayWriter, variable_of
from attncli.code.script import array_writer, assertion_lines, import_lines
from attncli.code.steps import CodeStep, code_steps
from attncli.io.documents import plain_values
from attncli.io.problem_text import values_to_write
from attncli.plan.graph import Node
from attncli.plan.trace import Step, Trace
from attncli.problem.spec import ProblemSpec
from attncli.render.document import Document, Section
from attncli.render.formats import html_tables
from attncli.render.formats.markdown import escape, markdown_line
from attncli.render.tables import selected_tables
from attncli.render.target import TextTarget
from attncli.render.view import DECIMALS, View

SHADED = '''\
class Shaded:
    """An array as tables with labels: the larger a number is in its row, the darker is its cell."""

    def __init__(self, array, rows=None, columns=None):
        self.array, self.rows, self.columns = np.asarray(array, dtype=float), rows, columns

    def __repr__(self):
        return repr(self.array.round(4))

    def _repr_html_(self):
        tables = np.atleast_2d(self.array)
        return "<br>".join(map(self.table, tables.reshape(-1, *tables.shape[-2:])))

    def table(self, numbers):
        lines = [[self.heading(label) for label in ["", *self.columns]]] if self.columns else []
        for label, row in zip(self.rows or [""] * len(numbers), numbers):
            shades = np.nan_to_num(abs(row) / max(abs(row).max(initial=0), 1e-30)) * 0.5
            colours = [f"background:rgba(33,113,181,{shade:.2f})" for shade in shades]
            cells = [f'<td style="{colour}">{x:.4g}</td>' for x, colour in zip(row, colours)]
            lines.append([self.heading(label), *cells])
        rows = ["<tr>" + "".join(line) + "</tr>" for line in lines]
        return "<table>" + "".join(rows) + "</table>"

    def heading(self, label):
        return f"<th>{label.replace('&', '&amp;').replace('<', '&lt;')}</th>"'''
LABELS = {"n": "query_tokens", "m": "key_tokens"}  # the variable of the labels along an axis
MAX_LABELS = 64  # entries of an axis: longer ones have no labels
WITH_ATTN = "import attncli"


@dataclass
class _Cells:
    """The cells of a notebook so far."""

    cells: list[dict[str, Any]] = field(default_factory=list)
    runs: int = 0

    def add_markdown(self, *paragraphs: str) -> None:
        """Add a cell of text."""
        self._add("markdown", "\n\n".join(filter(None, paragraphs)), {})

    def add_code(self, lines: Sequence[str], output: Mapping[str, str] | None = None) -> None:
        """Add a cell of code, already run, with the output of its last line."""
        self.runs += 1
        data = {name: _lines(text) for name, text in (output or {}).items()}
        result = {"output_type": "execute_result", "metadata": {}, "execution_count": self.runs, "data": data}
        outputs = [] if output is None else [result]
        self._add("code", "\n".join(lines), {"execution_count": self.runs, "outputs": outputs})

    def fold_last(self) -> None:
        """Fold the code of the last cell, as Jupyter and Jupyter Book do."""
        self.cells[-1]["metadata"] = {"jupyter": {"source_hidden": True}, "tags": ["hide-input"]}

    def _add(self, kind: str, source: str, more: Mapping[str, Any]) -> None:
        """Add a cell of a kind, named by its number."""
        name = f"cell-{len(self.cells) + 1}"
        self.cells.append({"cell_type": kind, "id": name, "metadata": {}, "source": _lines(source), **more})


def _lines(text: str) -> list[str]:
    """A text in notebook form: lines with their ends."""
    return text.splitlines(keepends=True)


def render(view: View, target: TextTarget) -> Iterator[str]:
    """The text of a notebook; raises AttnError if a step has no code."""
    cells, _ = _notebook(view, target)
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook = {"cells": cells.cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    yield json.dumps(notebook, ensure_ascii=not target.has_unicode, indent=1)
    yield "\n"


def files_beside(view: View, target: TextTarget) -> Mapping[str, Array]:
    """The arrays that a notebook loads from its folder, by file name."""
    return _notebook(view, target)[1]


def _notebook(view: View, target: TextTarget) -> tuple[_Cells, Mapping[str, Array]]:
    """The cells of a notebook, and the arrays that they load."""
    cells = _Cells()
    parts = [replace(part, positions={}, decimals=DECIMALS) for part in view.parts or (view,)]  # decimals of cells
    arrays = array_writer(view, target, "numpy")
    name = "Attention" if target.file is None else PurePath(target.file).stem
    cells.add_markdown(
        f"# {escape(view.title or name)}", _paragraphs(view.about), "" if view.parts else escape(view.heading)
    )
    cells.add_code([WITH_ATTN, "", *import_lines(arrays)] if view.with_attn else import_lines(arrays))
    if not view.with_attn:
        cells.add_code([SHADED])
        cells.fold_last()
    written = dict[str, tuple[str, ...]]()
    for number, part in enumerate(parts, 1):
        own = replace(arrays, precision=part.result.trace.precision)
        if view.parts:
            cells.add_markdown(f"## {number}. {escape(part.title)}", _paragraphs(part.about))
        if view.with_attn:
            _add_part_with_attn(cells, part, own)
        else:
            _add_part(cells, part, own, written)
        lines = assertion_lines(part, own, "result." if view.with_attn else "")
        cells.add_markdown("Same results as attn:")
        cells.add_code(list(lines))
    return cells, arrays.files


def _add_part(cells: _Cells, view: View, arrays: ArrayWriter, written: dict[str, tuple[str, ...]]) -> None:
    """Add the steps of a part; a step written earlier with the same inputs appears only where the part shows it."""
    changed, trace = set[str](), view.result.trace
    steps = [step for step in code_steps(view, arrays) if _is_new(step, written, changed)]
    given = [line for step in steps if step.is_given for line in step.lines]
    given += [line for name, line in _label_lines(trace).items() if written.get(name) != (line,)]
    written |= {name: (line,) for name, line in _label_lines(trace).items()}
    if given:
        cells.add_markdown("What is given:")
        cells.add_code(given)
    for step in steps:
        if not step.is_given:
            cells.add_markdown(*_words(step.node))
            show = _shaded(trace, step.node)
            is_kept = step.node.name in trace
            output = _table(view, trace[step.node.name]) if is_kept else None
            cells.add_code([*step.lines, show] if is_kept else list(step.lines), output)
    new = {step.node.name for step in steps if not step.is_given}
    for result in (trace[name] for name in view.result.select):
        if result.name not in new:
            cells.add_markdown(f"**{escape(result.name)}** before:")
            cells.add_code([_shaded(trace, result.node)], _table(view, result))


def _label_lines(trace: Trace) -> Mapping[str, str]:
    """The lines of the labels of queries and keys, by their variables."""
    labels = {name: trace.labels.get(letter, ()) for letter, name in LABELS.items()}
    return {name: f"{name} = {list(own)!r}" for name, own in labels.items() if 0 < len(own) <= MAX_LABELS}


def _shaded(trace: Trace, node: Node) -> str:
    """The code that shows a step, with the labels of its rows and columns."""
    known, sizes = _label_lines(trace), {"n": trace.labels.get("n", ()), "m": trace.labels.get("m", ())}
    names = ["", *(LABELS.get(x, "") if size == len(sizes.get(x, ())) else "" for x, size in node.axes[-2:])][-2:]
    rows, columns = (name if name in known else "" for name in (names if len(node.axes) > 1 else ("", names[-1])))
    labels = f", {rows}" if rows else ""
    return f"Shaded({variable_of(node.name)}{labels}{f', columns={columns}' if columns else ''})"


def _is_new(step: CodeStep, written: dict[str, tuple[str, ...]], changed: set[str]) -> bool:
    """Whether a step is not written yet, or reads one that has changed; it then counts as written and changed."""
    name = step.node.name
    if written.get(name) == step.lines and changed.isdisjoint(step.node.inputs.values()):
        return False
    written[name] = step.lines
    changed.add(name)
    return True


def _add_part_with_attn(cells: _Cells, view: View, arrays: ArrayWriter) -> None:
    """Add a part whose steps `attncli` computes."""
    trace = view.result.trace
    cells.add_markdown("What is given:")
    cells.add_code(["problem = attncli.Problem(", *problem_lines(trace.problem, arrays), ")"])
    shown = [step for step in view.steps if not step.node.is_input] or [trace[name] for name in view.result.select]
    for step in shown:
        cells.add_markdown(*_words(step.node))
        cells.add_code([f"problem.compute(select={step.name!r})"], _table(view, step))
    cells.add_code([f"result = problem.compute(select={view.result.select!r})"])


def _words(node: Node) -> Iterator[str]:
    """The heading of a step, its purpose and its formula."""
    yield f"### {escape(node.name)}"
    yield escape(node.purpose)
    yield markdown_line(node.formula)


def _paragraphs(text: str) -> str:
    """A text of several lines in Markdown."""
    return "\n".join(map(escape, text.splitlines()))


def _table(view: View, step: Step) -> Mapping[str, str]:
    """The shaded tables of a step, and the same as text."""
    section = Section("", tuple(selected_tables(view, step.name)))
    html = html_tables.render(Document([section], view.decimals))
    return {"text/html": html, "text/plain": np.array2string(step.value, precision=view.decimals, threshold=1000)}


def problem_lines(problem: ProblemSpec, arrays: ArrayWriter) -> Iterator[str]:
    """A keyword with its value on each line, or on several for a large table."""
    for name, value in values_to_write(problem).items():
        if isinstance(value, np.ndarray):
            first, *more = arrays.lines(name, value)
            lines = [f"{name}={first}", *more]
        else:
            lines = [f"{name}={_literal(plain_values({name: value})[name])}"]
        yield from (f"    {line}" for line in lines[:-1])
        yield f"    {lines[-1]},"


def _literal(value: Any) -> str:
    """A value of keys, lists and numbers as code."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {_literal(own)}' for name, own in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)
