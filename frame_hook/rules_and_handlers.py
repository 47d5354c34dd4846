"""The modules that fill the tables of rules and handlers: whoever imports this one has them all filled."""

from __future__ import annotations

from ufuse.frame_hook.arrays import (
    choosing,
    composed,
    converter,
    converting,
    error_states,
    making,
    missing,
    reductions,
    some_arguments,
)
from ufuse.frame_hook.devices import calls as device_calls
from ufuse.frame_hook.devices import draws as device_draws
from ufuse.frame_hook.devices import images as device_images
from ufuse.frame_hook.devices import indexing as device_indexing
from ufuse.frame_hook.devices import joining as device_joining
from ufuse.frame_hook.devices import making as device_making
from ufuse.frame_hook.devices import methods as device_methods
from ufuse.frame_hook.devices import numbers as device_numbers
from ufuse.frame_hook.devices import streams as device_streams
from ufuse.frame_hook.devices import transforms as device_transforms
from ufuse.frame_hook.devices import views as device_views
from ufuse.frame_hook.library import (
    bisection,
    blind_writes,
    caches,
    container_methods,
    deque_methods,
    exception_methods,
    function_tools,
    heaps,
    introspection,
    lazy,
    lazy_tools,
    mapping_methods,
    numeric,
    object_methods,
    text,
)
from ufuse.frame_hook.opcodes import (
    control,
    displays,
    exceptions,
    functions,
    operators,
    patterns,
    variables,
)
from ufuse.frame_hook.operations import iterate

MODULES = (
    variables, operators, displays, patterns, control, exceptions, functions,  # handlers
    choosing, composed, converter, converting, making, missing, reductions, some_arguments, iterate, device_methods,
    device_views, device_joining, device_calls, device_draws, device_images, device_transforms,
    device_making, device_indexing, device_numbers, device_streams, error_states,
    bisection, blind_writes, caches, container_methods, deque_methods, exception_methods, function_tools, heaps,
    introspection, lazy, lazy_tools, mapping_methods, numeric, object_methods, text,
)  # fmt: skip

__all__ = ["MODULES"]
