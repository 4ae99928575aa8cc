"""GGUF files give the logits of the checkpoint behind them: row order, divisors, ties and metadata are understood."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from boostr.errors import WeightsError
from tests.boostr.models.gguf_of import write_gguf_of
from tests.boostr.models.networks import ARCH, DATA, golden, load, one_shot

CONVERTED = ("llama", "llama_linear_rope", "qwen2", "qwen3", "internlm2")


@pytest.mark.parametrize("case", CONVERTED)
def test_a_converted_checkpoint_gives_the_same_logits(case: str, tmp_path: Path) -> None:
    write_gguf_of(ARCH / case, tmp_path / "model.gguf")
    network = load(tmp_path / "model.gguf")
    for prompt in golden(ARCH / case / "golden.safetensors"):
        np.testing.assert_allclose(one_shot(network, prompt["input_ids"]), prompt["logits"], rtol=0, atol=2e-4)


def test_divisors_must_be_above_zero(tmp_path: Path) -> None:
    write_gguf_of(ARCH / "llama", tmp_path / "model.gguf", divisors=np.array([1] * 7 + [0], np.float32))
    with pytest.raises(WeightsError, match="not above zero"):
        load(tmp_path / "model.gguf")


@pytest.mark.parametrize("case", ["llama", "qwen2"])
def test_float16_matrices_are_multiplied_as_they_are(case: str, tmp_path: Path) -> None:
    write_gguf_of(ARCH / case, tmp_path / "model.gguf", dtype="float16")
    ids = golden(ARCH / case / "golden.safetensors")[1]["input_ids"]
    expected = one_shot(load(ARCH / case, dtype="float16"), ids)
    np.testing.assert_allclose(one_shot(load(tmp_path / "model.gguf"), ids), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["llama-bpe-Q4_K_M", "llama-spm-Q8_0"])
def test_quantized_weights_in_precise_mode_equal_dequantized_ones(name: str) -> None:
    network = load(DATA / f"gguf/models/{name}.gguf", precision="precise")
    tensors = load_file(DATA / f"gguf/models/{name}.golden.safetensors")
    for i in range(3):
        np.testing.assert_allclose(
            one_shot(network, tensors[f"ids_{i}"]), tensors[f"f32_logits_{i}"], rtol=0, atol=1e-3
        )
