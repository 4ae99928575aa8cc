"""A small real model with a tokenizer, and random LoRA adapters of it that make it say other things."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from boostr.generate.language_model import LanguageModel
from boostr.state import Batch

__all__ = ["BASE", "clear_greedy", "write_adapter"]

BASE = Path(__file__).parents[1] / "data" / "gguf" / "models" / "llama-bpe-Q4_K_M.gguf"  # 2 layers of 256, context 512


def write_adapter(
    target: Path, seed: int, rank: int = 4, modules: Sequence[str] = ("mlp.up_proj", "mlp.down_proj")
) -> Path:
    """An adapter for BASE whose update is as large as the weights."""
    rng = np.random.default_rng(seed)
    target.mkdir(parents=True)
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": 2 * rank, "base_model_name_or_path": "somebody/base"}
    (target / "adapter_config.json").write_text(json.dumps(config), "utf-8")
    tensors = {}
    for layer in range(2):
        for module in modules:
            name = f"base_model.model.model.layers.{layer}.{module}"
            tensors[f"{name}.lora_A.weight"] = (rng.normal(size=(rank, 256)) / 16).astype(np.float32)
            tensors[f"{name}.lora_B.weight"] = (rng.normal(size=(256, rank)) / 4).astype(np.float32)
    save_file(tensors, target / "adapter_model.safetensors")
    return target


def clear_greedy(model: LanguageModel, ids: Sequence[int], count: int, margin: float = 0.01) -> str | None:
    """`count` greedy tokens as text; None where one of them wins by less than `margin`, so that rounding may decide."""
    state, following, tokens = model.new_state(), list(ids), []
    for _ in range(count):
        batch = Batch.pack([(following, state)], adapters=[model.span_adapter])
        logits = np.asarray(model.network.logits(model.network.forward(batch)))[0]
        second, first = np.sort(logits)[-2:]
        if first - second < margin:
            return None
        following = [int(logits.argmax())]
        tokens += following
    text = model.complete(ids, max_tokens=count, temperature=0, ignore_eos=True)[0]
    assert text.token_ids == tokens
    return text.text
