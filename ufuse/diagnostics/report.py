"""The report of `ufuse.explain`: what was captured, where it ended and why, in words."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from types import CodeType
from typing import Any

from ufuse.diagnostics import wording
from ufuse.diagnostics.graphs import Graph
from ufuse.diagnostics.wording import count
from ufuse.frame_hook.code.places import in_words, short_file, source_line
from ufuse.frame_hook.entries.entry import Specialisation, is_idle
from ufuse.frame_hook.entries.journal import Decision, duration
from ufuse.frame_hook.entries.learned import Retrace
from ufuse.frame_hook.nests.records import LoopRecord
from ufuse.frame_hook.trace.reasons import Break
from ufuse.graph.records import record
from ufuse.graph.text.nest_drawing import nest_to_svg

MANY = 20  # turns for each that is left to plain Python, at least: else that is worth a hint
# Of a function that has native code for whole calls alone.
WHOLE = (
    "That is made once its calls have taken some tens of milliseconds; until then it runs as {}."
)
ITERATION = re.compile(r"(the next item of|iterating over) .* is not captured yet")


@record
class Report:
    """What `explain` found; a Python prompt shows it, and a notebook; print it, or save it.

    Attributes:
        name: the function's name.
        file, line: where it is defined.
        graphs: what was captured, in order.
        breaks: where graphs ended before the function did, each with `reason` and `hint`.
        retraces: why the second call was traced again, if it was.
        specialisations: the same as graphs, with guards and inputs.
        runs: how often each specialisation ran.
        seconds: how long each compiled call took: the first (with tracing and compiling), and the second.
        plain_seconds: how long the call in plain Python took that followed.
        decisions: what was found to be faster compiled or in plain Python while it ran.
        eager_runs: how often a graph was not run, because plain Python is to warn or fail by itself.
        traces: how many times a frame was read to capture a graph.
        trace_seconds: how long that took, compiling included.
        compile_seconds: how long compiling took.
        why_plain: why nothing was captured; empty where something was.
        result: what the second call returned.
        loops: those that ran as native code, or were looked at for that, each with `why_not`, `code` and `hint` where
            it has none.
        codes: the code object of each specialisation.
        whole_seconds: how long a call takes as one piece of native code; None where it is not to have that.
        why_not_whole: why it has none, where it would be good to have.

    Example:
        >>> import numpy as np, ufuse
        >>> def total(x):
        ...     return (x * x).sum()
        >>> report = ufuse.explain(total, np.ones((3, 4)))
        >>> print(str(report).splitlines()[0])
        total() runs as one graph, from start to end.

    """

    name: str
    file: str
    line: int
    graphs: tuple[Graph, ...]
    breaks: tuple[Break, ...]
    retraces: tuple[Retrace, ...]
    specialisations: tuple[Specialisation, ...]
    runs: tuple[int, ...]
    seconds: tuple[float, float]
    plain_seconds: float
    decisions: tuple[Decision, ...]
    eager_runs: int
    traces: int
    trace_seconds: float
    compile_seconds: float
    why_plain: str
    result: Any
    codes: tuple[CodeType, ...] = field(repr=False)
    loops: tuple[LoopRecord, ...] = ()
    whole_seconds: float | None = None
    why_not_whole: str = ""

    @property
    def told_breaks(self) -> list[Break]:
        """The breaks besides those that only say, or say once more, that a loop is no graph."""
        known = [loop for loop in self.loops if loop.turns or loop.why_not or loop.inside]
        told = [one for one in self.breaks if not _is_told_elsewhere(one, known)]
        loops = {(one.file, one.line) for one in told if one.code == "loop"}
        return [
            one
            for one in told
            if (one.file, one.line) not in loops or not ITERATION.match(one.reason)
        ]

    def __str__(self) -> str:
        return "\n".join(
            [
                *_summary(self),
                *_parts(self),
                *_loops(self),
                *_whole(self),
                *([] if self.whole_seconds is not None else _losses(self)),
                "",
                _times(self),
            ]
        )

    __repr__ = __str__  # what a Python prompt shows

    def _repr_html_(self) -> str:
        parts = [f"<pre>{html.escape(str(self))}</pre>"]
        kept = [k for k in self.specialisations if not is_idle(k.graph)]
        for number, (graph, one) in enumerate(zip(self.graphs, kept, strict=True), 1):
            facts = "\n".join(in_words(row.text, one.code, one.position) for row in one.guards)
            parts += [
                _folded(f"Graph {number}, operation by operation", str(graph)),
                _folded(f"Graph {number} is traced again when …", facts),
            ]
        for loop in self.loops:
            parts += [
                _drawn(f"Loop, line {loop.line}, as native code", nest_to_svg(nest), str(nest))
                for nest in loop.nests
            ]
        return "\n".join(parts)

    def save(self, path: str | Path) -> None:
        """Write the report to a file: HTML where its name ends in .html, else text.

        Args:
            path: where to write.

        Raises:
            OSError: the file cannot be written.

        Example:
            >>> import tempfile, numpy as np, ufuse
            >>> report = ufuse.explain(lambda x: x + 1, np.ones(3))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     report.save(f"{folder}/report.html")

        """
        target = Path(path)
        if target.suffix.lower() in (".html", ".htm"):
            title = html.escape(f"ufuse: {self.name}")
            page = f"<!doctype html>\n<meta charset=utf-8>\n<title>{title}</title>\n{self._repr_html_()}\n"
            target.write_text(page, encoding="utf-8")
        else:
            target.write_text(str(self) + "\n", encoding="utf-8")


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary><pre>{html.escape(text)}</pre></details>"


def _drawn(title: str, drawing: str, text: str) -> str:
    inside = f"{drawing}<pre>{html.escape(text)}</pre>"
    return f"<details><summary>{title}</summary>{inside}</details>"


def _summary(report: Report) -> list[str]:
    where = f"{short_file(report.file)}:{report.line}"
    if report.whole_seconds is None:
        return [f"{report.name}() runs as {_how(report)}.", where]
    whole = f"{report.name}() runs as one piece of native code, from start to end."
    return [whole, where, "", WHOLE.format(_how(report))]


def _how(report: Report) -> str:
    native = sum(loop.turns > 0 for loop in report.loops)
    left = sum(bool(loop.why_not) for loop in report.loops)
    if not report.graphs and not native:
        return f"plain Python: {report.why_plain}"
    graphs, places = len(report.graphs), len(_by_place(report.told_breaks))
    parts = [(graphs, "graph")] if graphs else []
    parts += [(native, "native loop")] if native else []
    how = " and ".join(count(*part) for part in parts)
    if native:
        between = "between them" if graphs + native > 1 else "around it"
        how += f", with plain Python {between}"
    elif places or left:
        parts = [(places, "place")] if places else []
        parts += [(left, "loop")] if left else []
        how += f", and plain Python at {' and '.join(count(*part) for part in parts)}"
    elif graphs == 1:
        how = "one graph, from start to end"
    return how


def _parts(report: Report) -> list[str]:
    lines = []
    number = 0
    for kept, runs in zip(report.specialisations, report.runs, strict=True):
        if is_idle(kept.graph):
            continue
        number += 1
        inside = "" if kept.code.co_name == report.name else f" in {kept.code.co_name}()"
        size = count(len(wording.work(kept)), "operation")
        where = wording.lines(kept)
        lines += ["", f"Graph {number}{inside}, {where}: {size}, ran {_times_word(runs)}"]
        lines += _labelled("takes", *wording.takes(kept))
        lines += _labelled("does", wording.operations(kept))
        lines += _labelled("where", *wording.expected(kept), wording.both_sides(kept))
        lines += _labelled("then", ", ".join(dict.fromkeys(kept.effects)))
        lines += _labelled("gives", wording.gives(kept))
        lines += _labelled("checks", wording.checks(kept))
    return lines


def _loops(report: Report) -> list[str]:
    lines = []
    for loop in report.loops:
        if not loop.turns and (not loop.why_not or report.whole_seconds is not None):
            continue
        inside = "" if loop.function.split(".")[-1] == report.name else f" of {loop.function}()"
        where = f"Loop, line {loop.line}{inside}"
        text = source_line(loop.file, loop.line)
        lines += ["", *_loop(loop, where, [f"    {text}"] if text else [])]
    return lines


def _whole(report: Report) -> list[str]:
    if not report.why_not_whole:
        return []
    return ["", "From start to end: no native code", f"  because {report.why_not_whole}"]


def _losses(report: Report) -> list[str]:
    """What keeps a function from running faster; native code for whole calls has nothing of it."""
    return [*_breaks(report), *_retraces(report), *_eager_runs(report), *_decisions(report)]


def _loop(loop: LoopRecord, where: str, text: list[str]) -> list[str]:
    if not loop.turns:
        why = f"  because {loop.why_not} [{loop.code}]"
        return [f"{where}: no native code", *text, why, f"  -> {loop.hint}"]
    lines = [f"{where}: native code, {count(loop.turns, 'turn')}", *text]
    if loop.shared:
        lines.append(f"  threads shared {loop.shared:,} of them, as none needs what another does")
    if loop.doubts:
        others = count(loop.doubts, "turn")
        lines.append(
            f"  and plain Python did {others} that may warn, fail, overflow or leave the loop"
        )
    if loop.doubts * MANY > loop.turns:
        lines.append(
            "  -> such a turn costs more than a plain one: do what is rare in it outside the loop"
        )
    return lines


def _is_told_elsewhere(found: Break, loops: Iterable[LoopRecord]) -> bool:
    """Whether a break is but that a loop is no graph, of which the report says how it runs."""
    of_function = [one for one in loops if (one.file, one.function) == (found.file, found.function)]
    if found.code == "loop":
        return bool(of_function)
    return any(found.line == one.line and ITERATION.match(found.reason) for one in of_function)


def _labelled(label: str, *texts: str) -> list[str]:
    return [f"  {'' if i else label:6}  {text}" for i, text in enumerate(filter(None, texts))]


def _times_word(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _by_place(breaks: Iterable[Break]) -> dict[str, list[Break]]:
    """Breaks by file and line, in the order found."""
    places: dict[str, list[Break]] = {}
    for found in breaks:
        places.setdefault(f"{found.file}:{found.line}", []).append(found)
    return places


def _breaks(report: Report) -> list[str]:
    places = _by_place(report.told_breaks)
    if not places:
        return []
    lines = ["", "Where a graph ends, and plain Python goes on:"]
    for found in places.values():
        first = found[0]
        lines += ["", f"  {first.place}"]
        text = source_line(first.file, first.line)
        lines += [f"      {text}"] if text else []
        hints: dict[str, list[str]] = {}
        for one in found:
            hints.setdefault(one.hint, []).append(f"{one.reason} [{one.code}]")
        for hint, because in hints.items():
            lines += [f"  because {', and '.join(because)}", f"  -> {hint}"]
    return lines


def _retraces(report: Report) -> list[str]:
    if not report.retraces:
        return []
    lines = ["", "Traced again, because:"]
    found = Counter((short_file(r.file), r.line, r.guard, r.now) for r in report.retraces)
    for (file, line, guard, now), times in found.items():
        again = f" ({times} times)" if times > 1 else ""
        lines.append(f"  {file}:{line}  {guard}{f'; now {now}' if now else ''}{again}")
    return lines


def _eager_runs(report: Report) -> list[str]:
    if not report.eager_runs:
        return []
    runs = f"{_times_word(report.eager_runs).capitalize()} a graph was not run,"
    return [
        "",
        f"{runs} because an error or a warning that may be raised is plain Python's to give,",
        "or because a library gave something else than the graph expects.",
    ]


def _decisions(report: Report) -> list[str]:
    if not report.decisions:
        return []
    return ["", "Timed while it ran:", *(f"  {found}" for found in report.decisions)]


def _times(report: Report) -> str:
    first, second = (duration(s) for s in report.seconds)
    calls = f"First call {first}, second call {second}, in plain Python {duration(report.plain_seconds)}"
    if report.whole_seconds is not None:
        calls += f", as one piece of native code {duration(report.whole_seconds)}"
    if not report.traces:
        return f"{calls}."
    how = f"{count(report.traces, 'trace')} in {duration(report.trace_seconds)}"
    if report.compile_seconds:
        how += f", {duration(report.compile_seconds)} of it compiling"
    return f"{calls}; {how}.{_losing(report)}"


def _losing(report: Report) -> str:
    """What becomes of a function that is slower compiled."""
    if report.whole_seconds is not None or report.seconds[1] < 1.1 * report.plain_seconds:
        return ""
    return "\nPlain Python was faster here. If it stays so for a few more calls, calls will run as plain Python."
