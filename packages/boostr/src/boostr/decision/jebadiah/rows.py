"""Jebadiah's rows: the chat prompt tokenized as one text, and the labels that are one token behind it.

Knows neither requests nor answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from boostr.chat import ChatTemplate
from boostr.decision.family import Row
from boostr.decision.jebadiah.config import TEMPLATE_VARIABLES
from boostr.decision.jebadiah.questions import Shown, user_text
from boostr.errors import DecisionLimitError, TokenizerError
from boostr.tokenizers.base import Tokenizer

__all__ = ["Cut", "Label", "Prompt"]

Cut = Literal["v2", "v2.1"]

SYSTEM = "You are a decision function. Answer with the single letter of the best option and nothing else."
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NAMES = (*LETTERS, *(first + second for first in LETTERS for second in LETTERS))
FEWEST, MOST = 26, 255  # labels in a row
SPARE = 4  # tokens that cutting a state leaves free, for what merges differently afterwards
KEPT = 16  # tokens of the state that the first releases keep in any case


class Label(NamedTuple):
    name: str
    id: int


class Prompt:
    """One tokenizer under its chat template."""

    def __init__(self, tokenizer: Tokenizer, template: ChatTemplate) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._control = frozenset(tokenizer.special_tokens.values())
        probe = Shown("choice", "q?", ("o1", "o2"), ("o1", "o2"))
        self._probe = self.text("x", probe, LETTERS)
        self._probe_ids = self.encode(self._probe)
        self.labels = self._first_labels()

    @cached_property
    def more_labels(self) -> list[Label]:
        """A to Z, then every two letters in order that are one token: for more options than `labels` has."""
        return [label for name in NAMES if (label := self._label(name)) is not None]

    def labels_for(self, options: int) -> list[Label]:
        """As many labels as options. Raises DecisionLimitError where the vocabulary has too few."""
        found = self.labels if options <= len(self.labels) else self.more_labels
        if options > len(found):
            raise DecisionLimitError(f"{options} options exceed the {len(found)} single-token labels")
        return found[:options]

    def text(self, state: str, shown: Shown, labels: Sequence[str]) -> str:
        """The whole prompt."""
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user_text(state, shown, labels)}]
        return self._template.render(messages, **TEMPLATE_VARIABLES)

    def row(self, state: str, shown: Shown) -> Row:
        """The prompt's tokens; its last one is read."""
        names = [label.name for label in self.labels_for(len(shown.lines))]
        ids = self.encode(self.text(state, shown, names))
        return Row(ids, [len(ids) - 1])

    def state_end(self, state: str, rows: Sequence[Row], shown: Shown) -> int:
        """How many first tokens of all rows are those of the prompt up to the state's end, merges past it left out."""
        text = self.text(state, shown, LETTERS)
        at = text.find(f"STATE:\n{state}\n\nQUESTION: ")
        if at < 0:
            return 0
        ids = self.encode(text[: at + len("STATE:\n") + len(state)])
        for row in rows:
            ids = ids[: next((n for n, (a, b) in enumerate(zip(ids, row.ids, strict=False)) if a != b), len(ids))]
        return len(ids)

    def cut_state(self, state: str, shown: Shown, budget: int, rule: Cut) -> str:
        """The state shortened as the vendor's trainer does, so that the prompt has about `budget` tokens.

        v2 cuts once and may stay a little above; v2.1 goes on until it fits, and refuses what cannot.
        """
        ids = self.encode(state)
        tokens = len(self.row(state, shown).ids)
        if tokens <= budget:
            return state
        keep = max(budget - (tokens - len(ids)) - SPARE, KEPT)
        shortened = self._shortened(ids, keep)
        tokens = len(self.row(shortened, shown).ids)
        while rule == "v2.1" and tokens > budget and keep > 0:
            keep = max(0, keep - (tokens - budget) - SPARE)
            shortened = self._shortened(ids, keep)
            tokens = len(self.row(shortened, shown).ids)
        if rule == "v2.1" and tokens > budget:
            raise DecisionLimitError("Question and options exceed max sequence length without any state")
        return shortened

    def encode(self, text: str) -> list[int]:
        # Control tokens in a request's text are parsed, as the vendor does.
        return self._tokenizer.encode(text, add_special=False)

    def _shortened(self, ids: Sequence[int], keep: int) -> str:
        return self._tokenizer.decode(ids[:keep], skip_special=False) + " [truncated]"

    def _first_labels(self) -> list[Label]:
        found: list[Label] = []
        for name in NAMES[:MOST]:
            label = self._label(name)
            if label is None:
                break
            found.append(label)
        if len(found) < FEWEST:
            raise TokenizerError(f"only {len(found)} labels are single tokens in this tokenizer")
        return found

    def _label(self, name: str) -> Label | None:
        ids = self.encode(self._probe + name)
        single = ids[:-1] == self._probe_ids and ids[-1] not in self._control
        return Label(name, ids[-1]) if single else None
