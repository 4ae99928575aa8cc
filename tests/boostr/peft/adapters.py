"""Bases and adapters for the tests of this folder: committed ones, and ones written on the spot."""

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

import boostr
from boostr import LanguageModel
from boostr.peft import PeftAdapter
from boostr.state import Batch
from tests.boostr.models.gguf_of import write_gguf_of
from tests.boostr.models.gguf_of_qwen35 import write_qwen35_gguf_of
from tests.boostr.models.networks import ARCH, DATA

LORA = DATA / "lora"
PREFIX = "base_model.model."
Array = NDArray[np.float32]


@cache
def base(case: str) -> LanguageModel:
    return boostr.load(ARCH / case, precise=True)


def base_of(adapter: str) -> str:
    return "llama" if adapter.startswith("llama") else "qwen3_5_text"


@cache
def variant(adapter: str) -> LanguageModel:
    return base(base_of(adapter)).derive_with_adapter(PeftAdapter.load(LORA / adapter))


def write_gguf(case: str, target: Path) -> None:
    """The F32 GGUF that a converter would make of a committed base."""
    (write_qwen35_gguf_of if case.startswith("qwen3_") else write_gguf_of)(ARCH / case, target)


def golden(adapter: str) -> list[dict[str, Any]]:
    tensors = load_file(LORA / adapter / "golden.safetensors")
    numbers = sorted(name.removeprefix("logits_") for name in tensors if name.startswith("logits_"))
    return [{key: tensors[f"{key}_{n}"] for key in ("input_ids", "logits", "greedy")} for n in numbers]


def altered(source: str, target: Path, config: Mapping[str, Any], **tensors: Any) -> Path:
    """A copy of a committed adapter with other settings and tensors."""
    shutil.copytree(LORA / source, target)
    file, weights = target / "adapter_config.json", target / "adapter_model.safetensors"
    settings = json.loads(file.read_text("utf-8")) | dict(config)
    file.write_text(json.dumps(settings), "utf-8")
    save_file(load_file(weights) | tensors, weights)
    return target


def write_adapter(target: Path, modules: Mapping[str, tuple[Array, Array]], alpha: float = 8) -> PeftAdapter:
    """An adapter of (A, B) per module; all have the rank of the first."""
    target.mkdir(parents=True)
    rank = next(iter(modules.values()))[0].shape[0]
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "base_model_name_or_path": "somebody/base"}
    (target / "adapter_config.json").write_text(json.dumps(config), "utf-8")
    tensors = {}
    for name, (a, b) in modules.items():
        tensors[f"{PREFIX}{name}.lora_A.weight"], tensors[f"{PREFIX}{name}.lora_B.weight"] = a, b
    save_file(tensors, target / "adapter_model.safetensors")
    return PeftAdapter.load(target)


def random_update(shape: Sequence[int], rng: np.random.Generator, rank: int = 3) -> tuple[Array, Array]:
    """(A, B) for a module of (out, in) features, large enough to move logits by more than rounding does."""
    out, into = shape
    a, b = rng.normal(size=(rank, into)) / into**0.5, rng.normal(size=(out, rank)) / 8
    return a.astype(np.float32), b.astype(np.float32)


def greedy(model: LanguageModel, ids: Sequence[int], count: int) -> tuple[list[int], list[float]]:
    """(`count` tokens, the margin of each over the runner-up), decoded one by one."""
    state, following = model.new_state(), list(ids)
    tokens: list[int] = []
    margins: list[float] = []
    for _ in range(count):
        batch = Batch.pack([(following, state)], adapters=[model.span_adapter])
        logits = np.asarray(model.network.logits(model.network.forward(batch)))[0]
        second, first = np.sort(logits)[-2:]
        tokens.append(int(logits.argmax()))
        margins.append(float(first - second))
        following = tokens[-1:]
    return tokens, margins
