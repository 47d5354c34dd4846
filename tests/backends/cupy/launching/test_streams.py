"""Streams, events and devices in a graph: what runs on which stream, in which order, and what is current afterwards."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.comparing import why_different
from tests.support.restated import check_restated
from tests.support.unlimited import lift_limits

LENGTH = 40
SIMPLE = (
    "{0} * 2 + {1}",
    "{0} - {1} * 0.5",
    "cp.abs({0}) + 1",
    "{0} * {1}.sum()",
    "cp.cumsum({0}) - {1}",
)


@pytest.fixture(autouse=True)
def streams_as_before(host: Host, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test leaves another stream current than it found."""
    lift_limits(monkeypatch)
    cuda = host.cupy.cuda
    assert cuda.get_current_stream() is cuda.Stream.null
    yield
    try:
        assert cuda.get_current_stream() is cuda.Stream.null
    finally:
        cuda.Stream.null.use()


def _arguments(host: Host) -> Callable[[], tuple[Any, ...]]:
    cp = host.cupy
    return lambda: (cp.arange(float(LENGTH)), cp.ones(LENGTH))


def _check_late(host: Host, function: Callable[..., Any], compiled: Any) -> None:
    """Compare where each stream works as late as it may."""
    made = _arguments(host)
    wanted = function(*made())
    with host.device.working_late():
        found = compiled(*made())
        host.cupy.cuda.runtime.deviceSynchronize()
    assert all(why_different(*pair) is None for pair in zip(found, wanted, strict=True))


def test_a_stream_around_operations(host: Host) -> None:
    """Of the frame, made here, with an alias, one within another, in a loop: one graph."""
    cp = host.cupy
    outer, other = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)

    def around(x: Any, y: Any) -> Any:
        with outer:
            z = x * 2 + y
            with other:
                w = x - y
            z = z * 3
        outer.synchronize()
        with cp.cuda.Stream(non_blocking=True) as made:
            v = z + 1
            made.synchronize()
        several = [cp.cuda.Stream(non_blocking=True) for _ in range(2)]
        parts = []
        for place, stream in enumerate(several):
            with stream:
                parts.append(x * place)
        for stream in several:
            stream.synchronize()
        other.synchronize()
        return z, w, v, parts[0] + parts[1]

    compiled = check_restated(host, around, _arguments(host))
    assert not compiled.breaks
    assert len(compiled.graphs) == 2  # the other is for other memory
    _check_late(host, around, compiled)


def test_nothing_is_used_again_on_another_stream(host: Host) -> None:
    """What two streams compute of the same arrays each computes for itself, and nobody waits for the other one."""
    cp = host.cupy
    one, other = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)

    def twice(x: Any, y: Any) -> Any:
        with one:
            a = x * 2 + y
        with other:
            b = x * 2 + y
            c = b * 3
        other.synchronize()
        return b, c, a

    compiled = check_restated(host, twice, _arguments(host))
    assert not compiled.breaks
    made = _arguments(host)
    wanted = twice(*made())
    with host.device.working_late():
        x, y = made()
        cp.cuda.Stream.null.synchronize()
        b, c, a = compiled(x, y)
        # `one` has not worked yet, and these do not need it
        assert cp.cuda.Stream.null.done
        found = cp.asnumpy(b), cp.asnumpy(c)
        one.synchronize()
        found += (cp.asnumpy(a),)
    for got, want in zip(found, wanted, strict=True):
        assert got.tobytes() == cp.asnumpy(want).tobytes()


def test_streams_that_are_used(host: Host) -> None:
    """The stream that a function makes current stays current, and is the one that is asked for."""
    cp = host.cupy
    mine = cp.cuda.Stream(non_blocking=True)

    def used(x: Any, y: Any) -> Any:
        mine.use()
        z = x * 2 + y
        is_mine = cp.cuda.get_current_stream() is mine
        cp.cuda.get_current_stream().synchronize()
        return z, is_mine

    compiled = ufuse.compile(used)
    for _ in range(4):
        found, is_mine = compiled(*_arguments(host)())
        assert is_mine
        assert cp.cuda.get_current_stream() is mine
        cp.cuda.Stream.null.use()
        wanted = used(*_arguments(host)())[0]
        cp.cuda.Stream.null.use()
        assert why_different(found, wanted) is None
    assert not compiled.breaks
    assert compiled.stats.hits


