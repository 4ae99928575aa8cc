"""Keys and values into the cache, and attention over it, for all spans of a packed batch in one call each."""

from __future__ import annotations

from numr.errors import ShapeError
from numr.nn import reference_kv
from numr.nn.checks import fresh, packed
from numr.nn.kernels import kernels, table_fault
from numr.nn.kv import KVLayer, KVTable
from numr.tensor import Tensor


def kv_append(k: Tensor, v: Tensor, table: KVTable, layer: KVLayer) -> None:
    """Write each span's rows at positions position .. position + rows - 1 into the segments that cover them.

    k: (T, kv_heads * k_dim), v: (T, kv_heads * v_dim), float32; converted to the table's dtype, to nearest even.
    Raises DTypeError, ShapeError (also when a span does not fit the batch, or its segments leave a gap).
    """
    a = packed("kv_append", "k", k, layer.kv_heads * layer.k_dim)
    b = packed("kv_append", "v", v, layer.kv_heads * layer.v_dim)
    rows = a.shape[0]
    if rows != b.shape[0]:
        raise ShapeError(f"kv_append: {rows} rows of keys, {b.shape[0]} of values")
    native = kernels()
    if native is None:
        code = reference_kv.check_table(table, rows)
        if code == 0:
            reference_kv.kv_append(a, b, table, layer)
    else:
        where = (rows, table.spans_ptr, len(table.spans), table.segments_ptr, len(table.segments))
        code = native.kv_append(k.ptr, v.ptr, *where, *layer.sizes, table.half)
    if code:
        raise table_fault("kv_append", code)


def attention(
    q: Tensor,
    table: KVTable,
    layer: KVLayer,
    n_heads: int,
    scale: float,
    window: int = 0,
    softcap: float = 0.0,
) -> Tensor:
    """Causal grouped-query attention of every span against its own segments.

    q: (T, n_heads * k_dim) float32; returns (T, n_heads * v_dim), zero for rows of no span. A row at position p sees
    keys j <= p with window == 0 or p - j < window. Scores are q.k * scale, then softcap * tanh(s / softcap) where
    softcap > 0. Keys and values are read as the cache holds them, also those of this pass. Raises DTypeError,
    ShapeError.
    """
    if n_heads < 1 or n_heads % layer.kv_heads:
        raise ShapeError(f"attention: {n_heads} heads are no multiple of {layer.kv_heads} key-value heads")
    if window < 0:
        raise ShapeError(f"attention: a window of {window} tokens; 0 means none")
    a = packed("attention", "q", q, n_heads * layer.k_dim)
    rows = a.shape[0]
    native = kernels()
    if native is None:
        code = reference_kv.check_table(table, rows)
        if code == 0:
            return Tensor(reference_kv.attention(a, table, layer, n_heads, scale, window, softcap))
    else:
        out = fresh((rows, n_heads * layer.v_dim))
        where = (rows, table.spans_ptr, len(table.spans), table.segments_ptr, len(table.segments))
        code = native.attention(q.ptr, out.ptr, *where, *layer.sizes, table.half, n_heads, scale, window, softcap)
        if code == 0:
            return out
    raise table_fault("attention", code)
