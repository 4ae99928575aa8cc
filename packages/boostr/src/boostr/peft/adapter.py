"""A PEFT LoRA adapter read from its directory: matrices and scale per module, checked, with no base model at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostr.errors import AdapterFormatError, AdapterNotFoundError, BoostrError
from boostr.formats.safetensors import SafeTensorsFile
from boostr.peft.config import CONFIG_NAME, LoraConfig
from boostr.peft.shown import shown
from numr import Tensor

__all__ = ["WEIGHTS_NAME", "BaseRows", "LoraModule", "PeftAdapter"]

WEIGHTS_NAME = "adapter_model.safetensors"
_PICKLE_NAME = "adapter_model.bin"
_WRAPPERS = "base_model.model."  # what PEFT puts before the base model's own module path
_SIDES = {".lora_A.weight": "A", ".lora_B.weight": "B"}
_COPY = ".base_layer.weight"
_SAMPLE = 64  # rows of a copy of base weights that are kept to compare

# What tensors of other kinds are, by a piece of their names.
_STRAY = (
    ("lora_embedding_", "adapters of embeddings are not implemented; train without embeddings in target_modules"),
    ("lora_magnitude_vector", "it belongs to DoRA, which is not implemented"),
    (".bias", "trained biases are not implemented"),
    ("modules_to_save", "it replaces a module of the base, which is not implemented"),
    (".base_layer.", "it is a copy of the base's weights; save the adapter with save_embedding_layers=False"),
    ("embed_tokens.", "it replaces the base's embeddings; save the adapter with save_embedding_layers=False"),
    ("lm_head.", "it replaces the base's output matrix; save the adapter with save_embedding_layers=False"),
)
_OTHER = "its tensors are named base_model.model.….lora_A.weight and ….lora_B.weight"


class LoraModule(NamedTuple):
    """One module's update: y += scale · (x aᵀ) bᵀ, with a (r, in) and b (out, r) float32, b contiguous by columns."""

    a: Tensor
    b: Tensor
    scale: float


class BaseRows(NamedTuple):
    """Some rows of the base weights of a module, which PEFT saves beside the update of an output matrix."""

    shape: tuple[int, ...]
    rows: NDArray[np.int64]
    values: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PeftAdapter:
    """A LoRA adapter in memory, float32.

    path              its directory
    name              the directory's name
    rank              the largest of its modules
    modules           {module path in the base model it was trained on: its update}
    base_model_name   where it was trained, as adapter_config.json says it
    config            adapter_config.json
    base_rows         {module path: some of its base weights}, to see that a base is the one the adapter was trained on
    """

    path: Path
    name: str
    rank: int
    modules: Mapping[str, LoraModule] = field(repr=False)
    base_model_name: str | None
    config: Mapping[str, Any] = field(repr=False)
    base_rows: Mapping[str, BaseRows] = field(repr=False, default_factory=dict)

    @property
    def module_count(self) -> int:
        return len(self.modules)

    @property
    def nbytes(self) -> int:
        """Bytes of all matrices."""
        return sum(module.a.nbytes + module.b.nbytes for module in self.modules.values())

    @classmethod
    def load(cls, path: str | Path) -> PeftAdapter:
        """Read an adapter directory, or the adapter_model.safetensors in one.

        Raises AdapterNotFoundError where there is none, AdapterFormatError for files that are incomplete or damaged and
        for kinds of adapters that are not implemented.
        """
        directory, weights = _files(Path(path))
        config = LoraConfig.read(directory / CONFIG_NAME)
        if not weights.is_file():
            raise AdapterFormatError(_no_weights(directory))
        try:
            file = SafeTensorsFile(weights)
        except BoostrError as error:
            raise AdapterFormatError(str(error)) from error
        try:
            paths = list(_paired(file))
            config.check_modules(paths, directory / CONFIG_NAME)
            modules = {path: _module(file, path, config) for path in paths}
            base_rows = {path: _base_rows(file, path) for path in modules if _copy_of(path) in file.entries}
        finally:
            file.close()
        rank = max(module.a.shape[0] for module in modules.values())
        name = directory.resolve().name
        return cls(directory, name, rank, modules, config.base_model_name, config.values, base_rows)


