"""What ufuse says: reports, log lines, settings from the environment."""

from __future__ import annotations

import csv
import dataclasses
import functools
import logging
import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from ufuse.backends import reference
from ufuse.backends.numpy import nests
from ufuse.frame_hook.code import places
from ufuse.frame_hook.entries.journal import Decision
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.graph.node import Graph as Captured

X = np.arange(6.0).reshape(2, 3)


def line_of(function: Any, text: str) -> int:
    """The line of this file on which `text` stands inside `function`."""
    first: int = function.__code__.co_firstlineno
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(n for n, line in enumerate(lines[first - 1 :], first) if text in line)


def whole(x: Any, k: int) -> Any:
    return (x * k).sum(axis=0) + 1


def helper(x: Any) -> Any:
    print(end="")
    return x + 1


def nested(x: Any, tol: float = 0.5) -> Any:
    y = helper(x * 2) * 3
    if y.max() > tol:
        y = y.astype("f4")
    return y


# Reports


def test_report_of_a_whole_function() -> None:
    """It says that nothing is cut off, and what the graph takes, does, gives and checks."""
    report = ufuse.explain(whole, X, 2)
    line = line_of(whole, "return")
    lines = str(report).splitlines()
    assert re.fullmatch(r"A call takes .+ [µm]s, in plain Python .+\.", lines.pop(2))
    assert re.fullmatch(
        r"The first call took .+: the code was read and compiled in .+\.", lines.pop(2)
    )
    assert lines == [
        "whole() runs as one graph, from start to end.",
        f"{__file__}:{line - 1}",
        "",
        f"Graph 1, line {line}: 3 operations, ran twice",
        "  takes   x: float64[n, m]",
        "  does    multiply, sum, add",
        "  gives   float64[m]",
        "  checks  k == 2, and 5 facts about types, layouts and names",
    ]
    assert repr(report) == str(report), "which is what a Python prompt shows"
    np.testing.assert_array_equal(report.result, whole(X, 2))


def test_report_of_breaks() -> None:
    """Every place has its line, the source there, the reason, and what to do; a nested one says who called."""
    report = ufuse.explain(nested, X)
    text = str(report)
    printed, tested = line_of(helper, "print"), line_of(nested, "if y.max")
    assert text.startswith("nested() runs as 4 graphs, and plain Python at 2 places.\n")
    assert (
        f"  {__file__}:{printed} in helper(), called from {__file__}:{tested - 1} in nested()\n"
        '      print(end="")\n'
        "  because print cannot be part of a graph [call]\n"
        "  -> do it before or after the array work, if it is in your code; left here it runs as plain Python\n"
    ) in text
    assert (
        f"  {__file__}:{tested} in nested()\n"
        "      if y.max() > tol:\n"
        "  because both sides of the branch cannot be in one graph: the sides give y as f4[n, m] and as f8[n, m] [sides]\n"
        "  -> give it one dtype and one shape on both sides, for instance with astype\n"
        "  because it branches on a computed number, which is known only once the graph has run [data-branch]\n"
        "  -> no need to change it: the next graph begins on the side that is taken\n"
    ) in text
    assert f"Graph 2 in helper(), line {printed + 1}: 1 operation" in text
    assert "  takes   helper(x * 2): float64[n, m]\n" in text


def test_report_tells_of_a_loop_once() -> None:
    """That a loop is not unrolled says that its next item is in no graph, too."""
    file, line = __file__, line_of(nested, "if y.max")
    found = [
        GraphBreak(code, what).at(file, line, "nested")
        for code, what in (
            ("loop", ""),
            ("operator", "a loop over a range that began before the graph"),
        )
    ]
    report = ufuse.explain(whole, X, 2)
    told = dataclasses.replace(report, breaks=tuple(found)).told_breaks
    assert [one.code for one in told] == ["loop"]
    told = dataclasses.replace(report, breaks=tuple(found[1:])).told_breaks
    assert [one.code for one in told] == ["operator"]


def test_reasons_say_what_a_line_goes_over() -> None:
    """Not the names of CPython's iterators, nor methods of a set that the line does not call."""

    def places(picked: Any, x: Any) -> Any:
        y = x * 2.0
        for k, v in enumerate(list(picked)):
            y = y + k * v
            print(end="")
        return y

    compiled = ufuse.compile(places)
    for _ in range(4):
        compiled({np.int64(1), np.int64(3)}, X)
    reasons = {one.reason for one in compiled.breaks}
    assert (
        "going over a set whose items are not all Python's own numbers, strings and tuples"
        " is not captured yet" in reasons
    )
    assert "a loop over enumerate(…) that began before the graph is not captured yet" in reasons


