"""Tables that modules fill when they are imported."""

from __future__ import annotations

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Table(dict[Key, Value]):
    """A dictionary in which `table[key] = value` refuses a key that is there: of two rules, one would never run."""

    def __setitem__(self, key: Key, value: Value) -> None:
        if key in self:
            raise ValueError(f"{key!r} is registered already")
        super().__setitem__(key, value)


__all__ = ["Table"]
