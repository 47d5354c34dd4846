"""Corners of NumPy that its own tests found: layouts, refused arguments, flat stores, writes that are warned of."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import MODES, check_in_turn, check_same


def check(program: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> None:
    """Compare three calls with plain Python."""
    check_same(program, ufuse.compile(program), make, calls=3, modes=MODES[:1], copies=False)


INDEX = np.arange(24).reshape(2, 3, 4) % 7


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_an_index_gives_the_result_its_layout(axes: tuple[int, ...]) -> None:
    """What an array of indices picks from a line lies in memory as the indices do."""
    check(lambda a, i: a[i] * 2, lambda: (np.arange(7.0), INDEX.transpose(axes)))
    check(lambda a, i: a[i] + 1, lambda: (np.arange(7.0), INDEX.transpose(axes)[::-1, :, ::2]))


CLIPS: list[Callable[[Any], Any]] = [
    lambda x: np.clip(x, 2), lambda x: np.clip(x, a_max=2), lambda x: np.clip(x, 1, 2), lambda x: np.clip(x, None, 2),
    lambda x: np.clip(x, 0, None), lambda x: np.clip(x, min=0), lambda x: np.clip(x, min=0, max=2), lambda x: np.clip(x) + 1,
    lambda x: np.clip(x, 0, 2, max=3), lambda x: np.clip(x, 0, min=3), lambda x: np.clip(x, -(2**300), 2**70),
    lambda x: x.clip(1), lambda x: x.clip(1, 3), lambda x: x.clip(max=3), lambda x: x.clip(a_min=1),
    lambda x: x.clip(None, 3), lambda x: x.clip(1, min=2), lambda x: np.sum(x, 0, axis=0), lambda x: x.mean(0, axis=0),
    lambda x: np.concatenate((x, x), 0, axis=0), lambda x: np.clip(x, a=x, a_min=0, a_max=1),
]  # fmt: skip


@pytest.mark.parametrize("program", CLIPS, ids=range(len(CLIPS)))
def test_bounds_that_are_left_out_or_given_twice(program: Callable[[Any], Any]) -> None:
    """Where NumPy refuses arguments, so does the compiled function, in the same words."""
    for dtype in (np.float64, np.int32):
        check(program, lambda: (np.arange(-3, 5).astype(dtype),))  # noqa: B023  called at once


KEYS = [
    (), None, Ellipsis, 1, -1, 20, True, (1,), [1, 2], slice(2, 5), slice(None, None, -1), slice(5, 1), slice(0, 100),
    np.int64(2), 1.5, (Ellipsis,), (1, 2), "a",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_stores_through_flat(key: Any) -> None:
    """`array.flat[key] = …` takes what NumPy takes, and refuses the rest as it does."""

    def stores(a: Any) -> Any:
        b = a + 1
        b.flat[key] = 70
        return b

    check(stores, lambda: (np.arange(9).reshape(3, 3),))


def test_a_write_to_a_broadcast_array_is_warned_of_once() -> None:
    """NumPy warns of writing to what `broadcast_arrays` gave, and of nothing that the compiler looks at."""

    def writes(u: Any, v: Any) -> Any:
        u += v
        return u

    def fills(u: Any, v: Any) -> Any:
        u[:] = v + 1
        return u

    def make() -> tuple[Any, ...]:
        return np.broadcast_arrays(np.arange(2), np.arange(4).reshape(2, 2))

    check(writes, make)
    check(fills, make)
    compiled = ufuse.compile(fills)
    compiled(np.zeros((2, 2), int), np.ones((2, 2), int))
    after_others = functools.partial(compiled)  # has no `reset`: what was captured is kept
    check_same(fills, after_others, make, modes=MODES[:1], copies=False)


RANGES: list[Callable[[int], Any]] = [
    lambda m: np.arange(0, stop=m)[:-1] + 1, lambda m: np.arange(1, stop=m, step=2)[::-1] * 2,
    lambda m: np.arange(0, stop=m, step=1, dtype=np.float64)[1:] / 2, lambda m: np.arange(m, stop=None)[1:] + 1,
    lambda m: np.arange(start=1, stop=m)[:2] + 1, lambda m: np.arange(m, step=2)[1:] + 1,
    lambda m: np.arange(m, None, 2)[1:] + 1, lambda m: np.arange(m, 0, -1)[1:] + 1, lambda m: np.arange(2, m)[1:] + 1,
    lambda m: np.arange(0, dtype="f4", stop=m)[1:] + 1,
]  # fmt: skip


@pytest.mark.parametrize("program", RANGES, ids=range(len(RANGES)))
def test_ranges_whose_arguments_are_named(program: Callable[[int], Any]) -> None:
    """The length of a range follows from all its arguments, for whatever numbers come later, and its graph has a text."""
    compiled = ufuse.compile(program)
    check_in_turn(program, compiled, [(m,) for m in (7, 8, 9, 3, 0, -2, 1, 7, 100, -5, 2)])
    assert all(str(graph) for graph in compiled.graphs)


def test_products_along_other_axes() -> None:
    """Arguments that say which axes a product takes are obeyed."""
    a, b = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4)
    check(lambda a, b: np.matmul(a, b, axes=[(1, 0), (0, 1), (0, 1)])[1:] + 1, lambda: (a, b))
    if hasattr(np, "vecdot"):
        check(lambda a, b: np.vecdot(a, b, axis=0)[1:] + 1, lambda: (a, b))
    check(lambda a: np.median(a, axis=0, keepdims=True)[:, 1:] + 1, lambda: (a,))
    check(lambda a: a.argmax(0, keepdims=True)[:, 1:] + 1, lambda: (a,))
    check(lambda a: np.array([1.0, 2.0], ndmin=2)[:, 1:] + a, lambda: (a,))


@pytest.mark.parametrize("order", ["C", "F"])
def test_copies_keep_the_order_of_the_array(order: str) -> None:
    """`copy.copy` and `copy.deepcopy` of an array lay it out as it was, `ndarray.copy` in C order."""
    make = lambda: (np.ones((2, 3), order=order),)  # noqa: E731
    for copied in (copy.copy, copy.deepcopy, np.ndarray.copy, lambda a: a.copy("K")):
        check(lambda a, copied=copied: copied(a), make)
        check(lambda a, copied=copied: copied(a[:, ::2]), make)


@pytest.mark.parametrize("size", [2**31, 2**45, 2**61, 2**62, 2**63 - 1, 2**63, 2**64, -1])
def test_arrays_that_cannot_be_made_are_refused_though_nothing_reads_them(size: int) -> None:
    """What NumPy says of impossible sizes is said whether or not the array is used."""

    def unused(n: int) -> Any:
        try:
            np.empty((n, 2**16))
        except (ValueError, MemoryError) as error:
            return np.array(str(error))
        return np.zeros(2)

    for first in (3, size):
        check_in_turn(unused, ufuse.compile(unused), [(first,), (size,), (5,)])


def test_copies_without_room_are_refused_though_nothing_reads_them() -> None:
    """An array that repeats one element may be larger than memory; its copies may not."""

    def copied() -> Any:
        large = np.broadcast_to(np.uint8(0), 2**62)
        try:
            large + 1
        except (ValueError, MemoryError) as error:
            return np.array(type(error).__name__)
        return large

    check(copied, tuple)


@pytest.mark.parametrize(
    "made",
    [
        lambda x, i: i * 2, np.take, lambda x, i: x[i], lambda x, i: np.take(x, i) * 2, lambda x, i: np.sqrt(i),
        lambda x, i: np.where(i > 0, i, 1), lambda x, i: i.astype(float) + x[0], lambda x, i: np.take(x, i, mode="clip") - 1,
        lambda x, i: (i + 1).sum(), lambda x, i: np.sqrt(i).max(), lambda x, i: (i > 0).any() + x,
    ],
)  # fmt: skip
def test_what_memory_has_no_room_for_is_named_as_numpy_names_it(
    made: Callable[[Any, Any], Any],
) -> None:
    """A graph whose result or temporary does not fit leaves it to NumPy to say which array that is."""
    resource = pytest.importorskip("resource")
    limit = resource.getrlimit(resource.RLIMIT_AS)

    def tried(x: Any, zero: Any, n: int) -> Any:
        try:
            return made(x, np.broadcast_to(zero, n))
        except MemoryError as error:
            return np.array([type(error).__name__, str(error)])

    resource.setrlimit(resource.RLIMIT_AS, (1 << 45, limit[1]))
    try:
        for first in (3, 1 << 43):
            given = [(np.arange(4.0), np.zeros(1, int), n) for n in (first, 1 << 43, 2, 1 << 43)]
            check_in_turn(tried, ufuse.compile(tried), given)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)


def test_what_has_no_room_behind_a_write_is_named_as_numpy_names_it() -> None:
    """Where plain Python cannot do it again, the error is NumPy's, too."""
    resource = pytest.importorskip("resource")
    limit = resource.getrlimit(resource.RLIMIT_AS)

    def tried(x: Any, zero: Any, n: int) -> Any:
        try:
            x += 1
            return x[0] + np.broadcast_to(zero, n)
        except MemoryError as error:
            return np.array([type(error).__name__, str(error)])

    resource.setrlimit(resource.RLIMIT_AS, (1 << 45, limit[1]))
    try:
        given = [(np.arange(4.0), np.zeros(1, int), n) for n in (3, 1 << 43, 2, 1 << 43)]
        check_in_turn(tried, ufuse.compile(tried), given)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)


