"""A long prompt needs little memory besides its keys and values: attention is computed in blocks, prompts in chunks."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

TOKENS = 16_384
LAYERS, HIDDEN, HEADS, INNER, VOCAB = 2, 512, 8, 512, 64

_PROGRAM = """
import resource, sys
import boostr
from boostr.generate.decode import prefill

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

model = boostr.load(sys.argv[1])
prefill(model, [1] * 600, model.new_state())  # what a first prompt makes once
state, before = model.new_state(), peak()
prefill(model, [at % 60 for at in range(int(sys.argv[2]))], state)
print(peak() - before, state.nbytes)
"""


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A Llama with wide keys and values and little else."""
    config = {
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "vocab_size": VOCAB,
        "max_position_embeddings": TOKENS,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": True,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    rng = np.random.default_rng(0)
    shapes = {"model.embed_tokens.weight": (VOCAB, HIDDEN), "model.norm.weight": (HIDDEN,)}
    for n in range(LAYERS):
        stem = f"model.layers.{n}."
        shapes |= {f"{stem}self_attn.{name}_proj.weight": (HIDDEN, HIDDEN) for name in "qkvo"}
        shapes |= {f"{stem}mlp.{name}_proj.weight": (INNER, HIDDEN) for name in ("gate", "up")}
        shapes |= {f"{stem}mlp.down_proj.weight": (HIDDEN, INNER)}
        shapes |= {f"{stem}{name}_layernorm.weight": (HIDDEN,) for name in ("input", "post_attention")}
    tensors = {name: (rng.standard_normal(shape) * 0.02).astype(np.float32) for name, shape in shapes.items()}
    save_file(tensors, tmp_path / "model.safetensors")
    return tmp_path


def test_a_long_prompt_takes_less_than_half_its_cache_beside_it(checkpoint: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(checkpoint), str(TOKENS)], capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    grown, cache = map(int, done.stdout.split())
    assert cache >= TOKENS * LAYERS * 2 * HIDDEN * 2  # float16 keys and values
    assert grown < 1.5 * cache
