"""A Kev directory: head.pt, and beside it an adapter or whole weights. Knows no network.

Keys, defaults and words follow Kev 1.0's checkpoint reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from boostr.decision.heads.pointer import PointerHead
from boostr.errors import ConfigError, FormatError, ModelNotFoundError
from boostr.formats.json_file import read_json_object
from boostr.formats.torch_pickle import load_torch_file

__all__ = ["HEAD", "KevConfig"]

HEAD = "head.pt"
_TENSORS = ("q.weight", "q.bias", "k.weight", "k.bias")

Number = TypeVar("Number", int, None)
Word = TypeVar("Word", bound=str)


@dataclass(frozen=True, slots=True)
class KevConfig:
    """What head.pt says, and the head itself."""

    directory: Path
    head: PointerHead = field(repr=False)
    base: str
    base_revision: str | None
    rank: int
    weights: Literal["lora", "full"]
    weights_dtype: str
    temperature: float
    fitted: Mapping[str, float] = field(default_factory=dict)  # by type, over head.pt's one

    @classmethod
    def read(cls, directory: Path) -> KevConfig:
        """Raises ModelNotFoundError without one, FormatError for a file that is no head, ConfigError for one that
        cannot be served."""
        path = directory / HEAD
        if not path.is_file():
            raise ModelNotFoundError(f"{directory} has no {HEAD}, which holds Kev's pointer head; download it again")
        values = load_torch_file(path)
        if not isinstance(values, dict) or not isinstance(values.get("head"), dict):
            raise FormatError(f"{path} holds no head: Kev's is a dict with the key 'head'")
        for switch in ("option_isolation", "special_embeddings"):
            if values.get(switch) is not None and values[switch] is not False:
                raise ConfigError(
                    f"{path} says {switch}: such a model needs another attention or embeddings of its own"
                )
        fields = _Fields(values, path)
        config = cls(
            directory=directory,
            head=_head(values["head"], fields.whole("head_dim", None), path),
            base=fields.text("base", None),
            base_revision=None if values.get("base_revision") is None else fields.text("base_revision", None),
            rank=fields.whole("lora", 0),
            weights=fields.one_of("weights", ("lora", "full")),
            weights_dtype=fields.one_of("weights_dtype", ("fp32", "bf16")),
            temperature=fields.positive("temperature", 1.0),
        )
        config._check_form()
        return config

    @property
    def bases(self) -> tuple[str, ...]:
        """Names of the base model, the one to try first in front: head.pt's, then the adapter's."""
        named = self.base
        adapter = self.directory / "adapter_config.json"
        if adapter.is_file():
            other = read_json_object(adapter).get("base_model_name_or_path")
            if isinstance(other, str) and other and other != named:
                return named, other
        return (named,)

    def temperature_of(self, kind: str) -> float:
        return self.fitted.get(kind, self.temperature)

    def _check_form(self) -> None:
        adapter = (self.directory / "adapter_config.json").is_file()
        whole = (self.directory / "config.json").is_file() and any(self.directory.glob("model*.safetensors"))
        holds = "an adapter" if adapter else "backbone weights" if whole else "neither an adapter nor backbone weights"
        if not (adapter if self.weights == "lora" else whole and not adapter):
            raise ConfigError(f"{self.directory}: {HEAD} says weights={self.weights!r} but the directory holds {holds}")


def _head(tensors: Mapping[Any, Any], head_dim: int | None, path: Path) -> PointerHead:
    if set(tensors) != set(_TENSORS):
        raise FormatError(f"{path} does not hold Kev's head tensors, which are {', '.join(_TENSORS)}, and no others")
    if not all(isinstance(tensor, np.ndarray) and np.isfinite(tensor).all() for tensor in tensors.values()):
        raise FormatError(f"{path}: a head tensor is no array of finite numbers")
    shape = tensors["q.weight"].shape
    rows = shape[:1]
    if len(shape) != 2 or tensors["k.weight"].shape != shape or any(tensors[f"{n}.bias"].shape != rows for n in "qk"):
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        raise FormatError(f"{path}: the head's tensors do not fit each other: {shapes}")
    if head_dim is not None and head_dim != shape[0]:
        raise FormatError(f"{path} says head_dim {head_dim} and holds a head of {shape[0]}")
    return PointerHead(*(tensors[name].astype(np.float64) for name in _TENSORS))


class _Fields:
    """Values of head.pt by key, checked. None counts as absent, as does a key of the first releases that is not there.

    A value is shown in messages only where it is short: one from a hostile file may hold itself many times over.
    """

    def __init__(self, values: Mapping[Any, Any], path: Path) -> None:
        self._values = values
        self._path = path

    def text(self, key: str, default: str | None) -> str:
        value = self._or(key, default)
        if type(value) is not str or not value:
            raise self._fault(key, value, "a text")
        return value

    def one_of(self, key: str, words: tuple[Word, ...]) -> Word:
        value = self._or(key, words[0])
        if type(value) is not str or value not in words:
            raise self._fault(key, value, " or ".join(map(repr, words)))
        return value

    def whole(self, key: str, default: Number) -> int | Number:
        value = self._or(key, None)
        if value is None:
            return default
        if type(value) is not int or not 0 <= value < 1 << 20:
            raise self._fault(key, value, "a whole number")
        return value

    def positive(self, key: str, default: float) -> float:
        value = self._or(key, default)
        if type(value) not in (int, float) or not 0 < value < 1e30:  # false for NaN
            raise self._fault(key, value, "a finite number > 0")
        return float(value)

    def _or(self, key: str, default: Any) -> Any:
        value = self._values.get(key)
        return default if value is None else value

    def _fault(self, key: str, value: Any, wanted: str) -> ConfigError:
        plain = value is None or type(value) in (str, int, float, bool)
        shown = repr(value)[:80] if plain else f"a {type(value).__name__}"
        return ConfigError(f"{self._path}: its {key} is {shown}; it must be {wanted}")