def test_report_names_the_line_that_calls_a_library() -> None:
    """Not each line of the library; reasons of one kind are one sentence, with the places inside."""

    def read(x: Any) -> Any:
        y = x + 1
        rows = list(csv.DictReader(["a,b", "1,2"]))
        print(end="")
        return y * len(rows)

    text = str(ufuse.explain(read, X))
    line = line_of(read, "rows = ")
    assert (
        f"  {__file__}:{line} in {read.__qualname__}()\n"
        '      rows = list(csv.DictReader(["a,b", "1,2"]))\n'
        "  because "
    ) in text
    assert re.search(
        r"because reader \(csv.py:\d+\) and .* cannot be part of a graph \[call\]\n", text
    )
    assert "\n  csv.py" not in text


def test_report_says_whether_anything_is_to_be_changed() -> None:
    """Where something is not captured; the ways to do it are marked."""
    lines = str(ufuse.explain(nested, X)).splitlines()
    assert "What could be changed to make it faster is marked with ->." in lines[:5]

    def sorted_rows(x: Any) -> Any:
        y = x + 1
        shown = f"{y.sum()}"
        return y * 2, shown

    assert "Nothing has to be changed." in str(ufuse.explain(sorted_rows, X)).splitlines()[:5]
    assert "changed" not in str(ufuse.explain(whole, X, 2))


def test_report_compares_times() -> None:
    """How many times as fast a call is; or that plain Python is faster, and what follows where calls are timed."""
    report = dataclasses.replace(ufuse.explain(whole, X, 2), later_seconds=2e-3, is_measured=True)

    def told(plain: float, **others: Any) -> str:
        one = dataclasses.replace(report, plain_seconds=plain, **others)
        return str(one).splitlines()[2]

    assert told(9e-3) == "A call takes 2.0 ms, in plain Python 9.0 ms: 4.5 times as fast."
    assert told(50e-3) == "A call takes 2.0 ms, in plain Python 50.0 ms: 25 times as fast."
    assert told(2.1e-3) == "A call takes 2.0 ms, in plain Python 2.1 ms."
    assert told(1e-3).endswith("faster here; if it stays so, later calls will run as plain Python.")
    assert told(1e-3, is_measured=False).endswith("1.0 ms, which is faster here.")
    slow = dataclasses.replace(report, seconds=(0.1, 0.05), later_seconds=1e-3)
    says = (
        "The first call took 100.0 ms, the second 50.0 ms: the code was read and compiled in them."
    )
    assert str(slow).splitlines()[3] == says
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["ufuse.explain"], "MOST_SECONDS", 0.0)
        assert ufuse.explain(whole, X, 2).later_seconds is None


def test_report_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """There its lines are folded, under where their texts begin; in files and pipes they are not."""
    report = ufuse.explain(nested, X)
    plain = str(report)
    assert max(map(len, plain.splitlines())) > 80
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    lines = str(report).splitlines()
    assert max(len(one) for one in lines if __file__ not in one) < 80
    at = next(i for i, one in enumerate(lines) if one.startswith("  -> do it before"))
    assert lines[at + 1].startswith("     ")
    assert " ".join(str(report).split()) == " ".join(plain.split())
    monkeypatch.setenv("COLUMNS", "3")
    assert max(len(one) for one in str(report).splitlines()) > 20


def test_report_names_what_needs_a_value() -> None:
    """Not only that a number is not known yet, but what asks for it."""

    def labelled(x: Any) -> Any:
        y = x + 1
        return str(y.sum()), y * 2

    (found,) = ufuse.explain(labelled, X).breaks
    assert found.reason == "str of a computed number cannot be part of a graph"


def test_report_names_operations_as_people_do() -> None:
    """No module in front of them, and no name in underscores."""

    def picked(x: Any) -> Any:
        return np.roll(x[x > 1], 1), np.linalg.norm(x)

    text = str(ufuse.explain(picked, X))
    does = next(line for line in text.splitlines() if line.startswith("  does"))
    assert "roll" in does
    assert "numpy" not in does
    assert "__" not in does


def test_report_names_functions_of_c() -> None:
    """A function in C is called what people call it."""

    def calling(x: Any) -> Any:
        y = x + 1
        time.time()
        np.random.seed(0)
        print(end="")
        return y * 2

    reasons = [one.reason for one in ufuse.explain(calling, X).breaks]
    assert reasons == [
        f"{name} cannot be part of a graph" for name in ("time.time", "numpy.random.seed", "print")
    ]


