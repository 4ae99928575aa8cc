"""`info` and `list`: facts from headers alone, for every kind of model, and for files that are none."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from safetensors.numpy import save_file

from boostr.formats.gguf.writer import write_gguf

Blazr = Callable[..., Result]

GGUF_KEYS: dict[str, Any] = {
    "general.architecture": "llama",
    "general.file_type": 0,
    "general.license": "apache-2.0",
    "llama.block_count": 2,
    "llama.embedding_length": 8,
    "llama.feed_forward_length": 16,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.context_length": 128,
    "tokenizer.chat_template": "{{ messages[0].content }}",
}


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "models"
    root.mkdir()
    monkeypatch.setenv("BLAZR_MODEL_DIR", str(root))
    write_gguf(root / "tiny.gguf", GGUF_KEYS, {"token_embd.weight": np.zeros((32, 8), np.float32)})
    folder = root / "tiny-hf"
    folder.mkdir()
    save_file({"model.embed_tokens.weight": np.zeros((32, 8), np.float16)}, folder / "model.safetensors")
    config = {
        "model_type": "qwen2",
        "hidden_size": 8,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "max_position_embeddings": 64,
        "intermediate_size": 24,
        "vocab_size": 32,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "LICENSE").write_text("\n   Apache License\nVersion 2.0\n")
    return root


def test_a_gguf_file(blazr: Blazr, models: Path) -> None:
    done = blazr("info", str(models / "tiny.gguf"))
    assert done.exit_code == 0, done.stderr
    shown = dict(line.split(":", 1) for line in done.stdout.splitlines())
    facts = {label: value.strip() for label, value in shown.items()}
    assert facts["format"] == "GGUF"
    assert facts["architecture"] == "llama"
    assert facts["parameters"] == "~256"
    assert (facts["hidden size"], facts["layers"], facts["heads"], facts["KV heads"]) == ("8", "2", "4", "2")
    assert (facts["vocabulary"], facts["max context"], facts["FFN size"]) == ("32", "128", "16")
    assert facts["quantization"] == "F32"
    assert facts["chat template"] == "gguf jinja"
    assert facts["licence"] == "apache-2.0"
    assert facts["weights size"].endswith("KiB")


def test_a_directory_as_json(blazr: Blazr, models: Path) -> None:
    facts = json.loads(blazr("info", "--model", "tiny-hf", "--json").stdout)
    expected = {
        "name": "tiny-hf",
        "format": "safetensors",
        "architecture": "qwen2",
        "hidden_size": 8,
        "num_layers": 3,
        "num_kv_heads": 1,
        "head_dim": 2,
        "vocab_size": 32,
        "context_length": 64,
        "quantization": "F16",
        "chat_template": "builtin chatml",
        "licence": "Apache License",
    }
    assert {key: facts[key] for key in expected} == expected


def test_the_override_is_the_template_in_use(blazr: Blazr, models: Path) -> None:
    assert json.loads(blazr("info", "tiny", "--json", "--chat-template", "llama3").stdout)["chat_template"] == (
        "builtin llama3"
    )
    assert blazr("info", "tiny", "--chat-template", "no-such-template").exit_code == 1


def test_system(blazr: Blazr, models: Path) -> None:
    facts = json.loads(blazr("info", "--system", "--json").stdout)
    assert {"blazr", "boostr", "numr", "numpy", "native level", "threads", "hub cache"} <= facts.keys()
    assert facts["model directory"] == str(models)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"<html>404</html>", b"GGUF\x03\0\0\0" + b"\xff" * 64])
def test_a_broken_file_is_one_line(blazr: Blazr, models: Path, content: bytes) -> None:
    (models / "broken.gguf").write_bytes(content)
    done = blazr("info", "broken")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1


def test_list_has_one_line_a_model(blazr: Blazr, models: Path) -> None:
    (models / "broken.gguf").write_bytes(b"<html>")
    lines = blazr("list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["broken", "tiny", "tiny-hf"]
    assert "unreadable" in lines[0]
    assert lines[1].split()[1:4] == ["gguf", "F32", "llama"]
    assert lines[2].split()[1:4] == ["safetensors", "F16", "qwen2"]
    assert "gguf jinja" in blazr("list", "-v").stdout


def test_an_empty_model_directory_says_how_to_fill_it(blazr: Blazr, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("BLAZR_MODEL_DIR", str(tmp_path / "none"))
    done = blazr("list")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "blazr pull" in done.stderr


def test_a_large_vocabulary_takes_no_time_to_speak_of(blazr: Blazr, models: Path) -> None:
    tokens = [f"token{number}" for number in range(250_000)]
    keys = {**GGUF_KEYS, "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": tokens}
    write_gguf(models / "wide.gguf", keys, {"token_embd.weight": np.zeros((250_000, 8), np.float16)})
    began = time.monotonic()
    assert blazr("info", "wide").exit_code == 0
    assert time.monotonic() - began < 3.0  # a tenth of a second on a quiet machine
