"""Random numbers of CuPy's in graphs: its functions, and methods of RandomState and Generator, called in their places.

Laws: 1. Draws keep their order. 2. They cannot be taken back, so one counts as a visible write: what may fail has no
place behind it. 3. Arguments are such that no draw raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.indexing import WHOLE_AXIS
from ufuse.frame_hook.arrays.making import check_bytes, shape_argument
from ufuse.frame_hook.arrays.reductions import dtype_argument
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.devices import indexing
from ufuse.frame_hook.devices.calls import argument
from ufuse.frame_hook.devices.rules import array_argument, function
from ufuse.frame_hook.devices.streams import made, object_node
from ufuse.frame_hook.devices.views import joint_shape
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.values import as_size, is_none
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Constant,
    DeviceArray,
    Instance,
    Number,
    Symbol,
    Tuple,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.node import Node
from ufuse.graph.size import Size
from ufuse.graph.types import NumberType
from ufuse.graph.typing.device_draws import (
    BIT_GENERATORS,
    CLASSES,
    COUNTS,
    DEFAULTED,
    DISTRIBUTIONS,
    GENERATED,
    GENERATOR,
    LENGTHS,
    NAMES,
    POSITIVE,
    RANDOM,
    SEED,
    STATE,
)
from ufuse.graph.typing.device_streams import BITS, MAKING
from ufuse.graph.typing.library import CUDA, cupy

NONE = Constant(None)
MOST_SEED = 2**64 - 1
WIDEST = 64  # bits of a whole number
MOST_APART = 2**31 - 1  # a Generator's whole numbers: more bits are drawn otherwise
Given = dict[str, Symbol]
Drawn = tuple[tuple[Size, ...], np.dtype]


OneDraw = Callable[["Draw", Sequence[Symbol], Mapping[str, Symbol]], Symbol]


class Draw:
    """A call that draws: of CuPy's own state, or of one of the program's, which is of a kind."""

    def __init__(
        self, interpreter: Interpreter, name: str, owner: Symbol | None, kind: str
    ) -> None:
        self.interpreter = interpreter
        self.trace = interpreter.trace
        self.name = name
        self.owner = owner
        self.kind = kind
        if self.trace.graph.in_side:
            raise GraphBreak("call", "drawing random numbers on one side of a branch")

    def refuse(self) -> GraphBreak:
        """Why the graph ends here."""
        return GraphBreak("numpy-call", f"cupy.random.{self.name} with these arguments")

    def bound(
        self, names: str, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
    ) -> Given:
        """The arguments by their names."""
        parameters = names.split()
        given = dict(zip(parameters, arguments, strict=False))
        if len(arguments) > len(parameters) or set(keywords) - (set(parameters) - set(given)):
            raise self.refuse()
        return given | dict(keywords)

    def shape(self, given: Given) -> tuple[Size, ...]:
        """The shape that `size` says."""
        size = self.trace.look(given.get("size", NONE))
        if isinstance(size, Constant) and size.value is None:
            return ()
        return shape_argument(self.interpreter, size)

    def shape_of(
        self, given: Given, parameters: Sequence[str], *, positive: bool
    ) -> tuple[Size, ...]:
        """The shape of what a distribution gives: that of its parameters where they are arrays, or `size`."""
        of_arrays = []
        for key in parameters:
            read = self.trace.look(given[key]) if key in given else None
            if read is None and key not in DEFAULTED:
                raise self.refuse()
            if (
                isinstance(read, DeviceArray)
                and self.name in COUNTS
                and read.type.dtype.char == "d"
            ):
                of_arrays.append(read)
            elif read is not None:
                self.check_number(read, positive=positive)
        if not of_arrays:
            return self.shape(given)
        if not is_none(self.trace.look(given.get("size", NONE))):
            raise self.refuse()
        return joint_shape(self.trace, of_arrays)

    def dtype(self, given: Given, kinds: str, default: str) -> np.dtype:
        """The dtype that is asked for, one of `kinds`."""
        dtype = np.dtype(default)
        if "dtype" in given:
            found = dtype_argument(self.interpreter, given["dtype"])
            if found is None or found.char not in kinds:
                raise self.refuse()
            dtype = found
        return dtype

    def call(
        self,
        name: str,
        arguments: Sequence[Symbol],
        keywords: Mapping[str, Symbol],
        drawn: Drawn | None,
    ) -> Symbol:
        """The call as a node, of a shape and a dtype, or (None) for its effect."""
        graph = self.trace.graph
        inputs: list[Node] = []
        given: tuple[Any, ...] = ()
        if self.owner is not None:
            inputs.append(object_node(self.trace, self.owner, self.kind, name))
            given = (0,)
        given += tuple(_given(self.trace, one, inputs) for one in arguments)
        named = tuple((key, _given(self.trace, one, inputs)) for key, one in keywords.items())
        attributes: dict[str, Any] = {
            "function": _full_name(self.kind, name),
            "arguments": given,
            "keywords": named,
            "device": CUDA,
        }
        if drawn is not None:
            check_bytes(self.interpreter, *drawn)
            attributes |= dict(zip(("shape", "dtype"), drawn, strict=True))
        return graph.fresh(graph.draw(tuple(inputs), attributes))

    def whole(self, symbol: Symbol) -> Size:
        """A whole number."""
        read = self.trace.look(symbol)
        size = as_size(read)
        if size is None or arrays.is_bool(read):
            raise self.refuse()
        return size

    def check_between(self, low: Size, high: Size, dtype: np.dtype) -> None:
        """Break where a whole number is not one of a dtype; all that are not known are of the widest."""
        limits, sizes = np.iinfo(dtype), self.trace.sizes
        for relation, one, limit in (("ge", low, int(limits.min)), ("le", high, int(limits.max))):
            is_any = not isinstance(one, int) and limits.bits == WIDEST
            if not is_any and not sizes.decide(relation, one, limit):
                raise self.refuse()

    def check_number(self, symbol: Symbol, *, positive: bool) -> None:
        """Break where a parameter is no number, or not known to be positive."""
        read = self.trace.look(symbol)
        if isinstance(read, Constant) and type(read.value) in (int, float):
            if abs(read.value) < math.inf and (read.value > 0 or not positive):
                return
        elif isinstance(read, Number) and read.node.type == NumberType("float") and not positive:
            return
        raise self.refuse()


def _full_name(kind: str, name: str) -> str:
    """The name of a function of CuPy's, or of a method of a kind of generator."""
    return RANDOM + (f"{CLASSES[kind]}." if kind else "") + name


