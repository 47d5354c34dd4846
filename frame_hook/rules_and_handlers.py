"""The modules that fill the tables of rules and handlers: whoever imports this one has them all filled."""

from __future__ import annotations

from ufuse.frame_hook.arrays import (
    choosing,
    composed,
    converter,
    converting,
    device_calls,
    device_draws,
    device_images,
    device_indexing,
    device_joining,
    device_making,
    device_methods,
    device_numbers,
    device_streams,
    device_transforms,
    device_views,
    error_states,
    making,
    missing,
    reductions,
    some_arguments,
)
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
