"""Generator expressions that `sum`, `any`, `all`, `min`, `max` or `math.prod` goes over, read in the place of the call.

What a generator yields goes to what takes it at once, so both are one loop; variables of the function around are read
where the generator reads them. Such a call is done whole: where a number is in doubt, the turn around it is.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import VERSION, Instruction
from ufuse.frame_hook.library.numeric import COMPENSATES
from ufuse.frame_hook.nests.arrays import elementwise, extremes, making
from ufuse.frame_hook.nests.calls import inlining
from ufuse.frame_hook.nests.containers import keeping, made_lists, made_rows
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, ListPart, Numbers, Part, Row
from ufuse.frame_hook.nests.known.containers import (
    CellOf,
    MadeFunction,
    MadeList,
    MadeRows,
    OwnLists,
    RaggedRow,
    RangeOf,
)
from ufuse.frame_hook.nests.known.frames import LOST, RESULT, Function
from ufuse.frame_hook.nests.known.kinds import FLOAT, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Empty, Known, Number
from ufuse.frame_hook.nests.known.values import (
    CALLABLE,
    Generated,
    GridOf,
    Item,
    Items,
    Kind,
    Listed,
    MapOf,
    Turning,
    known_truth,
)
from ufuse.frame_hook.nests.numbers import arithmetic, complexes, conversions, either
from ufuse.frame_hook.nests.reading import operations
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import F64, I1, I64, Value
from ufuse.graph.records import record

CLOSURE = 8  # the flag of MAKE_FUNCTION, and the argument of SET_FUNCTION_ATTRIBUTE
NAME = "<genexpr>"
COMPREHENSIONS = "<listcomp>", "<dictcomp>", "<setcomp>"  # functions of their own up to 3.11
COMPENSATES_INTS = VERSION >= (3, 14)  # that are added to floats, too
NOT_MADE = "making a function with defaults is not compiled yet"
TAKES_NONE = "a generator is compiled only where sum, any, all, min, max or math.prod goes over it"


@record
class Consumer:
    """What takes the items of a generator: what an item is to it, and what it gives at the end.

    `start` is what it begins with, by default. `ways`: where control goes on, by the result (False, True), where that
    is no value on the stack.
    """

    take: Callable[[Reader, Item], None]
    end: Callable[[Reader], Item | None]  # None: the block was ended
    start: Item | None = None
    begins_list: bool = False  # it begins with an empty list, and makes it longer
    ways: tuple[int, int] | None = None


def _each(items: Iterable[object]) -> Iterator[object]:
    return (item for item in items)


EACH = MadeFunction(
    next(one for one in _each.__code__.co_consts if isinstance(one, types.CodeType)), (), None
)


# What such a call goes over as if a generator gave its items.
GONE_OVER = (
    Numbers, ListPart, MadeList, MadeRows, Row, Array, Part, Lazy, RangeOf, MapOf, GridOf, RaggedRow,
)  # fmt: skip


# Functions and generators -----------------------------------------------------------------------------------------


def make_function(reader: Reader, code: Item, cells: Item | None = None) -> MadeFunction:
    """A function of a code object, with the cells of its free variables."""
    assert isinstance(code, Known)
    found = cells.items if isinstance(cells, Items) else ()
    own = tuple(one for one in found if isinstance(one, CellOf))
    return MadeFunction(code.value, own, reader.frame.function)


def make_generator(function: MadeFunction, iterator: Item) -> Generated:
    """What a call of a generator expression's function gives."""
    if function.code.co_name != NAME:
        raise NotNativeError("a comprehension in a loop is not compiled yet")
    if not isinstance(iterator, Turning):
        raise NotNativeError("a generator goes over {item}, which is not followed", iterator)
    return Generated(function, iterator)


def is_gone_over(function: Any, arguments: list[Item]) -> bool:
    """Whether a call goes over a sequence of numbers: as over a generator of its items."""
    is_known = isinstance(function, CALLABLE) and function in CONSUMERS
    return is_known and bool(arguments) and isinstance(arguments[0], GONE_OVER)


