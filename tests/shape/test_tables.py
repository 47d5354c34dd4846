"""The tables are whole: every opcode, reason, guard kind, op and setting has what the others of its kind have."""

from __future__ import annotations

import ast
import builtins
import contextlib
import dis
import inspect
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.sources import ROOT, texts
from ufuse import log, settings
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.instructions import NAMES
from ufuse.frame_hook.interpreter.fork_refusals import REFUSALS as SIDES
from ufuse.frame_hook.interpreter.handlers import HANDLERS
from ufuse.frame_hook.nests.known.refusals import REFUSALS
from ufuse.frame_hook.trace.reasons import INSTRUCTIONS, REASONS, Break, GraphBreak
from ufuse.frame_hook.tracing import Attempt, Tracer
from ufuse.graph import node, ops, text, types
from ufuse.graph.ops import Kind
from ufuse.graph.semantics import reference
from ufuse.graph.typing import infer

HOOK = texts("frame_hook")

# Opcodes that no frame of a function that is traced can come to: the reason for each.
# fmt: off
NEVER_MET = {
    "ANNOTATIONS_PLACEHOLDER":  "the compiler's own",
    "ASYNC_GEN_WRAP":           "generators and coroutines are not traced",
    "END_ASYNC_FOR":            "generators and coroutines are not traced",
    "ENTER_EXECUTOR":           "CPython's own JIT puts it over JUMP_BACKWARD; `co_code` never has it",
    "EXIT_INIT_CHECK":          "only in a frame that CPython makes around `__init__`",
    "GET_AITER":                "generators and coroutines are not traced",
    "GET_ANEXT":                "generators and coroutines are not traced",
    "GET_AWAITABLE":            "generators and coroutines are not traced",
    "IMPORT_STAR":              "only at the top of a module",
    "INSTRUMENTED_LINE":        "`co_code` never has it",
    "INTERPRETER_EXIT":         "only in the interpreter's outermost frame",
    "LOAD_CLASSDEREF":          "only in a class body",
    "LOAD_FROM_DICT_OR_DEREF":  "only in a class body",
    "LOAD_FROM_DICT_OR_GLOBALS": "only in a class body",
    "LOAD_LOCALS":              "only in a class body",
    "LOAD_NAME":                "only where names are in a dictionary: modules and class bodies",
    "DELETE_NAME":              "only where names are in a dictionary: modules and class bodies",
    "STORE_NAME":               "only where names are in a dictionary: modules and class bodies",
    "PRINT_EXPR":               "only at the interactive prompt",
    "RESERVED":                 "no instruction",
    "SETUP_ANNOTATIONS":        "only at the top of a module or class",
}
# fmt: on


def real_opcodes() -> list[str]:
    """The names that an instruction of `co_code` may have on this Python."""
    return [
        name for name in NAMES if name in dis.opmap and not name.startswith(("INSTRUMENTED_", "<"))
    ]


@pytest.mark.parametrize("name", real_opcodes())
def test_every_opcode_is_handled_or_named(name: str) -> None:
    """An instruction has a handler, or words that say what is not captured, or a reason never to be met."""
    handled, worded, never_met = name in HANDLERS, name in INSTRUCTIONS, name in NEVER_MET
    assert handled or worded or never_met, f"{name} has neither handler nor words"
    assert not never_met or not (handled or worded), f"{name} is met"


@pytest.mark.parametrize("name", sorted(set(NAMES) & set(INSTRUCTIONS)))
def test_unhandled_opcodes_are_named_breaks(name: str) -> None:
    """The break of an instruction without a handler says what people call it."""
    reason = GraphBreak("opcode", name).at("model.py", 1, "f").reason
    assert reason == f"{INSTRUCTIONS[name]} is not captured yet"
    assert name not in reason


def raised() -> set[str]:
    """The codes that some `GraphBreak(…)` of the tracer names."""
    return {
        str(call.args[0].value)
        for source in HOOK
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "GraphBreak"
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }


def test_reasons_are_those_that_are_raised() -> None:
    """No break has a code without words, and no words are left over."""
    assert raised() == set(REASONS)


def local(scale: float) -> Any:
    """An object whose attributes are looked up by C code of its own."""
    made = threading.local()
    made.scale = scale
    return made


