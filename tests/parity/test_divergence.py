"""How far rounding moves SmolLM2's distribution from float32: ours in the default mode beside llama.cpp's own.

Both are measured over the committed text against the float32 logits of the same dequantized weights. Needs
llama-cpp-python; part of the parity session.
"""

from pathlib import Path

import numpy as np
import pytest

import boostr
from tests.support.smollm2 import smollm2_gguf

llama_cpp = pytest.importorskip("llama_cpp")

TEXT = Path(__file__).parents[1] / "data" / "smollm2" / "text.txt"


def log_probabilities(logits: np.ndarray) -> np.ndarray:
    shifted = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def mean_divergence(reference: np.ndarray, other: np.ndarray) -> float:
    """Mean over positions of KL(reference || other), in nats."""
    p, q = log_probabilities(reference), log_probabilities(other)
    return float((np.exp(p) * (p - q)).sum(-1).mean())


def llama_cpp_logits(path: Path, ids: list[int]) -> np.ndarray:
    model = llama_cpp.Llama(str(path), n_ctx=len(ids) + 8, n_threads=2, logits_all=True, verbose=False)
    model.eval(ids)
    return np.array(model.scores[: len(ids)], np.float32)


def test_default_mode_is_no_further_from_float32_than_llama_cpp() -> None:
    path = smollm2_gguf()
    exact = boostr.load(path, precise=True)
    ids = exact.encode(TEXT.read_text("utf-8"))
    assert len(ids) >= 2000
    reference = np.asarray(exact.logits(ids))
    ours = mean_divergence(reference, np.asarray(boostr.load(path).logits(ids)))
    theirs = mean_divergence(reference, llama_cpp_logits(path, ids))
    print(f"mean KL from float32 over {len(ids)} tokens: ours {ours:.5f}, llama.cpp {theirs:.5f}")
    assert ours <= 1.05 * theirs
