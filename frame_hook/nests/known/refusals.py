"""Why a loop has no native code, for people: a code for each kind of reason, and what to do about it."""

from __future__ import annotations

import re

from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.trace.reasons import INSTRUCTIONS
from ufuse.graph.records import record


@record
class Refusal:
    """A kind of reasons: what they have in common, what to do about it, and the texts that are of this kind."""

    what: str
    hint: str
    texts: tuple[str, ...]


# What an attribute is of, where it is a method of a container.
CONTAINER = (
    r"(attribute|method) \w+ of (.*\(|.* is )?(a|an) (list|dict|set|deque|tuple|view of a dict)\b"
)

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
        "it goes over what is no range, array, or list of numbers or objects of one class",
        'take the numbers out before the loop, as in `prices = [row["price"] for row in rows]`, and go over these',
        ("it goes over .*", "an inner loop is over .*", "a range is not .*", ".* begins with .*", "it reverses .*"),
    ),
    "loop-slow": Refusal(
        "plain Python is faster, or most turns warn or fail",
        "no need to change it: it runs the faster way",
        (".* faster in plain Python", ".* at nearly every .*"),
    ),
    "loop-text": Refusal(
        "it makes strings, or takes them apart",
        "keep numbers in the loop: read what strings say before it, and make strings of its numbers behind it",
        (
            r".*\(a str\).*", r".*\ba str\b(?! in some).*", ".*f-string.*", ".*a string.*",
            "calls of (str|repr|format|print|int|float|input) .*",
        ),
    ),
    "loop-types": Refusal(
        "a variable has no value before the loop, or changes its type too often",
        "give each variable one type before the loop: `total = 0.0` where it becomes a float",
        (
            ".* changes? (its type|too often)", ".* has no value.*", ".*, and the loop assigns to it",
            "no turn of it ends", ".* is (replaced by|bound to) .*", ".* becomes .*",
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
        (rf"(?!.*{CONTAINER}).*attribute.*",),
    ),
    "loop-call": Refusal(
        "it calls what is not followed",
        "call it before or behind the loop, for all values at once where it takes arrays; your own functions may stay",
        (
            ".*calls? (of|with|within|itself).*", rf"(?!.*{CONTAINER}).*method.*", "it calls .*", r"a call with \*.*",
            ".*(arguments that are not followed|rounds|isinstance).*",
        ),
    ),
    "loop-dtype": Refusal(
        "an array is of other elements",
        "arrays of bool, float32, float64, complex128 and integers, in the machine's byte order, are compiled",
        (
            "elements of .*", r"(products|the mean|sums and products) of \w+.*", ".*array .*of dtype .*",
            r"\w*(float|int|complex|datetime|str|object)\w* is not compiled yet",
        ),
    ),
    "loop-objects": Refusal(
        "it uses a list, a dict, a set or another object in a way that is not followed",
        "keep numbers and arrays in the loop; what else is done with lists, dicts and objects before or behind it",
        (
            ".*what (is|are) no (array|number|tuple|int|float).*", ".*which is (no .*|not followed)",
            ".*(not numbers|the tuples in) .*",
            r".*\b(list|dict|set|class|import)\b.*",
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
# The program's text; `with` and `except` are words of reasons.
QUOTED = re.compile(r"`(?!with`|except`)[^`]*`")
PLACE = re.compile(r", in line \d+( of \S+\(\)( in [^`]*)?)?(: `.*`)?$")
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
    "filter":               "filter(…)",
    "generator":            "a generator",
    "iterator":             "what is no array of numbers",
    "longrange_iterator":   "a range of very large ints",
    "map":                  "map(…)",
    "reversed":             "reversed(…)",
    "set_iterator":         "a set",
    "str_ascii_iterator":   "a string",
    "str_iterator":         "a string",
    "zip":                  "zip(…)",
}
# fmt: on


def no_attribute(name: str, owner: object) -> NotNativeError:
    """The refusal of an attribute, or method, of a value."""
    return NotNativeError(f"the attribute {name} of {{item}} is not compiled yet", owner)


def no_method(name: str, owner: object, more: str = "") -> NotNativeError:
    """The refusal of a call of a method; `more`: with which arguments."""
    return NotNativeError(f"the method {name} of {{item}}{more} is not compiled yet", owner)


def no_setting(name: str, owner: object) -> NotNativeError:
    """The refusal to set an attribute."""
    return NotNativeError(
        f"assigning to the attribute {name} of {{item}} is not compiled yet", owner
    )


def no_making(kind: type) -> NotNativeError:
    """The refusal to make an object of a class of the program's."""
    return NotNativeError(f"making an object of class {kind.__name__} is not compiled yet")


def no_call(name: str, more: str = "") -> NotNativeError:
    """The refusal of a call of a function; `more`: with which arguments."""
    return NotNativeError(f"calls of {name}{more} are not compiled yet")


def called(function: object) -> str:
    """What people call a function: `np.interp`, `sorted`."""
    name, module = getattr(function, "__name__", None), getattr(function, "__module__", None)
    if not isinstance(name, str):
        return "a " + type(function).__name__
    public = isinstance(module, str) and module.partition(".")[0] == "numpy" and "._" not in module
    return f"np{module[5:]}.{name}" if public and isinstance(module, str) else name


def not_of(does: str, item: object, what: str) -> NotNativeError:
    """The refusal to do something with a value that is none of those with which it can be done."""
    return NotNativeError(f"it {does} {{item}}, which is no {what}", item)


def refusal_of(why: str) -> tuple[str, str]:
    """The code of a reason, and what to do about it."""
    text = QUOTED.sub("…", PLACE.sub("", why))
    code = next(code for code, pattern in _PATTERNS.items() if pattern.fullmatch(text))
    return code, REFUSALS[code].hint


def why_not_instruction(opname: str) -> str:
    """The reason that an instruction is."""
    words = WORDS.get(opname) or INSTRUCTIONS.get(opname)
    return f"{words} is not compiled yet" if words else f"{opname} is not compiled yet"


def why_not_over(what: str, expression: str) -> str:
    """The reason that an iterator is, with the expression that stands behind `in`."""
    return f"it goes over `{expression}`, {what}" if expression else f"it goes over {what}"
