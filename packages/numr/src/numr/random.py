"""Random numbers: seeded generators whose streams are their own. There is no global state.

The bits are PCG64's, so a seed gives the same numbers on every machine with the same version of NumPy.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from numr.backends import array_of, backend_for
from numr.devices import Device, DeviceLike, as_device, require_same_device
from numr.dtypes import KINDS, DType, DTypeLike, as_dtype, float32, float64, int64
from numr.errors import DTypeError
from numr.tensor import Tensor, wrap

__all__ = ["Generator"]

Shape: TypeAlias = int | tuple[int, ...]


class Generator:
    """A stream of random numbers on one device. `seed` None takes entropy from the system."""

    __slots__ = ("_bits", "_device")

    def __init__(self, seed: int | None = None, *, device: DeviceLike = None) -> None:
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
            raise ValueError(f"seed must be a non-negative integer or None, not {seed!r}")
        self._device = as_device(device)
        self._bits: Any = backend_for(self._device).random.default_rng(seed)

    @property
    def device(self) -> Device:
        return self._device

    @property
    def state(self) -> dict[str, Any]:
        """The generator's whole state, JSON-serialisable; assigning one continues its stream exactly."""
        state: dict[str, Any] = self._bits.bit_generator.state
        return state

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._bits.bit_generator.state = state

    def spawn(self, n: int) -> list[Generator]:
        """`n` new generators whose streams are independent of this one and of each other."""
        children = []
        for bits in self._bits.spawn(n):
            child = Generator(0, device=self._device)
            child._bits = bits
            children.append(child)
        return children

    def uniform(self, shape: Shape = (), low: float = 0.0, high: float = 1.0, *, dtype: DTypeLike = float64) -> Tensor:
        """Uniform numbers in [low, high); rounding to a narrow dtype may reach `high`."""
        if not low <= high:
            raise ValueError(f"uniform: low {low} is above high {high}")
        wanted, drawn = _floating("uniform", dtype)
        numbers = self._bits.random(shape, dtype=drawn)
        return _cast(numbers * drawn.type(high - low) + drawn.type(low), wanted)

    def normal(self, shape: Shape = (), mean: float = 0.0, std: float = 1.0, *, dtype: DTypeLike = float64) -> Tensor:
        """Normal numbers of a mean and a standard deviation."""
        if not std >= 0:
            raise ValueError(f"normal: std must not be negative, it is {std}")
        wanted, drawn = _floating("normal", dtype)
        numbers = self._bits.standard_normal(shape, dtype=drawn)
        return _cast(numbers * drawn.type(std) + drawn.type(mean), wanted)

    def exponential(self, shape: Shape = (), scale: float = 1.0, *, dtype: DTypeLike = float64) -> Tensor:
        """Exponential numbers of mean `scale`."""
        if not scale >= 0:
            raise ValueError(f"exponential: scale must not be negative, it is {scale}")
        wanted, drawn = _floating("exponential", dtype)
        return _cast(self._bits.standard_exponential(shape, dtype=drawn) * drawn.type(scale), wanted)

    def integers(self, low: int, high: int, shape: Shape = (), *, dtype: DTypeLike = int64) -> Tensor:
        """Uniform integers in [low, high)."""
        wanted = as_dtype(dtype)
        if wanted not in KINDS["integral"]:
            raise DTypeError(f"integers: {wanted} is no integer dtype")
        return wrap(self._bits.integers(low, high, size=shape, dtype=wanted))

    def permutation(self, x: int | Tensor, *, axis: int = 0) -> Tensor:
        """`x` with its slices along `axis` in random order; of an integer the order itself, (x,) int64."""
        if isinstance(x, Tensor):
            require_same_device(x.array)
            return Tensor(self._bits.permutation(x.array, axis=axis))
        return Tensor(self._bits.permutation(x))

    def choice(
        self, x: int | Tensor, shape: Shape = (), *, replace: bool = True, p: Tensor | None = None, axis: int = 0
    ) -> Tensor:
        """Slices of `x` along `axis`, or integers below `x`, drawn with probabilities `p` (uniform when None)."""
        population = x.array if isinstance(x, Tensor) else x
        weights = None if p is None else array_of(p)
        return wrap(self._bits.choice(population, size=shape, replace=replace, p=weights, axis=axis))

    def bernoulli(self, shape: Shape = (), p: float = 0.5) -> Tensor:
        """Bools, each True with probability `p`."""
        if not 0 <= p <= 1:
            raise ValueError(f"bernoulli: p must lie in [0, 1], it is {p}")
        return wrap(self._bits.random(shape) < p)


def _floating(name: str, dtype: DTypeLike) -> tuple[DType, DType]:
    """The dtype asked for and the one to draw in: narrower dtypes are drawn as float32 and rounded."""
    wanted = as_dtype(dtype)
    if wanted not in KINDS["real floating"]:
        raise DTypeError(f"{name}: {wanted} is no real floating dtype")
    return wanted, wanted if wanted == float64 else float32


def _cast(numbers: Any, dtype: DType) -> Tensor:
    return wrap(numbers.astype(dtype, copy=False))
