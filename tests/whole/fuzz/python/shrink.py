"""Smaller Python programs that still fail: statements go, blocks take their statement's place, expressions become plainer."""

from __future__ import annotations

import ast
import copy
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from tests.whole.fuzz.python.programs import PythonProgram
from tests.whole.fuzz.values import Given


def smaller(program: PythonProgram) -> Iterator[PythonProgram]:
    """Programs with one thing less, the largest cuts first."""
    if len(program.sets) > 1:
        for place in range(len(program.sets)):
            yield replace(program, sets=program.sets[:place] + program.sets[place + 1 :])
    for make in (without_statements, with_bodies, with_plainer_parts):
        for tree in make(ast.parse(program.source)):
            source = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
            if source != program.source:
                yield replace(program, source=source)
    yield from plainer_arguments(program)


def walked(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, but for the inside of `reset`: runs must go on from the same state."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        yield node
        if not isinstance(node, ast.FunctionDef) or node.name != "reset":
            waiting.extend(ast.iter_child_nodes(node))


def bodies(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every place of the tree that holds a list of statements."""
    for node in walked(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "reset":
            continue
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            if isinstance(getattr(node, name, None), list):
                yield node, name


def without_statements(tree: ast.Module) -> Iterator[ast.Module]:
    """The tree without some statements that follow one another; the longest rows first."""
    rows = [(number, len(getattr(*place))) for number, place in enumerate(bodies(tree))]
    for size in (16, 8, 4, 2, 1):
        for number, length in rows:
            if length < size:
                continue
            for start in reversed(range(0, length, size)):
                other = copy.deepcopy(tree)
                node, name = list(bodies(other))[number]
                row = getattr(node, name)
                del row[start : start + size]
                if not row and name in {"body", "handlers", "cases"}:
                    if name == "handlers" and getattr(node, "finalbody", None):
                        pass
                    elif name == "body" and not isinstance(node, ast.Module):
                        if isinstance(getattr(*list(bodies(tree))[number])[0], ast.Pass):
                            continue
                        row.append(ast.Pass())
                    else:
                        continue
                yield other


def with_bodies(tree: ast.Module) -> Iterator[ast.Module]:
    """The tree with a compound statement replaced by what is inside it."""
    for number, (node, name) in enumerate(bodies(tree)):
        for place, statement in enumerate(getattr(node, name)):
            inside = [
                part for part in ("body", "orelse", "finalbody") if getattr(statement, part, None)
            ]
            if isinstance(
                statement, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler, ast.match_case)
            ):
                continue
            for part in inside:
                if not isinstance(getattr(statement, part), list):
                    continue
                other = copy.deepcopy(tree)
                row = getattr(*list(bodies(other))[number])
                row[place : place + 1] = getattr(row[place], part)
                yield other


def with_plainer_parts(tree: ast.Module) -> Iterator[ast.Module]:
    """The tree with an expression replaced by a part of it or by a number."""
    for number, (*_, value) in enumerate(expressions(tree)):
        options: list[ast.expr] = [
            child
            for child in ast.iter_child_nodes(value)
            if isinstance(child, ast.expr) and not isinstance(child, ast.Starred)
        ]
        if not isinstance(value, (ast.Constant, ast.Name)):
            options += [ast.Constant(1), ast.List([ast.Constant(1)], ast.Load())]
        for option in options:
            if isinstance(getattr(option, "ctx", None), (ast.Store, ast.Del)):
                continue
            other = copy.deepcopy(tree)
            node, field, place, _ = list(expressions(other))[number]
            put(node, field, place, copy.deepcopy(option))
            yield other
        if isinstance(value, (ast.Tuple, ast.List, ast.Call, ast.BoolOp)):
            yield from with_fewer_items(tree, number)
    for number, holder in enumerate(ast.walk(tree)):
        if isinstance(holder, (ast.FunctionDef, ast.ClassDef)) and holder.decorator_list:
            other = copy.deepcopy(tree)
            list(ast.walk(other))[number].decorator_list.clear()  # type: ignore[attr-defined]
            yield other
        if isinstance(holder, ast.With) and len(holder.items) > 1:
            other = copy.deepcopy(tree)
            list(ast.walk(other))[number].items.pop()  # type: ignore[attr-defined]
            yield other


def with_fewer_items(tree: ast.Module, number: int) -> Iterator[ast.Module]:
    """The tree with an item of a display or call left out."""
    value = list(expressions(tree))[number][3]
    for name in ("elts", "args", "keywords", "values"):
        row = getattr(value, name, [])
        for place in range(len(row)):
            if name == "values" and len(row) < 3:
                continue
            other = copy.deepcopy(tree)
            del getattr(list(expressions(other))[number][3], name)[place]
            yield other


def expressions(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.expr]]:
    """Every expression that is read, and where it stands."""
    for node in walked(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "reset":
            continue
        for field, value in ast.iter_fields(node):
            row = value if isinstance(value, list) else [value]
            for place, item in enumerate(row):
                stored = isinstance(getattr(item, "ctx", None), (ast.Store, ast.Del))
                if isinstance(item, ast.expr) and not stored:
                    yield node, field, place if isinstance(value, list) else None, item


def put(node: ast.AST, field: str, place: int | None, value: ast.expr) -> None:
    """Put an expression in the place of another."""
    if place is None:
        setattr(node, field, value)
    else:
        getattr(node, field)[place] = value


def plainer_arguments(program: PythonProgram) -> Iterator[PythonProgram]:
    """The program with one argument made plainer."""
    for number, given in enumerate(program.sets):
        for place, argument in enumerate(given):
            for text in ("array('f8', (3,))", "1"):
                if len(text) < len(argument.text):
                    other = (*given[:place], Given(argument.name, text), *given[place + 1 :])
                    sets = (*program.sets[:number], other, *program.sets[number + 1 :])
                    yield replace(program, sets=sets)


def is_usable(program: PythonProgram) -> bool:
    """Whether the module can be made and its arguments, too."""
    from tests.whole.fuzz.python.world import PythonWorld  # noqa: PLC0415  only where something failed

    try:
        world = PythonWorld(program.source)
        try:
            world.reset()
            world.state()
            for given in program.sets:
                world.made(given)
            return callable(world.function)
        finally:
            world.forget()
    except Exception:  # noqa: BLE001  whatever it is, the cut was too deep
        return False
