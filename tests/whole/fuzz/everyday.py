"""Expressions and statements of everyday NumPy, for the programs of `generate.py`.

Places and lengths that are computed, missing values, masks beside other keys, and functions that are Python code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.whole.fuzz.generate import Growth

FUNCTIONS = "nanmean nanstd nanvar nanmax nanmin nanmedian nansum nanargmax nancumsum".split()


def place(growth: Growth) -> str:
    """A whole number that is computed from an array."""
    x = growth.array()
    return growth.pick(
        f"np.argmax({x})", f"{x}.argmin()", f"int(np.argmax({x}))", f"int(np.count_nonzero({x}))", f"np.argmax({x}) - 1",
        f"int(0.8 * len({x}))", f"-int(np.argmin({x}))", "np.searchsorted(np.arange(4.0), 1.5)", f"len({x}[{x} > 0])",
        f"np.count_nonzero({x} > 0)", f"int(len({x}) / 2)", f"np.argmax({x}) + 9",
    )  # fmt: skip


def mask(growth: Growth) -> str:
    """What picks some elements of an array, or rows."""
    x, y = growth.array(), growth.array()
    return growth.pick(
        f"{x} > 0", f"np.isfinite({x})", f"{x} == {y}", f"~({x} > 1)", f"{x}[:, 0] > 0", f"{x} > 99"
    )


def key(growth: Growth) -> str:
    """A key with something in it that is computed."""
    i, j, m = place(growth), place(growth), mask(growth)
    return growth.pick(
        f"{i}:", f":{i}", f"{i}:{j}", i, f":, {i}", f"{i}, 1:", f"1:, :{i}", f"..., {i}", f"{m}, 0", f":, {m}", f"0, {m}", f"[0, {i}]",
        "[0, -1], 1:", "1:, [0, 0]", f"np.argsort({growth.array()}), ::2", f"{i}, {j}", f"-1, {i}", f"{i}::1", f"{m}, ...",
        f"np.flatnonzero({m}), {i}",
    )  # fmt: skip


def axis(growth: Growth) -> str:
    """Keywords of a statistic."""
    return growth.pick("", "", ", axis=0", ", axis=-1", ", axis=1, keepdims=True")


def everyday(growth: Growth) -> str:
    """An expression."""
    x, y, m, i = growth.array(), growth.array(), mask(growth), place(growth)
    return growth.pick(
        f"{x}[{key(growth)}]", f"{x}[{key(growth)}]", f"{x}[{key(growth)}] * 2", f"np.exp({x}[{key(growth)}])", f"{x}[{key(growth)}].sum()",
        f"{x}[{i}:].sum(axis=0)", f"len({x}[{i}:])", f"{x}[{i}:].shape", f"np.zeros({i})", f"np.ones(({i}, 2))", f"np.arange({i})", f"np.full({i}, 0.5) + 1",
        f"{x}[{m}] + {y}[{m}]", f"{x}[{m}] - {x}[{mask(growth)}]", f"np.bincount(np.abs({x}).astype(int) % 5) * np.arange(5)",
        f"np.bincount(np.abs({x}).astype(int) % 4, minlength=4).reshape(2, 2)", f"{x}[{m}].var(ddof=1)", f"len({x}[{m}]) - 1",
        f"np.{growth.rng.choice(FUNCTIONS)}({x}{axis(growth)})", f"np.{growth.rng.choice(FUNCTIONS)}({x})",
        f"np.nanpercentile({x}, 30)", f"np.isclose({x}, {y})", f"np.isclose({x}, 1.0, equal_nan=True)", f"np.allclose({x}, {x})",
        f"np.nan_to_num({x}, nan=1.5)", f"np.average({x}, weights=np.abs({x}) + 1)", f"np.average({x}{axis(growth)}, weights={y})", f"np.cov({x})", f"np.corrcoef({x}, {y})",
        f"np.roll({x}, {growth.rng.choice((1, -1, 2))}, axis={growth.rng.choice((0, -1, 'None'))})", f"np.polyfit({x}, {y}, 1)", f"np.vander({x}, 3)",
        f"np.lib.stride_tricks.sliding_window_view({x}, 2)", f"np.lib.stride_tricks.sliding_window_view({x}, 2).mean(axis=-1)",
        f"np.lib.stride_tricks.sliding_window_view({x}, 3, axis=0).max(axis=-1)", f"np.histogram({x}, [0.0, 1.0, 2.5])", f"np.gradient({x}, np.arange(len({x})))",
        f"np.concatenate(([0], {x}, [1.5]))", f"np.append({x}, [1, 2])", f"np.vstack([{x}, [1.0, 2.0, 3.0]])", f"np.dot({x}, [1, 2, 3])", f"np.average({x}, axis=0, weights=[1, 2, 3])",
        f"divmod({x}, {y})", f"np.frexp({x})", f"np.modf({x})", f"np.divmod({x}, 2)", f"np.c_[{x}, {y}]", f"np.r_[0, {x}, 1]", f"np.block([{x}, {y}])", f"np.array({x}, ndmin=2)",
        f"np.repeat({x}, np.arange(len({x})))", f"np.tril_indices(len({x}))", f"{x}[np.triu_indices(2)]", f"np.mgrid[0:len({x}), 0:2]", f"np.meshgrid({x}, {y}, sparse=True)",
        f"np.einsum('ij->j', {x})", f"np.einsum('...i,i->...', {x}, {y})", f"np.add.reduceat({x}, [0, 1])", f"np.logaddexp.reduce({x})", f"{x}.flat[1:4]", f"{x}.flat[-1]",
        f"np.sum({x}, where={m})", f"np.divide({x}, {y}, out=np.zeros_like({x}), where={y} != 0)", f"np.sqrt({x}, out=np.ones_like({x}), where={x} > 0)", f"{x}.max().item()",
        f"{x}.item(0)", f"np.diff({x}, prepend=0)", f"np.packbits({x} > 0)", f"np.unique({x}, axis=0)", f"np.setxor1d({x}, {y})", f"np.linalg.cond({x})", f"np.linalg.matrix_rank({x})",
        f"np.linalg.multi_dot([{x}, {x}.T, {x}])", f"math.ceil(len({x}) / 2)", f"{x}[: len({x}) // 2 * 2].reshape(len({x}) // 2, 2, -1)", f"np.maximum.accumulate({x}, out={x}.copy())",
        f"np.broadcast_to({x}[0], {x}.shape) * {y}", f"np.broadcast_to({x}, (2, *{x}.shape))", f"np.broadcast_arrays({x}[:1], {y})[0] + {y}", f"{x}.ravel('F')",
        f"{x}[:, :{i}].ravel()", f"{x}[:, :2].reshape(-1)", f"{x}.T.ravel()", f"{x}.copy(order='F')", f"{x}.reshape(-1, order='F')", f"np.eye({i})", f"{x}.strides",
        f"np.max({x}, initial=0)", f"np.partition({x}, [0, 1], axis=0)", f"np.insert({x}.ravel(), [0, 1], 2.5)", f"({x} * 1j).view(float)", f"np.diagflat({x}[0])",
        f"np.lib.stride_tricks.sliding_window_view({x}, (2, 2)).sum(axis=(2, 3))", f"np.broadcast_to({x}[:, :1], {x}.shape).max(axis=0)", f"{x}[:, ::-1].ravel()",
        f"({x}[:, :{i}].flags.c_contiguous, {x}[{i}:].flags.f_contiguous)", f"np.zeros_like({x}[:, ::-1])", f"np.unique({x}, axis=0, return_inverse=True)",
    )  # fmt: skip


def drawn(growth: Growth) -> str:
    """Random numbers, from NumPy's generators; some arguments do not fit."""
    x, n = growth.array(), place(growth)
    size = growth.pick("3", f"{x}.shape", f"len({x})", f"(2, len({x}))", n, "()")
    rows = growth.pick(f"len({x})", f"{x}.ravel()", n, "5")
    return growth.pick(
        f"RNG.normal(size={size})", f"RNG.random({size}) + {x}", f"RNG.uniform(-1, 2, {x}.shape) * {x}", f"RNG.normal({x}, 0.5)", f"RNG.normal(0, {x})", "RNG.random()",
        f"RNG.integers(0, 5, size={size})", f"RNG.integers({n}, size=3)", f"RNG.permutation({rows})", f"RNG.choice({rows}, size={size})", f"RNG.choice({rows}, 2, replace=False)",
        "RNG.integers(9)", f"OLD.rand(len({x})) * {x}", "OLD.rand()", f"OLD.normal(size={size})", f"OLD.randint(0, 5, {size})", f"OLD.randn(2, len({x}))", f"OLD.choice({rows}, size=3)",
        f"{x} * RNG.standard_normal({x}.shape) - OLD.random({x}.shape)", f"RNG.poisson(3.0, {size})", f"RNG.exponential(np.abs({x}) + 1)", f"{x}[RNG.permutation(len({x}))]",
        f"{x}[RNG.integers(0, len({x}), size=4)]", "np.random.default_rng(2).random(3)", f"np.where(RNG.random({x}.shape) < 0.5, {x}, 0)",
    )  # fmt: skip


