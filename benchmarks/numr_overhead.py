"""What a numr call costs beyond the NumPy call in it, on arrays so small that nothing else counts.

    python benchmarks/numr_overhead.py [--repeat 100] [--json]

Prints microseconds per call, best of several runs; the budget is 2 microseconds per operation.
"""

from __future__ import annotations

import argparse
import json
import sys
import timeit
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import numr as nr

BUDGET_US = 2.0
CALLS = 2_000  # short runs, so that some fall into moments when nothing else runs


@dataclass(frozen=True)
class Row:
    operation: str
    numpy_us: float
    numr_us: float

    @property
    def overhead_us(self) -> float:
        return self.numr_us - self.numpy_us


def cases() -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Operation -> (NumPy call, numr call) on float32 arrays of 4 x 4."""
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    t = nr.asarray(a)
    at = np.asarray([0, 2])
    index = nr.asarray(at)
    mask = a > 2
    mask_t = nr.asarray(mask)
    return {
        "add(x, x)": (lambda: np.add(a, a), lambda: nr.add(t, t)),
        "x + x": (lambda: a + a, lambda: t + t),
        "x * 2.0": (lambda: a * 2.0, lambda: t * 2.0),
        "exp(x)": (lambda: np.exp(a), lambda: nr.exp(t)),
        "matmul(x, x)": (lambda: np.matmul(a, a), lambda: nr.matmul(t, t)),
        "x @ x": (lambda: a @ a, lambda: t @ t),
        "reshape(x, (2, 8))": (lambda: np.reshape(a, (2, 8)), lambda: nr.reshape(t, (2, 8))),
        "sum(x, axis=-1)": (lambda: np.sum(a, axis=-1), lambda: nr.sum(t, axis=-1)),
        "max(x)": (lambda: np.max(a), lambda: nr.max(t)),
        "where(mask, x, 0)": (lambda: np.where(mask, a, 0), lambda: nr.where(mask_t, t, 0)),
        "concat([x, x])": (lambda: np.concat([a, a]), lambda: nr.concat([t, t])),
        "x[1:3]": (lambda: a[1:3], lambda: t[1:3]),
        "x[index]": (lambda: a[at], lambda: t[index]),
        "zeros((4, 4))": (lambda: np.zeros((4, 4)), lambda: nr.zeros((4, 4))),
    }


def measure(operation: str, numpy_call: Callable[[], Any], numr_call: Callable[[], Any], repeat: int) -> Row:
    """The two calls in turns, so that both meet the same machine."""
    turns = [(timeit.timeit(numpy_call, number=CALLS), timeit.timeit(numr_call, number=CALLS)) for _ in range(repeat)]
    best_numpy, best_numr = (min(times) / CALLS * 1e6 for times in zip(*turns, strict=True))
    return Row(operation, best_numpy, best_numr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=100, help="runs of which the best counts")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    arguments = parser.parse_args()

    rows = [measure(name, *calls, arguments.repeat) for name, calls in cases().items()]
    if arguments.json:
        print(json.dumps([asdict(row) | {"overhead_us": row.overhead_us} for row in rows], indent=2))
    else:
        print(f"{'operation':<22}{'numpy us':>10}{'numr us':>10}{'overhead':>10}")
        for row in rows:
            print(f"{row.operation:<22}{row.numpy_us:>10.2f}{row.numr_us:>10.2f}{row.overhead_us:>10.2f}")
    return 0 if all(row.overhead_us <= BUDGET_US for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
