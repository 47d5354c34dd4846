"""Programs that use iterators and generators around arrays."""

from __future__ import annotations

import itertools
import operator

from tests.support.comparing.registering import Programs

PROGRAMS = Programs()


# Iterators -------------------------------------------------------------------------------------------------------


@PROGRAMS.whole()
def iterator_tools(x):
    return (
        list(zip([1, 2], "ab", (x, x))), list(enumerate("ab", 5)), list(map(lambda a, b: a * b, [1, 2], (x, x))), list(filter(None, [0, 1, x.ndim])),
        list(filter(lambda v: v > 1, [1, 2, 3])), list(reversed([1, x])), list(zip()), dict(enumerate("ab")), [*map(str, (1, 2))],
        list(iter([1, 2].pop, 1)), next(iter([x])), next(iter([]), "none"),
    )  # fmt: skip


@PROGRAMS.whole()
def itertools_tools(x):
    take = itertools.islice
    return (
        list(take(itertools.count(3, 2), 3)), list(take(itertools.cycle("ab"), 5)), list(itertools.repeat(x, 2)),
        list(itertools.chain([1], "ab", (x,))), list(itertools.chain.from_iterable([[1], [2, 3]])), list(take(range(20), 2, 15, 4)),
        list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])), list(itertools.dropwhile(lambda v: v < 3, [1, 2, 3, 1])),
        list(itertools.accumulate([1, 2, 3])), list(itertools.accumulate([x, x], operator.mul)), list(itertools.accumulate([1, 2], initial=5)),
        list(itertools.product("ab", [1, 2])), list(itertools.product([0, 1], repeat=2)), list(itertools.permutations("abc", 2)),
        list(itertools.combinations([1, x, 3], 2)), list(itertools.combinations_with_replacement("ab", 2)),
        [(k, list(g)) for k, g in itertools.groupby("aabbba")], [(k, list(g)) for k, g in itertools.groupby([1, 3, 2], lambda v: v % 2)],
        list(itertools.starmap(pow, [(2, 3), (3, 2)])), list(itertools.zip_longest("abc", [1], fillvalue=0)),
        list(itertools.pairwise([1, 2, 3])), list(itertools.compress("abcd", [1, 0, 1])), list(itertools.filterfalse(None, [0, 1, ""])),
        [list(c) for c in itertools.tee(iter([1, 2]), 2)],
    )  # fmt: skip


@PROGRAMS.whole()
def an_iterator_that_is_exhausted_by_what_it_asks(x):
    def asked():
        if asked.again:
            return 2
        asked.again = True
        list(asked.iterator)
        return x

    asked.again, asked.iterator = False, iter(asked, 2)
    return next(asked.iterator, "none"), list(asked.iterator), x + 1


@PROGRAMS.whole()
def groups_left_unread(x):
    found = []
    for key, group in itertools.groupby([1, 1, 2, 2, 3, 1]):
        if key != 2:
            found.append((key, next(group)))
    kept = list(itertools.groupby("aab"))
    return found, [list(g) for _, g in kept], x + 1


@PROGRAMS.whole()
def consumed_in_order(x):
    source = iter(range(10))
    pairs = list(zip(source, [1, 2], source))
    return pairs, list(source), x * 2


@PROGRAMS.whole()
def zip_loses_an_item(x):
    first, second = iter([1, 2, 3, 4]), iter("ab")
    pairs = list(zip(first, second))
    return pairs, list(first), x + 1


@PROGRAMS.whole()
def ended_iterators_are_asked_again(x):
    first, second = iter([1, 2, 3, 4]), iter("a")
    both = zip(first, second)
    return next(both), next(both, None), next(both, None), list(first), x + 1


@PROGRAMS.whole()
def handed_on_half_consumed(x):
    made = iter([1, 2, x])
    pairs = enumerate("abc", 3)
    sliced = itertools.islice(range(10), 2, 9, 2)
    counted = itertools.count(5)
    next(made), next(pairs), next(sliced), next(counted)
    backwards = reversed([1, 2, 3])
    next(backwards)
    over = iter({"a": 1, "b": x})
    next(over)
    return (
        made,
        pairs,
        sliced,
        next(counted),
        backwards,
        iter(range(3)),
        zip([1], made),
        map(str, [1, 2]),
        over,
        iter("ab"),
        iter((1, 2)),
    )


@PROGRAMS.whole()
def types_of_iterators(x):
    done = iter([1])
    list(done)
    return iter([1]), iter((1,)), iter(range(2)), iter({}), iter({1: 2}.values()), done, x + 1