def consume(
    reader: Reader, function: Any, arguments: list[Item], keywords: Mapping[str, Item]
) -> None:
    """Read on in the generator that a call goes over.

    Raises:
        NotNativeError: it is a call of what takes no generator here, or takes more.

    """
    generated, *others = arguments
    if is_gone_over(function, arguments):
        generated = Generated(EACH, reader.iterate(generated))
    starts = [*others, *(item for name, item in keywords.items() if name == "start")]
    consumer = CONSUMERS.get(function) if isinstance(function, CALLABLE) else None
    if (
        consumer is None
        or not isinstance(generated, Generated)
        or len(starts) != len(others) + len(keywords)
        or len(starts) > (consumer.start is not None)
        or (others and function is math.prod)  # it has to be named
    ):
        raise NotNativeError(TAKES_NONE)
    for one in starts:
        complexes.scalar(reader.out, one)  # others are an error even with nothing to add
    if consumer.begins_list:
        starts = [made_rows.begin(reader, ())]
    enter(reader, generated, consumer, reader.next, *starts)


def consume_in_test(reader: Reader, header: Instruction) -> None:
    """Read on in the generator of `any` or `all` whose turns are written out around them: from 3.14 on."""
    generated = reader.stack.pop()
    assert isinstance(generated, Generated)
    table = reader.frame.function.table
    following, ended = instructions.successors(header)
    jump = table[following + table[following].size]
    if table[following].opname != "TO_BOOL" or not jump.opname.startswith("POP_JUMP_IF"):
        raise NotNativeError("it goes over a generator")
    back, found = instructions.successors(jump)
    while table[back].opname == "NOT_TAKEN":
        back += table[back].size
    if instructions.successors(table[back]) != (header.position,):
        raise NotNativeError("it goes over a generator")
    stops_at_true = "IF_TRUE" in jump.opname
    ways = (ended, found) if stops_at_true else (found, ended)
    consumer = replace(CONSUMERS[any if stops_at_true else all], ways=ways)
    enter(reader, generated, consumer, header.position)


def enter(
    reader: Reader, generated: Generated, consumer: Consumer, back: int, start: Item | None = None
) -> None:
    """Read on in a generator; `back` is where its caller is when it ends."""
    code, cells = generated.function.code, generated.function.cells
    function = reader.generator(code, consumer)
    if code in (one.code for one in inlining.callers(reader.frame)):
        raise NotNativeError("a generator is within itself")
    items = [reader.content(generated.function.maker, one.slot) for one in cells]
    elementwise.settle(reader)
    caller = reader.version(back)
    kinds: dict[int, Kind] = {0: generated.iterator}
    first = len(instructions.slot_names(code)) - len(code.co_freevars)
    for slot, item in enumerate(items, first):
        kinds[slot] = keeping.keep(reader, function.variable(slot), item)
    start = start or consumer.start
    inlining.go_to(reader, function, kinds, caller)
    if start is not None:
        _set(reader, RESULT, start)
        _begin_compensation(reader)


def take(reader: Reader) -> None:
    """Give what a generator yields to what goes over it."""
    consumer = _consumer(reader.frame.function)
    consumer.take(reader, reader.stack.pop())
    if reader.out.is_open:
        reader.stack.append(Known(None))


def end(reader: Reader) -> None:
    """The generator has ended."""
    result = _consumer(reader.frame.function).end(reader)
    if result is not None:
        give(reader, result)


def _consumer(function: Function) -> Consumer:
    consumer: Consumer | None = function.consumer
    if consumer is None:
        raise NotNativeError("a generator's yield is not compiled yet")
    return consumer


def give(reader: Reader, result: Item) -> None:
    """End the call that goes over a generator, and the block."""
    ways = _consumer(reader.frame.function).ways
    caller = inlining.go_back(reader)
    if ways is None:
        reader.stack.append(result)
        reader.jump(caller.position)
        return
    truth = known_truth(result)
    assert truth is not None
    reader.stack.append(Empty())  # in the place of the iterator
    reader.jump(ways[truth])


def give_where(
    reader: Reader, condition: Value, result: Item | None = None, *, is_true: bool = True
) -> None:
    """End the call with a result, or what there is by now, where a condition is true, or false; read on where not."""
    out, frame = reader.out, reader.frame
    stops, goes_on = reader.new_label(), reader.new_label()
    ways = (stops, goes_on) if is_true else (goes_on, stops)
    out.end("branch", *ways, condition=condition)
    out.begin(stops)
    give(reader, result or result_so_far(reader))
    reader.frame = frame
    out.begin(goes_on)


# Consumers --------------------------------------------------------------------------------------------------------


