"""Functions that call themselves, while a loop is read: their callers, and what they return."""

from __future__ import annotations

from dataclasses import dataclass, field

from ufuse.frame_hook.nests.known.frames import Function, Version
from ufuse.frame_hook.nests.known.kinds import ArrayKind, TemporaryKind
from ufuse.frame_hook.nests.known.values import Kind


@dataclass(slots=True)
class Called:
    """A function that calls itself: where its callers go on, and what it returns, by their numbers."""

    function: Function
    place: Version  # stands for whoever called
    sites: dict[Version, int] = field(default_factory=dict)
    kinds: dict[Kind, int] = field(default_factory=dict)
    read: set[tuple[int, int]] = field(default_factory=set)

    @property
    def result(self) -> str:
        """What the names of the variables begin with that have what it returns."""
        return f"{self.function.prefix}.result"

    def returns(self, kind: int) -> str:
        """The label of what goes on where the caller does."""
        return f"{self.function.prefix}return{kind}"

    def restores(self, site: int, kind: int) -> str:
        """The label where a caller gets back what it needs."""
        return f"{self.behind(site, kind)}.restore"

    def behind(self, site: int, kind: int) -> str:
        """The label where it goes on then."""
        return f"{self.function.prefix}site{site}_{kind}"


@dataclass(slots=True)
class Recursion:
    """The functions of a nest that call themselves."""

    called: dict[str, Called] = field(default_factory=dict)  # by their prefixes
    entries: set[str] = field(default_factory=set)  # labels
    marks: list[tuple[str, int]] = field(default_factory=list)  # the functions called, and sites
    frames: TemporaryKind | None = None
    numbers: dict[int, int] = field(default_factory=dict)  # of functions, by what makes them others
    held: set[TemporaryKind] = field(default_factory=set)  # by frames, while deeper ones run
    gone_over: set[ArrayKind] = field(default_factory=set)  # meanwhile

    def of(self, function: Function) -> Called | None:
        """What is known of a function, if it calls itself."""
        return self.called.get(function.prefix)
