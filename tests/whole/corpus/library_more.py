"""More of the standard library: containers, functions, code, addresses, random numbers."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs, ignore-errors
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, ANN204, D101
# ruff: noqa: PLC0415, TD, G

from __future__ import annotations

import argparse
import ast
import bisect
import collections
import configparser
import contextlib
import copy
import csv
import dataclasses
import dis
import enum
import functools
import graphlib
import heapq
import inspect
import io
import itertools
import logging
import random
import tokenize
import types
import typing

from tests.whole.corpus.case import Corpus
from tests.support.unaccelerated import unaccelerated

CORPUS = Corpus()
add = CORPUS.add

heapq_py = unaccelerated("heapq", "_heapq")
bisect_py = unaccelerated("bisect", "_bisect")
operator_py = unaccelerated("operator", "_operator")
functools_py = unaccelerated("functools", "_functools")

# Containers and functions ----------------------------------------------------------------------------------------


@CORPUS.case([5, 2, 9, 1, 5, 6])
def heaps(values):
    heapq_py.heapify(values)
    heapq_py.heappush(values, 4)
    smallest = (
        heapq_py.heappop(values),
        heapq_py.heapreplace(values, 7),
        heapq_py.heappushpop(values, 0),
    )
    return (
        smallest,
        values,
        heapq_py.nlargest(2, values),
        heapq_py.nsmallest(2, values, key=lambda v: -v),
    )


@CORPUS.case([1, 4, 7], [2, 4, 9])
def merged_heaps(a, b):
    return (
        list(heapq_py.merge(a, b)),
        list(heapq_py.merge(a, b, key=lambda v: v // 2)),
        list(heapq.merge(a, b, reverse=True)),
    )


@CORPUS.case([1, 2, 2, 3, 8], 2)
def bisections(values, x):
    left, right = bisect_py.bisect_left(values, x), bisect_py.bisect_right(values, x, 1)
    bisect_py.insort(values, 5)
    bisect_py.insort_left(values, 0)
    return left, right, values, bisect.bisect(values, 4, key=lambda v: v)


@CORPUS.case([1, -1])
def bisection_error(values):
    return bisect_py.bisect_left(values, 3, lo=-1)


@CORPUS.case([3, 4], {"k": 5})
def python_operators(pair, table):
    get = operator_py.itemgetter(0, 1)
    attr = operator_py.attrgetter("real", "imag")
    call = operator_py.methodcaller("get", "k", 0)
    return get(pair), attr(3), call(table), operator_py.indexOf(pair, 4), operator_py.countOf(pair, 3), operator_py.concat(pair, pair), (
        repr(get), operator_py.iadd(pair, [1]), operator_py.truth(pair), operator_py.length_hint(iter(pair)))  # fmt: skip


@CORPUS.case([1, 2, 3])
def python_reduce(values):
    return functools_py.reduce(lambda a, b: a * b, values), functools_py.reduce(
        lambda a, b: a - b, values, 10
    )


@CORPUS.case([])
def reduce_of_nothing(values):
    return functools_py.reduce(lambda a, b: a * b, values)


@CORPUS.case(2)
def python_partial(n):
    double = functools_py.partial(lambda a, b, *, c=0: (a, b, c), n, c=3)
    return double(4), double(5, c=1), double.args, double.keywords, double.func.__name__


@CORPUS.case(7)
def python_cache(n):
    @functools_py.lru_cache(maxsize=3)
    def fibonacci(k):
        return k if k < 2 else fibonacci(k - 1) + fibonacci(k - 2)

    return fibonacci(n), tuple(fibonacci.cache_info()), functools_py.cmp_to_key(lambda a, b: b - a)(1) < functools_py.cmp_to_key(
        lambda a, b: b - a)(2)  # fmt: skip


@CORPUS.case([1, "a", 2.5, None, True])
def single_dispatch(values):
    @functools.singledispatch
    def kind(value):
        return "other"

    @kind.register
    def _(value: int):
        return "int"

    @kind.register(str)
    def _(value):
        return "str"

    return (
        [kind(value) for value in values],
        kind.dispatch(bool) is kind.dispatch(int),
        len(kind.registry),
    )


@CORPUS.case(3, 4)
def total_order(a, b):
    @functools.total_ordering
    class Size:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return self.n == other.n

        def __lt__(self, other):
            return self.n < other.n

    return (
        Size(a) <= Size(b),
        Size(a) > Size(b),
        Size(a) >= Size(a),
        sorted([Size(b), Size(a)])[0].n,
    )


@CORPUS.case("x")
def partial_methods(value):
    class Cell:
        def set(self, name, to, *, twice=False):
            return name, to, twice

        set_on = functools.partialmethod(set, "state", twice=True)

        @functools.cached_property
        def lazily(self):
            return [value]

    cell = Cell()
    return cell.set_on(value), cell.lazily is cell.lazily, sorted(vars(cell))


@CORPUS.case("abracadabra")
def counters(text):
    one = collections.Counter(text)
    two = collections.Counter(a=1, b=5)
    one.subtract("aab")
    return (
        one.most_common(2),
        one + two,
        one - two,
        one & two,
        one | two,
        sorted(one.elements()),
        -two,
        one.total(),
        one["zz"],
    )


@CORPUS.case({"a": 1}, {"a": 2, "b": 3})
def chain_maps(one, other):
    chained = collections.ChainMap(one, other)
    child = chained.new_child({"c": 4})
    child["d"] = 5
    del child["c"]
    return (
        dict(child),
        list(chained),
        chained["b"],
        child.parents["a"],
        len(child),
        "z" in child,
        child.get("z", 0),
        repr(chained),
    )


@CORPUS.case({"a": 1})
def chain_map_error(one):
    del collections.ChainMap({}, one)["a"]


@CORPUS.case([3, 1, 2])
def user_containers(values):
    class Upper(collections.UserDict):
        def __setitem__(self, key, value):
            super().__setitem__(key.upper(), value)

        def __missing__(self, key):
            return key * 2

    table = Upper(a=1)
    table["b"] = 2
    ours = collections.UserList(values)
    ours.append(9)
    ours.sort()
    text = collections.UserString("abc")
    return (
        dict(table),
        table["zz"],
        "A" in table,
        ours.data,
        ours[1:].data,
        (ours + [1]).data,
        text.upper().data,
        text + "d",
        len(text),
    )


@CORPUS.case("x y z")
def named_tuples(names):
    Point = collections.namedtuple("Point", names, defaults=(7,))
    p = Point(1, 2)
    return (
        tuple(p),
        p.z,
        p._asdict(),
        tuple(p._replace(x=5)),
        Point._fields,
        Point._make([1, 2, 3]).y,
        repr(p),
        Point._field_defaults,
    )


@CORPUS.case("x class x")
def named_tuple_error(names):
    return collections.namedtuple("Point", names)


@CORPUS.case([("b", 2), ("a", 1)])
def ordered(items):
    table = collections.OrderedDict(items)
    table.move_to_end("b", last=False)
    popped = table.popitem(last=False)
    return (
        list(table.items()),
        popped,
        table == collections.OrderedDict(a=1),
        reversed(table).__next__(),
    )


@CORPUS.case([1, [2, {"k": (3, [4])}]])
def copies(value):
    deep, flat = copy.deepcopy(value), copy.copy(value)
    deep[1][1]["k"][1].append(5)
    shared = [value, value]
    again = copy.deepcopy(shared)
    return deep, flat, flat[1] is value[1], again[0] is again[1]


@CORPUS.case(3)
def copies_of_objects(n):
    class Node:
        def __init__(self, value, link=None):
            self.value, self.link = value, link

        def __deepcopy__(self, memo):
            return Node(self.value * 10, copy.deepcopy(self.link, memo))

    class Plain:
        pass

    plain = Plain()
    plain.me = plain
    plain.items = [n]
    twin = copy.deepcopy(plain)
    return copy.deepcopy(Node(1, Node(n))).link.value, twin.me is twin, twin.items == plain.items


@CORPUS.case([1, 2, 3, 4, 5])
def iteration_recipes(values):
    def batched(items, n):
        it = iter(items)
        while batch := tuple(itertools.islice(it, n)):
            yield batch

    def pairwise(items):
        a, b = itertools.tee(items)
        next(b, None)
        return zip(a, b, strict=False)

    def roundrobin(*iterables):
        nexts = itertools.cycle(iter(it).__next__ for it in iterables)
        active = len(iterables)
        while active:
            try:
                for step in nexts:
                    yield step()
            except StopIteration:
                active -= 1
                nexts = itertools.cycle(itertools.islice(nexts, active))

    def partition(predicate, items):
        a, b = itertools.tee(items)
        return list(itertools.filterfalse(predicate, a)), list(filter(predicate, b))

    return list(batched(values, 2)), list(pairwise(values)), list(roundrobin("ABC", "D", "EF")), partition(lambda v: v % 2, values), (
        list(itertools.chain.from_iterable([values, "ab"])), [*itertools.groupby("aabbc")][0][0])  # fmt: skip


@CORPUS.case(5)
def context_managers(n):
    log = []

    @contextlib.contextmanager
    def block(name):
        log.append(name)
        try:
            yield name
        except ValueError as error:
            log.append(str(error))
        finally:
            log.append(f"end {name}")

    class Thing:
        def close(self):
            log.append("closed")

    with contextlib.ExitStack() as stack:
        stack.enter_context(block("one"))
        stack.callback(log.append, "callback")
        stack.push(lambda *_: False)
        with contextlib.suppress(KeyError), contextlib.closing(Thing()):
            log.append({}[n])
        raise ValueError("inside")
    with contextlib.nullcontext(3) as three, contextlib.redirect_stdout(io.StringIO()) as out:
        print(three)
    return log, out.getvalue()


@CORPUS.case(5)
def context_manager_error(n):
    @contextlib.contextmanager
    def once():
        yield n
        yield n

    with once() as m:
        m += 1


@CORPUS.case({"a": {"b"}, "b": {"c", "d"}, "d": {"c"}})
def sorted_graph(graph):
    return list(graphlib.TopologicalSorter(graph).static_order())


@CORPUS.case({"a": ["b"], "b": ["a"]})
def cyclic_graph(graph):
    return list(graphlib.TopologicalSorter(graph).static_order())


@CORPUS.case(2)
def enumerations(n):
    class Colour(enum.Enum):
        RED = 1
        GREEN = 2
        ALSO = 1

        @property
        def lower(self):
            return self.name.lower()

    class Bits(enum.Flag):
        A = enum.auto()
        B = enum.auto()
        C = A | B

    class Level(enum.IntEnum):
        LOW = 1

    return Colour(n).lower, Colour["ALSO"].name, [c.value for c in Colour], repr(Bits.A | Bits.B), ~Bits.A == Bits.B, Level.LOW + 1, (
        Bits.A in Bits.C, len(Colour), str(Level.LOW), Colour.RED is Colour.ALSO)  # fmt: skip


@CORPUS.case(9)
def enumeration_error(n):
    class Colour(enum.Enum):
        RED = 1

    return Colour(n)


@CORPUS.case(4)
def data_classes(n):
    @dataclasses.dataclass(order=True, frozen=True)
    class Item:
        size: int
        name: str = "x"
        tags: tuple = dataclasses.field(default=(), compare=False)

    one = Item(n)
    return one < Item(n + 1), repr(one), dataclasses.asdict(one), hash(one) == hash(Item(n)), [f.name for f in dataclasses.fields(Item)], (
        dataclasses.replace(one, name="y").name)  # fmt: skip


@CORPUS.case(4)
def frozen_data_class(n):
    @dataclasses.dataclass(frozen=True)
    class Item:
        size: int

    Item(n).size = 3


@CORPUS.case(1)
def simple_types(n):
    space = types.SimpleNamespace(a=n, b=[n])
    made = types.new_class("Made", (), {}, lambda ns: ns.update(x=n))
    proxy = types.MappingProxyType({"k": n})
    return (
        space,
        made.x,
        proxy["k"],
        types.resolve_bases((int,)),
        typing.get_type_hints(simple_types),
        types.GenericAlias(list, int),
    )


# Code ------------------------------------------------------------------------------------------------------------


@CORPUS.case("def f(a, *b, c=1):\n    'doc'\n    return [x for x in b if x > a] or c\n")
def syntax_trees(source):
    tree = ast.parse(source)
    names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})

    class Renamed(ast.NodeTransformer):
        def visit_Name(self, node):
            return ast.copy_location(ast.Name(node.id + "_", node.ctx), node)

    return (
        names,
        ast.dump(tree)[:80],
        ast.unparse(ast.fix_missing_locations(Renamed().visit(tree))),
        ast.get_docstring(tree.body[0]),
    )


add(ast.literal_eval, "{'a': [1, -2.5, (None, True)], 'b': {3}, 'c': 1+2j}")
add(ast.literal_eval, "1 +")
add(ast.literal_eval, " 'text'")


@CORPUS.case("x = (1 +\n     2)  # sum\n")
def tokens(source):
    read = tokenize.generate_tokens(io.StringIO(source).readline)
    return [(token.type, token.string, token.start) for token in read]


@CORPUS.case("for i in range(3):\n    print(i)\n")
def disassembly(source):
    code = compile(source, "<s>", "exec")
    return [(i.opname, i.argval if isinstance(i.argval, (int, str)) else None) for i in dis.get_instructions(code)], sorted(
        dis.findlinestarts(code)), dis.code_info(code).splitlines()[0]  # fmt: skip


@CORPUS.case((1, 2), {"c": 3})
def signatures(args, kwargs):
    def function(a, b=2, *, c: int, **rest) -> str:
        return ""

    signature = inspect.signature(function)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return str(signature), bound.arguments, [p.kind.name for p in signature.parameters.values()], str(signature.replace(parameters=[])), (
        inspect.getdoc(signatures), inspect.isfunction(function))  # fmt: skip


@CORPUS.case((), {})
def signature_error(args, kwargs):
    return inspect.signature(lambda a, *, b: 0).bind(*args, **kwargs)


@CORPUS.case(["--size", "3", "-v", "-v", "in", "out"])
@CORPUS.case(["--help"])
@CORPUS.case(["--size", "x", "y"])
@CORPUS.case(["sub", "x"])
def arguments(given):
    parser = argparse.ArgumentParser(prog="p", exit_on_error=False)
    parser.add_argument("--size", type=int, default=1, metavar="N", help="a size")
    parser.add_argument("-v", action="count", default=0)
    parser.add_argument("source")
    parser.add_argument("rest", nargs="*")
    return vars(parser.parse_args(given))


@CORPUS.case("%s took %(x)d", 3)
def log_records(message, n):
    record = logging.LogRecord("name", logging.INFO, "/f.py", n, "%s is %d", ("a", n), None)
    record.created, record.msecs = 0.0, 0.0
    made = logging.Formatter("{levelname:>8}|{name}|{message}|{lineno}", style="{").format(record)
    filtered = (
        logging.Filter("na").filter(record),
        logging.getLevelName(30),
        logging.getLevelName("DEBUG"),
    )
    return (
        made,
        filtered,
        logging.Formatter("%(levelname)s %(message)s").format(record),
        record.getMessage(),
    )


@CORPUS.case("[a]\nx = 1\ny = %(x)s2\n[b]\nz: yes\n")
@CORPUS.case("[a]\nx = 1\n[a]\n")
def configurations(text):
    parser = configparser.ConfigParser()
    parser.read_string(text)
    out = io.StringIO()
    parser.set("a", "new", "5")
    parser.write(out)
    return (
        parser.sections(),
        parser.getint("a", "x"),
        parser["a"]["y"],
        parser.getboolean("b", "z", fallback=False),
        out.getvalue(),
    )


@CORPUS.case("a,b\n1,'x, y'\n")
def csv_tables(text):
    rows = list(csv.DictReader(io.StringIO(text), quotechar="'"))
    out = io.StringIO()
    writer = csv.DictWriter(out, ["a", "b"], extrasaction="ignore")
    writer.writeheader()
    writer.writerows([*rows, {"a": 1, "c": 2}])
    return rows, out.getvalue(), csv.Sniffer().sniff("a;b\n1;2\n3;4\n").delimiter


# Random numbers, regular expressions -----------------------------------------------------------------------------


@CORPUS.case(42)
def random_streams(seed):
    rng = random.Random(seed)  # noqa: S311
    deck = list(range(8))
    rng.shuffle(deck)
    return deck, rng.sample(deck, 3), rng.choice("abc"), rng.choices([1, 2], [1, 5], k=4), rng.gauss(0, 1), rng.randrange(3, 20, 4), (
        rng.uniform(1, 2), rng.triangular(), rng.betavariate(1, 2), rng.expovariate(1.5), rng.gammavariate(2, 1), rng.vonmisesvariate(0, 1),
        rng.normalvariate(), rng.lognormvariate(0, 1), rng.paretovariate(3), rng.weibullvariate(1, 2), rng.getrandbits(70), rng.randbytes(3))  # fmt: skip


@CORPUS.case(42)
def random_error(seed):
    return random.Random(seed).sample([1, 2], 3)  # noqa: S311


@CORPUS.case(r"(?P<word>[a-z]+)\s*(?:=|:)\s*(\d{2,4})?(?=end)|^\w.*?$")
@CORPUS.case(r"(a")
@CORPUS.case(r"[z-a]")
def regular_expressions(pattern):
    from re import _compiler, _parser

    parsed = _parser.parse(pattern, 2)
    return repr(parsed.data)[:200], parsed.getwidth(), _compiler.compile(pattern, 2).groupindex