@ufuse.disable
def left_alone(x: Any) -> Any:
    return x


def replaces(x: Any) -> Any:
    """A builtin that is replaced in the middle of array work."""
    kept, y = builtins.max, x + 1
    builtins.max = print  # type: ignore[assignment]
    try:
        return y * 2
    finally:
        builtins.max = kept


def makes_again(x: Any) -> Any:
    """Code that is made by each call of `compile`, and dies."""
    for _ in range(300):
        text = "lambda v: v + 1"
        made = eval(compile(text, __file__, "eval"))  # noqa: S307  the program under test
        x = made(x)
    return x


def deeper(x: Any, n: int) -> Any:
    return x if n == 0 else deeper(x + 1, n - 1)


def turned(x: Any) -> Any:
    for _ in range(40_000):
        x = x + 1
    return x


def powers(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 2
    return x


def stored(x: Any, value: float) -> Any:
    x[0] = value
    return x


def merged(x: Any, more: Any) -> Any:
    return x + 1, {**more}


def classed(x: Any) -> Any:
    class Made:
        pass

    return x + 1, Made


def set_in_place(x: Any, y: Any) -> Any:
    x += y
    return x


def asked(x: Any) -> Any:
    ufuse.graph_break("here")
    return x + 1


def emptied(x: Any, holder: Any) -> Any:
    holder.kept = None
    return x + 1


class Finalized:
    """An object whose end is noticed."""

    def __del__(self) -> None: ...


class Holder:
    """An object with one attribute."""

    def __init__(self) -> None:
        self.kept = Finalized()


def failing(x: Any) -> Any:
    try:
        return x.reshape(7)
    except ValueError:
        return x


def waiting(x: Any, cuda: Any) -> Any:
    cuda.get_current_stream().synchronize()
    return x + 1


X = np.arange(6.0)
# For each reason a program that is told it.
# fmt: off
TOLD: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "opcode":            (classed, (X,)),
    "data-branch":       (lambda x: x + 1 if x.sum() > 3 else x, (X,)),
    "sides":             (lambda x: x + 1 if x.sum() > 3 else x.astype("f4"), (X,)),
    "call":              (lambda x: (id(x) > 0, x + 1), (X,)),
    "numpy-call":        (lambda x: x.sum(initial=1.0), (X,)),
    "operator":          (lambda x: {(x + 1).sum(): 1}, (X,)),
    "attribute":         (lambda x, o: x * o.scale, (X, local(2.0))),
    "effect":            (merged, (X, MappingProxyType({"a": 1}))),
    "finalizer":         (emptied, (X, Holder())),
    "index":             (lambda x: x[True] + 1, (X,)),
    "size":              (lambda x: x[x > -99] + x, (X,)),
    "dtype":             (lambda x: x + x, (np.array([1, "a"], object),)),
    "layout":            (lambda x: x + 1, (np.frombuffer(b"x" * 17, "f8", offset=1),)),
    "overlap":           (set_in_place, (X.copy(),)),
    "raise-after-write": (stored, (np.arange(4), 2.5)),
    "eager-raises":      (failing, (X,)),
    "loop":              (turned, (X,)),
    "slow":              (powers, (X, 5)),
    "varying":           (powers, (X, 5)),
    "requested":         (asked, (X,)),
    "disabled":          (lambda x: left_alone(x) + 1, (X,)),
    "builtins":          (replaces, (X,)),
    "remade":            (makes_again, (X,)),
    "unfit":             (waiting, ()),
    "recursion":         (lambda x: deeper(x, 80), (X,)),
}
# fmt: on


def without_time(trace: Callable[..., Attempt]) -> Callable[..., Attempt]:
    """A tracer's method that may not take any time."""
    return lambda tracer, wanted: trace(tracer, replace(wanted, deadline=0.0))


