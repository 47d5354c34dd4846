"""Grows text from templates: `<int>` is an expression of that kind, `<block>` are statements, `$i` a fresh name.

A kind is what an expression gives: `int`, `arr` (an array of floats), `list` (of ints), the name of a class. In templates

- `<int>` is any expression, `<int!>` a short one, `<int:old>` a name, `<int:own>` a name that may be assigned;
- `<int;$i:int>` may use the fresh name `$i`, an int;
- `<block;$i:int>` are statements, `<loop;$i:int>` those of a loop's body, `<risky>` those that like to raise.

A statement may begin with a line of directives: `@ 3` is its weight, `@ $v:int` says that it assigns the name `$v`, `@ old $v:int`
that `$v` is a name that there is already, `@ own $v:int` that it may be assigned, too, `@ del $v:int` that it is none afterwards,
`@ needs loop` that the statement stands in a loop.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

PLACE = re.compile(r"<([A-Za-z]\w*)(!|:old|:own)?((?:;\$\w+:\w+)*)>")
FRESH = re.compile(r"\$([A-Za-z]\w*)")
BINDING = re.compile(r"\$(\w+):(\w+)")
DEEPEST = 3  # expressions inside one another
TURNS = 4  # of a loop, about
MOST = 400  # statements that a function may run, about


class DeadEndError(Exception):
    """No rule of the grammar applies; another is tried."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A template with what it takes and gives."""

    text: str
    weight: float = 1
    cost: int = 1
    binds: tuple[tuple[str, str], ...] = ()  # names that it assigns, with their kinds
    old: tuple[tuple[str, str], ...] = ()
    own: tuple[tuple[str, str], ...] = ()
    unbinds: tuple[tuple[str, str], ...] = ()
    needs: frozenset[str] = frozenset()


def expression_rules(table: str) -> list[Rule]:
    """One rule a line."""
    return [Rule(line.strip()) for line in table.splitlines() if line.strip()]


def statement_rules(table: str) -> list[Rule]:
    """Rules separated by blank lines, each with directives in front of it."""
    return [statement_rule(text) for text in re.split(r"\n\s*\n", table.strip("\n"))]


def statement_rule(text: str) -> Rule:
    """A rule and its directives."""
    lines = text.strip("\n").splitlines()
    weight, needs = 1.0, set()
    told: dict[str, list[tuple[str, str]]] = {"@": [], "old": [], "own": [], "del": []}
    while lines[0].startswith("@ "):
        words = lines.pop(0)[2:].split()
        names = BINDING.findall(" ".join(words))
        if words[0] == "needs":
            needs.update(words[1:])
        elif names:
            told[words[0] if words[0] in told else "@"] += names
        else:
            weight = float(words[0])
    binds, old, own, unbinds = map(tuple, told.values())
    return Rule("\n".join(lines), weight, 1, binds, old, own, unbinds, frozenset(needs))


@dataclass(slots=True)
class Grammar:
    """The rules of one program; functions and classes add theirs as they are written."""

    rng: random.Random
    expressions: dict[str, list[Rule]]
    statements: list[Rule]
    leaves: dict[str, list[str]]
    count: int = 0
    weights: dict[tuple[frozenset[str], int, int], list[float]] = field(default_factory=dict)

    def fresh(self, stem: str) -> str:
        """A name that no one has."""
        self.count += 1
        return f"{stem}{self.count}"

    def give(self, kind: str, text: str, weight: float = 1, cost: int = 1) -> None:
        """A new way to an expression."""
        self.expressions.setdefault(kind, []).append(Rule(text, weight, cost))

    def do(self, text: str, weight: float = 1, cost: int = 1) -> None:
        """A new statement."""
        rule = statement_rule(text)
        self.statements.append(replace(rule, weight=rule.weight * weight, cost=cost))


@dataclass(slots=True)
class Scope:
    """A place in a function: the names that have values there, and what may stand there."""

    grammar: Grammar
    names: dict[str, list[str]] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    allowed: frozenset[str] = frozenset()  # loop, function, generator, handler, global, risky
    returns: str = "int"
    turns: int = 1  # how often a statement here runs, about
    depth: int = 0  # blocks inside one another
    spent: list[int] = field(default_factory=lambda: [0])  # statements that the function runs
    deleted: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)  # what may be declared nonlocal
    declared: set[str] = field(default_factory=set)  # globals

    @property
    def rng(self) -> random.Random:
        """The program's random numbers."""
        return self.grammar.rng

    def known(self, kind: str, *, own: bool = False) -> list[str]:
        """The names of a kind that have values here."""
        return [
            name
            for name in self.names.get(kind, ())
            if name not in self.deleted and (not own or name in self.own)
        ]

    def bind(self, name: str, kind: str, *, own: bool) -> None:
        """Give a name a value of this kind from here on."""
        for names in self.names.values():
            if name in names:
                names.remove(name)
        self.names.setdefault(kind, []).append(name)
        if own:
            self.own.add(name)

    def inner(self, **changes: object) -> Scope:
        """A block in here: what it assigns may have no value behind it."""
        names = {kind: list(names) for kind, names in self.names.items()}
        scope = Scope(
            self.grammar,
            names,
            set(self.own),
            self.allowed,
            self.returns,
            self.turns,
            self.depth,
            self.spent,
            self.deleted,
            set(self.outer),
            set(self.declared),
        )
        for name, value in changes.items():
            setattr(scope, name, value)
        return scope

    def affords(self, cost: int) -> bool:
        """Whether something that runs this many statements may stand here."""
        return cost * self.turns + self.spent[0] <= MOST

    def spend(self, cost: int) -> None:
        """Count statements."""
        self.spent[0] += cost * self.turns


