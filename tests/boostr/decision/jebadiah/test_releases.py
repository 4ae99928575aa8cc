"""The forms in which the family is released, each made of the tiny model and held to the vendor's readout of it: an
adapter beside its base, merged weights under multimodal names, and a GGUF file with its temperatures beside it."""

import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from boostr import decision
from boostr.decision.jebadiah import Jebadiah, JebadiahLimits
from boostr.decision.load import recognise
from boostr.errors import ConfigError, FormatError
from tests.boostr.models.gguf_of_qwen35 import described_tensors, write_qwen35_gguf_of

from ..alike import assert_same_answers
from .goldens import DATA, TINY, golden

GOLDEN = golden("tiny_e2e")
SIDECARS = DATA / "tiny_sidecars"
ADAPTER = DATA / "tiny_adapter"

Weights = dict[str, NDArray[np.float32]]


def assert_answers(directory: Path, kind: str) -> None:
    """What the release answers to every request of the golden is what the vendor's readout gives."""
    model = decision.load(directory)
    assert model.family.name == "jebadiah"
    for case in GOLDEN[kind]:
        body = model.answer(case["request"])
        for name, expected in case["questions"].items():
            assert_same_answers(body["answers"][name], expected["server_answer"], 1e-4)
        assert body["usage"] == case["server_usage"]
        assert body["calibration"] == {"applied": True, "temperatures": GOLDEN["temperatures"]}
    model.close()


def weights_of(directory: Path) -> Weights:
    return {name: array.astype(np.float32) for name, array in load_file(directory / "model.safetensors").items()}


def config_of(directory: Path) -> dict[str, Any]:
    return dict(json.loads((directory / "config.json").read_text("utf-8")))


def release(directory: Path, *files: Path) -> Path:
    directory.mkdir()
    for file in files:
        shutil.copy(file, directory)
    return directory


def sidecars() -> list[Path]:
    return sorted(SIDECARS.iterdir())


def tokenizer() -> list[Path]:
    return [TINY / "tokenizer.json", TINY / "tokenizer_config.json"]


def test_an_adapter_beside_its_base(tmp_path: Path) -> None:
    release(tmp_path / "tiny_model", *tokenizer(), TINY / "config.json", TINY / "model.safetensors")
    assert_answers(release(tmp_path / "jebadiah-v1", *ADAPTER.iterdir(), *sidecars()), "with_adapter")


