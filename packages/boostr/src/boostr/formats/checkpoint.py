"""What a checkpoint offers whatever its format, and opening one from a path. Knows no architecture.

`formats/directory.py` decides which files of a directory are the model.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy.typing as npt

from boostr.errors import FormatError, ModelNotFoundError
from boostr.formats.directory import Contents, find_weights
from boostr.formats.gguf.reader import GGUFFile
from boostr.formats.json_file import read_json_object
from boostr.formats.mapped import MappedFile
from boostr.formats.safetensors.reader import SafeTensorsModel
from boostr.formats.sniff import looks_like, not_this_format
from boostr.formats.tensor_info import TensorInfo
from boostr.quant import QuantTensor
from numr import Tensor

__all__ = ["Checkpoint", "open_checkpoint"]


class Checkpoint(Protocol):
    """Named tensors of one model and what its files say about it.

    path      what the caller gave: a directory or a file
    metadata  GGUF keys, empty for SafeTensors
    directory where the files that go with the weights lie (tokenizer, templates, sidecars)
    config    the parsed config.json of a SafeTensors model, None when there is none and for GGUF
    """

    @property
    def format(self) -> Literal["gguf", "safetensors"]: ...
    @property
    def path(self) -> Path: ...
    @property
    def directory(self) -> Path: ...
    @property
    def files(self) -> list[Path]: ...
    @property
    def metadata(self) -> Mapping[str, Any]: ...
    @property
    def config(self) -> dict[str, Any] | None: ...
    def names(self) -> list[str]: ...
    def info(self, name: str) -> TensorInfo: ...
    def tensor(self, name: str) -> Tensor | QuantTensor | npt.NDArray[Any]: ...
    def close(self) -> None: ...


def open_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Open a model directory, a .gguf file (any part of a split one), or a .safetensors file (any shard).

    In a directory an index wins over model.safetensors, that over a single other .safetensors file, and all of them
    over .gguf. Only headers are read. Raises ModelNotFoundError, FormatError, ConfigError or UnsupportedModelError.
    """
    path = Path(path)
    if os.path.isdir(path):
        return _open(path, find_weights(path))
    if not os.path.exists(path):
        raise ModelNotFoundError(f"{path} does not exist")
    return _open(path, _weights_of_file(path))


def _open(path: Path, weights: Contents) -> Checkpoint:
    if weights.gguf is not None:
        model = GGUFFile.open(weights.gguf)
        model.path = path
        return model
    config_file = weights.directory / "config.json"
    config = read_json_object(config_file) if config_file.exists() else None
    if weights.index is not None:
        return SafeTensorsModel.from_index(path, weights.index, config)
    return SafeTensorsModel.from_files(path, weights.safetensors, config)


def _weights_of_file(path: Path) -> Contents:
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("gguf", "safetensors"):
        kind = _kind_by_content(path)
    return Contents.of_gguf(path) if kind == "gguf" else Contents.of_safetensors(path)


def _kind_by_content(path: Path) -> str:
    if path.suffix.lower() in (".bin", ".pt", ".pth", ".ckpt", ".pkl"):
        raise FormatError(
            f"{path}: PyTorch pickles can run code and are not read; use the SafeTensors or GGUF release of the model"
        )
    file = MappedFile(path)
    head = file.data[:64]
    file.close()
    kind = looks_like(head)
    if kind is None:
        raise FormatError(not_this_format(path, "GGUF or SafeTensors", head))
    return kind
