"""Whole random programs: a prelude, classes, functions, the program itself, and arguments for several calls."""

from __future__ import annotations

import random
import re
import warnings
from dataclasses import dataclass

from tests.whole.fuzz.python import classes, statements
from tests.whole.fuzz.python.expressions import EXPRESSIONS, LEAVES
from tests.whole.fuzz.python.grammar import (
    Grammar,
    Rule,
    Scope,
    block,
    block_scope,
    expression,
    expression_rules,
    statement_rules,
)
from tests.whole.fuzz.python.grammar import statements as statements_in
from tests.whole.fuzz.values import Given

PRELUDE = """\
import contextlib, functools, io, itertools, math, operator, sys, warnings, weakref
import numpy as np
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

LOG = []
COUNT = 3
ITEMS = [1, 2, 3]
TABLE = {'a': 1, 'b': 2}
MEMORY = np.arange(3.0)
WATCHED = []


class Oops(ValueError):
    def __init__(self, text, code=0):
        super().__init__(text)
        self.code = code


def note(value):
    LOG.append(value)
    return value


def watch(x):
    WATCHED.append(weakref.ref(x))
    return x
"""

RESET = """\

def reset():
    global LOG, COUNT, ITEMS, TABLE, MEMORY
    LOG = []
    COUNT = 3
    ITEMS = [1, 2, 3]
    TABLE = {'a': 1, 'b': 2}
    MEMORY = np.arange(3.0)
    WATCHED.clear()
"""


@dataclass(frozen=True, slots=True)
class PythonProgram:
    """A module with a function `program`, and several sets of arguments for it."""

    source: str
    sets: tuple[tuple[Given, ...], ...]
    seed: int = 0


def shown(program: PythonProgram) -> str:
    """The module without the prelude, and the arguments, to be read."""
    lines = [program.source.replace(PRELUDE, "").strip()]
    for given in program.sets:
        lines.append("  with " + "; ".join(f"{g.name} = {g.text}" for g in given))
    return "\n".join(lines)


PARSED = {kind: expression_rules(table) for kind, table in EXPRESSIONS.items()}
PARSED_STATEMENTS = [
    *statement_rules(statements.SIMPLE),
    *statement_rules(statements.COMPOUND),
    *(
        Rule(f"$v = <{kind}>", weight, binds=(("v", kind),))
        for kind, weight in statements.ASSIGNED.items()
    ),
]


def new_grammar(rng: random.Random) -> Grammar:
    """The rules that every program has; some kinds are rarer in some programs."""
    chosen = [
        rule if rng.random() < 0.8 else Rule(rule.text, rule.weight * 0.1, 1, *rest(rule))
        for rule in PARSED_STATEMENTS
    ]
    leaves = {kind: list(texts) for kind, texts in LEAVES.items()}
    return Grammar(rng, {kind: list(rules) for kind, rules in PARSED.items()}, chosen, leaves)


def rest(rule: Rule) -> tuple[object, ...]:
    """What a rule has behind its cost."""
    return rule.binds, rule.old, rule.own, rule.unbinds, rule.needs


PARAMETERS = "int int arr arr arr float list dict tup str bool".split()


