"""Loops over several axes, the last turning first: `itertools.product`, `np.ndindex`, `X.flat`, `np.ndenumerate`.

Each axis has two variables, `place` and `length`; in a turn they go on to what the next one gives. Those of the
outermost loop follow from how many turns its iterator has done.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.nests.arrays import elements, elementwise, views
from ufuse.frame_hook.nests.containers import keeping, made_lists
from ufuse.frame_hook.nests.given import attributes
from ufuse.frame_hook.nests.given.outside import Outside
from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Numbers, Part
from ufuse.frame_hook.nests.known.containers import MadeList, RangeOf, Thing
from ufuse.frame_hook.nests.known.integers import range_length
from ufuse.frame_hook.nests.known.kinds import INT, NotNativeError, ViewKind
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import (
    MOST_MEMBERS,
    Elements,
    Grid,
    GridOf,
    Item,
    Items,
    Stepped,
    Together,
    TurnKind,
    Whole,
)
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.frame_hook.objects.classes import class_member, guard_member, uses_plain
from ufuse.frame_hook.trace.symbols import Source, Unread
from ufuse.graph.nest_types import I1, I64, MAP_AXES, Value

# Classes of NumPy's that are written in Python around a product or flatiter: where an instance has that.
WRAPPERS: dict[type, str] = {np.ndindex: "_iter", np.ndenumerate: "iter"}
METHODS = ("__init__", "__iter__", "__next__")
# Their methods as NumPy made them, and the code of these: a program may replace both.
OWN = {(kind, name): vars(kind)[name] for kind in WRAPPERS for name in METHODS}
CODES = {key: function.__code__ for key, function in OWN.items()}
ONCE = Known(1)


# The iterator of the frame ----------------------------------------------------------------------------------------


def goes_over(iterator: object) -> bool:
    """Whether an iterator is of such a type."""
    return type(iterator) in WRAPPERS or type(iterator) in (itertools.product, np.flatiter)


def turns(iterator: object) -> tuple[int, int] | None:
    """How many turns such an iterator has left, and in all; None: no nest goes over it."""
    if type(iterator) in WRAPPERS:
        iterator = _hook.attribute_value(iterator, WRAPPERS[type(iterator)])
    over = _hook.iterated(iterator)
    if type(iterator) is itertools.product:
        fits = type(over) is tuple and 1 <= len(over) <= MAP_AXES
    else:
        fits = type(iterator) is np.flatiter and type(over) is np.ndarray and over.ndim > 0
    return _hook.grid_turns(iterator) if fits else None


def outermost(outside: Outside, source: Source, iterator: Any) -> tuple[Grid, str, int]:
    """What a turn of the outermost loop gives, the kind of the iterator's slot, and its register.

    Raises:
        NotNativeError: no nest goes over it.

    """
    kind = type(iterator)
    if kind in WRAPPERS:
        source, iterator = _wrapped(outside, source, iterator)
    if turns(iterator) is None:
        raise NotNativeError(f"it goes over a {kind.__name__} of another form")
    loaded, over = outside.iterated(source, iterator)
    if type(iterator) is np.flatiter:
        holder = outside.array(loaded, over)
        axes: tuple[TurnKind, ...] = (Whole(),) * over.ndim
        grid = Grid(axes, holder, gives_places=kind is np.ndenumerate, is_given=True)
        return grid, "flat", source.register
    pools = [outside.numbers(*one) for one in outside.items(loaded, over)]
    axes = tuple(Elements(pool.holder, 0) for pool in pools)
    return Grid(axes, is_given=True), "product", source.register


def _wrapped(outside: Outside, source: Source, iterator: Any) -> tuple[Source, Any]:
    """What an instance of one of NumPy's classes goes over, while it and its class are as NumPy made them."""
    kind = type(iterator)
    outside.trace.guards.check("TYPE", source, kind)
    check_class(outside, kind)
    found = attributes.of(outside, Thing(source, iterator), WRAPPERS[kind])
    if not isinstance(found, Unread) or type(found.value) in WRAPPERS:
        raise NotNativeError(f"it goes over a {kind.__name__} that is not as NumPy made it")
    outside.goes_over(found.source, found.value)
    return found.source, found.value


