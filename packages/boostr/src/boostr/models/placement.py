"""Which checkpoint tensor is which parameter of a network, and whether all of them fit. Reads no tensor data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from boostr.errors import UnsupportedModelError, WeightsError
from boostr.formats import Checkpoint, TensorInfo
from boostr.models.names import INERT_GGUF, INERT_HF, NameTable, Source

__all__ = ["Placed", "Placement"]

_SHOWN = 5  # names that an error lists before it only counts
_LAYER = re.compile(r"\.(\d{1,6})\.")
_PACKED = (".qweight", ".weight_scale_inv", ".weight_packed")


@dataclass(frozen=True, slots=True)
class Placed:
    """The checkpoint tensor that holds a parameter, or a part of which does."""

    name: str
    source: Source


class Placement:
    """The tensors of `checkpoint` by attribute path, under a name table.

    placed   {attribute path: tensor}; a fused tensor stands under several paths
    found    the same with what the headers say
    skipped  tensors of no use, with the reason; complete after `settle`
    """

    def __init__(self, checkpoint: Checkpoint, table: NameTable) -> None:
        self._checkpoint = checkpoint
        self._table = table if checkpoint.format == "gguf" else _without_prefix(table, checkpoint.names())
        self._by_stem: dict[str, list[str]] = {}
        for path, source in self._table.items():
            self._by_stem.setdefault(source.name, []).append(path)
        inert = INERT_GGUF if checkpoint.format == "gguf" else INERT_HF
        self.placed: dict[str, Placed] = {}
        self.skipped: dict[str, str] = {}
        for name in checkpoint.names():
            if not self._place(name):
                reason = next((reason for pattern, reason in inert if re.fullmatch(pattern, name)), None)
                if reason is not None:
                    self.skipped[name] = reason
        self.found: dict[str, TensorInfo] = {path: checkpoint.info(place.name) for path, place in self.placed.items()}

    def settle(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Placed]:
        """{attribute path: tensor} for exactly the parameters of `shapes`.

        Raises WeightsError for missing, left-over and wrong-shape tensors, all in one message.
        """
        packed = next((name for name in self._checkpoint.names() if name.endswith(_PACKED)), None)
        if packed is not None:
            raise UnsupportedModelError(
                f"{self._checkpoint.path}: packed weights such as '{packed}' are not implemented"
            )
        if "lm_head.weight" in self.placed and "lm_head.weight" not in shapes:
            self.skipped[self.placed["lm_head.weight"].name] = "tied: the embedding matrix is the output matrix"
        wanted = {path: self.placed[path] for path in shapes if path in self.placed}
        used = {place.name for place in wanted.values()}
        faults = {
            "missing": [self._name_of(path) for path in shapes if path not in wanted],
            "left over": [name for name in self._checkpoint.names() if name not in used and name not in self.skipped],
            "of another shape": self._wrong_shapes(shapes, wanted),
        }
        if any(faults.values()):
            listed = "; ".join(f"{len(names)} {fault}: {_listed(names)}" for fault, names in faults.items() if names)
            raise WeightsError(f"{self._checkpoint.path}: its tensors do not fit its configuration; {listed}")
        return wanted

    def _place(self, name: str) -> bool:
        stem, _, kind = name.rpartition(".")
        layer = _LAYER.search(stem)
        pattern = stem if layer is None else f"{stem[: layer.start()]}.{{n}}.{stem[layer.end() :]}"
        paths = self._by_stem.get(pattern, []) if kind in ("weight", "bias") else []
        for path in paths:
            full = path if layer is None else path.replace("{n}", str(int(layer[1])))
            self.placed[f"{full}.{kind}"] = Placed(name, self._table[path])
        return bool(paths)

    def _name_of(self, path: str) -> str:
        """The checkpoint name under which a parameter would be found."""
        stem, _, kind = path.rpartition(".")
        layer = _LAYER.search(stem)
        pattern = stem if layer is None else f"{stem[: layer.start()]}.{{n}}.{stem[layer.end() :]}"
        source = self._table.get(pattern)
        if source is None:
            return path
        return f"{source.name if layer is None else source.name.replace('{n}', layer[1])}.{kind}"

    def _wrong_shapes(self, shapes: Mapping[str, tuple[int, ...]], wanted: Mapping[str, Placed]) -> list[str]:
        expected: dict[str, tuple[int, ...]] = {}
        for path, place in wanted.items():
            rows = expected[place.name][0] if place.name in expected else 0  # parts of a fused tensor add up
            expected[place.name] = (rows + shapes[path][0], *shapes[path][1:])
        stored = {name: tuple(self._checkpoint.info(name).shape) for name in expected}
        return [f"{name} is {stored[name]}, not {shape}" for name, shape in expected.items() if stored[name] != shape]


def _without_prefix(table: NameTable, names: Iterable[str]) -> NameTable:
    """The table, less its "model." where a checkpoint was saved from inside the outer model."""
    if any(name.startswith("model.") for name in names):
        return table
    return {path: Source(s.name.removeprefix("model."), s.part, s.paired) for path, s in table.items()}


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