def test_the_current_stream(host: Host) -> None:
    """The one of the caller is the very object; with another one plain Python runs."""
    cp = host.cupy
    mine = cp.cuda.Stream()

    def current(x: Any, y: Any) -> Any:
        z = x * 2 + y
        cp.cuda.get_current_stream().synchronize()
        return z, cp.cuda.get_current_stream()

    compiled = ufuse.compile(current)
    for _ in range(3):
        assert compiled(*_arguments(host)())[1] is cp.cuda.Stream.null
    assert compiled.stats.hits
    assert not compiled.breaks
    with mine:
        assert compiled(*_arguments(host)())[1] is mine
    assert compiled(*_arguments(host)())[1] is cp.cuda.Stream.null


def test_a_break_inside(host: Host) -> None:
    """What is behind it runs on the same stream, which the graph behind it leaves."""
    cp = host.cupy
    mine = cp.cuda.Stream(non_blocking=True)
    seen: list[Any] = []

    def broken(x: Any, y: Any) -> Any:
        with mine:
            z = x * 2 + y
            ufuse.graph_break("here")
            seen.append(cp.cuda.get_current_stream())
            w = z - 1
        seen.append(cp.cuda.get_current_stream())
        mine.synchronize()
        return z, w

    compiled = check_restated(host, broken, _arguments(host))
    seen.clear()
    _check_late(host, broken, compiled)
    assert seen == [mine, cp.cuda.Stream.null] * 2


def test_what_gives_up_leaves_the_stream(host: Host) -> None:
    """A graph that finds out inside a `with` block that it does not fit: plain Python runs all, on the right streams."""
    cp = host.cupy
    mine = cp.cuda.Stream(non_blocking=True)

    def given_up(x: Any, y: Any, rhs: Any) -> Any:
        with mine:
            z = cp.linalg.solve(x, rhs)
            with cp.cuda.Stream(non_blocking=True):
                w = cp.linalg.inv(y)
        cp.cuda.Stream.null.use()
        return z, w

    def made(last: float = 1.0) -> tuple[Any, ...]:
        y = cp.eye(3)
        y[2, 2] = last
        return cp.eye(3) * 2, y, cp.arange(3.0)

    compiled = ufuse.compile(given_up)
    for _ in range(3):
        for found, wanted in zip(compiled(*made()), given_up(*made()), strict=True):
            assert why_different(found, wanted) is None
    x, y, rhs = made()
    wrong = rhs[:2]
    for _ in range(2):
        with pytest.raises(ValueError, match=r"."):
            compiled(x, y, wrong)
        assert cp.cuda.get_current_stream() is cp.cuda.Stream.null


def test_a_stream_that_is_used_inside_another(host: Host) -> None:
    """To leave is to go back to what was entered before, whatever was in use: so CuPy does it."""
    cp = host.cupy
    mine, other = (cp.cuda.Stream(non_blocking=True) for _ in range(2))

    def used(x: Any, y: Any) -> Any:
        with mine:
            z = x * 2 + y
            mine.synchronize()
            other.use()
            w = z * 3
            other.synchronize()
        v = w + 1
        is_other = cp.cuda.get_current_stream() is other
        cp.cuda.Stream.null.use()
        return z, w, v, is_other

    compiled = check_restated(host, used, _arguments(host))
    assert [one.code for one in compiled.breaks] == ["call"]  # which stream is current behind it
    _check_late(host, used, compiled)


def test_a_stream_that_was_in_use_is_forgotten(host: Host) -> None:
    """Behind a `with` block the stream is current that was entered before, or the null stream, not one in use."""
    cp = host.cupy
    mine, other = (cp.cuda.Stream(non_blocking=True) for _ in range(2))

    def forgotten(x: Any, y: Any) -> Any:
        mine.use()
        with other:
            z = x * 2 + y
            other.synchronize()
        return z, cp.cuda.get_current_stream() is mine, cp.cuda.get_current_stream().ptr

    compiled = check_restated(host, forgotten, _arguments(host))
    assert not any(compiled(*_arguments(host)())[1:])


