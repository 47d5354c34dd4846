"""Arguments of ufuncs besides their operands, odd ones too: what NumPy refuses or warns of is left to NumPy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.glancing import outcome

KINDS = ("f8", "i8", "?", "f4")
ODD = (
    "None|True|False|1|0|3|1.5|-1|'a'|b'no'|'no'|'equiv'|'safe'|'same_kind'|b'same_kind'|np.str_('same_kind')|'unsafe'|'same_value'|'K'|'C'|b'C'|"
    "np.True_|np.False_|()|(None,)|(x,)|[x]|x|(x, x)|y|[True, False, True]|np.array(True)|int|float|'d'|np.float64|'dd->d'|(None, None, float)|'O'|"
    "...|(0,)|np.int64(0)|10**30|{}|np.ma.array([1, 2, 3])|object"
).split("|")
# `x` and `y` are arrays, `z` takes results, `v` is what is odd
CALLS = (
    "np.add(x, 1, v)|np.add(x, 1, v, v)|np.add(x, 1, v, out=z)|np.add(x, 1, out=v)|np.add(x, 1, out=z, where=v)|np.sqrt(x, v)|np.maximum(x, y, v)|np.minimum(y, x, v)|"
    "np.fmax(x, y, v)|np.maximum(x, y, out=v)|np.modf(x, v)|np.add(2, 1, v)|np.sqrt(x, v, v)"
).split("|")
KEYWORDS = "casting order dtype subok signature sig axes axis keepdims nosuch".split()
KEYWORD_CALLS = (
    "np.add(x, 1, {}=v)|np.sqrt(x, {}=v)|np.add(x, 1, out=z, {}=v)|np.true_divide(x, 2, {}=v)|np.maximum(x, y, {}=v)|np.power(x, 2, {}=v)|"
    "np.matmul(x, y, {}=v)|np.isnan(x, {}=v)|np.negative(2.0, {}=v)|np.modf(x, {}=v)"
).split("|")


def operands(kind: str) -> tuple[Any, ...]:
    """Fresh arrays of a dtype."""
    return tuple(np.array(values).astype(kind) for values in ([0, 1, 2], [2, 0, 1], [0, 0, 0]))


def check(call: str, kinds: tuple[str, ...] = KINDS) -> None:
    """Compare two calls with plain Python for each odd value."""
    for odd in ODD:
        text = re.sub(r"\bv\b", odd, call)
        program = eval(f"lambda x, y, z: {text}", {"np": np})  # noqa: S307  rows of a table
        for kind in kinds:
            compiled, expected = ufuse.compile(program), outcome(program, *operands(kind))
            for _ in range(2):
                assert outcome(compiled, *operands(kind)) == expected, (odd, kind)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("call", CALLS)
def test_outputs_are_taken_as_numpy_takes_them(call: str, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever stands where the output may, the result, the error or the warning is NumPy's own."""
    check(call)
    assert not caplog.records


@pytest.mark.parametrize("keyword", KEYWORDS)
@pytest.mark.parametrize("call", KEYWORD_CALLS)
def test_keywords_are_taken_as_numpy_takes_them(call: str, keyword: str, caplog: pytest.LogCaptureFixture) -> None:  # fmt: skip
    """Whatever a keyword is given, the result or the error is NumPy's own, and nothing is written before it."""
    check(
        call.format(keyword), ("f8", "?") if keyword in ("casting", "subok", "dtype") else ("i8",)
    )
    assert not caplog.records


def test_keywords_that_ask_for_nothing_are_captured() -> None:
    """What NumPy does without a keyword is no reason to end a graph."""

    def program(x: np.ndarray, z: np.ndarray) -> Any:
        made = np.add(x, 1, casting="same_kind", subok=False, where=True, out=None)
        np.subtract(made, x, (z), subok=True)
        return np.multiply(made, 2, out=(z,), casting="same_kind")

    compiled = ufuse.compile(program)
    x, z = np.arange(3.0), np.zeros(3)
    assert compiled(x, z) is z
    assert (z == 2 * (x + 1)).all()
    assert compiled.breaks == ()


def test_casting_stays_with_the_dtype_it_was_asked_for() -> None:
    """What was traced for floats is not used for whole numbers, which the same casting refuses."""

    def program(x: np.ndarray) -> Any:
        return np.true_divide(x, 2, casting="no")

    compiled = ufuse.compile(program)
    for x in (np.arange(3.0), np.arange(3), np.arange(3.0), np.arange(3)):
        if x.dtype == float:
            assert (compiled(x) == x / 2).all()
            continue
        with pytest.raises(TypeError) as wanted:
            program(x)
        with pytest.raises(type(wanted.value), match=re.escape(str(wanted.value))):
            compiled(x)