def _rule_of(name: str, rule: OneDraw, kind: str = "") -> Any:
    def draw(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        owner = None
        if kind:
            owner = interpreter.trace.look(arguments[0]) if arguments else None
            class_ = getattr(cupy().module.random, CLASSES[kind])
            if not isinstance(owner, Instance) or owner.kind is not class_:
                raise GraphBreak("call", _full_name(kind, name))
            arguments = arguments[1:]
        return rule(Draw(interpreter, name, owner, kind), arguments, keywords)

    return draw


def _distribution(
    draw: Draw, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    """Floats, or whole numbers, of a distribution whose parameters are numbers; `poisson` takes an array, too."""
    name = draw.name
    parameters = (DISTRIBUTIONS | POSITIVE | COUNTS)[name].split()
    given = draw.bound(f"{' '.join(parameters)} size dtype", arguments, keywords)
    shape = draw.shape_of(given, parameters, positive=name in POSITIVE)
    dtype = draw.dtype(given, "l", "l") if name in COUNTS else draw.dtype(given, "fd", "d")
    return draw.call(name, arguments, keywords, (shape, dtype))


def _of_lengths(draw: Draw, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]) -> Symbol:
    """`rand` and `randn`."""
    if set(keywords) - {"dtype"}:
        raise draw.refuse()
    shape = shape_argument(draw.interpreter, Tuple(tuple(arguments)))
    return draw.call(draw.name, arguments, keywords, (shape, draw.dtype(dict(keywords), "fd", "d")))


def _between(draw: Draw, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]) -> Symbol:
    """Whole numbers between others, of which there are some."""
    given = draw.bound("low high size dtype", arguments, keywords)
    low = draw.whole(given["low"]) if "low" in given else None
    high: Size | None = None
    if "high" in given and not is_none(draw.trace.look(given["high"])):
        high = draw.whole(given["high"])
    if low is None:
        raise draw.refuse()
    if high is None:
        low, high = 0, low
    dtype = draw.dtype(given, "bBhHiIlL", "l")
    draw.check_between(low, high, dtype)
    if not draw.trace.sizes.decide("lt", low, high):
        raise draw.refuse()
    return draw.call("randint", arguments, keywords, (draw.shape(given), dtype))