def test_merged_weights_under_multimodal_names(tmp_path: Path) -> None:
    """As the exporter keeps them: vision tower and MTP tensors lie there and are not read."""
    merged = {name.replace("model.", "model.language_model.", 1): array for name, array in merge(ADAPTER).items()}
    unread = {
        "model.visual.blocks.0.norm1.weight": np.ones(4, np.float32),
        "mtp.fc.weight": np.ones((4, 8), np.float32),
    }
    text = config_of(TINY)
    config = {
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "text_config": text,
        "tie_word_embeddings": text["tie_word_embeddings"],
        "vision_config": {"model_type": "qwen3_5_vision"},
    }
    folder = release(tmp_path / "jebadiah-v2", *tokenizer(), *sidecars())
    save_file({**merged, **unread}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    assert_answers(folder, "with_adapter")


def merge(adapter: Path) -> Weights:
    """W + alpha / r * B A, in float32."""
    settings = json.loads((adapter / "adapter_config.json").read_text("utf-8"))
    scale = settings["lora_alpha"] / settings["r"]
    low_rank = load_file(adapter / "adapter_model.safetensors")
    merged = weights_of(TINY)
    for name, a in low_rank.items():
        if name.endswith(".lora_A.weight"):
            stem = name.removesuffix(".lora_A.weight")
            b = low_rank[f"{stem}.lora_B.weight"]
            product = b.astype(np.float32) @ a.astype(np.float32)
            merged[stem.removeprefix("base_model.model.") + ".weight"] += np.float32(scale) * product
    return merged


def test_a_gguf_file_with_temperatures_beside_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = release(tmp_path / "jebadiah-9b-v2", SIDECARS / "temperatures.json")
    described = {"kv": metadata(config_of(TINY)), "tensors": described_tensors(TINY)}
    write_qwen35_gguf_of(TINY, folder / "jebadiah-9b-v2-F32.gguf", described=described)
    with caplog.at_level(logging.WARNING, "boostr.decision"):
        assert_answers(folder, "base")
    assert "prompt contract: no prompt_contract.json in the model directory" in caplog.messages
    (folder / "temperatures.json").unlink()
    assert recognise(folder / "jebadiah-9b-v2-F32.gguf") is Jebadiah  # by its header alone


def metadata(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a converter writes of the tiny model, from a folder named jebadiah-9b-v2."""
    spelled = json.loads((TINY / "tokenizer.json").read_text("utf-8"))
    texts = {**spelled["model"]["vocab"], **{each["content"]: each["id"] for each in spelled["added_tokens"]}}
    by_id = {token: text for text, token in texts.items()}
    kinds = dict.fromkeys(by_id, 1) | {each["id"]: 3 if each["special"] else 4 for each in spelled["added_tokens"]}
    ids = range(config["vocab_size"])
    template = json.loads((TINY / "tokenizer_config.json").read_text("utf-8"))["chat_template"]
    values = config["linear_num_value_heads"] * config["linear_value_head_dim"]
    rope = config["rope_parameters"]
    return {
        "general.architecture": "qwen35",
        "general.name": "Jebadiah 9b v2",
        "general.basename": "jebadiah",
        "general.file_type": 0,
        "qwen35.block_count": config["num_hidden_layers"],
        "qwen35.context_length": config["max_position_embeddings"],
        "qwen35.embedding_length": config["hidden_size"],
        "qwen35.feed_forward_length": config["intermediate_size"],
        "qwen35.attention.head_count": config["num_attention_heads"],
        "qwen35.attention.head_count_kv": config["num_key_value_heads"],
        "qwen35.attention.key_length": config["head_dim"],
        "qwen35.attention.value_length": config["head_dim"],
        "qwen35.attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
        "qwen35.rope.freq_base": rope["rope_theta"],
        "qwen35.rope.dimension_count": int(config["head_dim"] * rope["partial_rotary_factor"]),
        "qwen35.rope.dimension_sections": [1, 1, 0, 0],
        "qwen35.ssm.conv_kernel": config["linear_conv_kernel_dim"],
        "qwen35.ssm.state_size": config["linear_key_head_dim"],
        "qwen35.ssm.group_count": config["linear_num_key_heads"],
        "qwen35.ssm.time_step_rank": config["linear_num_value_heads"],
        "qwen35.ssm.inner_size": values,
        "qwen35.full_attention_interval": 4,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen35",
        "tokenizer.ggml.tokens": [by_id.get(token, f"[PAD{token}]") for token in ids],
        "tokenizer.ggml.token_type": np.array([kinds.get(token, 5) for token in ids], np.int32),
        "tokenizer.ggml.merges": [" ".join(pair) for pair in spelled["model"]["merges"]],
        "tokenizer.ggml.eos_token_id": config["eos_token_id"],
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": template,
    }


def test_a_contract_of_another_prompt_stops_the_load(tmp_path: Path) -> None:
    folder = release(tmp_path / "j", *tokenizer(), *sidecars(), TINY / "config.json", TINY / "model.safetensors")
    contract = json.loads((folder / "prompt_contract.json").read_text("utf-8"))
    (folder / "prompt_contract.json").write_text(json.dumps(contract | {"chat_template_sha256": "0"}))
    with pytest.raises(ConfigError, match="chat_template_sha256 differs from the tokenizer's template"):
        decision.load(folder)
    model = decision.load(folder, limits=JebadiahLimits(allow_contract_mismatch=True))
    model.close()
    (folder / "prompt_contract.json").write_text('{"prompt_source_sha256"')
    (folder / "model.safetensors").unlink()  # told before weights are looked for
    with pytest.raises(FormatError, match="not valid JSON"):
        decision.load(folder)
