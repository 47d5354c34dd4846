"""The laws of a nest, checked: `check_nest(nest)` names the block and the instruction that break one, and the law."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ufuse.graph.nest import Block, Instruction, Map, Nest, Scalar, Step, View
from ufuse.graph.nest_slots import (
    ARRAYS,
    GIVEN_CONTAINERS,
    INDEX,
    MARKS,
    MOST_COLUMNS,
    OBJECTS,
    ArraySlot,
    GivenRows,
    KeysSlot,
    ListSlot,
    MemberSlot,
    NumberSlot,
)
from ufuse.graph.nest_types import (
    COMPLEX,
    DOTS,
    DRAWS,
    ELEMENTS,
    F32,
    F64,
    FOLDS,
    I1,
    I64,
    INTEGERS,
    KINDS,
    MAP_AXES,
    PARTS,
    POSITIONS,
    PRODUCTS,
    REALS,
    SIGNATURES,
    TURNS,
    Value,
    element_type,
)
from ufuse.graph.semantics.check import GraphError

LAWS = """
1. Blocks have labels of their own, and every target is one; one block at least leaves the nest at its header. Exits
   are numbered from 1 on, none is left out, and only blocks that leave the nest have a number.
2. A value is made once, in the block that uses it, and before it is used; a condition is an i1.
3. Inputs and results have the types that the operation's row says.
4. A variable is declared, by a slot or among the others, and keeps its type.
5. An array is one of the nest's; an index has a place for each axis; what is written is marked so.
6. The axes of views are axes of their arrays, each once but in operands of a `map`; a step computes with operands
   and with steps before it.
7. The variable `turns` is taken off before memory is written in a turn: somewhere the nest sets it.
8. The columns of a list that grows are temporaries of one axis, each of one list; only numbers are read.
9. A number that is not given is changed.
10. What items of a list have as an attribute names a list of objects before it. Nothing of such a list is read but its
    length, and one whose items change is apart; fields of named tuples do not, unless they are arrays. An item in a
    variable is one of such a list. Marks are of an attribute before them that is arrays, which are written.
11. A dict or set that is given has temporaries of one axis for its keys, their index, and what they lead to, which are
    no others'. One with rows is a dict of ints that lead to ints of Python's, and is not written.
