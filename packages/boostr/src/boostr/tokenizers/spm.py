"""SentencePiece BPE: neighbouring pieces merge, best score first, until none of the unions is in the vocabulary.

Scores and pieces come from a GGUF file ("llama") or a tokenizer.model. A space is U+2581 in the pieces; what has no
piece is written as byte tokens.
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
        """Cuts where no piece of the vocabulary spans the gap: nothing merges across it, each part stands alone."""
        joints = self._joints
        marks = [at for at, pair in enumerate(pairwise(text), 1) if pair not in joints]
        return [text[a:b] for a, b in pairwise([0, *marks, len(text)])] if text else []

    @cached_property
    def _ranks(self) -> list[int]:
        # 0 for the best score; equal scores share a rank.
        place = {score: rank for rank, score in enumerate(sorted(set(self._scores), reverse=True))}
        return [place[score] for score in self._scores]

    def _merge(self, word: str) -> list[int]:
        # A queue entry is rank * size + left: the best score first, the leftmost among equals. `union_rank[left]` is
        # the rank of the union now possible at `left`; an entry that disagrees with it is stale.
        lookup, ranks, size = self._vocabulary.ids.get, self._ranks, len(word)
        pieces: list[str] = list(word)
        after = [*range(1, size), -1]
        before = list(range(-1, size - 1))
        union_rank = [-1] * size
        for left in range(size - 1):
            token = lookup(word[left : left + 2])
            if token is not None:
                union_rank[left] = ranks[token]
        queue = [rank * size + left for left, rank in enumerate(union_rank) if rank >= 0]
        heapq.heapify(queue)
        while queue:
            rank, left = divmod(heapq.heappop(queue), size)
            if union_rank[left] != rank:
                continue
            right = after[left]
            pieces[left] += pieces[right]
            pieces[right], union_rank[right], after[left] = "", -1, after[right]
            if after[left] >= 0:
                before[after[left]] = left
            for first in (before[left], left):
                second = after[first] if first >= 0 else -1
                token = lookup(pieces[first] + pieces[second]) if second >= 0 else None
                if token is not None:
                    union_rank[first] = ranks[token]
                    heapq.heappush(queue, ranks[token] * size + first)
                elif first >= 0:
                    union_rank[first] = -1
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