@pytest.mark.parametrize("code", sorted(REASONS))
@pytest.mark.filterwarnings("default")
def test_every_reason_is_told_by_a_program(
    code: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Each reason can be met, and its break names a line of this file."""
    program, given = TOLD[code]
    if code == "overlap":
        given = (given[0][1:], given[0][:-1])
    compiled = ufuse.compile(program)
    if code == "unfit":  # another stream is current than before
        cupy = request.getfixturevalue("host").cupy
        given = cupy.ones(6), cupy.cuda
        compiled(*given)
        cupy.cuda.Stream().use()
        request.addfinalizer(cupy.cuda.Stream.null.use)
    if code == "slow":
        monkeypatch.setattr(Tracer, "trace", without_time(Tracer.trace))
    if code == "varying":
        for n in range(5):
            compiled(X, n)
    if code == "sides":  # tried where both are taken
        for _ in range(40):
            compiled(-X)
            compiled(X)
    with contextlib.suppress(TypeError):  # objects that do not add
        compiled(*given)
    found = [one for one in compiled.breaks if one.code == code]
    assert found, [str(one) for one in compiled.breaks]
    assert Path(found[0].file).name == Path(__file__).name
    assert "{" not in found[0].reason


def rows_of(document: str) -> list[list[str]]:
    """The cells of the tables of a document of ours, without headings and rules."""
    lines = (ROOT / "docs" / document).read_text(encoding="utf-8").splitlines()
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in lines
        if line.startswith("| ")
    ]
    return [row for row in rows if row[0].startswith("`")]


def test_breaks_are_documented() -> None:
    """docs/breaks.md has every reason with its own words, and no other."""
    wanted = [
        [f"`{code}`", reason.format(what="…"), hint] for code, (reason, hint) in REASONS.items()
    ]
    assert [row[:3] for row in rows_of("breaks.md")] == wanted


def test_refusals_of_branches_are_documented() -> None:
    """docs/control-flow.md has every reason why both sides of a branch are not in one graph, and no other."""
    wanted = [[f"`{code}`", why.format(what="…"), hint] for code, (why, hint) in SIDES.items()]
    assert [row for row in rows_of("control-flow.md") if row[0].strip("`") in SIDES] == wanted


def test_refusals_of_loops_are_documented() -> None:
    """docs/loops.md has every kind of reason why a loop has no native code, and no other."""
    wanted = [[f"`{code}`", row.what, row.hint] for code, row in REFUSALS.items()]
    assert rows_of("loops.md") == wanted


def test_settings_are_documented() -> None:
    """docs/settings.md has every variable that is read, and every logger."""
    variables = set(re.findall(r"UFUSE_[A-Z_]+", inspect.getsource(settings)))
    document = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert {
        row[0].strip("`").split("=")[0] for row in rows_of("settings.md") if "UFUSE" in row[0]
    } == variables
    assert {f"ufuse.{topic}" for topic in log.TOPICS} <= set(re.findall(r"ufuse\.[a-z]+", document))


def test_only_settings_read_the_environment() -> None:
    """One place reads `os.environ`."""
    readers = [
        path.relative_to(ROOT)
        for folder in ("ufuse", "frame_hook", "graph", "backends")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if re.search(r"os\.environ|os\.getenv", path.read_text(encoding="utf-8"))
        and path.name != "settings.py"
    ]
    assert readers == []


def test_log_topics_have_a_logger() -> None:
    """Every topic is written to by some module."""
    sources = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("frame_hook", "ufuse", "backends")
        for path in (ROOT / folder).rglob("*.py")
    )
    unused = [topic for topic in log.TOPICS if f'getLogger("ufuse.{topic}")' not in sources]
    assert unused == []


def test_guard_kinds_are_used() -> None:
    """Every kind of guard that C checks is written by the tracer, and no other."""
    unused = {
        kind for kind in _hook.GUARD_KINDS if not any(f'"{kind}"' in source for source in HOOK)
    }
    assert unused == set()


# What each op that is not elementwise or a reduction is tried with: inputs and attributes.
A = node.Node(ops.INPUT, (), types.array("f8", (3, 4)), {"name": "a"})
C = node.Node(ops.INPUT, (), types.array("c16", (3, 4)), {"name": "c"})
# fmt: off
APPLIED: dict[str, tuple[tuple[node.Node, ...], dict[str, Any]]] = {
    "cast":      ((A,), {"dtype": np.dtype("f4")}),
    "copy":      ((A,), {"order": "C"}),
    "index":     ((A,), {"index": (types.Span(0, 3), 1)}),
    "element":   ((A,), {"index": (2, 1)}),
    "transpose": ((A,), {"axes": (1, 0)}),
    "reshape":   ((A,), {"shape": (12,)}),
    "part":      ((C,), {"of": "imag"}),
    "diagonal":  ((A,), {"offset": 1, "axes": (0, 1), "length": 3}),
    "windows":   ((A,), {"widths": (2,), "axes": (1,)}),
    "retype":    ((A,), {"dtype": np.dtype("i8")}),
    "broadcast": ((A,), {"shape": (2, 3, 4)}),
    "empty":     ((), {"shape": (2,), "dtype": np.dtype("f8"), "order": (0,)}),
    "zeros":     ((), {"shape": (2,), "dtype": np.dtype("f8"), "order": (0,)}),
    "ones":      ((), {"shape": (2,), "dtype": np.dtype("f8"), "order": (0,)}),
    "store":     ((A, A), {"path": (), "casting": "same_kind"}),
    "call":      ((A,), {"function": "numpy.argsort", "arguments": (0,), "keywords": ()}),
}
# fmt: on
# The structure of a graph rather than work in it: tests/graph have them in every form.
STRUCTURE = ("branch", "check", "const", "full", "input", "item", "loop", "scalar", "size", "where")


def applied(op: ops.Op) -> node.Graph:
    """A graph of one operation."""
    if op.name in APPLIED:
        inputs, attributes = APPLIED[op.name]
    elif op.kind is Kind.REDUCE:
        kind = "?" if "logical" in op.name else "i8"
        inputs = (node.Node(ops.INPUT, (), types.array(kind, (3, 4)), {"name": "a"}),)
        attributes = {"axis": (0,), "keepdims": False, "dtype": None}
    else:
        assert op.ufunc is not None
        row = next(t for t in op.ufunc.types if not set(t) & set("eO"))
        kinds = ["m8[s]" if char == "m" else "M8[s]" if char == "M" else char for char in row]
        inputs = tuple(
            node.Node(ops.INPUT, (), types.array(kind, (3, 4)), {"name": f"a{i}"})
            for i, kind in enumerate(kinds[: op.ufunc.nin])
        )
        attributes = {}
    result = infer.result_type(op, tuple(map(infer.operand_of, inputs)), attributes)
    made = node.Node(op, inputs, result, attributes)
    first = tuple(dict.fromkeys(inputs))
    return node.Graph(first, (*first, made), (made,))


@pytest.mark.parametrize("name", sorted(set(ops.OPS) - set(STRUCTURE) - {"isnat"}))
def test_every_op_has_all_its_rules(name: str) -> None:
    """But for `isnat`, whose dtypes are left to NumPy, an op can be inferred, written, read back and run by the reference executor; the result is of the type inferred."""
    graph = applied(ops.OPS[name])
    written = text.to_text(graph)
    again = text.parse(written)
    assert text.to_text(again) == written
    inputs = [
        np.ones((3, 4), one.type.dtype)
        for one in graph.inputs
        if isinstance(one.type, types.ArrayType)
    ]
    with np.errstate(all="ignore"):
        (result,) = reference.run(again, *inputs)
    (expected,) = (one.type for one in graph.outputs)
    if isinstance(expected, types.ArrayType):
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)


def test_structure_has_rules() -> None:
    """Every kind of node but an input is inferred or given a type, and run."""
    for kind in set(Kind) - {Kind.INPUT, Kind.VIEW}:
        assert kind in infer.BY_KIND, kind
        assert kind in reference.BY_KIND, kind


def test_op_table_names_itself() -> None:
    """The key of a row is its name, and NumPy's rows are NumPy's own ufuncs."""
    for name, op in ops.OPS.items():
        assert op.name == name
        if op.ufunc is not None:
            assert isinstance(op.ufunc, np.ufunc)


def test_public_break_fields() -> None:
    """What `notes/api.md` says of a break stays: code, reason, file, line, hint come first."""
    assert list(inspect.signature(Break).parameters)[:5] == [
        "code",
        "reason",
        "file",
        "line",
        "hint",
    ]
    assert set(ufuse.__all__) == {name for name in ufuse.__all__ if hasattr(ufuse, name)}
