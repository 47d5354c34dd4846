"""What each opcode does where a loop is read as a nest."""

from __future__ import annotations

import dis
from collections.abc import Callable

import numpy as np

from ufuse.frame_hook.code.instructions import COMMON_CONSTANTS, VERSION
from ufuse.frame_hook.nests.arrays import elementwise, making, reductions
from ufuse.frame_hook.nests.calls import generators, idioms, inlining, searches
from ufuse.frame_hook.nests.containers import (
    characters,
    dict_methods,
    fields,
    identity,
    lists,
    made_dicts,
    made_lists,
    made_rows,
    object_lists,
    own_lists,
    removals,
    tuples,
)
from ufuse.frame_hook.nests.known.values import (
    BOOL,
    Array,
    CellOf,
    Character,
    Empty,
    Generated,
    Item,
    Items,
    Known,
    Lazy,
    Listed,
    MadeDict,
    MadeFunction,
    MadeList,
    MadeRows,
    NewDict,
    NotNativeError,
    Number,
    OwnGroups,
    OwnList,
    Part,
    SliceOf,
    constant,
    known_truth,
)
from ufuse.frame_hook.nests.loops import dispatch, splitting
from ufuse.frame_hook.nests.numbers import arithmetic, complexes, conversions
from ufuse.frame_hook.nests.reading.operations import CONTAINS, ELEMENT, STORE, UNPACKED, truth
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.frame_hook.opcodes.operators import AS_BOOL, COMPARISONS, OPERATOR_SHIFT

INTRINSIC_POSITIVE = 5
# How objects are compared by identity, and whether that is inverted; by the names of COMPARISONS.
IDENTITY = {"eq": False, "ne": True}
Handler = Callable[["Reader", int], None]
HANDLERS: dict[str, Handler] = {}


def reads(names: str) -> Callable[[Handler], Handler]:
    """Register what reads some opcodes."""

    def register(handler: Handler) -> Handler:
        for name in names.split():
            assert name not in HANDLERS, name
            HANDLERS[name] = handler
        return handler

    return register


@reads("NOP CACHE RESUME PRECALL NOT_TAKEN EXTENDED_ARG COPY_FREE_VARS MAKE_CELL")
def _nothing(_: Reader, __: int) -> None:
    return


@reads("POP_TOP POP_ITER")
def _pop(reader: Reader, _: int) -> None:
    item = reader.stack.pop()
    if isinstance(item, Lazy):
        elementwise.computed(reader, item)
    else:
        object_lists.doubt_dropped(reader, item)


@reads("PUSH_NULL")
def _push_null(reader: Reader, _: int) -> None:
    reader.stack.append(Empty())


@reads("COPY")
def _copy(reader: Reader, arg: int) -> None:
    if isinstance(reader.stack[-arg], Generated):
        raise NotNativeError("it keeps a generator")
    if isinstance(reader.stack[-arg], Lazy | Items):  # used twice, computed once
        elementwise.settle(reader)
    item = reader.stack[-arg]
    if not _is_key_of_augmented(reader):  # who reads an item does not keep its key
        reader.stack[-arg] = identity.shared(item)
    reader.stack.append(identity.shared(item))


def _is_key_of_augmented(reader: Reader) -> bool:
    """Whether a key is copied to read the item that an augmented assignment sets behind that."""
    rows = list(reader.frame.function.table.values())
    at = rows.index(reader.at)
    before, following = rows[at - 1], rows[at + 1]
    return (before.opname, before.arg) == ("COPY", 2) and (
        following.opname == "BINARY_SUBSCR"
        or (following.opname == "BINARY_OP" and dis._nb_ops[following.arg or 0][1] == "[]")  # type: ignore[attr-defined]
    )


@reads("SWAP")
def _swap(reader: Reader, arg: int) -> None:
    stack = reader.stack
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


@reads("LOAD_CONST")
def _load_const(reader: Reader, arg: int) -> None:
    reader.stack.append(constant(reader.code.co_consts[arg]))


