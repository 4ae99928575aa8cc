"""Convolution, gated delta rule and gates: kernels against NumPy, the two NumPy forms against each other, and results
that do not depend on how a sequence is cut."""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostr.nn import kernels, recurrence, reference
from boostr.nn.recurrence import DeltaRule, causal_conv, gated_delta, sigmoid_gate_
from boostr.state import MemoryTable
from boostr.state.memory import MemorySpan
from numr import Tensor
from numr.native.levels import supported

Floats = NDArray[np.float32]
GUARD = 8  # floats around a memory that must stay as they are


class Memory:
    """A sequence's buffer: a window and a state at some offsets, poisoned around and before the first pass."""

    def __init__(self, sizes: tuple[int, int]) -> None:
        self.conv, self.state = 4 * GUARD, 4 * (2 * GUARD + sizes[0])
        self.array = np.full(sum(sizes) + 3 * GUARD, np.nan, np.float32)
        self.address = int(self.array.ctypes.data)
        self.sizes = sizes

    def check_guards(self) -> None:
        first, second = self.conv // 4, self.state // 4
        kept = [self.array[:first], self.array[first + self.sizes[0] : second], self.array[second + self.sizes[1] :]]
        assert all(np.isnan(part).all() for part in kept)


def table(*spans: tuple[int, int, int, int]) -> MemoryTable:
    return MemoryTable(np.array(spans, np.int64).view(MemorySpan).reshape(-1))


def floats(rng: np.random.Generator, *shape: int) -> Floats:
    return rng.standard_normal(shape).astype(np.float32)


def make_rule(k_heads: int, v_heads: int, k_dim: int, v_dim: int, tiled: bool = False) -> DeltaRule:
    rng = np.random.default_rng(7)
    a, norm = -np.exp(floats(rng, v_heads)), floats(rng, v_dim)
    return DeltaRule(k_heads, v_heads, k_dim, v_dim, Tensor(a), Tensor(floats(rng, v_heads)), Tensor(norm), 1e-6, tiled)


class Layer:
    """A layer of random numbers that runs rows of a fixed input through a memory."""

    def __init__(self, rule: DeltaRule, rows: int, taps: int = 4) -> None:
        rng = np.random.default_rng(3)
        self.rule = rule
        self.weight = Tensor(floats(rng, taps, rule.channels))
        self.x = floats(rng, rows, rule.channels)
        self.z = floats(rng, rows, rule.v_heads * rule.v_dim)
        self.b, self.a = floats(rng, rows, rule.v_heads), floats(rng, rows, rule.v_heads)

    def memory(self) -> Memory:
        window = (self.weight.shape[0] - 1) * self.rule.channels
        return Memory((window, self.rule.v_heads * self.rule.k_dim * self.rule.v_dim))

    def run(self, picked: NDArray[np.int64], spans: MemoryTable, memory: Memory) -> Floats:
        x, z, b, a = (Tensor(np.ascontiguousarray(array[picked])) for array in (self.x, self.z, self.b, self.a))
        mixed = causal_conv(x, self.weight, spans, memory.conv)
        return np.asarray(gated_delta(self.rule, mixed, z, b, a, spans, memory.state))

    def in_pieces(self, cuts: list[int], in_place: bool = True) -> tuple[Floats, Memory]:
        memory, source, found = self.memory(), 0, []
        for start, stop in pairwise(cuts):
            after = memory if in_place else self.memory()
            found.append(self.run(np.arange(start, stop), table((0, stop - start, source, after.address)), after))
            memory.check_guards()
            memory, source = after, after.address
        return np.concatenate(found), memory


