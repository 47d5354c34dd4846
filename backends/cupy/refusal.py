"""What a step raises where nothing visible has happened yet, and plain Python is to run instead."""

from __future__ import annotations


class DoesNotFit(Exception):  # noqa: N818  plain Python runs instead, and raises what eager raises
    """A number does not fit the type of a loop, an operator or a check fails, or no compiler takes a kernel."""
