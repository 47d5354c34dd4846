"""Launching in C without CuPy: structs and C functions are given, and launches are looked at."""

from __future__ import annotations

import ctypes
import gc
import math
import struct
import sys
import threading
import weakref
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.fake_arrays import Array, Device, RefusedError, array_of
from ufuse.backends import _launch

ALIVE: list[Device] = []  # C keeps their functions
F8 = np.dtype("f8")


@pytest.fixture
def device() -> Iterator[Device]:
    """A device of this test's own; CuPy's, where it is in use, is used again behind it."""
    made = Device()
    ALIVE.append(made)
    made.use()
    yield made
    native = sys.modules.get("ufuse.backends.cupy.launching.native")
    if native is not None:
        native.why_not.cache_clear()
        native.why_not()


class Forms:
    """Compiled forms of a map, each with an address of its own."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, bool, int, tuple[int, ...], int]] = []

    def __call__(
        self, axes: int, wide: bool, few: int, columns: tuple[int, ...], device: int
    ) -> Any:
        """A new form."""
        self.asked.append((axes, wide, few, columns, device))
        return SimpleNamespace(ptr=1000 + len(self.asked))


def program_of(
    kernel: Any, inputs: int, outs: int = 1, committed: int = 1, numbers: tuple[Any, ...] = (), **rest: Any
) -> Any:  # fmt: skip
    """A program of one kernel."""
    slots = tuple(range(inputs + outs))
    step = ("kernel", kernel, (), slots[:inputs], slots[inputs:], ())
    refused = rest.get("refused", lambda error, late: ("refused", str(error), late))
    return _launch.Program(
        inputs, inputs + outs, (), numbers, (step,), slots[inputs:], committed, refused
    )


def a_map(operands: int = 2, results: int = 1, maker: Any = None) -> Any:
    """A map of float64."""
    return _launch.Kernel((("array", 8),) * operands, (F8,) * results, maker or Forms())


def numbers_in(read: list[bytes]) -> list[int]:
    """What was read as whole numbers."""
    return [int.from_bytes(one, sys.byteorder, signed=True) for one in read]


def test_structs_are_read_through_offsets(device: Device) -> None:
    """What an array's struct has where it was said to be."""
    array = array_of((3, 4), strides=(-32, 8), address=640, device=2)
    assert _launch.view(array) == (((3, -32), (4, 8)), F8, 640, 2)
    assert _launch.view(array_of(())) == ((), F8, 512, 0)
    assert _launch.view(np.ones(3)) is None
    assert _launch.view(None) is None


@pytest.mark.parametrize("name", sorted(_launch.signatures().keys() - {"get_stream_ptr"}))
def test_a_function_with_another_signature_is_not_used(device: Device, name: str) -> None:
    """Each is compared, and named; what was in use before still is."""
    for wrong in ("int (int)", _launch.signatures()[name] + " noexcept", ""):
        with pytest.raises(LookupError, match=f"{name} is not `.*` in this version of CuPy"):
            device.use(device.capsules(**{name: wrong}))
    missing = device.capsules()
    del missing[name]
    for table in (missing, missing | {name: 3}):
        with pytest.raises(LookupError, match=f"{name} .* is `not there`"):
            device.use(table)
    device.sizes = (8, 8, 8, 4)
    program_of(a_map(), 2)(array_of((5,)), array_of((5,)))
    assert len(device.launches) == 1


def test_without_the_streams_of_devices_the_current_one_is_asked_for(device: Device) -> None:
    """CuPy 13 has no function that gives the stream of a device; one with another signature is not called."""
    device.sizes = (8, 8, 8, 4)
    missing = device.capsules()
    del missing["get_stream_ptr"]
    wrong = device.capsules(get_stream_ptr="int (void)")
    device.current = 3
    given = array_of((5,), device=3), array_of((5,), device=3)
    for capsules, stream in ((None, 80), (missing, 77), (wrong, 77), (None, 80)):
        device.use(capsules)
        program_of(a_map(), 2)(*given)
        assert device.launches[-1][3] == stream


def test_arrays_that_lie_alike_are_walked_over_as_one(device: Device) -> None:
    """The addresses of operands and of the new array, and how many elements there are."""
    forms = Forms()
    program = program_of(a_map(maker=forms), 2)
    device.sizes = (8, 8, 8, 4)
    result = program(array_of((300, 2), address=1024), array_of((300, 2), address=2048))
    assert type(result) is Array
    assert result.shape == (300, 2)
    made = _launch.view(result)
    assert made is not None
    assert numbers_in(device.read) == [1024, 2048, made[2], 600]
    assert device.launches == [(1001, 5, 128, 77)]
    program(array_of((7,)), array_of((7,)))
    assert device.launches[1] == (1001, 1, 7, 77)
    assert forms.asked == [(0, False, 1, (), 0)]