@pytest.fixture
def numpy_only(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setattr(recurrence, "kernels", lambda: None)


SIZES = [(1, 1, 1, 1), (2, 4, 16, 16), (2, 6, 8, 40), (3, 3, 33, 7), (1, 2, 5, 130), (2, 2, 128, 128)]


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_kernels_equal_numpy(sizes: tuple[int, int, int, int], tiled: bool, numpy_only: Callable[[], None]) -> None:
    layer = Layer(make_rule(*sizes, tiled), 70)
    out, memory = layer.in_pieces([0, 70])
    numpy_only()
    expected, kept = layer.in_pieces([0, 70])
    np.testing.assert_allclose(out, expected, rtol=0, atol=3e-5)
    np.testing.assert_allclose(memory.array, kept.array, rtol=0, atol=3e-5)


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("cuts", [[0, 1, 2, 3, 4, 40], [0, 39, 40], [0, 2, 9, 10, 12, 40], list(range(41))])
def test_any_cut_gives_the_same_bits(cuts: list[int], in_place: bool) -> None:
    layer = Layer(make_rule(2, 4, 24, 40), 40)
    whole, memory = layer.in_pieces([0, 40])
    found, left = layer.in_pieces(cuts, in_place)
    if kernels.kernels() is None:
        np.testing.assert_allclose(found, whole, rtol=0, atol=3e-5)
    else:
        np.testing.assert_array_equal(found, whole)
        np.testing.assert_array_equal(left.array, memory.array)


def test_spans_are_apart_and_alone_as_in_company() -> None:
    layer = Layer(make_rule(2, 4, 16, 24), 50)
    lengths, starts = (3, 1, 20, 7), (0, 10, 5, 40)
    alone = []
    for start, length in zip(starts, lengths, strict=True):
        memory = layer.memory()
        rows = np.arange(start, start + length)
        alone.append((layer.run(rows, table((0, length, 0, memory.address)), memory), memory))
    memories = [layer.memory() for _ in lengths]
    firsts = np.cumsum((0, *lengths[:-1]))
    spans = table(*((int(f), n, 0, m.address) for f, n, m in zip(firsts, lengths, memories, strict=True)))
    picked = np.concatenate([np.arange(start, start + n) for start, n in zip(starts, lengths, strict=True)])
    together = layer.run(picked, spans, memories[0])
    for first, length, memory, (expected, kept) in zip(firsts, lengths, memories, alone, strict=True):
        np.testing.assert_allclose(together[first : first + length], expected, rtol=0, atol=1e-6)
        np.testing.assert_allclose(memory.array, kept.array, rtol=0, atol=1e-6)


def test_a_memory_that_is_read_stays_as_it_was() -> None:
    layer = Layer(make_rule(1, 2, 8, 8), 20)
    _, memory = layer.in_pieces([0, 10])
    before = memory.array.copy()
    first, second = layer.memory(), layer.memory()
    spans = table((0, 10, memory.address, first.address), (10, 10, memory.address, second.address))
    out = layer.run(np.concatenate([np.arange(10, 20)] * 2), spans, memory)
    np.testing.assert_array_equal(out[:10], out[10:])
    np.testing.assert_array_equal(memory.array, before)


@pytest.mark.parametrize("chunk", [1, 7, 64])
@pytest.mark.parametrize("strong", [1.0, 40.0])
def test_the_chunked_form_equals_the_recurrent_one(chunk: int, strong: float) -> None:
    rng = np.random.default_rng(5)
    q, k = (reference.l2_normed(floats(rng, 150, 3, 16)) for _ in range(2))
    v, state = floats(rng, 150, 3, 24), floats(rng, 3, 16, 24)
    g = -strong * rng.random((150, 3)).astype(np.float32)
    beta = rng.random((150, 3)).astype(np.float32)
    out, left = reference.delta_recurrent(q, k, v, g, beta, state)
    chunked, also = reference.delta_chunked(q, k, v, g, beta, state, chunk)
    np.testing.assert_allclose(chunked, out, rtol=0, atol=2e-5)
    np.testing.assert_allclose(also, left, rtol=0, atol=2e-5)


def test_the_recurrence_is_the_delta_rule() -> None:
    """With beta 1, no decay and orthonormal keys the state is an associative memory: it returns what was stored."""
    keys, values = np.eye(4, dtype=np.float32)[:, None], floats(np.random.default_rng(1), 4, 1, 6)
    still, full = np.zeros((4, 1), np.float32), np.ones((4, 1), np.float32)
    _, state = reference.delta_recurrent(keys, keys, values, still, full, np.zeros((1, 4, 6), np.float32))
    np.testing.assert_allclose(state[0], values[:, 0], rtol=0, atol=1e-6)
    # Storing again under a known key replaces: it corrects by what the memory said.
    out, _ = reference.delta_recurrent(keys[:1], keys[:1], values[3:], still[:1], full[:1], state)
    np.testing.assert_allclose(out[0, 0], values[3, 0], rtol=0, atol=1e-6)


def test_the_convolution_is_causal_and_starts_from_zeros() -> None:
    weight = np.array([[1.0], [10.0], [100.0]], np.float32)
    y, window = reference.causal_conv(np.array([[1.0], [2.0]], np.float32), weight, np.zeros((2, 1), np.float32))
    sums = np.array([[100.0], [210.0]], np.float32)
    np.testing.assert_allclose(y, sums * reference.sigmoid(sums), rtol=1e-6)
    assert window.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("width", [1, 16, 19])
def test_gates_follow_a_stride(width: int, numpy_only: Callable[[], None]) -> None:
    rng = np.random.default_rng(2)
    x, gate = floats(rng, 6, width), floats(rng, 6, 2 * width)
    expected = x * reference.sigmoid(gate[:, width:])
    for _ in range(2):
        found = Tensor(x.copy())
        sigmoid_gate_(found, Tensor(gate), width, 2 * width, start=width)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=0, atol=1e-6)
        numpy_only()


def test_extreme_gates_neither_overflow_nor_warn() -> None:
    extreme = np.array([-200.0, -30.0, 0.0, 30.0, 200.0], np.float32)
    assert reference.sigmoid(extreme).tolist() == pytest.approx([0, 1e-13, 0.5, 1, 1], abs=1e-12)
    assert reference.softplus(extreme).tolist() == pytest.approx([0, 9.4e-14, np.log(2), 30, 200], rel=1e-2)
    layer = Layer(make_rule(1, 1, 8, 8), 5)
    layer.a = extreme[:, None].copy()
    layer.b = extreme[::-1, None].copy()
    out, _ = layer.in_pieces([0, 5])
    assert np.isfinite(out).all()


PROBE = """
import numpy as np
from tests.boostr.nn.test_recurrence import Layer, make_rule
out, memory = Layer(make_rule(2, 4, 33, 40), 30).in_pieces([0, 11, 30])
np.save("{path}", np.concatenate([out.reshape(-1), memory.array]))
"""


def test_every_cpu_level_agrees(tmp_path: Any) -> None:
    found = {}
    for level in [*supported(), "none"]:
        path = tmp_path / f"{level}.npy"
        environment = {**os.environ, "NUMR_CPU_LEVEL": level, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-c", PROBE.format(path=path)], check=True, env=environment)
        found[level] = np.load(path)
    for level, values in found.items():
        np.testing.assert_allclose(values, found["none"], rtol=0, atol=3e-5, err_msg=level)
