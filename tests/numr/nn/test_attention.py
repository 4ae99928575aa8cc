"""Attention and kv_append: the kernel against the NumPy reference, and what must not change a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from numr import Tensor
from numr.errors import DTypeError, ShapeError
from numr.nn import SEGMENT, SPAN, KVLayer, KVTable, attention, kv_append, reference_kv

Array = np.ndarray[Any, Any]

# Float32 dot products of up to 256 terms and sums over up to 1300 keys, in another order than NumPy's.
TOLERANCE = 3e-6


@dataclass
class Sequence_:
    """One sequence: rows of this pass, the position of the first, and the segments' (capacity, length)."""

    rows: int
    position: int
    segments: Sequence[tuple[int, int]]
    start: int = 0


def layer_of(kv_heads: int, k_dim: int, v_dim: int, size: int) -> KVLayer:
    before = 24 * size  # as if an earlier layer came first
    return KVLayer(before, before + kv_heads * k_dim * size, kv_heads, k_dim, v_dim)


def make_table(sequences: Sequence[Sequence_], layer: KVLayer, dtype: str, seed: int = 1) -> KVTable:
    rng = np.random.default_rng(seed)
    per_token = layer.v_offset // np.dtype(dtype).itemsize + layer.kv_heads * layer.v_dim
    spans, segments, buffers, row = [], [], [], 0
    for sequence in sequences:
        spans.append((row, sequence.rows, sequence.position, len(segments), len(sequence.segments)))
        start = sequence.start
        for capacity, length in sequence.segments:
            buffer = rng.normal(size=capacity * per_token).astype(dtype)
            buffers.append(buffer)
            segments.append((buffer.ctypes.data, capacity, start, length))
            start += length
        row += sequence.rows
    return KVTable(np.array(spans, SPAN), np.array(segments, SEGMENT), dtype, buffers)


def queries(rows: int, width: int, seed: int = 2) -> Tensor:
    return Tensor(np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32))