def test_report_names_no_insides() -> None:
    """No slot of the stack and no opcode is shown where the program has a name for it."""

    class Box:
        total = 0.0

    def everyday(x: Any, box: Any) -> Any:
        shown = f"{x.sum():.2f}"
        box.total = x.sum()
        kept = [row * 2 for row in x if row.sum() > 3]
        x[x > 2] = 0
        return shown, kept, x[:, ::-1] + helper(x)

    text = str(ufuse.explain(everyday, X.copy(), Box()))
    assert "on the stack" not in text
    assert "STORE" not in text
    assert "FORMAT" not in text
    assert "an f-string is not captured yet" in text
    assert "  then    sets box.total\n" in text


def test_report_of_graphs_not_run() -> None:
    """Graphs that hand back to plain Python are counted."""

    def logarithm(x: Any) -> Any:
        return np.log(x)

    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        ufuse.explain(logarithm, X)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        report = ufuse.explain(logarithm, X)
    assert "Twice a graph was not run, because an error or a warning" in str(report)


def test_report_of_effects() -> None:
    """What a graph changes besides its results is listed once each, in order, by the program's names."""

    class Model:
        def __init__(self) -> None:
            self.steps, self.sums, self.last = 0, [0.0], {"loss": 1.0}

        def step(self, x: Any) -> Any:
            self.steps += 1
            self.sums.append(x.sum())
            self.last["loss"] = x.mean()
            self.last["loss"] = 0.0
            self.steps += 1
            return x * 2

    text = str(ufuse.explain(Model().step, X))
    effects = "sets self.steps, appends to self.sums, sets self.last['loss']"
    assert f"  then    {effects}\n" in text


def test_report_of_a_retrace() -> None:
    """What changed between the two calls is said."""

    class Schedule:
        mode = "warm"

    def scheduled(x: Any, schedule: Any) -> Any:
        y = x * (2 if schedule.mode == "warm" else 3)
        schedule.mode = "hot"
        return y

    schedule = Schedule()
    schedule.mode = "warm"
    text = str(ufuse.explain(scheduled, X, schedule))
    assert "Traced again, because:" in text
    assert "schedule.mode is no longer 'warm'" in text


def test_report_of_plain_python() -> None:
    """Why nothing was captured is said."""

    def rows(x: Any) -> Any:
        yield from x

    assert str(ufuse.explain(rows, X)).startswith(
        "rows() runs as plain Python: it is a generator or coroutine"
    )
    assert str(ufuse.explain(lambda: 3)).startswith(
        "<lambda>() runs as plain Python: it has no array operation."
    )
    assert "it is marked with ufuse.disable" in str(ufuse.explain(ufuse.disable(lambda x: x), X))


def test_report_of_a_method() -> None:
    """The function behind a bound method is explained, with the object it is bound to."""

    class Model:
        def __init__(self) -> None:
            self.weight = np.ones(3)

        def step(self, x: Any) -> Any:
            return x @ self.weight

    assert "takes   x: float64[n, m]" in str(ufuse.explain(Model().step, X))