def test_what_gives_up_enters_the_stream_again(host: Host) -> None:
    """A graph that has left a stream, which was entered before it, and finds out that it does not fit."""
    cp = host.cupy
    mine, other = (cp.cuda.Stream(non_blocking=True) for _ in range(2))

    def given_up(x: Any, device: Any) -> Any:
        with mine:
            y = x * 2
            ufuse.graph_break("here")
            y += 1
        with other:
            z = y * 2
            number = device.id
        return z, number

    device = cp.cuda.Device(0)
    compiled = check_restated(host, given_up, lambda: (cp.ones(3), device))
    assert [one.code for one in compiled.breaks] == ["requested"]
    for device.id in (1, 0, 1):
        assert compiled(cp.ones(3), device)[1] == device.id
        assert cp.cuda.get_current_stream() is cp.cuda.Stream.null
        with pytest.raises(IndexError):  # there is nothing left to leave
            mine.__exit__(None, None, None)


def _turns(rng: random.Random, depth: int = 0) -> list[str]:
    """Lines that enter, leave and use streams, break the graph, and look which stream is current."""
    lines = []
    for _ in range(rng.randint(1, 3)):
        match rng.randrange(5 if depth < 3 else 4):
            case 0:
                lines.append(f"{rng.choice('abcd')}.use()")
            case 1:
                lines.append("ufuse.graph_break('here')")
            case 2:
                lines.append("seen.append(cp.cuda.get_current_stream())")
            case 3:
                lines.append("x = x * 2 + 1; wait()")
            case _:
                lines.append(f"with {rng.choice('abcd')}:")
                lines += [f"    {line}" for line in _turns(rng, depth + 1)]
    return lines


@pytest.mark.parametrize("seed", range(60))
def test_random_turns(host: Host, seed: int) -> None:
    """Whatever is entered, left and used in turn, with breaks between: the streams that eager CuPy has."""
    cp, rng = host.cupy, random.Random(seed)  # noqa: S311  not for secrets
    lines = ["def turns(a, b, c, d, x):", "seen = []", *_turns(rng), *_turns(rng)]
    text = "\n    ".join([*lines, "return x, seen"])
    wait = cp.cuda.runtime.deviceSynchronize
    file, names = f"<turns {seed}>", {"cp": cp, "ufuse": ufuse, "wait": wait}
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)
    turns = names["turns"]
    streams = [cp.cuda.Stream.null, *(cp.cuda.Stream(non_blocking=True) for _ in range(3))]
    compiled = ufuse.compile(turns)
    rows = []
    for one in (turns, compiled, compiled, compiled):
        x, seen = one(*streams, cp.arange(4.0))
        rows.append((x.tolist(), seen, cp.cuda.get_current_stream()))
        with pytest.raises(IndexError):
            streams[1].__exit__(None, None, None)
        cp.cuda.Stream.null.use()
    assert all(row == rows[0] for row in rows), text


def test_events(host: Host) -> None:
    """One stream waits for another one's event; events of the frame, made here, and of `stream.record`."""
    cp = host.cupy
    one, other = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    mine = cp.cuda.Event()

    def waiting(x: Any, y: Any) -> Any:
        with one:
            z = x * 2 + y
            mine.record()
        other.wait_event(mine)
        with other:
            w = z * 3
        done = other.record()
        one.wait_event(done)
        with one:
            v = w - z
        last = cp.cuda.Event(disable_timing=True)
        last.record(one)
        last.synchronize()
        return z, w, v

    compiled = check_restated(host, waiting, _arguments(host))
    assert not compiled.breaks
    _check_late(host, waiting, compiled)