def expression(scope: Scope, kind: str, depth: int = 0) -> str:
    """An expression of a kind."""
    rng = scope.rng
    if kind == "RETURN":
        kind = scope.returns
    if kind == "any":
        kind = rng.choice("int int float str bool list tup dict arr arr num iarr".split())
    if depth >= DEEPEST or rng.random() < 0.2 + 0.2 * depth:
        return leaf(scope, kind, depth)
    rules = scope.grammar.expressions.get(kind, ())
    if not rules:
        return leaf(scope, kind, depth)
    for rule in rng.choices(rules, [rule.weight for rule in rules], k=4):
        if not scope.affords(rule.cost):
            continue
        try:
            text = filled(rule.text, scope, depth + 1)
        except DeadEndError:
            continue
        scope.spend(rule.cost if rule.cost > 1 else 0)
        return text
    return leaf(scope, kind, depth)


def is_closed(text: str) -> bool:
    """Whether text needs no brackets where it is an operand."""
    return bool(re.fullmatch(r"[\w.]+(\([^()]*\))?|\[[^\[\]]*\]|\([^()]*\)|\{[^{}]*\}", text))


def leaf(scope: Scope, kind: str, depth: int) -> str:
    """A name of the kind, or the plainest expression."""
    names = scope.known(kind)
    if names and scope.rng.random() < (0.95 if kind == "arr" else 0.85):
        # The later ones more often.
        return names[-1] if scope.rng.random() < 0.3 else scope.rng.choice(names)
    choices = scope.grammar.leaves.get(kind)
    if not choices:
        if names:
            return scope.rng.choice(names)
        raise DeadEndError(kind)
    return filled(scope.rng.choice(choices), scope, max(depth, DEEPEST))


def filled(text: str, scope: Scope, depth: int, names: dict[str, str] | None = None) -> str:
    """A template with everything in its places."""
    named = {} if names is None else names
    for stem in FRESH.findall(text):
        if stem not in named:
            named[stem] = scope.grammar.fresh(stem[0])
    lines = [filled_line(line, scope, depth, named) for line in text.split("\n")]
    return "\n".join(lines)


ALONE = {"", ",", ")", "]", ":", "}"}  # what may stand behind an expression without brackets
OPENING = re.compile(
    r"([(\[{,:]|[^=!<>]=|\b(return|yield|in|if|while|assert|raise|match)) *$|^ *$"
)  # and before it


def filled_line(line: str, scope: Scope, depth: int, named: dict[str, str]) -> str:
    """A line of a template; where it is a block, the block's lines."""
    place = PLACE.fullmatch(line.strip())
    if place and place[1] in BLOCKS:
        space = line[: len(line) - len(line.lstrip())]
        inner = block_scope(scope, place[1], bindings(place[3], named))
        return "\n".join(space + text for text in block(inner))

    def put(found: re.Match[str]) -> str:
        kind, how, bound = found.groups()
        inside = scope
        if bound:
            inside = scope.inner()
            for name, its_kind in bindings(bound, named):
                inside.bind(name, its_kind, own=False)
        if how in {":old", ":own"}:
            choices = inside.known(kind, own=how == ":own")
            if not choices:
                raise DeadEndError(kind)
            return scope.rng.choice(choices)
        text = expression(inside, kind, DEEPEST if how else depth)
        alone = line[found.end() :][:1] in ALONE and OPENING.search(line[: found.start()])
        return text if alone or is_closed(text) else f"({text})"

    return FRESH.sub(lambda found: named[found[1]], PLACE.sub(put, line))


def bindings(text: str, named: dict[str, str]) -> list[tuple[str, str]]:
    """The names that a place may use, and their kinds."""
    return [(named[stem], kind) for stem, kind in BINDING.findall(text)]


BODIES = {"intbody": "int", "arrbody": "arr", "genbody": "", "managerbody": "", "anybody": "any"}
BLOCKS = {"block", "loop", "risky", "handler", *BODIES}


