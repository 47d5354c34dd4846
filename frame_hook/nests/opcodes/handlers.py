"""What reads each opcode in loops that are read as nests: a table that the modules beside this one fill."""

from __future__ import annotations

from collections.abc import Callable

from ufuse.frame_hook.nests.reading.reader import Reader

Handler = Callable[["Reader", int], None]
HANDLERS: dict[str, Handler] = {}


def reads(names: str) -> Callable[[Handler], Handler]:
    """Register what reads some opcodes."""

    def register(handler: Handler) -> Handler:
        for name in names.split():
            assert name not in HANDLERS, name
            HANDLERS[name] = handler
        return handler

    return register
