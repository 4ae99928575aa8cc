"""What must be in memory at one time of a model whose weights are paged in on use, for any layout."""

import mmap
from pathlib import Path

import numpy as np
import pytest

from blazr.config import InferenceSettings
from blazr.lifecycle.facts import describe_model, read_facts
from blazr.lifecycle.layers import layer_bytes
from blazr.lifecycle.loading import load_model
from blazr.lifecycle.memory import estimate_bytes
from blazr.lifecycle.resolve import ResolvedModel

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize("prefix", ["blk.", "model.layers.", "model.language_model.layers.", "transformer.h.", ""])
def test_layers_are_found_under_any_prefix(prefix: str) -> None:
    sizes = {f"{prefix}{layer}.experts.{expert}.weight": 10 + layer for layer in range(3) for expert in range(2)}
    assert layer_bytes({**sizes, "embed.weight": 1000}, 3) == {0: 20, 1: 22, 2: 24}


def test_the_layer_count_tells_the_text_model_from_a_larger_tower() -> None:
    tower = {f"model.visual.blocks.{layer}.w": 1000 for layer in range(2)}
    text = {f"model.language_model.layers.{layer}.w": 10 for layer in range(4)}
    assert layer_bytes({**tower, **text}, 4) == dict.fromkeys(range(4), 10)


def test_without_a_layer_count_the_largest_list_is_meant() -> None:
    assert layer_bytes({"a.0.w": 5, "a.1.w": 5, "b.0.w": 7}, None) == {0: 5, 1: 5}


def test_no_layers_at_all() -> None:
    assert layer_bytes({"w": 5}, None) == {}


@pytest.mark.parametrize(
    "path", [DATA / "arch" / "llama", DATA / "arch" / "qwen3_5", DATA / "gguf" / "models" / "qwen35-F16.gguf"]
)
def test_a_paged_model_is_estimated_by_its_largest_layer(path: Path) -> None:
    model = ResolvedModel("m", path)
    facts, described = read_facts(model), describe_model(model)
    assert facts.working_set is not None
    assert 0 < facts.working_set < facts.size
    saved = estimate_bytes(described) - estimate_bytes(described, paged=True)
    assert saved == described.size - facts.working_set


@pytest.mark.parametrize("path", [DATA / "arch" / "llama", DATA / "gguf" / "models" / "llama-bpe-Q4_K_M.gguf"])
def test_matrices_stay_in_their_mapped_files(path: Path) -> None:
    model = load_model(ResolvedModel("m", path), InferenceSettings(offload=True))
    weight = model.network.layers[0].mlp.down_proj.weight  # type: ignore[attr-defined]
    root = getattr(weight, "blocks", None)
    root = weight.array if root is None else root
    while isinstance(root, np.ndarray) and root.base is not None:
        root = root.base
    assert isinstance(getattr(root, "obj", root), mmap.mmap)
    model.close()
