"""NumPy's test modules as a suite."""

from __future__ import annotations

from pathlib import Path

from tests.support.comparing.suites import Suite

SUITE = Suite(Path(__file__).resolve().parent, "compiled")
# `_core.einsum` is numpy._core.tests.test_einsum.
FOLDERS = {
    "_core": "array_coercion arraymethod arrayobject arrayprint casting_floatingpoint_errors casting_unittests "
    "conversion_utils custom_dtypes datetime dlpack dtype einsum errstate function_base getlimits half indexing "
    "item_selection longdouble mem_overlap memmap multiarray nditer nep50_promotions numeric numerictypes overrides "
    "print protocols records regression scalar_ctors scalar_methods scalarbuffer scalarinherit scalarmath shape_base "
    "strings ufunc umath umath_complex unicode",
    "lib": "arraypad arraysetops arrayterator function_base histograms index_tricks nanfunctions polynomial "
    "recfunctions shape_base stride_tricks twodim_base type_check ufunclike",
    "ma": "arrayobject core extras mrecords old_ma regression subclassing",
    "linalg": "linalg regression",
    "fft": "helper pocketfft",
    "matrixlib": "defmatrix interaction masked_matrix matrix_linalg multiarray numeric",
    "polynomial": "chebyshev classes hermite hermite_e laguerre legendre polynomial polyutils printing symbol",
    "random": "generator_mt19937 random randomstate regression",
}
MODULES = tuple(f"{folder}.{name}" for folder, names in FOLDERS.items() for name in names.split())
