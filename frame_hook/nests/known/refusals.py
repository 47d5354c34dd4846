"""Why a loop has no native code, for people: a code for each kind of reason, and what to do about it."""

from __future__ import annotations

import re

from ufuse.frame_hook.trace.reasons import INSTRUCTIONS
from ufuse.graph.records import record


@record
class Refusal:
    """A kind of reasons: what they have in common, what to do about it, and the texts that are of this kind."""

    what: str
    hint: str
    texts: tuple[str, ...]


# The first that fits. docs/loops.md shows this table; a test compares them.
REFUSALS: dict[str, Refusal] = {
    "loop-short": Refusal(
        "it takes too little time",
        "no need to change it: native code is made once a loop takes longer than the making",
        ("it takes too little time", "its turns take too little time", "it has taken .* so far"),
    ),
    "loop-llvm": Refusal(
        "there is no llvmlite, which makes native code",
        "install llvmlite",
        ("there is no llvmlite",),
    ),
    "loop-failed": Refusal(
        "LLVM fails at it, or takes seconds",
        "no need to change it: plain Python runs the loop; the logger `ufuse.kernels` says what failed",
        ("LLVM fails at it, or takes seconds",),
    ),
    "loop-large": Refusal(
        "its arrays are long",
        "no need to change it: each turn is a graph, which does several statements in one pass and uses all cores",
        ("its arrays are long",),
    ),
    "loop-over": Refusal(
        "it goes over what is no range, array, or list of numbers or objects of one type",
        "go over an array, `for value in np.asarray(…)`, or over a range of indices",
        ("it goes over .*", "an inner loop is over .*", "a range is not .*", ".* begins with .*", "it reverses .*"),
    ),
    "loop-slow": Refusal(
        "plain Python is faster, or most turns warn or fail",
        "no need to change it: it runs the faster way",
        (".* faster in plain Python", ".* at nearly every .*"),
    ),
    "loop-types": Refusal(
        "a variable has no value before the loop, or changes its type too often",
        "give each variable one type before the loop: `total = 0.0` where it becomes a float",
        (
            ".* changes? (its type|too often)", ".* has no value.*", ".* is no (number or array|array any more).*",
            "no turn of it ends", ".* is (replaced by|bound to) .*", ".*values? (is|are) kept .*",
            ".* not empty between turns",
        ),
    ),
    "loop-control": Refusal(
        "it has a `with`",
        "put the `with` around the loop, or what it does before and behind it",
        (".*(with` block|`except|handling an exception).*",),
    ),
    "loop-attribute": Refusal(
        "it sets an attribute to what is neither a number nor an array, or reads one that is not followed",
        "read it into a local variable before the loop, and set it behind the loop",
        (".*attribute.*",),
    ),
    "loop-call": Refusal(
        "it calls what is not followed",
        "call functions of yours, or those of math and NumPy for numbers; do other calls before or behind the loop",
        (
            ".*calls? (of|with|within|itself).*", ".*method.*", "it calls what .*", r"a call with \*.*",
            ".*(arguments that are not followed|rounds|isinstance).*",
        ),
    ),
    "loop-dtype": Refusal(
        "an array is of other elements",
        "arrays of bool, float32, float64, complex128 and integers, in the machine's byte order, are compiled",
        (
            "elements of .*", r"(products|the mean|sums and products) of \w+.*",
            r"\w*(float|int|complex|datetime|str|object)\w* is not compiled yet",
        ),
    ),
    "loop-objects": Refusal(
        "it uses a list, a dict, a string or another object in a way that is not followed",
        "keep numbers and arrays in the loop; what else is done with lists, dicts and strings before or behind it",
        (
            ".*what (is|are) no (array|number|tuple|int|float).*",
            r".*\b(list|dict|set|string|f-string|class|import)\b.*",
            r".*\b(closure|function|generator|a tuple|from outside|inner function)\b.*",
        ),
    ),
    "loop-array": Refusal(
        "it has an array statement that is not compiled yet",
        "write it as assignments to slices, or as a loop over elements",
        (r".*\b(array|arrays|axes|index|slice|in place|dtype)\b.*",),
    ),
    "loop-operation": Refusal(
        "it has an operation that is not compiled yet",
        "no need to change it: plain Python runs the loop; with arithmetic and comparisons alone it would be native",
        (".*",),
    ),
}  # fmt: skip
_PATTERNS = {code: re.compile("|".join(row.texts)) for code, row in REFUSALS.items()}
PLACE = re.compile(r", in line \d+( of .*\(\))?$")
# What people call an instruction, beside those that no graph has either.
# fmt: off
WORDS = {
    "BUILD_LIST":        "making a list",
    "BUILD_STRING":      "making a string",
    "CALL_FUNCTION_EX":  "a call with *arguments",
    "DICT_MERGE":        "a call with **keywords",
    "LIST_EXTEND":       "making a list",
    "LOAD_ASSERTION_ERROR": "an assertion",
    "LOAD_FAST_AND_CLEAR": "a comprehension in a loop",
    "MAKE_FUNCTION":     "making a function",
    "RAISE_VARARGS":     "raising an exception",
    "STORE_DEREF":       "assigning to a variable that an inner function uses",
    "STORE_NAME":        "code of a module or class",
    "YIELD_VALUE":       "a generator's yield",
}
ITERATORS = {
    "dict_itemiterator":    "the items of a dict",
    "dict_keyiterator":     "a dict",
    "dict_valueiterator":   "the values of a dict",
    "enumerate":            "enumerate(…) of what are no numbers",
    "filter":               "filter(…)",
    "generator":            "a generator",
    "iterator":             "what is no array of numbers",
    "list_iterator":        "a list of what are no numbers",
    "list_reverseiterator": "a reversed list of what are no numbers",
    "longrange_iterator":   "a range of very large ints",
    "map":                  "map(…)",
    "reversed":             "reversed(…) of what are no numbers",
    "set_iterator":         "a set",
    "str_ascii_iterator":   "a string",
    "str_iterator":         "a string",
    "tuple_iterator":       "a tuple of what are no numbers",
    "zip":                  "zip(…) of what are no numbers",
}
# fmt: on


def refusal_of(why: str) -> tuple[str, str]:
    """The code of a reason, and what to do about it."""
    text = PLACE.sub("", why)
    code = next(code for code, pattern in _PATTERNS.items() if pattern.fullmatch(text))
    return code, REFUSALS[code].hint


def why_not_instruction(opname: str) -> str:
    """The reason that an instruction is."""
    words = WORDS.get(opname) or INSTRUCTIONS.get(opname)
    return f"{words} is not compiled yet" if words else f"{opname} is not compiled yet"


def why_not_over(iterator: str) -> str:
    """The reason that the type of an iterator is."""
    return f"it goes over {ITERATORS.get(iterator, f'an iterator of type {iterator}')}"