def test_timing_by_events(host: Host) -> None:
    """The elapsed time is another number in each call."""
    cp = host.cupy

    def timed(x: Any, y: Any) -> Any:
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        z = cp.sort(x * 2 + y)
        end.record()
        end.synchronize()
        return z, cp.cuda.get_elapsed_time(start, end)

    compiled = ufuse.compile(timed)
    taken = [compiled(*_arguments(host)()) for _ in range(4)]
    assert not compiled.breaks
    assert compiled.stats.hits
    for z, elapsed in taken:
        assert type(elapsed) is float
        assert elapsed >= 0
        assert why_different(z, timed(*_arguments(host)())[0]) is None


def test_made_objects_that_leave(host: Host) -> None:
    """A stream and an event that are returned are CuPy's, new ones in each call."""
    cp = host.cupy

    def made(x: Any, y: Any) -> Any:
        stream = cp.cuda.Stream(non_blocking=True)
        with stream:
            z = x * 2 + y
        event = stream.record()
        return z, stream, event, [stream]

    compiled = ufuse.compile(made)
    found = [compiled(*_arguments(host)()) for _ in range(4)]
    assert not compiled.breaks
    for z, stream, event, listed in found:
        assert type(stream) is cp.cuda.Stream
        assert listed == [stream]
        assert type(event) is cp.cuda.Event
        event.synchronize()
        assert event.done
        assert why_different(z, made(*_arguments(host)())[0]) is None
    assert len({one[1].ptr for one in found}) == len(found)


def test_what_is_asked_of_a_made_stream(host: Host) -> None:
    """Its attributes, and setting one, are plain Python's."""
    cp = host.cupy

    def asked(x: Any, y: Any) -> Any:
        stream = cp.cuda.Stream(non_blocking=True)
        z = x * 2 + y
        with stream:
            stream.mine = z
        return z, stream.ptr > 1, stream.mine * 2, isinstance(stream, cp.cuda.Stream), bool(stream)

    check_restated(host, asked, _arguments(host))


def test_the_current_device(host: Host) -> None:
    """To enter or use it changes nothing; of an array it is known by number."""
    cp = host.cupy
    mine = cp.cuda.Device(0)

    def around(x: Any, y: Any) -> Any:
        with cp.cuda.Device(0) as device, x.device:
            z = x * 2 + y
            with mine:
                w = z - 1
        mine.use()
        device.use()
        cp.cuda.Device().synchronize()
        return z, w, device.id, x.device.id + mine.id, (z + w).device.id, cp.cuda.Device().id

    compiled = check_restated(host, around, _arguments(host))
    assert not compiled.breaks
    assert compiled.stats.hits


def test_a_device_whose_number_changes(host: Host) -> None:
    """It is compared at each call."""
    cp = host.cupy
    mine = cp.cuda.Device(0)

    def numbered(x: Any) -> Any:
        return x * 2 + 1, mine.id

    compiled = ufuse.compile(numbered)
    for number in (0, 0, 0, 1, 1, 0):
        mine.id = number
        assert compiled(cp.ones(4))[1] == number
    assert compiled.stats.hits


def test_devices_are_compared(host: Host) -> None:
    """By their numbers, whoever has made them; a device is no number."""
    cp = host.cupy
    mine = cp.cuda.Device(0)

    def compared(x: Any, device: Any) -> Any:
        with cp.cuda.Device(0):
            y = x * 2
        same = cp.cuda.Device() == cp.cuda.Device(0), x.device == device, mine == y.device
        others = device != mine, device < mine, device >= mine, device == 0, device != "0"
        return y, same, others

    compiled = check_restated(host, compared, lambda: (cp.ones(4), cp.cuda.Device(0)))
    assert not compiled.breaks
    for number in (0, 1, 0):
        device = cp.cuda.Device(0)
        device.id = number
        assert compiled(cp.ones(4), device)[1:] == compared(cp.ones(4), device)[1:]


def test_a_break_inside_a_device(host: Host) -> None:
    """Plain Python leaves what the graph has entered."""
    cp = host.cupy

    def broken(x: Any, y: Any) -> Any:
        with cp.cuda.Device(0):
            z = x * 2 + y
            ufuse.graph_break("here")
            w = z - 1
        return z, w

    compiled = check_restated(host, broken, _arguments(host))
    assert {one.code for one in compiled.breaks} == {"requested", "call"}
    for _ in range(3):  # CuPy would go back to what is no longer there
        compiled(*_arguments(host)())
    with pytest.raises(IndexError):
        cp.cuda.Device(0).__exit__(None, None, None)