@PROGRAMS.cut()
def handed_on_where_it_cannot_be_made_again(x):
    made = itertools.chain([1, 2], [x])
    next(made)
    turning = itertools.cycle([1, 2])
    next(turning)
    return made, x + 1, [next(turning), next(turning)]


@PROGRAMS.cut()
def list_shrinks_under_its_iterators(x):
    items, others = [x, 1, 2, 3], [4, 5, 6, 7]
    back = reversed(others)
    next(back), next(back)
    seen = []
    for number, item in enumerate(zip(items, "abcd")):
        items.clear()
        others[1:] = []
        items += [number]
        seen.append((item, print(end="")))
    others += [8, 9, 10]
    return seen, list(back), x + 1


@PROGRAMS.cut()
def list_that_was_short_grows_again(x):
    items, seen = [x, 1, 2], []
    for item in zip(items):
        items.clear()
        items.extend([3, 4, 5, 6][: 5 - len(seen)])
        seen.append((item, print(end="")))
    return seen, x + 1


@PROGRAMS.whole()
def list_grows_meanwhile(x):
    made = [1, 2]
    seen = []
    for item in made:
        seen.append(item)
        if len(made) < 5:
            made.append(item * 10)
    for item in made:
        made.remove(item)
    return seen, made, x * len(seen)


@PROGRAMS.whole()
def dict_changes_size_meanwhile(x):
    made = {"a": 1, "b": 2}
    try:
        for key in made:
            made[key + "!"] = x
    except RuntimeError as error:
        text = str(error)
    return text, made


@PROGRAMS.whole()
def set_changes_size_meanwhile(x):
    made = {1}
    try:
        for member in made:
            made.add(member + 1)
    except RuntimeError:
        return made, x + 1
    return None


# Generators ------------------------------------------------------------------------------------------------------


def echo(first):
    """Yields what it is sent, doubled."""
    got = yield first
    while got is not None:
        got = yield got * 2
    return "done"


@PROGRAMS.whole()
def generator_is_sent_to(x):
    made = echo(x)
    first = next(made)
    second = made.send(x + 1)
    try:
        made.send(None)
    except StopIteration:
        return first, second
    return None


def guarded(log):
    """Says what happens to it."""
    try:
        yield 1
        yield 2
    except ValueError:
        log.append("caught")
    finally:
        log.append("left")
    yield 3


@PROGRAMS.whole()
def generator_is_thrown_into(x):
    log = []
    made = guarded(log)
    next(made)
    got = made.throw(ValueError("no"))
    rest = list(made)
    return got, rest, log, x + 1


@PROGRAMS.whole()
def generator_is_closed(x):
    log = []
    made = guarded(log)
    next(made)
    made.close()
    made.close()
    other = echo(x)
    other.close()
    return log, list(made), list(other), x + 1


@PROGRAMS.whole()
def generator_delegates(x):
    log = []

    def outer():
        got = yield from guarded(log)
        yield got

    made = outer()
    next(made)
    thrown = made.throw(ValueError("no"))
    made.close()
    return thrown, log, x + 1


@PROGRAMS.cut()
def generator_is_dropped_in_a_try(x):
    log = []
    for item in guarded(log):
        if item == 1:
            break
    log.append("after")
    return log, x + 1


@PROGRAMS.whole()
def generator_is_dropped_harmlessly(x):
    def counting():
        n = 0
        while True:
            yield n
            n += 1

    for item in counting():
        if item == 3:
            break
    return x * item, next(counting())


@PROGRAMS.whole()
def generators_everywhere(x):
    made = (x * i for i in range(3))
    return (
        sum(made),
        list(made),
        tuple(i for i in "ab"),
        {i for i in range(3)},
        {k: v for k, v in zip("ab", (1, x))},
        max(i for i in (1, 5, 2)),
    )


# Errors of what they go over -------------------------------------------------------------------------------------


batched = getattr(itertools, "batched", None)  # since Python 3.12


def two(v):
    if v == 2:
        raise ValueError
    return v


def asked_four_times(iterator):
    found = []
    for _ in range(4):
        try:
            found.append(next(iterator, "end"))
        except ValueError:
            found.append("error")
    return found


class NotIterable:
    def __iter__(self):
        raise ValueError


def all_asked(makers):
    return [asked_four_times(make()) for make in makers]


