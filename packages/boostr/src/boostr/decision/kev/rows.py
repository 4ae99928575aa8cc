"""Kev's rows: the state and one question between delimiter tokens, with the positions that the pointer reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

from boostr.decision.family import Row
from boostr.decision.kev.questions import Shown
from boostr.errors import QuestionError, TokenizerError
from boostr.tokenizers.base import Tokenizer

__all__ = ["Delimited"]

_CONTROL = re.compile(r"<\|([A-Za-z0-9_]+)\|>")
_DELIMITERS = ("<|fim_prefix|>", "<|fim_middle|>", "<|box_start|>", "<|box_end|>", "<|fim_suffix|>")


class Delimited:
    """One tokenizer's ids of Kev's pieces. Raises TokenizerError where it lacks a delimiter."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        found = [tokenizer.encode(text, add_special=False) for text in _DELIMITERS]
        for text, ids in zip(_DELIMITERS, found, strict=True):
            if len(ids) != 1:
                raise TokenizerError(f"this tokenizer has no token {text}, which delimits Kev's prompts")
        self._state, self._question, self._open, self._close, self._decide = (ids[0] for ids in found)

    def state(self, text: str) -> list[int]:
        """Ids of the state, its delimiter first."""
        return [self._state, *self._user(text)]

    def branch(self, shown: Shown) -> tuple[list[int], list[int]]:
        """Ids of a question behind any state, and the places of its decision and of its options' ends in them."""
        ids = [self._question, *self._user(shown.text)]
        ends = []
        for option in shown.options:
            ids += [self._open, *self._user(option), self._close]
            ends.append(len(ids) - 1)
        ids.append(self._decide)
        return ids, [*ends, len(ids) - 1]

    def row(self, state: Sequence[int], shown: Shown) -> Row:
        """Reads are the options' ends in order, then the decision."""
        ids, reads = self.branch(shown)
        return Row([*state, *ids], [len(state) + read for read in reads])

    def count(self, text: str) -> int:
        """Tokens of a text of ours, in which added tokens are matched."""
        return len(self._tokenizer.encode(text, add_special=False))

    def _user(self, text: str) -> list[int]:
        escaped = _CONTROL.sub("<\N{BROKEN BAR}\\1\N{BROKEN BAR}>", text)
        try:
            return self._tokenizer.encode(escaped, add_special=False)
        except TokenizerError as error:  # a lone surrogate, which Kev's server breaks on
            raise QuestionError(str(error)) from error