def random_function(grammar: Grammar, name: str) -> list[str]:
    """A function of the module; the grammar knows how to call it from here on."""
    rng = grammar.rng
    kinds = [rng.choice(PARAMETERS) for _ in range(rng.randint(1, 3))]
    returned = rng.choice("int int arr arr arr float list tup num".split())
    scope = Scope(grammar, depth=1, allowed=frozenset({"function"}), returns=returned)
    parameters, call, named = [], [], False
    for kind in kinds:
        parameter = grammar.fresh("p")
        scope.bind(parameter, kind, own=True)
        chance = rng.random()
        if chance < 0.15 and kind in {"int", "float", "str", "bool"}:
            parameters.append(f"{parameter}={rng.choice(LEAVES[kind])}")
            call += [f"{parameter}=<{kind}>"] if rng.random() < 0.6 else []
            named = True
        elif chance < 0.3:
            if "*" not in parameters:
                parameters.append("*")
            parameters.append(parameter)
            call.append(f"{parameter}=<{kind}>")
            named = True
        elif named:
            if "*" not in parameters:
                parameters.append("*")
            parameters.append(parameter)
            call.append(f"{parameter}=<{kind}>")
        else:
            parameters.append(parameter)
            call.append(f"<{kind}>")
    if not named and rng.random() < 0.12:
        parameters += ["*rest", "**more"]
        scope.bind("rest", "tup", own=True)
        scope.bind("more", "dict", own=True)
        call += rng.choice(([], ["*<list!>"], ["*<tup!>", "**<dict!>"], ["k=<int!>"]))
    lines = [*decorators(grammar, returned), f"def {name}({', '.join(parameters)}):"]
    lines += ["    " + line for line in function_lines(scope, rng.randint(1, 5))]
    grammar.give(returned, f"{name}({', '.join(call)})", 12, scope.spent[0] + 2)
    return lines


def decorators(grammar: Grammar, returned: str) -> list[str]:
    """Decorators, sometimes."""
    if grammar.rng.random() < 0.1:
        return ["@logged"]
    if grammar.rng.random() < 0.03 and returned == "int":
        return ["@functools.lru_cache"]
    return []


PAIR = "\n\nPair = namedtuple('Pair', 'first second')\n"
POINT = """\


@dataclass
class Point:
    x: int
    w: object

    def total(self):
        return self.x + 1
"""
LOGGED = """\


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        LOG.append(function.__name__)
        return function(*args, **kwargs)
    return wrapper
"""


def function_lines(scope: Scope, count: int) -> list[str]:
    """The body of a function."""
    rng = scope.rng
    lines: list[str] = []
    if rng.random() < 0.3:
        names = rng.sample(["COUNT", "ITEMS", "MEMORY"], 2)
        kinds = {"COUNT": "int", "ITEMS": "list", "MEMORY": "arr"}
        lines.append("global " + ", ".join(names))
        for name in names:
            scope.bind(name, kinds[name], own=True)
            scope.declared.add(name)
    scope.depth = 0
    lines += [line for text in statements_in(scope, count) for line in text]
    return [*lines, "return " + expression(scope, scope.returns)]


def random_recursion(grammar: Grammar) -> list[str]:
    """A function that calls itself a few times."""
    name = grammar.fresh("r")
    scope = Scope(grammar, {"int": ["n"], "arr": ["x"]}, depth=2, turns=4)
    one, two = expression(scope, "arr", 1), expression(scope, "arr", 1)
    grammar.give("arr", f"{name}(<arr>, <small>)", 5, 12)
    return [
        f"def {name}(x, n):",
        "    if n <= 0:",
        f"        return {one}",
        f"    return {name}({two}, n - 1) + {expression(scope, 'float', 2)}",
    ]


def random_generator(grammar: Grammar) -> list[str]:
    """A generator function of the module."""
    name = grammar.fresh("g")
    scope = Scope(grammar, {"int": ["n"]}, depth=1)
    inner = block_scope(scope, "genbody", ())
    lines = ["    " + line for line in block(inner)]
    grammar.give("iter", f"{name}(<int!>)", 6, 8)
    grammar.leaves["genfn"].append(name)
    return [f"def {name}(n):", *lines]


def random_manager(grammar: Grammar) -> list[str]:
    """A context manager made of a generator."""
    name = grammar.fresh("m")
    scope = Scope(grammar, {"int": ["n"]}, depth=2)
    before, after = (block(block_scope(scope, "block", ())) for _ in range(2))
    grammar.give("manager", f"{name}(<int!>)", 6, 8)
    lines = ["@contextlib.contextmanager", f"def {name}(n):"]
    lines += ["    " + line for line in before]
    how = grammar.rng.choice(("finally", "except", "plain"))
    if how == "plain":
        return [*lines, "    yield n", *("    " + line for line in after)]
    catching = "finally:" if how == "finally" else f"except {expression(scope, 'caught')}:"
    lines += ["    try:", "        yield n", f"    {catching}"]
    return [*lines, *("        " + line for line in after)]