@reads("LOAD_COMMON_CONSTANT")
def _load_common_constant(reader: Reader, which: int) -> None:
    """From 3.14 on."""
    reader.stack.append(Known(COMMON_CONSTANTS[which]))


@reads("LOAD_SMALL_INT")
def _load_small_int(reader: Reader, arg: int) -> None:
    reader.stack.append(Known(arg))


@reads("LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_BORROW")
def _load_fast(reader: Reader, slot: int) -> None:
    if slot in reader.frame.function.cells:  # from 3.13 on
        reader.stack.append(CellOf(slot))
    else:
        reader.load(slot)


@reads("LOAD_FAST_AND_CLEAR")
def _load_fast_and_clear(reader: Reader, slot: int) -> None:
    """What a comprehension hides: from 3.12 on."""
    if slot in reader.slots:
        reader.load(slot)
        del reader.slots[slot]
    else:
        reader.stack.append(Empty())


@reads("LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _load_fast_load_fast(reader: Reader, arg: int) -> None:
    _load_fast(reader, arg >> 4)
    if reader.out.is_open:
        _load_fast(reader, arg & 15)


@reads("STORE_FAST")
def _store_fast(reader: Reader, slot: int) -> None:
    reader.store(slot)


@reads("STORE_FAST_LOAD_FAST")
def _store_fast_load_fast(reader: Reader, arg: int) -> None:
    reader.store(arg >> 4)
    _load_fast(reader, arg & 15)


@reads("STORE_FAST_STORE_FAST")
def _store_fast_store_fast(reader: Reader, arg: int) -> None:
    reader.store(arg >> 4)
    reader.store(arg & 15)


@reads("BINARY_OP")
def _binary_op(reader: Reader, arg: int) -> None:
    name = dis._nb_ops[arg][1]  # type: ignore[attr-defined]
    right, left = reader.stack.pop(), reader.stack.pop()
    if name == "[]":
        _push_element(reader, left, right)
    else:
        reader.stack.append(_computed(reader, name, left, right))


def _push_element(reader: Reader, container: Item, key: Item) -> None:
    """Push `container[key]`."""
    found = ELEMENT(reader, container, key)
    if found is not None:
        reader.stack.append(found)


def _computed(reader: Reader, name: str, left: Item, right: Item) -> Item:
    operator = name.rstrip("=")
    if elementwise.is_array(left) and isinstance(right, Items | Listed) and operator != "@":
        right = making.array(reader, right)
    if not (elementwise.is_array(left) or elementwise.is_array(right)):
        if complexes.is_complex(left) or complexes.is_complex(right):
            return complexes.binary(reader.out, operator, left, right)
        if name == "*" and isinstance(left, Listed | MadeList):
            return made_lists.repeated(reader, left, right)
        if name == "*" and isinstance(right, Listed | MadeList):
            return made_lists.repeated(reader, right, left)
        return arithmetic.binary(reader.out, operator, left, right)
    if name == "@":
        return reductions.product(reader, "matmul", left, right)
    if name != operator and isinstance(left, Array | Part | Lazy):
        array = elementwise.computed(reader, left)
        elementwise.update(reader, operator, array, right)
        return array
    return elementwise.binary(reader, operator, left, right)


@reads("BINARY_SUBSCR")
def _binary_subscr(reader: Reader, _: int) -> None:
    key, container = reader.stack.pop(), reader.stack.pop()
    _push_element(reader, container, key)


@reads("BINARY_SLICE")
def _binary_slice(reader: Reader, _: int) -> None:
    stop, start, container = reader.stack.pop(), reader.stack.pop(), reader.stack.pop()
    _push_element(reader, container, SliceOf(start, stop, Known(None)))


@reads("STORE_SLICE")
def _store_slice(reader: Reader, _: int) -> None:
    stop, start, container = reader.stack.pop(), reader.stack.pop(), reader.stack.pop()
    key = SliceOf(start, stop, Known(None))
    STORE(reader, container, key, reader.stack.pop())


@reads("BUILD_SLICE")
def _build_slice(reader: Reader, count: int) -> None:
    step = reader.stack.pop() if count == 3 else Known(None)
    stop, start = reader.stack.pop(), reader.stack.pop()
    reader.stack.append(SliceOf(start, stop, step))


@reads("STORE_SUBSCR")
def _store_subscr(reader: Reader, _: int) -> None:
    key, container, item = reader.stack.pop(), reader.stack.pop(), reader.stack.pop()
    STORE(reader, container, key, item)


@reads("BUILD_TUPLE")
def _build_tuple(reader: Reader, count: int) -> None:
    items = tuple(reader.stack[len(reader.stack) - count :])
    del reader.stack[len(reader.stack) - count :]
    for item in items:  # of a tuple no more than its length may be asked
        object_lists.doubt_dropped(reader, item)
    reader.stack.append(Items(items))


@reads("BUILD_LIST")
def _build_list(reader: Reader, count: int) -> None:
    _build_tuple(reader, count)
    items = reader.stack.pop()
    assert isinstance(items, Items)
    reader.stack.append(made_rows.begin(reader, items.items))


@reads("BUILD_MAP")
def _build_map(reader: Reader, count: int) -> None:
    items = reader.stack[len(reader.stack) - 2 * count :]
    del reader.stack[len(reader.stack) - 2 * count :]
    pairs = list(zip(items[::2], items[1::2], strict=True))
    reader.stack.append(dict_methods.with_entries(reader, pairs))


@reads("BUILD_CONST_KEY_MAP")
def _build_const_key_map(reader: Reader, count: int) -> None:
    """Up to 3.13."""
    keys = reader.stack.pop()
    values = reader.stack[len(reader.stack) - count :]
    del reader.stack[len(reader.stack) - count :]
    assert isinstance(keys, Items)
    reader.stack.append(
        dict_methods.with_entries(reader, list(zip(keys.items, values, strict=True)))
    )


@reads("BUILD_SET")
def _build_set(reader: Reader, count: int) -> None:
    items = reader.stack[len(reader.stack) - count :]
    del reader.stack[len(reader.stack) - count :]
    found = made_dicts.begin(reader, is_set=True)
    for one in items:
        made_dicts.add(reader, found, one)
    reader.stack.append(found)


@reads("MAP_ADD")
def _map_add(reader: Reader, depth: int) -> None:
    """Of a comprehension."""
    item, key = reader.stack.pop(), reader.stack.pop()
    made_dicts.store(reader, _grown(reader, depth), key, item)


@reads("SET_ADD")
def _set_add(reader: Reader, depth: int) -> None:
    """The same of a set."""
    key = reader.stack.pop()
    made_dicts.add(reader, _grown(reader, depth), key)


@reads("DELETE_SUBSCR")
def _delete_subscr(reader: Reader, _: int) -> None:
    key, container = reader.stack.pop(), reader.stack.pop()
    if not isinstance(container, NewDict | MadeDict) or made_dicts.is_set(container):
        raise NotNativeError("del of an item is compiled for dicts that the loop makes alone")
    removals.delete(reader, container, key)


def _grown(reader: Reader, depth: int) -> NewDict | MadeDict:
    """The dict or set that a comprehension makes."""
    found = reader.on_stack(depth)
    if not isinstance(found, NewDict | MadeDict):
        raise NotNativeError("making a dict or set is not compiled yet")
    return found


@reads("LIST_EXTEND")
def _list_extend(reader: Reader, depth: int) -> None:
    """Of constants: a list of three or more."""
    items = reader.stack.pop()
    before = reader.stack[-depth]
    if not isinstance(items, Items) or not isinstance(before, Listed | MadeList | MadeRows):
        raise NotNativeError("making a list is not compiled yet")
    if isinstance(before, Listed):
        reader.stack[-depth] = Listed(before.items + items.items, before.site)
        return
    for one in items.items:
        made_rows.append(reader, before, one)


@reads("LIST_APPEND")
def _list_append(reader: Reader, depth: int) -> None:
    """Of a comprehension."""
    item = reader.stack.pop()
    lists.append(reader, reader.on_stack(depth), item)


@reads("UNPACK_SEQUENCE")
def _unpack_sequence(reader: Reader, count: int) -> None:
    one = reader.stack.pop()
    reader.stack += reversed(UNPACKED(reader, one, count))


@reads("COMPARE_OP")
def _compare_op(reader: Reader, arg: int) -> None:
    right, left = (characters.known(reader, reader.stack.pop()) for _ in range(2))
    name = COMPARISONS[dis.cmp_op[arg >> OPERATOR_SHIFT]]
    if name in IDENTITY and (same := object_lists.is_equal(reader, left, right, name)) is not None:
        _push_truth(reader, same, is_inverted=IDENTITY[name])
        return
    if (of_text := characters.compare(reader.out, name, left, right)) is not None:
        reader.stack.append(of_text)
        return
    if elementwise.is_array(left) or elementwise.is_array(right):
        reader.stack.append(elementwise.binary(reader, name, left, right))
        return
    if isinstance(left, Items) and isinstance(right, Items):
        tuples.refuse_unlike(left, right)
    if name in IDENTITY and isinstance(left, Items) and isinstance(right, Items):
        _push_truth(reader, tuples.are_equal(reader, left, right), is_inverted=IDENTITY[name])
        return
    if isinstance(left, Items) and isinstance(right, Items):
        if not arg & AS_BOOL and not splitting.is_tested(reader):
            raise NotNativeError("it keeps what a comparison of tuples gives")
        reader.stack.append(tuples.in_order(reader, name, left, right))
        return
    idioms.check_compared(reader, left, right)
    if (known := arithmetic.known_comparison(name, left, right)) is not None:
        reader.stack.append(Known(known))
        return
    if complexes.is_complex(left) or complexes.is_complex(right):
        found = complexes.compare(reader.out, name, left, right)
    elif arg & AS_BOOL or splitting.is_tested(reader):
        found = arithmetic.compare_truth(reader.out, name, left, right)
    else:
        found = arithmetic.compare(reader.out, name, left, right)
    reader.stack.append(Number(BOOL, found.value) if arg & AS_BOOL else found)


@reads("TO_BOOL")
def _to_bool(reader: Reader, _: int) -> None:
    item = truth(reader, reader.stack.pop())
    if (known := known_truth(item)) is not None:
        reader.stack.append(Known(known))
    else:
        reader.stack.append(Number(BOOL, conversions.truth(reader.out, item)))


@reads("UNARY_NOT")
def _unary_not(reader: Reader, _: int) -> None:
    item = truth(reader, reader.stack.pop())
    if (known := known_truth(item)) is not None:
        reader.stack.append(Known(not known))
    else:
        reader.stack.append(arithmetic.inverse_truth(reader.out, item))


@reads("UNARY_NEGATIVE")
def _unary_negative(reader: Reader, _: int) -> None:
    item = reader.stack.pop()
    if elementwise.is_array(item):
        reader.stack.append(elementwise.apply(reader, np.negative, item))
    elif complexes.is_complex(item):
        reader.stack.append(complexes.negative(reader.out, item))
    else:
        reader.stack.append(arithmetic.negative(reader.out, item))


@reads("UNARY_POSITIVE")
def _unary_positive(reader: Reader, _: int) -> None:
    reader.stack.append(arithmetic.positive(reader.out, reader.stack.pop()))


@reads("CALL_INTRINSIC_1")
def _call_intrinsic(reader: Reader, which: int) -> None:
    """From 3.12 on."""
    if which != INTRINSIC_POSITIVE:
        raise NotNativeError("it does what is not compiled yet")
    reader.stack.append(arithmetic.positive(reader.out, reader.stack.pop()))


@reads("UNARY_INVERT")
def _unary_invert(reader: Reader, _: int) -> None:
    item = reader.stack.pop()
    if elementwise.is_array(item):
        reader.stack.append(elementwise.apply(reader, np.invert, item))
    else:
        reader.stack.append(arithmetic.invert(reader.out, item))


@reads("LOAD_GLOBAL")
def _load_global(reader: Reader, arg: int) -> None:
    value = reader.global_value(reader.code.co_names[arg >> 1])
    pair = [Empty(), value] if VERSION < (3, 13) else [value, Empty()]
    reader.stack += pair if arg & 1 else [value]


@reads("LOAD_DEREF")
def _load_deref(reader: Reader, slot: int) -> None:
    reader.load_around(slot)


@reads("STORE_DEREF")
def _store_deref(reader: Reader, slot: int) -> None:
    if slot not in reader.frame.function.own_cells:
        raise NotNativeError("assigning to a variable of the function around is not compiled yet")
    reader.store(slot)


@reads("LOAD_CLOSURE")
def _load_closure(reader: Reader, slot: int) -> None:
    reader.stack.append(CellOf(slot))


@reads("MAKE_FUNCTION")
def _make_function(reader: Reader, flags: int) -> None:
    code = reader.stack.pop()
    has_cells = VERSION < (3, 13) and flags == generators.CLOSURE
    if VERSION < (3, 13) and flags and not has_cells:
        raise NotNativeError(generators.NOT_MADE)
    cells = reader.stack.pop() if has_cells else None
    reader.stack.append(generators.make_function(reader, code, cells))


@reads("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(reader: Reader, which: int) -> None:
    function, cells = reader.stack.pop(), reader.stack.pop()
    assert isinstance(function, MadeFunction)
    if which != generators.CLOSURE:
        raise NotNativeError(generators.NOT_MADE)
    reader.stack.append(generators.make_function(reader, Known(function.code), cells))


@reads("RETURN_GENERATOR")
def _return_generator(reader: Reader, _: int) -> None:
    """What follows is read when it is resumed, which is at once."""
    reader.stack.append(Known(None))


@reads("YIELD_VALUE")
def _yield_value(reader: Reader, _: int) -> None:
    generators.take(reader)


@reads("LOAD_ATTR LOAD_METHOD")
def _load_attr(reader: Reader, arg: int) -> None:
    method = reader.at.opname == "LOAD_METHOD" or (VERSION >= (3, 12) and arg & 1)
    name = reader.code.co_names[arg >> 1 if VERSION >= (3, 12) else arg]
    if (getter := dispatch.getter(reader, reader.stack[-1], name)) is not None:
        if method:
            raise NotNativeError("it calls what a property gives")
        inlining.enter(reader, getter, [reader.stack.pop()], {})
        return
    value = dispatch.attribute(reader, reader.stack.pop(), name)
    pair = [Empty(), value] if VERSION < (3, 13) else [value, Empty()]
    reader.stack += pair if method else [value]


@reads("STORE_ATTR")
def _store_attr(reader: Reader, arg: int) -> None:
    owner, item = reader.stack.pop(), reader.stack.pop()
    fields.store(reader, owner, reader.code.co_names[arg], item)


@reads("GET_ITER")
def _get_iter(reader: Reader, _: int) -> None:
    reader.stack.append(reader.iterate(reader.stack.pop()))


@reads("KW_NAMES")
def _kw_names(reader: Reader, arg: int) -> None:
    reader.keywords = reader.code.co_consts[arg]


@reads("CALL")
def _call(reader: Reader, count: int) -> None:
    names, reader.keywords = reader.keywords, ()
    _call_named(reader, count, names)


@reads("CALL_KW")
def _call_kw(reader: Reader, count: int) -> None:
    names = reader.stack.pop()
    assert isinstance(names, Items)
    _call_named(reader, count, tuple(one.value for one in names.items if isinstance(one, Known)))


@reads("CALL_FUNCTION_EX")
def _call_spread(reader: Reader, flags: int) -> None:
    """`f(*arguments)`, of a tuple whose length is known; keywords are not followed."""
    stack = reader.stack
    keywords = stack.pop() if VERSION >= (3, 14) or flags & 1 else Empty()
    arguments = stack.pop()
    if not isinstance(keywords, Empty) or not isinstance(arguments, Items):
        raise NotNativeError("a call with *arguments is not compiled yet")
    stack += arguments.items
    _call_named(reader, len(arguments.items), ())


def _call_named(reader: Reader, count: int, names: tuple[str, ...]) -> None:
    """Below the arguments stand a function and the NULL beside it; a method and its `self` are not followed."""
    stack = reader.stack
    arguments = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    pair = [stack.pop(), stack.pop()]
    functions = [one for one in pair if not isinstance(one, Empty)]
    if count == 0 and isinstance(pair[1], MadeFunction) and not isinstance(pair[0], Empty):
        if pair[1].code.co_name in generators.COMPREHENSIONS:
            inlining.enter_made(reader, pair[1], pair[:1], {})
        else:
            reader.stack.append(generators.make_generator(pair[1], pair[0]))
        return
    if len(functions) != 1:
        raise NotNativeError("calls of methods are not compiled yet")
    positional = count - len(names)
    keywords = dict(zip(names, arguments[positional:], strict=True))
    dispatch.call(reader, functions[0], arguments[:positional], keywords, reader.next)


@reads("RETURN_VALUE")
def _return_value(reader: Reader, _: int) -> None:
    reader.leave(reader.stack.pop())


@reads("RETURN_CONST")
def _return_const(reader: Reader, arg: int) -> None:
    _load_const(reader, arg)
    reader.leave(reader.stack.pop())


def _push_truth(reader: Reader, item: Item, *, is_inverted: bool) -> None:
    if isinstance(item, Known):
        reader.stack.append(Known(item.value is not is_inverted))
    else:
        reader.stack.append(arithmetic.inverse_truth(reader.out, item) if is_inverted else item)


@reads("IS_OP")
def _is_op(reader: Reader, is_inverted: int) -> None:
    """Of None and of functions: numbers are made anew."""
    pair = reader.stack.pop(), reader.stack.pop()
    if (same := object_lists.is_same(reader, *pair)) is not None:
        _push_truth(reader, same, is_inverted=bool(is_inverted))
        return
    for one in pair:
        object_lists.doubt_dropped(reader, one)
    nones = [isinstance(one, Known) and one.value is None for one in pair]
    functions = [one.value for one in pair if isinstance(one, Known) and callable(one.value)]
    if len(functions) == len(pair):
        reader.stack.append(Known((functions[0] is functions[1]) is not bool(is_inverted)))
        return
    if not any(nones):
        raise NotNativeError("it asks whether two numbers are one object")
    reader.stack.append(Known(all(nones) is not bool(is_inverted)))


@reads("CONTAINS_OP")
def _contains_op(reader: Reader, is_inverted: int) -> None:
    """`item in items`: one after another is compared."""
    container, item = (characters.known(reader, reader.stack.pop()) for _ in range(2))
    if isinstance(container, Known) and type(container.value) is frozenset:
        container = Items(tuple(map(Known, container.value)))
    if isinstance(item, Character) and not isinstance(container, NewDict | MadeDict | OwnGroups):
        found = characters.contains(reader, container, item)
        reader.stack.append(arithmetic.inverse_truth(reader.out, found) if is_inverted else found)
        return
    container = fields.members(container)
    if isinstance(container, OwnList):
        container = own_lists.seen(reader, container)
    if CONTAINS.rule(container) is not None:
        _push_truth(reader, CONTAINS(reader, container, item), is_inverted=bool(is_inverted))
        return
    if searches.is_searched(container):
        searches.contains(reader, container, item, is_inverted=bool(is_inverted))
        return
    if not isinstance(container, Items):
        raise NotNativeError("it looks for an item in what is no tuple")
    if (known := _known_contains(container, item)) is not None:
        reader.stack.append(Known(known is not bool(is_inverted)))
        return
    found = arithmetic.contains(reader.out, container, item)
    reader.stack.append(arithmetic.inverse_truth(reader.out, found) if is_inverted else found)


def _known_contains(container: Items, item: Item) -> bool | None:
    """Whether a text equals an item of a tuple of plain constants; None: it is no such case."""
    if not isinstance(item, Known) or type(item.value) is not str:
        return None
    known = [one.value for one in container.items if isinstance(one, Known)]
    is_plain = len(known) == len(container.items) and all(
        type(one) in characters.PLAIN for one in known
    )
    return item.value in known if is_plain else None
