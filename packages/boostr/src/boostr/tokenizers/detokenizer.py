"""Token ids to text, one at a time: the bytes of a character split over tokens are held back until it is whole.

No I/O and no stop strings; `feed` what the sampler drew, `flush` at the end.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boostr.tokenizers.base import Tokenizer

__all__ = ["Detokenizer", "incomplete_tail"]

_PROMPT_TAIL = 4  # a character has at most four bytes, so at most three earlier tokens can hold a part of it


class Detokenizer:
    """Incremental decoder of one sequence.

    A byte that can never become UTF-8 is shown as U+FFFD, and so is a character that the sequence ends in the middle
    of (by `flush`); a character that is merely spread over tokens never is. `prompt_ids` are the tokens before the
    first one fed: after a prompt with text the space that SentencePiece writes before a word is kept, at the start of
    a text it is dropped, as `decode` does.
    """

    __slots__ = ("_at_start", "_decode", "_skip_special", "_tokenizer")

    def __init__(self, tokenizer: Tokenizer, skip_special: bool = True, prompt_ids: Sequence[int] = ()) -> None:
        self._tokenizer = tokenizer
        self._skip_special = skip_special
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._at_start = tokenizer.strips_leading_space and all(tokenizer.is_control(token) for token in prompt_ids)
        self._decode(self._open_bytes(prompt_ids))

    def feed(self, token: int) -> str:
        """The text that this token completes; "" while a character is incomplete. Raises TokenizerError for an id that
        the vocabulary does not have."""
        if self._tokenizer.is_control(token):
            return "" if self._skip_special else self._decode(b"", True) + self._tokenizer.token_text(token)
        data = self._tokenizer.token_bytes(token)
        if self._at_start and data:
            self._at_start = False
            data = data.removeprefix(b" ")
        return self._decode(data)

    def flush(self) -> str:
        """What is left: U+FFFD where the last character never became whole."""
        return self._decode(b"", True)

    def _open_bytes(self, prompt_ids: Sequence[int]) -> bytes:
        # A prompt given as ids may end within a character; its first bytes then belong to the first character fed.
        tail = [token for token in prompt_ids[-_PROMPT_TAIL:] if not self._tokenizer.is_control(token)]
        return incomplete_tail(b"".join(map(self._tokenizer.token_bytes, tail)))


def incomplete_tail(data: bytes) -> bytes:
    """The bytes at the end of `data` that begin a UTF-8 character without completing it."""
    for back in range(1, min(3, len(data)) + 1):
        lead = data[-back]
        if lead & 0xC0 == 0x80:  # a continuation byte: the lead is further left
            continue
        need = 2 if lead & 0xE0 == 0xC0 else 3 if lead & 0xF0 == 0xE0 else 4 if lead & 0xF8 == 0xF0 else 1
        return data[-back:] if need > back else b""
    return b""
