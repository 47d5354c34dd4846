"""`make gpu-check` and `make gpu-bench`: on a machine with a GPU, with the packages that this Python has.

Where CUDA's compute-sanitizer is installed, every kind of kernel runs under it once the tests have passed. Nothing is
fetched: a wheel of what is missing may lie in build/wheels. Exits 2, with the reason, where there is no GPU, 3 where a
package is missing.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHEELS, SITE, VIEW = (ROOT / "build" / name for name in ("wheels", "gpu", "view"))
NEEDED = "numpy bytecode llvmlite rich setuptools".split()
TESTED_WITH = "pytest hypothesis".split()
SECONDS = 480
RANDOM = "tests/whole/test_fuzz.py::test_random_programs_of_cupys_arrays"
# fmt: off
TESTS = ("pytest", "--gpu", "-p", "no:cacheprovider", "-q", "-m", "not leaks")
COMMANDS = {
    "check": (*TESTS, "tests/backends/cupy", "tests/programs/devices", RANDOM),
    "bench": ("benchmarks.gpu",),
}
# fmt: on
KINDS = (*TESTS, "tests/backends/cupy/texts/test_kinds.py")
# Of compute-sanitizer: for what lies out of bounds, and for races in shared memory.
TOOLS = ("memcheck", "racecheck")
FEWEST_SECONDS = 60  # in which one of these is worth starting


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


def python_of(arguments: tuple[str, ...]) -> list[str]:
    """The command that runs a module; its tests on several cores, with the plugins that they need alone."""
    more = ["-p", "hypothesispytest", *at_once()] if arguments[0] == "pytest" else []
    return [sys.executable, "-P", "-m", *arguments, *more]


def sanitizer() -> str | None:
    """Where compute-sanitizer is installed."""
    toolkit = os.environ.get("CUDA_PATH", "/usr/local/cuda")
    folders = [os.environ.get("PATH", ""), f"{toolkit}/bin", f"{toolkit}/compute-sanitizer"]
    return shutil.which("compute-sanitizer", path=os.pathsep.join(folders))


def status_of(command: list[str], environment: dict[str, str], ends: float) -> int:
    """What a command comes to, or 4 where it does not end by a moment of `time.monotonic`."""
    try:
        run = subprocess.run(  # noqa: S603  our own commands
            command, cwd=ROOT, env=environment, check=False, timeout=ends - time.monotonic()
        )
    except subprocess.TimeoutExpired:
        print(f"{command[0]}: stopped, {SECONDS} seconds are over")
        return 4
    return run.returncode


def sanitized(environment: dict[str, str], ends: float) -> int:
    """Run every kind of kernel under compute-sanitizer, where there is one and time for it."""
    program = sanitizer()
    environment = {**environment, "UFUSE_NO_POOL": "1"}
    for tool in TOOLS:
        if program is None or ends - time.monotonic() < FEWEST_SECONDS:
            why = "it is not installed" if program is None else "the time is over"
            print(f"gpu-check: no kernel ran under compute-sanitizer's {tool}: {why}")
            continue
        options = ["--tool", tool, "--target-processes", "all", "--report-api-errors", "no"]
        command = [program, *options, "--error-exitcode", "9", *python_of(KINDS)]
        status = status_of(command, environment, ends)
        print(f"gpu-check: compute-sanitizer's {tool} ended with {status}")
        if status:
            return status
    return 0


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
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # others may warn, which fails tests
    make = ["make", "--no-print-directory", f"PYTHON={sys.executable}", "view"]
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--parallel", "8"]
    for step in (make, build):
        subprocess.run(step, cwd=ROOT, env=environment, check=True)  # noqa: S603  our own commands
    ends = time.monotonic() + SECONDS
    status = status_of([*python_of(COMMANDS[what]), *rest], environment, ends)
    return status or (sanitized(environment, ends) if what == "check" and not rest else 0)


if __name__ == "__main__":
    sys.exit(main())
