"""What a server says of models it has not loaded, and how much memory it expects them to take."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from blazr.lifecycle.facts import describe_model, format_parameters
from blazr.lifecycle.memory import WORKING_BYTES, estimate_bytes, machine_memory
from blazr.lifecycle.protocol import ModelDescription
from blazr.lifecycle.resolve import ResolvedModel
from boostr.formats.gguf.writer import write_gguf


def gguf(path: Path, **more: Any) -> ResolvedModel:
    keys = {"general.architecture": "llama", "llama.block_count": 2, "llama.context_length": 64, **more}
    keys |= {"llama.embedding_length": 8, "llama.attention.head_count": 4}
    write_gguf(path, keys, {"token_embd.weight": np.zeros((16, 8), np.float32)})
    return ResolvedModel(path.stem, path)


def test_a_description_without_weights(tmp_path: Path) -> None:
    template = "{{ messages[0].content }}"
    found = describe_model(gguf(tmp_path / "tiny.gguf", **{"tokenizer.chat_template": template}))
    assert (found.id, found.format, found.family, found.quantization) == ("tiny", "gguf", "llama", "F32")
    assert (found.parameter_size, found.context_length, found.size) == (
        "128",
        64,
        (tmp_path / "tiny.gguf").stat().st_size,
    )
    assert (found.chat_template, found.chat_template_text) == ("gguf jinja", template)
    assert found.info["num_kv_heads"] == 4
    assert found.created == int((tmp_path / "tiny.gguf").stat().st_mtime)


def test_one_head_count_a_layer_gives_the_largest(tmp_path: Path) -> None:
    found = describe_model(gguf(tmp_path / "hybrid.gguf", **{"llama.attention.head_count_kv": [0, 2]}))
    assert found.info["num_kv_heads"] == 2


def test_sizes_of_a_nested_configuration(tmp_path: Path) -> None:
    config = {"model_type": "qwen3_5", "text_config": {"hidden_size": 8, "num_hidden_layers": 5, "head_dim": 3}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    save_file({"model.embed_tokens.weight": np.zeros((16, 8), np.float32)}, tmp_path / "model.safetensors")
    found = describe_model(ResolvedModel("nested", tmp_path))
    assert (found.family, found.info["num_layers"], found.info["head_dim"]) == ("qwen3_5", 5, 3)
    assert found.info["vocab_size"] == 16


@pytest.mark.parametrize("content", [b"", b"<html>", b"GGUF\x03\0\0\0\xff"])
def test_a_broken_file_still_has_a_name_and_a_size(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken.gguf").write_bytes(content)
    found = describe_model(ResolvedModel("broken", tmp_path / "broken.gguf"))
    assert (found.id, found.size, found.family) == ("broken", len(content), None)


def test_memory_is_weights_and_the_cache_of_one_sequence() -> None:
    info = {"num_layers": 2, "num_kv_heads": 3, "head_dim": 5}
    described = ModelDescription("m", "m", 0, size=1000, context_length=100, info=info)
    per_token = 2 * 2 * (2 * 3 * 5)  # keys and values, two bytes an element
    assert estimate_bytes(described) == 1000 + 100 * per_token + WORKING_BYTES
    assert estimate_bytes(described, context_length=10) == 1000 + 10 * per_token + WORKING_BYTES


def test_a_model_of_unknown_shape_is_estimated_by_its_weights() -> None:
    assert estimate_bytes(ModelDescription("m", "m", 0, size=1000)) == 1000 + WORKING_BYTES


def test_the_machine_has_memory() -> None:
    memory = machine_memory()
    assert memory is not None
    assert memory > 100 << 20


def test_parameters_for_people() -> None:
    assert [format_parameters(n) for n in (999, 1_500, 134_515_008, 1_235_814_400, 70_553_706_496)] == [
        "999",
        "1.5K",
        "135M",
        "1.2B",
        "71B",
    ]
