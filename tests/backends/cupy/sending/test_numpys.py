"""NumPy's code on a GPU: `backend="cupy"`, on the test device; the reference is NumPy."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.sent import check, is_sent

RNG = np.random.default_rng(8)
A, B = RNG.normal(size=(2, 6, 7))


def test_a_program_is_sent(host: Host) -> None:
    """Maps are kernels, arguments are sent once, results come back as NumPy's arrays and scalars."""

    def program(x: Any, y: Any, scale: float) -> Any:
        z = np.sqrt(x * x + y * scale + 4) / 3 - np.where(x > y, x, 2.0)
        return z, z.sum(), (z - z.mean(axis=0)).astype("f4"), z.max(axis=1), x > y

    compiled = check(program, A, B, 0.5, close=1e-12)
    assert is_sent(compiled)
    host.device.counts.clear()
    compiled(A, B, 0.25)
    assert host.device.counts["copy to device"] == 2
    assert host.device.counts["copy to host"] == 5


def test_error_states_within_a_program(host: Host) -> None:
    """A device warns of nothing: operations within `np.errstate` and behind it are one kernel."""

    def program(x: Any, y: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(y != 0, x / y, 0.0)
        return z * 2 + 1

    compiled = check(program, A, np.where(B > 0, B, 0.0))
    assert is_sent(compiled)
    assert compiled.graphs[0].source("cupy").count("kernel") == compiled_alone(A, B)


def compiled_alone(x: np.ndarray, y: np.ndarray) -> int:
    """How often the text of the same program without an error state says "kernel"."""

    def program(x: Any, y: Any) -> Any:
        z = np.where(y != 0, x / y, 0.0)
        return z * 2 + 1

    compiled = check(program, x, y)
    return compiled.graphs[0].source("cupy").count("kernel")


def test_softmax_and_layer_norm(host: Host) -> None:
    """Rows with their own maximum, sum, mean and variance."""

    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def layer_norm(x: Any, weight: Any) -> Any:
        mean = x.mean(axis=-1, keepdims=True)
        return (x - mean) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * weight

    for dtype, close in (("f8", 1e-12), ("f4", 1e-5)):
        x = A.astype(dtype)
        assert is_sent(check(softmax, x, close=close))
        assert is_sent(check(layer_norm, x, x[0], close=close))


def test_layouts(host: Host) -> None:
    """Results lie in memory as NumPy's do, whatever strides the arguments have."""
    x = RNG.normal(size=(3, 4, 5))
    for array in (
        x,
        x.T,
        np.asfortranarray(x),
        x[:, 1:, ::2],
        x.transpose(1, 0, 2),
        x[:, :0],
        x[:1],
    ):
        check(lambda x: (x * 2 + 1, abs(x)), array)


def test_products_of_matrices(host: Host) -> None:
    """`@` and `np.dot` are cuBLAS's."""
    assert is_sent(check(lambda x, y: x @ y.T + 1, A, B, close=1e-12))
    assert is_sent(check(lambda x, y: np.dot(x, y) * 2, A, B[0], close=1e-12))


def test_subnormals_stay(host: Host) -> None:
    """Single precision is not flushed to zero."""
    small = np.array([1e-40, -3e-42, 1e-45, 2e-38], "f4")
    assert is_sent(check(lambda x: x * np.float32(0.5) + x, small))


def test_what_stays_on_the_cpu(host: Host) -> None:
    """What CUDA does otherwise is the CPU's, to the bit."""
    for function in (
        lambda x: np.argsort(x * 2, axis=1), lambda x: np.linalg.eigh(x[:, :6] * x[:, :6].T)[1] * 2,
        lambda x: (x * 2).astype("f2") + 1, lambda x: np.add.reduceat(x[0] * 2, [0, 3]),
        lambda x: (x * 1j) < 2, lambda x: (x * 1j).max(axis=0),
    ):  # fmt: skip
        compiled = ufuse.compile(function, backend="cupy")
        for _ in range(2):
            given, same = A.copy(), A.copy()
            result, wanted = compiled(given), function(same)
            assert np.asarray(result).tobytes() == np.asarray(wanted).tobytes()
            assert given.tobytes() == same.tobytes()
        assert not is_sent(compiled)


def test_ranges(host: Host) -> None:
    """Whole numbers are NumPy's to the bit, those at equal distances are near."""
    for function in (
        lambda x: x * np.arange(x.shape[1]),
        lambda x: np.arange(3, x.size, dtype="f4") + 1,
        lambda x: x[0] + np.arange(x.shape[1]),
    ):
        assert is_sent(check(function, A))
    assert is_sent(check(lambda x: x * np.linspace(0, 1, x.shape[1]), A, close=1e-14))
    assert is_sent(check(lambda n: np.arange(n) * 2.5, 12))


def test_one_object_twice(host: Host) -> None:
    """A result given twice is one array; an argument given back is that argument."""

    def twice(x: Any, y: Any) -> Any:
        z = x + y
        return z, z, x

    compiled = ufuse.compile(twice, backend="cupy")
    one, other, given = compiled(A, B)
    assert one is other
    assert given is A


def test_numbers_that_do_not_fit(host: Host) -> None:
    """NumPy's error is raised."""
    compiled = ufuse.compile(lambda x, n: x + n, backend="cupy")
    x = np.arange(5, dtype="i1")
    assert (compiled(x, 100) == x + np.int8(100)).all()
    with pytest.raises(OverflowError):
        compiled(x, 1000)


def test_no_memory_on_the_device(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an argument cannot be sent, plain Python runs."""

    def full(*_: object, **__: object) -> None:
        raise host.cupy.cuda.memory.OutOfMemoryError(1, 2, 3)

    compiled = ufuse.compile(lambda x: x * 3 + 1, backend="cupy")
    monkeypatch.setattr(host.cupy, "array", full)
    assert (compiled(A) == A * 3 + 1).all()


def test_arrays_that_are_there_stay(host: Host) -> None:
    """CuPy's arrays are not fetched; what is compiled is what would be without the option."""
    compiled = ufuse.compile(lambda x: x * 2 + 1, backend="cupy")
    x = host.cupy.asarray(A)
    host.device.counts.clear()
    result = compiled(x)
    assert type(result) is host.cupy.ndarray
    assert not host.device.counts["copy to host"]
    assert (result.get() == A * 2 + 1).all()


def test_loops_are_the_cpus(host: Host) -> None:
    """Python's loops over elements run as without the option."""

    def total(x: Any) -> Any:
        s = 0.0
        for i in range(len(x)):
            s += x[i] * 2
        return s

    compiled = ufuse.compile(total, backend="cupy")
    assert compiled(A[0]) == total(A[0])


def test_where_there_is_no_gpu(host: Host) -> None:
    """CuPy alone is not enough: the error says that no device was found."""
    text = (
        "import ufuse\n"
        "try: ufuse.compile(lambda x: x, backend='cupy')\n"
        "except ufuse.BackendUnavailable as missing: print(missing)\n"
        "else: print('there is one')"
    )
    run = subprocess.run(
        [sys.executable, "-P", "-c", text], check=True, capture_output=True, text=True
    )
    assert "the backend 'cupy' needs a GPU" in run.stdout or "there is one" in run.stdout


class Kept(dict[str, bytes]):
    """A cache like CuPy's on disk."""

    full = False

    def load(self, name: str) -> bytes | None:
        """What was kept by this name."""
        return self.get(name)

    def save(self, name: str, cubin: bytes, source: str) -> None:
        """Keep a compiled kernel."""
        if self.full:
            raise OSError(28, "No space left on device")
        self[name] = cubin


def test_machine_code_is_kept_on_disk(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text is compiled once, by CuPy's own cache; a disk that cannot be written is no error."""
    from ufuse.backends.cupy.launching import compile as compiling  # noqa: PLC0415  CuPy may be imported now

    compiler, kept = host.cupy.cuda.compiler, Kept()
    texts: list[str] = []
    given = compiler.compile_using_nvrtc

    def counted(text: str, *options: Any, **more: Any) -> Any:
        texts.append(text)
        return given(text, *options, **more)

    monkeypatch.setattr(compiler, "_kernel_cache_backend", kept)
    monkeypatch.setattr(compiler, "compile_using_nvrtc", counted)
    monkeypatch.delenv("CUPY_CACHE_IN_MEMORY", raising=False)
    for _ in range(3):
        check(lambda x: x * 3 + 0.25, A)
    assert len(texts) == len(kept) == 1
    text = texts[0]
    assert compiling.key_of(text, ("a",)) != compiling.key_of(text, ("b",))
    kept.clear()
    kept.full = True
    check(lambda x: x * 3 + 0.25, A)
    monkeypatch.setenv("CUPY_CACHE_IN_MEMORY", "1")
    check(lambda x: x * 3 + 0.25, A)
    assert len(texts) == 3
    assert not kept


def test_what_moves_elements(host: Host) -> None:
    """Joined, repeated, rolled and padded arrays are CuPy's own calls, with NumPy's bits and layouts."""
    x, y = RNG.normal(size=(2, 5, 6))
    joined = check(lambda x, y: np.concatenate([x * 2, y]) + 1, x, y)
    assert is_sent(joined)
    for function in (
        lambda x, y: (np.stack([x, y * 3], axis=1) - 1, np.vstack((x, y)) * 2),
        lambda x, y: (np.hstack([x, y]) + x[:, :1], np.column_stack([x[:, 0], y[:, 1] * 2])),
        lambda x, y: (np.tile(x, (2, 1)) * 2, np.repeat(y, 3, axis=0) + 1, (x * 2).repeat(2)),
        lambda x, y: (np.roll(x, 2, axis=1) - x, np.roll(y * 2, -1)),
        lambda x, y: (np.pad(x * 2, 1), np.pad(y, ((0, 1), (2, 0)), mode="edge") + 1),
        lambda x, y: np.concatenate([x.astype("f4"), (y * 9).astype("i4")]),
    ):
        compiled = check(function, x, y)
        assert is_sent(compiled)
