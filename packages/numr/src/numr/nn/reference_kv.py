"""kv_append and attention in plain NumPy: the oracle of the native kernels, and their stand-in.

Segments are followed by address exactly as the kernels do. Arrays in, arrays out; callers have checked shapes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from numr.nn.kv import KVLayer, KVTable

Array = np.ndarray[Any, Any]

_MOST_TOKENS = 2**40  # the kernels' bound on positions and capacities
_ROWS = 64  # query rows scored at once: bounds the score matrix to 64 x heads x keys


def check_table(table: KVTable, rows: int) -> int:
    """The kernels' code for what is wrong with a table (kernels.table_fault words it), 0 if nothing is.

    Spans must stay inside the batch and the array of segments; segments must be contiguous in positions and cover
    their span's rows.
    """
    segments = len(table.segments)
    for row, count, position, first, number in table.spans.tolist():
        if min(row, count, position, first, number) < 0 or row + count > rows or first + number > segments:
            return 1
        if position > _MOST_TOKENS:
            return 1
        code = _check_segments(table.segments[first : first + number].tolist(), position, position + count)
        if code:
            return code
    return 0


def _check_segments(segments: list[tuple[int, int, int, int]], begin: int, end: int) -> int:
    first = expected = segments[0][2] if segments else begin
    for base, capacity, start, length in segments:
        if capacity > _MOST_TOKENS or not 0 <= start <= _MOST_TOKENS:
            return 2
        if base == 0 or start != expected or not 0 <= length <= capacity:
            return 2
        expected = start + length
    return 3 if end > begin and not first <= begin < end <= expected else 0


def kv_append(k: Array, v: Array, table: KVTable, layer: KVLayer) -> None:
    """Write each span's rows into the segments that cover their positions, converted to the cache's dtype."""
    for row, rows, position, first, number in table.spans.tolist():
        for segment in table.segments[first : first + number].tolist():
            _, _, start, length = segment
            lo, hi = max(position, start), min(position + rows, start + length)
            if lo >= hi:
                continue
            keys, values = _blocks(segment, table, layer)
            source = slice(row + lo - position, row + hi - position)
            with np.errstate(over="ignore"):  # beyond float16 becomes infinity, as in the kernel
                keys[:, lo - start : hi - start] = k[source].reshape(hi - lo, layer.kv_heads, -1).swapaxes(0, 1)
                values[:, lo - start : hi - start] = v[source].reshape(hi - lo, layer.kv_heads, -1).swapaxes(0, 1)


def attention(
    q: Array, table: KVTable, layer: KVLayer, n_heads: int, scale: float, window: int, softcap: float
) -> Array:
    """Causal grouped-query attention of every span against its own segments; (T, n_heads * v_dim)."""
    out = np.zeros((q.shape[0], n_heads * layer.v_dim), np.float32)
    for row, rows, position, first, number in table.spans.tolist():
        if rows == 0:
            continue
        segments = table.segments[first : first + number].tolist()
        begin = segments[0][2]
        pairs = [_blocks(segment, table, layer) for segment in segments]
        lengths = [segment[3] for segment in segments]
        keys = np.concatenate([k[:, :n] for (k, _), n in zip(pairs, lengths, strict=True)], axis=1).astype(np.float32)
        values = np.concatenate([v[:, :n] for (_, v), n in zip(pairs, lengths, strict=True)], axis=1).astype(np.float32)
        for lo, hi in _chunks(rows):
            positions = np.arange(position + lo, position + hi)
            part = q[row + lo : row + hi].reshape(hi - lo, layer.kv_heads, n_heads // layer.kv_heads, layer.k_dim)
            seen = _attend(part, keys, values, positions, begin, scale, window, softcap)
            out[row + lo : row + hi] = seen.reshape(hi - lo, -1)
    return out


def _attend(
    q: Array, keys: Array, values: Array, positions: Array, begin: int, scale: float, window: int, softcap: float
) -> Array:
    # q (R, kv, group, k_dim), keys (kv, n, k_dim), values (kv, n, v_dim) -> (R, kv, group, v_dim)
    with np.errstate(all="ignore"):
        scores = np.einsum("rhgd,hnd->hgrn", q, keys, optimize=True) * np.float32(scale)
        if softcap > 0:
            scores = np.float32(softcap) * np.tanh(scores / np.float32(softcap))
        distance = positions[:, None] - (begin + np.arange(keys.shape[1]))[None, :]
        hidden = distance < 0
        if window > 0:
            hidden |= distance >= window
        scores = np.where(hidden, np.float32(-np.inf), scores)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True, dtype=np.float32)
        return np.asarray(np.einsum("hgrn,hnd->rhgd", weights, values, optimize=True), np.float32)


def _chunks(rows: int) -> Iterator[tuple[int, int]]:
    for lo in range(0, rows, _ROWS):
        yield lo, min(rows, lo + _ROWS)


def _blocks(segment: tuple[int, int, int, int], table: KVTable, layer: KVLayer) -> tuple[Array, Array]:
    base, capacity, _, _ = segment
    keys = _view(base + capacity * layer.k_offset, (layer.kv_heads, capacity, layer.k_dim), table.dtype)
    values = _view(base + capacity * layer.v_offset, (layer.kv_heads, capacity, layer.v_dim), table.dtype)
    return keys, values


def _view(address: int, shape: tuple[int, int, int], dtype: str) -> Array:
    kind = np.dtype(dtype)
    count = shape[0] * shape[1] * shape[2]
    if count == 0:
        return np.empty(shape, kind)
    memory = (ctypes.c_byte * (count * kind.itemsize)).from_address(address)
    return np.frombuffer(memoryview(memory).cast("B"), kind).reshape(shape)
