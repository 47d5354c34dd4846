"""Index keys, shapes and sizes: constants where they are the same for every size, else computed at run time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import EllipsisType
from typing import Any

from ufuse.graph.size import Division, Expression, Size, Symbol, symbols
from ufuse.graph.types import Span

Index = tuple[Size | Span | EllipsisType | None, ...]


class NotConstant(Exception):  # noqa: N818  an answer, not an error
    """The key depends on sizes."""


def constant_key(index: Index, shape: tuple[Size, ...]) -> Any:
    """The key that selects `index` in every array of the symbolic `shape`.

    Raises:
        NotConstant: there is none.

    """
    entries: list[Any] = []
    lengths = iter(shape)
    for entry in index:
        if entry is None or isinstance(entry, EllipsisType):
            entries.append(entry)
        elif isinstance(entry, Span):
            entries.append(_constant_slice(entry, next(lengths)))
        else:
            entries.append(_constant_place(entry, next(lengths)))
    while len(entries) > 1 and entries[-1] == slice(None) and entries[-1].step is None:
        entries.pop()
    return entries[0] if len(entries) == 1 else tuple(entries)


def _constant_place(place: Size, length: Size) -> int:
    if isinstance(place, int):
        return place
    from_end = place - length
    if isinstance(from_end, int) and from_end < 0:
        return from_end
    raise NotConstant


@lru_cache(maxsize=4096)
def _constant_slice(span: Span, length: Size) -> slice:
    step = None if span.step == 1 else span.step
    start: int | None = _constant_place(span.start, length) if span.start != length else None
    if span.start == length:
        raise NotConstant
    if span.step > 0:
        end: Size = span.start + span.length * span.step
        if span.step == 1:
            return slice(start or None, _constant_end(end, length), None)
        whole = -(
            (span.start - length) // span.step
        )  # as many as there are: ceil((length - start) / step)
        if span.length in (whole, (length - span.start + span.step - 1) // span.step):
            return slice(start or None, None, step)
        return slice(start or None, _constant_end(end, length), step)
    end = span.start + span.length * span.step
    if span.start == length - 1:
        start = None
    if isinstance(end, int) and end < 0:
        return slice(start, None, step)
    return slice(start, _constant_place(end, length), step)


def _constant_end(end: Size, length: Size) -> int | None:
    if end == length:
        return None
    return _constant_place(end, length)


def slice_of(start: int, length: int, step: int) -> slice:
    """The Python slice of a span of known numbers."""
    stop = start + length * step
    return slice(start, stop if stop >= 0 else None, step)


class Sizes:
    """Where symbols get their numbers: a dimension of a value, or a value that is a whole number."""

    def __init__(self) -> None:
        self.sources: dict[str, tuple[Any, int | None]] = {}

    def bind(self, value: Size | None, source: Any, axis: int | None) -> None:
        """Note that `source` (its dimension `axis`) is `value`; only plain symbols bind, and the first source wins."""
        name = _symbol_name(value) if isinstance(value, Expression) else None
        if name is not None:
            self.sources.setdefault(name, (source, axis))

    def needs(self, requests: Iterable[Any]) -> list[Any]:
        """The sources that a function of these requests takes, in order."""
        names = dict.fromkeys(name for request in requests for name in symbols_in(request))
        return list(dict.fromkeys(self.sources[name][0] for name in names))

    def function(self, requests: list[Any]) -> Callable[..., Any]:
        """A function of the sources that gives the requests: one by itself, several as a tuple."""
        arguments = {source: f"a{place}" for place, source in enumerate(self.needs(requests))}
        names = {}
        for name, (source, axis) in self.sources.items():
            if source in arguments:
                names[name] = (
                    arguments[source] if axis is None else f"{arguments[source]}.shape[{axis}]"
                )
        texts = [text_of(request, names) for request in requests]
        body = texts[0] if len(texts) == 1 else f"({', '.join(texts)},)"
        text = f"lambda {', '.join(arguments.values())}: {body}"
        return eval(text, {"span": slice_of})  # type: ignore[no-any-return]  # noqa: S307  our own text


def _symbol_name(value: Expression) -> str | None:
    """The name of the symbol that an expression is; None of any other."""
    monomial, factor = value.terms[0]
    is_one = len(value.terms) == 1 and factor == 1 and len(monomial) == 1
    return monomial[0].name if is_one and isinstance(monomial[0], Symbol) else None


def symbols_in(request: Any) -> list[str]:
    """The symbols in a size, a span, or a tuple of requests."""
    if isinstance(request, tuple):
        return [name for part in request for name in symbols_in(part)]
    if isinstance(request, Span):
        return [*symbols(request.start), *symbols(request.length)]
    return [] if request is None or request is Ellipsis else list(symbols(request))


def text_of(request: Any, names: Mapping[str, str]) -> str:
    """A Python expression for a size, a span (as a slice), or a tuple of requests."""
    if request is None or request is Ellipsis:
        return repr(request)
    if isinstance(request, tuple):
        return f"({''.join(text_of(part, names) + ', ' for part in request)})"
    if isinstance(request, Span):
        return f"span({text_of(request.start, names)}, {text_of(request.length, names)}, {request.step})"
    if isinstance(request, int):
        return repr(operator.index(request))
    terms = []
    for monomial, factor in request.terms:
        words = [repr(factor)] if factor != 1 or not monomial else []
        for atom in monomial:
            if isinstance(atom, Division):
                words.append(
                    f"({text_of(atom.left, names)} {atom.operator} {text_of(atom.right, names)})"
                )
            else:
                words.append(names[atom.name])
        terms.append("*".join(words))
    return f"({' + '.join(terms)})"