def _count(draw: Draw, symbol: Symbol) -> Size:
    """How many there are to choose from: at least one."""
    read = draw.trace.look(symbol)
    if isinstance(read, DeviceArray):
        if not read.type.ndim:
            raise draw.refuse()
        count = read.type.shape[0]
    else:
        count = draw.whole(read)
    if not draw.trace.sizes.decide("ge", count, 1):
        raise draw.refuse()
    return count


def _permuted(draw: Draw, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]) -> Symbol:
    """The numbers up to another in any order, or the rows of an array."""
    given = draw.bound("a", arguments, keywords)
    if "a" not in given:
        raise draw.refuse()
    read, count = draw.trace.look(given["a"]), _count(draw, given["a"])
    if not isinstance(read, DeviceArray):
        return draw.call("permutation", (given["a"],), {}, ((count,), np.dtype("l")))
    return indexing.subscript(draw.trace, read, _places(draw, count))


def _places(draw: Draw, count: Size) -> Symbol:
    """The permutation by which CuPy takes the rows of an array."""
    number = arrays.integer(draw.trace, count)
    return draw.call("permutation", (number,), {}, ((count,), np.dtype("l")))


def _shuffled(draw: Draw, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]) -> Symbol:
    """`a[:] = a[permutation]`."""
    given = draw.bound("a", arguments, keywords)
    if "a" not in given:
        raise draw.refuse()
    array = array_argument(draw.interpreter, given["a"], "random.shuffle")
    if array.buffer.visible:
        draw.trace.arrays.check_writable(array.buffer)
    taken = indexing.subscript(draw.trace, array, _places(draw, _count(draw, array)))
    devices.assign(draw.trace, devices.item(draw.trace, array, WHOLE_AXIS), taken)
    return NONE


def _chosen(draw: Draw, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]) -> Symbol:
    """Some of the numbers up to another, or of a vector, each of which may come again, or not."""
    given = draw.bound("a size replace p", arguments, keywords)
    replace = draw.trace.look(given.get("replace", Constant(True)))
    shape = draw.shape(given)
    comes_again = replace.value if isinstance(replace, Constant) else None
    if (
        "a" not in given
        or not is_none(draw.trace.look(given.get("p", NONE)))
        or not shape
        or type(comes_again) is not bool
    ):
        raise draw.refuse()
    read = draw.trace.look(given["a"])
    count = _count(draw, read)
    if not comes_again and not draw.trace.sizes.decide("le", arrays.total(shape), count):
        raise draw.refuse()
    if not isinstance(read, DeviceArray):
        return draw.call("choice", arguments, keywords, (shape, np.dtype("l")))
    if read.type.ndim != 1:
        raise draw.refuse()
    return draw.call("choice", arguments, keywords, (shape, read.type.dtype))


def _seeded(draw: Draw, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]) -> Symbol:
    """Begin anew from a whole number."""
    _check_seed(draw, arguments, keywords)
    return draw.call(SEED, arguments, keywords, None)


def _check_seed(draw: Draw, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]) -> None:
    """Break where a seed is neither left out nor a whole number that all take."""
    given = draw.bound("seed", arguments, keywords)
    if "seed" in given and not is_none(draw.trace.look(given["seed"])):
        seed = draw.whole(given["seed"])
        sizes = draw.trace.sizes
        is_large = isinstance(seed, int) and seed > MOST_SEED  # others have 64 bits
        if is_large or not sizes.decide("ge", seed, 0):
            raise draw.refuse()