REFUSED: list[Callable[[Any], Any]] = [
    lambda x: np.array(), lambda x: np.sum(), lambda x: np.full(3), lambda x: np.full_like(a=x), lambda x: x.astype(), lambda x: np.zeros(),
    lambda x: np.array(None), lambda x: np.asarray(), lambda x: np.add.reduce(), lambda x: x.reshape(), lambda x: x.fill(),
    lambda x: np.ascontiguousarray(), lambda x: np.transpose(), lambda x: np.ravel(), lambda x: np.reshape(a=x), lambda x: np.ndim(),
    lambda x: np.transpose(x, foo=None), lambda x: np.transpose(x, foo=(1, 0)), lambda x: x.transpose(None, None), lambda x: x.transpose(()),
    lambda x: x.transpose(True, False), lambda x: x.reshape(shape=6), lambda x: x.reshape(True, 6), lambda x: x.sum(axis=True),
    lambda x: x.sum(keepdims=None), lambda x: x.sum(keepdims=2.5), lambda x: x.sum(keepdims="a"), lambda x: x.any(0, None, True),
    lambda x: np.zeros(True), lambda x: x.swapaxes(0), lambda x: np.copy(), lambda x: np.shape(), lambda x: x.var(ddof=None),
    lambda x: np.dstack(np.ones(2) for _ in range(2)), lambda x: np.column_stack({1, 2}), lambda x: np.stack(map(np.ones, (2, 2))),
]  # fmt: skip


