"""What the tokenizers over a `Vocabulary` share: special tokens are cut out, the algorithm sees only the text between.

Base of the BPE and SentencePiece tokenizers; the subclass turns one piece of text into ids.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from boostr.tokenizers.base import Tokenizer, require_encodable
from boostr.tokenizers.partition import SpecialSplitter
from boostr.tokenizers.vocabulary import TokenType, Vocabulary

__all__ = ["EmbeddedTokenizer"]

_SILENT = (TokenType.CONTROL, TokenType.UNKNOWN)


class EmbeddedTokenizer(Tokenizer):
    """A tokenizer whose vocabulary came with the weights."""

    def __init__(self, vocabulary: Vocabulary, *, add_bos: bool) -> None:
        specials = vocabulary.specials()
        self._vocabulary = vocabulary
        self._splitter = SpecialSplitter(specials)
        self._byte_values = vocabulary.byte_values()
        self.vocab_size = len(vocabulary.tokens)
        self.bos_token_id = vocabulary.bos
        self.eos_token_id = vocabulary.eos
        self.eos_token_ids = vocabulary.ends
        self.add_bos = vocabulary.bos is not None and (add_bos if vocabulary.add_bos is None else vocabulary.add_bos)
        self.add_eos = vocabulary.eos is not None and bool(vocabulary.add_eos)
        self.special_tokens = {special.text: special.token for special in specials if special.control}

    @abstractmethod
    def _encode_text(self, text: str, after_special: bool) -> list[int]:
        """Ids of a text without special tokens. `after_special`: nothing, or a special token, stands before it."""

    @abstractmethod
    def _text_bytes(self, text: str) -> bytes:
        """Bytes of a normal token."""

    def encode_segments(self, segments: Sequence[tuple[str, bool]], *, add_special: bool = True) -> list[int]:
        for text, _ in segments:
            require_encodable(text)
        ids: list[int] = []
        if add_special and self.add_bos and self.bos_token_id is not None:
            ids.append(self.bos_token_id)
        after_special = True
        for part in self._splitter.split_segments(segments):
            if isinstance(part, int):
                ids.append(part)
            else:
                ids += self._encode_text(part, after_special)
            after_special = isinstance(part, int)
        if add_special and self.add_eos and self.eos_token_id is not None:
            ids.append(self.eos_token_id)
        return ids

    def encode_bare(self, text: str) -> list[int]:
        return self._encode_text(require_encodable(text), True) if text else []

    def token_text(self, token: int) -> str:
        return self._vocabulary.tokens[self._checked(token)]

    def is_control(self, token: int) -> bool:
        return self._vocabulary.types[self._checked(token)] in _SILENT

    def token_bytes(self, token: int) -> bytes:
        kind = self._vocabulary.types[self._checked(token)]
        text = self._vocabulary.tokens[token]
        if kind == TokenType.NORMAL:
            return self._text_bytes(text)
        if kind == TokenType.USER_DEFINED:
            return text.encode()
        return self._byte_values.get(token, b"")

    def _checked(self, token: int) -> int:
        if not 0 <= token < self.vocab_size:
            raise self._unknown_id(token)
        return token
