"""Jebadiah's rows: the chat prompt tokenized as one text, and the labels that are one token behind it.

Knows neither requests nor answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from boostr.chat import ChatTemplate
from boostr.decision.family import Row, shared_tokens
from boostr.decision.jebadiah.config import TEMPLATE_VARIABLES
from boostr.decision.jebadiah.questions import Shown, user_text
from boostr.errors import DecisionLimitError, TokenizerError
from boostr.tokenizers.base import Tokenizer

__all__ = ["Cut", "Head", "Label", "Prompt"]

Cut = Literal["v2", "v2.1"]

SYSTEM = "You are a decision function. Answer with the single letter of the best option and nothing else."
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NAMES = (*LETTERS, *(first + second for first in LETTERS for second in LETTERS))
FEWEST, MOST = 26, 255  # labels in a row
SPARE = 4  # tokens that cutting a state leaves free, for what merges differently afterwards
_CHARACTERS = 32  # of a token at most, over any long text worth reading
KEPT = 16  # tokens of the state that the first releases keep in any case


class Label(NamedTuple):
    name: str
    id: int


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning that prompts about one state share, up to the word QUESTION.

    ids    first tokens of every such prompt
    exact  they are all of `text`'s, and what follows may be encoded alone
    """

    text: str
    ids: Sequence[int]
    exact: bool


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

    def row(self, state: str, shown: Shown, head: Head | None = None) -> Row:
        """The prompt's tokens; its last one is read.

        head  of the same state: where it is exact, only what follows is encoded
        """
        names = [label.name for label in self.labels_for(len(shown.lines))]
        text = self.text(state, shown, names)
        if head is not None and head.exact and text.startswith(head.text):
            ids = [*head.ids, *self.encode(text[len(head.text) :])]
        else:
            ids = self.encode(text)
        return Row(ids, [len(ids) - 1])

    def head(self, state: str, shown: Shown, row: Row) -> Head:
        """What the prompts of all questions about `state` begin with, told by one of them and its row."""
        names = [label.name for label in self.labels_for(len(shown.lines))]
        text = self.text(state, shown, names)
        before = f"STATE:\n{state}\n\n"
        at = text.find(before + "QUESTION: ")
        if at < 0:  # a template that writes the user's text in another way
            return Head("", (), False)
        cut = at + len(before)
        ids = self.encode(text[:cut])
        # Splitting before "QUESTION" gives the tokens of the whole text where words are split at line ends, as in every
        # vocabulary of the family; whether it does here is looked at, for the token that may span the cut is the same
        # whatever is asked.
        exact = [*ids, *self.encode(text[cut:])] == row.ids
        return Head(text[:cut], ids if exact else ids[: shared_tokens([ids, list(row.ids)])], exact)

    def exceeds(self, state: str, shown: Shown, most: int) -> int:
        """At least so many tokens has a prompt that is far longer than `most`; 0: it must be encoded to know.

        Told by its first characters, so that a text of many megabytes costs no more than what can be answered.
        """
        characters = most * _CHARACTERS
        text = user_text(state, shown, LETTERS)
        tokens = len(self.encode(text[:characters])) if len(text) > characters else 0
        return tokens if tokens > 2 * most else 0

    def cut_state(self, ids: Sequence[int], tokens: int, shown: Shown, budget: int, rule: Cut) -> str:
        """The state `ids` shortened as the vendor's trainer does, since its prompt has `tokens`, more than `budget`.

        v2 cuts once and may stay a little above; v2.1 goes on until it fits, and refuses what cannot.
        """
        keep = max(budget - (tokens - len(ids)) - SPARE, KEPT)
        state = self._shortened(ids, keep)
        if rule == "v2":
            return state
        while (tokens := len(self.row(state, shown).ids)) > budget:
            if keep == 0:
                raise DecisionLimitError("Question and options exceed max sequence length without any state")
            keep = max(0, keep - (tokens - budget) - SPARE)
            state = self._shortened(ids, keep)
        return state

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
