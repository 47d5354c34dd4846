"""Frames that stop and go on: what they do, and the code that makes them."""

from __future__ import annotations

import _thread
import copy
import dis
import importlib
import inspect
import itertools
import random
import re
import signal
import warnings
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.comparing.recording import position_of
from tests.support.frames.frame_cases import CASES, long_function
from tests.support.frames.suspending import Pieces, Stops, everywhere, in_pieces, stoppable
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.instructions import (
    JUMPS,
    by_position,
    effect,
    exception_entries,
    flow,
    instructions,
    live_locals,
    protections,
    slot_names,
    successors,
)
from ufuse.frame_hook.code.resume import edited, placed, resume_code
from ufuse.frame_hook.code.stops import stops_after, why_not_resume, why_not_stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Stops = Callable[[CodeType, int], frozenset[int]]

# Standard library modules whose code is looked at, never run.
READ_MODULES = """
    argparse ast asyncio.base_events asyncio.tasks bdb calendar cmd codecs codeop collections
    configparser contextlib copy csv dataclasses decimal difflib dis doctest email.message
    email.policy enum fileinput fnmatch fractions ftplib functools getopt gettext glob graphlib gzip
    heapq hmac html.parser http.client http.cookies http.server imaplib inspect ipaddress
    json.decoder json.encoder locale logging logging.handlers mailbox mimetypes netrc ntpath numbers
    operator optparse os pathlib pdb pickle pickletools platform plistlib poplib posixpath pprint
    profile pstats pydoc queue quopri random sched selectors shelve shlex shutil smtplib socket
    socketserver ssl statistics string subprocess symtable tabnanny tarfile tempfile textwrap
    threading timeit tokenize trace traceback tracemalloc types typing unittest.case unittest.mock
    urllib.parse urllib.request uuid warnings wave weakref xml.dom.minidom xml.etree.ElementTree
    xmlrpc.client zipapp zipfile _pydecimal _pyio
""".split()
# Modules whose functions are called: they only compute.
RUN_MODULES = """
    base64 bisect calendar collections colorsys copy difflib dis email.utils email.quoprimime
    email.base64mime enum fnmatch fractions functools genericpath getopt heapq html ipaddress json
    keyword ntpath opcode operator pickletools plistlib posixpath pprint quopri random re reprlib
    shlex statistics stat string stringprep textwrap token tokenize types typing urllib.parse
    _pydecimal _strptime _weakrefset _collections_abc
    numpy.lib._function_base_impl numpy.lib._shape_base_impl numpy.lib._stride_tricks_impl
    numpy.lib._arraysetops_impl numpy.lib._twodim_base_impl numpy._core.numeric
    numpy._core.fromnumeric numpy._core.shape_base numpy.polynomial.polynomial
    numpy.polynomial.polyutils numpy.linalg._linalg
""".split()
# They do more than compute, or look at the frames below them.
NOT_CALLED = frozenset({"main", "test", "_test", "input", "_getframe", "currentframe", "sys"})
# No number is small: a function may take one for a file that is open.
ARGUMENTS: list[tuple[Any, ...]] = [
    (),
    (103,),
    ("a b,c%d",),
    ([103, 1, 2],),
    (102, 105),
    ("ab", "b"),
    ([4, 5], 101),
    (b"abc",),
    ({"a": 1},),
]
LIBRARY = Path(copy.__file__).parent
ADDRESS = re.compile(r"0x[0-9a-f]+")


# ---- running in pieces ---------------------------------------------------------------------------