def random_descriptor(grammar: Grammar) -> list[str]:
    """A descriptor and a class that has it."""
    scope = Scope(grammar, {"int": ["obj.v"]}, depth=2)
    value = expression(scope, "int", 1)
    grammar.give("int", "<Held>.d", 5, 3)
    grammar.leaves["Held"] = ["Held(<int!>)"]
    grammar.do("@ old $o:Held\n$o.d = <int>", 1, 3)
    grammar.do("@ $o:Held\n$o = Held(<int>)", 3, 3)
    return f"""\
class Described:
    def __set_name__(self, owner, name):
        self.name = '_' + name
    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        LOG.append('get')
        return getattr(obj, self.name, 0) + {value}
    def __set__(self, obj, value):
        LOG.append('set')
        setattr(obj, self.name, value)


class Held:
    d = Described()
    def __init__(self, v):
        self.v = v
    def __repr__(self):
        return f'Held({{self.v}})'""".split("\n")


def generated(seed: int) -> PythonProgram:
    """The program of a seed."""
    rng = random.Random(seed)  # noqa: S311  not for secrets
    while True:
        program = attempt(rng, seed)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(program.source, "<program>", "exec")
        except SyntaxError:  # as a walrus in an iterable; the grammar does not know them all
            continue
        return program


def attempt(rng: random.Random, seed: int) -> PythonProgram:
    """A program that may break a rule of Python's syntax."""
    grammar = new_grammar(rng)
    parts: list[list[str]] = []
    made: list[classes.Made] = []
    resets: list[str] = []
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        made.append(classes.random_class(grammar, made))
        classes.introduce(grammar, made[-1])
        parts.append(made[-1].lines)
        resets.append(f"    {made[-1].name}.total = 0\n    {made[-1].name}.limit = 4\n")
    for chance, maker in (
        (0.15, random_descriptor),
        (0.25, random_manager),
        (0.25, random_generator),
        (0.2, random_recursion),
    ):
        if rng.random() < chance:
            parts.append(maker(grammar))
    for number in range(rng.choice((0, 1, 1, 2, 2, 3))):
        parts.append(random_function(grammar, f"f{number}"))
    arguments = random_arguments(rng)
    scope = Scope(grammar, allowed=frozenset({"function"}), returns="any")
    for name, kind in arguments:
        scope.bind(name, kind, own=True)
    body = function_lines(scope, rng.randint(3, 9))[:-1]
    names = [
        name
        for kind in (*RETURNED, *(m.name for m in made))
        for name in scope.known(kind)
        if name != "rng"
    ]
    returned = rng.sample(names, min(len(names), rng.randint(1, 6))) or ["0"]
    head = f"def program({', '.join(name for name, _ in arguments)}):"
    parts.append([head, *("    " + line for line in body), f"    return ({', '.join(returned)},)"])
    text = "".join("\n\n" + "\n".join(lines) + "\n" for lines in parts)
    given = argument_sets(rng, arguments)
    if COUNTS_TO_A_NAME.search(text):
        given = tuple(map(without_huge, given))
    used = f"{text} {given}"
    for sign, part in (("@logged", LOGGED), ("Pair(", PAIR), ("Point", POINT)):
        if sign in used:
            text = part + text
    resets += [f"    {name}.cache_clear()\n" for name in CACHED.findall(text)]
    source = PRELUDE + text + "\n" + RESET + "".join(resets)
    return PythonProgram(source, given, seed)


CACHED = re.compile(r"@functools.lru_cache\ndef (\w+)")
RETURNED = "int float str bool list tup dict adict alist set deq arr iarr barr num".split()

HUGE = "10**20"
COUNTS_TO_A_NAME = re.compile(r"range\([a-z]\w*\)")

