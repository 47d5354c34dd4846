"""`python -m ufuse run`: a program behaves as under `python`, and its functions are compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_python

FUNCTIONS = """
    import sys
    import numpy as np

    def distance(x, y):
        return np.sqrt(((x - y) ** 2).sum())

    def level(x, rate):
        level = x[0]
        for i in range(len(x)):
            level = rate * x[i] + (1 - rate) * level
        return level
"""
NUMBERS = """
    x, y = np.random.default_rng(0).random((2, 50_000))
    for k in range(8):
        found = distance(x, y + k), level(x, 0.1 * k)
    print(found)
"""


def written(folder: Path, name: str, *parts: str) -> Path:
    """A file with a program."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(textwrap.dedent, parts)), encoding="utf-8")
    return path


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """An interpreter of its own, in a folder."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env={**os.environ, **environment},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def same(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command line of a program under `python` and under ours: all that is seen of it is the same."""
    plain, ours = run(folder, *arguments), run(folder, "-m", "ufuse", "run", *arguments)
    assert (ours.returncode, ours.stdout, ours.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )
    return ours


def test_a_program_is_what_it_is_under_python(tmp_path: Path) -> None:
    """Its name, file, arguments, place for imports, what it pickles, what runs at its end."""
    written(tmp_path, "tools/beside.py", "here = __name__")
    written(
        tmp_path,
        "tools/program.py",
        '"""Says what it is."""',
        FUNCTIONS,
        """
        import atexit, pickle
        import beside
        count: int = 3
        print(__name__, __file__, __doc__, __spec__, __package__, sys.argv, sys.path[0], beside.here)
        print(sys.modules["__main__"].distance is distance, distance.__module__, type(__loader__))
        print(pickle.loads(pickle.dumps(distance)) is distance, sorted(globals()))
        atexit.register(lambda: print("the end", count))
        """,
        NUMBERS,
    )
    done = same(tmp_path, "tools/program.py", "one", "--report", "-m")
    assert done.returncode == 0
    assert "['tools/program.py', 'one', '--report', '-m']" in done.stdout
    assert done.stdout.endswith("the end 3\n")


def test_a_module_is_what_it_is_under_python(tmp_path: Path) -> None:
    """As for `python -m`: of a package its `__main__`, which may import its neighbours."""
    written(tmp_path, "pack/__init__.py", "")
    written(tmp_path, "pack/near.py", FUNCTIONS)
    main = """
        import sys
        import numpy as np
        from .near import distance, level
        print(__name__, __file__, __package__, __spec__.name, sys.argv, sorted(globals()))
    """
    written(tmp_path, "pack/__main__.py", main, NUMBERS)
    written(tmp_path, "pack/tool.py", main)
    assert "pack.__main__" in same(tmp_path, "-m", "pack", "-x", "1").stdout
    assert "pack.tool" in same(tmp_path, "-m", "pack.tool", "--help").stdout


def test_programs_that_fail(tmp_path: Path) -> None:
    """The traceback begins in the program; exit statuses and other hooks are its own."""
    failing = """
        def failing(x):
            y = x + 1
            return y.reshape(7)

        failing(np.ones(3))
    """
    written(tmp_path, "failing.py", FUNCTIONS, failing)
    assert "in failing" in same(tmp_path, "failing.py").stderr
    hook = "sys.excepthook = lambda kind, error, traceback: print('caught', kind, error)"
    written(tmp_path, "hooked.py", FUNCTIONS, hook, failing)
    assert "caught <class 'ValueError'>" in same(tmp_path, "hooked.py").stdout
    for number, ending in enumerate(("sys.exit(3)", "sys.exit('no')")):
        written(tmp_path, f"ends{number}.py", FUNCTIONS, NUMBERS, ending)
        same(tmp_path, f"ends{number}.py")
    written(tmp_path, "wrong.py", "def f(:\n    pass\n")
    assert run(tmp_path, "-m", "ufuse", "run", "wrong.py").stderr.endswith(
        "SyntaxError: invalid syntax\n"
    )
    written(tmp_path, "interrupted.py", FUNCTIONS, NUMBERS, "raise KeyboardInterrupt")
    done = run(tmp_path, "-m", "ufuse", "run", "interrupted.py")
    assert done.returncode == 130
    assert done.stderr.endswith("KeyboardInterrupt\n")
    assert "script.py" not in done.stderr


def test_functions_are_compiled_and_told(tmp_path: Path) -> None:
    """Those with arrays, and those with loops; the report is written also where the program fails or goes elsewhere."""
    pytest.importorskip("llvmlite")
    away = "import os; os.chdir('/'); sys.exit(4)"
    written(tmp_path, "program.py", FUNCTIONS, NUMBERS, away)
    for name in ("report.txt", "report.html"):
        done = run(tmp_path, "-m", "ufuse", "run", "--report", name, "program.py")
        assert done.returncode == 4
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "program.py ran for " in text
        assert "2 functions of it compiled." in text
        assert "  distance(), " in text
        assert "  level(), " in text
        assert "script.py" not in text
        assert ("<svg" in text) is name.endswith("html")
    written(tmp_path, "nothing.py", "print(3)")
    run(tmp_path, "-m", "ufuse", "run", "--report", "report.txt", "nothing.py")
    assert ", nothing of it compiled.\n" in (tmp_path / "report.txt").read_text(encoding="utf-8")
    done = run(tmp_path, "-m", "ufuse", "run", "--report", "r.txt", "program.py", UFUSE_EAGER="1")
    assert done.returncode == 4
    assert ", nothing of it compiled.\n" in (tmp_path / "r.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "it needs a program"),
        (["run", "nothing.py"], "ufuse: cannot open nothing.py: No such file or directory"),
        (["run", "-m", "no.thing"], "ufuse: no module named no"),
        (["run", "-m", "xml"], "ufuse: no module named xml"),
        (["run", "--report", "no/where.txt", "a.py"], "does not exist"),
        (["a.py", "b"], "to run a program: python -m ufuse run a.py b"),
    ],
)
def test_command_lines_that_mean_nothing(tmp_path: Path, arguments: list[str], says: str) -> None:
    """A sentence says what is wrong, and the status is that of wrong usage."""
    done = run(tmp_path, "-m", "ufuse", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
