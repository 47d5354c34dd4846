"""`python -m ufuse demo`: five programs, compiled against plain NumPy in one run."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from ufuse import programs
from ufuse.checking import why_different
from ufuse.compiled import CompiledFunction
from ufuse.decorator import compile as compile_function
from ufuse.errors import UfuseError
from ufuse.graph.records import record

Array = np.ndarray[Any, Any]
PICTURE = "ufuse-demo-denoised.png"
SECONDS_EACH = 4.0
MOST_ROUNDS = 60


@record
class Program:
    """A row of the table before it has run."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    inner: int = 1  # calls in one measurement


@record
class Row:
    """A row of the table; times in milliseconds a call."""

    name: str
    eager: float
    compiled: float
    first_call: float
    graphs: int
    breaks: int
    difference: str | None

    @property
    def ratio(self) -> float:
        """How many times faster."""
        return self.eager / self.compiled


def _denoising() -> tuple[Callable[..., Any], Array]:
    """The inner function of scikit-image's `denoise_tv_chambolle`, and a photograph with noise."""
    try:
        data = importlib.import_module("skimage.data")
        module = importlib.import_module("skimage.restoration._denoise")
    except ImportError as missing:
        raise UfuseError(
            f"the demo needs scikit-image: pip install 'ufuse[demo]' ({missing})"
        ) from None
    photograph = data.camera() / 255.0
    noise = np.random.default_rng(0).standard_normal(photograph.shape)
    return module._denoise_tv_chambolle_nd, photograph + 0.1 * noise


def _programs() -> list[Program]:
    rng = np.random.default_rng(1)
    denoise, noisy = _denoising()
    million, ten = 1_000_000, 10_000_000
    matrix = rng.integers(0, 10, (10, 10)).astype(np.int32)
    prices = (
        rng.uniform(10, 50, million),
        rng.uniform(10, 50, million),
        rng.uniform(0.5, 2, million),
    )
    rows = rng.standard_normal((4096, 1024)).astype(np.float32)
    pair = (rng.standard_normal(ten), rng.standard_normal(ten))
    return [
        Program("denoise a photograph", denoise, (noisy, 0.1)),
        Program("power(x, 100)", programs.power, (matrix, 100), inner=100),
        Program("Black–Scholes", programs.black_scholes, (*prices, 0.02, 0.3)),
        Program("softmax", programs.softmax, (rows,)),
        Program("squared distance", programs.squared_distance, pair),
    ]


def _seconds(function: Callable[..., Any], program: Program) -> float:
    started = time.perf_counter()
    for _ in range(program.inner):
        function(*program.arguments)
    return (time.perf_counter() - started) / program.inner


def _measured(program: Program, advance: Callable[[], None]) -> tuple[Row, Any]:
    compiled: CompiledFunction = compile_function(program.function)
    started = time.perf_counter()
    result = compiled(*program.arguments)
    first = time.perf_counter() - started
    difference = why_different(result, program.function(*program.arguments))
    compiled(*program.arguments)
    plain_times: list[float] = []
    compiled_times: list[float] = []
    began = time.perf_counter()
    while len(plain_times) < 3 or (
        time.perf_counter() - began < SECONDS_EACH and len(plain_times) < MOST_ROUNDS
    ):
        plain_times.append(_seconds(program.function, program))
        compiled_times.append(_seconds(compiled, program))
        advance()
    difference = difference or why_different(
        compiled(*program.arguments), program.function(*program.arguments)
    )
    row = Row(
        program.name, 1e3 * median(plain_times), 1e3 * median(compiled_times), 1e3 * first,
        len(compiled.graphs), len(compiled.breaks), difference,
    )  # fmt: skip
    return row, result


def _table(rows: list[Row]) -> Table:
    title = "medians of one run in ms; first: the first call, compiling included"
    table = Table(title=title, box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("program", no_wrap=True)
    for heading in ("NumPy", "ufuse", "ratio", "first", "graphs", "breaks"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("identical", no_wrap=True)
    for row in rows:
        table.add_row(
            row.name, f"{row.eager:.3f}", f"{row.compiled:.3f}", f"{row.ratio:.2f}×", f"{row.first_call:.1f}",
            str(row.graphs), str(row.breaks), "yes" if row.difference is None else f"NO: {row.difference}",
        )  # fmt: skip
    return table


def picture_at(path: Path) -> Path:
    """The file for the picture: `path`, or one in it where it is a folder.

    Raises:
        ValueError: there is no folder for such a file, or its name ends as no picture's does.

    """
    file = path / PICTURE if path.is_dir() else path
    if not file.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {file.parent}")
    if file.suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise ValueError(f"{path}: it must be a folder that exists, or end in .png or .jpg")
    return file


def _save_picture(noisy: Array, denoised: Array, path: Path) -> None:
    image = importlib.import_module("PIL.Image")
    both = np.clip(np.hstack([noisy, denoised]), 0, 1)
    image.fromarray((both * 255).astype(np.uint8)).save(path)


def run(picture: Path) -> int:
    """Run the programs, print the table, write the picture.

    Args:
        picture: the file for the picture.

    Returns:
        The exit status: 0, or 1 if any result differs from plain NumPy's.

    """
    console = Console()
    with console.status("loading the photograph"):
        rows_to_run = _programs()
    rows: list[Row] = []
    with Progress(console=console, transient=True) as progress:
        for program in rows_to_run:
            task = progress.add_task(program.name, total=MOST_ROUNDS)
            row, result = _measured(program, lambda task=task: progress.advance(task))  # type: ignore[misc]
            if not rows:
                _save_picture(program.arguments[0], result, picture)
            rows.append(row)
            progress.remove_task(task)
    console.print(_table(rows))
    console.print(f"before and after: {picture}")
    return 0 if all(row.difference is None for row in rows) else 1