def test_report_is_saved(tmp_path: Path) -> None:
    """As text, and as a page that escapes what it shows."""
    report = ufuse.explain(nested, X)
    report.save(tmp_path / "report.txt")
    assert (tmp_path / "report.txt").read_text(encoding="utf-8") == f"{report}\n"
    report.save(str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "if y.max() &gt; tol:" in page
    assert page.count("<details>") == page.count("</details>") == 2 * len(report.graphs)
    assert report._repr_html_() in page
    with pytest.raises(OSError, match="No such file"):
        report.save(tmp_path / "nowhere" / "report.txt")


def test_explain_raises_what_the_function_raises() -> None:
    """Errors of the program are the program's; a wrong `fn` is named."""
    with pytest.raises(ValueError, match="broadcast"):
        ufuse.explain(lambda x: x + np.ones(5), X)
    for wrong, name in ((3, "int"), (None, "NoneType"), (len, "len")):
        with pytest.raises(TypeError, match=f"fn must be a Python function.* not .*{name}"):
            ufuse.explain(wrong)  # type: ignore[arg-type]


def test_explain_of_a_partial() -> None:
    """The function inside is explained."""
    assert len(ufuse.explain(functools.partial(whole, k=2), X).graphs) == 1


def test_explain_leaves_a_compiled_function_alone() -> None:
    """The report is of a function compiled anew."""
    compiled = ufuse.compile(whole)
    ufuse.explain(compiled, X, 2)
    assert compiled.stats.calls == 0


class Asked:
    """A backend that knows whether it was asked."""

    graphs = 0

    def compile(self, graph: Captured) -> Callable[..., object]:
        """Count, and let the reference executor do the work."""
        self.graphs += 1
        return reference.BACKEND.compile(graph)


def test_explain_keeps_options() -> None:
    """The backend of a compiled function, of its methods and partials too; but breaks are no errors."""
    backend = Asked()
    compiled = ufuse.compile(nested, backend=backend, fullgraph=True)
    for one in (compiled, functools.partial(compiled, tol=0.25)):
        asked = backend.graphs
        assert ufuse.explain(one, X).breaks
        assert backend.graphs > asked
    assert ufuse.explain(ufuse.compile(whole, backend="eager"), X, 2).graphs


DENOISE = """
    import numpy as np, ufuse
    from skimage.restoration import _denoise
    noisy = np.random.default_rng(0).random((24, 32))
    print(ufuse.explain(_denoise._denoise_tv_chambolle_nd, noisy, max_num_iter=20))
"""


@pytest.mark.any_python
def test_denoise_reads_well() -> None:
    """The demo's program: few graphs, one place, by the package's own file name; its `while` loop has no native code."""
    pytest.importorskip("skimage")
    lines = run(DENOISE).stdout.splitlines()
    assert re.fullmatch(
        r"_denoise_tv_chambolle_nd\(\) runs as [3-6] graphs, and plain Python at 1 place and 1 loop.",
        lines[0],
    )
    assert lines[1].startswith("skimage/restoration/_denoise.py:")
    assert "      if np.abs(E_previous - E) < eps * E_init:" in lines
    assert not any("on the stack" in line for line in lines)


# The parts that messages are made of


def test_files_are_named_by_their_package() -> None:
    """Installed files are named from their package on, others whole."""
    assert places.short_file(np.__file__) == "numpy/__init__.py"
    assert places.short_file(logging.__file__) == "logging/__init__.py"
    assert places.short_file("/home/me/model.py") == "/home/me/model.py"


def test_break_as_text() -> None:
    """One line with the place, the reason and the code."""
    found = GraphBreak("opcode", "STORE_ATTR").at("model.py", 41, "step", "main.py:3 in run()")
    assert str(found) == (
        "model.py:41 in step(), called from main.py:3 in run(): the graph ends here, because "
        "assigning to an attribute is not captured yet [opcode]"
    )


def test_an_interrupt_leaves_no_file_open(tmp_path: Path) -> None:
    """It may come as soon as a file of the user's is open, of which Python would then warn."""
    file = tmp_path / "model.py"
    file.write_bytes(b"# coding: latin-1\r\n  name = '\xe9\x0c'\r\n")

    def interrupt(_: object, event: str, what: object) -> None:
        if event == "c_return" and what in (open, os.open, np.fromfile):
            raise KeyboardInterrupt

    sys.setprofile(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            places.source_line(str(file), 2)
    finally:
        sys.setprofile(None)
    assert places.source_line(str(file), 2) == "name = '\xe9\x0c'"
    assert places.source_line(str(file), 4) == places.source_line("<nowhere>", 1) == ""


# Log and environment


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


LOGGED = """
    import numpy as np, ufuse
    @ufuse.compile
    def f(x, k):
        y = x * k
        print("middle")
        return y + 1
    f(np.ones(3), 2)
    f(np.ones((3, 3)), 2)
"""


def test_log_of_breaks_and_retraces() -> None:
    """`UFUSE_LOG` shows one line for each, on standard error, and nothing else."""
    done = run(LOGGED, UFUSE_LOG="breaks,retraces")
    assert done.stdout == "middle\nmiddle\n"
    lines = done.stderr.splitlines()
    assert lines[0] == (
        "ufuse.breaks: <string>:6 in f(): the graph ends here, because print cannot be part of a graph [call]"
    )
    assert (
        lines[1]
        == "  do it before or after the array work, if it is in your code; left here it runs as plain Python"
    )
    assert lines[2].startswith(
        "ufuse.retraces: <string>:3 in f() is traced again, because x is no longer a 1-d array of float64; "
        "now a 2-d float64 array"
    )
    assert all(line.startswith("ufuse.retraces: ") for line in lines[2:])
    assert not run(LOGGED).stderr


def test_log_of_everything() -> None:
    """Every topic writes under its own name."""
    done = run(LOGGED, UFUSE_LOG="all")
    assert done.returncode == 0
    names = {line.split(":")[0] for line in done.stderr.splitlines() if line.startswith("ufuse.")}
    assert names >= {
        "ufuse.breaks",
        "ufuse.retraces",
        "ufuse.guards",
        "ufuse.graphs",
        "ufuse.times",
        "ufuse.bytecode",
    }


def test_set_log(caplog: pytest.LogCaptureFixture) -> None:
    """Loggers are the standard ones; names are checked."""
    with caplog.at_level(logging.INFO, "ufuse.breaks"):
        ufuse.compile(nested)(X)
    assert [record.name for record in caplog.records] == ["ufuse.breaks"] * 2
    ufuse.set_log("graphs, breaks")
    assert logging.getLogger("ufuse.graphs").isEnabledFor(logging.DEBUG)
    ufuse.set_log("")
    assert not logging.getLogger("ufuse.graphs").isEnabledFor(logging.DEBUG)
    with pytest.raises(ValueError, match="topics names 'brakes', which is not one of breaks"):
        ufuse.set_log("brakes")
    with pytest.raises(TypeError, match="topics must be a str"):
        ufuse.set_log(["breaks"])  # type: ignore[arg-type]


@pytest.mark.any_python
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("UFUSE_THREADS", "two", "UFUSE_THREADS must be a whole number above 0, not 'two'"),
        ("UFUSE_THREADS", "0", "UFUSE_THREADS must be a whole number above 0, not '0'"),
        ("UFUSE_CHECK", "yes", "UFUSE_CHECK must be 0 or 1, not 'yes'"),
        ("UFUSE_EAGER", "2", "UFUSE_EAGER must be 0 or 1, not '2'"),
        ("UFUSE_CACHE", "no", "UFUSE_CACHE must be 0 or 1, not 'no'"),
        ("UFUSE_LOG", "brakes", "UFUSE_LOG names 'brakes', which is not one of breaks"),
    ],
)
def test_setting_that_means_nothing(name: str, value: str, words: str) -> None:
    """The import fails with one sentence that names the variable."""
    done = run("import ufuse", **{name: value})
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(words)
    caught = run("try: import ufuse\nexcept Exception as error: print(error)", **{name: value})
    assert caught.stdout.startswith(words)