def test_axes_are_joined_and_broadcast(device: Device) -> None:
    """Lengths behind the first, and steps in elements, negative ones and those of broadcast axes too."""
    forms = Forms()
    program = program_of(a_map(maker=forms), 2)
    device.sizes = (8, 8, 8, 4, *[4] * 5)
    result = program(
        array_of((2, 3, 5), strides=(-120, 40, 8), address=4096), array_of((5,), strides=(16,))
    )
    assert result.shape == (2, 3, 5)
    # Axes 0 and 1 step by -15 and 5: they are not one for the first array.
    assert forms.asked == [(3, False, 1, (), 0)]
    device.sizes = (8, 8, 8, 4, *[4] * 8)
    program(array_of((2, 3, 5), strides=(-120, 40, 8)), array_of((5,), strides=(16,)))
    assert numbers_in(device.read)[3:] == [30, 3, 5, -15, 5, 1, 0, 0, 2]
    device.sizes = (8, 8, 8, 4, *[4] * 5)
    program(array_of((2, 3, 5)), array_of((5,), strides=(16,)))
    assert numbers_in(device.read)[3:] == [30, 5, 5, 1, 0, 2]


def test_tables_and_axes(device: Device) -> None:
    """A table is no part of the walk; an axis is walked over, and nothing is read of it; tables' lengths come last."""
    forms = Forms()
    operands = ("table", (8, 2)), ("array", 8), ("axis", (1, 0))
    program = program_of(_launch.Kernel(operands, (F8,), forms), 3)
    device.sizes = (8, 8, 8, 8, 4, *[4] * 5, *[8] * 4)
    table = array_of((4, 3), strides=(-48, 16), address=4096)
    result = program(table, array_of((5, 1)), table)
    assert result.shape == (5, 3)
    assert numbers_in(device.read)[4:] == [15, 3, 1, 0, 0, 1, 4, -6, 3, 2]
    assert numbers_in(device.read)[0] == 4096
    # The axis has one behind it: the space is that of the other array.
    kernel = _launch.Kernel((("table", (8, 2)), ("array", 8), ("axis", (0, 1))), (F8,), forms)
    device.sizes = (8, 8, 8, 8, 4, *[4] * 5, *[8] * 4)
    assert program_of(kernel, 3)(table, array_of((1, 7)), table).shape == (4, 7)
    assert numbers_in(device.read)[4:] == [28, 7, 0, 1, 1, 0, 4, -6, 3, 2]
    device.sizes = (8, 8, 8, 8, 4, *[8] * 4)
    assert program(array_of((1, 1)), array_of((1, 1)), array_of((1, 1))).shape == (1, 1)
    assert numbers_in(device.read)[4:] == [1, 1, 0, 1, 0]


