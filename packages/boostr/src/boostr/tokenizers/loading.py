"""Which tokenizer a model's files hold.

tokenizer.json wins in a directory, tokenizer.model stands in for it; a GGUF file names its kind in its metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boostr.errors import ModelNotFoundError, TokenizerError
from boostr.tokenizers.base import Tokenizer

__all__ = ["from_directory", "from_gguf"]


def from_gguf(metadata: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer inside a GGUF file. Raises TokenizerError for a kind or pre-tokenizer that is not known."""
    kind = metadata.get("tokenizer.ggml.model")
    if kind == "gpt2":
        from boostr.tokenizers.bpe import BPETokenizer

        return BPETokenizer.from_metadata(metadata)
    if kind == "llama":
        from boostr.tokenizers.spm import SentencePieceTokenizer

        return SentencePieceTokenizer.from_metadata(metadata)
    raise TokenizerError(f"tokenizer.ggml.model is {str(kind)[:80]!r}; the known ones are: gpt2, llama")


def from_directory(path: str | Path) -> Tokenizer:
    """The tokenizer of a model directory. Raises ModelNotFoundError without one, TokenizerError for an unusable one."""
    directory = Path(path)
    if (directory / "tokenizer.json").is_file():
        from boostr.tokenizers.huggingface import HuggingFaceTokenizer

        return HuggingFaceTokenizer.from_directory(directory)
    if (directory / "tokenizer.model").is_file():
        from boostr.tokenizers.sentencepiece import read_sentencepiece

        return read_sentencepiece(directory)
    raise ModelNotFoundError(f"{directory} has neither tokenizer.json nor tokenizer.model")