@pytest.mark.any_python
def test_settings_that_are_right() -> None:
    """Threads, check and eager are taken from the environment."""
    program = """
        import numpy as np, ufuse
        from ufuse.backends.numpy import threads
        f = ufuse.compile(lambda x: x + 1)
        f(np.ones(3))
        print(threads(), len(f.graphs))
    """
    assert run(program, UFUSE_THREADS="1", UFUSE_EAGER="1").stdout == "1 0\n"
    assert run(program, UFUSE_THREADS="2", UFUSE_CHECK="1").stdout == "2 1\n"


WRONG_BACKEND = """
    import numpy as np, ufuse
    from ufuse.backends import reference
    class Wrong:
        name = "wrong"
        def compile(self, graph):
            right = reference.BACKEND.compile(graph)
            return lambda *inputs: right(*inputs) * 2
    f = ufuse.compile(lambda x: x + 1, backend=Wrong())
    print(f(np.ones(2)))
"""


@pytest.mark.any_python
def test_check_catches_a_wrong_backend() -> None:
    """`UFUSE_CHECK=1` stops at the first result that is not the reference executor's, and shows the graph."""
    assert run(WRONG_BACKEND).stdout == "[4. 4.]\n"
    done = run(WRONG_BACKEND, UFUSE_CHECK="1")
    assert done.returncode != 0
    assert not done.stdout
    assert "CheckFailed: result 0 of this graph differs from the reference executor" in done.stderr
    assert (
        "element [0] is np.float64(4.0) instead of np.float64(2.0), and 1 more differ"
        in done.stderr
    )
    assert "add" in done.stderr.split("instead of")[-1]