def outcome(function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a call gives: its result as text, or its exception with the lines it went through."""
    args, kwargs = copy.deepcopy((args, kwargs))
    try:
        return "result", ADDRESS.sub("", repr(function(*args, **kwargs)))
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same
        trace, places = error.__traceback__, []
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_name == name:
                places.append(position_of(trace))
            trace = trace.tb_next
        texts = [ADDRESS.sub("", repr(e)) for e in (error, error.__cause__, error.__context__)]
        return "error", texts, places


def check_pieces(function: Any, args: Any, kwargs: Any, *stops: Stops, forget: bool = False) -> int:
    """Compare runs in pieces with a plain one; returns how often they were suspended."""
    name, suspensions = function.__name__, 0
    expected = outcome(function, name, args, kwargs)
    for each in stops:
        pieces = in_pieces(function, each, forget=forget)
        assert outcome(pieces, name, args, kwargs) == expected
        suspensions += pieces.__ufuse_cache__.suspensions
    return suspensions


CASE_NAMES = [f"{function.__name__}-{place}" for place, (function, _, _) in enumerate(CASES)]
every_case = pytest.mark.parametrize(("function", "args", "kwargs"), CASES, ids=CASE_NAMES)


@every_case
def test_stopping_everywhere_changes_nothing(function: Any, args: Any, kwargs: Any) -> None:
    """A frame that is suspended at every instruction does what it would have done."""
    assert check_pieces(function, args, kwargs, everywhere) > 0


@every_case
def test_stopping_anywhere_changes_nothing(function: Any, args: Any, kwargs: Any) -> None:
    """A frame that has one stop, wherever that is, does what it would have done."""
    stops = [frozenset({position}) for position in stoppable(function.__code__)]
    check_pieces(function, args, kwargs, *[lambda code, place, stop=stop: stop for stop in stops])  # type: ignore[misc]


@every_case
def test_locals_that_are_not_live_are_not_missed(function: Any, args: Any, kwargs: Any) -> None:
    """What liveness calls dead can be taken away at every instruction."""
    if function.__name__ != "lifetimes":  # there, when an object dies is the result
        check_pieces(function, args, kwargs, everywhere, forget=True)


def test_long_jumps_and_many_locals() -> None:
    """Distances and slots past 255 take EXTENDED_ARG, also where only a stop makes them so long."""
    function = long_function(300)
    code = function.__code__
    assert len(code.co_code) > 2 * 256 * 10
    choose = random.Random(1)  # noqa: S311 - the same on every run
    places = stoppable(code)
    for count in (1, 10, 80):
        stops = frozenset(choose.sample(places, count))
        assert check_pieces(function, (6,), {}, lambda code, place, stops=stops: stops) > 0  # type: ignore[misc]


def functions_to_call() -> Iterator[FunctionType]:
    """Give public functions that compute and do not look at their callers."""
    for name in RUN_MODULES:
        module = importlib.import_module(name)
        for member in list(vars(module).values()):
            function = inspect.unwrap(member) if callable(member) else member
            if (
                isinstance(function, FunctionType)
                and function.__module__ == name
                and not NOT_CALLED & {function.__name__, *function.__code__.co_names}
            ):
                yield function


def fits(function: FunctionType, args: tuple[Any, ...]) -> bool:
    """Whether a function takes so many arguments."""
    try:
        inspect.signature(function).bind(*args)
    except (TypeError, ValueError):
        return False
    return why_not_resume(function.__code__, 0) is None


@pytest.mark.filterwarnings("ignore")
def test_library_functions_in_pieces() -> None:
    """Functions of the standard library and of NumPy, every second one, do the same in pieces."""
    seen = set()
    for function in itertools.islice(functions_to_call(), 0, None, 2):
        name = function.__name__
        pieces = in_pieces(function, everywhere)
        for args in ARGUMENTS:
            if fits(function, args):
                first, second = (outcome(function, name, args, {}) for _ in range(2))
                if first == second:  # else it is random, or counts its calls
                    assert outcome(pieces, name, args, {}) == first, function
                    seen.add(function)
    assert len(seen) > 150


def test_an_entrys_error_reaches_the_users_handlers() -> None:
    """What is raised while compiled code stands in for an instruction is raised by that one."""

    def guarded(x: int) -> tuple[int, str]:
        try:
            x += 1
        except ArithmeticError as error:
            return x, str(error)
        return x, "none"

    class Raising(Pieces):
        def capture(self, cache: Any, position: int, function: object, state: Any) -> Any:
            if by_position(cache.code)[position].opname != "BINARY_OP":
                return super().capture(cache, position, function, state)
            ending = ("resume", position, tuple(range(len(state))))
            return _hook.Entry([], [], lambda: 1 // 0, 1, [], ending)

    assert _hook.Dispatcher(guarded, Raising(everywhere))(5)[0] == 5


@pytest.mark.usefixtures("no_collections")
def test_resuming_looks_for_no_signals() -> None:
    """An interrupt is raised where plain Python would, not where a frame happens to go on."""

    def function(interrupt: Any) -> Any:
        interrupt[signal.SIGINT]
        opened = 1
        try:
            opened += 1
            sorted(())  # the first place where the interpreter looks
        except KeyboardInterrupt:
            return opened
        return "not interrupted"

    interrupt_main = {"__getitem__": staticmethod(_thread.interrupt_main)}
    interrupting = type("Interrupting", (), interrupt_main)()
    pieces = in_pieces(function, everywhere)
    assert pieces({signal.SIGINT: 0}) == "not interrupted"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    try:
        assert function(interrupting) == 2
        assert pieces(interrupting) == 2
    finally:
        signal.signal(signal.SIGINT, before)


# ---- what instructions say -----------------------------------------------------------------------


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """Give a code object and all in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested_codes(constant)


@cache
def library_codes() -> list[CodeType]:
    """Compile a part of the standard library; a third of its functions, always the same ones."""
    found: list[CodeType] = []
    for name in READ_MODULES:
        stem = LIBRARY.joinpath(*name.split("."))
        for path in (stem.with_suffix(".py"), stem / "__init__.py"):
            if path.exists():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found += nested_codes(compile(path.read_bytes(), str(path), "exec"))
    return found[::3]


def edges(code: CodeType) -> Iterator[tuple[int, int, int]]:
    """Give each way from one reachable instruction to another, with the depth that it makes."""
    for position, depth in flow(code).depths.items():
        instruction = by_position(code)[position]
        for place, successor in enumerate(successors(instruction)):
            jumps = place == 1 or instruction.opname in JUMPS
            yield position, successor, depth + effect(instruction, jumps)


def test_instructions_agree_with_dis() -> None:
    """Names, arguments, targets, locations and protected ranges are those `dis` shows."""
    for code in library_codes()[::3]:
        shown = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
        for ours, other in zip(instructions(code), shown, strict=True):
            assert (ours.opname, ours.arg, ours.location) == (
                other.opname,
                other.arg,
                tuple(other.positions or ()),
            )
            assert (None if ours.target is None else 2 * ours.target) == (
                other.argval if other.opcode in dis.hasjrel else None
            )
        assert 2 * sum(i.size for i in instructions(code)) == len(code.co_code)
        table = [(2 * e.start, 2 * e.end, 2 * e.target) for e in exception_entries(code)]
        parsed = dis._parse_exception_table(code)  # type: ignore[attr-defined]
        assert table == [(e.start, e.end, e.target) for e in parsed]


def test_every_path_gives_the_same_stack_depth() -> None:
    """Depths agree where paths meet, fit the code's stack, and a return leaves nothing."""
    for code in library_codes():
        depths = flow(code).depths
        for _, successor, depth in edges(code):
            assert depths[successor] == depth
        for position, depth in depths.items():
            assert 0 <= depth <= code.co_stacksize
            assert by_position(code)[position].opname != "RETURN_VALUE" or depth == 1
            if (entry := protections(code).get(position)) is not None:
                assert entry.depth <= depth


def test_slot_names_are_the_interpreters() -> None:
    """Slots are named in the interpreter's order, cells that are arguments once."""
    for code in library_codes():
        names = slot_names(code)
        assert names == tuple(code._varname_from_oparg(i) for i in range(len(names)))  # type: ignore[attr-defined]
        with pytest.raises(IndexError):
            code._varname_from_oparg(len(names))  # type: ignore[attr-defined]


def test_live_locals() -> None:
    """A local lives from its store to its last read, across handlers and loops."""

    def function(a: Any, b: Any, c: Any) -> Any:
        try:
            a = b()
        except ValueError:
            return a
        for b in a:  # noqa: B007, PLR1704 - a store that nobody reads
            pass
        return 0

    code = function.__code__
    live = live_locals(code)
    names = slot_names(code)
    stores = {
        names[i.arg]: i
        for i in instructions(code)
        if i.opname == "STORE_FAST" and i.arg is not None
    }
    assert {names[slot] for slot in live[0]} == {"a", "b"}
    assert {names[slot] for slot in live[stores["a"].position]} == {"a"}
    assert not live[stores["b"].position]


def test_everything_lives_where_locals_are_listed() -> None:
    """`locals()` reads every slot."""

    def function(a: Any) -> Any:
        b = 1
        return locals()

    assert set(live_locals(function.__code__).values()) == {frozenset({0, 1})}


# ---- what resume code is -------------------------------------------------------------------------


def check_layout(code: CodeType, made: CodeType) -> None:
    """Slots, names, constants and identity are the original's; there is at most one argument."""
    assert slot_names(made) == slot_names(code)
    assert (made.co_cellvars, made.co_freevars) == (code.co_cellvars, code.co_freevars)
    assert (made.co_varnames, made.co_names) == (code.co_varnames, code.co_names)
    assert made.co_consts[: len(code.co_consts)] == code.co_consts
    assert (made.co_qualname, made.co_filename) == (code.co_qualname, code.co_filename)
    assert made.co_firstlineno == code.co_firstlineno
    assert made.co_argcount == min(code.co_argcount, 1)
    assert made.co_posonlyargcount == made.co_kwonlyargcount == 0
    starts = [entry.start for entry in exception_entries(made)]
    assert starts == sorted(starts)
    assert not made.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)