def stored(growth: Growth) -> str:
    """A statement that writes at computed places, or what a mask picks."""
    x, y, m = growth.array(), growth.array(), mask(growth)
    new = growth.fresh()
    return growth.pick(
        f"{x}[{key(growth)}] = 0", f"{x}[{key(growth)}] += 1", f"{x}[{key(growth)}] = {y}[{key(growth)}]", f"{x}[{m}] = {y}[{m}]", f"{x}[{m}] *= 2",
        f"{new} = {x}.copy()\n{new}[{m}] = {y}[{m}] + 1", f"{new} = np.zeros_like({x})\n{new}[{m}] = np.abs({x}[{m}])\n{new}[~({m})] = -1",
        f"{new} = np.zeros(5)\nnp.add.at({new}, np.abs({x}).astype(int) % 5, {x})", f"{new} = np.zeros(5, int)\nnp.add.at({new}, np.abs({x}).astype(int) % 5, 1)",
        f"{new} = {x}.copy()\n{new}.sort()", f"{x}.sort(axis=0)", f"{x}[1:].sort()", f"np.maximum.accumulate({x}, out={x})", f"{x}[[0, {place(growth)}]] = {x}[[{place(growth)}, 0]]",
        f"{new} = {x}[{place(growth)}:]\n{x}[0] = 2\n{new} = {new} * 1", f"{new} = {x}[{place(growth)}]\n{x}[...] = 1.5", f"{x} += RNG.normal(size={x}.shape)", f"{x}[...] = OLD.rand(*{x}.shape)", f"RNG.shuffle({x})",
        f"{new} = {drawn(growth)}\n{x}[0] = 2.5\n{new} = {drawn(growth)}", f"{x}[{m}] = RNG.random(np.count_nonzero({m}))",
        f"{x}[{m}] += {y}[{m}]", f"{x}[{m}] = 9 - {x}[{m}]", f"{x}[{m}] = {x}[{m}] * {y}[{m}] - 1", f"{new} = {m}\n{x}[{new}] -= 2\n{y}[{new}] = {x}[{new}]", f"{x}[{m}] ^= 3", f"{x}[{m}] = -{y}[{m}]",
        f"{new} = {m}\n{new}[{new}] = {x}.ravel()[: {new}.sum()] > 0", f"{x}[{x} > 1] = {y}[{x} > 1] | 1",
    )  # fmt: skip
