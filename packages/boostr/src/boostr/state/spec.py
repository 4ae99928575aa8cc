"""What each layer of a network keeps per sequence, and where it lies in a segment of memory.

A network states it as a StateSpec, one entry a layer. Further kinds of state join the union `LayerSpec`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from boostr.errors import ParameterError
from numr.nn import KVLayer

__all__ = ["CACHE_DTYPES", "KVLayout", "KVSpec", "LayerSpec", "StateSpec"]

CACHE_DTYPES = ("float16", "float32")


@dataclass(frozen=True, slots=True)
class KVSpec:
    """Keys and values of one attention layer: `kv_heads` vectors of `k_dim` and of `v_dim` elements a token."""

    kv_heads: int
    k_dim: int
    v_dim: int


LayerSpec = KVSpec


@dataclass(frozen=True, slots=True)
class StateSpec:
    """What every layer of a network keeps, in layer order."""

    layers: tuple[LayerSpec, ...]

    def kv_layout(self, dtype: str) -> KVLayout:
        """Where each layer's keys and values lie; raises ParameterError for a dtype the cache cannot hold."""
        if dtype not in CACHE_DTYPES:
            raise ParameterError(f"cache_dtype is {dtype!r}: use one of {', '.join(CACHE_DTYPES)}", "cache_dtype")
        return _kv_layout(self, dtype)


@dataclass(frozen=True, slots=True)
class KVLayout:
    """Where each layer's blocks lie in a segment, in bytes per token of its capacity. One object per spec and dtype.

    A segment of `capacity` tokens is one buffer of `capacity * token_bytes` bytes for all layers. Layer i's keys
    begin at `capacity * layers[i].k_offset` as [kv_heads][capacity][k_dim], its values at `capacity * v_offset`.
    """

    dtype: str
    layers: tuple[KVLayer, ...]
    token_bytes: int


@lru_cache(maxsize=64)
def _kv_layout(spec: StateSpec, dtype: str) -> KVLayout:
    itemsize = np.dtype(dtype).itemsize
    layers, offset = [], 0
    for layer in spec.layers:
        v_offset = offset + layer.kv_heads * layer.k_dim * itemsize
        layers.append(KVLayer(offset, v_offset, layer.kv_heads, layer.k_dim, layer.v_dim))
        offset = v_offset + layer.kv_heads * layer.v_dim * itemsize
    return KVLayout(dtype, tuple(layers), offset)
