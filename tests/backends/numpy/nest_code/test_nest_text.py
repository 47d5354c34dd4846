"""The text of nests has nothing twice, and nothing that is known: it takes less time to make machine code of it."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_checks import check, check_improved, over
from tests.support.nests.nest_code import RANGE, Code, Machine, array, number, turning
from ufuse.backends.numpy.nest_code.nests import nest_text
from ufuse.backends.numpy.nest_passes.flow import Flow
from ufuse.backends.numpy.nest_passes.versions import asking_headers, versioned
from ufuse.graph.nest import Map, Nest, Step, View

REAL = np.dtype(float)


def sums() -> Nest:
    """`for j in range(n): for k in range(n): b[k] += a[j, k]`, where n is given."""
    code = Code(
        array("a", ndim=2), array("b", is_written=True), number("n", "int", is_changed=False), RANGE
    )
    code.header("i", "body")
    n = code.get("n")
    code.set("row", turning(code, "j", code.whole(0), n, 1, "header"))
    k = turning(
        code, "k", code.whole(0), code.op("sub", code.get("n"), code.whole(1)), 1, "j.again"
    )
    code.store(1, k, code.op("add", code.load(1, k), code.load(0, code.get("row"), k)))
    code.end("jump", "k.head")
    code.begin("j.again")
    code.end("jump", "j.head")
    return code.nest()


def better_text(nest: Nest) -> str:
    """That of better code."""
    return nest_text(versioned(nest, is_alone=True), "NAME", is_fast=True, is_alone=True)


def test_cells_that_nothing_sets_are_not_written() -> None:
    """They hold what they held."""
    text = nest_text(sums(), "NAME")
    cells = re.findall(r"(%t\d+) = getelementptr i64, ptr %cells, i64 (\d)", text)
    names = [one.name for one in sums().cells]
    written = {names[int(cell)] for at, cell in cells if re.search(rf"store .*, ptr {at}\b", text)}
    assert written == {"i.next", "i.left", ".turns"}


@pytest.mark.parametrize("is_improved", [False, True])
def test_only_the_innermost_loop_asks_for_patience(*, is_improved: bool) -> None:
    """Each turn of the loop around it comes to it, and counts there, also where it has no turns."""
    nest = sums()
    assert asking_headers(Flow(nest)) == {"k.head"}
    text = better_text(nest) if is_improved else nest_text(nest, "NAME")
    assert text.count('call i64 @"ufuse.helper.patience"()') == 1
    if is_improved:
        assert re.search(r"@llvm.smax.i64\(i64 [^,]+, i64 1\)", text)


def test_a_loop_with_another_way_round_asks_for_itself() -> None:
    """Where not every turn comes to the inner loop."""
    code = Code(array("a"), number("s", "float"), RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.whole(9), 1, "header")
    code.end("branch", "inner", "j.head", condition=code.op("igt", j, code.whole(3)))
    code.begin("inner")
    k = turning(code, "k", code.whole(0), code.whole(2), 1, "j.head")
    code.set("s", code.op("add", code.get("s"), code.load(0, k)))
    code.end("jump", "k.head")
    assert asking_headers(Flow(code.nest())) == {"j.head", "k.head"}


def test_a_test_in_front_of_loops_is_of_all_at_once() -> None:
    """Three comparisons whatever there is to be tested: of lengths, of variables, of what may not be negative."""
    text = better_text(sums())
    assert len(re.findall(r"icmp ult i64 .*, 268435456$", text, re.MULTILINE)) == 1
    assert len(re.findall(r"icmp ult i64 .*, 536870912$", text, re.MULTILINE)) == 1
    assert len(re.findall(r"icmp sge i64 .*, 0$", text, re.MULTILINE)) == 1


def test_what_is_small_is_not_checked_again() -> None:
    """Better code has looked at the numbers it is given in front of its loops."""
    own, better = nest_text(sums(), "NAME"), better_text(sums())
    assert "ssub.with.overflow" in own
    assert "ssub.with.overflow" not in better


@pytest.mark.parametrize("n", [-(1 << 63), -5, 0, 1, 2, 7, 8, 1 << 28, (1 << 63) - 1])
def test_what_is_not_small_is_in_doubt(n: int) -> None:
    """Before anything is written; what fits is done."""
    nest = sums()
    machine, own = Machine(nest, is_improved=True), Machine(nest)
    a = np.random.default_rng(1).random((7, 7))
    cells = over(range(2), n=n, **{"n.numpy": False})
    is_left = check_improved(machine, [a, np.zeros(7)], dict(cells))
    assert is_left or not 0 <= n <= 7
    if abs(n) < 1 << 28:
        check(nest, [a, np.zeros(7)], dict(cells), own)


def doubled(times: int) -> Nest:
    """`t = a + a`, some times, in one temporary; and `b[0] = t[1]`."""
    code = Code(array("a"), array("b", is_written=True), RANGE)
    code.temporaries.append(array("t"))
    code.header("i", "body")
    zero, vector = code.whole(0), ((0, 1),)
    n = code.dim(0, 0)
    code.alloc(2, n)
    for _ in range(times):
        twice = (Step("add", (REAL,) * 3, (0, 0)),)
        code.map(Map(1, (View(0, vector),), twice, View(2, vector)), n, zero, zero)
    code.store(1, zero, code.load(2, code.whole(1)))
    code.end("jump", "header")
    return code.nest()


def test_the_words_of_a_statement_are_written_once() -> None:
    """Where the one before is alike, as what does the rows writes none."""
    one, two = (nest_text(doubled(times), "NAME") for times in (1, 2))
    stores = [len(re.findall(r"getelementptr i64, ptr %table", text)) for text in (one, two)]
    assert stores[0] == stores[1] > 0
    machine, a, b = Machine(doubled(2)), np.arange(9.0) + 1.0, np.zeros(2)
    assert machine.execute([a, b], over(range(3)))[0]
    assert b.tolist() == [4.0, 0.0]


def recurrence() -> Nest:
    """`for j in range(n): c[j + 1] = (c[j] + a[j]) + b[j]`, of whole numbers."""
    integers = np.dtype(np.int64)
    code = Code(
        array("a", integers), array("b", integers), array("c", integers, is_written=True), RANGE
    )
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "header")
    total = code.op("add", code.load(2, j), code.load(0, j))
    code.store(2, code.op("add", j, code.whole(1)), code.op("add", total, code.load(1, j)))
    code.end("jump", "j.head")
    return code.nest()


def test_a_turn_has_one_way_out_for_all_that_may_overflow() -> None:
    """LLVM knows what a turn stored in the next one only where every turn loads it: no way out may come before."""
    _, first, second = better_text(recurrence()).rsplit("call { i64, i1 } @llvm.sadd", 2)
    ways = [line for line in (first + second).splitlines() if line.startswith("br ")]
    assert "label %doubt" in ways[0]
    assert "br " not in first


@pytest.mark.parametrize("place", [0, 5, 15])
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("number", [(1 << 63) - 1, -(1 << 63), (1 << 62) + 1])
def test_any_sum_of_a_turn_may_overflow(which: int, place: int, number: int) -> None:
    """Then nothing is done; what the next sum brings back into range is in doubt as well."""
    a, b, c = (np.full(length, value, np.int64) for length, value in ((16, 3), (16, -2), (17, 1)))
    (a, b, c)[which][place] = number
    check_improved(Machine(recurrence(), is_improved=True), [a, b, c], over(range(1)))
