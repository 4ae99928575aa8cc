"""Stores of one real base, with real adapters beside it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blazr.lifecycle import store as store_module
from blazr.lifecycle.adapter_paths import AdapterPaths
from blazr.lifecycle.facts import describe_model
from blazr.lifecycle.resolve import ModelDirectory, ResolvedModel
from blazr.lifecycle.store import ModelStore
from blazr.lifecycle.variants import read_variant
from boostr import load
from tests.blazr.lifecycle.variant_stores import Builds, IdleLane, Store
from tests.support.adapters import BASE, write_adapter


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    counted = Builds()
    monkeypatch.setattr(store_module, "build_variant", counted)
    return counted


@pytest.fixture
def adapters(tmp_path: Path) -> Path:
    root = tmp_path / "adapters"
    for seed, name in enumerate(("one", "two", "three")):
        write_adapter(root / name, seed)
    return root


@pytest.fixture
def models(tmp_path: Path) -> Path:
    directory = tmp_path / "models"
    directory.mkdir()
    shutil.copy(BASE, directory / "base.gguf")
    shutil.copy(BASE, directory / "other.gguf")
    return directory


@pytest.fixture
def make(models: Path, adapters: Path) -> Callable[..., Store]:
    def make(*start: str, **options: Any) -> Store:
        return ModelStore(
            ModelDirectory(models),
            load=_load,
            make_lane=IdleLane,
            describe=describe_model,
            **{
                "start": "base",
                "start_variants": [read_variant("base", adapters / name) for name in start],
                "adapter_paths": AdapterPaths([adapters]),
                **options,
            },
        )

    return make


def _load(found: ResolvedModel) -> Any:
    model = load(found.path)
    model.name = found.name
    return model
