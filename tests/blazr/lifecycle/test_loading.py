"""How settings reach boostr's loader: only what was set, so that its own defaults hold."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blazr.config import InferenceSettings
from blazr.lifecycle.loading import load_model
from blazr.lifecycle.resolve import ResolvedModel


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the loader was called with."""
    seen: dict[str, Any] = {}

    def load(path: Path, **options: Any) -> Any:
        seen.update(options, path=path)
        return SimpleNamespace(name="file")

    monkeypatch.setattr("boostr.generate.load.load", load)
    return seen


@pytest.mark.parametrize("activations", ["int8", "int16", "float32"])
def test_activations_reach_the_loader(given: dict[str, Any], activations: str) -> None:
    model = load_model(ResolvedModel("mine", Path("m.gguf")), InferenceSettings(activations=activations, precise=True))
    assert (given["activations"], given["precise"], given["path"]) == (activations, True, Path("m.gguf"))
    assert model.name == "mine"


def test_activations_that_were_not_set_are_the_loaders_own(given: dict[str, Any]) -> None:
    load_model(ResolvedModel("mine", Path("m.gguf")), InferenceSettings())
    assert "activations" not in given
