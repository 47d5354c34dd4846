"""Random classes: each has some of these features, and tells the grammar how it can be used."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.whole.fuzz.python.grammar import Grammar, Scope, filled


@dataclass(frozen=True, slots=True)
class Feature:
    """Members of a class, and what they make possible; `@` is an instance, `#` the class."""

    members: str
    gives: tuple[tuple[str, str], ...] = ()
    does: tuple[str, ...] = ()
    name: str = ""
    with_slots: bool = True


def feature_table(text: str) -> list[Feature]:
    """Features separated by blank lines: members, then lines `int: len(@)` behind `-> `, then statements behind `=> `."""
    found = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        members, gives, does = [], [], []
        for line in part.splitlines():
            if line.startswith("-> "):
                kind, _, use = line[3:].partition(": ")
                gives.append((kind, use))
            elif line.startswith("=> "):
                does.append(line[3:].replace("\\n", "\n"))
            elif line.startswith("   +"):
                does[-1] += "\n" + line[4:]
            else:
                members.append(line)
        name = re.search(r"def (\w+)", part)
        found.append(
            Feature("\n".join(members), tuple(gives), tuple(does), name[1] if name else "")
        )
    return found


FEATURES = feature_table("""
def __len__(self):
    return abs(<int>) % 5
-> int: len(@)
-> bool: bool(@)

def __bool__(self):
    LOG.append('bool')
    return <bool>
-> bool: not @
-> bool: @ and <bool>
-> int: <int> if @ else <int>
=> if @:\\n    <block>
=> assert @ or True

def __add__(self, other):
    if isinstance(other, int):
        return #(<int> + other)
    return NotImplemented
def __radd__(self, other):
    return self.v + <int>
-> #: @ + <int!>
-> int: <int> + @
=> @ ::\\nLOG.append((<int!> + @))

def __iadd__(self, other):
    self.v += 1
    LOG.append('iadd')
    return self
=> @ old $o:#\\n$x = $o\\n$x += <int!>\\nLOG.append($x is $o)

def __sub__(self, other):
    return <int>
def __rsub__(self, other):
    return <int> - 100
-> int: @ - <int!>
-> int: <int!> - @
-> int: @ - @

def __mul__(self, other):
    return NotImplemented
-> int: @ * <int!>

def __neg__(self):
    return #(-self.v)
-> #: -@

def __matmul__(self, other):
    return self.w @ other
-> num: @ @@ <arr>

