"""The CPU backend: NumPy, and the functions in which NumPy differs from the standard or lacks bfloat16."""

from __future__ import annotations

import numpy

from numr.backends.backend import Backend
from numr.backends.cpu import creation, data_types, elementwise, linear_algebra, manipulation, sorting, statistical

__all__ = ["BACKEND"]

BACKEND = Backend("cpu", numpy, (creation, data_types, elementwise, linear_algebra, manipulation, sorting, statistical))
