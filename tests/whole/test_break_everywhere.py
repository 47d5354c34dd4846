"""A slice of the corpus with traces cut short everywhere. `make break-everywhere` runs all of it, in more ways."""

from __future__ import annotations

import bisect
import contextlib
import enum
import functools
import io
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.recording import position_of
from tests.support.frames.pieces import LENGTHS, in_pieces
from tests.whole.corpus.case import Case
from tests.whole.corpus.check import Tally, broken_everywhere
from tests.whole.corpus.everything import CASES

SLICES = 12  # of which each run takes one: every twelfth function, always the same
SLICE = CASES[5::SLICES]
LEAST_FUNCTIONS = 300
LEAST_WITH_ARRAYS = 100


@pytest.mark.parametrize("case", SLICE, ids=[case.name for case in SLICE])
def test_a_function_in_pieces_is_the_same(case: Case) -> None:
    """A function whose traces end after one, two, … or a drawn number of instructions does what it does plain."""
    tally = Tally()
    first = SLICE.index(case) % len(LENGTHS)
    for length in (LENGTHS[first], LENGTHS[first - 1]):
        assert not broken_everywhere(case, length, tally)
    assert tally.entries


def test_the_corpus_is_large() -> None:
    """There are enough functions, enough of them with arrays, and no two have one name."""
    assert len(CASES) >= LEAST_FUNCTIONS
    assert len({case.name for case in CASES}) == len(CASES)
    with_arrays = [case for case in CASES if any(isinstance(a, np.ndarray) for a in case.call.args)]
    assert len(with_arrays) >= LEAST_WITH_ARRAYS


def test_every_instruction_is_a_trace_of_its_own() -> None:
    """With one instruction a trace, each position of straight code has an entry, and none is given up."""

    def straight(x: Any) -> Any:
        y = x + 1
        return y * 2

    compiled = in_pieces(straight, 1, 0, "numpy")
    assert compiled(np.ones(2)).tolist() == [4.0, 4.0]
    assert compiled(np.ones(2)).tolist() == [4.0, 4.0]
    positions = [kept.position for kept in compiled.specialisations]
    assert positions == sorted(set(positions))
    assert len(positions) == compiled.stats.instructions


def test_every_frame_is_taken_where_that_is_asked_for() -> None:
    """A callee without arrays is traced where traces are cut short, and not otherwise."""

    def callee(n: int) -> int:
        return n + 1

    def caller(x: Any) -> Any:
        return x + bisect.bisect([1, 2, 3], 3, key=callee)  # C calls it

    for taken in (False, True):
        compiled = in_pieces(caller, 1, 0, "numpy") if taken else ufuse.compile(caller)
        compiled(np.ones(2))
        traced = {kept.code.co_name for kept in compiled.specialisations}
        assert ("callee" in traced) == taken


def test_a_trace_inside_a_handler_leaves_the_handled_exception_alone() -> None:
    """Where tracing breaks while the program handles an exception, that exception keeps its traceback."""

    def shown(x: Any) -> Any:
        print(end="")
        return x

    class Block:
        def __enter__(self) -> None:
            pass

        def __exit__(self, kind: object, error: object, trace: object) -> None:
            shown(np.zeros(2))

    def raises(x: Any) -> Any:
        with Block():
            return x[5]

    with pytest.raises(IndexError) as caught:
        ufuse.compile(raises)(np.zeros(2))
    assert [entry.name for entry in caught.traceback][-1] == "raises"


def test_attributes_that_containers_lack_are_left_to_plain_python() -> None:
    """Asking a tuple for what it has not raises in the handler that is there."""

    def guarded(x: Any) -> Any:
        pair = (x, x)
        try:
            return pair.no_such_name  # type: ignore[attr-defined]
        except AttributeError:
            return x + 1

    assert ufuse.compile(guarded)(np.zeros(2)).tolist() == [1.0, 1.0]


def test_identity_of_lists_of_the_frame() -> None:
    """Two names of one list are one object, and lists that look alike are not."""

    def same(x: Any, a: Any, b: Any) -> Any:
        np.array(x, copy=False)
        return a is b, (a, 1) is (a, 1), x + 1

    compiled, one = ufuse.compile(same), [1]
    assert compiled(np.zeros(2), one, one)[0] is True
    assert compiled(np.zeros(2), one, [1])[0] is False
    assert compiled(np.zeros(2), one, one)[0] is True


def test_whole_numbers_past_64_bits() -> None:
    """Arithmetic of ints stays exact where C's would overflow, also when a later call needs more bits."""

    def product(x: Any, n: int) -> Any:
        np.array(x, copy=False)
        return n * n * n, -n, n * 2**62, x + 1

    compiled = ufuse.compile(product)
    for n in (3, 4, 2**40, 2**62, 5, -(2**63), 2**70):
        assert compiled(np.zeros(2), n)[:3] == (n**3, -n, n * 2**62)


def test_numpy_scalars_of_python_floats() -> None:
    """`np.float64(v)` is a NumPy scalar also where `v` is known to be a Python float only."""

    def converted(x: Any, v: float) -> Any:
        return x.dtype.type(v), x + v

    assert type(ufuse.compile(converted)(np.zeros(2), 2.5)[0]) is np.float64


def test_own_setattr_is_not_called_by_objects() -> None:
    """`object.__setattr__` inside a class's own `__setattr__` does not come back to it."""

    class Guarded:
        def __setattr__(self, name: str, value: Any) -> None:
            print("set", name)
            object.__setattr__(self, name, value)

    def write(x: Any, box: Any) -> Any:
        box.field = x + 1
        return box.field

    assert ufuse.compile(write)(np.zeros(2), Guarded()).tolist() == [1.0, 1.0]


