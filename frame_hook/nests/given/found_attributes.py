"""What a loop has found of the attributes of objects and classes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ufuse.frame_hook.nests.known.containers import Thing
from ufuse.frame_hook.trace.symbols import Instance


@dataclass(slots=True)
class Attributes:
    """What a loop has of objects and classes: `instances`, whose attributes may be set, by register; classes by id.

    `numbers` and `arrays` are the registers of attributes that it sets, by the register of the object and the name.
    """

    instances: dict[int, Instance] = field(default_factory=dict)
    classes: dict[int, Thing] = field(default_factory=dict)
    numbers: dict[tuple[int, str], int] = field(default_factory=dict)
    arrays: dict[tuple[int, str], int] = field(default_factory=dict)

    @property
    def all_set(self) -> dict[tuple[int, str], int]:
        """All that it sets."""
        return {**self.numbers, **self.arrays}
