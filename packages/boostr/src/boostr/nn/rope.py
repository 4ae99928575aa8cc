"""Rotary position embedding: frequencies for each published way to stretch a context, and tables of their angles.

Frequencies are computed in float64 and the tables rounded once to float32. Knows no config dialect.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from numr import Tensor
from numr.nn import rope_

__all__ = ["SCALINGS", "RopeScaling", "RotaryEmbedding"]

Frequencies = NDArray[np.float64]
FIRST_TABLE = 512  # positions; the tables double from here


@dataclass(frozen=True, slots=True)
class RopeScaling:
    """How a model stretches its positions; `kind` is one of SCALINGS and says which of the fields count."""

    kind: str = "default"
    factor: float = 1.0
    original_context: int = 0  # positions the model was trained on before stretching
    low_freq_factor: float = 1.0  # llama3: wavelengths above original / low are divided by factor
    high_freq_factor: float = 4.0  # llama3: wavelengths below original / high are kept
    beta_fast: float = 32.0  # yarn: turns over the original context above which a frequency is kept
    beta_slow: float = 1.0  # yarn: turns below which it is divided by factor
    truncate: bool = True  # yarn: round the ramp's ends to whole dims
    attention_factor: float | None = None  # multiplies cos and sin; None: the kind's own rule
    mscale: float = 0.0  # yarn (deepseek): with mscale_all_dim, both nonzero, the rule is their quotient
    mscale_all_dim: float = 0.0


def _default(inv_freq: Frequencies, theta: float, scaling: RopeScaling) -> tuple[Frequencies, float]:
    return inv_freq, 1.0


def _linear(inv_freq: Frequencies, theta: float, scaling: RopeScaling) -> tuple[Frequencies, float]:
    return inv_freq / scaling.factor, 1.0


def _llama3(inv_freq: Frequencies, theta: float, scaling: RopeScaling) -> tuple[Frequencies, float]:
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    turns = scaling.original_context * inv_freq / (2 * math.pi)  # over the original context
    kept = np.clip((turns - low) / (high - low), 0.0, 1.0)  # 0: stretched, 1: as it was
    return inv_freq * kept + inv_freq / scaling.factor * (1 - kept), 1.0


def _yarn(inv_freq: Frequencies, theta: float, scaling: RopeScaling) -> tuple[Frequencies, float]:
    dim = 2 * len(inv_freq)

    def turning(turns: float) -> float:  # the (fractional) dim whose frequency turns so often over the context
        return dim * math.log(scaling.original_context / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = turning(scaling.beta_fast), turning(scaling.beta_slow)
    if scaling.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    ramp = np.clip((np.arange(dim // 2) - low) / max(high - low, 1e-3), 0.0, 1.0)  # 0: kept, 1: stretched
    factor = _mscale(scaling.factor, 1.0)
    if scaling.mscale and scaling.mscale_all_dim:
        factor = _mscale(scaling.factor, scaling.mscale) / _mscale(scaling.factor, scaling.mscale_all_dim)
    return inv_freq * (1 - ramp) + inv_freq / scaling.factor * ramp, factor


def _mscale(factor: float, mscale: float) -> float:
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0


# name -> (frequencies, factor of cos and sin)
SCALINGS: dict[str, Callable[[Frequencies, float, RopeScaling], tuple[Frequencies, float]]] = {
    "default": _default,
    "linear": _linear,
    "llama3": _llama3,
    "yarn": _yarn,
}


class RotaryEmbedding:
    """Rotates queries and keys by their positions; one object serves all layers with the same frequencies.

    rotary_dim   dims of a head that turn, its first ones
    interleaved  pairs are (2i, 2i+1) rather than (i, i + rotary_dim/2)
    divisors     (rotary_dim/2,) by which GGUF files divide the frequencies, in place of `scaling`'s own rule
    """

    def __init__(
        self,
        head_dim: int,
        theta: float,
        scaling: RopeScaling | None = None,
        *,
        rotary_dim: int | None = None,
        interleaved: bool = False,
        divisors: NDArray[np.float32] | None = None,
    ) -> None:
        self.head_dim = head_dim
        self.interleaved = interleaved
        scaling = scaling or RopeScaling()
        dim = rotary_dim or head_dim
        inv_freq = theta ** (-np.arange(0, dim, 2, dtype=np.float64) / dim)
        self.inv_freq, factor = SCALINGS[scaling.kind](inv_freq, theta, scaling)
        if divisors is not None:
            self.inv_freq = self.inv_freq / divisors.astype(np.float64)
        self.attention_factor = factor if scaling.attention_factor is None else scaling.attention_factor
        self._grow(FIRST_TABLE)

    @property
    def tables(self) -> tuple[Tensor, Tensor]:
        """cos and sin, each (positions, rotary_dim/2) float32, the attention factor multiplied in."""
        return self._tables

    def prepare(self, length: int) -> None:
        """Have angles for positions below `length`; called once a pass."""
        if length > self._length:
            self._grow(max(length, 2 * self._length))

    def rotate(self, x: Tensor, positions: Tensor, n_heads: int) -> None:
        """Rotate x (T, n_heads * head_dim) in place; positions (T,) int64 are below the prepared length."""
        cos, sin = self._tables
        rope_(x, positions, cos, sin, n_heads, self.head_dim, self.interleaved)

    def _grow(self, length: int) -> None:
        angles = np.outer(np.arange(length, dtype=np.float64), self.inv_freq)  # (P, rotary_dim/2)
        cos = Tensor((np.cos(angles) * self.attention_factor).astype(np.float32))
        sin = Tensor((np.sin(angles) * self.attention_factor).astype(np.float32))
        self._tables = cos, sin  # replaced at once: another thread may be rotating
        self._length = length