12. Lists of several lengths are an array of one axis, of int64 or, with floats, of float64, which is not written.
"""
TYPES = {*REALS, *INTEGERS, I1}
I64_WORDS = np.dtype(np.int64)  # of frames
WHOSE = ("python", "numpy")  # the numbers of a list may be

MOST_IN_ROW = 8  # numbers of an item of lists of several lengths, as in C
ENDS = {"jump": 1, "branch": 2, "leave": 0, "doubt": 0}  # targets
# What a step takes, if it is no ufunc of NumPy.
STEPS = {"cast": 1, "copy": 1, "where": 3}


def check_nest(nest: Nest) -> None:
    """Check every law.

    Raises:
        GraphError: a law is broken; the text says which, and by which instruction.

    """
    _check_flow(nest)
    types = _variables(nest)
    for grown in nest.lists:
        if why := _why_not_list(nest, grown):
            raise GraphError(f"{grown.name}: {why}")
    for keyed in nest.keyed:
        if why := _why_not_keyed(nest, keyed):
            raise GraphError(f"{keyed.name}: {why}")
    for array in nest.arrays:
        if why := _why_not_attribute(nest, array):
            raise GraphError(f"{array.name}: {why}")
    lists = [one.name for one in nest.arrays if one.items == OBJECTS]
    for slot in nest.slots:
        if isinstance(slot, MemberSlot) and slot.owner not in lists:
            raise GraphError(f"{slot.name} is an item of what is no list of objects (law 10)")
    for view in nest.views:
        if why := _why_not_view(nest, view, None):
            raise GraphError(f"the view {view}: {why}")
    for block in nest.blocks:
        _check_values(block)
        for place, one in enumerate(block.instructions):
            why = _why_not_instruction(nest, types, one)
            if why is not None:
                raise GraphError(f"instruction {place} of {block.label} ({one.op}): {why}")
    sets = (one for block in nest.blocks for one in block.instructions if one.op == "set")
    if not any(one.attributes == (TURNS,) for one in sets):
        raise GraphError("no turn is taken off (law 7)")


def _check_flow(nest: Nest) -> None:
    labels = [block.label for block in nest.blocks]
    if len({*labels}) != len(labels):
        raise GraphError("two blocks have one label (law 1)")
    for block in nest.blocks:
        end = block.end
        if ENDS.get(end.kind) != len(end.targets):
            raise GraphError(
                f"{block.label} ends with {end.kind} and {len(end.targets)} targets (law 1)"
            )
        if missing := {*end.targets}.difference(labels):
            raise GraphError(
                f"{block.label} goes to {', '.join(missing)}, which is no block (law 1)"
            )
        if (end.kind == "branch") != (end.condition is not None):
            raise GraphError(f"{block.label} has a condition too many or too few (law 2)")
        if block.end.number and block.end.kind != "leave":
            raise GraphError(f"{block.label} has a number, but does not leave the nest (law 1)")
    numbers = {block.end.number for block in nest.blocks if block.end.kind == "leave"}
    if 0 not in numbers:
        raise GraphError("no block leaves the nest (law 1)")
    if numbers != {*range(nest.exits + 1)}:
        raise GraphError(f"blocks leave the nest by {sorted(numbers)} (law 1)")


def _variables(nest: Nest) -> dict[str, str]:
    types: dict[str, str] = {}
    for slot in nest.slots:
        if isinstance(slot, NumberSlot) and not (slot.is_given or slot.is_changed):
            raise GraphError(f"{slot.name} is neither given nor changed (law 9)")
    for one in (*nest.cells, *nest.others):
        if types.setdefault(one.name, one.type) != one.type or one.type not in TYPES:
            raise GraphError(f"the variable {one.name} is {one.type} and {types[one.name]} (law 4)")
    return types


def _check_values(block: Block) -> None:
    known = set[Value]()
    for place, one in enumerate(block.instructions):
        for value in one.inputs:
            if value not in known:
                raise GraphError(
                    f"instruction {place} of {block.label} uses %{value.number} before it is made (law 2)"
                )
        if one.result is not None:
            if one.result.number in {value.number for value in known}:
                raise GraphError(f"%{one.result.number} is made twice in {block.label} (law 2)")
            known.add(one.result)
    condition = block.end.condition
    if condition is not None and (condition not in known or condition.type != I1):
        raise GraphError(f"the condition %{condition.number} of {block.label} is none (law 2)")


def _why_not_instruction(nest: Nest, types: dict[str, str], one: Instruction) -> str | None:
    given = tuple(value.type for value in one.inputs)
    result = one.result.type if one.result is not None else None
    rule = RULES.get(one.op)
    if rule is not None:
        return rule(nest, one, given, result)
    if one.op in ("get", "set"):
        return _why_not_variable(types, one, given, result)
    row = SIGNATURES.get((one.op, given[0] if given else ""))
    if row is None:
        return f"there is no such operation of {', '.join(given) or 'nothing'} (law 3)"
    if row != (given, result) or one.attributes:
        return f"it takes {row[0]} and gives {row[1]} (law 3)"
    return None


def _why_not_variable(
    types: dict[str, str], one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    (name,) = one.attributes
    if name not in types:
        return f"the variable {name} is not declared (law 4)"
    wanted: tuple[tuple[str, ...], str | None]
    wanted = ((), types[name]) if one.op == "get" else ((types[name],), None)
    return None if (given, result) == wanted else f"the variable {name} is {types[name]} (law 4)"


def _why_not_const(
    _: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    (number,) = one.attributes
    kinds = (
        (bool,)
        if result == I1
        else (float, int, np.floating)
        if result in REALS
        else (int, np.integer)
    )
    fits = result in TYPES and isinstance(number, kinds) and not given
    return None if fits else f"{number!r} is no {result} (law 3)"


def _why_not_select(
    _: Nest, __: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    fits = result is not None and given == (I1, result, result)
    return None if fits else "it takes a condition and two values of its type (law 3)"


def _why_not_call(
    _: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    real = F32 if result == F32 else F64
    fits = given and {*given} == {real} == {result} and isinstance(one.attributes[0], str)
    return None if fits else "a function takes reals of one type and gives one (law 3)"


def _why_not_access(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    number, *rest = one.attributes
    if not 0 <= number < len(nest.numbered):
        return f"there is no array {number} (law 5)"
    array = nest.numbered[number]
    element = element_type(array.dtype)
    if one.op in ("load", "store") and (array.dtype == COMPLEX) != (
        rest in ([part] for part in PARTS)
    ):
        return f"{array.name} has elements of {array.dtype} (law 5)"
    if one.op == "dim":
        fits = not given and result == I64 and 0 <= one.attributes[1] < array.ndim
        return None if fits else f"{array.name} has {array.ndim} axes (law 5)"
    if array.items == OBJECTS:
        return f"{array.name} has no numbers (law 10)"
    wanted: tuple[tuple[str, ...], str | None]
    wanted = ((I64,) * array.ndim, element)
    if one.op == "store":
        wanted = (*wanted[0], element), None
    elif one.op == "alloc":
        wanted = wanted[0], None
    elif one.op in ("append", "trim"):
        wanted = (element if one.op == "append" else I64,), None
        if array.ndim != 1 or number < len(nest.arrays):
            return f"{array.name} is no temporary of one axis (law 5)"
    if (given, result) != wanted:
        return f"{array.name} has {array.ndim} axes and elements of {element} (law 5)"
    return _why_not_written(nest, number) if one.op != "load" else None


def _why_not_frames(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    number, *words = one.attributes
    is_one = len(nest.arrays) <= number < len(nest.numbered)
    if not is_one or (nest.numbered[number].dtype, nest.numbered[number].ndim) != (I64_WORDS, 1):
        return "frames are in no temporary of i64 of one axis (law 5)"
    if one.op == "push":
        return None if given and result is None and not words else "it takes values (law 3)"
    if given or (one.op == "peek") != (result is not None) or not all(each > 0 for each in words):
        return "it takes how many words that is from the end (law 3)"
    return None if len(words) == 1 else "it takes one number of words (law 3)"


def _why_not_room(
    _: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    return None if (given, result, one.attributes) == ((), I64, ()) else "it gives an i64 (law 3)"


def _why_not_keys(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    arrays = [
        nest.numbered[number] if len(nest.arrays) <= number < len(nest.numbered) else None
        for number in one.attributes
    ]
    if any(array is None or array.ndim != 1 for array in arrays):
        return "keys are in no temporary of one axis (law 5)"
    most = 2 if one.op == "find" else 2 + MOST_COLUMNS
    if not 2 <= len({*one.attributes}) == len(arrays) <= most:
        return "keys and what they lead to are in as many temporaries (law 5)"
    keys, index, *columns = (array.dtype for array in arrays if array is not None)
    whole = np.dtype(np.int64)
    fits = (keys, index) == (whole, INDEX) and (given, result) == ((I64,), I64)
    fits = fits and all(one == whole for one in columns[1:])
    return None if fits else "keys are not of i64, or their index is of other elements (law 5)"


def _why_not_written(nest: Nest, number: int) -> str | None:
    array = nest.numbered[number]
    is_own = number >= len(nest.arrays)
    return None if is_own or array.is_written else f"{array.name} is not marked as written (law 5)"


def _why_not_view(
    nest: Nest, view: View, ndim: int | None, *, is_operand: bool = False
) -> str | None:
    if not 0 <= view.array < len(nest.numbered):
        return f"there is no array {view.array} (law 5)"
    axes = [one[0] for one in view.axes if one is not None]
    rank = nest.numbered[view.array].ndim
    is_twice = len({*axes}) != len(axes) and not is_operand
    if is_twice or not all(0 <= axis < rank for axis in axes):
        return f"{view} takes an axis twice, or one that is not there (law 6)"
    if len(view.axes) != (len(view.axes) if ndim is None else ndim):
        return f"{view} has {len(view.axes)} axes where there are {ndim} (law 6)"
    return None


OF_ARRAYS = 2  # columns


def _why_not_list(nest: Nest, slot: ListSlot) -> str | None:
    own = range(len(nest.arrays), len(nest.numbered))
    for one in slot.columns:
        if one.array not in own or one.kind not in KINDS:
            return f"#{one.array} is no temporary, or {one.kind} no number (law 8)"
        array = nest.numbered[one.array]
        if array.ndim != 1 or ELEMENTS[array.dtype] != KINDS[one.kind]:
            return f"{array.name} has no {one.kind} along one axis (law 8)"
    numbers = [one.array for each in nest.lists for one in each.columns]
    if len({*numbers}) != len(numbers):
        return "its columns are others', too (law 8)"
    if slot.axes:
        kinds = [one.kind for one in slot.columns]
        if len(kinds) != OF_ARRAYS or kinds[1] != "int" or not 1 <= slot.axes <= MAP_AXES:
            return "arrays have a column of elements, and one of lengths (law 8)"
    elif not slot.columns or (not slot.has_tuples and len(slot.columns) > 1):
        return "numbers have one column (law 8)"
    is_whole = slot.has_tuples or slot.axes
    return "tuples and arrays are not read (law 8)" if is_whole and slot.is_read else None


def _why_not_keyed(nest: Nest, slot: KeysSlot) -> str | None:
    has_values = slot.values >= 0
    wanted = {slot.keys: np.dtype(np.int64), slot.index: INDEX}
    if has_values:
        if slot.kind not in KINDS:
            return f"{slot.kind} is no number (law 11)"
        wanted[slot.values] = np.dtype(slot.kind)
    if slot.origin:
        wanted[slot.places] = np.dtype(np.int64)
        if not any(one.name == slot.origin and one.items and one.ndim == 1 for one in nest.arrays):
            return f"{slot.origin} is no list (law 11)"
    if slot.container not in GIVEN_CONTAINERS or has_values is ("set" in slot.container):
        return "it is no dict, and no set (law 11)"
    own = range(len(nest.arrays), len(nest.numbered))
    fits = len(wanted) == 2 + has_values + bool(slot.origin) and all(
        number in own and (nest.numbered[number].dtype, nest.numbered[number].ndim) == (dtype, 1)
        for number, dtype in wanted.items()
    )
    taken = [
        number
        for one in nest.keyed
        for number in (one.keys, one.index, one.values, one.places)
        if number >= 0
    ]
    taken += (one.array for each in nest.lists for one in each.columns)
    if not fits or len({*taken}) != len(taken):
        return "keys, their index and what they lead to are in temporaries of their own (law 11)"
    if slot.has_rows and (
        slot.container != "dict" or slot.kind != "int" or slot.is_numpy or slot.is_written
    ):
        return "what leads to lists is a dict that is not written (law 11)"
    return (
        "a frozenset is not written (law 11)"
        if slot.container == "frozenset" and slot.is_written
        else None
    )


def _why_not_rows(slot: ArraySlot, rows: GivenRows) -> str | None:
    columns, plain = rows.columns, ("python", "", "")
    fits = 0 < len(columns) <= MOST_IN_ROW and {*columns} <= {"int", "float"}
    dtype = np.dtype(float if "float" in columns else np.int64)
    is_one = fits and (rows.has_tuples or len(columns) == 1) and slot.dtype == dtype
    is_one = is_one and slot.ndim == 1 and not slot.is_written
    is_one = is_one and (slot.items, slot.iterator, slot.owner) == plain
    return None if is_one else "it is no array of lists of several lengths (law 12)"


def _why_not_attribute(nest: Nest, slot: ArraySlot) -> str | None:
    if slot.rows is not None:
        return _why_not_rows(slot, slot.rows)
    before = nest.arrays[: nest.arrays.index(slot)]
    owners = {one.name: one for one in before if one.items == OBJECTS}
    if slot.items == OBJECTS and (slot.is_written or slot.ndim != 1):
        return "items of a list of objects are not numbers (law 10)"
    if not slot.owner:
        return None
    if slot.items == MARKS:
        arrays = [
            one for one in before if one.items == ARRAYS and one.is_written and one.field is None
        ]
        of = [one for one in arrays if (one.owner, one.attribute) == (slot.owner, slot.attribute)]
        return (
            None
            if of and slot.is_written
            else "it marks what are no arrays that are written (law 10)"
        )
    fits = slot.ndim > 1 if slot.items == ARRAYS else slot.ndim == 1 and slot.items in WHOSE
    if slot.owner not in owners or not fits:
        return "it is no attribute of a list of objects before it (law 10)"
    if slot.field is not None and slot.is_written and slot.items != ARRAYS:
        return "a field of named tuples is written (law 10)"
    changes_unseen = slot.is_written and not owners[slot.owner].is_apart
    return "items that change are not apart (law 10)" if changes_unseen else None


def _why_not_parts(
    nest: Nest, parts: Sequence[View | Scalar], ndim: int, given: tuple[str, ...], operands: int = 0
) -> str | None:
    """Inputs are the lengths of the space, and then those of each part; the first parts are operands of a `map`."""
    rest = list(given)
    if rest[:ndim] != [I64] * ndim:
        return f"it takes {ndim} lengths first (law 3)"
    del rest[:ndim]
    for place, part in enumerate(parts):
        if isinstance(part, Scalar):
            if not rest or rest.pop(0) not in TYPES:
                return f"a number is missing, of {part.dtype} (law 3)"
            continue
        if why := _why_not_view(nest, part, ndim, is_operand=place < operands):
            return why
        rank = nest.numbered[part.array].ndim + part.computed_steps
        if rest[:rank] != [I64] * rank:
            return f"{part} takes {rank} places (law 3)"
        del rest[:rank]
    return "it has too many inputs (law 3)" if rest else None


def _why_not_map(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    (what,) = one.attributes
    if not isinstance(what, Map) or not 1 <= what.ndim <= MAP_AXES or result is not None:
        return f"it works over 1 to {MAP_AXES} axes, and gives nothing (law 3)"
    parts = (*what.operands, what.target)
    why = _why_not_parts(nest, parts, what.ndim, given, len(what.operands))
    return why or _why_not_steps(nest, what) or _why_not_written(nest, what.target.array)


def _why_not_steps(nest: Nest, what: Map) -> str | None:
    dtypes = [
        one.dtype if isinstance(one, Scalar) else nest.numbered[one.array].dtype
        for one in what.operands
    ]
    for step in what.steps:
        if why := _why_not_step(step, dtypes):
            return f"{step}: {why} (law 6)"
        dtypes.append(step.dtypes[-1])
    if not what.steps or dtypes[-1] != nest.numbered[what.target.array].dtype:
        return f"its result is no {nest.numbered[what.target.array].dtype} (law 6)"
    return None


def _why_not_step(step: Step, known: Sequence[np.dtype]) -> str | None:
    if not all(0 <= number < len(known) for number in step.inputs):
        return "it uses what is not computed before"
    count = STEPS.get(step.name) or getattr(getattr(np, step.name, None), "nin", 0)
    if count != len(step.inputs) or len(step.dtypes) != count + 1:
        return f"it takes {count} inputs, and a dtype for each and for its result"
    if [known[number] for number in step.inputs] != list(step.dtypes[:-1]):
        return "its inputs have other dtypes"
    return None


def _why_not_fold(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    name, *views = one.attributes
    known, count = (FOLDS, 1) if one.op == "fold" else (DOTS, 2)
    if name not in known or len(views) != count:
        return f"it is one of {', '.join(known)}, over {count} views (law 3)"
    if why := _why_not_parts(nest, views, len(views[0].axes) if count == 1 else 1, given):
        return why
    dtypes = {nest.numbered[view.array].dtype for view in views}
    fits = len(dtypes) == 1 and result == ELEMENTS[dtypes.pop()]
    return None if fits else "its views and its result have one type (law 3)"


def _why_not_reduce(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    name, *views = one.attributes
    known = (*FOLDS, *POSITIONS)
    if name not in known or len(views) != 2 or result is not None:
        return f"it is one of {', '.join(known)}, of a view into another (law 3)"
    if why := _why_not_parts(nest, views, len(views[0].axes), given):
        return why
    source, target = (nest.numbered[view.array].dtype for view in views)
    if name in FOLDS:
        return "its views have one type (law 3)" if source != target else None
    fits = target == np.dtype(int) and views[1].axes.count(None) == 1
    return None if fits else "its target has places along one axis (law 3)"


def _why_not_written_view(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    """Of `matmul`, `take` and `put`."""
    views = one.attributes[1:] if one.op == "matmul" else one.attributes
    if (
        len(views) != 3
        or result is not None
        or (one.op == "matmul" and one.attributes[0] not in PRODUCTS)
    ):
        return "it works on three views, and gives nothing (law 3)"
    if why := _why_not_parts(nest, views, len(views[0].axes), given):
        return why
    numbered = [nest.numbered[view.array].dtype for view in views]
    alike = numbered if one.op == "matmul" else numbered[::2]
    return "its views have one type (law 3)" if len(set(alike)) > 1 else None


def _why_not_position(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    name, view = one.attributes
    if name not in POSITIONS or result != I64:
        return f"it is one of {', '.join(POSITIONS)}, and gives an index (law 3)"
    return _why_not_parts(nest, (view,), 1, given)


def _why_not_scan(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    name, *views = one.attributes
    if name not in FOLDS or len(views) != 2 or result is not None:
        return f"it is one of {', '.join(FOLDS)}, of a vector into another (law 3)"
    if why := _why_not_parts(nest, views, 1, given):
        return why
    dtypes = {nest.numbered[view.array].dtype for view in views}
    return "its views have one type (law 3)" if len(dtypes) > 1 else None


def _why_not_nonzero(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    if len(one.attributes) != 2 or result is not None:
        return "it works on two views, and gives nothing (law 3)"
    if why := _why_not_parts(nest, one.attributes, 2, given):
        return why
    dtypes = [nest.numbered[view.array].dtype for view in one.attributes]
    return None if dtypes == [bool, int] else "it finds places in a vector of bools (law 3)"


def _why_not_sort(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    if len(one.attributes) != 1 or result is not None:
        return "it works on a view, and gives nothing (law 3)"
    return _why_not_parts(nest, one.attributes, len(one.attributes[0].axes), given)


def _why_not_argsort(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    if len(one.attributes) != 2 or result is not None:
        return "it works on two views, and gives nothing (law 3)"
    if why := _why_not_parts(nest, one.attributes, 1, given):
        return why
    dtype = nest.numbered[one.attributes[1].array].dtype
    return None if dtype == np.dtype(int) else "it puts places into a vector of int64 (law 3)"


OF_PYTHON = ("below", "gauss", "python_seed")  # what only its generators draw


def _why_not_draw(
    nest: Nest, one: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    name, slot, *views = one.attributes
    found = {each.name: each for each in nest.generators}
    if slot not in found:
        return f"there is no generator {slot} (law 4)"
    if name != "random" and (name in OF_PYTHON) != found[slot].is_python:
        return f"{slot} draws no {name} (law 3)"
    row = DRAWS.get(name)
    if one.op == "draws" and row is not None and result is None and len(views) == 1:
        count = len(row[0])
        why = _why_not_parts(nest, views, len(views[0].axes), given[count:])
        given, result = given[:count], row[1]
        if why is not None or element_type(nest.numbered[views[0].array].dtype) != result:
            return why or f"it fills what is no array of {result} (law 3)"
    return None if row == (given, result) else f"it draws one of {', '.join(DRAWS)} (law 3)"


def _why_not_doubt(
    _: Nest, __: Instruction, given: tuple[str, ...], result: str | None
) -> str | None:
    return None if (given, result) == ((I1,), None) else "it takes a condition (law 3)"


Rule = Callable[[Nest, Instruction, tuple[str, ...], "str | None"], "str | None"]
# fmt: off
RULES: dict[str, Rule] = {
    "const":    _why_not_const,
    "draw":     _why_not_draw,
    "draws":    _why_not_draw,
    "select":   _why_not_select,
    "call":     _why_not_call,
    "load":     _why_not_access,
    "store":    _why_not_access,
    "dim":      _why_not_access,
    "alloc":    _why_not_access,
    "append":   _why_not_access,
    "trim":     _why_not_access,
    "push":     _why_not_frames,
    "peek":     _why_not_frames,
    "drop":     _why_not_frames,
    "room":     _why_not_room,
    "find":     _why_not_keys,
    "enter":    _why_not_keys,
    "map":      _why_not_map,
    "fold":     _why_not_fold,
    "reduce":   _why_not_reduce,
    "matmul":   _why_not_written_view,
    "take":     _why_not_written_view,
    "put":      _why_not_written_view,
    "position": _why_not_position,
    "scan":     _why_not_scan,
    "nonzero":  _why_not_nonzero,
    "sort":     _why_not_sort,
    "argsort":  _why_not_argsort,
    "dot":      _why_not_fold,
    "doubt_if": _why_not_doubt,
}
# fmt: on
