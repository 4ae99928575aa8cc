"""The decider's rows: token ids of the two prompt layouts, with the slot at which each question's letter is read.

Knows neither requests nor answers. Pieces are tokenized separately where the vendor does: a merge over their border
would be another prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from boostr.chat import ChatTemplate
from boostr.decision.decider.questions import RowText
from boostr.decision.family import Row
from boostr.errors import ConfigError, TokenizerError
from boostr.tokenizers.base import Tokenizer

__all__ = ["NARROW", "Prompt", "label_ids"]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LABELS = 255
NARROW = 10  # so many options are lettered in text; more are built of label ids

_SENTINEL = "\x02state\x03"


def label_ids(tokenizer: Tokenizer) -> list[int]:
    """Ids of the 255 labels: A to Z, then AA to ZZ, those that are one token. Raises TokenizerError."""
    names = [*LETTERS, *(first + second for first in LETTERS for second in LETTERS)]
    found: list[int] = []
    for name in names:
        ids = tokenizer.encode(name, add_special=False)
        if len(ids) == 1:
            found.append(ids[0])
        elif len(name) == 1 and name in LETTERS[:NARROW]:
            raise TokenizerError(f"this tokenizer has no single token for the label {name}: no decider can use it")
        if len(found) == LABELS:
            break
    if len(set(found)) < LABELS:
        raise TokenizerError(
            f"this tokenizer has {len(set(found))} single-token labels of the {LABELS} that are needed"
        )
    return found


@dataclass(frozen=True, slots=True)
class _Frame:
    """What a chat template writes around the user's text."""

    head: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()


class Prompt:
    """One tokenizer under one layout. `template` None is the plain layout."""

    def __init__(self, tokenizer: Tokenizer, template: ChatTemplate | None = None) -> None:
        self._tokenizer = tokenizer
        self.labels = label_ids(tokenizer)
        self._chat = template is not None
        self._frame = _Frame() if template is None else self._chat_frame(template)

    def state_ids(self, state: str, most: int) -> list[int]:
        """Ids of the context before the questions, the template's head with it; the state is cut to `most` tokens."""
        return [*self._frame.head, *self._encode("Context:\n" + state)[:most]]

    def questions(self, questions: Sequence[RowText]) -> Row:
        """What a row holds behind its context: one question, or several packed one behind the other.

        Its reads count from the context's end.
        """
        numbers = [f" {n}" if len(questions) > 1 else "" for n in range(1, len(questions) + 1)]
        ids: list[int] = []
        slots: list[int] = []
        if not self._chat:
            for number, question in zip(numbers, questions, strict=True):
                ids += self._options(question, number, f"\nAnswer{number}: (")
                slots.append(len(ids) - 1)
            return Row(ids, slots)
        for number, question in zip(numbers, questions, strict=True):
            ids += self._chat_options(question, number)
        ids += self._frame.tail
        for at, number in enumerate(numbers):
            ids += self._encode(f"{chr(10) * bool(at)}Answer{number}: (")
            slots.append(len(ids) - 1)
        return Row(ids, slots)

    def _options(self, question: RowText, number: str, answer: str) -> list[int]:
        """Question, options and the opening of the answer; with few options one text, tokenized at once."""
        opening = f"\n\nQuestion{number}: {question.text}\nOptions:"
        if len(question.options) > NARROW:
            return [*self._encode(opening), *self._wide(question.options), *self._encode(answer)]
        return self._encode(opening + _lettered(question.options) + answer)

    def _chat_options(self, question: RowText, number: str) -> list[int]:
        opening = self._encode(f"\n\nQuestion{number}: {question.text}\nOptions:")
        wide = len(question.options) > NARROW
        return [*opening, *(self._wide(question.options) if wide else self._encode(_lettered(question.options)))]

    def _wide(self, options: Sequence[str]) -> list[int]:
        ids: list[int] = []
        for label, option in zip(self.labels, options, strict=False):
            ids += [*self._encode("\n("), label, *self._encode(f") {option}")]
        return ids

    def _chat_frame(self, template: ChatTemplate) -> _Frame:
        thinking: dict[str, Any] = {"enable_thinking": False} if "enable_thinking" in template.text else {}
        text = template.render([{"role": "user", "content": _SENTINEL}], add_generation_prompt=True, **thinking)
        head, found, tail = text.partition(_SENTINEL)
        if not found:
            raise ConfigError("the chat template drops the user's text: no decider prompt can be made with it")
        if tail.endswith(("<think>\n", "<think>")):
            tail += "</think>\n\n"
        if tail.endswith("<|channel>thought\n"):
            tail += "<channel|>"
        tail_ids, answer = self._encode(tail), self._encode("Answer: (")
        if self._encode(tail + "Answer: (") != [*tail_ids, *answer]:
            raise ConfigError("the chat template's end merges with the answer's beginning under this tokenizer")
        for letter, label in zip(LETTERS[:NARROW], self.labels, strict=False):
            if self._encode("Answer: (" + letter) != [*answer, label]:
                raise ConfigError(f"the label {letter} is not one token behind 'Answer: (' under this tokenizer")
        return _Frame(tuple(self._encode(head)), tuple(tail_ids))

    def _encode(self, text: str) -> list[int]:
        # Control tokens in a request's text are parsed, as the vendor does.
        return self._tokenizer.encode(text, add_special=False)


def _lettered(options: Sequence[str]) -> str:
    return "".join(f"\n({letter}) {option}" for letter, option in zip(LETTERS, options, strict=False))