ARGUMENTS = {
    "arr": (
        "array('f8', ({n},))", "array('f8', ({n},), seed=1)", "array('f8', ({n},), 'strided', 2)", "array('f8', ({n},), 'C', 3, 3)",
        "array('f8', ({n},), 'reversed')", "array('f8', ({n},), seed=4)", "array('f8', ({n},), seed=5)",
    ),
    "int": ("3", "2", "5", "0", "-1", "1"),
    "float": ("0.5", "1.5", "-2.0", "0.0"),
    "list": ("[1, 2, 3]", "[3, 1]", "[5, 0, 2, 4]", "[]"),
    "dict": ("{{'a': 1, 'b': 2}}", "{{'a': 5}}", "{{'x': 1, 'a': 2, 'c': 3}}"),
    "str": ("'abc'", "'b'", "'xyz'"),
    "tup": ("(1, 2)", "(4, 5, 6)", "(2,)"),
    "bool": ("True", "False"),
    "alist": ("[array('f8', ({n},)), array('f8', ({n},), seed=7)]", "[array('f8', ({n},), seed=8)]"),
    "adict": ("{{'x': array('f8', ({n},), seed=9)}}",),
    "rng": ("np.random.default_rng(5)",),
}  # fmt: skip
STRANGE = {
    "arr": (
        "array('f4', ({n},))", "array('i8', ({n},))", "array('?', ({n},))", "array('f8', (2, {n}))", "array('f8', ({n},), 'readonly')",
        "array('c16', ({n},))", "1.5", "array('f8', ())", "np.float64(2.5)", "array('f8', (1,))", "array('f8', (0,))", "[1.0, 2.0, 3.0]",
        "array('f2', ({n},))", "np.ma.array([1.0, 2.0, 3.0])",
    ),
    "int": ("True", "1.5", "np.int64(3)", "np.array(2)", "None", HUGE),
    "float": ("2", "np.float64(0.5)", "float('nan')", "np.float32(0.1)"),
    "list": ("(1, 2)", "[1.5, 2]", "[True, 3]", "deque([1, 2])"),
    "dict": ("OrderedDict(a=3)", "defaultdict(int, a=1)", "{{}}"),
    "str": ("''", "'aé'"),
    "tup": ("[1, 2]", "()", "Pair(1, 2)"),
    "bool": ("1", "None", "np.True_"),
}  # fmt: skip


def random_arguments(rng: random.Random) -> list[tuple[str, str]]:
    """Names and kinds of the program's parameters."""
    kinds = ["arr", "arr", "int"]
    kinds += rng.sample(["float", "list", "dict", "str", "tup", "bool", "alist", "adict"], 2)
    if rng.random() < 0.2:
        kinds.append("rng")
    return [
        ("rng" if kind == "rng" else "abcdefgh"[place], kind) for place, kind in enumerate(kinds)
    ]


def without_huge(given: tuple[Given, ...]) -> tuple[Given, ...]:
    """The same with a small number for one that nothing can count to."""
    return tuple(Given(one.name, "4") if one.text == HUGE else one for one in given)


def argument_sets(
    rng: random.Random, arguments: list[tuple[str, str]]
) -> tuple[tuple[Given, ...], ...]:
    """Arguments for several calls: the usual, other values and sizes, sometimes other types."""
    sizes = rng.choice(((3, 3, 3), (3, 3, 4), (3, 4, 3), (4, 4, 5)))
    sets = [one_set(rng, arguments, sizes[0], 0)]
    sets.append(one_set(rng, arguments, sizes[1], 0))
    if rng.random() < 0.6:
        sets.append(one_set(rng, arguments, sizes[2], 0.25))
    return tuple(sets)


def one_set(
    rng: random.Random, arguments: list[tuple[str, str]], size: int, strange: float
) -> tuple[Given, ...]:
    """Arguments for a call."""
    given: list[Given] = []
    usual = [text.format(n=size) for text in ARGUMENTS["arr"]]
    for name, kind in arguments:
        table = STRANGE if rng.random() < strange and kind in STRANGE else ARGUMENTS
        text = rng.choice(table[kind]).format(n=size)
        if kind == "arr" and given and given[0].text in usual and rng.random() < 0.06:
            text = rng.choice(("a", "a[::-1]", "a[:]"))
        given.append(Given(name, text))
    return tuple(given)