def test_command_line_info() -> None:
    """`python -m ufuse info` names versions, threads and backends."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ufuse", "info"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.startswith(f"ufuse {ufuse.__version__}, NumPy {np.__version__}, Python 3.")
    assert "backend numpy: found" in done.stdout


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m ufuse`."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "ufuse", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.any_python
def test_command_line_alone() -> None:
    """Without a command it says what there is; `--version` is one line."""
    done = command()
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("@ufuse.compile", "demo", "info", "--version", "ufuse.explain"):
        assert word in done.stdout
    assert len(done.stdout.splitlines()) < 25
    assert command("--version").stdout == f"ufuse {ufuse.__version__}\n"
    wrong = command("dmo")
    assert wrong.returncode == 2
    assert "invalid choice: 'dmo'" in wrong.stderr


@pytest.mark.any_python
def test_where_the_picture_of_the_demo_goes(tmp_path: Path) -> None:
    """`--output` is a file or a folder; anything else is said before the programs run."""
    demo = pytest.importorskip("ufuse.demo")
    assert demo.picture_at(tmp_path) == tmp_path / demo.PICTURE
    assert demo.picture_at(tmp_path / "my.png") == tmp_path / "my.png"
    for path, words in (
        (tmp_path / "none" / "my.png", "there is no folder"),
        (tmp_path / "my", "end in .png"),
    ):
        done = command("demo", "--output", str(path))
        assert done.returncode == 2
        assert words in done.stderr.splitlines()[-1]


def test_inputs_keep_their_names_where_sizes_became_known() -> None:
    """A size that was found equal to a number is shown as that number, beside its argument's name."""

    def product(x: Any) -> Any:
        return np.matmul(x, np.eye(3)) * 2

    report = str(ufuse.explain(product, np.ones((3, 3))))
    assert "takes   x: float64[3, 3]" in report


# Loops


def level(x: Any, alpha: float) -> Any:
    y = 0.0
    for i in range(len(x)):
        y = alpha * x[i] + (1 - alpha) * y
    return y


def squares(values: Any, _: float) -> Any:
    total = 0.0
    for value in values:
        total += value * value
    return total


def labelled(x: Any, _: float) -> Any:
    last: dict[Any, int] = {}
    for i in range(len(x)):
        last[x[i] > 0.5, "half"] = i
    return last


class Steps:
    """An object that remembers."""

    def __init__(self) -> None:
        self.last: Any = (0.0, 0.0)

    def run(self, x: Any, _: float) -> Any:
        """Take steps."""
        for i in range(len(x) - 1):
            self.last = x[i], x[i + 1]
        return self.last


LOOPS = [
    (squares, "loop-over", "it goes over `values`, a set"),
    (
        labelled,
        "loop-objects",
        "it changes a dict that is not known to have ints, or pairs of them, as keys of numbers of one type, in line ",
    ),
    (
        Steps().run,
        "loop-attribute",
        "it sets the attribute self.last, which is a tuple, and neither a number nor an array, in line ",
    ),
]


def values_for(function: Any) -> Any:
    x = np.random.default_rng(1).random(20_000)
    return set(x.tolist()) if function is squares else x


@pytest.mark.parametrize(("function", "code", "why"), LOOPS)
def test_report_says_why_a_loop_is_plain(function: Any, code: str, why: str) -> None:
    """With a code, its line, and what to do; not that plain Python turns it, a second time."""
    pytest.importorskip("llvmlite")
    report = ufuse.explain(function, values_for(function), 0.5)
    (loop,) = report.loops
    assert (loop.code, loop.turns, loop.nests) == (code, 0, ())
    assert loop.why_not.startswith(why)
    lines = str(report).splitlines()
    line = line_of(getattr(function, "__func__", function), "for ")
    (at,) = (i for i, text in enumerate(lines) if text.startswith(f"Loop, line {line}"))
    assert lines[at + 2 : at + 4] == [f"  because {loop.why_not} [{code}]", f"  -> {loop.hint}"]
    assert "began before" not in str(report)
    assert "not unrolled" not in str(report)


def prices(rows: Any) -> Any:
    total = 0.0
    for row in rows:
        total += row["price"] * row["count"]
    return total


def given_back() -> tuple[ufuse.Report, Any]:
    """A report of a loop over dicts, and what timing has found of it: a turn is slower as a graph."""
    rows = [{"price": 1.5, "count": n} for n in range(5000)]
    report = ufuse.explain(prices, rows)
    (loop,) = report.loops
    assert not loop.turns
    found = Decision("prices", __file__, loop.line + 1, "plain", 800, 150)
    return report, found


def test_report_leaves_out_what_was_given_back() -> None:
    """Graphs, breaks and retraces within a loop that is plain Python again help nobody; why it is so does."""
    pytest.importorskip("llvmlite")
    report, found = given_back()
    inside = GraphBreak("call", "print").at(__file__, found.line, "prices")
    plain = dataclasses.replace(report, decisions=(found,), breaks=(inside,))
    assert plain.plain_loops == list(report.loops)
    assert plain.told_breaks == []
    assert plain.told_specialisations == []
    lines = str(plain).splitlines()
    assert lines[0] == "prices() runs as plain Python: its loop has no native code."
    assert re.fullmatch(r"A call takes [^,]+\.", lines[2])
    assert lines[-4:] == [
        "    for row in rows:",
        "  because it goes over `rows`, a list whose first item is a dict [loop-over]",
        f"  -> {report.loops[0].hint}",
        "  it runs as plain Python, 0.15 µs a turn; as graphs a turn took 0.80 µs",
    ]


