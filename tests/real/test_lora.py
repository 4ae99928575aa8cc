"""A base and a PEFT adapter from real files give the logits that transformers and peft give, alone and side by side.

    BLAZR_LORA_BASE_DIR      the base: a directory or a .gguf file
    BLAZR_LORA_ADAPTER_DIR   adapter_config.json and adapter_model.safetensors
    BLAZR_LORA_REF           logits of the base with the adapter: SafeTensors with input_ids_0 (n,) and logits_0
                             (n, vocab) float32, and input_ids_1, logits_1 and so on for further prompts
    BLAZR_LORA_BASE_REF      the same of the base alone
    BLAZR_LORA_TOLERANCE     of logits; 0.05 unless set, for bfloat16 bases whose references were computed in float32

docs/adapters.md shows how references are made. The same test runs on the committed tiny files.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

import boostr
from boostr import LanguageModel
from boostr.peft import PeftAdapter
from boostr.state import Batch

DATA = Path(__file__).parents[1] / "data"
VARIABLES = ("BLAZR_LORA_BASE_DIR", "BLAZR_LORA_ADAPTER_DIR", "BLAZR_LORA_REF", "BLAZR_LORA_BASE_REF")


class Files(NamedTuple):
    base: Path
    adapter: Path
    reference: Path
    base_reference: Path
    tolerance: float


TINY = [
    Files(
        DATA / "arch" / base,
        DATA / "lora" / adapter,
        DATA / "lora" / adapter / "golden.safetensors",
        DATA / "arch" / base / "golden.safetensors",
        5e-4,
    )
    for base, adapter in (("qwen3_5_text", "qwen3_5_all_linear"), ("llama", "llama_lm_head"))
]


def real() -> Files:
    missing = [name for name in VARIABLES if not os.environ.get(name)]
    if missing:
        pytest.skip(f"set {', '.join(missing)}")
    tolerance = float(os.environ.get("BLAZR_LORA_TOLERANCE", "0.05"))
    base, adapter, reference, base_reference = (Path(os.environ[name]) for name in VARIABLES)
    return Files(base, adapter, reference, base_reference, tolerance)


@pytest.fixture(params=[*TINY, None], ids=lambda files: "real" if files is None else files.adapter.name)
def files(request: pytest.FixtureRequest) -> Files:
    return request.param or real()


def prompts(path: Path) -> list[tuple[list[int], NDArray[np.float32]]]:
    tensors = load_file(path)
    numbers = sorted(name.removeprefix("input_ids_") for name in tensors if name.startswith("input_ids_"))
    return [(tensors[f"input_ids_{n}"].tolist(), tensors[f"logits_{n}"]) for n in numbers]


def test_base_and_variant_give_the_reference_logits_alone_and_in_one_batch(files: Files) -> None:
    base = boostr.load(files.base, precise=True)
    variant = base.derive_with_adapter(PeftAdapter.load(files.adapter))
    expected = {base: prompts(files.base_reference), variant: prompts(files.reference)}
    for model, cases in expected.items():
        assert cases
        for ids, logits in cases:
            np.testing.assert_allclose(np.asarray(model.logits(ids)), logits, rtol=0, atol=files.tolerance)
    _side_by_side([(model, *cases[0]) for model, cases in expected.items()], files.tolerance)


def _side_by_side(spans: list[tuple[LanguageModel, list[int], NDArray[np.float32]]], tolerance: float) -> None:
    network = spans[0][0].network
    batch = Batch.pack(
        [(ids, model.new_state()) for model, ids, _ in spans],
        read="all",
        adapters=[model.span_adapter for model, _, _ in spans],
    )
    rows = np.asarray(network.logits(network.forward(batch)))
    expected = np.concatenate([logits for _, _, logits in spans])
    np.testing.assert_allclose(rows, expected, rtol=0, atol=tolerance)
