"""What is done with an item by its class: modules of the classes register what it means for theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ufuse.frame_hook.nests.known.values import Item

Rule = Callable[..., Any]


class Operation:
    """Something that is done with items: from their classes to the rules that do it, for a reader and the item."""

    def __init__(self) -> None:
        self._rules: dict[type, Rule] = {}

    def of(self, *classes: type) -> Callable[[Rule], Rule]:
        """Register the rule for some classes."""

        def register(rule: Rule) -> Rule:
            for one in classes:
                assert one not in self._rules, one
                self._rules[one] = rule
            return rule

        return register

    def rule(self, item: Item) -> Rule | None:
        """What does it with an item; None: nothing is known of that."""
        return self._rules.get(type(item))


AS_ARRAY = Operation()  # `np.array(item, dtype)`
AS_ROW = Operation()  # its numbers as a vector of a matrix