def test_report_keeps_what_runs_as_graphs() -> None:
    """Where graphs of a loop's turns are faster they are told, and what a turn takes."""
    pytest.importorskip("llvmlite")
    report, found = given_back()
    faster = dataclasses.replace(found, way="compiled", plain=1200)
    kept = dataclasses.replace(report, decisions=(faster,))
    assert kept.plain_loops == []
    assert "  its turns run as graphs, 0.80 µs each; in plain Python 1.20 µs" in str(kept)
    assert "Timed while it ran" not in str(kept)
    assert len(kept.told_specialisations) == len(kept.graphs)


def test_report_of_what_needs_no_change() -> None:
    """Places where nobody has to do anything are told in short, behind the others."""
    report = ufuse.explain(nested, X)
    line = line_of(nested, "if y.max")
    (first, *_) = [one for one in report.breaks if one.code == "call"]
    free = GraphBreak("operator", "len of words").at(__file__, line, "nested")
    text = str(dataclasses.replace(report, breaks=(free, first)))
    assert text.index(first.place) < text.index(
        "Where a graph ends, too, and nothing has to be changed:"
    )
    assert (
        f"  {__file__}:{line} in nested()\n"
        "      if y.max() > tol:\n"
        "  because len of words is not captured yet [operator]\n"
    ) in text
    alone = str(dataclasses.replace(report, breaks=(free,)))
    assert "Where a graph ends, and nothing has to be changed:" in alone
    assert "->" not in alone


def test_report_tells_of_a_method_once() -> None:
    """Not that it is looked up, and then that it is called."""

    def listed(x: Any) -> Any:
        y = x + 1
        return y.tolist(), y * 2

    report = ufuse.explain(listed, X)
    assert [one.code for one in report.breaks] == ["numpy-call", "call"]
    (told,) = report.told_breaks
    assert told.reason == "ndarray.tolist cannot be part of a graph"


def test_report_names_a_loops_variable() -> None:
    """What a loop's iterator gives is told by the variable, not by its line."""

    def summed(table: Any) -> Any:
        total = 0.0
        for _, value in table.items():  # noqa: PERF102
            total += value.sum()
        return total

    text = str(ufuse.explain(summed, {n: np.ones(3) for n in range(3000)}))
    assert "  takes   value: float64[n]" in text
    assert "a value of line" not in text


def test_report_names_few_of_many() -> None:
    """The names of many inputs are counted."""
    names = [f"x{n}" for n in range(12)]
    lines = f"def joined({', '.join(names)}):\n    return {' + '.join(names)}\n"
    made: dict[str, Any] = {}
    exec(lines, made)
    text = str(ufuse.explain(made["joined"], *(X + n for n in range(12))))
    assert "  takes   x0, x1, x2, x3, x4, x5, x6, x7 and 4 more: float64[n, m]" in text


