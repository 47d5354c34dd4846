"""Integer expressions over sizes and other whole numbers that are known only when a program runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, Union

from ufuse.graph.records import record

Size = Union[int, "Expression"]


class Symbol(NamedTuple):
    """A whole number bound when the program is called: a dimension of an input, or an input itself."""

    name: str

    def __str__(self) -> str:
        return self.name


@record
class Division:
    """The floor quotient (`//`) or remainder (`%`) of two sizes, by Python's rules."""

    operator: str
    left: Size
    right: Size

    def __str__(self) -> str:
        right = _operand(self.right, is_right=True)
        return f"({_operand(self.left)} {self.operator} {right})"


Atom = Symbol | Division
Monomial = tuple[Atom, ...]


@record
class Expression:
    """A polynomial over atoms, in one canonical form: equal expressions compare equal.

    `terms` maps products of atoms to their integer factors, sorted by text; no factor is zero, and the
    expression is never a constant (a constant is a plain `int`).
    """

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Size) -> Size:
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Size) -> Size:
        if isinstance(other, int):
            return _shifted(self, -other)
        return 0 if self == other else add(self, multiply(other, -1))

    def __rsub__(self, other: Size) -> Size:
        return add(other, multiply(self, -1))

    def __mul__(self, other: Size) -> Size:
        return multiply(self, other)

    __rmul__ = __mul__

    def __neg__(self) -> Size:
        return multiply(self, -1)

    def __floordiv__(self, other: Size) -> Size:
        return divide("//", self, other)

    def __rfloordiv__(self, other: Size) -> Size:
        return divide("//", other, self)

    def __mod__(self, other: Size) -> Size:
        return divide("%", self, other)

    def __rmod__(self, other: Size) -> Size:
        return divide("%", other, self)

    def __str__(self) -> str:
        text = ""
        for monomial, factor in self.terms:
            sign = "-" if factor < 0 else "+" if text else ""
            words = [str(atom) for atom in monomial]
            if abs(factor) != 1 or not words:
                words.insert(0, str(abs(factor)))
            text += sign + "*".join(words)
        return text


@lru_cache(maxsize=1024)
def symbol(name: str) -> Expression:
    """The expression that is one symbol; mostly one object, so that shapes are compared at once."""
    return Expression((((Symbol(name),), 1),))


def _operand(value: Size, *, is_right: bool = False) -> str:
    """The text of one side of a division: in brackets where it is a sum, or on the right a product."""
    if isinstance(value, int):
        return str(value)
    (monomial, factor), *more = value.terms
    is_product = len(monomial) > 1 or abs(factor) != 1
    return f"({value})" if more or (is_right and is_product) else str(value)


def _terms(value: Size) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(value, Expression):
        return value.terms
    return (((), int(value)),)


