"""What the rows of a group come to: a table of means, extremes, first calls and how loops ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import geometric_mean, median
from typing import Any

from rich.table import Table

SLOW_FIRST_CALL = 0.06  # seconds beyond eager's own time


def totals(group: str, rows: Sequence[dict[str, Any]]) -> Table:
    """The table: a line for each figure, a column for ufuse and each rival."""
    peers = sorted({peer for row in rows for peer in row.get("peers", {})})
    table = Table(title=f"{group}: {len(rows)} programs and sizes", title_justify="left")
    for heading in ("", "ufuse", *peers):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, cells in _figures(rows, peers):
        table.add_row(name, *cells, *[""] * (1 + len(peers) - len(cells)))
    return table


def _figures(rows: Sequence[dict[str, Any]], peers: list[str]) -> Iterator[tuple[str, list[str]]]:
    ours = [row for row in rows if "ratio" in row]
    theirs = {peer: [row for row in ours if "failed" not in row["peers"][peer]] for peer in peers}
    exact = [sum(bool(row["peers"][peer]["exact"]) for row in theirs[peer]) for peer in peers]
    yield "run", [str(len(rows)), *(str(len(theirs[peer])) for peer in peers)]
    yield "the same to the bit", [str(len(ours)), *map(str, exact)]
    if not ours:
        return
    speeds = [_mean(row["peers"][peer]["speed"] for row in theirs[peer]) for peer in peers]
    yield "geometric mean, x eager", [_mean(row["ratio"] for row in ours), *speeds]
    for peer in peers:
        beside = _mean(row["ratio"] for row in theirs[peer])
        ahead = sum(row["ratio"] > row["peers"][peer]["speed"] for row in theirs[peer])
        yield f"  of those that {peer} runs", [beside]
        yield f"  faster than {peer}", [f"{ahead} of {len(theirs[peer])}"]
    least = min(ours, key=lambda row: float(row["ratio"]))
    yield f"least: {_name(least)}", [f"{least['ratio']:.2f}x"]
    yield from _first_calls(rows)
    yield from _loops(rows)


def _mean(ratios: Iterator[float] | Any) -> str:
    found = list(ratios)
    return f"{geometric_mean(found):.2f}x" if found else "-"


def _name(row: dict[str, Any]) -> str:
    return f"{row['program']} of {row['size']:,}"


def _first_calls(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """How much longer than eager's calls they took."""
    late = {_name(row): row["first_call"] - row["eager"]["median"] for row in rows}
    latest = max(late, key=lambda name: late[name])
    slow = sum(seconds > SLOW_FIRST_CALL for seconds in late.values())
    yield "first call beyond eager, median", [_milliseconds(median(late.values()))]
    yield f"  longest: {latest}", [_milliseconds(late[latest])]
    yield f"  above {_milliseconds(SLOW_FIRST_CALL)}", [str(slow)]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def _loops(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """How many ran natively, and why the others did not."""
    texts = [text.partition(": ")[2] for row in rows for text in row.get("loops", ())]
    if not texts:
        return
    native = sum(text.startswith(("native", "inside")) for text in texts)
    yield "native loops, those inside others too", [f"{native} of {len(texts)}"]
    codes = Counter(
        text.rpartition("[")[2].rstrip("]") if text.endswith("]") else "plain"
        for text in texts
        if text.startswith("plain")
    )
    for code, number in codes.most_common():
        yield f"  not native: {code}", [str(number)]
