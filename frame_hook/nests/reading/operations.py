"""What is done with an item by its class: the modules of the classes register what it means for theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.arrays import Array
from ufuse.frame_hook.nests.known.containers import DictView
from ufuse.frame_hook.nests.known.kinds import BOOL, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Character, Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, Method
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64

T = TypeVar("T")
R = TypeVar("R", bound=Callable[..., Any])


class Operation(Generic[T]):
    """Something that is done with items: from their classes to the rules that do it, for a reader and the item.

    `refusal` says why a loop is not native that does it with an item of another class.
    """

    def __init__(self, refusal: str = "it does with {item} what is not compiled yet") -> None:
        self._rules: dict[type, Callable[..., T]] = {}
        self._refusal = refusal

    def of(self, *classes: type) -> Callable[[R], R]:
        """Register the rule for some classes."""

        def register(rule: R) -> R:
            for one in classes:
                assert one not in self._rules, one
                self._rules[one] = rule
            return rule

        return register

    def rule(self, item: Item) -> Callable[..., T] | None:
        """What does it with an item; None: nothing is known of that."""
        return self._rules.get(type(item))

    def __call__(self, reader: Reader, item: Item, *others: Any) -> T:
        """Do it with an item.

        Raises:
            NotNativeError: nobody says how.

        """
        rule = self._rules.get(type(item))
        if rule is None:
            raise NotNativeError(self._refusal, item)
        return rule(reader, item, *others)


AS_ARRAY: Operation[Array] = Operation()  # `np.array(item, dtype)`
AS_ROW: Operation[Item] = Operation()  # its numbers as a vector of a matrix
# `item[key]`; None: it was pushed, and the block has ended.
ELEMENT: Operation[Item | None] = Operation("it takes an item of {item}, which is not followed")
STORE: Operation[None] = Operation(
    "it stores into {item}, which is not followed"
)  # `item[key] = value`
CONTAINS: Operation[Item] = Operation(
    "it looks for an item in {item}, which is not followed"
)  # `key in item`
UNPACKED: Operation[list[Item]] = Operation(
    "it unpacks {item}, which is not followed"
)  # so many items
LENGTH: Operation[Item] = Operation(
    "it takes the length of {item}, which is not followed"
)  # `len(item)`
# What a loop over it goes over: its "keys", "values" or "items".
VIEW: Operation[Item] = Operation("it goes over {item}")
# `item.name(*arguments, **keywords)`; None: it is pushed by what is read now.
METHOD: Operation[Item | None] = Operation()
ATTRIBUTE: Operation[Item] = Operation()  # `item.name`


def truth(reader: Reader, item: Item) -> Item:
    """A list, a text or a dict as a condition; what is none of these as it is."""
    if isinstance(item, Character):
        return Known(True)
    if LENGTH.rule(item) is None or isinstance(item, Items):
        return item
    length = LENGTH(reader, item)
    if isinstance(length, Known):
        return Known(bool(length.value))
    assert isinstance(length, Number)
    return Number(BOOL, reader.out.op("igt", I1, length.value, reader.out.constant(I64, 0)))


def gone_over(reader: Reader, item: Item) -> Item:
    """What a loop over a dict, a list of a list, or a view of a dict goes over; anything else as it is."""
    of, what = (item.of, item.what) if isinstance(item, DictView) else (item, "keys")
    return item if VIEW.rule(of) is None else VIEW(reader, of, what)


def methods_of(names: frozenset[str], *classes: type) -> None:
    """Have some classes of items have methods, whose calls are told apart by their names."""

    @ATTRIBUTE.of(*classes)
    def attribute(_: Reader, owner: Any, name: str) -> Method:
        if name in names:
            return Method(owner, name)
        raise refusals.no_attribute(name, owner)


def method_of(*classes: type) -> Callable[[R], R]:
    """Register the rule for calls of methods of some classes without keywords: for a name and arguments."""

    def register(rule: R) -> R:
        @METHOD.of(*classes)
        def called(
            reader: Reader, owner: Item, name: str, arguments: list[Item], keywords: dict[str, Item]
        ) -> Item | None:
            if keywords:
                raise refusals.no_method(name, owner, " with keywords")
            found: Item | None = rule(reader, owner, name, arguments)
            return found

        return rule

    return register
