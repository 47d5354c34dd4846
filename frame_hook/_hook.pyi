# How frames are run: docs/design/0001-frames-and-continuations.md.

from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any, Final, Protocol, Self, TypeAlias, TypeVar, final, overload

Guard: TypeAlias = tuple[Any, ...]
# `(KIND, operand, …)`; csrc/guards.h lists the kinds and their operands.
Step: TypeAlias = tuple[Any, ...]
# `(name, operand, …)`; csrc/recipe.c lists the names and their operands.
Ending: TypeAlias = tuple[str, int] | tuple[str, int, Sequence[int]]
# `("return", register)` or `("resume", position, registers)`, -1 for an empty slot.

_DispatcherType = TypeVar("_DispatcherType", bound=type[Dispatcher])

class _Session(Protocol):
    # What C asks. A session that cannot be weakly referenced is asked about every frame again.

    notify_eager: bool
    every_frame: bool  # may be missing: then only frames that bring an array are asked about
    def capture(
        self, cache: CodeCache, position: int, function: FunctionType, state: tuple[Any, ...], /
    ) -> Entry | None: ...
    def resume_code(self, cache: CodeCache, position: int, /) -> CodeType: ...
    def cache_for(self, code: CodeType, /) -> CodeCache | None: ...
    def eager_run(self, cache: CodeCache, position: int, entry: Entry | None, /) -> object: ...
    def internal_error(self, error: BaseException, /) -> object: ...
    def is_user_error(self, error: BaseException, /) -> bool: ...

@final
class NullType: ...

NULL: Final[NullType]
# Stands for an empty slot in the states Python sees.

@final
class Suspension: ...

@final
class Entry:
    # One specialisation of one position.

    position: Any
    data: Any
    valid: bool
    @property
    def artefact(self) -> Callable[..., Any] | None: ...
    @property
    def hits(self) -> int: ...
    def __new__(
        cls,
        guards: Sequence[Guard],
        inputs: Sequence[int],
        artefact: Callable[..., Any] | None,
        n_outputs: int,
        recipe: Sequence[Step],
        ending: Ending,
    ) -> Self: ...
    def first_failing(self, state: tuple[Any, ...], /) -> int | None: ...

@final
class CodeCache:
    # The entries and resume functions of one code object. Whoever gives one to the hook keeps it alive.

    @property
    def code(self) -> CodeType: ...
    @property
    def session(self) -> Any: ...
    stops_later: bool
    @property
    def frames(self) -> int: ...
    @property
    def whole(self) -> int: ...
    @property
    def mixed(self) -> int: ...
    @property
    def misses(self) -> int: ...
    @property
    def captures(self) -> int: ...
    @property
    def suspensions(self) -> int: ...
    def __new__(cls, code: CodeType, session: _Session) -> Self: ...
    def entries(self, position: int, /) -> list[Entry]: ...
    def add(self, position: int, entry: Entry, /) -> None: ...
    def remove(self, position: int, entry: Entry, /) -> None: ...
    def give_up(self, position: int, /) -> None: ...
    def given_up(self, position: int, /) -> bool: ...
    def clear(self) -> None: ...
    def drop_resume(self, position: int | None = None, /) -> None: ...

class Dispatcher:
    # Calls a function through the entries of its code.

    enabled: bool
    @property
    def function(self) -> FunctionType: ...
    @property
    def cache(self) -> CodeCache: ...
    @property
    def session(self) -> Any: ...
    @property
    def calls(self) -> int: ...
    @property
    def hits(self) -> int: ...
    @property
    def eager_calls(self) -> int: ...
    def __init__(self, function: Callable[..., Any], session: _Session) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None, /) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None, /) -> MethodType: ...

def restore(key: tuple[object, ...] | None, /) -> None: ...
def suspend(key: tuple[object, ...], /) -> Suspension: ...
def set_eager(flag: bool, /) -> None: ...
def enter_eager() -> None: ...
def leave_eager() -> None: ...
def hook_installed() -> bool: ...
def dies_quietly(value: object, /) -> bool: ...
def is_dict_of(mapping: object, instance: object, /) -> bool: ...
def own_value(instance: object, name: str, /) -> Any: ...
def has_only_names(kind: type, /) -> bool: ...
def passed_frames() -> tuple[int, int, int]: ...
def enable_vectorcall(subclass: _DispatcherType, /) -> _DispatcherType: ...

GUARD_KINDS: Final[dict[str, tuple[int, str]]]
# Every kind: its number, and what to say when it fails; `{0}`, `{1}`, … are its operands.

LOAD_CELL: Final[int]
LOAD_KEY: Final[int]
ABSENT: Final[int]
LOAD_ITEM: Final[int]
LOAD_DICT_ITEM: Final[int]
LOAD_ATTR: Final[int]
LOAD_CLASS: Final[int]
CLASS_LACKS: Final[int]
DICT_LACKS: Final[int]
INSTANCE_LACKS: Final[int]
LOAD_CLOSURE: Final[int]
LOAD_DEFAULT: Final[int]
LOAD_KWDEFAULT: Final[int]
LOAD_CONST: Final[int]
TYPE: Final[int]
IDENTITY: Final[int]
UNBOUND: Final[int]
BOUND: Final[int]
INT: Final[int]
BIG_INT: Final[int]
FLOAT: Final[int]
STR: Final[int]
EQUAL: Final[int]
LENGTH: Final[int]
DICT_KEYS: Final[int]
SET_IS: Final[int]
CELL_EMPTY: Final[int]
FUNCTION: Final[int]
ARRAY: Final[int]
WRITEABLE: Final[int]
ORDER: Final[int]
CONTIGUOUS: Final[int]
SIZE: Final[int]
RELATION: Final[int]
DISJOINT: Final[int]
SAME: Final[int]
DIFFERENT: Final[int]
NOT_DICT_OF: Final[int]
