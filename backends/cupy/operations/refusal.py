"""What a step raises where nothing visible has happened yet, and plain Python is to run instead."""

from __future__ import annotations


class DoesNotFit(Exception):  # noqa: N818  plain Python runs instead, and raises what eager raises
    """A number does not fit the type of a loop, an operator or a check fails, or no compiler takes a kernel."""

    is_lasting = False  # whether other arrays of the same shapes and strides do not fit either


class NeverFits(DoesNotFit):
    """Arrays such as these are not folded here."""

    is_lasting = True
