"""Random numbers that methods of NumPy's generators draw: shapes and dtypes of what they give.

A call draws in the place that it has in the graph, by the generator's own method. The generator is the first input.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ufuse.graph.types import ArrayType, GeneratorType, NumberType, Type, c_order
from ufuse.graph.typing.call import BY_NAME, Call, Rule, Sequenced, Shapes, shape_of
from ufuse.graph.typing.device_launches import is_fence, is_final
from ufuse.graph.typing.device_streams import is_about_streams
from ufuse.graph.typing.sample import CannotInfer, Constant
from ufuse.graph.typing.shapes import Shape, broadcast

if TYPE_CHECKING:
    from ufuse.graph.node import Node
    from ufuse.graph.size import Size

GENERATORS = ("Generator", "RandomState")
FLOAT, WHOLE = np.dtype(float), np.dtype(int)
MODULE = "numpy.random"


def is_draw(node: Node) -> bool:
    """Whether a node draws random numbers, or does something else that is never done twice or left out."""
    if node.inputs and isinstance(node.inputs[0].type, GeneratorType):
        return True
    return is_final(node) or is_fence(node) or is_about_streams(node)


def _wanted(call: Call, place: int) -> Shape | None:
    """The shape that `size` names; None where there is none."""
    found = call.argument(place, "size")
    if found is None or (isinstance(found, Constant) and found.value is None):
        return None
    if isinstance(found, Sequenced):
        parts = found.items
    elif isinstance(found, Constant) and isinstance(found.value, tuple | list):
        parts = tuple(map(Constant, found.value))
    else:
        return (call.size(place, "size"),)
    if not parts:
        raise CannotInfer(f"{call.name} of an array without axes")
    one = Call(call.name, parts, {}, call.facts)
    return tuple(one.size(axis, "size") for axis in range(len(parts)))


def _drawn(count: int, call: Call) -> Shape:
    """Of a distribution with so many parameters, which are numbers or arrays."""
    shape = _wanted(call, 1 + count)
    if call.keywords.keys() - NAMES or len(call.arguments) > 2 + count:
        raise CannotInfer(f"{call.name} with these arguments")
    given = [
        *call.arguments[1 : 1 + count],
        *(v for k, v in call.keywords.items() if k not in BESIDE),
    ]
    shapes = [shape_of(one, f"a parameter of {call.name}") for one in given]  # type: ignore[arg-type]
    if any(isinstance(one, ArrayType) and not one.scalar and not one.ndim for one in given):
        raise CannotInfer(f"{call.name} with arrays without axes")
    if any(isinstance(one, ArrayType) and not np.can_cast(one.dtype, FLOAT) for one in given):
        raise CannotInfer(f"{call.name} of what NumPy may warn of as it makes floats of it")
    return broadcast(shapes, call.facts) if shape is None else shape


def _lengths(call: Call) -> Shape:
    """Of a method that takes a shape as several lengths."""
    if call.keywords:
        raise CannotInfer(f"{call.name} with keywords")
    return tuple(call.size(place, "a length") for place in range(1, len(call.arguments)))


def _counted_of(whole: str, count: int, call: Call) -> Shape:
    """Of a distribution whose parameters `whole` are whole numbers."""
    names = WHOLE_PARAMETERS[call.name.rpartition(".")[2]].split()
    for place, name in enumerate(names, 1):
        found = call.argument(place, name)
        type_ = found.type if isinstance(found, Constant) else found
        is_whole = (isinstance(type_, NumberType) and type_.kind == "int") or (
            isinstance(type_, ArrayType) and np.can_cast(type_.dtype, WHOLE)
        )
        if name in whole.split() and not is_whole:
            raise CannotInfer(f"{call.name} of what are no whole numbers")
    return _drawn(count, call)


def _limited(call: Call) -> Shape:
    """Of whole numbers between others."""
    for one in (*call.arguments[1:3], *(call.keywords.get(name) for name in ("low", "high"))):
        type_ = one.type if isinstance(one, Constant) else one
        is_whole = isinstance(type_, NumberType) and type_.kind == "int"
        is_none = one is None or (isinstance(one, Constant) and one.value is None)
        if not is_whole and not is_none:
            raise CannotInfer(f"{call.name} between what are no ints")
    return _wanted(call, 3) or ()


def _source(call: Call) -> tuple[Size | None, np.dtype]:
    """How many there are to choose from, or None of an int, and their dtype."""
    found = call.argument(1, "a")
    type_ = found.type if isinstance(found, Constant) else found
    if isinstance(type_, NumberType) and type_.kind == "int":
        return None, WHOLE
    if isinstance(type_, ArrayType) and type_.ndim == 1:
        return type_.shape[0], type_.dtype
    raise CannotInfer(f"{call.name} of what is no int and no vector")


def _chosen(call: Call) -> Shape:
    _source(call)
    return _wanted(call, 2) or ()


def _permuted(call: Call) -> Shape:
    count, _ = _source(call)
    return (call.size(1, "x") if count is None else count,)


def _real(call: Call, shape: Shapes) -> Type:
    """Floats; NumPy gives one as Python's."""
    return _typed(call, shape, FLOAT, NumberType("float"))


