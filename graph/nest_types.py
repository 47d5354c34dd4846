"""Types of numbers in a nest, and what its operations, folds and draws take and give."""

from __future__ import annotations

import numpy as np

from ufuse.graph.records import record

F64, F32, I1 = "f64", "f32", "i1"
I64, I32, I16, I8 = "i64", "i32", "i16", "i8"
U64, U32, U16, U8 = "u64", "u32", "u16", "u8"
REALS = (F64, F32)
INTEGERS = (I64, I32, I16, I8, U64, U32, U16, U8)
TURNS = ".turns"  # no local can be called so
NO_ARRAY = -1  # in the place of an array's number
SELDOM = ".seldom"  # how labels of blocks end to which control hardly ever comes
EXIT = ".exit"  # by which the nest was left: 0 at its header

# What a slot's number may be, by name, and the type of its variable: Python's and NumPy's own, then NumPy's only.
KINDS = {
    "float": F64, "int": I64, "bool": I1, "float32": F32,
    "int32": I32, "int16": I16, "int8": I8, "uint64": U64, "uint32": U32, "uint16": U16, "uint8": U8,
}  # fmt: skip

NUMBERS = (
    *KINDS,
    "complex",
)  # all that a slot's number may be; a complex one lies in two variables

# What a `call` computes as C's `pow` does with these exponents.
KNOWN_POWERS = {
    "square": 2.0, "cube": 3.0, "fourth": 4.0, "root": 0.5, "root_cubed": 1.5, "inverse": -1.0, "inverse_square": -2.0,
    "inverse_cube": -3.0, "inverse_root": -0.5, "inverse_root_cubed": -1.5,
}  # fmt: skip

PARTS = ("real", "imag")  # of a complex number, each an f64
COMPLEX = np.dtype(complex)

# The type in which an element of an array of a dtype is loaded and stored.
ELEMENTS = {np.dtype(kind): type_ for kind, type_ in KINDS.items()}


def element_type(dtype: np.dtype) -> str:
    """The type in which an element of an array, or one of its PARTS, is loaded and stored."""
    return F64 if dtype == COMPLEX else ELEMENTS[dtype]


def limits(type_: str) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    bits = int(type_[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if type_[0] == "i" else (0, (1 << bits) - 1)


# fmt: off
COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge")

# By op and type of the first input: the types of the inputs, and of the result. What an integer's type cannot hold is
# a doubt, but where `wrap` or `lshift` loses bits, as NumPy does silently.
SIGNATURES: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    **{(op, real): ((real, real), real) for real in REALS for op in ("add", "sub", "mul", "div")},
    **{(op, real): ((real,), real) for real in REALS for op in ("neg", "abs", "sqrt")},
    **{("f" + op, real): ((real, real), I1) for real in REALS for op in COMPARISONS},
    **{("minus_zero", real): ((real,), I1) for real in REALS},  # whether it is a zero with a sign
    ("to_f64", F32): ((F32,), F64),
    ("to_f32", F64): ((F64,), F32),
    **{(op, whole): ((whole, whole), whole) for whole in INTEGERS for op in
       ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift")},
    **{(op, whole): ((whole,), whole) for whole in INTEGERS for op in ("neg", "abs", "invert")},
    **{("i" + op, whole): ((whole, whole), I1) for whole in INTEGERS for op in COMPARISONS},
    **{(op, I64): ((I64, I64), I64) for op in ("shl", "shr")},  # as Python's ints do it
    **{(f"to_{real}", whole): ((whole,), real) for whole in INTEGERS for real in REALS},
    **{(f"to_{whole}", real): ((real,), whole) for whole in INTEGERS for real in REALS},  # towards zero
    **{(f"{op}_{other}", whole): ((whole,), other) for whole in INTEGERS for other in INTEGERS
       if whole != other for op in ("to", "wrap")},
    **{(op, I1): ((I1, I1), I1) for op in ("and", "or", "xor")},
    ("not", I1): ((I1,), I1),
    ("widen", I1): ((I1,), I64),
}
# fmt: on


@record
class Variable:
    """What instructions read and write by name; of one type for ever."""

    name: str
    type: str


@record
class Value:
    """The result of one instruction."""

    number: int
    type: str


# What `fold` and `dot` are named for: a ufunc; `np.dot` (also `np.inner`), `np.matmul` (also `@` and `np.vdot`).
FOLDS = ("add", "multiply", "maximum", "minimum", "logical_or", "logical_and")
DOTS = ("dot", "matmul")
PRODUCTS = (*DOTS, "solve", "inv")  # and what `matmul` is: also `np.linalg`'s
POSITIONS = ("argmax", "argmin")

# What `draw` gives, by the name of the generator's method: the types of its inputs, and of its result. Python's
# generators give those of `random`, `below` and `gauss` only.
DRAWS: dict[str, tuple[tuple[str, ...], str]] = {
    "random": ((), F64),
    "standard_normal": ((), F64),
    "standard_exponential": ((), F64),
    "normal": ((F64, F64), F64),  # the mean, the standard deviation
    "uniform": ((F64, F64), F64),  # the least, and how much more it may be
    "exponential": ((F64,), F64),
    "integers": ((I64, I64), I64),  # the least and the greatest
    "masked_integers": ((I64, I64), I64),  # as a RandomState draws them
    "interval": (
        (I64,),
        I64,
    ),  # the greatest, from 0 on: as places are drawn where elements are shuffled
    "legacy_gauss": ((), F64),  # as a RandomState draws them, of a normal distribution
    "legacy_normal": ((F64, F64), F64),
    "legacy_exponential": ((F64,), F64),
    "below": ((I64,), I64),  # one that is less, and not negative; what it is less than is positive
    "gauss": ((), F64),  # as `random.Random.gauss` does, with a mean of 0 and a deviation of 1
    # The generator begins anew, as `default_rng`, and the method `seed` of others, begin it. 0; 1: it cannot.
    "seed": ((I64,), I64),
    "legacy_seed": ((I64,), I64),
    "python_seed": ((I64,), I64),
}

WRITERS = frozenset(
    "store append trim push drop enter map reduce matmul take put scan nonzero sort argsort draws".split()
)  # what writes arrays

MAP_AXES = 6  # at most
TABLE_AXES = 2  # of a list of lists
