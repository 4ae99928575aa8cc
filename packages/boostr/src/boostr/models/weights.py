"""Loaded tensors by attribute path, and the modules of boostr.nn made from them. Knows no checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from boostr.errors import WeightsError
from boostr.nn import Embedding, Linear, RMSNorm
from boostr.quant import Precision, Weight
from numr import Tensor

__all__ = ["Weights"]


class Weights:
    """`tensors` under paths such as "layers.0.mlp.up_proj.weight"; vectors among them are float32 Tensors.

    Presence and shapes were checked when they were loaded.
    """

    def __init__(
        self, tensors: Mapping[str, Weight], precision: Precision = "fast", prefix: str = "", steady: bool = False
    ) -> None:
        self._tensors = tensors
        self._precision = precision
        self._prefix = prefix
        self._steady = steady

    def steady(self) -> Weights:
        """The same weights, whose products have the same bits for any number of rows. See nn.Linear."""
        return Weights(self._tensors, self._precision, self._prefix, True)

    def within(self, module: str) -> Weights:
        """The weights of a submodule, under paths relative to it."""
        return Weights(self._tensors, self._precision, f"{self._prefix}{module}.", self._steady)

    def holds(self, module: str) -> bool:
        return f"{self._prefix}{module}.weight" in self._tensors

    def linear(self, module: str) -> Linear:
        bias = self._tensors.get(f"{self._prefix}{module}.bias")
        return self._linear(self._tensors[f"{self._prefix}{module}.weight"], None if bias is None else _dense(bias))

    def embedding(self, module: str) -> Embedding:
        return Embedding(self._tensors[f"{self._prefix}{module}.weight"])

    def norm(self, module: str, eps: float) -> RMSNorm:
        return RMSNorm(_dense(self._tensors[f"{self._prefix}{module}.weight"]), eps)

    def stacked(self, module: str, index: int, rows: slice = slice(None)) -> Linear:
        """Of a weight with one matrix per `index`, that one as a linear map; `rows` are those of its outputs it has."""
        tensor = self._tensors[f"{self._prefix}{module}.weight"]
        if isinstance(tensor, Tensor):
            return self._linear(Tensor(tensor.array[index][rows]))
        matrix = tensor[index]
        return self._linear(matrix if rows == slice(None) else matrix[rows])

    def _linear(self, weight: Weight, bias: Tensor | None = None) -> Linear:
        return Linear(weight, bias, self._precision, steady=self._steady)

    def floats(self, path: str) -> NDArray[np.float32]:
        """A small tensor, whatever its stored type."""
        tensor = self._tensors[self._prefix + path]
        array = tensor.array if isinstance(tensor, Tensor) else tensor.dequantize()
        return np.ascontiguousarray(array, dtype=np.float32)

    def divisors(self, path: str) -> NDArray[np.float32]:
        """A vector that frequencies are divided by. Raises WeightsError where one is not above zero."""
        array: NDArray[np.float32] = _dense(self._tensors[self._prefix + path]).array
        if not (array > 0).all():
            raise WeightsError(f"tensor '{self._prefix}{path}' holds divisors that are not above zero")
        return array


def _dense(tensor: Weight) -> Tensor:
    assert isinstance(tensor, Tensor), "vectors are loaded dense"
    return tensor
