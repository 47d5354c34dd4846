"""Programs in which containers are changed, or read in part, by what is done with them, around arrays."""

from __future__ import annotations

from tests.support.comparing.registering import Programs

PROGRAMS = Programs()


# Sets and iterators ----------------------------------------------------------------------------------------------


def two(v):
    if v == 2:
        raise ValueError
    return v


@PROGRAMS.whole()
def sets_change_item_by_item(x, s):
    made, less, both, odd = set(), {1, 3, 5}, {1, 2, 3}, {4}
    for target, name in ((made, set.update), (less, set.difference_update), (s, set.update),
                         (both, set.intersection_update), (odd, set.symmetric_difference_update)):  # fmt: skip
        try:
            name(target, map(two, [1, 7, 2, 3]))
        except ValueError:
            target.add("failed")
    return sorted(map(str, made)), less, both, odd, x + len(s)


@PROGRAMS.whole()
def sets_of_the_frame_change_item_by_item(x, s):
    try:
        s.update(map(two, [8, 2, 9]))
    except ValueError:
        s.add(10)
    try:
        s.difference_update(map(two, [1, 8, 2, 3]))
    except ValueError:
        s.add(11)
    return x + len(s)


@PROGRAMS.whole()
def sets_are_read_by_what_changes_them(x):
    grown, shrunk = set(), {1, 2, 3}
    grown.update(len(grown) + 10 for _ in range(3))
    shrunk.difference_update(len(shrunk) for _ in range(3))
    return grown, shrunk, x + 1


@PROGRAMS.whole()
def several_iterables_change_a_set_in_the_end(x):
    made = {1, 3, 5}
    try:
        made.intersection_update([1, 3], map(two, [1, 2, 3]))
    except ValueError:
        made.add("failed")
    return 1 in made, 5 in made, "failed" in made, x + 1


@PROGRAMS.cut()
def sets_that_change_while_they_are_combined(x):
    found = []
    for method in (set.union, set.intersection, set.difference, set.issubset):
        made = {1, 2, 3}

        def changing(made=made):
            yield 1
            made.discard(2)
            made.add(7)
            yield from (2, 7, 3)

        found.append((method(made, changing()), made))
    return found, x + 1


def left_by(method, *more):
    """What a method leaves of an iterator."""
    one, other = iter([1, 2, 3]), iter([9, 2])
    return [(method(*more, iterator), list(iterator)) for iterator in (one, other)]


@PROGRAMS.whole()
def sets_take_no_more_than_they_need(x):
    methods = [set.isdisjoint, set.issuperset, set.issubset, set.intersection, set.union]
    return [left_by(method, {1}) for method in methods], x + 1


@PROGRAMS.whole()
def frozensets_take_no_more_than_they_need(x):
    one, many = frozenset([1]), frozenset([1, 2])
    methods = [
        frozenset.isdisjoint,
        frozenset.issuperset,
        frozenset.issubset,
        frozenset.intersection,
    ]
    return [left_by(method, own) for method in methods for own in (one, many, frozenset())], x + 1


@PROGRAMS.whole()
def views_take_no_more_than_they_need(x):
    keys = {1: x}.keys()
    return left_by(keys.isdisjoint), keys.isdisjoint({3: 1}.items()), keys.isdisjoint([3]), x + 1


@PROGRAMS.whole()
def an_error_behind_what_is_needed(x):
    def failing():
        yield 1
        yield two(2)

    try:
        found = {3}.isdisjoint(failing())
    except ValueError:
        found = "failed"
    return {1}.isdisjoint(failing()), {3}.issuperset(failing()), found, x + 1


class OwnIterator(set):
    """A set that is gone through otherwise."""

    def __iter__(self):
        return iter([100])


@PROGRAMS.whole()
def sets_with_an_iterator_of_their_own(x):
    own = OwnIterator([1, 2])
    return (
        {1}.union(own), {1, 2}.issuperset(own), {1, 2}.issubset(own), {1, 3}.intersection(own), {1, 100}.difference(own),
        {100}.isdisjoint(own), {1}.isdisjoint(own), {1, 3} | own, x + 1,
    )  # fmt: skip


# Lists that change while they are looked at ----------------------------------------------------------------------


@PROGRAMS.whole()
def slices_that_are_filled_by_what_changes_the_list(x, l):
    def growing(target, *items):
        target.extend([9, 9])
        yield from items

    last, rest, back, empty = [1, 2, 3], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3]
    last[-1:] = growing(last, 7)
    rest[1:] = growing(rest, 7)
    empty[2:1] = growing(empty, 7)
    l[-2:] = growing(l, 7)
    failed = False
    try:
        back[-1:0:-2] = growing(back, 7, 8)
    except ValueError:
        failed = True
    return last, rest, back, empty, failed, x + 1


@PROGRAMS.whole()
def slices_that_are_filled_by_what_shrinks_the_list(x):
    def shrinking(target, *items):
        del target[1:]
        yield from items

    first, middle = [1, 2, 3], [1, 2, 3, 4]
    first[2:] = shrinking(first, 7)
    middle[1:-1] = shrinking(middle, 7, 8)
    return first, middle, x + 1


class Changing:
    """Changes a list when it is compared for the first time."""

    __hash__ = None

    def __init__(self, target, change, is_equal):
        self.target = target
        self.change = change
        self.is_equal = is_equal
        self.compared = 0

    def __eq__(self, other):
        self.compared += 1
        if self.compared == 1:
            self.change(self.target, other)
        return self.is_equal


def looked_for(look):
    """What is found in lists that an item changes, and what is left of these."""
    changes = [
        lambda target, wanted: target.clear(),
        lambda target, wanted: target.extend([wanted, wanted]),
        lambda target, wanted: target.pop(),
        lambda target, wanted: target.pop(0),
        lambda target, wanted: target.insert(0, 5),
    ]
    found = []
    for change in changes:
        for is_equal in (False, True):
            target = [0]
            target += [Changing(target, change, is_equal), 5]
            try:
                answer = look(target)
            except ValueError:
                answer = "nowhere"
            kept = [item if type(item) is int else "changing" for item in target]
            found.append((answer, kept))
    return found


@PROGRAMS.whole()
def lists_that_change_while_items_are_looked_for(x):
    looks = [
        lambda target: target.count(7),
        lambda target: target.index(7),
        lambda target: target.index(7, -9, 100),
        lambda target: target.index(7, -2, -1),
        lambda target: target.index(7, 0, 3),
        lambda target: target.remove(7),
        lambda target: 7 in target,
    ]
    return [looked_for(look) for look in looks], x + 1


# Items of dicts --------------------------------------------------------------------------------------------------


@PROGRAMS.whole()
def pairs_among_the_items_of_a_dict(x, d):
    nan = float("nan")
    made = {"a": 1, (1, 2): 3, "nan": nan, "list": [1]}
    pairs = [("a", 1), ("a", 1.0), ("a", 2), ("z", 1), ("a",), ["a", 1], 5, ((1, 2), 3), ("nan", nan), ("list", [1])]  # fmt: skip
    return (
        [pair in made.items() for pair in pairs],
        ("a", 1) in d.items(),
        ("z", x) in d.items(),
        x + 1,
    )


@PROGRAMS.cut()
def a_pair_whose_key_cannot_be_one(x):
    try:
        return ([], 1) in {"a": 1}.items()
    except TypeError as error:
        return str(error), x + 1
