"""What many rows come to: means, counts, limits, tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from tests.whole.packages.measure import Row

LOSES, LOSES_CLEARLY = 1.05, 1.10  # compiled time by plain time
PUT_BACK = 60e-9  # what the call of a function that was given back may cost: more than a twentieth of the shortest
FIRST_FACTOR, FIRST_ADDED, FIRST_MOST = (
    1.2,
    0.15,
    0.4,
)  # first call: plain's by the factor, and seconds more
MEAN_LIMIT, SHARE_LIMIT, FIRST_SHARE_LIMIT = 0.97, 0.02, 0.01
PROGRAM_LIMIT = 1 / 0.95
WORST = 20


def timed(rows: Iterable[Row]) -> list[Row]:
    """The rows with times."""
    return [row for row in rows if row.ratio]


def geometric_mean(rows: Sequence[Row]) -> float:
    """Of the ratios; 0 without any."""
    return math.exp(sum(math.log(row.ratio) for row in rows) / len(rows)) if rows else 0.0


def above(rows: Sequence[Row], ratio: float) -> list[Row]:
    """Rows whose ratio is higher, by more than a call that is given back costs; highest first."""
    found = [row for row in rows if row.ratio > ratio and row.compiled - row.plain > PUT_BACK]
    return sorted(found, key=lambda row: -row.ratio)


def slow_first(rows: Sequence[Row], factor: float, added: float) -> list[Row]:
    """Rows whose first call took more than plain's by a factor and so many seconds, longest first."""
    found = [row for row in rows if row.compiled_first > factor * row.plain_first + added]
    return sorted(found, key=lambda row: row.plain_first - row.compiled_first)


def doubtful(rows: Sequence[Row]) -> list[Row]:
    """Rows that break a limit, if it is not the noise of the machine."""
    known = timed(rows)
    late = slow_first(known, FIRST_FACTOR, FIRST_ADDED)
    found = {id(row) for row in [*above(known, LOSES), *late]}
    return [row for row in rows if id(row) in found]


def settle(row: Row, others: Sequence[Row]) -> None:
    """Give a row the medians of what it and other measurements of the same call say."""
    every = [row, *(one for one in others if one.ratio)]
    middle = sorted(every, key=lambda one: one.ratio)[(len(every) - 1) // 2]
    first = sorted(every, key=lambda one: one.compiled_first - one.plain_first)[
        (len(every) - 1) // 2
    ]
    row.plain, row.compiled, row.samples = middle.plain, middle.compiled, middle.samples
    row.plain_first, row.compiled_first = first.plain_first, first.compiled_first


def summary(rows: Sequence[Row]) -> Table:
    """A line for each package, and one for those that nobody here wrote together."""
    table = Table(title="compiled time / plain time", title_justify="left")
    heads = "calls functions differ skipped mean median".split()
    heads += [
        f"> {LOSES}",
        f"> {LOSES_CLEARLY:.2f}",
        "< 0.95",
        "first > 1.2 x + 150 ms",
        "first > + 400 ms",
    ]
    table.add_column("package")
    for head in heads:
        table.add_column(head, justify="right")
    packages = list(dict.fromkeys(row.package for row in rows))
    others = [row for row in rows if row.package != "programs"]
    groups = [(name, [row for row in rows if row.package == name]) for name in packages]
    if len(packages) > 1:
        groups.append(("all packages", others))
    for name, group in groups:
        known = timed(group)
        middle = sorted(row.ratio for row in known)[len(known) // 2] if known else 0.0
        table.add_row(
            name, str(len(group)), str(len({row.path for row in group if not row.skipped})),
            str(sum(bool(row.difference) for row in group)), str(sum(bool(row.skipped) for row in group)),
            f"{geometric_mean(known):.3f}", f"{middle:.3f}",
            *(str(len(above(known, ratio))) for ratio in (LOSES, LOSES_CLEARLY)),
            str(sum(row.ratio < 0.95 for row in known)),
            str(len(slow_first(known, FIRST_FACTOR, FIRST_ADDED))), str(len(slow_first(known, 1.0, FIRST_MOST))),
        )  # fmt: skip
    return table


def listing(title: str, rows: Sequence[Row]) -> Table:
    """Rows with their times."""
    table = Table(title=title, title_justify="left")
    for head in (
        "ratio",
        "plain us",
        "compiled us",
        "first: plain ms",
        "compiled ms",
        "graphs",
        "breaks",
    ):
        table.add_column(head, justify="right")
    table.add_column("call", overflow="fold")
    for row in rows:
        table.add_row(
            f"{row.ratio:.3f}", f"{row.plain * 1e6:.1f}", f"{row.compiled * 1e6:.1f}",
            f"{row.plain_first * 1e3:.1f}", f"{row.compiled_first * 1e3:.1f}", str(row.graphs), str(row.breaks), row.text,
        )  # fmt: skip
    return table


def line_of(row: Row) -> str:
    """One row while it comes."""
    if row.skipped and not row.difference:
        return f"skipped  {row.text[:90]}: {row.skipped}"
    mark = "DIFFERS" if row.difference else f"{row.ratio:7.3f}" if row.ratio else "     ok"
    times = f"{row.plain * 1e6:10.1f} us, first {row.plain_first * 1e3:8.1f} {row.compiled_first * 1e3:8.1f} ms"
    text = f"{mark}  {times if row.ratio else ''}  {row.text[:90]}"
    return "\n    ".join([text, *row.difference.splitlines()])


def broken_limits(rows: Sequence[Row]) -> list[str]:
    """The limits that a full run must keep and does not, in words."""
    found = []
    programs = [row for row in timed(rows) if row.package == "programs"]
    others = [row for row in timed(rows) if row.package != "programs"]
    if others:
        mean, slower = geometric_mean(others), above(others, LOSES)
        late = slow_first(others, FIRST_FACTOR, FIRST_ADDED)
        if mean > MEAN_LIMIT:
            found.append(f"geometric mean {mean:.3f}, more than {MEAN_LIMIT}")
        if len(slower) > SHARE_LIMIT * len(others):
            found.append(
                f"{len(slower)} of {len(others)} above {LOSES}, more than {SHARE_LIMIT:.0%}"
            )
        if worse := above(others, LOSES_CLEARLY):
            found.append(f"{len(worse)} above {LOSES_CLEARLY:.2f}")
        if len(late) > FIRST_SHARE_LIMIT * len(others):
            found.append(
                f"{len(late)} first calls above 1.2 x plain + 150 ms, more than {FIRST_SHARE_LIMIT:.0%}"
            )
        if later := slow_first(others, 1.0, FIRST_MOST):
            found.append(f"{len(later)} first calls above plain + 400 ms")
    if slower := above(programs, PROGRAM_LIMIT):
        found.append(
            f"{len(slower)} of {len(programs)} programs below 0.95 of plain Python's speed"
        )
    if later := slow_first(programs, 1.0, FIRST_MOST):
        found.append(f"{len(later)} first calls of programs above plain + 400 ms")
    return found


def printed(rows: Sequence[Row]) -> None:
    """The tables at the end of a run."""
    console = Console(width=None if Console().is_terminal else 180)
    known = timed(rows)
    console.print(summary(rows))
    if known:
        console.print(listing(f"worst {WORST}", sorted(known, key=lambda row: -row.ratio)[:WORST]))
        if late := slow_first(known, FIRST_FACTOR, FIRST_ADDED):
            console.print(listing("first calls above 1.2 x plain + 150 ms", late[:WORST]))
