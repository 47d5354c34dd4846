"""The kinds of kernels: what launches one, and its text for people."""

from __future__ import annotations

from ufuse.backends.cupy.launching.folding import BLOCK, RowKernel, TotalKernel
from ufuse.backends.cupy.launching.launch import Kernel
from ufuse.backends.cupy.launching.treeing import TreeKernel
from ufuse.backends.cupy.operations.spread import NEIGHBOURS
from ufuse.backends.cupy.texts.folds import folds_of, group_of, library_folds
from ufuse.backends.cupy.texts.library_totals import library_total_text
from ufuse.backends.cupy.texts.row_folds import RowForm, row_text
from ufuse.backends.cupy.texts.text import Dialect, Form, is_array, kernel_text
from ufuse.backends.cupy.texts.totals import total_text
from ufuse.backends.cupy.texts.trees import TreeForm, tree_text
from ufuse.backends.planning.kernels import KernelPlan


def kernel_class(plan: KernelPlan) -> type[Kernel]:
    """What launches a kernel."""
    if plan.axes is not None:
        return TreeKernel
    if plan.rows:
        return RowKernel
    return TotalKernel if folds_of(plan) else Kernel


def shown_text(plan: KernelPlan, name: str, dialect: Dialect) -> str:
    """The text of a kernel as it is compiled for contiguous arrays."""
    form = Form(0, wide=False)
    if plan.axes is not None:
        return tree_text(plan, name, TreeForm(form, long=False), dialect)
    if plan.rows:
        arrays = [one for place, one in enumerate(plan.operands) if is_array(plan, place)]
        columns = tuple(int(not one.scalar) for one in arrays)
        rows = RowForm(
            32, 8, group_of(plan), whole=False, axes=1, columns=columns, holders=NEIGHBOURS // 2
        )
        return row_text(plan, name, rows, BLOCK // 32, dialect)
    if any(one.axis is not None for one in plan.operands):
        form = Form(2, wide=False)
    write = (
        library_total_text if library_folds(plan)
        else total_text if folds_of(plan) else kernel_text
    )  # fmt: skip
    return write(plan, name, form, dialect)
