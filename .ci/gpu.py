"""`make gpu-check` and `make gpu-bench`: on a machine with a GPU, with the packages that this Python has.

Nothing is fetched: a wheel of what is missing may lie in build/wheels. Exits 2, with the reason, where there is no GPU,
3 where a package is missing.
"""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHEELS, SITE, VIEW = (ROOT / "build" / name for name in ("wheels", "gpu", "view"))
NEEDED = "numpy bytecode llvmlite rich setuptools".split()
TESTED_WITH = "pytest hypothesis".split()
SECONDS = 480
RANDOM = "tests/whole/test_fuzz.py::test_random_programs_of_cupys_arrays"
# fmt: off
COMMANDS = {
    "check": ("pytest", "--gpu", "-p", "no:cacheprovider", "-q", "-m", "not leaks", "tests/backends/cupy", RANDOM),
    "bench": ("benchmarks.gpu",),
}
# fmt: on


def why_no_gpu() -> str | None:
    """Say why nothing can run here."""
    try:
        import cupy  # noqa: PLC0415  it may be missing
    except ImportError as error:
        return f"CuPy is not installed ({error}): pip install cupy-cuda13x, or cupy-cuda12x"
    runtime = cupy.cuda.runtime
    try:
        names = [
            runtime.getDeviceProperties(number)["name"].decode()
            for number in range(runtime.getDeviceCount())
        ]
    except runtime.CUDARuntimeError as error:
        return f"CuPy {cupy.__version__} finds no GPU ({error})"
    print(f"CuPy {cupy.__version__}, {', '.join(names)}")
    return None if names else "CUDA counts no GPU"


def missing(names: list[str]) -> list[str]:
    """Name the packages that cannot be imported, after unpacking the wheels that were brought."""
    for wheel in sorted(WHEELS.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(SITE)
    sys.path.append(str(SITE))
    importlib.invalidate_caches()
    return [name for name in names if importlib.util.find_spec(name) is None]


def at_once() -> list[str]:
    """Run tests on several cores, where that can be had: most of their time goes to compilers."""
    workers = min(15, os.cpu_count() or 1)
    has_workers = workers > 1 and importlib.util.find_spec("xdist") is not None
    return ["-p", "xdist", "-n", str(workers), "--dist", "worksteal"] if has_workers else []


def main() -> int:
    """Run one of the commands."""
    what, *rest = sys.argv[1:]
    why = why_no_gpu()
    if why is not None:
        print(f"gpu-{what}: nothing was run: {why}")
        return 2
    lacking = missing(NEEDED + TESTED_WITH * (what == "check"))
    if lacking:
        print(f"gpu-{what}: this Python lacks {', '.join(lacking)}; bring wheels:")
        print(f"  pip download --no-deps -d {WHEELS.relative_to(ROOT)} {' '.join(lacking)}")
        return 3
    paths = os.pathsep.join([str(VIEW), str(SITE)])
    environment = {**os.environ, "PYTHONPATH": paths, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    make = ["make", "--no-print-directory", f"PYTHON={sys.executable}", "view"]
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--parallel", "8"]
    command = [sys.executable, "-P", "-m", *COMMANDS[what], *rest]
    if what == "check":
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # others may warn, which fails tests
        command += ["-p", "hypothesispytest", *at_once()]
    for step in (make, build):
        subprocess.run(step, cwd=ROOT, env=environment, check=True)  # noqa: S603  our own commands
    try:
        run = subprocess.run(command, cwd=ROOT, env=environment, check=False, timeout=SECONDS)  # noqa: S603  the same
    except subprocess.TimeoutExpired:
        print(f"gpu-{what}: stopped after {SECONDS} seconds")
        return 4
    return run.returncode


sys.exit(main())
