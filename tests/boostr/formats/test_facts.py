"""Counts and sizes from headers alone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from boostr.formats import checkpoint_facts, open_checkpoint
from boostr.formats.gguf import write_gguf
from boostr.formats.gguf.writer import Weight
from boostr.quant import QUANT_TYPES, QuantTensor

MODEL = Path(__file__).parents[2] / "data/gguf/models/llama-spm-Q8_0.gguf"


def test_a_gguf_model_by_type() -> None:
    facts = checkpoint_facts(open_checkpoint(MODEL))
    assert (facts.format, facts.quantization, facts.tensors) == ("gguf", "Q8_0", 21)
    assert facts.file_bytes == MODEL.stat().st_size
    assert list(facts.dtypes) == ["Q8_0", "F32"]
    assert facts.parameters == sum(dtype.parameters for dtype in facts.dtypes.values())
    assert facts.dtypes["Q8_0"].nbytes * 32 == facts.dtypes["Q8_0"].parameters * 34


def test_the_file_type_wins_over_the_commonest_type(tmp_path: Path) -> None:
    quant = QUANT_TYPES["Q4_K"]
    weight = QuantTensor(np.zeros((4, quant.block_bytes), np.uint8), quant, (4, 256))
    write_gguf(tmp_path / "m.gguf", {"general.file_type": 15}, {"w": weight})
    facts = checkpoint_facts(open_checkpoint(tmp_path))
    assert facts.quantization == "Q4_K_M"
    assert facts.bits_per_weight == 4.5


@pytest.mark.parametrize("file_type", [9999, "Q4_K_M", 1.5])
def test_without_a_known_file_type_most_bytes_decide(tmp_path: Path, file_type: object) -> None:
    weights: dict[str, Weight] = {"a": np.zeros(9, np.float16), "b": np.zeros(4, np.float32)}
    write_gguf(tmp_path / "m.gguf", {"general.file_type": file_type}, weights)
    assert checkpoint_facts(open_checkpoint(tmp_path)).quantization == "F16"


@pytest.mark.parametrize(("method", "bits", "words"), [("awq", 4, 8), ("gptq", 8, 4)])
def test_packed_weights_count_as_what_they_unpack_to(tmp_path: Path, method: str, bits: int, words: int) -> None:
    layer: dict[str, Any] = {
        "qweight": np.zeros((16, 2), np.int32),
        "qzeros": np.zeros((1, 2), np.int32),
        "scales": np.zeros((1, 16), np.float16),
        "g_idx": np.zeros(16, np.int32),
        "bias": np.zeros(5, np.float16),
    }
    save_file({f"l.{name}": value for name, value in layer.items()}, tmp_path / "model.safetensors")
    config = {"quantization_config": {"quant_method": method, "bits": bits}}
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    facts = checkpoint_facts(open_checkpoint(tmp_path))
    assert facts.quantization == f"{method.upper()} {bits}-bit"
    assert facts.parameters == 32 * words + 5


def test_a_model_without_tensors(tmp_path: Path) -> None:
    write_gguf(tmp_path / "vocabulary.gguf", {"general.architecture": "llama"}, {})
    facts = checkpoint_facts(open_checkpoint(tmp_path))
    assert (facts.parameters, facts.bits_per_weight, facts.quantization) == (0, 0.0, "none")
