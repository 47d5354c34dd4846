"""What arrays of nests are reduced to, in LLVM's language: sums, products, largest elements. All are calls of C."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ufuse.backends.numpy.llvm.symbols import loop_symbol
from ufuse.backends.numpy.loops import OF_MATRICES
from ufuse.backends.numpy.nest_code.body import TYPES, Body, result_type
from ufuse.backends.numpy.nest_code.maps import (
    WORDS,
    Inputs,
    Table,
    loop_of,
    lose_patience,
    place_of,
)
from ufuse.backends.planning.loops import Loop
from ufuse.graph.nest import Instruction, Step, View
from ufuse.graph.nest_types import DOTS, I1, POSITIONS

BUFFER = 8192  # elements of NumPy's buffers


@cache
def adds_in_buffers() -> bool:
    """Whether this NumPy adds floats along axes that cannot be joined in buffers of as many whole axes as fit."""
    given = np.sin(np.arange(1.0, 27001.0))  # `np.random` takes long to be imported
    return all(
        np.add.reduce(view, axis=None).tobytes() == _added(view).tobytes()
        for one in (given, given.astype(np.float32))
        for view in (
            one[: 93 * 94 * 3].reshape(93, 94, 3)[1:-1, 1:-1, 1],
            one[: 93 * 3 * 95].reshape(93, 3, 95)[1:-1, 1, 1:-1],
            one[: 3 * 94 * 95].reshape(3, 94, 95)[:, 1:-1, 1:-1],
            one[: 90 * 4 * 9].reshape(90, 4, 9)[:, 1:3, 1:8],
        )
    )


def _added(view: np.ndarray) -> np.ndarray:
    cores = np.cumprod(view.shape[::-1])
    core = int(cores[cores <= BUFFER].max())
    around = int(cores[int(np.argmax(cores > BUFFER))]) if cores[-1] > BUFFER else core
    most, total = BUFFER // core * core, np.zeros((), view.dtype)
    for items in view.reshape(-1, around):
        for first in range(0, around, most):
            total[...] += np.add.reduce(items[first : first + most])
    return total


def emit_fold(body: Body, one: Instruction) -> str:
    """Append a reduction of an array to a number: NumPy's own."""
    name, view = one.attributes
    if len(view.axes) > 1:
        return _emit_whole(body, one)
    inputs = Inputs(body, one)
    (length,) = inputs.take(1)
    data, steps = place_of(body, view, inputs.of_view(view))
    given = f"i64 {steps[0]}, i64 {body.operand(length)}"
    loop = _loop(body, name, view)
    return _result(body, one, "fold", f"{loop}, ptr %table, ptr {data}, {given}")


def _loop(body: Body, name: str, view: View) -> str:
    dtype = body.numbered[view.array].dtype
    if name == "add" and dtype.kind == "f" and len(view.axes) > 1 and not adds_in_buffers():
        raise LookupError("this NumPy adds along several axes in another order")
    loop = loop_of(Step(name, (dtype, dtype, dtype), (0, 1)))
    return f"ptr {body.symbol(loop_symbol(loop))}"


def _emit_whole(body: Body, one: Instruction) -> str:
    """The result of several axes lies behind the table."""
    name, view = one.attributes
    inputs = Inputs(body, one)
    lengths = [body.operand(value) for value in inputs.take(len(view.axes))]
    table = Table(body, len(lengths), 2)
    result = table.store(table.used, "0")
    table.array(0, *place_of(body, view, inputs.of_view(view)))
    table.array(1, result, ["0"] * len(lengths))
    _reduce(body, name, view, table, lengths)
    if result_type(one) == I1:
        return body.add(f"icmp ne i8 {body.add_new(f'load i8, ptr {result}')}, 0")
    return body.add_new(f"load {TYPES[result_type(one)]}, ptr {result}")


def emit_reduce(body: Body, one: Instruction) -> str:
    """Append a reduction of some axes of an array."""
    name, view, target = one.attributes
    inputs = Inputs(body, one)
    lengths = [body.operand(value) for value in inputs.take(len(view.axes))]
    table = Table(body, len(lengths), 2)
    table.array(0, *place_of(body, view, inputs.of_view(view)))
    table.array(1, *place_of(body, target, inputs.of_view(target)))
    if name in POSITIONS:
        _positions(body, one, table, lengths)
    else:
        _reduce(body, name, view, table, lengths)
    body.known.forget(one)
    return ""


def _positions(body: Body, one: Instruction, table: Table, lengths: Sequence[str]) -> None:
    name, view, target = one.attributes
    for axis, length in enumerate(lengths):
        table.store(axis, length)
    number = body.numbered[view.array].dtype.num
    given = f"i64 {number}, i64 {int(name == 'argmin')}, i64 {len(lengths)}"
    given += f", i64 {target.axes.index(None)}, ptr %table"
    status = body.call("helper.positions", "i32", given)
    body.doubt_if(body.add_new(f"icmp ne i32 {status}, 0"))
    lose_patience(body, lengths)


def _reduce(body: Body, name: str, view: View, table: Table, lengths: Sequence[str]) -> None:
    for axis, length in enumerate(lengths):
        table.store(axis, length)
    memory = body.add(f"getelementptr i64, ptr %memory, i64 {WORDS * len(body.nest.temporaries)}")
    given = f"{_loop(body, name, view)}, i64 {len(lengths)}, ptr %table, ptr {memory}"
    status = body.call("helper.reduce", "i32", given)
    body.doubt_if(body.add_new(f"icmp ne i32 {status}, 0"))
    lose_patience(body, lengths)


