"""Programs around deques: `d` is one of the caller's, `w` one with a `maxlen`."""

from __future__ import annotations

import copy
import operator
from collections import deque

import ufuse
from tests.support.comparing.registering import Programs

PROGRAMS = Programs(lambda: {"d": deque([1, 2.5, "c"]), "w": deque([1, 2], maxlen=3)})


@PROGRAMS.whole()
def made(x):
    empty, bounded = deque(), deque([1, x, 3], maxlen=2)
    return empty, bounded, deque("ab", 5), deque(iterable=(n * x for n in range(3))), deque(bounded)


@PROGRAMS.whole()
def added(x):
    q = deque([1, 2], maxlen=3)
    q.append(x)
    q.appendleft(x * 2)
    q.extend([4, 5])
    q.extendleft(range(2))
    q.extend(q)
    return q, len(q), bool(q), q.maxlen


@PROGRAMS.whole()
def taken_at_the_ends(x):
    q, errors = deque([1, x, 3, x + 1]), []
    first, last = q.popleft(), q.pop()
    q[0] = x * 3
    q[-1] += 1
    del q[1]
    for fails in (
        deque().pop,
        lambda: deque((), -1),
        lambda: q[4],
        lambda: operator.delitem(q, -3),
    ):
        try:
            fails()
        except (ValueError, IndexError) as error:
            errors.append((type(error).__name__, str(error)))
    return q, first, last, q[0], q.copy(), copy.copy(q), errors


@PROGRAMS.whole()
def added_while_gone_through(x):
    said = []
    for change in (
        lambda q: q.append(1),
        lambda q: q.popleft(),
        lambda q: operator.setitem(q, 1, 9),
        lambda q: q.clear(),
    ):
        q = deque([1, 2, 3])
        try:
            for item in q:
                said.append(item)
                change(q)
        except RuntimeError as error:
            said.append(str(error))
    return x * 2, said


@PROGRAMS.whole()
def added_to_the_frame(x, d):
    d.appendleft(0)
    d.extend([5, 6])
    found = 5 in d
    d.append(x)
    first, last = d.popleft(), d[-1]
    d[1] = x * 2
    d.extendleft(v for v in (7, 8))
    del d[0]
    d += (1,)
    d *= 2
    return first, last, len(d), found, d


@PROGRAMS.cut()
def taken(x):
    q = deque([1, x, 3, x + 1])
    first, last = q.popleft(), q.pop()
    q.rotate()
    q.rotate(-3)
    q.insert(1, "a")
    q.reverse()
    q.remove("a")
    del q[0]
    q[0] = x * 3
    q[-1] += 1
    return q, first, last, q[0], q.copy(), copy.copy(q)


@PROGRAMS.cut()
def looked_for(x):
    q = deque([3, 1, 2, 1], maxlen=9)
    errors = []
    for search in (lambda: q.index(7), lambda: q.index(1, 2, 3), lambda: q[4]):
        try:
            search()
        except (ValueError, IndexError) as error:
            errors.append((type(error).__name__, str(error)))
    return x, q.index(1), q.index(1, -2), q.count(1), 2 in q, 9 in q, errors


@PROGRAMS.cut()
def errors_made(x):
    full, errors = deque([1], 1), []
    for fails in (
        deque().pop,
        lambda: deque((), -1),
        lambda: full.insert(0, 2),
        lambda: operator.delitem(full, -3),
    ):
        try:
            fails()
        except (ValueError, IndexError) as error:
            errors.append((type(error).__name__, str(error)))
    return x + 1, errors


@PROGRAMS.whole()
def compared(x):
    a, b = deque([1, 2]), deque([1, 2], 5)
    return x, a == b, a != b, a < deque([1, 3]), a <= b, a == [1, 2], a is b, deque([x]) == deque()


@PROGRAMS.whole()
def combined(x):
    a, b = deque([x], 3), deque([2, 3])
    c = a + b
    a += [4]
    b *= 2
    return a, b, c, a * 2, 2 * b


@PROGRAMS.whole()
def gone_through(x):
    q = deque([x, x * 2, x * 3])
    total = sum(q)
    a, b, c = q
    return total, [v + 1 for v in q], list(reversed(q)), tuple(zip(q, range(3))), a + b + c, [*q]


