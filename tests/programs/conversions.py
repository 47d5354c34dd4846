"""Programs that make arrays of what they are given: of lists, numbers, arrays of another dtype or memory order."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.comparing.recording import MODES
from tests.support.comparing.registering import Programs

PROGRAMS = Programs(backends=("numpy", "reference"), modes=MODES)


def matrix() -> np.ndarray[Any, Any]:
    """Twelve numbers in C order."""
    return np.arange(12.0).reshape(3, 4)


@PROGRAMS.whole(lambda: (matrix(),))
def asarray_of_what_lies_so(a):
    found = [np.asarray(a, order=order) is a for order in (None, "C", "K", "A")]
    found += [np.asanyarray(a, None, "C") is a]
    return (
        found,
        np.asarray(a, dtype=float) is a,
        np.asarray(a, "f8", "C"),
        np.asarray(a, copy=None) is a,
    )


@PROGRAMS.whole(lambda: (matrix(),))
def asarray_in_another_order(a):
    return (
        np.asarray(a, order="F"),
        np.asarray(a.T, order="C") + 1,
        np.asarray(a[:, ::2], order="C"),
        np.asarray(a[:1].T, order="C"),
        np.ascontiguousarray(a.T),
        np.asfortranarray(a),
        np.asfortranarray(a.T),
    )


@PROGRAMS.whole(lambda: (matrix(), np.arange(3, dtype="i4")))
def asarray_of_another_dtype(a, i):
    return (
        np.asarray(a, np.float32),
        np.asarray(a.T, dtype="f4"),
        np.asarray(a.T, "f4", "C"),
        np.asarray(a[::2, ::2], np.complex128),
        np.asarray(i, float) * 2,
        np.asarray(a[:, :1], "f4"),
        np.ascontiguousarray(a.T, dtype=np.float32),
        np.array(i, dtype=bool),
    )


@PROGRAMS.whole(lambda: (matrix(),))
def array_copies_or_not(a):
    modes = np._CopyMode
    return (
        np.array(a, copy=None) is a,
        np.array(a, copy=False) is a,
        np.array(a, copy=modes.IF_NEEDED) is a,
        np.array(a, dtype=float, copy=modes.NEVER) is a,
        np.array(a, copy=modes.ALWAYS),
        np.array(a.T),
        np.array(a.T, order="C"),
        np.array(a, order="F"),
        np.array(a, ndmin=2),
        np.array(a, subok=True),
        np.asarray(a, copy=True),
    )


@PROGRAMS.raising(lambda: (matrix(),))
def array_that_must_not_copy(a):
    return np.array(a, np.float32, copy=False)


@PROGRAMS.whole(lambda: (matrix(),))
def array_of_more_axes(a):
    return np.array(a, ndmin=3)


@PROGRAMS.whole(lambda: (np.arange(3.0), 2.5, 4))
def array_of_numbers(x, f, n):
    total = x.sum()
    return (
        np.array([total, 1.0, f]) * 2,
        np.array([[total, f], [1, 2]]),
        np.asarray((n, 2, 3)),
        np.asarray([n, f]),
        np.asarray(f),
        np.asarray(total),
        np.asarray(3),
        np.asarray([True, False]),
        np.array([np.float32(1.5), 2]),
        np.array([]),
        np.array([[1, 2], [3, 4]], dtype=np.float32, order="F"),
        np.asarray(range(4)),
    )


@PROGRAMS.whole(lambda: (np.arange(3.0), np.ones(3, "f4")))
def array_of_arrays(x, y):
    return np.array([x, y]), np.array([[x[0], y[1]], [x[2], 1]]), np.asarray([x, x + 1], order="F")


@PROGRAMS.either(lambda: (np.arange(3.0),))
def array_of_uneven_lists(x):
    try:
        return np.array([x, x[:2]])
    except ValueError as error:
        return str(error)


@PROGRAMS.either(lambda: (np.array([1.0, np.nan]),))
def array_of_a_nan_as_an_integer(x):
    try:
        return np.array([float(x[1]), 2.0], dtype=int)
    except ValueError as error:
        return str(error)


def holding_itself() -> list[Any]:
    """A list in itself."""
    made: list[Any] = [1.0]
    made.append(made)
    return made


@PROGRAMS.either(lambda: (holding_itself(),))
def array_of_a_list_in_itself(made):
    try:
        return np.array(made)
    except ValueError as error:
        return str(error)


@PROGRAMS.whole(lambda: (matrix(), np.arange(3, dtype="i2"), 2.5))
def common_types(a, i, f):
    return (
        np.result_type(a, i),
        np.result_type(i, 3),
        np.result_type(i, f),
        np.result_type(i.sum(), np.float32),
        np.can_cast(i, np.float32),
        np.can_cast(a, int, casting="unsafe"),
        np.isscalar(f),
        np.isscalar(a),
        np.isscalar(a.sum()),
    )


@PROGRAMS.whole(lambda: (np.arange(6.0).reshape(1, 3, 2, 1), np.arange(3.0)))
def squeezed(a, x):
    return (
        a.squeeze(),
        np.squeeze(a, 0),
        a.squeeze((0, -1)),
        x.squeeze() is x,
        np.squeeze(x) is x,
        x[:1].squeeze(),
        x[:1].squeeze() + 1,
        a.squeeze(axis=()) is a,
    )


@PROGRAMS.raising(lambda: (np.arange(6.0).reshape(1, 6),))
def squeezed_of_another_length(a):
    return np.squeeze(a, axis=1)


@PROGRAMS.whole(lambda: (np.arange(6.0).reshape(2, 3), np.ones(3)))
def shapes(a, x):
    return (
        np.broadcast_shapes(a.shape, x.shape, 1, (2, 1)),
        np.ndim(3.0),
        np.shape(x.sum()),
        np.shape([[1, 2], [3, 4]]),
        np.ndim([x, x]),
        np.size(a),
        np.size(a, 1),
    )


@PROGRAMS.raising(lambda: (np.arange(6.0).reshape(2, 3), np.ones(4)))
def shapes_that_do_not_fit(a, x):
    return np.broadcast_shapes(a.shape, x.shape)


@PROGRAMS.whole(lambda: (np.arange(3.0), np.arange(3), 2.5))
def real_parts(x, i, f):
    return x.real is x, np.real(i) is i, x[1:].real, x.sum().real, f.real, np.iscomplexobj(x)


@PROGRAMS.whole(lambda: (matrix(),))
def flags(a):
    b = a + 1
    return (
        [one.flags.c_contiguous for one in (a, a.T, a[:, ::2], a[:1], b.T, a[:0])],
        [one.flags["F_CONTIGUOUS"] for one in (a, a.T, a[::2], a[:1], b.T, a[:0])],
        [one.flags.writeable for one in (a, a[1:], b)],
        a[1:].flags.owndata,
        a.flags.aligned,
        a.T.flags.fnc,
        a[::2].flags.forc,
        a.flags["C"],
        a.flags,
    )


@PROGRAMS.either(lambda: (np.broadcast_to(np.arange(3.0), (2, 3)),))
def flags_of_a_broadcast_array(a):
    return a.flags.writeable, a.flags.c_contiguous, a.flags["A"]


@PROGRAMS.whole(lambda: (matrix(), 2.5, 4))
def attributes_that_are_not_there(a, f, n):
    def error(value, name):
        try:
            return getattr(value, name)
        except AttributeError as raised:
            return str(raised)

    values = (a, a.flags, a.sum(), f, n, None, a.dtype, 3, np.float64(1.5))
    return [error(value, "_typ") for value in values], getattr(a, "mask", None), hasattr(a, "_typ")


@PROGRAMS.whole(lambda: (matrix(),))
def bases(a):
    b = a + 1
    return (
        a.base is None,
        a[1:].base is a,
        a[1:][1:].base is a,
        b.base,
        b.T.base is b,
        b[1:].base,
        np.arange(3)[1:].sum(),
    )


@PROGRAMS.whole(lambda: (matrix()[1:],))
def base_of_a_view(a):
    return a.base, a.base is None, a[1:].base is a, a[1:].base is a.base


@PROGRAMS.whole(lambda: (np.arange(3.0), np.arange(3.0) + 1j))
def conjugates(x, z):
    return x.conj() is x, x.conjugate() is x, np.conj(x), z.conj(), np.conjugate(z), z.T.conj()


@PROGRAMS.whole(lambda: (np.arange(3.0), 2.5))
def reductions_of_what_is_no_array(x, f):
    return (
        np.any(x.sum()),
        np.all([True, False]),
        np.prod(x.shape),
        np.prod(3),
        np.sum(f),
        np.max([1, 2]),
        np.min((f, 1.0)),
    )


@PROGRAMS.whole(lambda: (np.arange(3.0), 2.5, 4))
def what_can_be_iterated(x, f, n):
    def error(value):
        try:
            return len([one for one in iter(value)])
        except TypeError as raised:
            return str(raised)

    values = (x, f, n, None, 3, 2.5, True, x.sum(), np.asarray(1.0), "ab")
    return [np.iterable(value) for value in values], [error(value) for value in values]


@PROGRAMS.either(lambda: (np.arange(3.0), 2.5, 4))
def errors_of_what_cannot_be_iterated(x, f, n):
    def unpacked(value):
        first, second = value
        return first, second

    def sliced(value):
        made = [1]
        made[:] = value
        return made

    uses = (
        unpacked, sliced, lambda v: [*v], lambda v: max(*v), lambda v: {**v}, list, tuple, sum, max, sorted, set,
        iter, lambda v: [1].extend(v), lambda v: ",".join(v), lambda v: 1 in v, reversed, len, lambda v: zip(v),
        lambda v: [one for one in v], lambda v: list(one for one in v), enumerate, any, lambda v: v.nothing,
    )  # fmt: skip
    said = []
    for value in (f, n, None, x.sum(), np.asarray(f), len(x)):
        for use in uses:
            try:
                said.append(type(use(value)))
            except (TypeError, AttributeError) as error:
                said.append(str(error))
    return said


@PROGRAMS.whole(lambda: (np.arange(3.0), np.arange(3, dtype="i2")))
def facts_of_dtypes(x, i):
    return (
        np.dtype(object),
        x.dtype == object,
        "got %s" % type(x),
        np.issubdtype(i.dtype, np.integer),
        np.require(x, float, "C") is x,
    )


@PROGRAMS.either(lambda: (np.arange(3.0), np.arange(3, dtype="f4")))
def machine_limits(x, y):
    return (
        np.finfo(x.dtype).eps * x,
        np.finfo(y.dtype).tiny,
        np.finfo(float).max,
        np.iinfo("i2").max,
    )
