"""What loading did with every tensor of a checkpoint."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from boostr.quant import Precision

__all__ = ["LoadReport", "Uploaded"]


class Uploaded(NamedTuple):
    """A tensor in use: its checkpoint name, stored dtype and bytes in memory."""

    name: str
    dtype: str
    nbytes: int


@dataclass(slots=True)
class LoadReport:
    """Every tensor is either `uploaded` or `skipped` with a reason.

    compute_dtype   what activations are computed in
    model_dtype     what config.json says the model was saved for, None where nothing says
    assumptions     settings that nothing in the checkpoint told
    """

    architecture: str
    format: str
    path: Path
    compute_dtype: str = "float32"
    model_dtype: str | None = None
    precision: Precision = "fast"
    uploaded: list[Uploaded] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    parameters: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors in use."""
        return sum(tensor.nbytes for tensor in self.uploaded)

    def summary(self) -> str:
        """One line: architecture, size, stored types, compute dtype, and how many tensors were skipped."""
        sizes: Counter[str] = Counter()
        for tensor in self.uploaded:
            sizes[tensor.dtype] += tensor.nbytes
        stored = ", ".join(name for name, _ in sizes.most_common())
        line = (
            f"{self.architecture} ({self.format}), {_short(self.parameters)} parameters, {self.nbytes / 1e6:.1f} MB as "
            f"{stored}, computed in {self.compute_dtype} ({self.precision})"
        )
        return line + (f", {len(self.skipped)} tensors skipped" if self.skipped else "")


def _short(count: int) -> str:
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)
