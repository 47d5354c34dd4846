"""Lists of lists of numbers that a loop reads, goes over and stores into."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.alarms import called_with_alarm, on_alarm
from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.native_loops import loops_of, native_turns
from tests.support.nests.reference_nests import on_the_reference
from ufuse import decorator

pytestmark = pytest.mark.any_python

pytest.importorskip("llvmlite")

RANDOM = np.random.default_rng(12)
FIRST = RANDOM.bit_generator.state
SIZE = 60


def ints(n: int, m: int, most: int = 9) -> list[list[int]]:
    """A table of ints."""
    return [[int(RANDOM.integers(most)) for _ in range(m)] for _ in range(n)]


def reals(n: int, m: int) -> list[list[float]]:
    """A table of floats."""
    return [[float(RANDOM.random()) for _ in range(m)] for _ in range(n)]


def subsequence(a, b):
    dp = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                dp[i][j] = dp[i - 1][j - 1] + 1
            else:
                dp[i][j] = max(dp[i - 1][j], dp[i][j - 1])
    return dp


def distance(a, b):
    m, n = len(a), len(b)
    dp = [[0] * (n + 1) for _ in range(m + 1)]
    for i in range(m + 1):
        dp[i][0] = i
    for j in range(n + 1):
        dp[0][j] = j
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            dp[i][j] = min(dp[i - 1][j] + 1, dp[i][j - 1] + 1, dp[i - 1][j - 1] + cost)
    return dp


def product(a, b):
    out = [[0.0] * len(b[0]) for _ in a]
    for i in range(len(a)):
        for j in range(len(b[0])):
            for k in range(len(b)):
                out[i][j] += a[i][k] * b[k][j]
    return out


def shortest(dist):
    n = len(dist)
    for k in range(n):
        row = dist[k]
        for i in range(n):
            through = dist[i][k]
            for j in range(n):
                dist[i][j] = min(dist[i][j], through + row[j])
    return dist


def lived(grid, new):
    h, w = len(grid), len(grid[0])
    for r in range(h):
        for c in range(w):
            n = -grid[r][c]
            for dr in (-1, 0, 1):
                for dc in (-1, 0, 1):
                    n += grid[(r + dr) % h][(c + dc) % w]
            new[r][c] = int(n == 3 or (n == 2 and grid[r][c] == 1))
    return new


def summed(grid):
    total = 0
    for row in grid:
        for value in row:
            total += value
    return total


def added(grid):
    total = 0.0
    for row in grid:
        for value in row:
            total += value
    return total


def highest(grid):
    best, where = -1.0, (0, 0)
    for r, row in enumerate(grid):
        for c, value in enumerate(row):
            if value > best:
                best, where = value, (r, c)
    return best, where


def around(points):
    total = 0.0
    for i in range(len(points)):
        x, y = points[i]
        u, v = points[i - 1]
        total += abs(x - u) + abs(y - v)
    for x, y in points:
        total += x * y
    return total


def flagged(seen, grid):
    count = 0
    for r in range(len(grid)):
        for c in range(len(grid[r]) - 1, -1, -1):
            if not seen[r][c] and grid[r][c] > 4:
                seen[r][c] = True
                count += 1
    return count, seen


def backwards(grid):
    for row in reversed(grid):
        for a, b in zip(row, reversed(row)):  # noqa: B905 - calls with keywords are not compiled
            row[-1] += a - b
    return grid


def of_numpy(grid, n):
    for i in range(n):
        grid[i % 7][-(i % 5)] = grid[i % 3][0] * np.float64(0.5)
    return grid


def inner(grid, count):
    """The loop around is not native: it makes a list."""
    out = []
    for r in range(count):
        out.append([r])
        for c in range(len(grid[0])):
            grid[0][c] += grid[-1][c] * r
    return out, grid


def in_calls(grid):
    for r in range(len(grid)):
        for c in range(len(grid[0])):
            put(grid, r, c, grid[c % len(grid)][0])
    return grid


def put(grid, r, c, value):
    row = grid[r]
    row[c] = value + c


def letters() -> list[int]:
    """What is compared."""
    return [int(RANDOM.integers(4)) for _ in range(SIZE)]


CASES = [
    (subsequence, lambda: (letters(), letters())),
    (distance, lambda: (letters(), letters())),
    (product, lambda: (reals(SIZE, 20), reals(20, 20))),
    (shortest, lambda: (reals(SIZE // 2, SIZE // 2),)),
    (lived, lambda: (ints(SIZE, 40, 2), ints(SIZE, 40))),
    (summed, lambda: (ints(SIZE, 200),)),
    (added, lambda: (tuple(map(tuple, reals(SIZE, 200))),)),
    (added, lambda: ([tuple(row) for row in reals(SIZE, 200)],)),
    (highest, lambda: (reals(SIZE, 200),)),
    (around, lambda: (reals(50 * SIZE, 2),)),
    (around, lambda: ([(float(a), float(b)) for a, b in ints(50 * SIZE, 2)],)),
    (flagged, lambda: ([[False] * 60 for _ in range(SIZE)], ints(SIZE, 60))),
    (backwards, lambda: (ints(SIZE, 100),)),
    (of_numpy, lambda: ([[np.float64(i + k) for i in range(5)] for k in range(7)], 40 * SIZE)),
    (inner, lambda: (ints(2, 40 * SIZE), 5)),
    (in_calls, lambda: (ints(SIZE, 80),)),
]  # fmt: skip


def fixed(make: Any) -> Any:
    """The same arguments in each call."""

    def made() -> Any:
        RANDOM.bit_generator.state = FIRST
        return make()

    return made


@pytest.mark.parametrize(("function", "make"), CASES)
def test_programs_are_native_and_the_same(function, make) -> None:
    """Numbers, their types, and which lists they are in."""
    assert native_turns(function, fixed(make), atoms=False) > SIZE // 2


@pytest.mark.parametrize(("function", "make"), CASES)
def test_the_reference_does_the_same(function, make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a nest means is what the program does; and nests with tables keep the laws, and read back."""
    made = on_the_reference(monkeypatch)
    monkeypatch.setitem(globals(), "SIZE", 12)
    check_same(function, ufuse.compile(function), lambda: arguments(*fixed(make)()), atoms=False)
    assert sum(one.turns for one in made) > 5
    assert any("table by" in str(one.nest) for one in made)


