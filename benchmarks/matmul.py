"""Speed of quantized products: GB/s of weights and GFLOP/s per type and number of activation rows.

    python benchmarks/matmul.py [--types Q4_1,Q8_0] [--shape 8192x2048] [--rows 1,8] [--precision precise] [--paths]

--paths measures the few-row kernels and the tiles with BLAS beside each other, interleaved: the numbers from which
boostr/quant/crossover.py is filled. The best of several runs is printed: on a shared machine the median says more about
the neighbours. The thread count is numr's (NUMR_NUM_THREADS), the CPU level NUMR_CPU_LEVEL's.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

import numr.native
from boostr.quant import QUANT_TYPES, Product, QuantTensor, Weight
from numr import Tensor

TYPES = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K")
HALVES = {"Q4_0": (0,), "Q4_1": (0, 2), "Q8_0": (0,), "Q4_K": (0, 2), "Q6_K": (208,)}


def random_weight(name: str, rows: int, columns: int) -> Weight:
    """A weight of random blocks with small float16 factors, or a random dense matrix."""
    rng = np.random.default_rng(0)
    kind = QUANT_TYPES[name]
    if kind.dtype is not None:
        return Tensor((rng.standard_normal((rows, columns)) * 0.02).astype(kind.dtype))
    row_bytes = kind.row_bytes(columns)
    raw = rng.integers(0, 256, (rows, row_bytes // kind.block_bytes, kind.block_bytes), dtype=np.uint8)
    for at in HALVES[name]:
        raw[:, :, at : at + 2] = np.array([0.001], np.float16).view(np.uint8)
    return QuantTensor(raw.reshape(rows, row_bytes), kind, (rows, columns))


def best_seconds(calls: list[Callable[[], object]], repeats: int) -> list[float]:
    """The shortest time of each call, the calls taking turns."""
    best = [float("inf")] * len(calls)
    for _ in range(repeats + 1):
        for at, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[at] = min(best[at], time.perf_counter() - start)
    return best


def measure(name: str, shape: tuple[int, int], rows: int, precision: str, paths: bool) -> str:
    """One line: microseconds, GB/s and GFLOP/s of the product as it is chosen, or of both paths."""
    weight = random_weight(name, *shape)
    few = {"kernels": 1 << 30, "tiles": 0} if paths else {"": None}
    products = [Product([weight], precision, few=limit) for limit in few.values()]  # type: ignore[arg-type]
    x = Tensor(np.random.default_rng(1).standard_normal((rows, shape[1])).astype(np.float32))
    seconds = best_seconds([lambda product=product: product(x) for product in products], 20 if rows < 16 else 5)
    size = weight.nbytes if isinstance(weight, QuantTensor) else weight.array.nbytes
    flops = 2 * rows * shape[0] * shape[1]
    parts = [
        f"{label:8s}{s * 1e6:10.1f} us {size / s / 1e9:7.2f} GB/s {flops / s / 1e9:8.1f} GFLOP/s"
        for label, s in zip(few, seconds, strict=True)
    ]
    return f"{name:5s} {shape[0]}x{shape[1]} {precision:8s} M={rows:<5d}" + " | ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure quantized products.")
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--shape", default="8192x2048", help="ROWSxCOLUMNS of the weight")
    parser.add_argument("--rows", default="1,4,8,32", help="numbers of activation rows")
    parser.add_argument("--precision", default="fast", choices=("fast", "precise"))
    parser.add_argument("--paths", action="store_true", help="both paths, for the crossover table")
    chosen = parser.parse_args()
    out, columns = (int(part) for part in chosen.shape.split("x"))
    print(f"level {numr.native.level()}, {numr.native.get_num_threads()} threads")
    for name in chosen.types.split(","):
        if columns % QUANT_TYPES[name].block:
            print(f"{name:5s} has no rows of {columns} columns")
            continue
        for rows in map(int, chosen.rows.split(",")):
            print(measure(name, (out, columns), rows, chosen.precision, chosen.paths), flush=True)


if __name__ == "__main__":
    main()
