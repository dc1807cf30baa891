"""No test is parametrized over a set: its order differs between the processes that share the tests."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parent.rglob("*.py"))
Names = Mapping[str, ast.expr]  # what is assigned to each name of a module
ORDERING = ("sorted", "min", "max", "len", "sum", "any", "all")  # the same whatever the order
SET_METHODS = ("union", "intersection", "difference", "symmetric_difference", "copy")
VIEWS = ("keys", "items")


def is_unordered(node: ast.expr, names: Names) -> bool:
    """Whether an expression is a set, or takes its order from one."""
    others = {name: value for name, value in names.items() if not isinstance(node, ast.Name) or name != node.id}
    return makes_a_set(node) or any(is_unordered(part, others) for part in parts_in_order(node, names))


def makes_a_set(node: ast.expr) -> bool:
    """Whether an expression is `{…}`, `set(…)`, or `….keys()` with an operator."""
    match node:
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name("set" | "frozenset")):
            return True
        case ast.BinOp(left, _, right):
            return any(isinstance(x, ast.Call) and getattr(x.func, "attr", "") in VIEWS for x in (left, right))
    return False


def parts_in_order(node: ast.expr, names: Names) -> list[ast.expr]:
    """The parts of an expression from which it takes its order."""
    found: list[ast.expr] = []
    match node:
        case ast.Call(func=ast.Name(name), args=args) if name not in ORDERING:
            found = args
        case ast.Call(func=ast.Attribute(value, method), args=args):
            found = [value] if method in SET_METHODS else args
        case ast.BinOp(left, _, right):
            found = [left, right]
        case ast.List(elements) | ast.Tuple(elements):
            found = [element.value for element in elements if isinstance(element, ast.Starred)]
        case ast.ListComp(generators=loops) | ast.GeneratorExp(generators=loops) | ast.DictComp(generators=loops):
            found = [loop.iter for loop in loops]
        case ast.Name(name) if name in names:
            found = [names[name]]
    return found


def parametrizations(module: ast.Module) -> Iterator[ast.expr]:
    """The values of each `parametrize(…)` and `params=` of the decorators and assignments of a module."""
    for statement in module.body:
        decorators = getattr(statement, "decorator_list", [])
        for node in (*decorators, *([statement.value] if isinstance(statement, ast.Assign) else [])):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                values = node.args[1:2] if node.func.attr == "parametrize" else []
                yield from [*values, *(word.value for word in node.keywords if word.arg in ("argvalues", "params"))]


def assigned(module: ast.Module) -> Names:
    """What each name of a module is assigned at its top level."""
    pairs = [(target, node.value) for node in module.body if isinstance(node, ast.Assign) for target in node.targets]
    pairs += [(node.target, node.value) for node in module.body if isinstance(node, ast.AnnAssign) and node.value]
    return {target.id: value for target, value in pairs if isinstance(target, ast.Name)}


def test_no_test_is_parametrized_over_a_set() -> None:
    count = 0
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        if "parametrize(" in text or "params=" in text:
            module = ast.parse(text)
            for values in parametrizations(module):
                count += 1
                assert not is_unordered(values, assigned(module)), f"{file}:{values.lineno}"
    assert count > 100


@pytest.mark.parametrize(
    ("values", "is_set"),
    [
        ('set(CONTEXTS) - {"attentional"}', True),
        ('sorted(set(CONTEXTS) - {"attentional"})', False),
        ("list({x for x in CONTEXTS})", True),
        ("[*NAMES, 1]", True),
        ("[x for x in NAMES if x]", True),
        ("NAMES.union(CONTEXTS)", True),
        ("CONTEXTS.keys() & {}", True),
        ("[n - 1 for n in CONTEXTS]", False),
        ("CONTEXTS.items()", False),
        ("{1: 2}", False),
    ],
)
def test_sets_are_known(values: str, *, is_set: bool) -> None:
    module = ast.parse(
        f"NAMES = frozenset('ab')\nCONTEXTS = {{}}\n@pytest.mark.parametrize('x', {values})\ndef f(): ..."
    )
    (found,) = parametrizations(module)
    assert is_unordered(found, assigned(module)) == is_set
