"""What a loop takes from outside of its frame, guarded: globals, attributes of modules, what functions need."""

from __future__ import annotations

import types
from typing import Any

from ufuse.frame_hook.nests.values import Item, Items, Known, NotNativeError
from ufuse.frame_hook.opcodes.calls import guarded_function
from ufuse.frame_hook.trace import symbols
from ufuse.frame_hook.trace.symbols import Constant, Number, Opaque, Source, Symbol, Tuple
from ufuse.frame_hook.trace.trace import Trace


class Outside:
    """As a trace of the frame reads it."""

    def __init__(self, trace: Trace, function: types.FunctionType, state: tuple[Any, ...]) -> None:
        self._trace, self._function, self._state = trace, function, state
        self._functions: dict[int, Constant | Opaque] = {}  # by id
        self._called: dict[int, symbols.Function] = {}

    def name(self, called: symbols.Function | None, name: str) -> Item:
        """A global of the loop's function, or of one that is called in it."""
        namespace = self._function.__globals__ if called is None else called.globals
        return self.item(self._trace.global_value(namespace, name))

    def attribute(self, module: types.ModuleType, name: str) -> Item:
        """An attribute of a module."""
        return self.item(self._trace.module_attribute(module, name, module.__name__))

    def cell(self, called: symbols.Function | None, slot: int, names: tuple[str, ...]) -> Item:
        """A variable of the function around one."""
        if called is None:
            cell = self._trace.reader.cell(Source(slot, names[slot]), self._state[slot])
        else:
            cell = called.closure[slot - len(names) + len(called.closure)]
        if cell.content is None:
            raise NotNativeError(f"{names[slot]} has no value yet", later=True)
        return self.item(cell.content)

    def local(self, slot: int) -> Item:
        """A variable of the frame that the loop does not write."""
        return self.item(self._trace.state[slot])

    def called(self, function: types.FunctionType) -> symbols.Function:
        """What a call of a function that was known from outside needs of it."""
        found = self._called.get(id(function))
        if found is None:
            symbol = self._functions[id(function)]
            found = self._called[id(function)] = guarded_function(self._trace, symbol, function)
        return found

    def item(self, symbol: Symbol) -> Item:
        """A value that is to stay what it is.

        Raises:
            NotNativeError: no nest can use it.

        """
        symbol = self._trace.look(symbol)
        if isinstance(symbol, Number):
            example = self._trace.number_examples.get(symbol.node)
            if type(example) is float:
                symbol = self._trace.specialised(symbol)
        match symbol:
            case Opaque(value=types.FunctionType()) | Constant(value=types.FunctionType()):
                self._functions[id(symbol.value)] = symbol
                return Known(symbol.value)
            case Constant(value=value):
                return Known(value)
            case Tuple(items=items):
                return Items(tuple(map(self.item, items)))
        raise NotNativeError("it uses a variable from outside that is no constant")
