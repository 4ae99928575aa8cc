"""Log-probabilities in OpenAI's two shapes: the legacy one of completions, and the one of chat.

All are natural logarithms of the model's raw distribution, before penalties, bias and temperature.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from blazr.engine import PromptToken
from boostr.generate import Piece
from boostr.tokenizers.base import Tokenizer

__all__ = ["ChatLogprobs", "CompletionLogprobs", "token_label"]

Top = Sequence[tuple[int, float]]


def token_label(tokenizer: Tokenizer, token: int) -> str:
    """A token as text. Bytes that are not UTF-8 alone are spelled out, as in "bytes:\\xf0\\x9f"."""
    data = tokenizer.token_bytes(token)
    if not data:
        return tokenizer.token_text(token)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)


class ChatLogprobs:
    """{"content": [{token, logprob, bytes, top_logprobs}]}."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def content(self, pieces: Iterable[Piece]) -> dict[str, Any]:
        """The entries of every piece that has a token."""
        return {"content": [self._entry(piece) for piece in pieces if piece.token is not None], "refusal": None}

    def _entry(self, piece: Piece) -> dict[str, Any]:
        assert piece.token is not None
        top = [self._one(token, logprob) for token, logprob in piece.top]
        return {**self._one(piece.token, piece.logprob), "top_logprobs": top}

    def _one(self, token: int, logprob: float | None) -> dict[str, Any]:
        data = self._tokenizer.token_bytes(token)
        return {
            "token": token_label(self._tokenizer, token),
            "logprob": logprob,
            "bytes": list(data) if data else None,
        }


class CompletionLogprobs:
    """{tokens, token_logprobs, top_logprobs, text_offset}, in one object or in consecutive parts of a stream."""

    def __init__(self, tokenizer: Tokenizer, top: int) -> None:
        self._tokenizer = tokenizer
        self._with_top = top > 0
        self._offset = 0  # characters of the choice's text so far

    def prompt(self, tokens: Sequence[PromptToken], text: str) -> dict[str, Any]:
        """Entries of an echoed prompt whose text is `text`."""
        detokenizer = self._tokenizer.detokenizer()
        parts = [(one.token, one.logprob, one.top, detokenizer.feed(one.token)) for one in tokens]
        entries = self._entries(parts)
        self._offset = len(text)
        return entries

    def pieces(self, pieces: Sequence[Piece]) -> dict[str, Any]:
        """Entries of the next pieces of the answer."""
        return self._entries([(piece.token, piece.logprob, piece.top, piece.text) for piece in pieces])

    def _entries(self, parts: Sequence[tuple[int | None, float | None, Top, str]]) -> dict[str, Any]:
        tokens: list[str] = []
        logprobs: list[float | None] = []
        tops: list[dict[str, float] | None] = []
        offsets: list[int] = []
        for token, logprob, top, text in parts:
            if token is not None:
                label = token_label(self._tokenizer, token)
                tokens.append(label)
                logprobs.append(logprob)
                tops.append(self._top(label, logprob, top))
                offsets.append(self._offset)
            self._offset += len(text)
        return {
            "tokens": tokens,
            "token_logprobs": logprobs,
            "top_logprobs": tops if self._with_top else None,
            "text_offset": offsets,
        }

    def _top(self, label: str, logprob: float | None, top: Top) -> dict[str, float] | None:
        if logprob is None:
            return None
        return {**{token_label(self._tokenizer, token): value for token, value in top}, label: logprob}