def block_scope(scope: Scope, kind: str, bound: Iterable[tuple[str, str]]) -> Scope:
    """The scope of a block of this kind."""
    inner = scope.inner(depth=scope.depth + 1)
    if kind in BODIES:
        inner.allowed = frozenset({"function"})
        inner.returns = BODIES[kind]
        inner.outer = inner.own - inner.declared
        inner.own = set()
        if kind == "genbody":
            inner.allowed = frozenset({"generator"})
        if kind == "managerbody":
            inner.allowed = frozenset({"manager"})
    if kind == "loop":
        inner.turns *= TURNS
        inner.allowed |= {"loop"}
    if kind == "risky":
        inner.allowed |= {"risky"}
    if kind == "handler":
        inner.allowed = (inner.allowed | {"handler"}) - {"risky"}
    for name, its_kind in bound:
        inner.bind(name, its_kind, own=False)
    return inner


def block(scope: Scope) -> list[str]:
    """The lines of one to three statements, or of a function's body."""
    most = 3 if scope.depth < 2 else 2
    lines = []
    is_body = bool(scope.allowed & {"function", "generator", "manager"}) and not scope.own
    if is_body:
        lines += declarations(scope)
    lines += [line for text in statements(scope, scope.rng.randint(1, most)) for line in text]
    if is_body and scope.returns:
        lines.append("return " + expression(scope, scope.returns))
    if is_body and "generator" in scope.allowed:
        lines.append("yield " + expression(scope, "int"))
    return lines or ["pass"]


GLOBALS = {"COUNT": "int", "ITEMS": "list", "MEMORY": "arr"}


def declarations(scope: Scope) -> list[str]:
    """Outer names that a function may assign; the names become its own."""
    lines = []
    outer = sorted(scope.outer - scope.deleted)
    if outer and scope.rng.random() < 0.35:
        chosen = scope.rng.sample(outer, min(2, len(outer)))
        lines.append("nonlocal " + ", ".join(sorted(chosen)))
        scope.own.update(chosen)
    if scope.rng.random() < 0.25:
        chosen = scope.rng.sample(list(GLOBALS), 2)
        lines.append("global " + ", ".join(chosen))
        scope.own.update(chosen)
        scope.declared.update(chosen)
    return lines


def statements(scope: Scope, count: int) -> Iterator[list[str]]:
    """Statements that follow one another."""
    for _ in range(count):
        if text := statement(scope):
            yield text.split("\n")


LEAVING = ("break", "continue", "return", "raise")


def weight_here(rule: Rule, scope: Scope) -> float:
    """How likely a rule is in a place."""
    if not rule.needs <= scope.allowed:
        return 0
    compound = any(f"<{name}" in rule.text for name in BLOCKS)
    if compound and scope.depth >= 3:
        return 0
    weight = rule.weight * (0.4**scope.depth if compound else 1)
    if rule.text.startswith("raise"):
        return weight * (6 if "risky" in scope.allowed else 0.5)
    return weight


def weights_here(scope: Scope) -> list[float]:
    """The running total of the weights of all statements in a place."""
    grammar = scope.grammar
    key = scope.allowed, scope.depth, len(grammar.statements)
    if key not in grammar.weights:
        weights = (weight_here(rule, scope) for rule in grammar.statements)
        grammar.weights[key] = list(itertools.accumulate(weights))
    return grammar.weights[key]


def statement(scope: Scope) -> str:
    """A statement; its names have values behind it."""
    rules = scope.grammar.statements
    for rule in scope.rng.choices(rules, cum_weights=weights_here(scope), k=6):
        if not scope.affords(rule.cost):
            continue
        try:
            text = written(rule, scope)
        except DeadEndError:
            continue
        scope.spend(rule.cost)
        return text
    return ""


def written(rule: Rule, scope: Scope) -> str:
    """A statement by this rule."""
    named: dict[str, str] = {}
    for stem, kind in rule.old + rule.own + rule.unbinds:
        choices = scope.known(kind, own=(stem, kind) not in rule.old)
        choices = [name for name in choices if name not in named.values()]
        if rule.unbinds:
            choices = [name for name in choices if name not in GLOBALS]
        if not choices:
            raise DeadEndError(kind)
        named[stem] = scope.rng.choice(choices)
    for stem, kind in rule.binds:
        mine = [name for name in scope.known(kind, own=True) if name not in named.values()]
        if mine and scope.rng.random() < 0.4:
            named[stem] = scope.rng.choice(mine)
        else:
            named[stem] = scope.grammar.fresh(kind[0])
    text = filled(rule.text, scope, 0, named)
    scope.deleted.update(named[stem] for stem, _ in rule.unbinds)
    for stem, kind in rule.binds:
        scope.bind(named[stem], kind, own=True)
    return text
