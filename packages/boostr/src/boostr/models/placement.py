"""Which checkpoint tensor is which parameter of a network, and whether all of them fit. Reads no tensor data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from boostr.errors import UnsupportedModelError, WeightsError
from boostr.formats import Checkpoint, TensorInfo
from boostr.models.names import INERT_GGUF, INERT_HF, NameTable, Source
from boostr.models.registry import Unused

__all__ = ["Placed", "Placement", "filled", "pattern_of"]

_SHOWN = 5  # names that an error lists before it only counts
_PLACES = "ne"  # what the numbers in a name are: the layer, then the expert
_NESTED = "model.language_model."
_NUMBER = re.compile(r"\.(\d{1,6})(?=\.)")
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
    bare     whether names lack "model.", as where the model within a language model was saved alone
    """

    def __init__(self, checkpoint: Checkpoint, table: NameTable) -> None:
        self._checkpoint = checkpoint
        self._table = table if checkpoint.format == "gguf" else _prefixed(table, checkpoint.names())
        self.bare = checkpoint.format != "gguf" and not any(name.startswith("model.") for name in checkpoint.names())
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

    def settle(self, shapes: Mapping[str, tuple[int, ...]], unused: Unused = ()) -> dict[str, Placed]:
        """{attribute path: tensor} for exactly the parameters of `shapes`; `unused` ones are skipped.

        Raises WeightsError for missing, left-over and wrong-shape tensors, all in one message.
        """
        packed = next((name for name in self._checkpoint.names() if name.endswith(_PACKED)), None)
        if packed is not None:
            raise UnsupportedModelError(
                f"{self._checkpoint.path}: packed weights such as '{packed}' are not implemented"
            )
        if "lm_head.weight" in self.placed and "lm_head.weight" not in shapes:
            self.skipped[self.placed["lm_head.weight"].name] = "tied: the embedding matrix is the output matrix"
        for name in self._checkpoint.names():
            reason = next((reason for pattern, reason in unused if re.fullmatch(pattern, name)), None)
            if reason is not None:
                self.skipped[name] = reason
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
        suffix = f".{kind}" if kind in ("weight", "bias") else None
        for text, ending in ((name, ""), (stem, suffix)):
            pattern, numbers = pattern_of(text)
            paths = [path for path in self._by_stem.get(pattern, []) if self._table[path].whole == (ending == "")]
            if ending is not None and paths:
                for path in paths:
                    self.placed[filled(path, numbers) + ending] = Placed(name, self._table[path])
                return True
        return False

    def _name_of(self, path: str) -> str:
        """The checkpoint name under which a parameter would be found."""
        stem, _, kind = path.rpartition(".")
        for text, ending in ((path, ""), (stem, f".{kind}")):
            pattern, numbers = pattern_of(text)
            source = self._table.get(pattern)
            if source is not None:
                return filled(source.name, numbers) + ending
        return path

    def _wrong_shapes(self, shapes: Mapping[str, tuple[int, ...]], wanted: Mapping[str, Placed]) -> list[str]:
        expected: dict[str, tuple[int, ...]] = {}
        for path, place in wanted.items():
            rows = expected[place.name][0] if place.name in expected else 0  # parts of a fused tensor add up
            expected[place.name] = (rows + shapes[path][0], *shapes[path][1:])
        stored = {name: tuple(self._checkpoint.info(name).shape) for name in expected}
        # Axes of one do not count: formats differ in whether they keep them.
        return [
            f"{name} is {stored[name]}, not {shape}"
            for name, shape in expected.items()
            if _without_ones(stored[name]) != _without_ones(shape)
        ]


def _prefixed(table: NameTable, names: Iterable[str]) -> NameTable:
    """The table with the "model." of the checkpoint's names: longer in models of text and images, or left out."""
    prefix = ""
    for name in names:
        if name.startswith(_NESTED):
            prefix = _NESTED
            break
        if name.startswith("model."):
            prefix = "model."
    return {
        path: replace(source, name=prefix + source.name.removeprefix("model."))
        if source.name.startswith("model.")
        else source
        for path, source in table.items()
    }


def pattern_of(name: str) -> tuple[str, list[int]]:
    """The name with its first number as {n} and its second as {e}, and those numbers."""
    numbers: list[int] = []

    def place(match: re.Match[str]) -> str:
        numbers.append(int(match[1]))
        return f".{{{_PLACES[len(numbers) - 1]}}}"

    return _NUMBER.sub(place, name, count=len(_PLACES)), numbers


def filled(pattern: str, numbers: list[int]) -> str:
    """The reverse: `numbers` in their places."""
    for place, number in zip(_PLACES, numbers, strict=False):
        pattern = pattern.replace(f"{{{place}}}", str(number))
    return pattern


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