def _files(path: Path) -> tuple[Path, Path]:
    if path.is_file() and path.suffix == ".safetensors":
        return path.parent, path
    if not path.is_dir():
        found = "is a file" if path.exists() else "does not exist"
        raise AdapterNotFoundError(f"{path} {found}: an adapter is a directory of {CONFIG_NAME} and {WEIGHTS_NAME}")
    return path, path / WEIGHTS_NAME


def _no_weights(directory: Path) -> str:
    if (directory / _PICKLE_NAME).is_file():
        return (
            f"{directory / _PICKLE_NAME} is a pickle, which can run any code and is not read; save the adapter with "
            f"safe_serialization=True, as {WEIGHTS_NAME}"
        )
    return f"{directory} has no {WEIGHTS_NAME}; download the adapter again"


def _paired(file: SafeTensorsFile) -> Iterator[str]:
    """The path of every module in the base model. Raises AdapterFormatError for tensors of other kinds."""
    sides: dict[str, set[str]] = {}
    paired = {name.removesuffix(suffix) for name in file.names() for suffix in _SIDES if name.endswith(suffix)}
    for name in file.names():
        if name.endswith(_COPY) and name.removesuffix(_COPY) in paired:
            continue
        suffix = next((suffix for suffix in _SIDES if name.endswith(suffix)), None)
        if suffix is None or not name.startswith(_WRAPPERS):
            reason = next((why for piece, why in _STRAY if piece in name), _OTHER)
            raise AdapterFormatError(f"{file.path}: tensor {shown(name)} is no part of a LoRA adapter: {reason}")
        sides.setdefault(name.removesuffix(suffix), set()).add(_SIDES[suffix])
    if not sides:
        raise AdapterFormatError(f"{file.path} holds no tensors; download the adapter again")
    for name, found in sides.items():
        if found != {"A", "B"}:
            (side,) = found
            other = "B" if side == "A" else "A"
            raise AdapterFormatError(
                f"{file.path}: {shown(f'{name}.lora_{side}.weight')} has no lora_{other} beside it"
            )
    return (name.removeprefix(_WRAPPERS) for name in sides)


def _module(file: SafeTensorsFile, path: str, config: LoraConfig) -> LoraModule:
    a = _matrix(file, f"{_WRAPPERS}{path}.lora_A.weight", "C")
    b = _matrix(file, f"{_WRAPPERS}{path}.lora_B.weight", "F")
    if a.shape[0] != b.shape[1]:
        raise AdapterFormatError(
            f"{file.path}: {shown(path)} has rank {a.shape[0]} by its lora_A {a.shape}, but {b.shape[1]} by its lora_B "
            f"{b.shape}"
        )
    rank = config.rank(path)
    if a.shape[0] != rank:
        raise AdapterFormatError(
            f"{file.path}: {shown(path)} has rank {a.shape[0]}, but {CONFIG_NAME} says {rank} by r or rank_pattern"
        )
    return LoraModule(a, b, config.scale(path))


def _copy_of(path: str) -> str:
    return f"{_WRAPPERS}{path}{_COPY}"


def _base_rows(file: SafeTensorsFile, path: str) -> BaseRows:
    name = _copy_of(path)
    shape = _checked(file, name)
    rows = np.unique(np.linspace(0, shape[0] - 1, _SAMPLE).astype(np.int64))
    return BaseRows(shape, rows, np.asarray(file.tensor(name))[rows].astype(np.float32))


def _matrix(file: SafeTensorsFile, name: str, order: Literal["C", "F"]) -> Tensor:
    _checked(file, name)
    # A copy, since the file may be replaced while it is served.
    matrix = np.array(file.tensor(name), dtype=np.float32, order=order)
    if not np.isfinite(matrix).all():
        raise AdapterFormatError(f"{file.path}: tensor {shown(name)} holds NaN or infinity; its training diverged")
    return Tensor(matrix)


def _checked(file: SafeTensorsFile, name: str) -> tuple[int, ...]:
    """The shape of a matrix."""
    info = file.info(name)
    if info.dtype not in ("F32", "F16", "BF16") or len(info.shape) != 2 or 0 in info.shape:
        raise AdapterFormatError(
            f"{file.path}: tensor {shown(name)} is {info.dtype} {list(info.shape)}; a matrix in F32, F16 or "
            "BF16 is expected"
        )
    return tuple(info.shape)