def check_instructions(
    code: CodeType, made: CodeType, position: int, stops: frozenset[int]
) -> None:
    """Every instruction is there with its argument, target, location, depth and protection."""
    edits = edited(code, position, sorted(stops))
    places = placed(code, edits)
    labels = places.labels
    for before in instructions(code):
        body = places.bodies[before.position]
        after = by_position(made)[body]
        assert (after.opname, after.location) == (before.opname, before.location)
        if before.target is None:
            assert after.arg == before.arg
        else:
            assert after.target == labels[before.target]
        depth = flow(made).depths.get(body)
        assert depth is None or depth == flow(code).depths[before.position]
        old, new = protections(code).get(before.position), protections(made).get(body)
        assert (old is None) == (new is None)
        if old is not None and new is not None:
            assert (new.target, new.depth, new.lasti) == (labels[old.target], old.depth, old.lasti)
        if before.position in stops:
            stop = range(labels[before.position] + edits.stops[before.position].calls_at, body - 1)
            assert not any(
                entry.start < stop[-1] and entry.end > stop[0] for entry in exception_entries(made)
            )


def test_resume_code_keeps_the_users_code() -> None:
    """Only distances change, for any position and any stops, in a part of the library."""
    choose = random.Random(2)  # noqa: S311 - the same on every run
    checked = 0
    for code in library_codes()[1::2]:
        goes_on = [
            i.position for i in instructions(code) if why_not_resume(code, i.position) is None
        ]
        places = stoppable(code)
        if not goes_on:
            continue
        position = choose.choice(goes_on)
        some = frozenset(choose.sample(places, min(len(places), choose.choice([0, 1, 3, 1000]))))
        stops = choose.choice([some, everywhere(code, position)])
        made = resume_code(code, position, stops, restore=_hook.restore, suspend=_hook.suspend)
        check_layout(code, made)
        check_instructions(code, made, position, stops)
        for _, successor, depth in edges(made):
            assert flow(made).depths[successor] == depth <= made.co_stacksize
        checked += 1
    assert checked > 750