@pytest.mark.parametrize("program", REFUSED)
def test_refused_arguments_are_refused(program: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:  # fmt: skip
    """Missing, superfluous and odd arguments end the graph: NumPy says what is wrong with them."""
    check(program, lambda: (np.arange(6.0).reshape(2, 3),))
    assert not caplog.records


def test_numpy_has_one_true_and_one_false() -> None:
    """`np.bool(…)` gives one of two objects, so `is` tells what it is."""
    check(lambda: np.array([np.bool(True) is np.True_, np.bool(0) is np.False_, np.bool(1) is np.False_]), tuple)  # fmt: skip
    check(lambda a: np.array([a.any() is np.True_, a.any() is True, (a[0] > 1) is np.bool(True)]), lambda: (np.arange(3.0),))  # fmt: skip
    for x in (0.5, 2.5):
        check(lambda x: np.array([(x > 1.0) is True, (x > 1.0) is False]), lambda: (x,))  # noqa: B023


@pytest.mark.parametrize("text", ["[[1, 2], [3]]", "[1, [2]]", f"{'[' * 70}1{']' * 70}"])
def test_lists_that_are_no_array_are_refused(text: str, caplog: pytest.LogCaptureFixture) -> None:
    """NumPy says itself what is wrong with lists of different lengths, or of too many levels."""
    scope: dict[str, Any] = {"np": np}
    exec(f"def program(): return np.array({text})", scope)
    check(scope["program"], tuple)
    assert not caplog.records


DTYPES: list[Callable[[Any], Any]] = [
    lambda d: d.names, lambda d: f"{d} {len(d)}", lambda d: d.fields["a"][1], lambda d: d == np.dtype([("a", "f8"), ("b", "i4")]),
    lambda d: np.dtype(d).names, lambda d: np.zeros(2, d).dtype.names, lambda d: np.result_type(d, d).names,
]  # fmt: skip


@pytest.mark.parametrize("program", DTYPES)
def test_a_dtype_with_fields_may_change(program: Callable[[Any], Any]) -> None:
    """The names of fields can be set, so what was known of such a dtype may be another when it comes again."""
    compiled = ufuse.compile(program)
    dtype = np.dtype([("a", "f8"), ("b", "i4")])
    for names in (("a", "b"), ("a", "b"), ("b", "a"), ("a", "c")):
        dtype.names = names
        assert compiled(dtype) == program(dtype)


@pytest.mark.parametrize("text", ["O,i", "S3", "M8[s]", ">f8", "2f8", "f8", "int"])
def test_dtypes_are_made_when_they_are_made(text: str) -> None:
    """`np.dtype` gives one object for numbers, and else a new one at every call."""

    def made(text: str) -> Any:
        return np.dtype(text)

    compiled = ufuse.compile(made)
    assert compiled(text) == made(text)
    assert (compiled(text) is compiled(text)) == (made(text) is made(text))


HUGE = 10**5000
WITH_HUGE: list[Callable[[Any], Any]] = [
    lambda x: x + HUGE, lambda x: np.arange(2**63), lambda x: np.arange(-(2**62), 2**63), lambda x: np.arange(HUGE), lambda x: np.full(3, HUGE),
    lambda x: np.where(x > 1, HUGE, 0), lambda x: x[:HUGE] + 1, lambda x: np.round(x, HUGE), lambda x: np.array([1.0, HUGE]), lambda x: x.take(HUGE),
]  # fmt: skip


@pytest.mark.parametrize("program", WITH_HUGE)
@pytest.mark.parametrize("dtype", ["f8", "i8"])
def test_numbers_beyond_everything_are_left_to_numpy(dtype: str, program: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:  # fmt: skip
    """Whole numbers of thousands of digits, and ranges longer than 64 bits can count."""
    check(program, lambda: (np.arange(3, dtype=dtype),))
    assert not caplog.records


def test_rare_methods_of_ufuncs_are_left_to_numpy(caplog: pytest.LogCaptureFixture) -> None:
    """A method of a ufunc that has no rule ends the graph."""
    check(lambda: np.ones(2, np.add.resolve_dtypes((np.dtype("f4"), np.dtype("i8"), None))[2]), tuple)  # fmt: skip
    assert not caplog.records


AXES: list[Callable[[Any], Any]] = [
    lambda x: np.concatenate([x, x], ()), lambda x: np.stack([x, x], ()), lambda x: np.stack([x, x], (0, 1)), lambda x: np.stack([x, x], (0,)),
    lambda x: np.take(x, [0], ()), lambda x: np.repeat(x, 2, ()), lambda x: np.repeat(x, 2, (0,)),
]  # fmt: skip


@pytest.mark.parametrize("program", AXES)
def test_one_axis_is_one_axis(program: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:  # fmt: skip
    """A tuple of axes, empty or not, is refused by NumPy where there has to be one."""
    check(program, lambda: (np.arange(3.0),))
    assert not caplog.records


def test_stores_go_through_reshaped_arrays(caplog: pytest.LogCaptureFixture) -> None:
    """The length that -1 stands for is a quotient, and the graph knows that it fits."""

    def stored(x: Any) -> Any:
        x.reshape(2, -1)[:, 0] = 7
        x.reshape(-1, 3)[1] += 1
        return x

    rows = [(np.arange(n),) for n in (6, 12, 18, 7, 24)]
    check_in_turn(stored, ufuse.compile(stored), rows)
    assert not caplog.records


def test_none_may_come_in_a_variable() -> None:
    """A `dtype`, `axis` or `out` that is None, whether it is written so or passed on, means what its default means."""

    def passed(x: Any, none: Any) -> Any:
        like = np.zeros_like(x, dtype=none) + np.full_like(x, 3, none) + np.asarray(x, none)
        return like + x.sum(none, none, none) + np.ones(2, none) + x.astype(none)

    check(passed, lambda: (np.arange(2, dtype="f4"), None))
    check(lambda x, n: np.zeros_like(x, dtype=n), lambda: (np.arange(2, dtype="f4"), None))


@pytest.mark.parametrize("copied", [True, False, 0, 1, 2, None])
def test_astype_copies_where_it_is_told_to(copied: Any) -> None:
    """`copy=0` is `copy=False`."""
    x = np.ones(3)
    same = lambda x, c: np.array([x.astype(float, copy=c) is x])  # noqa: E731  a program
    check(same, lambda: (x, copied))


def held(x: Any) -> Any:
    """A method that was bound before it is called: its errors are worded otherwise."""
    method = x.transpose
    return method(axes=(1, 0))


WORDED: list[Callable[[Any], Any]] = [
    lambda x: x.transpose(axes=(1, 0)), lambda x: x.item(foo=1), lambda x: x.swapaxes(axis1=0, axis2=1), held,
    lambda x: x.tolist(1, 2), lambda x: [1].append(), lambda x: "a".join(), lambda x: {}.get(),  # type: ignore[call-arg,call-overload]
    lambda x: x.sum().item(a=3), lambda x: (x + 1).tolist(k=1), lambda x: [1, 2].index(k=3), lambda x: {1}.add(),  # type: ignore[call-arg]
    lambda x: (1,).index(), lambda x: x.fill(), lambda x: x.ravel(1, 2, 3), lambda x: x.dot(), lambda x: b"".join(3),  # type: ignore[call-arg,arg-type]
]  # fmt: skip


@pytest.mark.parametrize("program", WORDED, ids=range(len(WORDED)))
def test_methods_that_refuse_their_arguments(program: Callable[[Any], Any]) -> None:
    """The error names the method as CPython does where it is called."""
    check(program, lambda: (np.ones((2, 3)),))


def test_keywords_that_are_names_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    """An argument of NumPy's called `mode` reaches NumPy where a call is tried out: it is one graph."""
    for program in (
        lambda a, i: np.take(a, i, mode="clip") + 1,
        lambda a, i: a.take(i, mode="wrap") + 1,
    ):
        check(program, lambda: (np.arange(5.0), np.array([1, 7])))
        compiled = ufuse.compile(program)
        compiled(np.arange(5.0), np.array([1, 2]))
        assert compiled.breaks == ()
    assert not caplog.records


def caught_store(a: Any, n: Any) -> Any:
    try:
        a[0] = n
    except (OverflowError, TypeError):
        return "caught"
    return a


def caught_store_through_a_view(a: Any, n: Any) -> Any:
    try:
        a[1:][0] = n * 2
    except (OverflowError, TypeError):
        return "caught"
    return a


def flat_store(a: Any, n: Any) -> Any:
    a.flat[0] = n
    return a


@pytest.mark.parametrize("backend", ["numpy", "reference"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "i8", "f4"])
@pytest.mark.parametrize("program", [caught_store, caught_store_through_a_view, flat_store])
def test_a_store_that_fails_can_be_caught(program: Any, dtype: str, backend: str) -> None:
    """A number that does not fit raises in the statement that stores it, whatever was stored at calls before."""
    numbers = (1, 2, 3, -1, 300, 2**62, 1, 2**70, -(2**63), 1.5, True, 4)
    rows = [(np.zeros(3, dtype), n) for n in numbers]
    check_in_turn(program, ufuse.compile(program, backend=backend), rows)


def powered(z: Any, n: Any) -> Any:
    return z**n


def powered_in_place(z: Any, n: Any) -> Any:
    z **= n
    return z


@pytest.mark.parametrize("backend", ["numpy", "reference"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "g", "c16", "c8", "i8"])
@pytest.mark.parametrize("program", [powered, powered_in_place])
def test_exponents_that_change_from_call_to_call(program: Any, dtype: str, backend: str) -> None:
    """NumPy squares, inverts and takes roots where the exponent of `**` says so, with other bits than `np.power`."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=40) * 100
    x = (values + 1j * rng.normal(size=40)).astype(dtype) if dtype[0] == "c" else values.astype(dtype)  # fmt: skip
    x[:2] = 0
    exponents = (3, 2, -1, 0, 1, 2, 0.7, 0.3, 0.5, -1.0, 0.5, 2, 4, 5, 2, -1)
    rows = [(x, n) for n in exponents]
    check_in_turn(program, ufuse.compile(program, backend=backend), rows)


@pytest.mark.parametrize("name", [{}, {"__name__": 5}], ids=["none", "no text"])
def test_warnings_of_functions_whose_globals_have_no_name(name: dict[str, Any]) -> None:
    """They are told as plain Python tells them."""
    space = {"np": np, **name}
    exec("def warns():\n    a = np.zeros(1, 'f4')\n    a[0] = 1e39\n    return a", space)
    check(space["warns"], tuple)


@pytest.mark.parametrize("backend", ["numpy", "reference"])
def test_filling_with_a_number_that_is_too_large(backend: str) -> None:
    """`np.full` refuses numbers that an assignment takes."""
    compiled = ufuse.compile(lambda: np.full(2, 2**63, bool), backend=backend)
    for _ in range(3):
        with pytest.raises(OverflowError, match="too large"):
            compiled()


SEQUENCES: list[Callable[[Any, Any], Any]] = [
    lambda a, x: [1], lambda a, x: [[1]], lambda a, x: (1,), lambda a, x: [x], lambda a, x: np.ones(1), lambda a, x: np.float64(2),
]  # fmt: skip


@pytest.mark.parametrize("made", SEQUENCES)
def test_a_sequence_stored_in_an_element(made: Callable[[Any, Any], Any]) -> None:
    """NumPy refuses it, of any length."""

    def store(a: Any, x: Any) -> Any:
        a[1] = made(a, x)
        return a

    check(store, lambda: (np.zeros(3), 2.0))


def test_ndarray_makes_arrays_without_values() -> None:
    """`np.ndarray` of a shape is captured as `np.empty` is; of a buffer, or of a length below zero, it is plain Python's."""

    def made(n: Any, x: Any) -> Any:
        sums = np.ndarray(n + 1, dtype=np.float32)
        sums[...] = x.sum()
        table = np.ndarray((n, 2), order="F")
        table[:] = x[0]
        return sums, table, np.ndarray(shape=()).shape

    compiled = ufuse.compile(made)
    check_same(made, compiled, lambda: (3, np.arange(4.0)))
    assert not compiled.breaks
    check_same(made, ufuse.compile(made), lambda: (-3, np.arange(4.0)))

    def viewed(x: Any) -> Any:
        return np.ndarray((2,), x.dtype, x, 8) + 1

    check_same(viewed, ufuse.compile(viewed), lambda: (np.arange(4.0),))


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "f4"])
def test_in_place_results_of_wider_numbers_wrap(dtype: str, shape: tuple[int, ...]) -> None:
    """`x[...] += NumPy number` casts as arrays are cast; an assignment of the number would raise."""

    def added(x: Any, y: Any) -> Any:
        x[...] += np.uint8(200) - y.T
        return x

    def given_out(x: Any, y: Any) -> Any:
        return np.multiply(y, np.int16(300), out=x, casting="same_kind")

    for program in (added, given_out):
        check(program, lambda: (np.full(shape, 9, dtype), np.array(100, dtype)))
