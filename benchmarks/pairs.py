"""Two programs measured in turn, each run a process of its own, so that a machine whose speed drifts is fair to both.

Figures are medians with their range; a ratio is the median of the ratios of each pair. Knows no figure by name.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["PEER", "child", "has_peer", "interleaved", "show", "summary"]

HERE = Path(__file__).parent
PEER = "llama.cpp"

Figures = Mapping[str, float]


def has_peer(python: str) -> bool:
    """Whether llama-cpp-python can be measured: in another interpreter, or installed in this one."""
    return python != sys.executable or importlib.util.find_spec("llama_cpp") is not None


def child(python: str, script: str, *arguments: str) -> dict[str, Any]:
    """Run one measurement and read the JSON of its last line."""
    done = subprocess.run([python, str(HERE / script), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{script} {' '.join(arguments)} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def interleaved(
    model: str, pairs: int, peer_python: str | None, *arguments: str, ours: Sequence[str] = ()
) -> dict[str, dict[str, Any]]:
    """`pairs` runs of measure.py on `model` for us and, unless `peer_python` is None, for the peer; their summary."""
    mine, theirs = [], []
    for _ in range(pairs):
        mine.append(child(sys.executable, "measure.py", "boostr", model, *arguments, *ours))
        if peer_python:
            theirs.append(child(peer_python, "measure.py", PEER, model, *arguments))
    return summary(mine, theirs)


def summary(mine: Sequence[Figures], theirs: Sequence[Figures]) -> dict[str, dict[str, Any]]:
    """Per figure: median and range of each side, the ratio ours / peer and its range."""
    rows: dict[str, dict[str, Any]] = {}
    for figure in mine[0]:
        a = [run[figure] for run in mine]
        rows[figure] = {"ours": statistics.median(a), "range": [min(a), max(a)]}
        if theirs:
            b = [run[figure] for run in theirs]
            ratios = [x / y for x, y in zip(a, b, strict=True)]
            rows[figure] |= {"peer": statistics.median(b), "peer_range": [min(b), max(b)]}
            rows[figure] |= {"ratio": statistics.median(ratios), "ratio_range": [min(ratios), max(ratios)]}
    return rows


def show(rows: Mapping[str, Mapping[str, Any]]) -> None:
    for figure, row in rows.items():
        line = f"{figure:36} {row['ours']:9.2f} [{row['range'][0]:.2f}, {row['range'][1]:.2f}]"
        if "peer" in row:
            line += f"   {row['peer']:9.2f} [{row['peer_range'][0]:.2f}, {row['peer_range'][1]:.2f}]"
            line += f"   ratio {row['ratio']:.2f} [{row['ratio_range'][0]:.2f}, {row['ratio_range'][1]:.2f}]"
        print(line, flush=True)