def test_caches_are_empty_as_in_fresh_code() -> None:
    """The bytes are what CPython itself gives for code that has never run."""

    def function(x: int) -> int:
        for i in range(3):
            x += i
        return x

    for _ in range(50):
        function(1)
    code = function.__code__
    made = resume_code(code, 0, frozenset(), restore=_hook.restore, suspend=_hook.suspend)
    assert made.co_code.endswith(code.replace(co_name="other").co_code)


def test_stops_pass_over_skipped_positions() -> None:
    """A skipped position is passed over to what may follow it, round a loop as well."""

    def function(x: int) -> int:
        while x:
            x -= 1
        return x

    code = function.__code__
    places = frozenset(stoppable(code))
    first = stops_after(code, 0, frozenset())
    assert len(first) == 1
    kept = max(places)
    assert stops_after(code, 0, places - {kept}) == {kept}
    (subtraction,) = (i.position for i in instructions(code) if i.opname == "BINARY_OP")
    assert stops_after(code, subtraction, places - {subtraction}) == {subtraction}


def test_handlers_are_walked_through() -> None:
    """After a protected instruction the code behind its handler is a stop too."""

    def function(x: Any) -> Any:
        try:
            x.a
        except AttributeError:
            x = 1
        return x

    code = function.__code__
    (reads,) = (i.position for i in instructions(code) if i.opname == "LOAD_ATTR")
    stops = stops_after(code, reads, frozenset())
    assert len(stops) == 2
    assert "PUSH_EXC_INFO" in {by_position(code)[stop].opname for stop in stops}


def test_refusals_say_why() -> None:
    """Where a frame cannot stop or go on, the reason is given, and building refuses."""

    def generator() -> Iterator[int]:
        yield 1

    body = next(nested_codes(compile("class A: x = 1", "a.py", "exec")))
    assert "generator" in str(why_not_resume(generator.__code__, 0))
    assert "dictionary" in str(why_not_resume(body, 0))
    code = outcome.__code__
    assert "no instruction" in str(why_not_resume(code, 10**6))
    assert "set up" in str(why_not_stop(code, 0))
    with pytest.raises(ValueError, match="no instruction"):
        resume_code(code, 10**6, frozenset(), restore=_hook.restore, suspend=_hook.suspend)
    with pytest.raises(ValueError, match="set up"):
        resume_code(code, 0, frozenset({0}), restore=_hook.restore, suspend=_hook.suspend)


class Base:
    """A class with a method to be called through `super()`."""

    def value(self) -> int:
        """Give one."""
        return 1


class Derived(Base):
    """A class whose method does so."""

    def value(self) -> int:
        """Give one more."""
        return super().value() + 1


def test_super_without_arguments() -> None:
    """A frame that calls `super()` has a first argument in every piece."""
    check_pieces(Derived.value, (Derived(),), {}, everywhere)


def test_equal_code_objects_are_told_apart() -> None:
    """What is remembered of a code object belongs to that one, and goes with it."""

    def function() -> int:
        return 1

    code = function.__code__
    twin = code.replace()
    assert twin == code
    assert instructions(twin) is not instructions(code)
    assert instructions(code) is instructions(code)
    assert all(
        first.position < second.position for first, second in itertools.pairwise(instructions(code))
    )