def test_lists_made_by_methods_are_new_each_time() -> None:
    """What `split` gives to one call is not what it gives to the next."""

    def words(x: Any, text: str) -> Any:
        found = text.split(",")
        found.append("more")
        return found, x + 1

    compiled = ufuse.compile(words)
    for _ in range(3):
        assert compiled(np.zeros(2), "a,b")[0] == ["a", "b", "more"]


def test_a_string_has_no_name() -> None:
    """`hasattr` asks the value, not its class."""

    def asked(x: Any, text: str) -> Any:
        return hasattr(text, "__name__"), hasattr(text, "upper"), hasattr(x, "mro"), x + 1

    assert ufuse.compile(asked)(np.zeros(2), "a")[:3] == (False, True, False)


@pytest.mark.parametrize("length", LENGTHS)
def test_the_end_of_a_handler_in_pieces(length: int | str) -> None:
    """An entry does not end where what was handled before lies deeper in the stack than where it began."""

    def handles(x: Any) -> Any:
        try:
            return {}[x]
        except KeyError as error:
            return type(error).__name__, error.args

    compiled = in_pieces(handles, length, 0, "reference")
    for _ in range(3):
        assert compiled(1) == ("KeyError", (1,))


def test_comparisons_with_numbers_past_64_bits(caplog: pytest.LogCaptureFixture) -> None:
    """A bound that C cannot hold is compared by plain Python, and is no failure of ours."""

    def bounded(x: Any, n: int) -> Any:
        np.array(x, copy=False)
        return 0 <= n < 1 << 128, x + 1

    compiled = ufuse.compile(bounded)
    assert compiled(np.zeros(2), 5)[0] is True
    assert compiled(np.zeros(2), 1 << 130)[0] is False
    assert not caplog.records


@pytest.mark.parametrize("length", LENGTHS)
def test_what_may_not_die_unnoticed_dropped_by_a_return(
    length: int | str, caplog: pytest.LogCaptureFixture
) -> None:
    """A graph that ends behind a return, and drops what has a finalizer, is broken before that."""

    class Loud:
        def __del__(self) -> None:
            dropped.append("dropped")

    dropped: list[str] = []

    def drops(x: Any) -> None:
        Loud()

    in_pieces(drops, length, 0, "reference")(1)
    assert dropped == ["dropped"]
    assert not caplog.records


def test_parts_of_a_partial_of_the_caller(caplog: pytest.LogCaptureFixture) -> None:
    """The function and arguments of a partial that the frame brings are found in it."""

    def calls(x: Any, made: Any) -> Any:
        return made(x, key=2), made.func, made.args, made.keywords

    def given(a: Any, x: Any, key: int) -> Any:
        return x + a + key

    compiled, made = ufuse.compile(calls), functools.partial(given, 3)
    for _ in range(2):
        result, *parts = compiled(np.zeros(2), made)
        assert result.tolist() == [5.0, 5.0]
        assert parts == [given, (3,), {}]
    assert len(compiled.graphs) == 1
    assert not caplog.records


def test_members_of_enumerations_are_not_asked_for_their_text() -> None:
    """A trace that meets a member, alone or as a key, does not call its own `__repr__`, which may print or fail."""

    class Colour(enum.Enum):
        RED = 1

        def __repr__(self) -> str:
            raise AssertionError("asked")

    def paints(x: Any, colour: Colour, table: dict[Any, Any]) -> Any:
        table[colour] = table[colour] + 1
        return x + table[colour], colour is Colour.RED

    table = {Colour.RED: 1}
    for wanted in (2.0, 3.0):
        assert ufuse.compile(paints)(np.zeros(1), Colour.RED, table)[0].tolist() == [wanted]


@pytest.mark.parametrize("length", LENGTHS)
def test_an_error_raised_again_in_another_piece_keeps_its_place(length: int | str) -> None:
    """Where a `finally` goes on in other code, the error behind it still tells the line that it came from.

    The position of the error lies on the stack meanwhile, and counts in the code that was left: it is translated. The
    second function is long enough for jumps with prefixes.
    """
    longest = "\n".join(f"     if x[0] > 5: log.append({number})" for number in range(24))
    namespace: dict[str, Any] = {}
    exec(LONG_FINALLY.format(longest), namespace)

    def nested(x: Any, i: int, log: list[Any]) -> Any:
        try:
            with contextlib.closing(io.StringIO()) as out:
                try:
                    y = x[0] + x[i]
                finally:
                    for k in range(2):
                        log[len(log) :] = [k]
                    out.write("end")
        finally:
            log.append(3)
        return y

    for function in (nested, namespace["long"]):
        compiled = in_pieces(function, length, 0, "reference")
        for i in (9, 0, 9):
            assert told(compiled, function, i) == told(function, function, i)


LONG_FINALLY = """
def long(x, i, log):
  try:
   try:
    for _ in (0,):
{0}
     log.append(x[i])
   finally:
    for _ in (0,):
{0}
     log.append(5)
  finally:
    log.append(8)
"""


def told(call: Any, function: Any, i: int) -> Any:
    """What a call gives, what it logged, and where in the function its error came from."""
    log: list[Any] = []
    try:
        return call(np.arange(3.0), i, log), log
    except IndexError as error:
        places, trace = [], error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_name == function.__name__:
                places.append((trace.tb_lineno, position_of(trace)))
            trace = trace.tb_next
        return places, log