def _spread(body: Body, one: Instruction, views: Sequence[View]) -> list[str]:
    """Write a table of the views of an instruction; its lengths."""
    inputs = Inputs(body, one)
    axes = len(views[0].axes)
    lengths = [body.operand(value) for value in inputs.take(axes)]
    table = Table(body, axes, len(views))
    for axis, length in enumerate(lengths):
        table.store(axis, length)
    for number, view in enumerate(views):
        table.array(number, *place_of(body, view, inputs.of_view(view)))
    return lengths


def _call(body: Body, one: Instruction, helper: str, arguments: str) -> str:
    """Append a call that writes an array."""
    status = body.call(f"helper.{helper}", "i32", arguments)
    body.doubt_if(body.add_new(f"icmp ne i32 {status}, 0"))
    body.known.forget(one)
    return ""


PRODUCT_KINDS = ("matmul", "dot", "solve", "solve1", "inv")  # as `products.c` numbers them


def emit_matmul(body: Body, one: Instruction) -> str:
    """Append a product of matrices, or what `np.linalg` makes of them."""
    name, *views = one.attributes
    dtype = body.numbered[views[0].array].dtype
    loop_name = "matmul" if name in DOTS else name
    if name == "solve" and views[1].axes[2] is None:
        loop_name = "solve1"
    dtypes = (dtype,) * (2 if name == "inv" else 3)
    loop = body.symbol(loop_symbol(Loop("ufunc", loop_name, dtypes, OF_MATRICES[loop_name])))
    lose_patience(body, _spread(body, one, views))
    kind = PRODUCT_KINDS.index(name if name == "dot" else loop_name)
    return _call(body, one, "matmul", f"ptr {loop}, i64 {kind}, ptr %table")


def emit_indexed(body: Body, one: Instruction) -> str:
    """Append the elements that indices name, taken or put."""
    itemsize = body.numbered[one.attributes[0].array].dtype.itemsize
    lengths = _spread(body, one, one.attributes)
    lose_patience(body, lengths[:-1])
    given = f"i64 {len(lengths)}, i64 {itemsize}, ptr %table"
    return _call(body, one, one.op, given)


def emit_position(body: Body, one: Instruction) -> str:
    """Append where the largest or least element of a vector is."""
    name, view = one.attributes
    inputs = Inputs(body, one)
    (length,) = inputs.take(1)
    data, steps = place_of(body, view, inputs.of_view(view))
    number = body.numbered[view.array].dtype.num
    given = f"i64 {number}, i64 {int(name == 'argmin')}, ptr %table, ptr {data}"
    return _result(body, one, "position", f"{given}, i64 {steps[0]}, i64 {body.operand(length)}")


def emit_scan(body: Body, one: Instruction) -> str:
    """Append what the elements of a vector come to, one after another."""
    name, *views = one.attributes
    lengths = _spread(body, one, views)
    lose_patience(body, lengths)
    itemsize = body.numbered[views[0].array].dtype.itemsize
    given = f"{_loop(body, name, views[0])}, i64 {itemsize}, ptr %table"
    return _call(body, one, "scan", given)


def emit_nonzero(body: Body, one: Instruction) -> str:
    """Append the places where a vector is true."""
    lose_patience(body, _spread(body, one, one.attributes)[:1])
    return _call(body, one, "nonzero", "ptr %table")


def emit_sort(body: Body, one: Instruction) -> str:
    """Append that a temporary is sorted."""
    lengths = _spread(body, one, one.attributes)
    lose_patience(body, lengths)
    number = body.numbered[one.attributes[0].array].dtype.num
    return _call(body, one, "sort", f"i64 {number}, i64 {len(lengths)}, ptr %table")


def emit_argsort(body: Body, one: Instruction) -> str:
    """Append the places of a vector's elements in order of size."""
    lose_patience(body, _spread(body, one, one.attributes))
    number = body.numbered[one.attributes[0].array].dtype.num
    return _call(body, one, "argsort", f"i64 {number}, ptr %table")


def emit_dot(body: Body, one: Instruction) -> str:
    """Append the product of two vectors."""
    name, *views = one.attributes
    inputs = Inputs(body, one)
    (length,) = inputs.take(1)
    arguments = "ptr %table"
    for view in views:
        data, steps = place_of(body, view, inputs.of_view(view))
        arguments += f", ptr {data}, i64 {steps[0]}"
    kind = body.numbered[views[0].array].dtype.char
    arguments += f", i64 {body.operand(length)}"
    return _result(body, one, f"{name}.{kind}", arguments)


def _result(body: Body, one: Instruction, helper: str, arguments: str) -> str:
    """Append a call that writes its result to the table's first word."""
    body.table = max(body.table, 1)
    status = body.call(f"helper.{helper}", "i32", arguments)
    body.doubt_if(body.add_new(f"icmp ne i32 {status}, 0"))
    if result_type(one) == I1:
        return body.add(f"icmp ne i8 {body.add_new('load i8, ptr %table')}, 0")
    return body.add_new(f"load {TYPES[result_type(one)]}, ptr %table")
