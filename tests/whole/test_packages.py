"""What `make test-packages` is made of, and a slice of its programs, which need NumPy alone."""

from __future__ import annotations

import ast
import builtins

import pytest

from tests.whole.packages import figures, inputs
from tests.whole.packages.calls import FOLDER, PACKAGES, Line, chosen, lines_of, parsed
from tests.whole.packages.measure import Row, Sides, Wanted, difference_of, measured
from tests.whole.packages.running import rows_of

QUICK = Wanted(timings=False, modes=1, calls=2)


def test_every_file_of_calls_is_a_package() -> None:
    """The files are those of the packages, and at least 300 functions of packages are called."""
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(PACKAGES)
    others = {line.path for name in PACKAGES[1:] for line in lines_of(name)}
    assert len(others) >= 300


@pytest.mark.parametrize("package", PACKAGES)
def test_calls_are_of_their_package_and_name_known_inputs(package: str) -> None:
    """A line calls a function of its file's package, no line stands twice, and what its arguments name is there."""
    lines = lines_of(package)
    texts = [line.text for line in lines]
    assert len(set(texts)) == len(texts)
    assert {line.package for line in lines} == {package}
    known = inputs.namespace().keys() | {package} | vars(builtins).keys()
    for line in lines:
        tree = ast.parse(line.text.removeprefix("-W error "), mode="eval")
        bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert names <= known | bound, line.text


def test_twenty_programs_are_called() -> None:
    """As many different ones, and every program that is there."""
    called = {line.function() for line in lines_of("programs")}
    assert len(called) >= 20


@pytest.mark.parametrize(
    "line", list(chosen(["programs"], "*", 9)), ids=lambda line: line.text.partition("(")[0]
)
def test_program_is_the_same_compiled(line: Line) -> None:
    """A program gives the same, compiled, on the first call and the next."""
    assert measured(line, QUICK).difference == ""


def test_a_difference_is_found() -> None:
    """A compiled function that gives another number is told from one that does not."""
    line = parsed("programs.one_line(wave(10))")
    plain = line.function()
    right = Sides(plain, lambda x: x + 1.0, list, list)
    wrong = Sides(plain, lambda x: x + 1.0000001, list, list)
    assert difference_of(line, right, QUICK) == ""
    assert "result[0]" in difference_of(line, wrong, QUICK)


def test_what_is_not_there_is_left_out() -> None:
    """A function that a package does not have is skipped, with the reason."""
    row = measured(parsed("programs.no_such_program()"), QUICK)
    assert "has no no_such_program" in row.skipped
    assert row.difference == ""


def test_a_hang_costs_one_call() -> None:
    """A call that takes longer than it may is told, and those behind it are measured."""
    lines = [parsed(f"programs.halve({n})") for n in (20, 30)]
    rows = list(rows_of(lines, QUICK, timeout=0.0001))
    assert ["the process ended" in row.difference for row in rows] == [True, True]


def test_limits() -> None:
    """What is slower than the limits is counted; what keeps them is not."""
    fine = Row(
        "scipy.f()",
        "scipy.f",
        "scipy",
        plain=1.0,
        compiled=0.9,
        plain_first=1.0,
        compiled_first=1.2,
    )
    slow = Row(
        "scipy.g()",
        "scipy.g",
        "scipy",
        plain=1.0,
        compiled=1.2,
        plain_first=0.0,
        compiled_first=0.5,
    )
    assert figures.broken_limits([fine]) == []
    assert len(figures.broken_limits([slow])) == 5


def test_what_seems_to_lose_is_settled_by_the_median() -> None:
    """One slow measurement of three is the machine's; a call that is given back may cost its 60 ns."""
    noisy = Row("scipy.g()", "scipy.g", "scipy", plain=1.0, compiled=1.2, compiled_first=0.5)
    tiny = Row("scipy.h()", "scipy.h", "scipy", plain=100e-9, compiled=140e-9)
    assert figures.doubtful([tiny, noisy]) == [noisy]
    again = [
        Row(noisy.text, noisy.path, "scipy", plain=1.0, compiled=1.01, compiled_first=0.1),
        Row(noisy.text, noisy.path, "scipy", plain=2.0, compiled=1.8, compiled_first=0.05),
    ]
    figures.settle(noisy, again)
    assert (noisy.ratio, noisy.compiled_first) == (1.01, 0.1)
    assert figures.doubtful([noisy]) == []
