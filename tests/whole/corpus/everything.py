"""The whole corpus in one list."""

from __future__ import annotations

from tests.programs.arrays import PROGRAMS
from tests.whole.corpus import arrays, effects, library, library_more, numpy_code, objects
from tests.whole.corpus.case import Case, Corpus
from tests.support.frames import frame_cases


def of_programs() -> list[Case]:
    """The programs of the fidelity tests, and the functions of the resume tests."""
    found = Corpus()
    for program in PROGRAMS.rows:
        found.add(program.function, *program.make_args())
    for function, args, kwargs in frame_cases.CASES:
        found.add(function, *args, **kwargs)
    return found.cases


CASES: list[Case] = [
    *arrays.CORPUS.cases,
    *objects.CORPUS.cases,
    *effects.CORPUS.cases,
    *numpy_code.CORPUS.cases,
    *library.CORPUS.cases,
    *library_more.CORPUS.cases,
    *of_programs(),
]