@PROGRAMS.whole()
def errors_that_end_iterators_for_good(x):
    makers = [
        lambda: itertools.islice(map(two, [1, 2, 3, 4]), 4),
        lambda: itertools.islice(map(two, [1, 2, 3, 4]), 2, 4),
        lambda: itertools.pairwise(map(two, [0, 1, 2, 3, 4])),
        lambda: itertools.pairwise(map(two, [2, 3, 4, 5])),
        lambda: itertools.zip_longest(map(two, [1, 2, 3])),
        lambda: itertools.zip_longest(map(two, [1, 2, 3]), "abcd"),
        lambda: itertools.chain.from_iterable(map(lambda v: [two(v)], [1, 2, 3])),
        lambda: itertools.chain([1], NotIterable(), [7]),
    ]
    if batched is not None:
        makers.append(lambda: batched(map(two, [1, 2, 3, 4]), 1))
        makers.append(lambda: batched(map(two, [1, 2, 3, 4]), 2))
    return all_asked(makers), x + 1


@PROGRAMS.whole()
def errors_after_which_iterators_go_on(x):
    makers = [
        lambda: map(two, [1, 2, 3]),
        lambda: zip(map(two, [1, 2, 3])),
        lambda: filter(two, [1, 2, 3]),
        lambda: enumerate(map(two, [1, 2, 3])),
        lambda: itertools.chain(map(two, [1, 2, 3]), [7]),
        lambda: itertools.accumulate(map(two, [1, 2, 3])),
        lambda: itertools.takewhile(two, [1, 2, 3]),
        lambda: itertools.tee(map(two, [1, 2, 3]))[0],
        lambda: itertools.cycle(map(two, [1, 2, 3])),
        lambda: itertools.compress(map(two, [1, 2, 3]), [1, 1, 1]),
        lambda: itertools.dropwhile(lambda v: False, map(two, [1, 2, 3])),
        lambda: itertools.starmap(two, [(1,), (2,), (3,)]),
    ]
    return all_asked(makers), x + 1


class EndsOnce:
    """Ends when it is asked for the second time, and goes on then."""

    def __init__(self):
        self.asked = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.asked += 1
        if self.asked == 2:
            raise StopIteration
        return self.asked


@PROGRAMS.whole()
def takewhile_asks_again(x):
    made = itertools.takewhile(lambda v: True, EndsOnce())
    ended = itertools.takewhile(lambda v: v < 2, iter([1, 3, 1]))
    return [next(made, "end") for _ in range(3)], [next(ended, "end") for _ in range(3)], x + 1


@PROGRAMS.whole()
def zips_that_differ_in_length(x):
    found = []
    for parts in ([1], [1, 2]), ([1, 2], [1]), ([1], [1], [1, 2]):
        zipped = zip(*parts, strict=True)
        try:
            found.append(list(zipped))
        except ValueError as error:
            found += str(error), next(zipped, "end")
    return found, x + 1


class Key:
    def __init__(self, value, asked):
        self.value = value
        self.asked = asked

    def __eq__(self, other):
        if self.asked:
            next(self.asked.pop(), None)
        return self.value == other.value

    __hash__ = None


@PROGRAMS.whole()
def groups_that_go_on_while_keys_are_compared(x):
    asked = []
    groups = itertools.groupby([Key(value, asked) for value in (1, 1, 2, 2, 3)])
    asked.append(groups)
    return [key.value for key, _ in groups], x + 1


@PROGRAMS.cut()
def numbers_too_large_for_itertools(x):
    found = []
    for make in (
        itertools.permutations,
        itertools.combinations,
        itertools.islice,
        itertools.tee,
        itertools.repeat,
    ):
        try:
            make([1, 2], 10**30)
        except (ValueError, OverflowError) as error:
            found.append(str(error))
    return found, x + 1


CALLS = []


class IteratesNothing:
    """Its `__iter__` does something, and gives what is no iterator."""

    def __init__(self, given):
        self.given = given

    def __iter__(self):
        CALLS.append(type(self.given).__name__)
        return self.given


def in_a_loop(v):
    for _ in v:
        pass


def text_of_error(function, given):
    try:
        return len(list(function(given) or ()))
    except TypeError as error:
        return str(error)


@PROGRAMS.cut()
def what_is_no_iterator(x):
    CALLS.clear()
    found = [
        text_of_error(function, IteratesNothing(given))
        for given in (x, [1, 2], 5, IteratesNothing(1), iter("ab"), x.ndim)
        for function in (in_a_loop, iter, enumerate, zip, list, lambda v: map(abs, v) and None)
    ]
    return found, list(CALLS), x + 1


@PROGRAMS.cut()
def no_iterator_where_one_is_wanted(x):
    y = x * 2
    for a, b in zip(IteratesNothing(y)):
        y = y + a * b
    return y
