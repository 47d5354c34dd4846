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
from ufuse.diagnostics.plain_loops import (
    PLACE,
    decision_of,
    is_inside,
    is_refused,
    plain,
    turns_in_words,
)
from ufuse.diagnostics.wording import count
from ufuse.frame_hook.budget import has_loop
from ufuse.frame_hook.code.places import in_words, short_file, source_line
from ufuse.frame_hook.entries.entry import Specialisation, is_idle
from ufuse.frame_hook.entries.journal import Decision, duration
from ufuse.frame_hook.entries.learned import Retrace
from ufuse.frame_hook.nests.calls.generators import COMPREHENSIONS
from ufuse.frame_hook.nests.entries.records import LoopRecord
from ufuse.frame_hook.trace.reasons import REASONS, Break
from ufuse.graph.records import record
from ufuse.graph.text.nest_drawing import nest_to_svg

NOTHING_CAPTURED = "it has no array operation", "no array operation could be captured"
ONE_GRAPH = "one graph, from start to end"
NO_NEED = "no need to change it"  # how hints begin where nothing is to do
LONG = 1e-3  # seconds of a call that are worth a word
NEARLY = 1.1  # times as fast: less is not worth a word
CLEARLY = 1.5  # times as fast: then native code for whole calls is not missed
TEN = 10
MANY = 20  # turns for each that is left to plain Python, at least: else that is worth a hint
# Of a function that has native code for whole calls alone.
WHOLE = "That is made once its calls have taken some tens of milliseconds; until then: {}."
ITERATION = re.compile(r"(a loop over|iterating over) .* is not captured yet")


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
        places: where each runs, the GPU or the CPU and why; empty texts where there is no choice.
        seconds: how long the first two compiled calls took, in which code was traced and compiled.
        plain_seconds: how long the call in plain Python took that followed.
        later_seconds: how long the fastest of some compiled calls more took; None where they were not needed to know
            that compiled is faster.
        is_measured: whether calls are timed, so that what stays slower compiled runs as plain Python.
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
    places: tuple[str, ...]
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
    later_seconds: float | None = None
    is_measured: bool = True

    @property
    def call_seconds(self) -> float:
        """How long a call takes once all is compiled, as far as that was seen."""
        known = self.whole_seconds if self.whole_seconds is not None else self.later_seconds
        return self.seconds[1] if known is None else known

    @property
    def plain_loops(self) -> list[LoopRecord]:
        """The loops that run as plain Python: graphs for their turns were slower, or nothing was captured in them."""
        kept = [one for one in self.specialisations if not is_idle(one.graph)]
        return plain(
            self.loops,
            self.decisions,
            lambda loop: any(_is_within(one, [loop]) for one in kept),
        )

    def place_of(self, kept: Specialisation) -> str:
        """Where a specialisation runs, in words; "" where there is no choice."""
        place = self.places[self.specialisations.index(kept)]
        return f"on {place}" if place else ""

    @property
    def told_specialisations(self) -> list[tuple[Specialisation, int]]:
        """What was captured, with how often it ran, but for loops that were given back."""
        left = self.plain_loops
        return [
            (kept, runs)
            for kept, runs in zip(self.specialisations, self.runs, strict=True)
            if not is_idle(kept.graph) and not _is_within(kept, left)
        ]

    @property
    def told_breaks(self) -> list[Break]:
        """The breaks besides those that only say, or say once more, that a loop is no graph."""
        known = [loop for loop in self.loops if loop.turns or loop.why_not or loop.inside]
        left = self.plain_loops
        told = [
            one
            for one in self.breaks
            if not _is_told_elsewhere(one, known) and not is_inside(one, left)
        ]
        loops = {(one.file, one.line) for one in told if one.code == "loop"}
        return [
            one
            for one in told
            if (one.file, one.line) not in loops or not ITERATION.match(one.reason)
            if not _is_called_there(one, told)
        ]

    def __str__(self) -> str:
        return wording.folded(self.lines(), wording.terminal_width())

    __repr__ = __str__  # what a Python prompt shows

    def lines(self) -> list[str]:
        """The verdict, what it brings, what could be changed, and then what was captured."""
        native = [one for one in self.loops if one.turns]
        refused = [one for one in self.loops if is_refused(one)]
        is_whole = self.whole_seconds is not None
        return [
            *_summary(self),
            *_times(self),
            *([] if is_whole else [*loop_lines(self, refused), *losses(self)]),
            *_whole(self),
            *loop_lines(self, native),
            *graph_lines(self),
        ]

    def _repr_html_(self) -> str:
        text = html.escape(wording.folded(self.lines(), None))
        parts = [f'<pre style="white-space: pre-wrap">{text}</pre>']
        for number, (one, _) in enumerate(self.told_specialisations, 1):
            graph = Graph(one.graph)
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
            target.write_text(wording.folded(self.lines(), None) + "\n", encoding="utf-8")


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
    return [whole, where, WHOLE.format(_how(report))]


