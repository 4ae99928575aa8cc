"""Attention once summed a short chunk of a prompt in another order than a long one. The last bit of float32 that this
turned was enough to move rounded activations, and with them the text of a seeded request among others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from numr import Tensor
from numr.nn import SEGMENT, SPAN, KVLayer, KVTable, attention
from numr.nn.kernels import kernels

HEADS, KV_HEADS, DIM = 6, 2, 40
pytestmark = pytest.mark.skipif(kernels() is None, reason="NumPy's products do not promise bits")


def run(q: np.ndarray, memory: np.ndarray, cuts: Sequence[int], capacities: Sequence[int], window: int) -> np.ndarray:
    """Attention of rows cuts[0] to cuts[-1], one call for each chunk; keys and values in segments of `capacities`."""
    size = memory.itemsize
    layer = KVLayer(0, KV_HEADS * DIM * size, KV_HEADS, DIM, DIM)
    buffers, edges = [], [0, *np.cumsum(capacities).tolist()]
    for begin, end in pairwise(edges):
        buffers.append(np.ascontiguousarray(memory[:, :, begin:end]))  # (keys and values, head, token, dim)
    found = []
    for begin, end in pairwise(cuts):
        rows = [
            (buffer.ctypes.data, hi - lo, lo, min(hi, end) - lo)
            for buffer, (lo, hi) in zip(buffers, pairwise(edges), strict=True)
            if lo < end
        ]
        spans = np.array([(0, end - begin, begin, 0, len(rows))], SPAN)
        table = KVTable(spans, np.array(rows, SEGMENT), memory.dtype.name, buffers)
        found.append(attention(Tensor(q[begin:end].copy()), table, layer, HEADS, DIM**-0.5, window).array)
    return np.concatenate(found)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("window", [0, 5, 70, 600])
def test_a_rows_attention_does_not_tell_how_its_prompt_was_cut(window: int, dtype: str) -> None:
    rng = np.random.default_rng(3)
    tokens = 1400
    q = rng.normal(size=(tokens, HEADS * DIM)).astype(np.float32)
    memory = rng.normal(size=(2, KV_HEADS, tokens, DIM)).astype(dtype)
    whole = run(q, memory, [0, tokens], [tokens], window)
    for cuts in ([0, 2, 7, 40, 129, 1000, 1398, tokens], [0, *range(30, tokens, 30), tokens], [0, 513, 515, tokens]):
        for capacities in ([tokens], [256, 64, 1080], [512, 512, 376]):
            np.testing.assert_array_equal(run(q, memory, cuts, capacities, window), whole, f"{cuts[:4]}, {capacities}")