def _counted(call: Call, shape: Shapes) -> Type:
    """Whole numbers, one of which is Python's."""
    return _typed(call, shape, WHOLE, NumberType("int"))


def _between(call: Call, shape: Shapes) -> Type:
    """The same, one of which is NumPy's where a Generator draws it."""
    one = ArrayType(WHOLE, (), (), scalar=True)
    return _typed(call, shape, WHOLE, one if ".Generator." in call.name else NumberType("int"))


def _member(call: Call, shape: Shapes) -> Type:
    """Of an int Python's number, of a vector an element."""
    count, dtype = _source(call)
    one = NumberType("int") if count is None else ArrayType(dtype, (), (), scalar=True)
    return _typed(call, shape, dtype, one)


def _typed(call: Call, shape: Shapes, dtype: np.dtype, one: Type) -> Type:
    assert isinstance(shape, tuple)
    kind = call.name.split(".")[-2]
    if call.arguments[:1] != (GeneratorType(kind),):  # the method does not ask, and would crash
        raise CannotInfer(f"{call.name} of what is no {kind}")
    named = call.constant(BY_NAME, "dtype")
    if named is not None:
        dtype = np.dtype(named)
        if not shape:
            raise CannotInfer(f"{call.name} of one number with a dtype")
    return ArrayType(dtype, shape, c_order(len(shape))) if shape else one


# Parameters of distributions, in order, with what NumPy gives.
BESIDE = frozenset({"size", "dtype"})
PARAMETERS = {
    "random": "", "standard_normal": "", "standard_exponential": "",
    "normal": "loc scale", "uniform": "low high", "exponential": "scale", "lognormal": "mean sigma",
    "gamma": "shape scale", "beta": "a b", "standard_gamma": "shape", "laplace": "loc scale", "logistic": "loc scale",
    "gumbel": "loc scale", "chisquare": "df", "standard_t": "df", "weibull": "a", "pareto": "a", "rayleigh": "scale",
    "triangular": "left mode right", "vonmises": "mu kappa", "power": "a", "wald": "mean scale", "f": "dfnum dfden",
    "standard_cauchy": "", "noncentral_chisquare": "df nonc",
}  # fmt: skip
WHOLE_PARAMETERS = {
    "poisson": "lam", "geometric": "p", "binomial": "n p", "negative_binomial": "n p", "zipf": "a", "logseries": "p",
    "hypergeometric": "ngood nbad nsample",
}  # fmt: skip
COUNTS = {"binomial": "n", "hypergeometric": "ngood nbad nsample"}  # parameters that must be whole
NAMES = BESIDE | {
    name for text in (PARAMETERS | WHOLE_PARAMETERS).values() for name in text.split()
}
OF_BOTH = {
    **{
        name: Rule(partial(_drawn, len(text.split())), gives=_real)
        for name, text in PARAMETERS.items()
    },
    **{
        name: Rule(partial(_counted_of, COUNTS.get(name, ""), len(text.split())), gives=_counted)
        for name, text in WHOLE_PARAMETERS.items()
    },
    "permutation": Rule(_permuted, gives=_member),
    "choice": Rule(_chosen, gives=_member),
}
DRAWING: dict[str, Rule] = {
    **{f"{MODULE}.{kind}.{name}": rule for kind in GENERATORS for name, rule in OF_BOTH.items()},
    MODULE + ".Generator.integers": Rule(_limited, gives=_between),
    MODULE + ".RandomState.randint": Rule(_limited, gives=_between),
    MODULE + ".RandomState.random_sample": Rule(partial(_drawn, 0), gives=_real),
    MODULE + ".RandomState.rand": Rule(_lengths, gives=_real),
    MODULE + ".RandomState.randn": Rule(_lengths, gives=_real),
}
