"""A GGUF model: one file, or all parts of a split one, as metadata and named tensors.

Implements the Checkpoint protocol. Opening reads headers only; tensors are views of the mapped files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from boostr.errors import FormatError, WeightsError
from boostr.formats.gguf.metadata import Metadata
from boostr.formats.gguf.part import GGUFPart
from boostr.formats.gguf.split import MAX_PARTS, sibling_paths
from boostr.formats.tensor_info import TensorInfo
from boostr.quant import QuantTensor
from numr import Tensor

__all__ = ["GGUFFile"]


class GGUFFile:
    """Metadata of the first part, tensors of all. Make one with `GGUFFile.open`."""

    format: Literal["gguf"] = "gguf"
    config: None = None

    def __init__(self, path: Path, parts: list[GGUFPart], metadata: Metadata) -> None:
        self.path = path
        self.metadata = metadata
        self.version = parts[0].version
        self._parts = parts
        self._where = {name: part for part in parts for name in part.entries}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> GGUFFile:
        """Open `path` and, when it is a part of a split model, its siblings.

        Raises ModelNotFoundError, FormatError (also for missing parts), UnsupportedModelError (dropped tensor types),
        ConfigError (metadata of the wrong type).
        """
        path = Path(path)
        first = GGUFPart(path)
        try:
            count = _split_key(first, "split.count", 1, MAX_PARTS)
            if first.followed_by_another():
                raise FormatError(
                    f"{path}: several GGUF files were joined into one (a second header follows the first one's data); "
                    "keep the parts of a split model as separate files and open any one of them"
                )
            parts = [first] if count == 1 else _open_parts(first, count)
        except BaseException:
            first.close()
            raise
        return cls(path, parts, Metadata(parts[0].metadata, path))

    @property
    def directory(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    @property
    def files(self) -> list[Path]:
        return [part.path for part in self._parts]

    def names(self) -> list[str]:
        """Tensor names in file order."""
        return list(self._where)

    def info(self, name: str) -> TensorInfo:
        """Raises WeightsError for a name the model does not have."""
        return self._part(name).entries[name].info

    def tensor(self, name: str) -> Tensor | QuantTensor | npt.NDArray[Any]:
        """QuantTensor for quantized types, numr Tensor for F32, F16 and BF16, ndarray for F64 and integers."""
        return self._part(name).tensor(name)

    def _part(self, name: str) -> GGUFPart:
        part = self._where.get(name)
        if part is None:
            raise WeightsError(f"{self.path}: there is no tensor {name!r}")
        return part

    def close(self) -> None:
        """Let go of the files; tensors already read stay valid."""
        for part in self._parts:
            part.close()

    def __enter__(self) -> GGUFFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _split_key(part: GGUFPart, key: str, default: int, high: int) -> int:
    # gguf-split writes uint16 and int32; some writers use other widths.
    return max(default, Metadata(part.metadata, part.path).get_int(key, default, 0, high))


def _open_parts(given: GGUFPart, count: int) -> list[GGUFPart]:
    parts: list[GGUFPart] = []
    for number, path in enumerate(sibling_paths(given.path, count)):
        part = given if path == given.path else GGUFPart(path)
        parts.append(part)
        metadata = Metadata(part.metadata, path)
        if metadata.get_int("split.count", 1) != count or metadata.require_int("split.no") != number:
            raise FormatError(f"{path}: its split.no and split.count do not say part {number + 1} of {count}")
    names: set[str] = set()
    for part in parts:
        twice = names.intersection(part.entries)
        if twice:
            raise FormatError(f"{part.path}: tensor {min(twice)!r} is also in an earlier part of the split model")
        names.update(part.entries)
    total = Metadata(parts[0].metadata, parts[0].path).get_int("split.tensors.count", len(names))
    if total != len(names):
        raise FormatError(f"{given.path}: the parts hold {len(names)} tensors where split.tensors.count says {total}")
    return parts