def test_blocks_of_memory_that_are_freed(host: Host) -> None:
    """All that nobody has is given back in its place."""
    cp = host.cupy

    def freed(x: Any, y: Any) -> Any:
        z = cp.sort(x * 2 + y)
        cp.get_default_memory_pool().free_all_blocks()
        cp.get_default_pinned_memory_pool().free_all_blocks()
        return z * 2

    compiled = check_restated(host, freed, _arguments(host))
    assert not compiled.breaks
    assert compiled.stats.hits


def _program(seed: int) -> str:
    """A program of several streams, each of which waits for what it takes."""
    rng = random.Random(seed)  # noqa: S311  not for secrets
    lines, names = ["def program(cp, streams, x, y):"], [("x", 0), ("y", 0)]
    shared: set[str] = (
        set()
    )  # with other streams: their memory must not be given back before those are done
    for number in range(rng.randint(2, 6)):
        stream = rng.randrange(4)  # the last is made here
        taken = rng.sample(names, 2)
        shared.update(name for name, one in taken if one != stream)
        waits = dict.fromkeys(one for _, one in taken if one != stream)
        if stream == 3:
            lines.append(f"    made = cp.cuda.Stream(non_blocking={rng.random() < 0.5})")
        mine = "made" if stream == 3 else f"streams[{stream}]"
        for other in waits:
            if other == 3 or rng.random() < 0.4:
                lines.append(f"    {'last' if other == 3 else f'streams[{other}]'}.synchronize()")
            elif rng.random() < 0.5:
                lines.append(f"    {mine}.wait_event(streams[{other}].record())")
            else:
                lines += [
                    f"    event = cp.cuda.Event(); event.record(streams[{other}])",
                    f"    {mine}.wait_event(event)",
                ]
        lines.append(f"    with {mine}:")
        for place in range(rng.randint(1, 3)):
            text = rng.choice(SIMPLE).format(*(rng.choice(taken)[0] for _ in range(2)))
            name = f"v{number}_{place}"
            lines.append(f"        {name} = {text}")
            if rng.random() < 0.3:
                key = rng.choice([":", "1:", "::2", "3"])
                lines.append(f"        {name}[{key}] *= {rng.choice(['2', name + '[5]'])}")
            taken.append((name, stream))
            names.append((name, stream))
            if len(names) > 4 and rng.random() < 0.3:
                gone = rng.choice(names[2:])
                if gone[1] == stream and gone not in taken[-1:] and gone[0] not in shared:
                    lines.append(f"        del {gone[0]}")
                    names.remove(gone)
                    taken = [one for one in taken if one != gone]
        if stream == 3:
            lines += ["    last = made", "    last.synchronize()"]
    lines.append("    cp.cuda.runtime.deviceSynchronize()")
    lines.append(f"    return {', '.join(dict.fromkeys(name for name, _ in names))},")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(host: Host, seed: int) -> None:
    """Streams that work as late as they may give what eager CuPy gives."""
    check_random(host, seed)


def check_random(host: Host, seed: int) -> Any:
    """Run one program in all ways."""
    cp, text, names = host.cupy, _program(seed), dict[str, Any]()
    file = f"<streams {seed}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)
    program = names["program"]
    streams = [cp.cuda.Stream.null, *(cp.cuda.Stream(non_blocking=True) for _ in range(2))]
    made = _arguments(host)
    compiled = ufuse.compile(program)
    wanted = program(cp, streams, *made())
    for is_late in (False, False, True, True, False, True):
        given = made()
        if is_late:
            with host.device.working_late():
                found = compiled(cp, streams, *given)
        else:
            found = compiled(cp, streams, *given)
        assert cp.cuda.get_current_stream() is cp.cuda.Stream.null
        for pair in zip(found, wanted, strict=True):
            assert why_different(*pair) is None, text
    return compiled
