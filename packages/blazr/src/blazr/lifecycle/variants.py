"""The LoRA variants that a server knows: which adapter, of which model, where. Builds nothing and loads no base."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from blazr.errors import AdapterExistsError, ModelNotFoundError, RequestError
from blazr.lifecycle.resolve import modified_at

__all__ = ["Variant", "VariantTable", "check_variant_name", "read_variant", "split_adapter"]

MAX_VARIANTS = 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Variant:
    """An adapter of one model, as its files said when it was registered. `nbytes` is what it takes in memory."""

    base: str
    name: str
    path: Path
    rank: int
    module_count: int
    nbytes: int
    created: int  # Unix seconds: modification time of its files
    confined: bool = False  # a client named the path: it is checked again before every build

    @property
    def id(self) -> str:
        """What requests call it."""
        return f"{self.base}:{self.name}"


class VariantTable:
    """Variants by base and name. A name stands for one adapter, with the files it had, until it is removed."""

    def __init__(self) -> None:
        self._variants: dict[tuple[str, str], Variant] = {}

    def add(self, variant: Variant) -> bool:
        """False when that adapter already has that name. Raises AdapterExistsError when another one has it."""
        known = self.find(variant.base, variant.name)
        if known is not None:
            if replace(variant, confined=known.confined) == known:
                return False
            what = "is already another adapter"
            if known.path == variant.path:
                what = "was registered before the files of its adapter changed"
            raise AdapterExistsError(f"{variant.id} {what}; DELETE it first, or choose another name")
        if len(self._variants) >= MAX_VARIANTS:
            raise RequestError(f"{MAX_VARIANTS} adapters are registered, which is the limit; DELETE one first", "name")
        self._variants[variant.base, variant.name] = variant
        return True

    def remove(self, variant: Variant) -> None:
        """Does nothing when it is no longer there."""
        self._variants.pop((variant.base, variant.name), None)

    def find(self, base: str, name: str) -> Variant | None:
        return self._variants.get((base, name))

    def require(self, base: str, name: str) -> Variant:
        """Raises ModelNotFoundError that lists the adapters of that model."""
        variant = self.find(base, name)
        if variant is None:
            known = ", ".join(one.name for one in self.of(base)[:20])
            raise ModelNotFoundError(
                f"model {base} has no adapter named {name!r:.100}; "
                + (f"known are {known}" if known else "none is registered (serve --lora, or POST /v1/lora)")
            )
        return variant

    def named(self, name: str) -> list[Variant]:
        """Of every base."""
        return [one for one in self.all() if one.name == name]

    def of(self, base: str) -> list[Variant]:
        """By name."""
        return [one for one in self.all() if one.base == base]

    def all(self) -> list[Variant]:
        """By base and name."""
        return sorted(self._variants.values(), key=lambda one: (one.base, one.name))


def split_adapter(text: str) -> tuple[Path, str]:
    """`DIR[=NAME]` as a path and a name; without one, the directory's own. Raises ValueError for a bad name."""
    path, name = Path(text).expanduser(), ""
    if not path.exists() and "=" in text:
        before, _, name = text.rpartition("=")
        path = Path(before).expanduser()
        check_variant_name(name)
    return path, name or _own_name(path)


def check_variant_name(name: str) -> str:
    """Raises ValueError for a name that requests could not spell."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"the adapter name {name!r:.100} must be 1 to 64 letters, digits, dots, dashes or underscores, and begin "
            "with a letter or digit"
        )
    return name


def read_variant(base: str, path: Path, name: str | None = None, *, confined: bool = False) -> Variant:
    """Read and check the adapter's files, without its base. Raises AdapterError, ValueError for a bad name.

    Links are resolved: what is registered does not change when a link is turned, and is known again by any path.
    """
    from boostr.peft import PeftAdapter

    name = check_variant_name(name) if name else _own_name(path)
    adapter = PeftAdapter.load(path)
    created = int(modified_at(adapter.path))
    # Of a file only its directory: in a cache of downloads it is itself a link, away from its configuration.
    path = path.parent.resolve() / path.name if path.is_file() else path.resolve()
    return Variant(base, name, path, adapter.rank, adapter.module_count, adapter.nbytes, created, confined)


def _own_name(path: Path) -> str:
    directory = path.parent if path.suffix == ".safetensors" else path
    try:
        return check_variant_name(directory.resolve().name)
    except ValueError as error:
        raise ValueError(f"{error}; give one, as DIR=NAME or in the field name") from None
