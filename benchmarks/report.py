"""Where results go: a table while they come, a JSON file and a plot for each program."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from benchmarks.harness import Row

RESULTS = Path(__file__).resolve().parent / "results"
NOT_EXACT = "~"  # beside the speed of a rival whose bits are not eager's

LEAST, LATE = (
    0.95,
    0.4,
)  # a ratio, and seconds that a first call may take more: what users must never meet


def heading(peers: list[str]) -> str:
    """Name the columns."""
    columns = ["eager ms", "compiled ms", "ratio", "least", "first ms", *peers]
    return f"{'program':<34}{'size':>10}" + "".join(f"{name:>13}" for name in columns)


def line(name: str, row: Row, peers: dict[str, dict[str, Any]]) -> str:
    """Write one row; where results differ it says so in the place of any ratio."""
    ratios = ["DIFFERS", "-"]
    if not row.difference:
        ratios = [f"{row.ratio:.2f}x", f"{row.eager.least / row.other.least:.2f}x"]
    cells = [milliseconds(row.eager.median), milliseconds(row.other.median), *ratios]
    cells += [milliseconds(row.first_call), *(peer_cell(result) for result in peers.values())]
    text = f"{name:<34}{row.size:>10}" + "".join(f"{cell:>13}" for cell in cells)
    notes = [f"    {peer}: {r['failed']}" for peer, r in peers.items() if r.get("failed")]
    differences = [f"    {part}" for part in row.difference.splitlines()]
    return "\n".join([text, *differences, *notes])


def summary(rows: list[dict[str, Any]]) -> str:
    """Give means, and name the programs that lose: below LEAST of eager's speed, or with a late first call."""
    slow = [r for r in rows if r.get("ratio", 1.0) < LEAST]
    late = [r for r in rows if r["first_call"] > r["eager"]["median"] + LATE]
    lines = [
        f"{len(found)} of {len(rows)} {what}"
        + "".join(f"\n    {r['program']} of {r['size']}" for r in found)
        for found, what in (
            (slow, f"below {LEAST} x eager's speed"),
            (late, f"first calls above eager + {LATE * 1e3:.0f} ms"),
        )
    ]
    return "\n".join([*means(rows), *lines])


