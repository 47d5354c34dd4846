"""NumPy's own Python functions, with small arrays."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import numpy as np

from tests.whole.corpus.arrays import numbers
from tests.whole.corpus.case import Corpus

CORPUS = Corpus()
add = CORPUS.add
SQUARE = numbers(3, 3) + 4 * np.eye(3)
SYMMETRIC = SQUARE + SQUARE.T

add(np.linalg.inv, SQUARE)
add(np.linalg.inv, np.zeros((2, 2)))
add(np.linalg.solve, SQUARE, numbers(3))
add(np.linalg.det, SQUARE)
add(np.linalg.slogdet, SQUARE)
add(np.linalg.eigh, SYMMETRIC)
add(np.linalg.eigvals, SYMMETRIC)
add(np.linalg.svd, numbers(3, 2), full_matrices=False)
add(np.linalg.qr, numbers(3, 2))
add(np.linalg.cholesky, SYMMETRIC @ SYMMETRIC)
add(np.linalg.lstsq, numbers(4, 2), numbers(4, seed=1))
add(np.linalg.pinv, numbers(3, 2))
add(np.linalg.matrix_power, SQUARE, 3)
add(np.linalg.matrix_rank, SQUARE)
add(np.linalg.multi_dot, [numbers(2, 3), numbers(3, 4), numbers(4, 2)])
add(np.linalg.cond, SQUARE)
for _order in (None, 1, 2, np.inf, "fro", "nuc"):
    add(np.linalg.norm, SQUARE, _order)
add(np.linalg.norm, numbers(4), 3)
add(np.linalg.norm, numbers(2, 3), axis=1, keepdims=True)
add(np.linalg.tensorinv, np.eye(6).reshape(6, 2, 3), ind=1)

add(np.average, numbers(4), weights=np.array([1.0, 2.0, 3.0, 4.0]))
add(np.average, numbers(3, 2), axis=0, weights=np.array([1.0, 2.0, 3.0]), returned=True)
add(np.median, numbers(3, 4), axis=1)
add(np.percentile, numbers(7), [25, 50, 90])
add(np.quantile, numbers(7), 0.3, method="nearest")
add(np.var, numbers(4, 3), axis=0, ddof=1)
add(np.std, numbers(4, 3), keepdims=True)
add(np.nanmean, np.array([1.0, np.nan, 3.0]))
add(np.nanmax, np.array([[1.0, np.nan], [np.nan, np.nan]]), axis=1)
add(np.nanstd, np.array([1.0, np.nan, 3.0]))
add(np.cov, numbers(3, 5))
add(np.corrcoef, numbers(2, 5))
add(np.histogram, numbers(20), bins=4)
add(np.histogram, numbers(20), bins="auto")
add(np.histogram2d, numbers(9), numbers(9, seed=1), bins=3)
add(np.gradient, numbers(6), 0.5)
add(np.diff, numbers(6), n=2)
add(np.ediff1d, numbers(4), to_end=9.0)
add(np.trapezoid, numbers(5), dx=0.1)
add(np.interp, np.array([0.5, 1.5]), np.arange(3.0), numbers(3))
add(np.unwrap, np.array([0.0, 3.0, 7.0, 9.0]))
add(np.cross, numbers(2, 3), numbers(2, 3, seed=1))
add(np.kron, numbers(2, 2), numbers(2))
add(np.outer, numbers(2), numbers(3))
add(np.tensordot, numbers(2, 3), numbers(3, 2), axes=1)
add(np.einsum, "ij,jk->ik", numbers(2, 3), numbers(3, 2))
add(np.einsum_path, "ij,jk,kl->il", numbers(2, 3), numbers(3, 2), numbers(2, 2))
add(np.roll, numbers(3, 4), (1, -1), axis=(0, 1))
add(np.rot90, numbers(2, 3))
add(np.flip, numbers(2, 3), axis=0)
add(np.tile, numbers(2), (2, 2))
add(np.pad, numbers(2, 2), 1, mode="reflect")
add(np.pad, numbers(3), (1, 2), constant_values=7)
add(np.stack, [numbers(2), numbers(2, seed=1)], axis=1)
add(np.vstack, [numbers(2), numbers(2, seed=1)])
add(np.hstack, [numbers(2), numbers(3)])
add(np.block, [[numbers(2, 2), numbers(2, 1)], [numbers(1, 3)]])
add(np.array_split, numbers(7), 3)
add(np.split, numbers(7), 3)
add(np.moveaxis, numbers(2, 3, 4), 0, -1)
add(np.expand_dims, numbers(3), (0, 2))
add(np.atleast_2d, numbers(3))
add(np.apply_along_axis, np.sum, 1, numbers(2, 3))
add(np.insert, numbers(4), [1, 3], 9.0)
add(np.delete, numbers(4), [1, 2])
add(np.append, numbers(3), [1.0])
add(np.unique, np.array([3, 1, 1, 2]), return_counts=True)
add(np.unique, np.array([[1, 2], [1, 2], [0, 1]]), axis=0)
add(np.intersect1d, np.array([1, 2, 3]), np.array([2, 3, 4]))
add(np.setdiff1d, np.array([1, 2, 3]), np.array([2]))
add(np.isin, np.arange(5), [1, 4])
add(np.union1d, np.array([1, 5]), np.array([2]))
add(np.array_equal, numbers(3), numbers(3))
add(np.allclose, numbers(3), numbers(3) + 1e-9)
add(np.isclose, numbers(3), np.array([np.nan, 0, 1]), equal_nan=True)
add(np.meshgrid, numbers(2), numbers(3), indexing="ij")
add(np.linspace, 0, 1, 5, endpoint=False, retstep=True)
add(np.geomspace, 1, 16, 5)
add(np.logspace, 0, 2, 3)
add(np.tri, 3, 4, -1)
add(np.triu_indices, 3, 1)
add(np.vander, numbers(3), 3)
add(np.diagflat, numbers(2))
add(np.fill_diagonal, numbers(3, 3), 5.0)
add(np.ix_, np.array([0, 2]), np.array([True, False, True]))
add(np.polyfit, np.arange(5.0), numbers(5), 2)
add(np.polyval, [1.0, 2.0, 3.0], numbers(3))
add(np.roots, [1.0, -3.0, 2.0])
add(np.polynomial.polynomial.polyfromroots, [1.0, 2.0])
add(np.polynomial.chebyshev.chebfit, np.arange(5.0), numbers(5), 2)
add(np.polynomial.legendre.legval, 0.5, numbers(3))
add(np.lib.stride_tricks.sliding_window_view, numbers(5), 3)
add(np.broadcast_shapes, (3, 1), (1, 4))
add(np.take_along_axis, numbers(2, 3), np.array([[0], [2]]), axis=1)
add(np.nan_to_num, np.array([np.nan, np.inf, 1.0]))
add(np.select, [numbers(3) > 0, numbers(3) < -1], [numbers(3), 5.0], 7.0)
add(np.piecewise, numbers(4), [numbers(4) > 0], [lambda v: v * 2, 0.0])
add(np.digitize, numbers(4), np.array([-1.0, 0.0, 1.0]))
add(np.trim_zeros, np.array([0, 0, 1, 2, 0]))
add(np.array2string, numbers(3), precision=3)
add(np.array_repr, numbers(2, 2))
add(np.testing.assert_allclose, numbers(2), numbers(2) + 1)
add(np.hanning, 5)
add(np.kaiser, 5, 2.0)
add(np.sinc, numbers(3))
add(np.i0, numbers(3))
add(np.fft.fftshift, numbers(5))
add(np.fft.rfftfreq, 6)
add(np.fft.fft, numbers(6))


@CORPUS.case(numbers(5))
def masked_arrays(x):
    m = np.ma.masked_less(x, 0)
    return m.mean(), m.filled(9), (m + 1).count(), m.mask


@CORPUS.case([1.0, -3.0, 2.0])
def polynomials(coefficients):
    p = np.polynomial.Polynomial(coefficients)
    return (p * p - 1).coef, p(2.0), p.deriv().coef, p.roots(), str(p)


@CORPUS.case(numbers(3))
def vectorised(x):
    @np.vectorize
    def relu(v, slope=0.1):
        return v if v > 0 else v * slope

    return (
        relu(x),
        relu(x, slope=0.5),
        np.fromfunction(lambda i, j: i + j, (2, 2)),
        np.frompyfunc(lambda a, b: a, 2, 1)(x, 0),
    )
