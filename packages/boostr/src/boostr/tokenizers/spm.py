"""SentencePiece BPE: neighbouring pieces merge, best score first, until none of the unions is in the vocabulary.

Scores and pieces come from a GGUF file ("llama") or a tokenizer.model. A space is U+2581 in the pieces; what has no piece
is written as byte tokens.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

from boostr.errors import TokenizerError
from boostr.tokenizers.embedded import EmbeddedTokenizer
from boostr.tokenizers.vocabulary import TokenType, Vocabulary, read_vocabulary

__all__ = ["SentencePieceTokenizer"]

_SPACE = "\u2581"
_CACHED_LENGTH = 32  # words are cached, long ones are not worth the memory
_CACHED_WORDS = 50_000


class SentencePieceTokenizer(EmbeddedTokenizer):
    """tokenizer.ggml.model = "llama". Ids agree with llama.cpp's.

    add_space_prefix   a space is put before a text, and before what follows a special token
    """

    def __init__(self, vocabulary: Vocabulary, *, add_space_prefix: bool = True) -> None:
        super().__init__(vocabulary, add_bos=True)
        if vocabulary.scores is None:
            raise TokenizerError("tokenizer.ggml.scores is missing: a SentencePiece vocabulary needs its scores")
        self._scores = vocabulary.scores
        self._add_space_prefix = add_space_prefix
        self.strips_leading_space = add_space_prefix
        self._words: dict[str, list[int]] = {}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> SentencePieceTokenizer:
        """From GGUF metadata. Raises TokenizerError naming the key."""
        prefix = metadata.get("tokenizer.ggml.add_space_prefix")
        defaults = {"tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2}  # SentencePiece's own
        return cls(
            read_vocabulary(defaults | dict(metadata)), add_space_prefix=True if prefix is None else bool(prefix)
        )

    def _encode_text(self, text: str, after_special: bool) -> list[int]:
        if after_special and self._add_space_prefix:
            text = " " + text
        ids: list[int] = []
        for word in self._cut(text.replace(" ", _SPACE)):
            known = self._words.get(word)
            if known is None:
                known = self._merge(word)
                if len(word) <= _CACHED_LENGTH and len(self._words) < _CACHED_WORDS:
                    self._words[word] = known
            ids += known
        return ids

    def _text_bytes(self, text: str) -> bytes:
        return text.replace(_SPACE, " ").encode()

    @cached_property
    def _joints(self) -> frozenset[tuple[str, str]]:
        # Neighbouring characters inside any piece.
        return frozenset(pair for text in self._vocabulary.ids for pair in pairwise(text))

    def _cut(self, text: str) -> list[str]:
        """Cuts where no piece of the vocabulary spans the gap: nothing merges across it, so the parts are independent."""
        joints = self._joints
        marks = [at for at, pair in enumerate(pairwise(text), 1) if pair not in joints]
        return [text[a:b] for a, b in pairwise([0, *marks, len(text)])] if text else []

    def _merge(self, word: str) -> list[int]:
        ids, scores = self._vocabulary.ids, self._scores
        pieces: list[str] = list(word)
        after = [*range(1, len(pieces)), -1]
        before = list(range(-1, len(pieces) - 1))
        # (-score, left, right, union): the best score first, the leftmost among equals. An entry is stale when its
        # union is no longer what stands at `left` and `right`.
        queue: list[tuple[float, int, int, str]] = []

        def consider(left: int, right: int) -> None:
            union = pieces[left] + pieces[right]
            token = ids.get(union)
            if token is not None:
                heapq.heappush(queue, (-scores[token], left, right, union))

        for left in range(len(pieces) - 1):
            consider(left, left + 1)
        while queue:
            _, left, right, union = heapq.heappop(queue)
            if not pieces[left] or not pieces[right] or len(pieces[left]) + len(pieces[right]) != len(union):
                continue
            pieces[left], pieces[right] = union, ""
            after[left] = after[right]
            if after[right] >= 0:
                before[after[right]] = left
            if before[left] >= 0:
                consider(before[left], left)
            if after[left] >= 0:
                consider(left, after[left])
        return [token for piece in pieces if piece for token in self._piece_ids(piece)]

    def _piece_ids(self, piece: str) -> list[int]:
        token = self._vocabulary.ids.get(piece)
        return [token] if token is not None else [self._byte_id(byte) for byte in piece.encode()]

    def _byte_id(self, byte: int) -> int:
        token = self._byte_ids[byte]
        if token is None:
            raise TokenizerError(f"the vocabulary has no piece for the byte 0x{byte:02X} (no token '<0x{byte:02X}>')")
        return token

    @cached_property
    def _byte_ids(self) -> list[int | None]:
        ids, types = self._vocabulary.ids, self._vocabulary.types
        unknown = next((token for token, kind in enumerate(types) if kind == TokenType.UNKNOWN), None)
        return [
            ids.get(f"<0x{byte:02X}>", ids.get(chr(byte), unknown) if byte < 128 else unknown) for byte in range(256)
        ]