def means(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The geometric means of all ratios, and beside each rival's of those that it runs."""
    ratios = {(row["program"], row["size"]): row["ratio"] for row in rows if "ratio" in row}
    if ratios:
        yield f"geometric mean of {len(ratios)}: {geometric_mean(ratios.values()):.2f} x eager"
    for peer in sorted({peer for row in rows for peer in row.get("peers", {})}):
        found = {
            (row["program"], row["size"]): row["peers"][peer]
            for row in rows
            if "failed" not in row["peers"][peer] and (row["program"], row["size"]) in ratios
        }
        if found:
            exact = sum(bool(one["exact"]) for one in found.values())
            speed = geometric_mean(one["speed"] for one in found.values())
            ours = geometric_mean(ratios[one] for one in found)
            yield (
                f"{peer}: runs {len(found)} of these, {exact} to the bit, geometric mean {speed:.2f} x eager; "
                f"ufuse on the same: {ours:.2f}"
            )


def milliseconds(seconds: float) -> str:
    """Write a time with four digits that matter."""
    return f"{seconds * 1e3:.4g}"


def peer_cell(result: dict[str, Any]) -> str:
    """Write a rival's speed against eager, marked where it is not bit-exact."""
    if "failed" in result:
        return "failed" if result["failed"] else "-"
    return f"{'' if result['exact'] else NOT_EXACT}{result['speed']:.2f}x"


def machine() -> dict[str, Any]:
    """Describe what was measured on: versions, processor and threads; no names of hosts."""
    return {
        "python": platform.python_version(),
        "versions": {name: version_of(name) for name in ("ufuse", "numpy", "llvmlite")},
        "processor": processor(),
        "simd": np.show_config(mode="dicts")["SIMD Extensions"].get("found", []),
        "threads": len(os.sched_getaffinity(0)),
        "settings": {k: v for k, v in os.environ.items() if k in {"UFUSE_THREADS", "UFUSE_CHECK"}},
    }


def version_of(name: str) -> str | None:
    """Give the installed version, if any."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def processor() -> str:
    """Name the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def save(name: str, rows: list[dict[str, Any]]) -> list[Path]:
    """Write `results/<name>.json`, and a plot where matplotlib is installed."""
    text = save_rows(name, rows)
    if importlib.util.find_spec("matplotlib") is None:  # extra "bench"
        return [text]
    return [text, plot(name, rows)]


def save_group(group: str, rows: list[dict[str, Any]]) -> list[Path]:
    """Write `results/<group>.json`, and a plot where matplotlib is installed."""
    text = save_rows(group, rows)
    if importlib.util.find_spec("matplotlib") is None:  # extra "bench"
        return [text]
    return [text, plot_group(group, rows)]


def update_group(group: str, rows: list[dict[str, Any]], programs: list[str]) -> None:
    """Save rows in the place of those of the same programs; the others stay, if the same machine measured them."""
    timed = {row["program"] for row in rows}
    if not timed.issuperset(programs):
        path = RESULTS / f"{group}.json"
        saved: dict[str, Any] = {"machine": machine(), "rows": []}
        if path.exists():
            saved = json.loads(path.read_text())
        if saved["machine"] != machine():
            print(
                f"{path.name} is of another machine or other versions, and stays as it is: run all of {group}"
            )
            return
        rows = [row for row in saved["rows"] if row["program"] not in timed] + rows
        rows = sorted(rows, key=lambda row: programs.index(row["program"]))
    save_group(group, rows)


def save_rows(name: str, rows: list[dict[str, Any]]) -> Path:
    """Write `results/<name>.json`."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"name": name, "machine": machine(), "rows": rows}, indent=1) + "\n")
    return path


def plot(name: str, rows: list[dict[str, Any]]) -> Path:
    """Draw the speed against eager at each size, rivals beside; hatched: not bit-exact."""
    peers = sorted({peer for row in rows for peer in row["peers"]})
    figures = importlib.import_module("matplotlib.figure")
    figure = figures.Figure(
        figsize=(1.5 + 1.2 * len(rows) + 0.8 * len(peers), 3.2), layout="constrained"
    )
    axes = figure.subplots()
    width = 0.8 / (1 + len(peers))
    for place, who in enumerate(["ufuse", *peers]):
        results = [
            {"speed": row.get("ratio"), "exact": True}
            if who == "ufuse"
            else row["peers"].get(who, {})
            for row in rows
        ]
        bars = axes.bar(
            [i + (place - len(peers) / 2) * width for i in range(len(rows))],
            [result.get("speed") or 0.0 for result in results],
            width,
            label=who,
        )
        for bar, result in zip(bars, results, strict=True):
            bar.set_hatch("" if result.get("exact") else "///")
        axes.bar_label(bars, ["" if r.get("speed") else "none" for r in results], fontsize=7)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(rows)), [f"{row['size']:,}" for row in rows])
    axes.set_xlabel("size")
    axes.set_ylabel("times faster than eager NumPy")
    axes.set_title(f"{name} (hatched: not the same bits)", fontsize=9)
    axes.legend(fontsize=8)
    path = RESULTS / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    return path


def plot_group(group: str, rows: list[dict[str, Any]]) -> Path:
    """Draw the speeds of all programs of a group against eager, one under another; hollow: not bit-exact."""
    figures = importlib.import_module("matplotlib.figure")
    figure = figures.Figure(figsize=(7, 1.2 + 0.16 * len(rows)), layout="constrained")
    axes = figure.subplots()
    places = list(range(len(rows), 0, -1))
    ours = [
        (row["ratio"], True, place)
        for row, place in zip(rows, places, strict=True)
        if "ratio" in row
    ]
    found = {"ufuse": ours}
    for peer in sorted({peer for row in rows for peer in row.get("peers", {})}):
        results = [
            (row["peers"].get(peer, {}), place) for row, place in zip(rows, places, strict=True)
        ]
        found[peer] = [
            (one["speed"], one["exact"], place) for one, place in results if "speed" in one
        ]
    for marker, (who, points) in zip("o^sDv", found.items(), strict=False):
        drawn = axes.plot(
            [one[0] for one in points if one[1]],
            [one[2] for one in points if one[1]],
            marker,
            ms=4,
            label=who,
        )
        hollow = [one for one in points if not one[1]]
        axes.plot(
            [one[0] for one in hollow],
            [one[2] for one in hollow],
            marker,
            ms=4,
            mfc="none",
            color=drawn[0].get_color(),
        )
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_ylim(0, len(rows) + 1)
    names = [f"{row['program'].removeprefix(group + '.')} {row['size']:,}" for row in rows]
    axes.set_yticks(places, names, fontsize=5)
    axes.set_xlabel("times faster than eager NumPy (hollow: not the same bits)")
    axes.legend(fontsize=8)
    path = RESULTS / f"{group}.svg"
    figure.savefig(path, metadata={"Date": None})
    return path