def _key(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    return (-len(monomial), tuple(str(atom) for atom in monomial))


def _canonical(pairs: Iterable[tuple[Monomial, int]]) -> Size:
    total: dict[Monomial, int] = {}
    for monomial, factor in pairs:
        total[monomial] = total.get(monomial, 0) + factor
    kept = {m: f for m, f in total.items() if f}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Expression(tuple((m, kept[m]) for m in sorted(kept, key=_key)))


def add(left: Size, right: Size) -> Size:
    """The sum."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, Expression) and isinstance(right, int):
        return _shifted(left, right)
    if isinstance(left, int) and isinstance(right, Expression):
        return _shifted(right, left)
    return _canonical((*_terms(left), *_terms(right)))


def _shifted(value: Expression, by: int) -> Expression:
    """The sum with a number, which stands last among the terms."""
    *rest, (monomial, factor) = value.terms
    if monomial:
        return Expression((*value.terms, ((), int(by)))) if by else value
    return Expression((*rest, ((), factor + by)) if factor + by else tuple(rest))


def _scaled(value: Expression, by: int) -> Size:
    """The product with a number."""
    return Expression(tuple([(m, f * by) for m, f in value.terms])) if by else 0


def multiply(left: Size, right: Size) -> Size:
    """The product."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if isinstance(left, Expression) and isinstance(right, int):
        return _scaled(left, right)
    if isinstance(left, int) and isinstance(right, Expression):
        return _scaled(right, left)
    return _canonical(
        (tuple(sorted((*m, *n), key=str)), f * g) for m, f in _terms(left) for n, g in _terms(right)
    )


def divide(operator: str, left: Size, right: Size) -> Size:
    """The floor quotient or remainder; exact where every factor divides.

    Raises:
        ZeroDivisionError: the divisor is the constant 0.

    """
    if isinstance(right, int) and right == 0:
        raise ZeroDivisionError("a size is divided by zero")
    if isinstance(left, int) and isinstance(right, int):
        return left // right if operator == "//" else left % right
    if right == 1:
        return left if operator == "//" else 0
    if isinstance(right, int) and all(factor % right == 0 for _, factor in _terms(left)):
        if operator == "%":
            return 0
        return _canonical((m, factor // right) for m, factor in _terms(left))
    if left == right:
        return 1 if operator == "//" else 0
    return Expression((((Division(operator, left, right),), 1),))


def evaluate(value: Size, bindings: Mapping[str, int]) -> int:
    """The number that `value` stands for.

    Raises:
        KeyError: a symbol has no binding.

    """
    if isinstance(value, int):
        return value
    total = 0
    for monomial, factor in value.terms:
        for atom in monomial:
            factor *= _evaluate_atom(atom, bindings)  # noqa: PLW2901  the running product
        total += factor
    return total


def _evaluate_atom(atom: Atom, bindings: Mapping[str, int]) -> int:
    if isinstance(atom, Symbol):
        return bindings[atom.name]
    left, right = evaluate(atom.left, bindings), evaluate(atom.right, bindings)
    return left // right if atom.operator == "//" else left % right


def depth(value: Size) -> int:
    """How many numbers are held at once while an expression is computed, from left to right and factors last."""
    if isinstance(value, int):
        return 1
    return max(
        (position > 0) + _depth_of_product(monomial, factor)
        for position, (monomial, factor) in enumerate(value.terms)
    )


def _depth_of_product(monomial: Monomial, factor: int) -> int:
    atoms = [(position > 0) + _depth_of_atom(atom) for position, atom in enumerate(monomial)]
    return max([*atoms, 1 if factor == 1 or not monomial else 2])


def _depth_of_atom(atom: Atom) -> int:
    return 1 if isinstance(atom, Symbol) else max(depth(atom.left), 1 + depth(atom.right))


def nesting(value: Size) -> int:
    """How many quotients and remainders lie within one another."""
    if isinstance(value, int):
        return 0
    atoms = (atom for monomial, _ in value.terms for atom in monomial)
    return max(
        (
            0 if isinstance(atom, Symbol) else 1 + max(nesting(atom.left), nesting(atom.right))
            for atom in atoms
        ),
        default=0,
    )


def weight(value: Size) -> int:
    """How much there is to compute: the terms and atoms of an expression, counted as often as they occur."""
    if isinstance(value, int):
        return 1
    return sum(1 + sum(map(_weight_of_atom, monomial)) for monomial, _ in value.terms)


def _weight_of_atom(atom: Atom) -> int:
    return 1 if isinstance(atom, Symbol) else weight(atom.left) + weight(atom.right)


def symbols(value: Size) -> Iterator[str]:
    """Every symbol's name in `value`, with repeats."""
    if isinstance(value, int):
        return
    for monomial, _ in value.terms:
        for atom in monomial:
            if isinstance(atom, Symbol):
                yield atom.name
            else:
                yield from symbols(atom.left)
                yield from symbols(atom.right)


def rises_with(value: Size, name: str) -> bool:
    """Whether a larger number of this name never makes `value` smaller, where no symbol is below zero."""
    if isinstance(value, int):
        return True
    return all(
        factor > 0 or name not in symbols(Expression(((monomial, factor),)))
        for monomial, factor in value.terms
    ) and all(
        isinstance(atom, Symbol) or name not in {*symbols(atom.left), *symbols(atom.right)}
        for monomial, _ in value.terms
        for atom in monomial
    )


def substitute(value: Size, replacement: Callable[[str], Size]) -> Size:
    """`value` with every symbol replaced."""
    if isinstance(value, int):
        return value
    total: Size = 0
    for monomial, factor in value.terms:
        product: Size = factor
        for atom in monomial:
            if isinstance(atom, Symbol):
                product = multiply(product, replacement(atom.name))
            else:
                left = substitute(atom.left, replacement)
                right = substitute(atom.right, replacement)
                product = multiply(product, divide(atom.operator, left, right))
        total = add(total, product)
    return total
