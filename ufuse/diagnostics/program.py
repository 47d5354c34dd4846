"""The report of a program that `python -m ufuse run` has run: which of its functions were compiled, and how."""

from __future__ import annotations

from collections import Counter

from ufuse.diagnostics import report, wording
from ufuse.diagnostics.wording import count
from ufuse.frame_hook.code.places import short_file
from ufuse.frame_hook.entries.journal import duration
from ufuse.graph.records import record


@record
class ProgramReport(report.Report):
    """What was captured of the functions that a program has called; `seconds` is how long it ran, twice."""

    def lines(self) -> list[str]:
        """The functions that were compiled, what kept them from more, and then what was captured."""
        functions = self._functions()
        compiled = f"{count(len(functions), 'function')} of it compiled"
        if not functions:
            compiled = "nothing of it compiled"
        return [
            f"{self.name} ran for {duration(self.seconds[0])}, {compiled}.",
            *(["", *functions] if functions else []),
            *report.loop_lines(self, [one for one in self.loops if one.why_not and not one.turns]),
            *report.losses(self),
            *report.loop_lines(self, [one for one in self.loops if one.turns]),
            *report.graph_lines(self),
        ]

    def _functions(self) -> list[str]:
        graphs = Counter(
            (one.code.co_filename, one.code.co_firstlineno, one.code.co_qualname)
            for one, _ in self.told_specialisations
        )
        loops = Counter((one.file, one.function) for one in self.loops if one.turns)
        lines = []
        for (file, line, name), number in graphs.items():
            native = loops.pop((file, name), 0)
            how = [count(number, "graph"), *([count(native, "native loop")] if native else [])]
            lines.append(f"  {name}(), {short_file(file)}:{line}: {' and '.join(how)}")
        for (file, name), native in loops.items():
            lines.append(f"  {name}(), {short_file(file)}: {count(native, 'native loop')}")
        return lines

    def __str__(self) -> str:
        return wording.folded(self.lines(), wording.terminal_width())

    __repr__ = __str__
