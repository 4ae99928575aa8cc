"""Causal convolution, the gated delta rule and sigmoid gates over packed rows, one native call each.

Sequences and their memories come as a table of spans; a layer's part of each memory as an offset. Knows no modules.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from boostr.nn import reference
from boostr.nn.kernels import DeltaNet, check, kernels
from boostr.state import MemoryTable
from numr import Tensor

__all__ = ["DeltaRule", "causal_conv", "gated_delta", "sigmoid_gate_"]

_CHUNKED = 8  # rows from which the NumPy form in chunks is the faster one


@dataclass(frozen=True, slots=True, eq=False)
class DeltaRule:
    """The constants of one layer's gated delta rule.

    a        (v_heads,) float32 below zero, dt_bias (v_heads,): a row's decay is exp(a * softplus(x + dt_bias))
    norm     (v_dim,) weight of the gated norm, whose epsilon is `eps`
    tiled    value head h reads key head h % k_heads; otherwise h // (v_heads / k_heads)
    """

    k_heads: int
    v_heads: int
    k_dim: int
    v_dim: int
    a: Tensor
    dt_bias: Tensor
    norm: Tensor
    eps: float
    tiled: bool
    address: int = field(init=False, repr=False)
    _plan: DeltaNet = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sizes = (self.k_heads, self.v_heads, self.k_dim, self.v_dim, int(self.tiled))
        plan = DeltaNet(*sizes, self.a.ptr, self.dt_bias.ptr, self.norm.ptr, self.eps)
        object.__setattr__(self, "_plan", plan)
        object.__setattr__(self, "address", ctypes.addressof(plan))

    @property
    def channels(self) -> int:
        """Width of a row of queries, keys and values."""
        return 2 * self.k_heads * self.k_dim + self.v_heads * self.v_dim

    def key_heads(self) -> NDArray[np.int64]:
        """The key head of each value head."""
        heads = np.arange(self.v_heads)
        return heads % self.k_heads if self.tiled else heads // (self.v_heads // self.k_heads)


def causal_conv(x: Tensor, weight: Tensor, table: MemoryTable, offset: int) -> Tensor:
    """silu of the convolution of x (T, C) float32 with weight (kernel, C), oldest tap first; (T, C).

    Each span's window lies at `offset` of its memory, and is replaced by the one after its last row.
    """
    rows, channels = x.shape
    taps = weight.shape[0]
    out = Tensor(np.empty((rows, channels), np.float32))
    native = kernels()
    if native is not None:
        native.causal_conv(x.ptr, weight.ptr, out.ptr, channels, taps, table.ptr, len(table), offset)
        return out
    for row, count, source, target in table.spans.tolist():
        window = _memory(source, offset, (taps - 1, channels))
        found, left = reference.causal_conv(x.array[row : row + count], weight.array, window)
        out.array[row : row + count] = found
        _memory(target, offset, left.shape)[...] = left
    return out


def gated_delta(
    rule: DeltaRule, qkv: Tensor, z: Tensor, b: Tensor, a: Tensor, table: MemoryTable, offset: int
) -> Tensor:
    """Run every span's rows through its state and normalise what comes out: (T, v_heads * v_dim).

    qkv (T, channels), convolved; z (T, v_heads * v_dim); b and a (T, v_heads) as projected. qkv, b and a are changed.
    The state (v_heads, k_dim, v_dim) lies at `offset` of each memory.
    """
    rows = qkv.shape[0]
    out = Tensor(np.empty((rows, rule.v_heads * rule.v_dim), np.float32))
    native = kernels()
    if native is not None:
        where = (rows, table.ptr, len(table), offset)
        check(native.gated_delta(rule.address, qkv.ptr, z.ptr, b.ptr, a.ptr, out.ptr, *where))
        return out
    for row, count, source, target in table.spans.tolist():
        here = slice(row, row + count)
        state = _memory(source, offset, (rule.v_heads, rule.k_dim, rule.v_dim))
        found, left = _delta_of(rule, qkv.array[here], b.array[here], a.array[here], state)
        normed = reference.gated_norm(found, z.array[here].reshape(found.shape), rule.norm.array, rule.eps)
        out.array[here] = normed.reshape(count, -1)
        _memory(target, offset, left.shape)[...] = left
    return out


def sigmoid_gate_(x: Tensor, gate: Tensor, width: int, gate_stride: int, start: int = 0) -> None:
    """x *= sigmoid(gate) in place, piece by piece: x is (pieces, width), a piece of gate begins every `gate_stride`.

    `start` is where in `gate` the first piece begins. Both are contiguous float32 of any shape.
    """
    pieces = x.size // width
    native = kernels()
    if native is not None:
        native.sigmoid_gate(x.ptr, gate.ptr + 4 * start, pieces, width, width, gate_stride)
        return
    gates = gate.array.reshape(pieces, gate_stride)[:, start : start + width]
    flat = x.array.reshape(pieces, width)
    flat *= reference.sigmoid(gates)


def _delta_of(
    rule: DeltaRule,
    qkv: reference.Floats,
    b: reference.Floats,
    a: reference.Floats,
    state: reference.Floats,
) -> tuple[reference.Floats, reference.Floats]:
    keys, heads = rule.k_heads * rule.k_dim, rule.key_heads()
    q = reference.l2_normed(qkv[:, :keys].reshape(-1, rule.k_heads, rule.k_dim))[:, heads] * np.float32(
        rule.k_dim**-0.5
    )
    k = reference.l2_normed(qkv[:, keys : 2 * keys].reshape(-1, rule.k_heads, rule.k_dim))[:, heads]
    v = qkv[:, 2 * keys :].reshape(-1, rule.v_heads, rule.v_dim)
    g = rule.a.array * reference.softplus(a + rule.dt_bias.array)
    run = reference.delta_chunked if len(q) >= _CHUNKED else reference.delta_recurrent
    return run(q, k, v, g, reference.sigmoid(b), state)


def _memory(address: int, offset: int, shape: tuple[int, ...]) -> reference.Floats:
    """A view of a layer's part of a memory; zeros where there is none yet."""
    if address == 0:
        return np.zeros(shape, np.float32)
    count = int(np.prod(shape))
    values = (ctypes.c_float * count).from_address(address + offset)
    return np.ctypeslib.as_array(values).reshape(shape)
