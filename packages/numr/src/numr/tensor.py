"""The Tensor: an array of one device, its dtype and its address. Knows no operation by itself."""
from __future__ import annotations
from typing import Any
import numpy as np

class Tensor:
    __slots__ = ("array", "_ptr")
    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self._ptr = 0
    @property
    def ptr(self) -> int:
        if not self._ptr:
            self._ptr = self.array.__array_interface__["data"][0]
        return self._ptr
    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape
    @property
    def dtype(self) -> Any:
        return self.array.dtype
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.array, dtype=dtype)
