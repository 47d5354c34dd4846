"""Which functions are traced when plain Python calls them."""

from __future__ import annotations

import sys
import types

import pytest

from ufuse.libraries import should_trace

PACKAGES = "/somewhere/site-packages"


@pytest.mark.parametrize(
    ("file", "is_traced"),
    [
        ("cupy/_core/core.py", False),
        ("cupy/__init__.py", False),
        ("cupyx/scipy/sparse/linalg/_iterative.py", True),
        ("scipy/optimize/_optimize.py", True),
        ("mine/cupy/code.py", True),
    ],
)
def test_cupys_own_functions_are_not(
    file: str, is_traced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of packages that use it are."""
    module = types.ModuleType("cupy")
    module.__file__ = f"{PACKAGES}/cupy/__init__.py"
    monkeypatch.setitem(sys.modules, "cupy", module)
    code = compile("0", f"{PACKAGES}/{file}", "exec")
    assert should_trace(code) is is_traced
    monkeypatch.delitem(sys.modules, "cupy")
    assert should_trace(code)


def test_pythons_and_ours_are_not() -> None:
    """A function of the standard library, of NumPy and of this package; the program's own are."""
    import statistics  # noqa: PLC0415

    import numpy as np  # noqa: PLC0415

    import ufuse  # noqa: PLC0415

    for function in (statistics.mean, np.kron._implementation, ufuse.compile, should_trace):
        assert not should_trace(function.__code__)
    assert should_trace(test_pythons_and_ours_are_not.__code__)