def _variable(reader: Reader, name: str) -> int:
    return reader.frame.function.names.index(name)


def _get(reader: Reader, name: str) -> Item | None:
    slot = _variable(reader, name)
    kind = reader.slots.get(slot)
    if kind is None:
        return None
    return keeping.kept(reader, reader.frame.function.variable(slot), kind)


def _set(reader: Reader, name: str, item: Item) -> None:
    slot = _variable(reader, name)
    reader.slots[slot] = keeping.keep(reader, reader.frame.function.variable(slot), item)


def _kind(reader: Reader) -> Kind:
    """What the result is by now."""
    return reader.slots[_variable(reader, RESULT)]


def result_so_far(reader: Reader) -> Item:
    """What a call that goes over a generator has by now."""
    result = _get(reader, RESULT)
    assert result is not None
    return result


def set_result(reader: Reader, item: Item) -> None:
    """Set what it has by now."""
    _set(reader, RESULT, item)


def _begin_compensation(reader: Reader) -> None:
    """From here on `sum` adds floats in C, if it does."""
    if COMPENSATES and _is_plain_float(result_so_far(reader)):
        _set(reader, LOST, Number(FLOAT, reader.out.constant(F64, 0.0)))


def _folding(operator: str, start: Item, *, compensates: bool = False) -> Consumer:
    """`sum` or `math.prod`: the operator between what there is so far and each item."""

    def take_item(reader: Reader, item: Item) -> None:
        total = result_so_far(reader)
        if compensates and _is_plain_float(total):
            assert isinstance(total, Number)
            _add_compensated(reader, total, item)
        else:
            _set(reader, RESULT, _binary(reader, operator, total, item))
            _begin_compensation(reader)
        reader.has_sums = True
        reader.frame.function.sums.add(_kind(reader))

    def end_call(reader: Reader) -> Item | None:
        total, sums = result_so_far(reader), reader.frame.function.sums
        if reader.tries.doubts_nothing and sums and _kind(reader) not in sums:
            reader.go_to_doubt()
            return None
        return _compensated(reader, total) if compensates and _is_plain_float(total) else total

    return Consumer(take_item, end_call, start)


def _binary(reader: Reader, operator: str, total: Item, item: Item) -> Item:
    if elementwise.is_array(total) or elementwise.is_array(item):
        raise NotNativeError(
            "sums and products of arrays that a generator gives are not compiled yet"
        )
    if complexes.is_complex(total) or complexes.is_complex(item):
        if COMPENSATES_INTS:
            raise NotNativeError("sums and products of complex numbers are not compiled yet")
        return complexes.binary(reader.out, operator, total, item)
    return arithmetic.binary(reader.out, operator, total, item)


def _is_plain_float(item: Item) -> bool:
    """Whether `sum` adds to it in C: to a float of Python's."""
    if not isinstance(item, Number) or not item.type.is_real:
        return False
    if either.is_either(item):
        raise NotNativeError("a sum may be Python's float or NumPy's")
    return item.type == FLOAT


def _add_compensated(reader: Reader, total: Number, item: Item) -> None:
    """Add to a float as CPython does, from 3.12 on: what each addition rounds away is summed beside it."""
    out = reader.out
    if complexes.is_complex(item) or elementwise.is_array(item):
        raise NotNativeError("sums and products of several types are not compiled yet")
    one = conversions.number(out, item)
    if either.known(one).type.numpy:
        whole = _compensated(reader, total)
        _set(reader, RESULT, arithmetic.binary(out, "+", whole, one))
        return
    value, so_far = conversions.as_f64(out, one), total.value
    new = out.op("add", F64, so_far, value)
    if one.type == FLOAT or COMPENSATES_INTS:
        lost = _get(reader, LOST)
        assert isinstance(lost, Number)
        sizes = out.op("abs", F64, so_far), out.op("abs", F64, value)
        is_larger = out.op("fge", I1, *sizes)
        larger = out.op("select", F64, is_larger, so_far, value)
        smaller = out.op("select", F64, is_larger, value, so_far)
        rounded = out.op("add", F64, out.op("sub", F64, larger, new), smaller)
        _set(reader, LOST, Number(FLOAT, out.op("add", F64, lost.value, rounded)))
    _set(reader, RESULT, Number(FLOAT, new))