@PROGRAMS.whole()
def window(x):
    recent = deque(maxlen=3)
    out = []
    for n in range(6):
        recent.append(x * n)
        out.append(sum(recent) / len(recent))
    return out, recent


@PROGRAMS.whole()
def breadth_first(x):
    graph = {0: [1, 2], 1: [3], 2: [3], 3: []}
    queue, seen, order = deque([0]), {0}, []
    while queue:
        node = queue.popleft()
        order.append(node)
        for following in graph[node]:
            if following not in seen:
                seen.add(following)
                queue.append(following)
    return x * len(order), order


@PROGRAMS.cut()
def changed_while_gone_through(x):
    said = []
    for change in (
        lambda q: q.append(1),
        lambda q: q.popleft(),
        lambda q: q.rotate(),
        lambda q: q.reverse(),
        lambda q: operator.setitem(q, 1, 9),
        lambda q: q.clear(),
        lambda q: q.rotate(0),
    ):
        q = deque([1, 2, 3])
        try:
            for item in q:
                said.append(item)
                change(q)
        except RuntimeError as error:
            said.append(str(error))
    return x * 2, said


@PROGRAMS.whole()
def iterators_that_ended(x):
    q = deque([1])
    walk = iter(q)
    said = [next(walk), next(walk, "end")]
    q.append(2)
    try:
        next(walk)
    except RuntimeError as error:
        said.append(str(error))
    return x, said, type(walk).__name__, type(reversed(q)).__name__


@PROGRAMS.whole()
def returned_iterators(x):
    q = deque([1, x, 3])
    begun, ended = iter(q), iter(q)
    next(begun)
    list(ended)
    backwards = reversed(q)
    next(backwards)
    return q, begun, ended, backwards


@PROGRAMS.whole()
def told(x):
    q = deque([1, 2], 3)
    return x, repr(q), str(q), isinstance(q, deque), type(q), hasattr(q, "append"), callable(q.pop)


@PROGRAMS.whole()
def held_by_itself(x):
    q = deque([x], 4)
    q.append(q)
    q.append([q])
    return q


@PROGRAMS.cut()
def of_the_frame(x, d):
    d.appendleft(0)
    d.insert(1, "b")
    d.extend([5, 6])
    d.remove("b")
    found = 5 in d, d.count(5), d.index(5)
    d.append(x)
    first, last = d.popleft(), d[-1]
    d.rotate(2)
    d[1] = x * 2
    d.extendleft(v for v in (7, 8))
    d.reverse()
    del d[0]
    d += (1,)
    d *= 2
    return first, last, len(d), found, d


@PROGRAMS.whole()
def bounded_of_the_frame(x, w):
    w.append(x)
    w.extend([1, 2])
    w.appendleft(3)
    return sum(w) * x, w.maxlen, w, w + w


@PROGRAMS.whole()
def cleared_of_the_frame(x, d, w):
    w.clear()
    found = [v for v in d]
    d.clear()
    return found, x + len(d), d == w


@PROGRAMS.whole()
def not_looked_at(x, d, w):
    d.append(x)
    d.extend([1, 2])
    w.appendleft(x)
    w.extendleft((1, 2))
    return x + 1


@PROGRAMS.whole()
def looked_at_afterwards(x, d, w):
    d.append(x)
    w.append(x * 2)
    w.extend([8, 9])
    return d[-1] + len(w), w[0]


@PROGRAMS.whole()
def one_deque_twice(x, d):
    other = [d, d]
    other[0].append(x)
    return other[1][-1] + 1, d is other[1]


@PROGRAMS.cut()
def changed_by_what_compares(x, d):
    class Odd:
        def __eq__(self, other):
            d.append(1)
            return False

        __hash__ = None

    try:
        return x, Odd() in d
    except RuntimeError as error:
        return x, str(error)


@PROGRAMS.cut()
def sliced(x, d):
    try:
        return d[1:]
    except TypeError as error:
        return x, str(error)


@PROGRAMS.cut()
def iterator_kept_over_a_change(x, d):
    walk, other = iter(d), reversed(deque([x, 2, 3]))
    following = next(other)
    d.append(x)
    ufuse.graph_break()
    try:
        return next(walk)
    except RuntimeError as error:
        return str(error), following, next(other)
