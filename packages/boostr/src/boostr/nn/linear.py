"""Linear maps of packed rows, for dense or quantized weights. Several maps of one input run as one product."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from boostr.nn.low_rank import add_updates
from boostr.quant import Precision, Product, Weight
from boostr.quant.crossover import ANY
from boostr.state import AdaptedRows
from numr import Tensor

__all__ = ["Linear", "LinearGroup"]


class Linear:
    """y = x Wᵀ + b. `weight` is (out, in), `bias` (out,) float32 or None; x (R, in) and y (R, out) are float32.

    precision "fast" may round activations where they meet quantized weights; "precise" keeps them float32; "int8" and
    "int16" say to what they are rounded. `steady`: products of float32 activations stay with the native kernels
    however many rows there are, so that a row has the same bits; otherwise many go through BLAS, whose sums differ.
    """

    __slots__ = ("_product", "bias", "precision", "steady", "weight")

    def __init__(
        self, weight: Weight, bias: Tensor | None = None, precision: Precision = "fast", *, steady: bool = False
    ) -> None:
        self.weight = weight
        self.bias = bias
        self.precision: Precision = precision
        self.steady = steady
        self._product: Product | None = None  # bound at the first call: a member of a group never needs its own

    def __repr__(self) -> str:
        return f"Linear({self.in_features} -> {self.out_features})"

    @property
    def out_features(self) -> int:
        return self.weight.shape[0]

    @property
    def in_features(self) -> int:
        return self.weight.shape[1]

    def __call__(self, x: Tensor, adapters: AdaptedRows | None = None) -> Tensor:
        """x (R, in) -> (R, out), with the updates of the adapters that its rows run under."""
        product = self._product
        if product is None:
            product = self._product = Product([self.weight], self.precision, few=_few(self.steady))
        (y,) = product(x)
        if self.bias is not None:
            np.add(y.array, self.bias.array, out=y.array)
        if adapters is not None:
            add_updates(self, x, y, adapters)
        return y


class LinearGroup:
    """Linears with one input, such as q|k|v or gate|up, multiplied in one product."""

    __slots__ = ("_biases", "_product", "members")

    def __init__(self, *members: Linear) -> None:
        self.members: Sequence[Linear] = members
        first = members[0]
        self._product = Product([linear.weight for linear in members], first.precision, few=_few(first.steady))
        biases = [(at, linear.bias.array) for at, linear in enumerate(members) if linear.bias is not None]
        self._biases = tuple(biases)

    def __call__(self, x: Tensor, adapters: AdaptedRows | None = None) -> tuple[Tensor, ...]:
        """One (R, out) tensor per member, in their order."""
        outputs = self._product(x)
        for at, bias in self._biases:
            y = outputs[at].array
            np.add(y, bias, out=y)
        if adapters is not None:
            for member, output in zip(self.members, outputs, strict=True):
                add_updates(member, x, output, adapters)
        return outputs


def _few(steady: bool) -> int | None:
    """The largest number of rows for native kernels, as Product takes it; None is what was measured to be fastest."""
    return ANY if steady else None