def check(
    sequences: Sequence[Sequence_], heads: tuple[int, int], dims: tuple[int, int], dtype: str = "float16", **how: Any
) -> None:
    n_heads, kv_heads = heads
    layer = layer_of(kv_heads, *dims, np.dtype(dtype).itemsize)
    table = make_table(sequences, layer, dtype)
    q = queries(sum(sequence.rows for sequence in sequences), n_heads * dims[0])
    scale = dims[0] ** -0.5
    got = attention(q, table, layer, n_heads, scale, **how).array
    options = {"window": 0, "softcap": 0.0} | how
    expected = reference_kv.attention(q.array, table, layer, n_heads, scale, **options)
    np.testing.assert_allclose(got, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("dim", [1, 3, 16, 24, 64, 80, 96, 128, 192, 256])
@pytest.mark.parametrize("rows", [1, 21])
def test_head_dims(dim: int, rows: int, dtype: str) -> None:
    check([Sequence_(rows, 70, [(96, 70 + rows)])], (4, 2), (dim, dim), dtype)


@pytest.mark.parametrize("dims", [(64, 32), (40, 72), (192, 128)])
@pytest.mark.parametrize("rows", [1, 21])
def test_keys_and_values_of_different_sizes(dims: tuple[int, int], rows: int) -> None:
    check([Sequence_(rows, 9, [(64, 9 + rows)])], (2, 2), dims)


@pytest.mark.parametrize("heads", [(1, 1), (3, 1), (9, 3), (5, 5), (8, 1), (12, 1), (71, 1), (130, 2)])
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_groups_of_heads(heads: tuple[int, int], rows: int) -> None:
    check([Sequence_(rows, 30, [(40, 30 + rows)])], heads, (32, 32))


@pytest.mark.parametrize("keys", [1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 511, 512, 513, 1300])
def test_context_lengths_of_a_decode_step(keys: int) -> None:
    check([Sequence_(1, keys - 1, [(keys, keys)])], (4, 2), (16, 16))


@pytest.mark.parametrize("rows", [1, 2, 16, 17, 63, 64, 65, 150])
def test_prompt_lengths(rows: int) -> None:
    check([Sequence_(rows, 0, [(rows, rows)])], (4, 2), (16, 16))


@pytest.mark.parametrize("window", [1, 2, 7, 64, 65, 200, 100_000])
@pytest.mark.parametrize(("rows", "position"), [(1, 300), (100, 0), (40, 301), (3, 600)])
def test_sliding_window(rows: int, position: int, window: int) -> None:
    check([Sequence_(rows, position, [(128, 128)] * 5)], (4, 2), (16, 16), window=window)


@pytest.mark.parametrize("rows", [1, 30])
@pytest.mark.parametrize("softcap", [0.2, 5.0, 50.0])
def test_softcap(rows: int, softcap: float) -> None:
    check([Sequence_(rows, 100, [(256, 130)])], (4, 2), (64, 64), softcap=softcap)


@pytest.mark.parametrize("rows", [1, 20])
def test_many_segments_of_uneven_lengths(rows: int) -> None:
    lengths = [1, 64, 3, 0, 129, 17, 40]
    check([Sequence_(rows, sum(lengths) - rows, [(n + 5, n) for n in lengths])], (4, 2), (24, 24))


def test_a_sequence_whose_oldest_segments_were_dropped() -> None:
    check([Sequence_(5, 1040, [(64, 64)], start=990)], (4, 2), (16, 16), window=32)


def test_ragged_batch() -> None:
    check(
        [
            Sequence_(1, 40, [(64, 41)]),
            Sequence_(33, 0, [(20, 20), (20, 13)]),
            Sequence_(0, 0, []),
            Sequence_(1, 0, [(1, 1)]),
            Sequence_(9, 700, [(512, 512), (512, 197)]),
        ],
        (6, 2),
        (32, 32),
    )


def test_rows_of_no_span_are_zero() -> None:
    layer = layer_of(1, 8, 8, 4)
    table = make_table([Sequence_(2, 3, [(8, 5)])], layer, "float32")
    table.spans["row"] = 1
    got = attention(queries(4, 16), table, layer, 2, 0.3).array
    assert (got[[0, 3]] == 0).all()
    assert (got[1:3] != 0).all()


def test_an_empty_batch() -> None:
    layer = layer_of(1, 8, 8, 4)
    table = make_table([], layer, "float32")
    assert attention(queries(0, 16), table, layer, 2, 0.3).shape == (0, 16)
    kv_append(queries(0, 8), queries(0, 8), table, layer)


@pytest.mark.parametrize("position", [40, 600])
@pytest.mark.parametrize("rows", [1, 30])
def test_batch_mates_change_nothing(rows: int, position: int) -> None:
    layer = layer_of(2, 32, 32, 2)
    mine = Sequence_(rows, position, [(position, position), (64, rows)])
    mates = [Sequence_(1, 900, [(1024, 901)]), Sequence_(17, 3, [(32, 20)])]
    alone = make_table([mine], layer, "float16")
    together = make_table([mine, *mates], layer, "float16")
    q = queries(rows + 18, 128)
    expected = attention(Tensor(q.array[:rows].copy()), alone, layer, 4, 0.2).array
    np.testing.assert_array_equal(attention(q, together, layer, 4, 0.2).array[:rows], expected)


@pytest.mark.parametrize("chunks", [[1] * 40, [7, 1, 32], [39, 1], [20, 20]])
def test_chunking_changes_no_more_than_rounding(chunks: list[int]) -> None:
    layer = layer_of(2, 32, 32, 2)
    table = make_table([Sequence_(40, 500, [(600, 540)])], layer, "float16")
    q = queries(40, 128)
    expected = attention(q, table, layer, 4, 0.2).array
    got, row = [], 0
    for rows in chunks:
        part = KVTable(np.array([(0, rows, 500 + row, 0, 1)], SPAN), table.segments.copy(), "float16", table.owners)
        part.segments["length"] = 500 + row + rows
        got.append(attention(Tensor(q.array[row : row + rows].copy()), part, layer, 4, 0.2).array)
        row += rows
    np.testing.assert_allclose(np.concatenate(got), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("rows", [1, 20])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_unusual_queries_end_as_in_the_reference(rows: int, bad: float) -> None:
    layer = layer_of(1, 16, 16, 4)
    table = make_table([Sequence_(rows, 90, [(128, 90 + rows)])], layer, "float32")
    q = queries(rows, 32)
    q.array[0, 3] = bad
    got = attention(q, table, layer, 2, 0.25).array
    expected = reference_kv.attention(q.array, table, layer, 2, 0.25, 0, 0.0)
    assert np.isnan(expected[0]).any()
    np.testing.assert_allclose(got, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("rows", [1, 20])
def test_huge_scores_pick_one_key(rows: int) -> None:
    layer = layer_of(1, 16, 16, 4)
    table = make_table([Sequence_(rows, 90, [(128, 90 + rows)])], layer, "float32")
    q = Tensor(queries(rows, 32).array * np.float32(1e20))
    got = attention(q, table, layer, 2, 0.25).array
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, reference_kv.attention(q.array, table, layer, 2, 0.25, 0, 0.0), rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("dim", [1, 7, 16, 40])
def test_append_writes_what_the_reference_writes_and_nothing_else(dim: int, dtype: str) -> None:
    layer = layer_of(3, dim, dim + 1, np.dtype(dtype).itemsize)
    sequences = [Sequence_(5, 30, [(32, 32), (8, 3)]), Sequence_(1, 0, [(1, 1)]), Sequence_(9, 2, [(16, 11)])]
    native, oracle = make_table(sequences, layer, dtype), make_table(sequences, layer, dtype)
    k, v = queries(15, 3 * dim), queries(15, 3 * (dim + 1), 5)
    kv_append(k, v, native, layer)
    reference_kv.kv_append(k.array, v.array, oracle, layer)
    for got, expected in zip(native.owners, oracle.owners, strict=True):
        np.testing.assert_array_equal(got.view(np.uint8), expected.view(np.uint8))


def test_append_rounds_halves_as_numpy_does() -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 4096, dtype=np.uint32)
    powers = np.ldexp(np.float32(1), np.arange(-26, 17))
    edges = np.array([65504, 65519.99, 65520, 1e9, 2**-25 * 1.01, 6e-5, -0.0, np.inf, np.nan], np.float32)
    values = np.concatenate([bits.view(np.float32), edges, -edges, powers, 1.5 * powers])
    values = values[(np.abs(values) >= 2e-38) | (values == 0) | np.isnan(values)]  # float32 subnormals count as zero
    layer = KVLayer(0, 2 * len(values), 1, len(values), 1)
    table = make_table([Sequence_(1, 0, [(1, 1)])], layer, "float16")
    kv_append(Tensor(values[None]), queries(1, 1), table, layer)
    with np.errstate(all="ignore"):
        expected = values.astype(np.float16)
    np.testing.assert_array_equal(table.owners[0][:-1], expected)


def test_subnormal_halves_keep_their_value() -> None:
    layer = KVLayer(0, 32, 1, 16, 16)
    table = make_table([Sequence_(1, 0, [(1, 1)])], layer, "float16")
    table.owners[0][16:] = np.arange(16) * np.float16(2**-24)
    got = attention(queries(1, 16), table, layer, 1, 1.0).array[0]
    np.testing.assert_array_equal(got, np.arange(16, dtype=np.float32) * np.float32(2**-24))


def small() -> tuple[KVTable, KVLayer]:
    layer = layer_of(1, 8, 8, 2)
    return make_table([Sequence_(2, 3, [(4, 4), (8, 1)])], layer, "float16"), layer


@pytest.mark.parametrize(
    ("array", "field", "value"),
    [
        ("spans", "row", -1),
        ("spans", "row", 1),
        ("spans", "rows", 3),
        ("spans", "rows", 2**62),
        ("spans", "segment", 1),
        ("spans", "segments", 2**62),
        ("spans", "position", -1),
        ("spans", "position", 4),
        ("spans", "position", 2**63 - 2),
        ("spans", "segments", 0),
        ("segments", "base", 0),
        ("segments", "start", 5),
        ("segments", "start", -3),
        ("segments", "start", 2**63 - 2),
        ("segments", "capacity", 2**62),
        ("segments", "length", 9),
        ("segments", "length", -1),
    ],
)
def test_tables_that_do_not_fit_are_refused(array: str, field: str, value: int) -> None:
    table, layer = small()
    getattr(table, array)[field] = value
    with pytest.raises(ShapeError):
        attention(queries(2, 16), table, layer, 2, 0.3)
    with pytest.raises(ShapeError):
        kv_append(queries(2, 8), queries(2, 8), table, layer)


def test_shapes_and_dtypes_are_refused() -> None:
    table, layer = small()
    q = queries(2, 16)
    with pytest.raises(ShapeError, match="multiple"):
        attention(q, table, layer_of(3, 8, 8, 2), 2, 0.3)
    with pytest.raises(ShapeError, match="rows, 24"):
        attention(q, table, layer, 3, 0.3)
    with pytest.raises(ShapeError, match="window"):
        attention(q, table, layer, 2, 0.3, window=-1)
    with pytest.raises(DTypeError, match="float64"):
        attention(Tensor(q.array.astype(np.float64)), table, layer, 2, 0.3)
    with pytest.raises(ShapeError, match="contiguous"):
        attention(Tensor(queries(4, 16).array[::2]), table, layer, 2, 0.3)
    with pytest.raises(ShapeError, match="rows of keys"):
        kv_append(queries(2, 8), queries(1, 8), table, layer)
    with pytest.raises(DTypeError, match="bfloat16"):
        KVTable(table.spans, table.segments, "bfloat16")
    with pytest.raises(DTypeError, match="SPAN"):
        KVTable(table.segments, table.segments, "float16")
    with pytest.raises(ShapeError):
        KVLayer(0, 0, 0, 8, 8)
