"""A language model with known logits: after byte n comes byte n + 1. No weights, no template engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from blazr.lifecycle.facts import ModelFacts
from boostr.generate.language_model import LanguageModel
from boostr.models.report import LoadReport
from boostr.state import Batch, KVSpec, StateSpec
from boostr.tokenizers.base import Tokenizer
from numr import Tensor

END = 256


class ByteTokenizer(Tokenizer):
    """Ids 0 to 255 are bytes; 256 ends a text."""

    vocab_size = 257
    bos_token_id = None
    eos_token_id = END
    eos_token_ids = frozenset({END})
    add_bos = False
    add_eos = False
    special_tokens: Mapping[str, int] = {}

    def encode_segments(self, segments: Sequence[tuple[str, bool]], *, add_special: bool = True) -> list[int]:
        return list("".join(text for text, _ in segments).encode())

    def token_text(self, token: int) -> str:
        return "<end>" if token == END else chr(token)

    def token_bytes(self, token: int) -> bytes:
        return b"" if token == END else bytes([token])

    def is_control(self, token: int) -> bool:
        return token == END


class CountingNetwork:
    """Hidden states are the token ids themselves. After "z" the text ends; `on_forward` may interfere."""

    config: Any = None
    state_spec = StateSpec((KVSpec(1, 2, 2),))
    vocab_size = 257
    hidden_size = 1
    context_length = 200

    def __init__(self) -> None:
        self.on_forward: Callable[[], None] = lambda: None
        self.batches: list[list[int]] = []

    def forward(self, batch: Batch) -> Tensor:
        self.on_forward()
        self.batches.append(batch.token_ids.tolist())
        for span in batch.spans:
            span.state.reserve(span.stop - span.start)
            span.state.advance(span.stop - span.start)
        rows = batch.token_ids if batch.rows is None else batch.token_ids[batch.rows]
        return Tensor(rows.astype(np.float32)[:, None])

    def logits(self, hidden: Tensor) -> Tensor:
        tokens = hidden.array[:, 0].astype(int)
        logits = np.zeros((len(tokens), self.vocab_size), np.float32)
        logits[np.arange(len(tokens)), np.where(tokens == ord("z"), END, tokens + 1)] = 50
        return Tensor(logits)


@pytest.fixture(autouse=True)
def no_user_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by another HOME: compiled kernels are cached there."""
    monkeypatch.setattr("blazr.config.load.default_config_path", lambda: tmp_path / "none.toml")


@pytest.fixture
def network() -> CountingNetwork:
    return CountingNetwork()


@pytest.fixture
def model(network: CountingNetwork) -> LanguageModel:
    template = SimpleNamespace(
        render_segments=lambda messages, **_: [("".join(f"{m['role'][0]}:{m['content']};" for m in messages), False)]
    )
    return LanguageModel(
        network,
        name="counting",
        path=Path("counting.gguf"),
        report=LoadReport("counting", "gguf", Path("counting.gguf")),
        tokenizer=ByteTokenizer(),
        chat_template=template,  # type: ignore[arg-type]
        eos_token_ids=frozenset({END}),
        context_length=200,
        cache_dtype="float32",
    )


@pytest.fixture
def loaded(model: LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Makes every command load `model` under the name "counting"; holds the settings it was loaded with."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("BLAZR_MODEL_DIR", str(tmp_path / "models"))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "counting.gguf").write_bytes(b"never read")
    seen: dict[str, Any] = {}

    def load(found: Any, inference: Any, progress: Any = None) -> LanguageModel:
        seen["found"], seen["inference"] = found, inference
        return model

    facts = ModelFacts("counting", "counting.gguf", "gguf", "counting", 0, "F32", 0, num_layers=1)
    monkeypatch.setattr("blazr.lifecycle.loading.load_model", load)
    monkeypatch.setattr("blazr.lifecycle.facts.read_facts", lambda *arguments: facts)
    return seen


@pytest.fixture
def blazr() -> Callable[..., Result]:
    """Runs the program in this process: blazr("run", "counting", input="piped in")."""
    from blazr.cli.main import cli

    return lambda *arguments, **options: CliRunner().invoke(cli, list(arguments), prog_name="blazr", **options)