def check_class(outside: Outside, kind: type) -> None:
    """Guard that instances of one of NumPy's classes do what they did when NumPy made it.

    Raises:
        NotNativeError: they do not.

    """
    trace = outside.trace
    is_own = uses_plain(trace, kind, "__getattribute__", object.__getattribute__)
    for name in METHODS:
        found, symbol = class_member(trace, kind, name)
        is_own = is_own and found is OWN[kind, name] and found.__code__ is CODES[kind, name]
        if not is_own:
            raise NotNativeError(
                f"it goes over a {kind.__name__}, whose class is not as NumPy made it"
            )
        guard_member(trace, found, symbol)
        outside.item(symbol)
        called = outside.called(found)
        if name == "__next__" and outside.name(called, "next") != Known(next):
            raise NotNativeError(f"it goes over a {kind.__name__} while next() is replaced")


def begin_places(reader: Reader, kind: TurnKind, name: str) -> None:
    """Set the places of the outermost loop, as the nest begins, by the turns that its iterators have done."""
    if isinstance(kind, Together):
        for part, one in kind.parts:
            begin_places(reader, one, f"{name}.{part}")
    if not isinstance(kind, Grid):
        return
    out = reader.out
    rest = out.get(f"{name}.next", I64)
    for axis, one in reversed(list(enumerate(kind.axes))):
        holder = one.holder if isinstance(one, Elements) else kind.holder
        assert holder is not None
        length = reader.length(holder, 0 if isinstance(one, Elements) else axis).value
        out.set(f"{name}.{axis}.length", length)
        out.set(f"{name}.{axis}.place", out.op("mod", I64, rest, length) if axis else rest)
        rest = out.op("floordiv", I64, rest, length) if axis else rest


# What the loop makes ----------------------------------------------------------------------------------------------


def product_of(reader: Reader, pools: Sequence[Item], repeat: Item = ONCE) -> Item:
    """`itertools.product(*pools, repeat=repeat)`: a tuple of tuples where members of some pool are known."""
    times = repeat.value if isinstance(repeat, Known) else None
    if type(times) is not int or not 1 <= times * len(pools) <= MAP_AXES:
        raise NotNativeError("it goes over a product of too many pools, or of none")
    members = [one.items for one in pools if isinstance(one, Items)]
    if len(members) == len(pools) and math.prod(map(len, members)) ** times <= MOST_MEMBERS:
        return Items(tuple(map(Items, itertools.product(*members, repeat=times))))
    return GridOf(tuple(_pool(reader, one) for one in pools) * times)


def _pool(reader: Reader, pool: Item) -> Item:
    """What a product goes over: it takes the items at once, which may change before they are given."""
    if isinstance(pool, RangeOf):
        return pool
    if isinstance(pool, Numbers) and type(reader.outside.sequences[pool.holder.slot]) is tuple:
        return pool
    return made_lists.copied(reader, pool)


def elements_of(reader: Reader, array: Item, *, gives_places: bool) -> GridOf:
    """`array.flat`, or `np.ndenumerate(array)`."""
    if not isinstance(array, Array | Part | Lazy):
        raise refusals.not_of("goes over all elements of", array, "array")
    array = elementwise.computed(reader, array)
    if isinstance(array, Array):
        axes = range(len(array.indices), len(reader.seen(array.holder)))
        lengths = [reader.length(array.holder, axis).value for axis in axes]
    else:
        lengths = [one.value for one in array.lengths]
    zero, step = reader.out.constant(I64, 0), reader.out.constant(I64, 1)
    return GridOf(tuple(RangeOf(zero, one, step) for one in lengths), array, gives_places)