def test_report_says_only_the_functions_own_facts() -> None:
    """What a library's code relies on is counted, not named."""

    def frequencies(x: Any) -> Any:
        return np.fft.rfftfreq(len(x)) * np.hanning(len(x) // 2 + 1)

    (line,) = re.findall("  checks .*", str(ufuse.explain(frequencies, np.ones(10))))
    assert "integer_types" not in line


def test_report_of_a_with_block() -> None:
    """Entering and leaving is said in words, and a method by what the program calls it."""

    def saved(x: Any, path: Path) -> Any:
        y = x + 1
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123  as users write it
            file.write(str(y.sum()))
        return y * 2

    reasons = " ".join(one.reason for one in ufuse.explain(saved, X, Path(os.devnull)).breaks)
    assert "__enter__" not in reasons
    assert "builtin_function_or_method" not in reasons
    assert "entering a `with` block" in reasons
    assert "open cannot be part of a graph" in reasons


def test_report_says_that_llvm_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that llvmlite is to be installed, which is."""
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(nests, "_made", lambda _: None)
    report = ufuse.explain(level, np.random.default_rng(1).random(20_000), 0.5)
    (loop,) = report.loops
    assert (loop.code, loop.turns) == ("loop-failed", 0)
    assert "llvmlite" not in str(report)


def test_report_of_a_native_loop() -> None:
    """Its turns; in a notebook its blocks as a drawing, and its text."""
    pytest.importorskip("llvmlite")
    report = ufuse.explain(level, np.random.default_rng(1).random(100_000), 0.5)
    (loop,) = report.loops
    assert loop.turns > 100_000
    assert not loop.why_not
    assert f"Loop, line {loop.line}: native code, {loop.turns:,} turns" in str(report)
    alone = dataclasses.replace(report, graphs=(), specialisations=(), runs=(), codes=())
    says = "level() runs as 1 native loop, with plain Python around it."
    assert str(alone).splitlines()[0] == says
    page = report._repr_html_()
    assert "as native code</summary><svg" in page
    assert "nest level" in page


def test_loops_of_a_compiled_function() -> None:
    """They are data, too."""
    pytest.importorskip("llvmlite")
    compiled = ufuse.compile(level)
    assert compiled.loops == ()
    for _ in range(3):
        compiled(np.random.default_rng(1).random(100_000), 0.5)
    (loop,) = compiled.loops
    assert re.fullmatch(
        rf"<loop of level\(\), line {loop.line}: native code, [\d,]+ turns>", repr(loop)
    )
    assert (loop.function, loop.file, loop.line + 1) == ("level", __file__, loop.last_line)
    assert str(loop.nests[0]).startswith("nest level")


WITHOUT_LLVM = """
import sys
sys.modules["llvmlite"] = None
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "llvmlite" else find_spec(name, *rest)
import numpy as np
import ufuse
from tests.ufuse.test_report import level
x = np.random.default_rng(1).random(20_000)
compiled = ufuse.compile(level)
for _ in range(3):
    assert repr(compiled(x, 0.5)) == repr(level(x, 0.5))
print(ufuse.explain(level, x, 0.5))
"""


@pytest.mark.any_python
def test_report_without_llvmlite() -> None:
    """Loops run as they did, and the report says what to install."""
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT_LLVM],
        capture_output=True, check=False, text=True, cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert "because there is no llvmlite [loop-llvm]" in found.stdout, found.stderr


def of_each(x: Any) -> Any:
    return np.array([value * value if value > 0 else -value for value in x])


def listed(x: Any) -> Any:
    return [[value * value for value in row] for row in x]


def neighbours(board: Any) -> Any:
    return sum(np.roll(board, turn, (0, 1)) for turn in ((0, 1), (1, 0), (1, 1)))


def test_whole_calls_are_not_missed() -> None:
    """Where all is one graph and the function has no loop, nobody asks for native code."""
    report = ufuse.explain(neighbours, np.ones((30, 40)))
    assert str(report).startswith("neighbours() runs as one graph, from start to end.\n")
    assert "native code" not in str(report)


def test_whole_calls_are_told() -> None:
    """A function that has native code for whole calls alone is timed so; or the report says why it has none."""
    pytest.importorskip("llvmlite")
    report = ufuse.explain(of_each, np.linspace(-1.0, 1.0, 500))
    assert str(report).startswith(
        "of_each() runs as one piece of native code, from start to end.\n"
    )
    assert report.whole_seconds is not None
    assert " as one piece of native code, in plain Python " in str(report)
    assert ": no native code" not in str(report)
    assert report.call_seconds == report.whole_seconds
    assert "Where a graph ends" not in str(report)
    report = ufuse.explain(listed, np.ones((3, 4)))
    assert report.whole_seconds is None
    assert (
        "Whole calls: no native code\n  because it returns a list of tuples or lists, which is not followed"
        in str(report)
    )


def test_where_graphs_run(host: Host) -> None:
    """On a GPU, by what; or on the CPU, and why. Code of NumPy's alone has no such line."""

    def sorted_twice(x: np.ndarray) -> np.ndarray:
        return np.sort(x * 2) + 1

    def ordered(x: np.ndarray) -> np.ndarray:
        return np.argsort(x * 2)

    x = np.linspace(1, 0, 7)
    there = str(ufuse.explain(ufuse.compile(sorted_twice, backend="cupy"), x))
    assert "\n  runs    on the GPU: 2 kernels and 1 call of CuPy's\n" in there
    here = str(ufuse.explain(ufuse.compile(ordered, backend="cupy"), x))
    assert "\n  runs    on the CPU, as numpy.argsort without kind='stable'\n" in here
    of_cupys = str(ufuse.explain(lambda x: x * 2 + 1, host.cupy.arange(4.0)))
    assert "\n  runs    on the GPU: 1 kernel\n" in of_cupys
    assert "\n  runs  " not in str(ufuse.explain(sorted_twice, x))
