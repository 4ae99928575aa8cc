"""Reads a SentencePiece tokenizer.model: a protobuf of pieces with scores and types, and two settings that matter.

Wire format: ModelProto { repeated Piece pieces = 1; TrainerSpec trainer = 2; NormalizerSpec normalizer = 3 },
Piece { string text = 1; float score = 2; enum type = 3 }. Fields that do not bear on tokenizing are skipped.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from boostr.errors import TokenizerError
from boostr.tokenizers.model_files import read_declared_tokens, read_json
from boostr.tokenizers.spm import SentencePieceTokenizer
from boostr.tokenizers.vocabulary import TokenType, read_vocabulary

__all__ = ["read_sentencepiece"]

_MAX_BYTES = 64 << 20  # the 256k-piece models are 5 MB
_MAX_ADDED = 1 << 22  # added tokens with larger ids are not believed
_BPE = 2  # TrainerSpec.model_type; 1 is unigram, which needs another algorithm


def read_sentencepiece(directory: Path) -> SentencePieceTokenizer:
    """The tokenizer of a directory that has tokenizer.model but no tokenizer.json. Raises TokenizerError."""
    path = directory / "tokenizer.model"
    if path.stat().st_size > _MAX_BYTES:
        raise TokenizerError(f"{path} is larger than {_MAX_BYTES >> 20} MB: not a SentencePiece model")
    model = _Model(path.read_bytes(), path)
    declared = read_declared_tokens(directory)
    for token, text in sorted(_added_tokens(directory).items()):
        model.add(token, text)
    ids = {text: token for token, text in enumerate(model.texts)}
    vocabulary = read_vocabulary(
        {
            "tokenizer.ggml.tokens": model.texts,
            "tokenizer.ggml.scores": model.scores,
            "tokenizer.ggml.token_type": model.types,
            "tokenizer.ggml.bos_token_id": ids.get(declared.bos or "<s>"),
            "tokenizer.ggml.eos_token_id": ids.get(declared.eos or "</s>"),
            "tokenizer.ggml.add_bos_token": declared.add_bos,
            "tokenizer.ggml.add_eos_token": declared.add_eos,
        }
    )
    tokenizer = SentencePieceTokenizer(vocabulary, add_space_prefix=model.add_space_prefix)
    tokenizer.eos_token_ids |= declared.end_ids(tokenizer.vocab_size)
    return tokenizer


class _Model:
    def __init__(self, data: bytes, path: Path) -> None:
        self.path = path
        self.texts: list[str] = []
        self.scores: list[float] = []
        self.types: list[int] = []
        self.add_space_prefix = True
        try:
            self._read(data)
        except (IndexError, struct.error, UnicodeDecodeError) as error:
            raise TokenizerError(f"{path} is not a SentencePiece model, or is damaged: {error}") from error
        if not self.texts:
            raise TokenizerError(f"{path} holds no pieces")

    def add(self, token: int, text: str) -> None:
        """Puts an added token at its id; ids up to it that nothing names are left unused."""
        while len(self.texts) <= token:
            self._append(f"[UNUSED_{len(self.texts)}]", 0.0, TokenType.UNUSED)
        self.texts[token], self.types[token] = text, TokenType.CONTROL

    def _append(self, text: str, score: float, kind: int) -> None:
        self.texts.append(text)
        self.scores.append(score)
        self.types.append(kind)

    def _read(self, data: bytes) -> None:
        for number, value in _fields(data):
            if number == 1 and isinstance(value, bytes):
                fields = dict(_fields(value))
                score = fields.get(2, b"\0\0\0\0")
                text, kind = fields.get(1, b""), fields.get(3, 1)
                if not isinstance(text, bytes) or not isinstance(score, bytes) or not isinstance(kind, int):
                    raise IndexError("a piece has fields of the wrong kind")
                self._append(text.decode(), struct.unpack("<f", score)[0], kind)
            elif number == 2 and isinstance(value, bytes):
                self._require_bpe(dict(_fields(value)).get(3, 1))
            elif number == 3 and isinstance(value, bytes):
                self._read_normalizer(dict(_fields(value)))

    def _require_bpe(self, kind: int | bytes) -> None:
        if kind != _BPE:
            raise TokenizerError(f"{self.path} is not a BPE model (type {kind!r}); add the model's tokenizer.json")

    def _read_normalizer(self, fields: dict[int, int | bytes]) -> None:
        if fields.get(2):  # a compiled table of character replacements
            raise TokenizerError(f"{self.path} normalizes its text; add the model's tokenizer.json, which says how")
        if fields.get(4, 1):
            raise TokenizerError(f"{self.path} removes extra spaces, which is not supported; add tokenizer.json")
        self.add_space_prefix = bool(fields.get(3, 1))


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, at = _varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise IndexError(f"wire type {kind}")
        if size > len(data) - at:
            raise IndexError(f"a field of {size} bytes runs past the end")
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise IndexError("a number of more than 64 bits")


def _added_tokens(directory: Path) -> dict[int, str]:
    # transformers keeps them in tokenizer_config.json, older versions in added_tokens.json.
    named = read_json(directory / "added_tokens.json")
    found = {token: text for text, token in named.items() if isinstance(token, int) and 0 <= token < _MAX_ADDED}
    decoder: Any = read_json(directory / "tokenizer_config.json").get("added_tokens_decoder")
    for key, entry in decoder.items() if isinstance(decoder, dict) else ():
        content = entry.get("content") if isinstance(entry, dict) else None
        if isinstance(content, str) and key.isdecimal() and len(key) < 8 and int(key) < _MAX_ADDED:
            found[int(key)] = content
    return found