def make(
    interpreter: Interpreter, name: str, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    """What each run makes anew: `RandomState(seed)`, `default_rng(seed)`, `XORWOW(seed)` and the like."""
    _check_seed(Draw(interpreter, name, None, ""), arguments, keywords)
    kind = (
        name if name in BIT_GENERATORS else CLASSES[STATE if name == CLASSES[STATE] else GENERATOR]
    )
    class_ = getattr(cupy().module.random, kind)
    return made(interpreter.trace, f"random.{name}", class_, arguments, keywords)


@function("random.default_rng")
def _default_rng(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
    return make(interpreter, "default_rng", arguments, keywords)


def is_whole(symbol: Symbol) -> bool:
    """Whether this is a whole number of Python's."""
    return isinstance(symbol, Constant) and type(symbol.value) is int


def make_of_bits(interpreter: Interpreter, arguments: Sequence[Symbol], named: Given) -> Symbol:
    """`Generator(bits)`, of bits that the graph has made: others could not be taken back."""
    trace = interpreter.trace
    bits = trace.look(arguments[0]) if len(arguments) == 1 and not named else None
    if not isinstance(bits, Instance) or bits.node is None or not _is_of_bits(bits.kind):
        raise GraphBreak("call", "a Generator of bits that the graph has not made")
    node = object_node(trace, bits, BITS, "Generator")
    call = {"function": MAKING + "random.Generator", "arguments": (0,), "keywords": ()}
    made = trace.graph.about_streams((node,), call | {"device": CUDA})
    return Instance(cupy().module.random.Generator, node=made)


def _is_of_bits(kind: type) -> bool:
    return kind.__name__ in BIT_GENERATORS


def _generated(draw: Draw, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]) -> Symbol:
    """What a Generator's distribution gives, as new memory."""
    names = GENERATED[draw.name]
    given = draw.bound(names, arguments, keywords)
    method = draw.trace.look(given.get("method", Constant("inv")))
    is_inverse = isinstance(method, Constant) and method.value == "inv"
    if not is_none(draw.trace.look(given.get("out", NONE))) or not is_inverse:
        raise draw.refuse()
    parameters = [key for key in names.split() if key not in ("size", "dtype", "method", "out")]
    shape = draw.shape_of(given, parameters, positive=False)
    if draw.name == "binomial" and is_whole(draw.trace.look(given["p"])):
        raise draw.refuse()  # it takes floats alone
    dtype = np.dtype("l") if draw.name in COUNTS else draw.dtype(given, "fd", "d")
    return draw.call(draw.name, arguments, keywords, (shape, dtype))


def _integers(draw: Draw, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]) -> Symbol:
    """A Generator's whole numbers between others, of which there are some, and no more than 32 bits have."""
    given = draw.bound(GENERATED[draw.name], arguments, keywords)
    endpoint = draw.trace.look(given.get("endpoint", Constant(False)))
    if "low" not in given or not isinstance(endpoint, Constant) or type(endpoint.value) is not bool:
        raise draw.refuse()
    low, high = draw.whole(given["low"]), None
    if "high" in given and not is_none(draw.trace.look(given["high"])):
        high = draw.whole(given["high"])
    if high is None:
        low, high = 0, low
    last, sizes = high if endpoint.value else high - 1, draw.trace.sizes
    dtype = draw.dtype(given, "bBhHiIlL", "l")
    draw.check_between(low, last, dtype)
    if not sizes.decide("le", low, last) or not sizes.decide("le", last - low, MOST_APART):
        raise draw.refuse()
    return draw.call(draw.name, arguments, keywords, (draw.shape(given), dtype))


def _given(trace: Trace, symbol: Symbol, inputs: list[Node]) -> Any:
    """An argument as calls have it; a class that stands for a dtype as that, which has a text."""
    found = argument(trace, symbol, inputs)
    is_class = isinstance(found, tuple) and found[0] == "const" and isinstance(found[1], type)
    return ("const", np.dtype(found[1])) if is_class else found


RULES: dict[str, OneDraw] = {
    **dict.fromkeys(LENGTHS, _of_lengths),
    "randint": _between,
    "permutation": _permuted,
    "shuffle": _shuffled,
    "choice": _chosen,
    SEED: _seeded,
}
for _name in NAMES:
    _rule = RULES.get(_name, _distribution)
    function(f"random.{_name}")(_rule_of(_name, _rule))
    function(f"random.{CLASSES[STATE]}.{_name}")(_rule_of(_name, _rule, STATE))
for _name in GENERATED:
    _rule = _integers if _name == "integers" else _generated
    function(f"random.{CLASSES[GENERATOR]}.{_name}")(_rule_of(_name, _rule, GENERATOR))
