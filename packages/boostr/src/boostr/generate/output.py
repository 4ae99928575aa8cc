"""Turns drawn tokens into text pieces: detokenizes, watches for stop strings and end tokens, counts to max_tokens.

Feed/flush, without I/O. Joined piece texts are the same whether a caller streams or waits: a piece is held back while
its text may still turn out to be part of a stop string, and never leaks one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from boostr.generate.params import SamplingParams
from boostr.generate.sampler import Sampled
from boostr.generate.stop import StopMatcher

if TYPE_CHECKING:
    from boostr.tokenizers.base import Tokenizer

__all__ = ["FinishReason", "OutputStream", "Piece"]

FinishReason = Literal["stop", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One token's text as it leaves the stream; the last piece has no token and carries `finish_reason`."""

    text: str
    token: int | None = None
    logprob: float | None = None
    top: tuple[tuple[int, float], ...] = ()
    finish_reason: FinishReason | None = None


class OutputStream:
    """The text of one sequence. `push` each drawn token until `finish_reason` is set."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        params: SamplingParams,
        eos_token_ids: Set[int],
        prompt_ids: Sequence[int] = (),
        limit: int | None = None,
    ) -> None:
        """`limit` is the room left in the context; the smaller of it and `max_tokens` ends the sequence."""
        bounds = [bound for bound in (params.max_tokens, limit) if bound is not None]
        self._limit = min(bounds) if bounds else None
        self._eos = frozenset() if params.ignore_eos else frozenset(eos_token_ids)
        self._detokenizer = tokenizer.detokenizer(prompt_ids=prompt_ids)
        self._matcher = StopMatcher(params.stop)
        self._held: deque[tuple[Piece, int]] = deque()  # a piece and the text position of its end
        self._decoded = 0  # characters detokenized so far
        self._emitted: list[str] = []
        self.n_tokens = 0  # drawn tokens, the end token included
        self.finish_reason: FinishReason | None = None

    @property
    def text(self) -> str:
        """All text that left the stream so far."""
        return "".join(self._emitted)

    def push(self, sampled: Sampled) -> list[Piece]:
        """Take one drawn token; returns the pieces that may leave now."""
        self.n_tokens += 1
        if sampled.token in self._eos:
            return self.finish("stop")
        text = self._detokenizer.feed(sampled.token)
        self._append(Piece(text, sampled.token, sampled.logprob, sampled.top))
        if self._matcher.cut is not None:
            return self._cut(self._matcher.cut)
        if self._limit is not None and self.n_tokens >= self._limit:
            return self.finish("length")
        return self._release(self._matcher.safe)

    def finish(self, reason: FinishReason) -> list[Piece]:
        """End the sequence: flush what was held and close with a piece that names the reason."""
        rest = self._detokenizer.flush()
        if rest:
            self._append(Piece(rest))
        if self._matcher.cut is not None:
            return self._cut(self._matcher.cut)
        return [*self._release(self._decoded), self._close(reason)]

    def _append(self, piece: Piece) -> None:
        self._decoded += len(piece.text)
        self._held.append((piece, self._decoded))
        self._matcher.feed(piece.text)

    def _release(self, safe: int) -> list[Piece]:
        pieces = []
        while self._held and self._held[0][1] <= safe:
            piece = self._held.popleft()[0]
            self._emitted.append(piece.text)
            pieces.append(piece)
        return pieces

    def _cut(self, position: int) -> list[Piece]:
        """Let out what stands before a stop string; the token it begins in keeps only its part before it."""
        pieces = self._release(position)
        if self._held:
            piece, end = self._held[0]
            text = piece.text[: len(piece.text) - (end - position)] if end > position else piece.text
            if text:
                self._emitted.append(text)
                pieces.append(Piece(text, piece.token, piece.logprob, piece.top))
        return [*pieces, self._close("stop")]

    def _close(self, reason: FinishReason) -> Piece:
        self._held.clear()
        self.finish_reason = reason
        return Piece("", finish_reason=reason)