# Turns that plain Python does ------------------------------------------------------------------------------------


def scaled(table, factors, at):
    for i in range(len(factors)):
        table[i % 3][0] += 1
        table[i % 3][at[i]] = 12 // factors[i]
    return table


ROUNDS = 3000


@pytest.mark.parametrize("place", [0, 1, ROUNDS // 2, ROUNDS - 1])
@pytest.mark.parametrize("odd", [0, 4, -5, 2**70])
def test_an_error_shows_what_was_stored_before(place: int, odd: int) -> None:
    """All of the turns before, and of the turn that fails what comes before the error."""
    compiled = ufuse.compile(scaled)
    for _ in range(3):
        compiled([[1, 2, 3, 4] for _ in range(3)], [5] * ROUNDS, [1, -1, 2] * (ROUNDS // 3))
    factors, at = [5] * ROUNDS, [1, -1, 2] * (ROUNDS // 3)
    (factors if odd == 0 else at)[place] = odd
    kept, expected = ([[1, 2, 3, 4] for _ in range(3)] for _ in range(2))
    for function, table in ((compiled, kept), (scaled, expected)):
        with pytest.raises((ZeroDivisionError, IndexError)) as caught:
            function(table, factors, at)
        assert "range" in str(caught.value) or "zero" in str(caught.value) or odd == 2**70
    assert kept == expected
    assert sum(loop.turns for loop in loops_of(compiled)) > ROUNDS


def powers(table, factor, n):
    for i in range(n):
        table[i % 2][i % 3] = table[(i + 1) % 2][(i + 2) % 3] * factor % 10**25
    return table


def test_ints_beyond_64_bits_are_exact() -> None:
    """Such turns are plain Python's, and so is what begins with them."""
    for first in (1, 2**63, -(2**63)):
        native_turns(powers, lambda first=first: ([[first] * 3, [first] * 3], 7, 400), atoms=False)


def missing(table, rows):
    found = 0
    for i in range(len(rows)):
        row = table[rows[i]]
        found += i
        if found < 0:
            found += row[0]
    return found


def there(table, rows):
    count = 0
    for i in range(len(rows)):
        if table[rows[i]] is not None:
            count += (table[rows[i]], 1)[1]
    return count


@pytest.mark.parametrize("row", [7, -8])
@pytest.mark.parametrize("function", [missing, there])
def test_a_row_that_is_not_there_raises(function, row: int) -> None:
    """Also where nobody takes an item of it."""
    rows = [0, 6, -7] * 1000
    assert native_turns(function, lambda: (ints(7, 2), rows)) > 1000
    rows[2000] = row
    native_turns(function, lambda: (ints(7, 2), rows))


def found_in(grid, wanted):
    for r in range(len(grid)):
        row = grid[r]
        for c in range(len(row)):
            if row[c] == wanted:
                return r, c, row
    return None


def last_row(grid):
    total = 0
    for row in grid:
        total += row[0]
    return total, row


def stopped(grid, n):
    i = 0
    while grid[i % 5][i % 3] < n:
        grid[i % 5][i % 3] += i
        i += 1
        if i > 100 * n:
            break
    return i, grid


def test_loops_that_are_left() -> None:
    """What is left in variables is what Python leaves."""
    native_turns(found_in, lambda: ([[1, 2, 3] for _ in range(3000)] + [[4, 5, 6]], 5))
    native_turns(last_row, lambda: ([[i, 2] for i in range(3000)],))
    native_turns(stopped, lambda: (ints(5, 3), 10**6), atoms=False)


def odd_turns(grid, n):
    total = 0
    for i in range(n):
        row = grid[i % len(grid)]
        total += row[i % 100 // 98 * 5]
    return total


def test_after_an_odd_turn() -> None:
    """A local that is one of the rows is no hindrance."""
    grid = [[1, 2, 3, 4, 5, 2**70], [6] * 6]
    native_turns(odd_turns, lambda: (grid, 3000))


# Lists that are known otherwise ----------------------------------------------------------------------------------


def mixed(table, other, row, n):
    for i in range(n):
        table[i % 4][0] += 1
        other[i % 4][0] += 2
        row[0] += table[(i + 1) % 4][0] + other[i % 3][1]
        row[1] = i
    return table, other, row


def apart() -> tuple[Any, ...]:
    """No list comes twice."""
    return ints(4, 2), ints(4, 2), [1, 2], ROUNDS


def test_rows_under_several_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored in one is seen in the others, whatever compiled code there is."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled = ufuse.compile(mixed)
    for _ in range(3):
        compiled(*apart())
    assert sum(loop.turns for loop in loops_of(compiled)) > ROUNDS

    def shared(number: int) -> tuple[Any, ...]:
        table, other, row, n = apart()
        if number == 0:
            other = table
        elif number == 1:
            other[1] = table[2]
        elif number == 2:
            row = table[3]
        elif number == 3:
            row = other[0]
        elif number == 4:
            table = [[0] * 2] * 4
        elif number == 5:
            table[1] = table[3]
        elif number == 6:
            row = table[0] = other[0]
        return table, other, row, n

    for number in range(8):
        for _ in range(3):
            RANDOM.bit_generator.state = FIRST
            expected = mixed(*shared(number))
            RANDOM.bit_generator.state = FIRST
            assert compiled(*shared(number)) == expected, number


@pytest.mark.parametrize("number", range(3))
def test_rows_that_are_one_list_when_the_loop_is_read(number: int) -> None:
    """Then plain Python runs the loop, and says why."""

    def make() -> tuple[Any, ...]:
        table, other, row, n = apart()
        row = table[2] if number == 1 else row
        table[3] = other[1] if number == 2 else table[0] if number == 0 else table[3]
        return table, other, row, n

    native_turns(mixed, make, atoms=False)
    compiled = ufuse.compile(mixed)
    for _ in range(4):
        compiled(*make())
    why = " ".join(loop.why_not for loop in loops_of(compiled))
    assert ("two rows are one list" if number == 0 else "knows by another name") in why


def read_twice(grid, n):
    total = 0
    for r, row in enumerate(grid):
        for c in range(len(row)):
            total += row[c] * grid[r - 1][c] + n
    return total


def test_rows_may_be_one_list_where_none_changes() -> None:
    """They are read as often as they come."""
    row = list(range(50))
    assert native_turns(read_twice, lambda: ([row] * 400, 3)) > 400


def grown(rows, n):
    for i in range(n):
        rows.append((i, i + 1))
    return rows


def replaced(table, row, n):
    for i in range(n):
        table[i % 3] = row
        table[i % 3][0] += 1
    return table


@pytest.mark.parametrize(
    ("function", "make", "why"),
    [
        (grown, lambda: ([(1, 2)], ROUNDS), ""),
        (replaced, lambda: ([[1], [2], [3]], [4], ROUNDS), "which is a list"),
        (summed, lambda: ([[1] * 1000, [1] * 999] * 40,), "of several lengths"),
        (summed, lambda: ([[1] * 1000, [1.0] * 1000] * 40,), "not numbers of one type"),
        (summed, lambda: ([[1] * 1000, (1,) * 1000] * 40,), "not all tuples"),
    ],
)
def test_what_is_left_to_plain_python(function, make, why: str) -> None:
    """A reason names it."""
    native_turns(function, make, atoms=False)
    compiled = ufuse.compile(function)
    for _ in range(4):
        compiled(*make())
    assert why in " ".join(loop.why_not for loop in loops_of(compiled))


# Objects ----------------------------------------------------------------------------------------------------------


def put_in(table, value, n):
    for i in range(n):
        table[i % 2][i % 5] = value
    return table


class Listed(list):  # type: ignore[type-arg]
    """No list of Python's own."""

    def __getitem__(self, at: Any) -> Any:
        """One further."""
        return super().__getitem__(at)

    def __setitem__(self, at: Any, value: Any) -> None:
        """Twice as much."""
        super().__setitem__(at, value * 2)


def test_types_of_stored_items_are_kept() -> None:
    """A table of others than before is read, or left to plain Python."""
    compiled = ufuse.compile(put_in)
    for items, value in [
        ([1], 2),
        ([1], 2),
        ([1], 0.5),
        ([1.0], 2),
        ([True], 1),
        ([0.5, 1], 2),
    ] * 2:
        tables = ([list(items * 10), list(items * 10)] for _ in range(2))
        found = [repr(function(next(tables), value, ROUNDS)) for function in (compiled, put_in)]
        assert found[0] == found[1]
    for rows in ([(1,) * 9, [1] * 9], [[1] * 9, (1,) * 9], ((1,) * 9, (1,) * 9)):
        with pytest.raises(TypeError, match="does not support item assignment"):
            compiled(rows, 2, ROUNDS)
    assert compiled([Listed([1] * 9), [1] * 9], 4, ROUNDS)[0][0] == 8
    assert compiled(([1] * 9, [1] * 9), 4, ROUNDS)[1][1] == 4


def test_what_stays_is_the_same_object() -> None:
    """The rows, and the items that no turn stores."""
    compiled = ufuse.compile(put_in)
    table = [[float(i) + 1e9 for i in range(50)] for _ in range(3)]
    for _ in range(3):
        given = [list(row) for row in table]
        found = compiled(given, 0.25, ROUNDS)
        assert found is given
        assert [*map(id, found)] == [*map(id, given)]
        assert [id(one) for row in found[:2] for one in row[5:]] == [
            id(one) for row in table[:2] for one in row[5:]
        ]
        assert [*map(id, found[2])] == [*map(id, table[2])]


def counted(table, n):
    for i in range(n):
        table[i % 7][i % 5] = i
    return table


def test_an_interrupt_leaves_whole_turns() -> None:
    """What a signal handler's error leaves is what some number of turns leave."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    compiled = ufuse.compile(counted)
    for _ in range(3):
        compiled([[0] * 5 for _ in range(7)], ROUNDS)
    table = [[0] * 5 for _ in range(7)]
    with on_alarm(stop), pytest.raises(KeyboardInterrupt):
        called_with_alarm(0.05, compiled, table, 10**10)
    done = max(map(max, table)) + 1
    expected = [[0] * 5 for _ in range(7)]
    for i in range(max(0, done - 35), done):
        expected[i % 7][i % 5] = i
    assert table == expected


def test_nothing_is_left_or_lost() -> None:
    """Of the objects that are replaced, and of rows."""
    compiled = ufuse.compile(scaled)
    given = [5] * ROUNDS, [1, -1, 2] * (ROUNDS // 3)
    for _ in range(5):
        compiled([[1, 2, 3, 4] for _ in range(3)], *given)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20):
        compiled([[1, 2, 3, 4] for _ in range(3)], *given)
    assert len(gc.get_objects()) < before + 20
    assert gc.isenabled()


def walked(steps):
    path = [(0, 0)]
    x = y = 0
    for step in steps:
        if step & 1:
            x += 1
        else:
            y -= step
        path.append((x, y))
    return path


def walked_and_counted(steps):
    path = [(0, 0)]
    for step in steps:
        many = len(path)
        path.append((step, many))
    return path


def walked_and_read(steps):
    path = [(0, 0)]
    for step in steps:
        path.append((step, path[-1][0] + step))
    return path


def test_a_list_of_tuples_that_is_appended_to_is_no_table() -> None:
    """It grows natively where nothing is read of it; how long it is, and its items, are plain Python's."""
    steps = [step % 7 for step in range(ROUNDS)]
    for function in (walked, walked_and_counted, walked_and_read):
        compiled = ufuse.compile(function)
        for _ in range(3):
            assert repr(compiled(steps)) == repr(function(steps))
        (loop,) = loops_of(compiled)
        assert bool(loop.turns) == (function is walked)
