"""Mutants of a source: each with one expression changed as a slip of the pen would change it."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

COMPARISONS: Mapping[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: Mapping[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Mutant:
    """One change of a source: its line, what is replaced there, and by what."""

    line: int
    before: str
    after: str
    start: int  # of what is replaced, in characters of the source
    end: int

    def apply(self, source: str) -> str:
        """The source with the change."""
        return source[: self.start] + self.after + source[self.end :]


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of the code inside functions; records, annotations and docstrings stay as they are."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = source.splitlines()

    def offset(line: int, column: int) -> int:  # columns of `ast` are those of UTF-8
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node in _expressions(tree):
        for changed in _changes(node):
            start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)
            after = f"({ast.unparse(ast.fix_missing_locations(changed))})"
            yield Mutant(node.lineno, source[start:end], after, start, end)


def _expressions(tree: ast.AST, *, is_inside: bool = False) -> Iterator[Any]:
    """The expressions in the bodies of functions, with those inside them."""
    if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for statement in tree.body:
            yield from _expressions(statement, is_inside=True)
        return
    if isinstance(tree, (ast.JoinedStr, ast.Raise, ast.Assert)) and is_inside:  # of messages
        return
    if isinstance(tree, ast.AnnAssign):
        if tree.value is not None:
            yield from _expressions(tree.value, is_inside=is_inside)
        return
    if is_inside and isinstance(tree, ast.expr):
        yield tree
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(tree, ast.Expr) and isinstance(child, ast.Constant)):
            yield from _expressions(child, is_inside=is_inside)


def _changes(node: Any) -> Iterator[ast.expr]:
    """The changes of one expression."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            yield ast.Compare(node.left, [COMPARISONS[type(operator)]()], node.comparators)
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            yield node.values[0]
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in NAMES:
            function = ast.Name(NAMES[name], ast.Load())
            if isinstance(node.func, ast.Attribute):
                function = ast.Attribute(node.func.value, NAMES[name], ast.Load())
            yield ast.Call(function, node.args, node.keywords)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(node.value + 1)
