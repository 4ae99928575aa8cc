"""What each layer of a network keeps per sequence, and where it lies in a segment of memory.

A network states it as a StateSpec, one entry a layer. Further kinds of state join the union `LayerSpec`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from boostr.errors import ParameterError
from boostr.state.memory import ALIGNMENT, MemoryLayer, MemoryLayout
from numr.nn import KVLayer

__all__ = ["CACHE_DTYPES", "ConvSpec", "KVLayout", "KVSpec", "LayerSpec", "RecurrentSpec", "StateSpec"]

CACHE_DTYPES = ("float16", "float32")


@dataclass(frozen=True, slots=True)
class KVSpec:
    """Keys and values of one attention layer: `kv_heads` vectors of `k_dim` and of `v_dim` elements a token."""

    kv_heads: int
    k_dim: int
    v_dim: int


@dataclass(frozen=True, slots=True)
class ConvSpec:
    """The window of a causal convolution: the last `window` input rows of `channels`, as they were before it."""

    channels: int
    window: int


@dataclass(frozen=True, slots=True)
class RecurrentSpec:
    """What a recurrence makes of all tokens: a (k_dim, v_dim) matrix per head."""

    heads: int
    k_dim: int
    v_dim: int


# A recurrent layer keeps a window and a state; both are float32 whatever the cache's dtype, and do not grow.
LayerSpec = KVSpec | tuple[ConvSpec, RecurrentSpec]


@dataclass(frozen=True, slots=True)
class StateSpec:
    """What every layer of a network keeps, in layer order."""

    layers: tuple[LayerSpec, ...]

    @property
    def recurrent(self) -> bool:
        """Whether some layer keeps what cannot be taken back: such states are not truncated, only restored."""
        return bool(self.memory_layout.layers)

    def kv_layout(self, dtype: str) -> KVLayout:
        """Where the attention layers' keys and values lie; raises ParameterError for a dtype no cache can hold."""
        if dtype not in CACHE_DTYPES:
            raise ParameterError(f"cache_dtype is {dtype!r}: use one of {', '.join(CACHE_DTYPES)}", "cache_dtype")
        return _kv_layout(self, dtype)

    @property
    def memory_layout(self) -> MemoryLayout:
        """Where the recurrent layers' windows and states lie."""
        return _memory_layout(self)


@dataclass(frozen=True, slots=True)
class KVLayout:
    """Where each layer's blocks lie in a segment, in bytes per token of its capacity. One object per spec and dtype.

    `layers` are those that keep keys and values. A segment of `capacity` tokens is one buffer of
    `capacity * token_bytes` bytes for all of them. Layer i's keys begin at `capacity * layers[i].k_offset` as
    [kv_heads][capacity][k_dim], its values at `capacity * v_offset`.
    """

    dtype: str
    layers: tuple[KVLayer, ...]
    token_bytes: int


@lru_cache(maxsize=64)
def _kv_layout(spec: StateSpec, dtype: str) -> KVLayout:
    itemsize = np.dtype(dtype).itemsize
    layers, offset = [], 0
    for layer in spec.layers:
        if not isinstance(layer, KVSpec):
            continue
        v_offset = offset + layer.kv_heads * layer.k_dim * itemsize
        layers.append(KVLayer(offset, v_offset, layer.kv_heads, layer.k_dim, layer.v_dim))
        offset = v_offset + layer.kv_heads * layer.v_dim * itemsize
    return KVLayout(dtype, tuple(layers), offset)


@lru_cache(maxsize=64)
def _memory_layout(spec: StateSpec) -> MemoryLayout:
    layers, offset = [], 0
    for layer in spec.layers:
        if isinstance(layer, KVSpec):
            continue
        conv, recurrent = layer
        state = _aligned(offset + 4 * conv.channels * conv.window)
        layers.append(MemoryLayer(offset, state))
        offset = _aligned(state + 4 * recurrent.heads * recurrent.k_dim * recurrent.v_dim)
    return MemoryLayout(tuple(layers), offset)


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