def _compensated(reader: Reader, total: Item) -> Number:
    """A sum with what was rounded away, where that is finite."""
    out, lost = reader.out, _get(reader, LOST)
    assert isinstance(total, Number)
    assert isinstance(lost, Number)
    zero, infinite = out.constant(F64, 0.0), out.constant(F64, math.inf)
    is_some = out.op("fne", I1, lost.value, zero)
    is_finite = out.op("flt", I1, out.op("abs", F64, lost.value), infinite)
    added = out.op("add", F64, total.value, lost.value)
    counts = out.op("and", I1, is_some, is_finite)
    return Number(FLOAT, out.op("select", F64, counts, added, total.value))


def _testing(stops_at: bool) -> Consumer:
    """`any` (it stops at True) or `all`."""

    def take_item(reader: Reader, item: Item) -> None:
        item = operations.truth(reader, item)
        known = known_truth(item)
        if known is not None:
            if known is stops_at:
                give(reader, Known(stops_at))
            return
        give_where(reader, conversions.truth(reader.out, item), Known(stops_at), is_true=stops_at)

    return Consumer(take_item, lambda _: Known(not stops_at))


def _choosing(function: Any) -> Consumer:
    """`min` or `max`."""

    def take_item(reader: Reader, item: Item) -> None:
        one, best = conversions.number(reader.out, item), _get(reader, RESULT)
        if best is None:
            _set(reader, RESULT, one)
            return
        assert isinstance(best, Number)
        _set(reader, RESULT, extremes.best_of_two(reader, function, best, one))

    def end_call(reader: Reader) -> Item | None:
        best = _get(reader, RESULT)
        if best is None:  # an error
            reader.go_to_doubt()
        return best

    return Consumer(take_item, end_call)


def _append(reader: Reader, item: Item) -> None:
    result = result_so_far(reader)
    assert isinstance(result, Listed | MadeList | MadeRows | OwnLists)
    made_rows.append(reader, result, item)


@functools.cache
def into_array(kind: np.dtype) -> Consumer:
    """`np.fromiter(items, kind, count)`: the number of items, or -1, lies in a variable."""

    def end_call(reader: Reader) -> Item | None:
        out, result, caller = reader.out, result_so_far(reader), reader.frame.caller
        if not isinstance(result, MadeList):
            raise NotNativeError("np.fromiter of nothing")
        assert caller is not None
        wanted = out.get(_count_variable(caller.function, caller.position), I64)
        length = made_lists.length(reader, result).value
        out.doubt_if(
            out.op("ieq", I1, length, out.constant(I64, 0))
        )  # NumPy's has strides of its own
        is_other = out.op("ine", I1, wanted, length)
        out.doubt_if(out.op("and", I1, out.op("ine", I1, wanted, out.constant(I64, -1)), is_other))
        return made_lists.as_array(reader, result, kind)

    return Consumer(_append, end_call, begins_list=True)


def _count_variable(function: Function, position: int) -> str:
    return f"{function.prefix}.count@{position}"


def from_iter(reader: Reader, arguments: list[Item], keywords: Mapping[str, Item]) -> None:
    """Read on in the generator or sequence that `np.fromiter` goes over."""
    names = ("iter", "dtype", "count")
    given = dict(zip(names, arguments, strict=False)) | dict(keywords)
    is_whole = len(given) == len(arguments) + len(keywords)
    if not is_whole or not {"iter", "dtype"} <= given.keys() <= set(names):
        raise NotNativeError("np.fromiter with such arguments is not compiled yet")
    items = given["iter"]
    generated = items if isinstance(items, Generated) else Generated(EACH, reader.iterate(items))
    count = conversions.number(reader.out, given.get("count", Known(-1)))
    if not count.type.is_whole:
        raise NotNativeError("np.fromiter of a number of items that is no int")
    variable = _count_variable(reader.frame.function, reader.next)
    reader.out.set(variable, conversions.as_i64(reader.out, count))
    consumer = into_array(making.dtype_of(given["dtype"], np.dtype(float)))
    enter(reader, generated, consumer, reader.next, made_rows.begin(reader, ()))


CONSUMERS: dict[Any, Consumer] = {
    sum: _folding("+", Known(0), compensates=COMPENSATES), math.prod: _folding("*", Known(1)),
    any: _testing(True), all: _testing(False), min: _choosing(min), max: _choosing(max),
    list: Consumer(_append, result_so_far, begins_list=True),
}  # fmt: skip