def test_tables_that_no_kernel_reads(device: Device) -> None:
    """Without elements, with elements between others, with other axes, or none at all: refused before a launch."""
    program = program_of(_launch.Kernel((("table", (8, 1)), ("array", 8)), (F8,), Forms()), 2)
    other = array_of((5,))
    for table in (array_of((0,)), array_of((4,), strides=(12,)), array_of((2, 2)), None):
        assert program(table, other)[0] == "refused"
    operands = ("table", (8, 1)), ("axis", (1, 0))
    program = program_of(_launch.Kernel(operands, (F8,), Forms()), 2)
    assert program(other, other)[0] == "refused"
    assert not device.launches
    for wrong in (
        ("table", 8), ("table", (8,)), ("table", (0, 1)), ("table", (8, 0)), ("table", (8, 33)),
        ("axis", (-1, 0)), ("axis", (0, -1)), ("axis", (0, 32)), ("axis", (32, 0)), ("axis", None), ("row", (1, 0)),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            _launch.Kernel((("array", 8), wrong), (F8,), Forms())
    with pytest.raises(ValueError, match="only a map picks elements"):
        _launch.Kernel((("array", 8), ("table", (8, 1))), 1, Forms())
    with pytest.raises(ValueError, match="no operand is an array"):
        _launch.Kernel((("table", (8, 1)),), (F8,), Forms())
    for rooms in ((), (0, 0), (-1,), (None,), 0):
        with pytest.raises((ValueError, TypeError), match=r"room|int"):
            _launch.Kernel((("array", 8),), (F8,), Forms(), rooms=rooms)


def test_no_elements_are_no_launch(device: Device) -> None:
    """Nothing is compiled either."""
    forms = Forms()
    result = program_of(a_map(maker=forms), 2)(array_of((0, 3)), array_of((1, 3)))
    assert result.shape == (0, 3)
    assert not device.launches
    assert not forms.asked


def test_an_array_is_made_of_such_memory_where_python_looks_at_it(device: Device) -> None:
    """With its shape, dtype and address: what is launched over it is worked out in Python the first time."""
    seen: list[Any] = []

    def maker(arrays: list[Any], number: int) -> Any:
        seen.extend(map(_launch.view, arrays))
        return record_of(arrays[0].shape)

    steps = (
        ("kernel", a_map(1), (), (0,), (1,), ()),
        ("kernel", _launch.Kernel((("array", 8),), 1, maker), (), (1,), (2,), (1,)),
    )
    program = _launch.Program(1, 3, (), (), steps, (2,), 2, print)
    for _ in range(2):
        device.made.clear()
        program(array_of((5, 3)))
    assert device.made[0] == 120
    assert seen == [(((5, 24), (3, 8)), F8, seen[0][2], 0)]
    assert seen[0][2] > 512


@pytest.mark.parametrize(
    ("shape", "outputs", "made"),
    [
        ((5, 3), (3,), [120, -1]),
        ((), (3,), [8, -1]),
        ((2,) * 8, (3,), [2048, -1]),
        ((5, 3), (3, 2), [-1, -1]),
        ((5, 0), (3,), [-1, -1]),
        ((1,) * 9, (3,), [-1, -1]),
        ((2**40, 2**40), (3,), None),
    ],
)
def test_results_that_only_kernels_read_are_memory(
    device: Device, shape: tuple[int, ...], outputs: tuple[int, ...], made: list[int] | None
) -> None:
    """No array of CuPy's is made of them; of others, of nothing, and of many axes one is."""
    steps = (("kernel", a_map(1), (), (0,), (2,), ()), ("kernel", a_map(), (), (2, 1), (3,), (2,) * (len(outputs) < 2)))  # fmt: skip
    program = _launch.Program(2, 4, (), (), steps, outputs, 2, lambda error, _: error)
    x = array_of(shape)
    if made is None:
        assert isinstance(program(x, x), RefusedError)  # too many elements
        return
    device.sizes = ()
    found = program(x, x)
    assert (found if len(outputs) == 1 else found[0]).shape == shape
    assert device.made == made


def test_one_element_is_one_thread(device: Device) -> None:
    """Arrays without axes, and with axes of one element."""
    device.sizes = (8, 8, 8, 4)
    assert program_of(a_map(), 2)(array_of(()), array_of(())).shape == ()
    assert program_of(a_map(), 2)(array_of((1, 1)), array_of((1,))).shape == (1, 1)
    assert device.launches == [(1001, 1, 1, 77)] * 2


def test_much_is_walked_over_with_wide_indices(device: Device) -> None:
    """Elements, or how far they are apart, beyond 32 bits are another form, with arguments of 64 bits."""
    forms = Forms()
    program = program_of(a_map(1, maker=forms), 1)
    device.sizes = (8, 8, 8)
    program(array_of((2**20, 2**12)))
    assert numbers_in(device.read)[2:] == [2**32]
    assert device.launches == [(1001, 2**25, 128, 77)]
    device.sizes = (8, 8, 8, 8)
    program(array_of((2, 1), strides=(-(2**34), 8)))
    assert numbers_in(device.read)[2:] == [2, -(2**31)]
    device.sizes = (8, 8, 4, 4)
    program(array_of((2,), strides=(-(2**34) + 8,)))
    assert numbers_in(device.read)[2:] == [2, -(2**31) + 1]
    assert forms.asked == [(0, True, 1, (), 0), (1, True, 1, (), 0), (1, False, 1, (), 0)]
    device.sizes = (8, 8, 8, 8)
    program(array_of((2**45,), strides=(0,)))
    assert device.launches[-1][1] == 2**31 - 1  # blocks: threads take several elements each


def test_the_next_element_of_a_thread_has_an_index_of_32_bits(device: Device) -> None:
    """Threads go on by as many elements as all of them take: half of 32 bits are left for that."""
    forms = Forms()
    program = program_of(a_map(1, maker=forms), 1)
    for elements, is_wide in ((2**30 - 64, False), (2**30 - 63, True), (2**31 - 1, True)):
        device.sizes = (8, 8, 8 if is_wide else 4)
        program(array_of((elements,)))
        assert forms.asked[-1][:2] == (0, is_wide)
        (_, blocks, threads, _) = device.launches[-1]
        assert is_wide or elements + blocks * threads < 2**31


def test_threads_take_several_elements_where_memory_is_aligned(device: Device) -> None:
    """Of much in C order, from addresses of 16 bytes; the rest of the last thread is not launched for."""
    forms = Forms()
    operands = ("array", 8), ("array", 1)
    kernel = _launch.Kernel(operands, (F8,), forms, 4, 1, 1000)
    program = program_of(kernel, 2)
    device.sizes = (8, 8, 8, 4)
    rows = (
        # shape, strides, addresses, taken at once
        ((1001,), (8,), (1024, 2048), 4),
        ((10, 100), (800, 8), (1024, 2052), 4),
        ((1001,), (8,), (1032, 2048), 1),
        ((1001,), (8,), (1024, 2049), 1),
        ((999,), (8,), (1024, 2048), 1),
    )
    for shape, strides, (one, other), few in rows:
        x = array_of(shape, strides=strides, address=one)
        y = array_of(shape, strides=tuple(step // 8 for step in strides), address=other)
        program(x, y)
        assert numbers_in(device.read)[-1] == math.prod(shape)
        threads = -(-math.prod(shape) // few)
        assert device.launches[-1][:3] == (1001 if few == 4 else 1002, -(-threads // 128), 128)
    assert forms.asked == [(0, False, 4, (), 0), (0, False, 1, (), 0)]
    device.sizes = (8, 8, 8, 4, 4, 4)
    program(
        array_of((2000,), strides=(16,), address=1024),
        array_of((2000,), strides=(1,), address=2048),
    )
    assert forms.asked[-1] == (1, False, 1, (), 0)
    for wrong in (0, -1, 17):
        with pytest.raises(ValueError, match="no numbers of elements"):
            _launch.Kernel(operands, (F8,), forms, wrong)


@pytest.mark.parametrize(
    "arrays",
    [
        [array_of((2**40, 2**40), strides=(0, 0))] * 2,
        [array_of((3,)), array_of((4,))],
        [array_of((3,), strides=(12,))] * 2,
        [array_of((1,) * 33)] * 2,
        [np.ones(3), array_of((3,))],
        [array_of((2**40,), strides=(2**62,))] * 2,
    ],
    ids=["too many", "no one shape", "between elements", "too many axes", "of the host", "too far"],
)
def test_what_no_kernel_can_do_is_left_to_python(device: Device, arrays: list[Any]) -> None:
    """Nothing is launched, and Python is told that it is not too late."""
    answer = program_of(a_map(), 2)(*arrays)
    assert answer[0] == "refused"
    assert answer[2] is False
    assert not device.launches
    assert not device.made


def test_arrays_of_another_device_are_left_to_python(device: Device) -> None:
    """Before anything is asked for; on that device they are taken, with a form of its own."""
    forms = Forms()
    program = program_of(a_map(maker=forms), 2)
    assert program(array_of((3,)), array_of((3,), device=1)) is NotImplemented
    assert not device.made
    device.current, device.sizes = 1, (8, 8, 8, 4)
    program(array_of((3,), device=1), array_of((3,), device=1))
    device.current = 0
    program(array_of((3,)), array_of((3,)))
    assert forms.asked == [(0, False, 1, (), 1), (0, False, 1, (), 0)]
    assert [launch[0] for launch in device.launches] == [1001, 1002]


def test_numbers_are_arguments_by_value(device: Device) -> None:
    """Known ones as they are, others converted to the loop's dtype; each has its own bytes."""
    operands = (
        ("array", 8),
        ("known", struct.pack("d", 2.5)),
        ("number", np.dtype("i2")),
        ("number", np.dtype("D")),
    )
    program = program_of(_launch.Kernel(operands, (F8,), Forms()), 4)
    device.sizes = (8, 8, 2, 16, 8, 4)
    program(array_of((3,)), None, -5, 1 - 2j)
    assert device.read[1:4] == [
        struct.pack("d", 2.5),
        struct.pack("h", -5),
        struct.pack("dd", 1, -2),
    ]
    program(array_of((3,)), None, np.int8(7), True)
    assert device.read[2:4] == [struct.pack("h", 7), struct.pack("dd", 1, 0)]
    for wrong in (40000, 2**70, -(2**70)):
        assert program(array_of((3,)), None, wrong, 1)[0] == "refused"
    with pytest.raises(TypeError, match="Unsupported type"):
        program(array_of((3,)), None, "x", 1)
    assert len(device.launches) == 2


def test_numbers_are_looked_at_before_the_first_step(device: Device) -> None:
    """Where something visible is written, one that does not fit is found in time."""
    operands = (("array", 8), ("number", np.dtype("u1")))
    kernel = _launch.Kernel(operands, (F8,), Forms())
    step = ("kernel", kernel, (), (0, 1), (2,), ())
    called: list[list[Any]] = []

    def keep(reads: list[Any], _: int) -> tuple[Any, ...]:
        called.append(reads)
        return ()

    first = ("run", keep, (), (0,), (), ())
    program = _launch.Program(
        2, 3, (), ((1, np.dtype("u1")),), (first, step), (2,), 0, lambda error, late: late
    )
    assert program(array_of((3,)), 300) is False
    assert not called
    device.sizes = (8, 1, 8, 4)
    program(array_of((3,)), 200)
    assert len(called) == 1


def test_errors_behind_a_visible_write_are_late(device: Device) -> None:
    """Python is told so, and raises them."""

    def refuses(reads: list[Any], _: int) -> tuple[Any, ...]:
        raise RefusedError

    steps = [("run", lambda reads, _: (), (), (0,), (), ()), ("run", refuses, (), (0,), (), ())]
    for committed, late in ((0, True), (1, False), (2, False)):
        program = _launch.Program(
            1, 1, (), (), tuple(steps), (0,), committed, lambda error, late: late
        )
        assert program(array_of((3,))) is late


def test_what_is_no_refusal_is_raised(device: Device) -> None:
    """The driver's status of a launch, and whatever else a step raises."""
    device.status, device.sizes = 700, (8, 8, 8, 4)
    with pytest.raises(ArithmeticError, match="status 700"):
        program_of(a_map(), 2)(array_of((3,)), array_of((3,)))

    def wrong(*_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        program_of(a_map(maker=wrong), 2)(array_of((3,)), array_of((3,)))
    with pytest.raises(AttributeError, match="ptr"):
        program_of(a_map(maker=lambda *_: 3), 2)(array_of((3,)), array_of((3,)))


def record_of(shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Two launches with two temporaries; the second takes a number."""
    first = (object(), 11, 3, 32, (0, 1, 2, 3))
    second = (object(), 12, 1, 64, (3, 2, 1, struct.pack("q", -9)))
    return ((shape, F8),), (100, 300), (first, second)


def test_records_are_made_once_for_shapes_and_strides(device: Device) -> None:
    """Results and temporaries are new each time, temporaries in one allocation, apart."""
    asked: list[Any] = []

    def maker(arrays: list[Any], number: int) -> Any:
        asked.append((arrays[0].shape, number))
        return record_of(())

    program = program_of(_launch.Kernel((("array", 8),), 1, maker), 1)
    device.sizes = (8, 8, 8, 8)
    x, y = array_of((6,), address=256), array_of((6,), address=768)
    results = [program(x), program(y), program(array_of((6,), strides=(16,))), program(x)]
    assert asked == [((6,), 0), ((6,), 0)]
    assert device.made == [-1, 512 + 256] * 4
    assert [launch[:3] for launch in device.launches] == [(11, 3, 32), (12, 1, 64)] * 4
    given = numbers_in(device.read)
    made = _launch.view(results[-1])
    assert made is not None
    assert given == [given[1] + 256, given[1], made[2], -9]


def test_more_records_than_are_kept_are_made_again(device: Device) -> None:
    """Many shapes do no harm: each has its own results."""
    program = program_of(
        _launch.Kernel((("array", 8),), 1, lambda arrays, _: record_of(arrays[0].shape)), 1
    )
    device.sizes = (8, 8, 8, 8)
    for length in [*range(600), *range(600)]:
        assert program(array_of((length,))).shape == (length,)


@pytest.mark.parametrize(
    "record",
    [
        None,
        ((), (), ()),
        ((((3,), "f8"),), (), ()),
        ((((3,), F8),), (-1,), ()),
        ((((3,), F8),), (), ((None, 1, 1, 1, (9,)),)),
        ((((3,), F8),), (), ((None, 1, 1, 1, (b"x" * 17,)),)),
        ((((3,), F8),), (), ((None, "1", 1, 1, ()),)),
        ((((2.5,), F8),), (), ()),
    ],
)
def test_records_are_checked(device: Device, record: Any) -> None:
    """What is not as it has to be is an exception, not a launch."""
    program = program_of(_launch.Kernel((("array", 8),), 1, lambda arrays, _: record), 1)
    with pytest.raises((TypeError, ValueError)):
        program(array_of((3,)))
    assert not device.launches


@pytest.mark.parametrize(
    "arguments",
    [
        ((), (F8,), None),
        ((("number", F8),), (F8,), None),
        ((("array", 0),), (F8,), None),
        ((("other", 8),), (F8,), None),
        ((("known", b"x" * 17), ("array", 8)), (F8,), None),
        ((("number", np.dtype("O")), ("array", 8)), (F8,), None),
        ((("array", 8),), ("f8",), None),
        ((("array", 8),), -1, None),
        ((("array", 8),), [F8], None),
    ],
)
def test_kernels_are_checked(arguments: tuple[Any, ...]) -> None:
    """Operands and results that no kernel has are refused as it is made."""
    with pytest.raises((TypeError, ValueError)):
        _launch.Kernel(*arguments)


def test_programs_are_checked() -> None:
    """Steps that are none, slots that are none, and slots that are read before they are filled."""
    kernel = a_map()
    good = ("kernel", kernel, (), (0, 1), (2,), ())
    for step in (
        ("kernel", None, (), (0, 1), (2,), ()),
        ("kernel", kernel, (), (0,), (2,), ()),
        ("kernel", kernel, (), (0, 1), (1,), ()),
        ("kernel", kernel, (), (0, 3), (2,), ()),
        ("kernel", kernel, (), (0, 1), (3,), ()),
        ("other", kernel, (), (0, 1), (2,), ()),
        ("getitem", None, (), (0,), (2,), ()),
        ("call", print, ("a", "b", "c"), (0, 1), (2,), ()),
        ("tuple", None, (), (0, 2), (2,), ()),
        ("kernel", kernel, (), (0, 1), (2,), (2,)),
    ):
        with pytest.raises((TypeError, ValueError)):
            _launch.Program(2, 3, (), (), (step,), (2,), 1, print)
    for constants in (((0, 1),), ((2, 1), (2, 3)), ((5, 1),)):
        with pytest.raises(ValueError, match="slot"):
            _launch.Program(2, 3, constants, (), (good,), (2,), 1, print)
    with pytest.raises(TypeError, match="a program of 2 inputs"):
        _launch.Program(2, 3, (), (), (good,), (2,), 1, print)(1)


def test_other_steps_do_what_they_say(device: Device) -> None:
    """Calls with keywords, items, tuples, constants, and Python's own steps."""

    def called(a: int, b: int, *, c: int) -> tuple[int, int]:
        return a * b, c

    steps = (
        ("call", called, ("c",), (0, 2, 1), (3,), ()),
        ("unpack", None, (), (3,), (4, 5), (3,)),
        ("tuple", None, (), (4, 5, 2), (6,), ()),
        ("getitem", None, (), (6, 7), (8,), (6,)),
        ("run", lambda reads, number: [reads[0] + number], (), (8,), (9,), ()),
    )
    program = _launch.Program(2, 10, ((2, 10), (7, 1)), (), steps, (4, 5, 8, 9), 5, print)
    assert program(3, 4) == (30, 4, 4, 4)
    assert program.steps == 5


def test_nothing_is_kept_alive(device: Device) -> None:
    """Neither arguments nor results nor intermediates, whether a run ends well or not."""
    device.sizes = (8, 8, 8, 4)
    first = ("kernel", a_map(), (), (0, 1), (2,), ())
    second = ("kernel", a_map(), (), (2, 1), (3,), (2,))
    program = _launch.Program(
        2, 4, (), (), (first, second), (3,), 2, lambda error, late: NotImplemented
    )
    x, y = array_of((3,)), array_of((3,))
    wrong = array_of((4,))
    before = [sys.getrefcount(one) for one in (x, y, F8, program)]
    for _ in range(50):
        program(x, y)
        program(x, wrong)
        device.status = 1
        with pytest.raises(ArithmeticError):
            program(x, y)
        device.status = 0
    assert [sys.getrefcount(one) for one in (x, y, F8, program)] == before
    result, fresh = program(x, y), array_of((3,))
    assert sys.getrefcount(result) == sys.getrefcount(fresh)


def test_a_cycle_of_programs_is_collected(device: Device) -> None:
    """A kernel whose maker refers to the program is garbage with it."""

    class Maker(Forms):
        program: Any

    maker = Maker()
    maker.program = program_of(a_map(maker=maker), 2)
    device.sizes = (8, 8, 8, 4)
    maker.program(array_of((3,)), array_of((3,)))
    alive = weakref.ref(maker)
    del maker
    gc.collect()
    assert alive() is None


def test_a_program_may_be_forgotten_while_it_runs(device: Device) -> None:
    """Its steps live as long as it runs."""
    held: list[Any] = []

    def forget(reads: list[Any], _: int) -> tuple[Any, ...]:
        held.clear()
        gc.collect()
        return (reads[0],)

    device.sizes = (8, 8, 8, 4)
    steps = (
        ("run", forget, (), (0,), (2,), ()),
        ("kernel", a_map(), (), (2, 1), (3,), ()),
    )
    held.append(_launch.Program(2, 4, (), (), steps, (3,), 2, print))
    assert held[0](array_of((3,)), array_of((3,))).shape == (3,)


def test_threads_may_call_at_once(device: Device) -> None:
    """Each has its own arguments and results, whatever another does in the middle of its launch."""
    program = program_of(a_map(1), 1)
    device.sizes = (8, 8, 4)
    seen: list[tuple[int, ...]] = []
    launch = device.launch

    def slow(function: int, *others: Any) -> int:
        given = (ctypes.c_void_p * 3).from_address(others[-2])
        before = [ctypes.string_at(one, size) for one, size in zip(given, (8, 8, 4), strict=True)]
        threading.Event().wait(0.0002)
        after = [ctypes.string_at(one, size) for one, size in zip(given, (8, 8, 4), strict=True)]
        assert before == after
        seen.append(tuple(numbers_in(after)))
        return launch(function, *others)

    device.launch = slow  # type: ignore[method-assign]
    device.use()
    wanted, wrong = [], []

    def calls(length: int) -> None:
        for _ in range(40):
            result = program(array_of((length,), address=length * 512))
            view = _launch.view(result)
            if view is None or view[0] != ((length, 8),):
                wrong.append(view)
            else:
                wanted.append((length * 512, view[2], length))

    threads = [threading.Thread(target=calls, args=(length,)) for length in (1, 7, 300, 9000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sorted(seen) == sorted(wanted)
    assert all(one != other for one, other in pairwise(sorted(view for _, view, _ in seen)))


@pytest.mark.leaks
def test_many_runs_leak_nothing(device: Device) -> None:
    """Memory stays what it was."""
    import tracemalloc  # noqa: PLC0415 - only here

    device.sizes = (8, 8, 8, 4)
    program = program_of(a_map(), 2)
    x, y = array_of((3,)), array_of((3,))
    tracemalloc.start()
    for _ in range(3):
        for _ in range(20000):
            program(x, y)
        device.launches.clear()
        device.made.clear()
        gc.collect()
        sizes = tracemalloc.get_traced_memory()[0]
    for _ in range(20000):
        program(x, y)
    device.launches.clear()
    device.made.clear()
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] - sizes < 4096
    tracemalloc.stop()


def viewing(*keys: Any, kind: str = "getitem") -> Any:
    """A program of one map of what its input is after each key, or with its axes in each order, or of each shape."""
    count = len(keys)
    constants = tuple((1 + place, key) for place, key in enumerate(keys))
    steps = tuple(
        (kind, failing, (), (count + place if place else 0, 1 + place), (count + 1 + place,), ())
        for place in range(count)
    )
    kernel = ("kernel", a_map(1), (), (2 * count,), (2 * count + 1,), ())
    return _launch.Program(
        1, 2 * count + 2, constants, (), (*steps, kernel), (2 * count + 1,), count + 1, refusing
    )


def failing(*_: object, **__: object) -> None:
    """Stand for CuPy's own view or memory, which is not to be made."""
    raise AssertionError


def refusing(error: Exception, late: bool) -> Any:
    """Raise what a step raised."""
    raise error


def drawn_key(draw: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """A key of numbers, slices, new axes and perhaps an ellipsis."""
    items: list[Any] = []
    for length in shape[: draw.integers(len(shape) + 1)]:
        low, high = (int(n) for n in draw.integers(-length - 1, length + 2, size=2))
        step = int(draw.choice([-3, -1, 1, 2]))
        one = slice(low, high, step) if draw.random() < 0.6 else slice(None, None, step)
        items.append(int(draw.integers(-length, length)) if length and draw.random() < 0.3 else one)
    if draw.random() < 0.4:
        items.insert(int(draw.integers(len(items) + 1)), None)
    if draw.random() < 0.3:
        items.append(Ellipsis)
    return items[0] if len(items) == 1 and draw.random() < 0.5 else tuple(items)


def viewed(x: np.ndarray, key: Any) -> np.ndarray:
    """The view of NumPy's, also of one element."""
    items = key if isinstance(key, tuple) else (key,)
    return x[items if Ellipsis in items else (*items, ...)]


def check_view(device: Device, x: np.ndarray, y: np.ndarray, program: Any) -> None:
    """Compare the address, lengths and steps that a kernel gets of a view with those of NumPy's."""
    _, elements, axes, _, lengths, steps = _launch.walk(((y.shape, y.strides, 8),))
    rest = [elements, *lengths[1:], *steps[0]] if axes else [elements]
    device.sizes = (8, 8, *[4] * len(rest))
    device.launches.clear()
    result = program(array_of(x.shape, strides=x.strides, address=1 << 20))
    assert result.shape == y.shape
    assert len(device.launches) == (y.size > 0)
    if y.size:
        start, place = (one.__array_interface__["data"][0] for one in (x, y))
        address, _, *others = numbers_in(device.read)
        assert address == (1 << 20) + place - start
        assert others == rest


@pytest.mark.parametrize("seed", range(40))
def test_views_for_kernels_are_numpys(device: Device, seed: int) -> None:
    """Where the elements of a view of a view lie, without an array of CuPy's."""
    draw = np.random.default_rng(seed)
    for _ in range(10):
        shape = tuple(
            int(n)
            for n in draw.choice(
                [0, 1, 2, 3, 5], size=draw.integers(4), p=[0.04, 0.16, 0.2, 0.3, 0.3]
            )
        )
        x = viewed(np.zeros((11,) * len(shape)), tuple(slice(0, 2 * n, 2) for n in shape))
        first = drawn_key(draw, x.shape)
        second = drawn_key(draw, viewed(x, first).shape)
        y = viewed(viewed(x, first), second)
        check_view(device, x, y, viewing(first, second))
        order = tuple(int(axis) for axis in draw.permutation(len(shape)))
        y = x.transpose(order).transpose(order)
        check_view(device, x, y, viewing(order, order, kind="transpose"))


@pytest.mark.parametrize(
    "shapes", [((4, 6), (24,)), ((24,), (2, 3, 4)), ((), (1, 1)), ((1, 5), (5,)), ((3, 1), (3, 1))]
)
def test_views_of_other_shapes_are_numpys(device: Device, shapes: tuple[Any, Any]) -> None:
    """Elements in C order get other axes where they are."""
    x = np.zeros(shapes[0])
    check_view(device, x, x.reshape(shapes[1]), viewing(shapes[1], shapes[1], kind="reshape"))


@pytest.mark.parametrize(
    ("x", "shape"),
    [
        (np.zeros((4, 6))[:, ::2], (12,)),
        (np.zeros((4, 6)).T, (24,)),
        (np.zeros((4, 6)), (4, -1)),
        (np.zeros((4, 6)), [24]),
        (np.zeros((4, 6)), (4, 5)),
        (np.zeros((0, 6)), (6, 0)),
    ],
)  # fmt: skip
def test_other_shapes_are_cupys_own(device: Device, x: np.ndarray, shape: Any) -> None:
    """What lies otherwise, or has other lengths, is asked of the array itself."""
    with pytest.raises(AssertionError):
        viewing(shape, kind="reshape")(array_of(x.shape, strides=x.strides))
    assert not device.launches


def emptying(shape: Any, dtype: Any, function: Any, *, given: bool = False) -> Any:
    """A program of new memory, over which one map goes; `given`: it is an output too."""
    kernel = ("kernel", a_map(1), (), (2,), (3,), ())
    outputs = (2, 3) if given else (3,)
    steps = (("empty", function, ("dtype",), (0, 1), (2,), ()), kernel)
    return _launch.Program(0, 4, ((0, shape), (1, dtype)), (), steps, outputs, 2, refusing)


def test_new_memory_for_kernels_is_no_array(device: Device) -> None:
    """It is memory of as many bytes; where something else reads it an array in C order."""
    device.sizes = (8, 8, 4)
    assert emptying((3, 5), F8, failing)().shape == (3, 5)
    assert device.made == [120, -1]
    assert emptying((), F8, failing)().shape == ()
    assert device.made[2:] == [8, -1]
    made, result = emptying((3, 5), F8, failing, given=True)()
    assert made.shape == result.shape == (3, 5)
    assert device.made[4:] == [-1, -1]
    assert len(device.launches) == 3


@pytest.mark.parametrize(
    ("shape", "dtype"), [([3], F8), ((-1,), F8), ((3.0,), F8), ((3,), "f8"), ((2**70,), F8)]
)
def test_other_new_memory_is_cupys_own(device: Device, shape: Any, dtype: Any) -> None:
    """Shapes and dtypes that are none here are CuPy's to read."""
    with pytest.raises(AssertionError):
        emptying(shape, dtype, failing)()
    assert not device.made


def in_a_row(count: int) -> Any:
    """A program of maps, each over what the one before has made."""
    steps = tuple(
        ("kernel", a_map(1), (), (place,), (place + 1,), (place,) if place else ())
        for place in range(count)
    )
    return _launch.Program(1, count + 1, (), (), steps, (count,), count, refusing)


def test_memory_of_a_call_is_used_again(device: Device) -> None:
    """Of results of one size two are made, where only kernels read them; none is kept behind the call."""
    device.sizes = (8, 8, 4)
    for mode in ("never", "always"):  # the last one is that of all tests
        _launch.replay(mode)
        device.made.clear()
        in_a_row(6)(array_of((3, 5)))
        assert device.made == [120, 120, -1]
        in_a_row(6)(array_of((7,)))
        assert device.made[3:] == [56, 56, -1]


def test_memory_is_cupys_again_before_its_own_steps(device: Device) -> None:
    """A function that is called may want what was let go."""
    device.sizes = (8, 8, 4)
    kernels = [
        ("kernel", a_map(1), (), (0,), (1,), ()),
        ("kernel", a_map(1), (), (1,), (2,), (1,)),
        ("call", len, (), (5,), (6,), ()),
        ("kernel", a_map(1), (), (2,), (3,), (2,)),
        ("kernel", a_map(1), (), (3,), (4,), (3,)),
    ]
    _launch.Program(1, 7, ((5, ()),), (), tuple(kernels), (4,), 5, refusing)(array_of((3, 5)))
    assert device.made == [120, 120, 120, -1]


def test_memory_that_is_seen_is_not_used_again(device: Device) -> None:
    """Views of it may be read later; a result is an array of its own."""
    device.sizes = (8, 8, 4)
    steps = (
        ("kernel", a_map(1), (), (0,), (1,), ()),
        ("getitem", failing, (), (1, 6), (2,), (1,)),
        ("kernel", a_map(1), (), (0,), (3,), ()),
        ("kernel", a_map(1), (), (2,), (4,), (2,)),
        ("kernel", a_map(1), (), (3,), (5,), (3,)),
    )
    program = _launch.Program(1, 7, ((6, slice(None)),), (), steps, (4, 5), 5, refusing)
    program(array_of((3, 5)))
    assert device.made == [120, 120, -1, -1]


@pytest.mark.parametrize("key", [3, -4, (0, 0), (slice(None, None, 0),), (..., ...), (None,) * 9])
def test_other_views_are_cupys_own(device: Device, key: Any) -> None:
    """What is out of range, too much or odd is asked of the array itself; so are views that others read."""
    # bytes, which stand for arrays, have no such items, or numbers
    with pytest.raises((TypeError, RefusedError)):
        viewing(key)(array_of((3,)))
    with pytest.raises(AssertionError):
        viewing((0, 0), kind="transpose")(array_of((3, 3)))
    assert not device.launches
    step = ("getitem", None, (), (0, 1), (2,), ())
    program = _launch.Program(1, 3, ((1, slice(None)),), (), (step,), (2,), 1, refusing)
    assert program([5, 6]) == [5, 6]
