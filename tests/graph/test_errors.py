"""What a program's own `np.errstate` says of nodes, through text, passes and the definition of graphs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from ufuse.graph import passes
from ufuse.graph.memory.accesses import Memory
from ufuse.graph.passes.forward import forwarded
from ufuse.graph.passes.unroll import unrolled
from ufuse.graph.semantics import reference
from ufuse.graph.semantics.effects import errors_of
from ufuse.graph.text import parse, to_text

IGNORED = "errors=(('divide', 'ignore'), ('invalid', 'ignore'))"


def test_text_has_it() -> None:
    """A graph that is written and read again says the same of its nodes."""
    text = f"a: f8[n]\nt0 = log a {IGNORED}\nt1 = add t0 1.0\nreturn t1"
    graph = parse(text)
    assert to_text(graph) == text
    found = [errors_of(node) for node in graph.nodes if node.op.name in ("log", "add")]
    assert found == [(("divide", "ignore"), ("invalid", "ignore")), ()]


@pytest.mark.parametrize("replayed", [False, True])
def test_what_is_computed_in_two_states_is_computed_twice(replayed: bool) -> None:
    """Common subexpressions are those of one state."""
    graph = parse(
        f"a: f8[n]; b = log a; c = log a {IGNORED}; d = log a {IGNORED}; e = add b c; f = add e d; return f"
    )
    found = passes.run(graph, check=True, replayed=replayed)
    assert [node.op.name for node in found].count("log") == (2 if replayed else 3)


def test_a_store_that_becomes_a_cast_keeps_it() -> None:
    """The cast in the place of a store warns as the store would."""
    graph = parse(
        "a: f8[3]; b = zeros shape=(3,) dtype=f4 order=(0,); "
        "c = store b a errors=(('over', 'ignore'),); return c"
    )
    found = forwarded(graph, Memory(frozenset()))
    casts = [node for node in found if node.op.name == "cast"]
    assert [errors_of(node) for node in casts] == [(("over", "ignore"),)]


def test_the_chain_of_a_short_sum_keeps_it() -> None:
    """The additions in the place of a sum warn as the sum would."""
    graph = parse("a: f8[n, 3]; b = reduce_add a axis=(1,) errors=(('over', 'ignore'),); return b")
    found = [node for node in unrolled(graph) if node.op.name == "add"]
    assert len(found) == 3
    assert {errors_of(node) for node in found} == {(("over", "ignore"),)}


def test_the_definition_runs_nodes_in_their_state() -> None:
    """Flags that are named are treated as said, the others as the error state around the run has it."""
    graph = parse("a: f8[n]; b = log a errors=(('divide', 'ignore'),); c = log a; return b, c")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reference.run(graph, np.array([0.0, -1.0]))
    texts = [str(one.message).partition(" encountered")[0] for one in caught]
    assert texts == ["invalid value", "divide by zero", "invalid value"]
