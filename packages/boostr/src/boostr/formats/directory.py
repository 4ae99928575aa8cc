"""Which files of a directory are the model's weights. Looks at names only; opens nothing but an adapter's config."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from boostr.errors import ModelNotFoundError
from boostr.formats.gguf.split import part_number
from boostr.formats.json_file import read_json_object
from boostr.formats.safetensors.shards import INDEX_NAME, numbered_shards

__all__ = ["Contents", "find_weights", "model_files"]

# Weights that sit beside a model and have loaders of their own: PEFT adapters, decision heads.
_NOT_A_MODEL = ("adapter_model.safetensors", "joint_head.safetensors")

_WHOLE_MODELS = ("model.safetensors", "pytorch_model.safetensors")


@dataclass(frozen=True, slots=True)
class Contents:
    """The weights found: exactly one of an index, a list of SafeTensors files, or a GGUF file is set."""

    directory: Path
    index: Path | None = None
    safetensors: list[Path] = field(default_factory=list)
    gguf: Path | None = None

    @classmethod
    def of_gguf(cls, path: Path) -> Contents:
        return cls(path.parent, gguf=path)

    @classmethod
    def of_safetensors(cls, path: Path) -> Contents:
        """One file; a numbered shard stands for its whole set, through the index when there is one."""
        if numbered_shards_name(path):
            index = path.parent / INDEX_NAME
            if index.is_file():
                return cls(path.parent, index=index)
            return cls(path.parent, safetensors=numbered_shards(path) or [path])
        return cls(path.parent, safetensors=[path])


def numbered_shards_name(path: Path) -> bool:
    """Whether the name is that of one shard out of several."""
    stem = path.stem.rsplit("-of-", 1)
    return len(stem) == 2 and stem[1].isdigit() and stem[0][-5:].isdigit()


def model_files(directory: Path) -> tuple[list[Path], list[Path]]:
    """(SafeTensors, GGUF) files in `directory` that can be a model: no adapters, heads or vision projectors."""
    files = sorted(path for path in directory.iterdir() if path.is_file() and not path.name.startswith("."))
    tensors = [path for path in files if path.suffix.lower() == ".safetensors" and path.name not in _NOT_A_MODEL]
    ggufs = [path for path in files if path.suffix.lower() == ".gguf" and "mmproj" not in path.name.lower()]
    return tensors, ggufs


def find_weights(directory: Path) -> Contents:
    """Raises ModelNotFoundError when there are no weights, or several models to choose from."""
    index = directory / INDEX_NAME
    if index.is_file():
        return Contents(directory, index=index)
    tensors, ggufs = model_files(directory)
    for name in _WHOLE_MODELS:
        if (directory / name) in tensors:
            return Contents(directory, safetensors=[directory / name])
    if tensors and not _is_adapter(directory):
        return Contents(directory, safetensors=_one_set(directory, tensors))
    if ggufs:
        return Contents(directory, gguf=_one_gguf(directory, ggufs))
    raise ModelNotFoundError(_why_nothing(directory))


def _is_adapter(directory: Path) -> bool:
    return (directory / "adapter_config.json").is_file() and not (directory / "config.json").is_file()


def _one_set(directory: Path, tensors: list[Path]) -> list[Path]:
    if len(tensors) == 1 and not numbered_shards_name(tensors[0]):
        return tensors
    shards = numbered_shards(tensors[0])
    if shards is not None and set(tensors) <= set(shards):
        return shards
    raise ModelNotFoundError(
        f"{directory} holds several SafeTensors files and no {INDEX_NAME}: {_names(tensors)}; name one of them"
    )


def _one_gguf(directory: Path, ggufs: list[Path]) -> Path:
    # All parts of a split model count as one; the first one stands for it.
    models: dict[tuple[str, int], Path] = {}
    for path in ggufs:
        part = part_number(path)
        models.setdefault((path.name, 0) if part is None else (part[0], part[2]), path)
    if len(models) > 1:
        raise ModelNotFoundError(f"{directory} holds several GGUF models: {_names(ggufs)}; name one of them")
    return next(iter(models.values()))


def _why_nothing(directory: Path) -> str:
    adapter = directory / "adapter_config.json"
    if adapter.is_file():
        base = read_json_object(adapter).get("base_model_name_or_path")
        of = f" of {base}" if isinstance(base, str) and base else ""
        return f"{directory} holds only a LoRA adapter{of}; load the base model and apply the adapter to it"
    if any(directory.glob("*.bin")) or any(directory.glob("*.pt")) or any(directory.glob("*.pth")):
        return f"{directory} holds only PyTorch pickles, which are not read; use the SafeTensors release of the model"
    return f"{directory} holds no model: no {INDEX_NAME}, no .safetensors and no .gguf file"


def _names(paths: list[Path], most: int = 12) -> str:
    names = [path.name for path in paths]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