def begin(reader: Reader, item: GridOf, name: str) -> tuple[Grid, Value]:
    """Set the variables of an inner loop; what a turn gives, and how many there are."""
    out = reader.out
    array, left = item.array, out.constant(I64, 1)
    axes: list[TurnKind] = []
    for axis, pool in enumerate(item.pools):
        kind, length = _axis(reader, pool, f"{name}.{axis}")
        out.set(f"{name}.{axis}.place", out.constant(I64, 0))
        out.set(f"{name}.{axis}.length", length)
        left = length if axis == 0 else out.op("mul", I64, left, length)
        axes.append(kind)
    if array is None:
        return Grid(tuple(axes)), left
    if isinstance(array, Part):
        view = keeping.keep(reader, f"{name}.view", array)
        assert isinstance(view, ViewKind)
        return Grid(tuple(axes), view=view, gives_places=item.gives_places), left
    elements.doubt_no_row(reader, array)
    for axis, index in enumerate(array.indices):
        out.set(f"{name}[{axis}]", index)
    grid = Grid(
        tuple(axes), array.holder, indices=len(array.indices), gives_places=item.gives_places
    )
    return grid, left


def _axis(reader: Reader, pool: Item, name: str) -> tuple[TurnKind, Value]:
    """What an axis gives, and how long it is."""
    if isinstance(pool, Numbers | MadeList):
        return Elements(pool.holder, 0), reader.length(pool.holder, 0).value
    assert isinstance(pool, RangeOf)
    out = reader.out
    start, step = out.known(pool.start), out.known(pool.step)
    if start is None:
        out.set(f"{name}.start", pool.start)
    if step is None:
        out.set(f"{name}.step", pool.step)
    is_plain = (start, step) == (0, 1)
    kind = Whole() if is_plain else Stepped(start, step)
    return kind, range_length(out, pool.start, pool.stop, pool.step)


# A turn -----------------------------------------------------------------------------------------------------------


def given(reader: Reader, grid: Grid, name: str) -> Item:
    """What a turn gives; go on to the next one."""
    out = reader.out
    names = [f"{name}.{axis}" for axis in range(len(grid.axes))]
    places = [out.get(f"{one}.place", I64) for one in names]
    _go_on(reader, grid, names, places)
    if grid.is_given:
        following = out.op("add", I64, out.get(f"{name}.next", I64), out.get(f"{name}.step", I64))
        out.set(f"{name}.next", following)
    numbers = Items(tuple(map(_number, repeat(reader), grid.axes, names, places)))
    if grid.view is not None:
        element = elements.element(reader, views.kept(reader, grid.view), numbers)
    elif grid.holder is not None:
        indices = (out.get(f"{name}[{axis}]", I64) for axis in range(grid.indices))
        element = elements.part(reader, grid.holder, (*indices, *places))
    else:
        return numbers
    return Items((numbers, element)) if grid.gives_places else element


def _go_on(reader: Reader, grid: Grid, names: list[str], places: list[Value]) -> None:
    """Set the places of the next turn: behind the end of an axis it begins anew, and the one before it goes on."""
    out = reader.out
    more = out.constant(I64, 1)
    for axis, name, place in reversed(list(zip(range(len(names)), names, places, strict=True))):
        following = out.op("add", I64, place, more)
        if axis == 0:  # it has ended where it is behind its end
            out.set(f"{name}.place", following)
            return
        is_behind = out.op("ieq", I1, following, out.get(f"{name}.length", I64))
        out.set(f"{name}.place", out.op("select", I64, is_behind, out.constant(I64, 0), following))
        more = out.op("widen", I64, is_behind)


def _number(reader: Reader, kind: TurnKind, name: str, place: Value) -> Item:
    """What an axis gives at a place."""
    out = reader.out
    if isinstance(kind, Elements):
        return elements.part(reader, kind.holder, (place,))
    if isinstance(kind, Stepped):
        known = ((kind.step, "step"), (kind.start, "start"))
        step, start = (
            out.get(f"{name}.{part}", I64) if value is None else out.constant(I64, value)
            for value, part in known
        )
        place = out.op("mul", I64, place, step) if kind.step != 1 else place
        place = out.op("add", I64, start, place)
    return Number(INT, place)