def _is_plain(report: Report) -> bool:
    """Whether nothing was captured, or nothing of it is used any more."""
    native = any(loop.turns for loop in report.loops)
    return not report.told_specialisations and not native and report.whole_seconds is None


def _why_plain(report: Report) -> str:
    loops = sum(map(is_refused, report.loops))
    if not loops or report.why_plain not in ("", *NOTHING_CAPTURED):
        return report.why_plain
    return "its loop has no native code" if loops == 1 else "its loops have no native code"


def _how(report: Report) -> str:
    native = sum(loop.turns > 0 for loop in report.loops)
    left = sum(bool(loop.why_not) for loop in report.loops)
    if _is_plain(report):
        return f"plain Python: {_why_plain(report)}"
    graphs, places = len(report.told_specialisations), len(_by_place(report.told_breaks))
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
        how = ONE_GRAPH
    return how


def graph_lines(report: Report) -> list[str]:
    """What was captured: each graph, what it takes, does and gives."""
    lines = []
    for number, (kept, runs) in enumerate(report.told_specialisations, 1):
        inside = "" if kept.code.co_name == report.name else f" in {kept.code.co_name}()"
        size = count(len(wording.work(kept)), "operation")
        where = wording.lines(kept)
        lines += ["", f"Graph {number}{inside}, {where}: {size}, ran {_times_word(runs)}"]
        lines += _labelled("runs", report.place_of(kept))
        lines += _labelled("takes", *wording.takes(kept))
        lines += _labelled("does", wording.operations(kept))
        lines += _labelled("where", *wording.expected(kept), wording.both_sides(kept))
        lines += _labelled("then", ", ".join(dict.fromkeys(kept.effects)))
        lines += _labelled("gives", wording.gives(kept))
        lines += _labelled("checks", wording.checks(kept))
    return lines


def loop_lines(report: Report, loops: Iterable[LoopRecord]) -> list[str]:
    """How loops run."""
    lines = []
    for loop in loops:
        inside = _inside(report, loop.function)
        where = f"Loop, line {loop.line}{inside}"
        text = source_line(loop.file, loop.line)
        lines += ["", *_loop(loop, where, [f"    {text}"] if text else [])]
        decision = decision_of(loop, report.decisions)
        lines += [] if decision is None else [f"  {turns_in_words(decision)}"]
    return lines


def _inside(report: Report, function: str) -> str:
    """` of step()`, where that is another function than that of the report; comprehensions are of the one around."""
    names = [one for one in function.split(".") if one not in ("<locals>", *COMPREHENSIONS)]
    return "" if names[-1:] == [report.name] else f" of {'.'.join(names)}()"


def _is_within(kept: Specialisation, loops: Iterable[LoopRecord]) -> bool:
    first, last = wording.line_range(kept)
    own = [one for one in loops if (one.file, one.function) == _function(kept)]
    return any(one.line <= first and last <= one.last_line for one in own)


def _function(kept: Specialisation) -> tuple[str, str]:
    return kept.code.co_filename, kept.code.co_qualname


def _whole(report: Report) -> list[str]:
    needs_none = _how(report) == ONE_GRAPH and not any(map(_has_turns, report.codes))
    told = [one.why_not for one in report.loops if is_refused(one)]
    is_fast = any(one.turns for one in report.loops) and (
        report.plain_seconds > CLEARLY * report.call_seconds
    )
    if not report.why_not_whole or needs_none or is_fast or report.why_not_whole in told:
        return []
    return ["", "Whole calls: no native code", f"  because {report.why_not_whole}"]


def _has_turns(code: CodeType) -> bool:
    """Whether code has loops of its own, or comprehensions, which up to Python 3.11 are code apart."""
    nested = [one.co_name for one in code.co_consts if isinstance(one, CodeType)]
    return has_loop(code) or not set(COMPREHENSIONS).isdisjoint(nested)


def losses(report: Report) -> list[str]:
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


def _is_called_there(found: Break, others: Iterable[Break]) -> bool:
    """Whether a break is but the look-up of a method, whose call is told at the same place."""
    if found.code not in ("attribute", "numpy-call"):
        return False
    name = found.reason.removeprefix("the attribute ").split()[0].rpartition(".")[2]
    return any(
        one.code == "call"
        and (one.file, one.line) == (found.file, found.line)
        and one.reason.split()[0].endswith(f".{name}")
        for one in others
    )


def _labelled(label: str, *texts: str) -> list[str]:
    return [f"  {'' if i else label:6}  {text}" for i, text in enumerate(filter(None, texts))]


