"""Time numr's fused primitives: microseconds per small call, and attention at decode and prefill shapes.

    python benchmarks/numr_ops.py [--threads N] [--seconds S]

Every number is the median of short runs; other load on the machine shows, so compare runs made side by side.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from numr import Tensor, nn, set_num_threads, show_config
from numr.nn import SEGMENT, SPAN, KVLayer, KVTable

SECONDS = 0.3


def microseconds(call: Callable[[], object]) -> float:
    """Median time of one call over runs of about a millisecond each."""
    call()
    begin = time.perf_counter()
    call()
    repeat = max(1, int(1e-3 / max(time.perf_counter() - begin, 1e-7)))
    runs, until = [], time.perf_counter() + SECONDS
    while time.perf_counter() < until or len(runs) < 3:
        begin = time.perf_counter()
        for _ in range(repeat):
            call()
        runs.append((time.perf_counter() - begin) / repeat * 1e6)
    return statistics.median(runs)


def tensor(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(0).normal(size=shape).astype(np.float32))


def small_operations() -> None:
    x, y, w = tensor(1, 2048), tensor(1, 2048), tensor(2048)
    gate, up = tensor(1, 8192), tensor(1, 8192)
    table, where = tensor(64, 32), np.array([7])
    calls: dict[str, Callable[[], object]] = {
        "rms_norm 2048": lambda: nn.rms_norm(x, w, 1e-5),
        "add_rms_norm 2048": lambda: nn.add_rms_norm(x, y, w, 1e-5),
        "layer_norm 2048": lambda: nn.layer_norm(x, w, w, 1e-5),
        "add_ 2048": lambda: nn.add_(y, x),
        "silu_mul 8192": lambda: nn.silu_mul(gate, up),
        "gelu_mul 8192 (erf)": lambda: nn.gelu_mul(gate, up, False),
        "softmax 2048": lambda: nn.softmax(x),
        "rope_ 32 x 64": lambda: nn.rope_(y, where, table, table, 32, 64, False),
        "rope_ 32 x 64 interleaved": lambda: nn.rope_(y, where, table, table, 32, 64, True),
    }
    for name, call in calls.items():
        y.array[...] = x.array
        print(f"{name:32} {microseconds(call):8.1f} us")


def cache(context: int, rows: int, layer: KVLayer, dtype: str) -> KVTable:
    size = np.dtype(dtype).itemsize
    buffer = np.random.default_rng(1).normal(size=context * layer.kv_heads * 2 * layer.k_dim).astype(dtype)
    assert buffer.nbytes == context * (layer.v_offset + layer.kv_heads * layer.v_dim * size)
    spans = np.array([(0, rows, context - rows, 0, 1)], SPAN)
    return KVTable(spans, np.array([(buffer.ctypes.data, context, 0, context)], SEGMENT), dtype, buffer)


def attention(heads: int, kv_heads: int, dim: int, dtype: str = "float16") -> None:
    layer = KVLayer(0, kv_heads * dim * np.dtype(dtype).itemsize, kv_heads, dim, dim)
    print(f"attention, {heads} heads over {kv_heads}, {dim} dims, {dtype} cache")
    k = tensor(1, kv_heads * dim)
    one = cache(512, 1, layer, dtype)
    print(f"  kv_append, one row              {microseconds(lambda: nn.kv_append(k, k, one, layer)):8.1f} us")
    for context in (16, 512, 4096):
        table, q = cache(context, 1, layer, dtype), tensor(1, heads * dim)
        took = microseconds(lambda q=q, table=table: nn.attention(q, table, layer, heads, 0.1))  # type: ignore[misc]
        print(f"  decode, {context:5} keys              {took:8.1f} us")
    for rows, context in ((16, 512), (512, 512), (512, 4096)):
        table, q = cache(context, rows, layer, dtype), tensor(rows, heads * dim)
        took = microseconds(lambda q=q, table=table: nn.attention(q, table, layer, heads, 0.1))  # type: ignore[misc]
        pairs = rows * (context - rows) + rows * (rows + 1) / 2
        speed = 4 * pairs * heads * dim / took / 1e3
        print(f"  {rows:5} rows, {context:5} keys         {took:8.0f} us {speed:7.1f} GFLOP/s (visible pairs)")


def main() -> None:
    global SECONDS
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options = parser.parse_args()
    SECONDS = options.seconds
    if options.threads:
        set_num_threads(options.threads)
    print(show_config())
    small_operations()
    attention(32, 8, 64)
    attention(9, 3, 64)
    attention(32, 8, 128)
    attention(8, 1, 256)
    attention(32, 8, 64, "float32")


if __name__ == "__main__":
    main()