def __eq__(self, other):
    if not isinstance(other, #):
        return NotImplemented
    return self.v == other.v
def __hash__(self):
    return self.v
-> bool: @ == @
-> bool: @ == <int!>
-> bool: @ != @
-> bool: @ in [@, @]
-> int: {@: 1}.get(@, 5)
-> int: [@, @].index(@)

def __lt__(self, other):
    LOG.append('lt')
    return self.v < other.v
-> bool: @ < @
-> bool: @ > @
-> int: sorted([@, @, @])[0].v
-> int: max(@, @).v

def __getitem__(self, key):
    if isinstance(key, slice):
        return repr(key)
    if key > 3:
        raise IndexError(key)
    return key + <int>
-> int: @[<int!>]
-> int: @[<small>]
-> str: @[<small>:]
-> str: @[:2, ][0:4] if False else 'no'
-> list: list(itertools.islice(@, 6))
=> for $i in @:\\n    <loop;$i:int>

def __setitem__(self, key, value):
    LOG.append((key, value))
    self.v = value
=> @[<int!>] = <int>
=> @ ::\\n@[<int!>] += 1

def __delitem__(self, key):
    LOG.append(('del', key))
=> del @[<int!>]

def __contains__(self, item):
    LOG.append('contains')
    return item == self.v
-> bool: <int> in @
-> bool: <int> not in @

def __iter__(self):
    return iter([self.v, <int>])
-> list: list(@)
-> list: [*@]
-> tup: tuple(@)
-> int: sum(@)
-> list: [<int;$i:int> for $i in @]
=> for $i in @:\\n    <loop;$i:int>
=> @ $v:int\\n@ $w:int\\n$v, $w = @

def __iter__(self):
    LOG.append('start')
    yield self.v
    try:
        yield <int>
    finally:
        LOG.append('end')
-> list: list(@)
-> int: next(iter(@))
=> for $i in @:\\n    <loop;$i:int>
=> for $i, $j in zip(@, @):\\n    <loop;$i:int;$j:int>

def __iter__(self):
    self.at = getattr(self, 'at', 0)
    return self
def __next__(self):
    self.at += 1
    if self.at > 3:
        raise StopIteration
    return self.at + <int!>
-> list: list(@)
-> int: next(iter(@))
=> for $i in @:\\n    <loop;$i:int>

def __call__(self, x, *more, k=1):
    LOG.append(('call', x))
    return x + self.v + k + len(more)
-> int: @(<int>)
-> int: @(<int>, <int!>, k=<int!>)
-> int: @(*<list!>, 1)
-> list: list(map(@, <list>))
-> fn: @

def __enter__(self):
    LOG.append('enter')
    self.v += 1
    return self
def __exit__(self, kind, error, trace):
    LOG.append(('exit', kind.__name__ if kind else None, str(error)))
    return <bool>
=> with @ as $m:\\n    <risky;$m:#>
=> with @:\\n    <risky>
=> @ 0.5\\nwith @ as $m, @ as $n:\\n    <risky;$m:#>
-> manager: @

def __enter__(self):
    return self.w
def __exit__(self, *what):
    self.w = <arr>
    if what[0] is KeyError:
        raise Oops('in exit', self.v)
=> with @ as $m:\\n    <risky;$m:arr>
-> manager: @

def __enter__(self):
    raise Oops('in enter')
def __exit__(self, kind, error, trace):
    return True
=> @ 0.3\\nwith @:\\n    <block>

def __repr__(self):
    return f'#<{self.v}>'
-> str: repr(@)
-> str: str(@)
-> str: f'{@}'
-> str: f'{@!r:>8}'
=> print(@)

def __str__(self):
    return 'S' + str(<int>)
def __format__(self, spec):
    return 'F' + spec
-> str: str(@)
-> str: f'{@}'
-> str: f'{@:x}'
=> print(@, [@])

def __index__(self):
    return abs(self.v) % 3
-> int: [1, 2, 3][@]
-> num: <arr>[@]
-> list: list(range(@))

def __float__(self):
    return self.v / 2
def __int__(self):
    return <int>
-> float: float(@)
-> int: int(@)

def __getattr__(self, name):
    if name.startswith('x'):
        return len(name) + <int!>
    raise AttributeError(name)
-> int: @.xyz
-> bool: hasattr(@, 'nothing')
-> int: getattr(@, 'yy', <int!>)

def __setattr__(self, name, value):
    LOG.append(name)
    object.__setattr__(self, name, value)
=> @.v = <int>

@property
def twice(self):
    LOG.append('twice')
    return self.v * 2
@twice.setter
def twice(self, value):
    self.v = value // 2
-> int: @.twice
=> @.twice = <int>
=> @ ::\\n@.twice += <int!>

@property
def failing(self):
    raise AttributeError('failing')
-> int: getattr(@, 'failing', <int!>)
-> bool: hasattr(@, 'failing')

@classmethod
def made(cls, v):
    cls.total += 1
    return cls(v)
-> #: #.made(<int>)
-> #: @.made(<int!>)
-> int: #.total

@staticmethod
def plain(x, y=2):
    return x * y + <int!>
-> int: #.plain(<int>)
-> int: @.plain(<int>, y=<int!>)

def step(self, x):
    self.w = self.w + x
    return self.w * <float!>
-> arr: @.step(<arr>)
=> @.step(<arr>)

def scale(self, x):
    self.w *= x
    return self
-> #: @.scale(<float!>)
-> arr: @.scale(<float!>).w

def bump(self, by=1):
    self.v += by
    #.total += 1
    return self.v
-> int: @.bump()
-> int: @.bump(<int!>)
-> fn: @.bump
=> @.bump(by=<int>)

def checked(self, x):
    if x > self.v:
        raise Oops('too large', x)
    try:
        return 10 // x
    finally:
        LOG.append('checked')
-> int: @.checked(<int>)
=> try:\\n    @.checked(<int>)\\nexcept <caught> as $e:\\n    <handler;$e:exc>

def each(self):
    for item in self.items:
        yield item + self.v
-> iter: @.each()
=> @ old $o:#\\nif len($o.items) < 9:\\n    $o.items.append(<int>)

def __array__(self, dtype=None, copy=None):
    return np.array([1.0, self.v])
-> arr: np.asarray(@)

def __getitem__(self, key):
    return self.w[key]
def __setitem__(self, key, value):
    self.w[key] = value
-> num: @[0]
-> arr: @[:]
=> @[0] = <float>
=> @[:] = <arr>

def fluent(self, **kwargs):
    for name, value in kwargs.items():
        setattr(self, name, value)
    return self
-> #: @.fluent(v=<int>)
-> arr: @.fluent(w=<arr>).w

def __eq__(self, other):
    return (self.w == other).all() if isinstance(other, np.ndarray) else NotImplemented
__hash__ = None
-> bool: @ == <arr!>

def __truediv__(self, other):
    return #(self.v // other)
def __rtruediv__(self, other):
    LOG.append('rtruediv')
    return <arr>
-> #: @ / <int!>
-> arr: <int!> / @

def __lshift__(self, other):
    LOG.append(other)
    return self
=> @ << <any>

def __missing__(self, key):
    return key
-> str: type(@).__name__

def __del__(self):
    self.log.append('died')
=> $x = @\\ndel $x

limit: int = 4
kinds = {'a': 1}
-> int: @.limit
-> int: #.kinds['a']
=> #.limit = <int>
=> @.limit = <int>
""")  # fmt: skip

SUPER = feature_table("""
def bump(self, by=2):
    LOG.append('sub')
    return super().bump(by) + <int!>

def step(self, x):
    return super().step(x) + <arr>

def __len__(self):
    return super().__len__() + 1

def __repr__(self):
    return '*' + super().__repr__()

def __eq__(self, other):
    return super().__eq__(other)

def checked(self, x):
    try:
        return super().checked(x)
    except ZeroDivisionError as error:
        raise Oops('sub', <int!>) from error

def __enter__(self):
    super().__enter__()
    return self

def __add__(self, other):
    LOG.append('add')
    return super().__add__(other)

def each(self):
    yield from super().each()
    yield <int>
""")  # fmt: skip

INIT = """\
def __init__(self, v, w=None):
    self.v = v
    self.w = np.arange(3.0) if w is None else w
    self.items = [v, 1]
    self.log = LOG
def __repr__(self):
    return f'#({self.v})'"""

INIT_OF_CHILD = """\
def __init__(self, v, w=None):
    super().__init__(v + 1, w)
    self.extra = <int!>"""


@dataclass(frozen=True, slots=True)
class Made:
    """A class as it was written."""

    name: str
    lines: list[str]
    features: tuple[Feature, ...]


def random_class(grammar: Grammar, parents: list[Made]) -> Made:
    """A class; the grammar knows its uses from here on."""
    rng = grammar.rng
    name = f"C{len(parents)}"
    parent = rng.choice(parents) if parents and rng.random() < 0.5 else None
    features = rng.sample(FEATURES, rng.randint(3, 8))
    inherited = parent.features if parent else ()
    extended = [
        f for f in SUPER if any(f.name == old.name for old in inherited) and rng.random() < 0.6
    ]
    scope = Scope(grammar, {"int": ["self.v"], "arr": ["self.w"], "list": ["self.items"]}, depth=2)
    lines = [f"class {name}({parent.name if parent else ''}):"]
    slots = rng.random() < 0.15
    if slots:
        lines.append(
            "    __slots__ = " + ("('extra',)" if parent else "('v', 'w', 'items', 'at', 'log')")
        )
    lines.append("    total = 0")
    parts = [] if parent and rng.random() < 0.5 else [INIT_OF_CHILD if parent else INIT]
    parts += [feature.members for feature in (*features, *extended)]
    for part in parts:
        static = part.startswith(("@classmethod", "@staticmethod"))
        text = filled(part.replace("#", name), Scope(grammar, depth=2) if static else scope, 2)
        lines += ["    " + line for line in text.split("\n")]
    tell(grammar, name, features)
    if inherited:
        tell(grammar, name, rng.sample(inherited, min(3, len(inherited))))
    return Made(name, lines, (*features, *inherited))


def tell(grammar: Grammar, name: str, features: list[Feature]) -> None:
    """Tell the grammar what instances can do."""
    for feature in features:
        for kind, use in feature.gives:
            grammar.give(placed(kind, name), placed(use, name), 4, 4)
        for use in feature.does:
            text, old = use, ""
            if text.startswith("@ ::\n"):  # the same object twice
                text, old = text[5:].replace("@", "$o"), f"@ old $o:{name}\n"
            grammar.do(old + placed(text, name), 0.8, 4)


def placed(use: str, name: str) -> str:
    """A use with an instance in its place; `@ ` at a line's start is a directive."""
    lines = []
    for line in use.replace("#", name).split("\n"):
        directive = re.match(r"@ (\d|old|own|del|needs|\$)", line)
        lines.append(
            line
            if directive
            else line.replace("@@", "\0").replace("@", f"<{name}>").replace("\0", "@")
        )
    return "\n".join(lines)


def introduce(grammar: Grammar, made: Made) -> None:
    """Tell the grammar how instances come to be and what all of them have."""
    name = made.name
    grammar.leaves[name] = [f"{name}(<int!>)", f"{name}(<int!>, <arr!>)"]
    grammar.give(name, f"{name}(<int>)", 2, 4)
    grammar.give(name, f"{name}(<int>, w=<arr>)", 2, 4)
    grammar.give("int", f"<{name}>.v", 4)
    grammar.give("arr", f"<{name}>.w", 4)
    grammar.give("list", f"<{name}>.items", 1)
    grammar.give("int", f"getattr(<{name}>, 'v')", 1)
    grammar.give("bool", f"isinstance(<{name}>, {name})", 1)
    grammar.give("bool", f"<{name}> is <{name}>", 1)
    for text in (
        f"@ 3\n@ $o:{name}\n$o = <{name}>",
        f"<{name}>.v = <int>",
        f"@ old $o:{name}\n$o.v += <int>",
        f"@ old $o:{name}\n$o.w = <arr>",
        f"@ old $o:{name}\n$o.w += <arr!>",
        f"@ old $o:{name}\n$o.w[0] = <float>",
        f"@ 0.3\n@ old $o:{name}\nif len($o.items) < 9:\n    $o.items.append(<int>)",
        f"@ 0.3\n@ old $o:{name}\ndel $o.items",
        f"@ 0.3\nsetattr(<{name}>, 'v', <int>)",
        f"@ 0.3\n@ old $o:{name}\nfor $o.v in <list>:\n    <loop>",
        f"@ 0.4\n@ old $o:{name}\nmatch $o:\n    case {name}(v=1):\n        <block>\n    case {name}(v=$x) if $x > 2:\n        <block;$x:int>",
        f"@ 0.3\nfor $o in [<{name}>, <{name}>]:\n    <loop;$o:{name}>",
    ):
        grammar.do(text, 1, 2)