def _times_word(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _by_place(breaks: Iterable[Break]) -> dict[str, list[Break]]:
    """Breaks by file and line, in the order found; those within a library by the line that calls it."""
    places: dict[str, list[Break]] = {}
    for found in breaks:
        is_inside = found.called_from and short_file(found.file) != found.file
        place = found.called_from if is_inside else found.place
        places.setdefault(place, []).append(found)
    return places


def _breaks(report: Report) -> list[str]:
    places = _by_place(report.told_breaks)
    left = {place: found for place, found in places.items() if _needs_nothing(found)}
    lines = []
    if len(left) < len(places):
        lines = ["", "Where a graph ends, and plain Python goes on:"]
    for place, found in places.items():
        if place in left:
            continue
        lines += ["", f"  {place}"]
        text = _source_at(place, found[0])
        lines += [f"      {text}"] if text else []
        hints: dict[str, list[Break]] = {}
        for one in found:
            hints.setdefault(one.hint, []).append(one)
        for hint, alike in hints.items():
            lines += [f"  because {text}" for text in _because(place, alike)] + [f"  -> {hint}"]
    if not left:
        return lines
    too = ", too" if lines else ""
    lines += ["", f"Where a graph ends{too}, and nothing has to be changed:"]
    for place, found in left.items():
        text = _source_at(place, found[0])
        lines += [f"  {place}", *([f"      {text}"] if text else [])]
        lines += [f"  because {text}" for text in _because(place, found)]
    return lines


def _needs_nothing(found: Iterable[Break]) -> bool:
    """Whether nobody has to do anything about these breaks."""
    return all(one.hint.startswith(NO_NEED) for one in found)


def _source_at(place: str, first: Break) -> str:
    """The source at a place: where a graph ends, or where the library is called in which it does."""
    if place == first.place:
        return source_line(first.file, first.line)
    at = PLACE.match(place)
    return source_line(at["file"], int(at["line"])) if at else ""


def _because(place: str, alike: list[Break]) -> list[str]:
    """The reasons at a place; those of one kind are told together: `a and b cannot be part of a graph`."""
    kinds: dict[str, dict[str, list[str]]] = {}
    for one in alike:
        inside = "" if place == one.place else f"{short_file(one.file)}:{one.line}"
        kinds.setdefault(one.code, {}).setdefault(one.reason, []).append(inside)
    return [
        f"{_joined(code, [_with_lines(reason, *at) for reason, at in reasons.items()])} [{code}]"
        for code, reasons in kinds.items()
    ]


def _with_lines(reason: str, *at: str) -> tuple[str, str]:
    lines = ", ".join(dict.fromkeys(filter(None, at)))
    return reason, f" ({lines})" if lines else ""


def _joined(code: str, reasons: list[tuple[str, str]]) -> str:
    """Reasons of one kind as a sentence."""
    before, _, behind = REASONS[code][0].partition("{what}")
    fit = all(text.startswith(before) and text.endswith(behind) for text, _ in reasons)
    if len(reasons) == 1 or not behind or not fit:
        return ", and ".join(f"{text}{at}" for text, at in reasons)
    names = [f"{text[len(before) : len(text) - len(behind)]}{at}" for text, at in reasons]
    several = f" are{behind[3:]}" if behind.startswith(" is ") else behind
    return f"{before}{', '.join(names[:-1])} and {names[-1]}{several}"


def _retraces(report: Report) -> list[str]:
    left = report.plain_loops
    told = [one for one in report.retraces if not is_inside(one, left)]
    if not told:
        return []
    lines = ["", "Traced again, because:"]
    found = Counter((short_file(r.file), r.line, r.guard, r.now) for r in told)
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
    loops = [one for one in report.loops if is_refused(one)]
    own = [one for one in report.decisions if short_file(one.file) == one.file]  # no library's
    told = [one for one in own if not (one.line and is_inside(one, loops))]
    return ["", "Timed while it ran:", *(f"  {found}" for found in told)] if told else []


def _times(report: Report) -> list[str]:
    """What a call takes, compiled and plain, what the first ones took, and whether anything is to do."""
    call, plain = report.call_seconds, report.plain_seconds
    how = " as one piece of native code" if report.whole_seconds is not None else ""
    if _is_plain(report):
        lines = [f"A call takes {duration(min(call, plain))}."]
    else:
        compared = f"in plain Python {duration(plain)}{_ratio(report)}"
        lines = [f"A call takes {duration(call)}{how}, {compared}."]
    first, second = report.seconds
    took, where = f"The first call took {duration(first)}", "it"
    if second > max(2 * call, LONG):
        took, where = f"{took}, the second {duration(second)}", "them"
    if report.traces or report.compile_seconds:
        took += f": the code was read and compiled in {where}"
    return [*lines, f"{took}.", *_advice(report)]


def _ratio(report: Report) -> str:
    ratio = report.plain_seconds / max(report.call_seconds, 1e-9)
    if 1 / NEARLY < ratio < NEARLY:
        return ""
    if ratio > 1:
        return f": {ratio:.{1 if ratio < TEN else 0}f} times as fast"
    later = "; if it stays so, later calls will run as plain Python" if report.is_measured else ""
    return f", which is faster here{later}"


def _advice(report: Report) -> list[str]:
    """Whether anything needs to be changed, where something is not captured."""
    if report.whole_seconds is not None:
        return []
    hints = [one.hint for one in report.told_breaks]
    hints += [one.hint for one in report.loops if is_refused(one)]
    if not hints:
        return []
    if all(hint.startswith(NO_NEED) for hint in hints):
        return ["Nothing has to be changed."]
    return ["What could be changed to make it faster is marked with ->."]
