"""A step's operations one by one with plain NumPy, for a step that refuses when it is too late for plain Python.

Kernels refuse numbers that NumPy converts with a warning, and memory over which NumPy takes other loops; code over
numbers refuses where a flag shows, and so do NumPy's own calls, which are made to raise then. Before the first write
plain Python then runs instead of the program; afterwards it would repeat what was written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ufuse.backends.numpy.plain import OUT, plain_call, stores_given_out
from ufuse.backends.numpy.report import LoggedCalls, Warner
from ufuse.backends.numpy.withheld import Elements, complete
from ufuse.backends.planning.kernels import KernelPlan
from ufuse.backends.planning.steps import Step
from ufuse.graph.node import Location, Node
from ufuse.graph.ops import Kind


class Fallback:
    """What `_tiles.Program` calls with the number of a step that refused and its arguments: the step's results."""

    def __init__(self, steps: Sequence[Step], warner: Warner, constants: Mapping[int, Any]) -> None:
        self.steps = steps
        self.warner = warner
        self.constants = constants

    def __call__(
        self,
        number: int,
        arguments: tuple[Any, ...],
        results: tuple[Any, ...] = (),
        withheld: tuple[Elements, Mapping[int, Any]] | None = None,
    ) -> tuple[Any, ...]:
        """The results of the step's operations in program order, with NumPy's own bits and warnings.

        Where a kernel has withheld elements, only these are written, to the results that it has; nothing warns.
        """
        step = self.steps[number]
        if withheld is not None:
            assert step.kernel is not None
            return complete(step.kernel, arguments, results, *withheld)
        if step.kernel is not None:
            return self._of_kernel(step.kernel, LoggedCalls(step.errors), arguments)
        return self._of_numbers(step, arguments) if step.numbers else self._of_call(step, arguments)

    def _of_call(self, step: Step, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        assert step.function is not None
        count = len(arguments) - len(step.keywords)
        keywords = dict(zip(step.keywords, arguments[count:], strict=True))
        made = LoggedCalls(step.errors).call(
            self.warner, step.position, step.location, step.function, *arguments[:count], **keywords
        )
        return (made,)

    def _of_numbers(self, step: Step, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        values: dict[Any, Any] = dict(self.constants)
        values.update(zip(step.reads, arguments, strict=True))
        calls = LoggedCalls(step.errors)
        for one in step.numbers:
            given = [values[slot] for slot in one.reads]
            values[one.out] = calls.call(
                self.warner, one.position, one.node.location, one.function, *given
            )
        return tuple(values[slot] for slot in step.outs)

    def _of_kernel(
        self, kernel: KernelPlan, calls: LoggedCalls, arguments: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        values: dict[Node, Any] = {}
        chains: dict[Any, Chain] = {}
        stores = stores_given_out(kernel)
        for node, sources, position in kernel.operations:
            if node in values:
                continue  # a store that its operation has done
            inputs = [values[one] if isinstance(one, Node) else arguments[one] for one in sources]
            warner = self.warner
            if "warns_as" in node.attributes:
                chain = node.attributes["warns_as"]
                warner = chains.setdefault(chain, Chain(chain[0], self.warner))
            function, inputs = plain_call(node, inputs)
            if store := stores.get(node):
                target = arguments[store.inputs[0]]  # type: ignore[index]
                keywords = {"out": target, "casting": OUT}
                calls.call(warner, position, node.location, function, *inputs, **keywords)
                values[node] = values[store.node] = target
                continue
            result = calls.call(warner, position, node.location, function, *inputs)
            values[node] = inputs[0] if node.op.kind is Kind.STORE else result
        return tuple(values[result.node] for result in kernel.results)


class Chain(Warner):
    """Issues the warnings of a chain of operations as those of one operation, each once."""

    def __init__(self, name: str, warner: Warner) -> None:
        super().__init__()
        self.name = name
        self.warner = warner
        self.issued: set[str] = set()

    def warn(self, position: int, message: str, location: Location | None) -> None:
        """Issue a RuntimeWarning that names the chain, or the cast of a number, once."""
        what, _, name = message.rpartition(" encountered in ")
        text = f"{what} encountered in {name if name == 'cast' else self.name}"
        if text not in self.issued:
            self.issued.add(text)
            self.warner.warn(position, text, location)
