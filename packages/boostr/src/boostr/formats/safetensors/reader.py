"""A SafeTensors model: one file, or the shards that its index names, as named tensors.

Implements the Checkpoint protocol. Headers are read on opening; tensors are views of the mapped files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy.typing as npt

from boostr.errors import FormatError, UnsupportedModelError, WeightsError
from boostr.formats.mapped import MappedFile
from boostr.formats.safetensors.header import DTYPES, Entry, read_header
from boostr.formats.safetensors.shards import read_index
from boostr.formats.tensor_info import TensorInfo
from numr import Tensor

__all__ = ["SafeTensorsFile", "SafeTensorsModel"]

_COMPUTE = ("F32", "F16", "BF16")


class SafeTensorsFile:
    """One file: `entries` by name and its string `metadata`. Raises ModelNotFoundError or FormatError."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = MappedFile(path)
        self.path = self.file.path
        try:
            self.entries, self.metadata = read_header(self.file)
        except BaseException:
            self.file.close()
            raise

    def names(self) -> list[str]:
        return list(self.entries)

    def info(self, name: str) -> TensorInfo:
        return self._entry(name).info

    def tensor(self, name: str) -> Tensor | npt.NDArray[Any]:
        """numr Tensor for F32, F16 and BF16; ndarray for F64, integers and booleans.

        Raises UnsupportedModelError for types known by name only, such as F8_E4M3.
        """
        entry = self._entry(name)
        info = entry.info
        dtype = DTYPES[info.dtype][1]
        if dtype is None:
            raise UnsupportedModelError(
                f"{self.path}: tensor {name!r} is stored as {info.dtype}, which is not implemented; "
                "use a release of the model in BF16, F16 or F32"
            )
        values = self.file.array(entry.start, dtype, info.shape)
        return Tensor(values) if info.dtype in _COMPUTE else values

    def close(self) -> None:
        self.file.close()

    def _entry(self, name: str) -> Entry:
        if name not in self.entries:
            raise WeightsError(f"{self.path}: there is no tensor {name!r}")
        return self.entries[name]


class SafeTensorsModel:
    """Tensors of one or more files under one name space, with the model's config.json."""

    format: Literal["safetensors"] = "safetensors"

    def __init__(self, path: Path, where: dict[str, SafeTensorsFile], config: dict[str, Any] | None) -> None:
        self.path = path
        self.config = config
        self.metadata: Mapping[str, Any] = {}
        self._where = where
        self._files = list({id(file): file for file in where.values()}.values())

    @classmethod
    def from_files(cls, path: Path, files: list[Path], config: dict[str, Any] | None) -> SafeTensorsModel:
        """Every tensor of every one of `files`. FormatError when two hold the same name."""
        where: dict[str, SafeTensorsFile] = {}
        for file in map(SafeTensorsFile, files):
            twice = next((name for name in file.entries if name in where), None)
            if twice is not None:
                raise FormatError(f"{file.path}: tensor {twice!r} is also in {where[twice].path.name}")
            where.update(dict.fromkeys(file.entries, file))
        return cls(path, where, config)

    @classmethod
    def from_index(cls, path: Path, index: Path, config: dict[str, Any] | None) -> SafeTensorsModel:
        """The tensors that `index` names, each from the shard it names. Others in those shards are not the model's."""
        weight_map = read_index(index)
        shards = {shard: SafeTensorsFile(shard) for shard in dict.fromkeys(weight_map.values())}
        for name, shard in weight_map.items():
            if name not in shards[shard].entries:
                raise FormatError(f"{shard}: lacks tensor {name!r}, which {index.name} places there")
        return cls(path, {name: shards[shard] for name, shard in weight_map.items()}, config)

    @property
    def directory(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    @property
    def files(self) -> list[Path]:
        return [file.path for file in self._files]

    def names(self) -> list[str]:
        """Tensor names, as the index or the files order them."""
        return list(self._where)

    def info(self, name: str) -> TensorInfo:
        """Raises WeightsError for a name the model does not have."""
        return self._file(name).info(name)

    def tensor(self, name: str) -> Tensor | npt.NDArray[Any]:
        """As SafeTensorsFile.tensor."""
        return self._file(name).tensor(name)

    def close(self) -> None:
        """Let go of the files; tensors already read stay valid."""
        for file in self._files:
            file.close()

    def _file(self, name: str) -> SafeTensorsFile:
        if name not in self._where:
            raise WeightsError(f"{self.path}: there is no tensor {name!r}")
        return self._where[name]

    def __enter__(self) -> SafeTensorsModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
