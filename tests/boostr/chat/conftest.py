"""A tokenizer whose every character is a token, with control tokens for ChatML and BOS."""

from __future__ import annotations

import numpy as np
import pytest

from boostr.tokenizers import from_gguf

CONTROL = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]


@pytest.fixture
def make_tokenizer():
    def make(**extra):
        letters = [f"<0x{byte:02X}>" for byte in range(256)]
        return from_gguf(
            {
                "tokenizer.ggml.model": "llama",
                "tokenizer.ggml.tokens": [*CONTROL, *letters],
                "tokenizer.ggml.scores": np.zeros(262, np.float32),
                "tokenizer.ggml.token_type": np.array([3] * 6 + [6] * 256, np.int32),
                "tokenizer.ggml.bos_token_id": 0,
                "tokenizer.ggml.eos_token_id": 1,
                "tokenizer.ggml.add_space_prefix": False,
                "tokenizer.ggml.add_bos_token": True,
                **{f"tokenizer.ggml.{key}": value for key, value in extra.items()},
            }
        )

    return make


@pytest.fixture
def tokenizer(make_tokenizer):
    return make_tokenizer()
