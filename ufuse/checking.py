"""`UFUSE_CHECK=1`: every result is compared with the reference executor, to the bit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np

from ufuse.errors import UfuseError
from ufuse.frame_hook.nests.entries.entry import Making, NestMaker
from ufuse.graph import ops
from ufuse.graph.memory.buffers import Buffers, version_of
from ufuse.graph.nest import Nest
from ufuse.graph.nest_slots import ARRAYS, MARKS, OBJECTS, ArraySlot
from ufuse.graph.nest_types import TURNS
from ufuse.graph.node import Graph, Node
from ufuse.graph.semantics import nest_boxing, nest_generators, nest_reference, reference
from ufuse.graph.semantics.check_nest import check_nest
from ufuse.graph.strict import context_with
from ufuse.graph.text import to_text

SECONDS_OF_CHECKED_RUNS = 1e-5  # in native code
COMPARED_BYTES = 4096  # of what a generator gives next: more than MT19937 makes at once


class CheckFailed(UfuseError):  # noqa: N818  what happened, not an error of the user's
    """A compiled graph and the reference executor differ; please report it with the graph in the message."""

    for_user = True


def checked(artefact: Callable[..., Any], graph: Graph) -> Callable[..., Any]:
    """What a backend made of a graph, its results and its writes compared on every call.

    Raises:
        CheckFailed: (when called) something differs.

    """

    def compared(*inputs: Any) -> Any:
        copies = reference.copies(inputs)
        result = artefact(*inputs)
        if result is NotImplemented:
            return result
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = context_with(all="ignore").run(reference.run, graph, *copies)
        results = (result,) if len(graph.outputs) == 1 else result
        pairs = [
            (f"result {i}", a, b)
            for i, (a, b) in enumerate(zip(results, expected, strict=True))
            if not is_arbitrary(graph.outputs[i])
        ]
        pairs += [
            (f"argument {i}", a, b)
            for i, (a, b) in enumerate(zip(inputs, copies, strict=True))
            if not nest_generators.is_generator(a)
        ]
        whys = [(name, why_different(found, wanted)) for name, found, wanted in pairs]
        whys.append(("a generator", _why_other_states(inputs, copies)))
        for name, why in whys:
            if why is not None:
                raise CheckFailed(
                    f"{name} of this graph differs from the reference executor: {why}\n{to_text(graph)}"
                )
        return result

    return compared


def is_arbitrary(node: Node) -> bool:
    """Whether some of a result may be what `np.empty` found in memory: no store was of the whole array."""
    buffers = Buffers()
    version: Node | None = version_of(node)
    while version is not None:
        if version.op is ops.EMPTY:
            return True
        if version.op is ops.STORE and not version.attributes.get("path"):
            return False
        version = buffers.previous(version)
    return False


class _Checking:
    """A nest that is being made."""

    def __init__(self, making: Making, nest: Nest) -> None:
        self._making, self._nest = making, nest

    def wait(self, seconds: float) -> bool:
        """Whether it is made within some seconds."""
        return self._making.wait(seconds)

    def result(self) -> Callable[..., Any] | None:
        """What was made, checked."""
        made = self._making.result()
        return None if made is None else CheckedNest(made, self._nest)


class CheckedNests:
    """A maker of nests whose every run is compared with the definition, turn by turn."""

    def __init__(self, maker: NestMaker) -> None:
        self._maker = maker
        self.nest_seconds = maker.nest_seconds

    def compile_nest(self, nest: Nest) -> Callable[..., Any] | None:
        """What runs a nest; None where the backend cannot.

        Raises:
            GraphError: the nest breaks a law.

        """
        check_nest(nest)
        made = self._maker.compile_nest(nest)
        return None if made is None else CheckedNest(made, nest)

    def begin_nest(self, nest: Nest) -> Making:
        """Begin to make it.

        Raises:
            GraphError: the nest breaks a law.

        """
        check_nest(nest)
        return _Checking(self._maker.begin_nest(nest), nest)


class CheckedNest:
    """What runs a nest, and then its definition on copies of what it was given, for as many turns."""

    takes_contents = False  # here others hold the arrays, too

    def __init__(self, artefact: Any, nest: Nest) -> None:
        self._artefact = artefact
        self._nest = nest
        artefact.budget = SECONDS_OF_CHECKED_RUNS  # the definition takes thousands of times as long

    def __call__(self, *objects: Any) -> Any:
        """As the nest itself."""
        copies = _copies(self._nest, objects)
        arrays = nest_boxing.arrays_of(self._nest, copies)
        columns = nest_boxing.columns_of(self._nest, copies)
        generators = nest_generators.generators_of(self._nest, copies)
        cells = nest_boxing.unboxed(self._nest, copies)
        left = nest_reference.turns_left(self._nest, cells)
        before = getattr(self._artefact, "turns", 0)
        result = self._artefact(*objects)
        if result is NotImplemented:
            return result
        behind = nest_reference.turns_left(self._nest, nest_boxing.unboxed(self._nest, objects))
        is_whole = len(self._nest.given) < len(self._nest.slots)
        cells[TURNS] = 1 if is_whole else left - behind or self._artefact.turns - before
        temporaries: list[np.ndarray] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = context_with(all="ignore").run(
                nest_reference.execute, self._nest, arrays, cells, temporaries, columns, generators
            )
        expected = nest_boxing.boxed(self._nest, cells, [*arrays, *temporaries], objects)
        why = why_different(result, expected) if done else "a turn that is in doubt was done"
        if done:
            nest_boxing.change_lists(self._nest, copies, columns, [*arrays, *temporaries])
            why = why or _why_other_lists(objects, copies) or _why_other_states(objects, copies)
        found = nest_boxing.arrays_of(self._nest, objects)
        for slot, one, other in zip(self._nest.arrays, found, arrays, strict=True):
            difference = why_different(one, other) if slot.items != MARKS else None
            why = why or (f"of {slot.name}, {difference}" if difference is not None else None)
        if why is not None:
            raise CheckFailed(f"this loop differs from its definition: {why}\n{self._nest}")
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._artefact, name)


def _copies(nest: Nest, objects: tuple[Any, ...]) -> list[Any]:
    """Copies of arrays, lists, generators of random numbers, and of what a nest uses of lists of objects."""
    copies = [list(one) if type(one) is list else one for one in reference.copies(objects)]
    known: dict[int, Any] = {}
    copies = [deepcopy(one, known) if nest_generators.is_generator(one) else one for one in copies]
    stand_ins: dict[str, tuple[SimpleNamespace, ...]] = {}
    for place, slot in enumerate(nest.given):
        if isinstance(slot, ArraySlot) and slot.items == OBJECTS:
            stand_ins[slot.name] = tuple(SimpleNamespace() for _ in copies[place])
            copies[place] = stand_ins[slot.name]
        elif isinstance(slot, ArraySlot) and slot.owner and slot.field is None:
            for one, other in zip(stand_ins[slot.owner], copies[place], strict=True):
                setattr(one, slot.attribute, _apart(nest_boxing.attribute_of(other, slot)))
            copies[place] = stand_ins[slot.owner]
        elif isinstance(slot, ArraySlot) and slot.items == ARRAYS:
            copies[place] = tuple(tuple(map(_apart, one)) for one in copies[place])
    return copies


def _apart(value: Any) -> Any:
    """A copy of an array; anything else as it is."""
    return value.copy() if type(value) is np.ndarray else value


def _why_other_states(objects: Sequence[Any], copies: Sequence[Any]) -> str | None:
    """Why two of what are generators do not go on with the same numbers."""
    for one, other in zip(objects, copies, strict=True):
        if nest_generators.is_generator(one):
            coming = [deepcopy(each).bytes(COMPARED_BYTES) for each in (one, other)]
            if coming[0] != coming[1]:
                return f"{one} goes on with {coming[0][:16].hex()}, not {coming[1][:16].hex()}"
    return None


def _why_other_lists(objects: tuple[Any, ...], copies: list[Any]) -> str | None:
    """Why two of what are lists are not the same."""
    pairs = zip(objects, copies, strict=True)
    whys = (why_different(tuple(a), tuple(b)) for a, b in pairs if type(a) is type(b) is list)
    return next((f"of a list, {why}" for why in whys if why is not None), None)


def why_different(found: Any, wanted: Any) -> str | None:
    """Why two results are not the same to the bit, or None."""
    if type(found) is not type(wanted):
        return f"{type(found).__name__} instead of {type(wanted).__name__}"
    if isinstance(wanted, tuple):
        if len(found) != len(wanted):
            return f"{len(found)} results instead of {len(wanted)}"
        return next((why for why in map(why_different, found, wanted) if why is not None), None)
    if not isinstance(found, (np.ndarray, np.generic)):
        return None if repr(found) == repr(wanted) else f"{found!r} instead of {wanted!r}"
    kinds = [(one.dtype, one.dtype.char, one.dtype.metadata) for one in (found, wanted)]
    if kinds[0] != kinds[1] or found.shape != wanted.shape:
        return f"{found.dtype}{found.shape} instead of {wanted.dtype}{wanted.shape}"
    if isinstance(found, np.ndarray) and found.size and found.strides != wanted.strides:
        return f"strides {found.strides} instead of {wanted.strides}"
    return _first_difference(np.asarray(found), np.asarray(wanted))


def _first_difference(found: np.ndarray, wanted: np.ndarray) -> str | None:
    """Which elements of two arrays of one shape and dtype are not the same to the bit."""
    ones, others = (np.ascontiguousarray(one).tobytes() for one in (found, wanted))
    if ones == others:
        return None
    size = found.itemsize
    places = [
        i
        for i in range(found.size)
        if ones[i * size : i * size + size] != others[i * size : i * size + size]
    ]
    place = tuple(map(int, np.unravel_index(places[0], found.shape)))
    rest = f", and {len(places) - 1} more differ" if len(places) > 1 else ""
    where = f"element {list(place)} is " if place else ""
    return f"{where}{found[place]!r} instead of {wanted[place]!r}{rest}"
