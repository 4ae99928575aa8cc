"""A language model without weights, for tests of everything above the network: known logits, one token a byte.

`TinyModel` is a real LanguageModel over a network that answers by rule. Its states keep the token ids they have read,
so that a lost, repeated or misplaced token is an error in the test and not a slightly different number.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from boostr.chat import ChatTemplate
from boostr.generate.language_model import LanguageModel
from boostr.tokenizers.base import Tokenizer, require_encodable
from numr import Tensor

BOS, EOS, IM_START, IM_END = 256, 257, 258, 259
CONTROL = {"<|bos|>": BOS, "<|eos|>": EOS, "<|im_start|>": IM_START, "<|im_end|>": IM_END}
VOCAB = 264  # four ids are unused

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

Rule = Callable[[list[int]], int]  # the ids read so far -> the id that follows


class ByteTokenizer(Tokenizer):
    """One token a byte, plus a few control tokens."""

    vocab_size = VOCAB
    bos_token_id = BOS
    eos_token_id = EOS
    eos_token_ids = frozenset({EOS, IM_END})
    add_bos = True
    add_eos = False
    special_tokens: ClassVar[dict[str, int]] = CONTROL

    def encode_segments(self, segments: Sequence[tuple[str, bool]], *, add_special: bool = True) -> list[int]:
        ids: list[int] = [BOS] if add_special else []
        for text, parse_special in segments:
            ids += self._split(text) if parse_special else list(require_encodable(text).encode())
        return ids

    def token_text(self, token: int) -> str:
        self._check(token)
        return next((text for text, one in CONTROL.items() if one == token), chr(token))

    def token_bytes(self, token: int) -> bytes:
        self._check(token)
        return bytes([token]) if token < 256 else b""

    def is_control(self, token: int) -> bool:
        self._check(token)
        return token >= 256

    def _check(self, token: int) -> None:
        if not 0 <= token < VOCAB:
            raise self._unknown_id(token)

    def _split(self, text: str) -> list[int]:
        for mark, token in CONTROL.items():
            before, found, after = text.partition(mark)
            if found:
                return [*self._split(before), token, *self._split(after)]
        return list(require_encodable(text).encode())


class TinyState:
    """The ids a sequence has read."""

    def __init__(self, ids: Sequence[int] = ()) -> None:
        self.ids = list(ids)

    @property
    def length(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        return 8 * len(self.ids)

    def fork(self, at: int | None = None) -> TinyState:
        return TinyState(self.ids[:at])

    def truncate(self, n: int) -> None:
        del self.ids[n:]


class TinyNetwork:
    """Hidden state = one row per token that holds the ids read so far; logits prefer what the rule says.

    The rule's token gets logit 4, its two neighbours 2 and 1, every other 0: so all log-probabilities are known.
    """

    vocab_size = VOCAB
    hidden_size = 1
    config = SimpleNamespace(model_type="tiny", vocab_size=VOCAB, hidden_size=1, num_layers=1)

    def __init__(self, rule: Rule, context_length: int) -> None:
        self.rule = rule
        self.context_length = context_length
        self.batches: list[list[int]] = []  # tokens of each span, per pass
        self.step_seconds = 0.0  # how long a pass takes
        self.token_seconds = 0.0  # and how long each of its tokens
        self.gate = threading.Event()  # cleared: passes wait
        self.gate.set()
        self.fail_on: Callable[[list[list[int]]], BaseException | None] | None = None  # histories -> error to raise
        self._rows: list[list[int]] = []

    def forward(self, batch: Any) -> Tensor:
        assert self.gate.wait(10), "the test left the gate closed"
        self.batches.append([span.stop - span.start for span in batch.spans])
        time.sleep(self.step_seconds + self.token_seconds * len(batch.token_ids))
        histories: list[list[int]] = []
        for span in batch.spans:
            for at in range(span.start, span.stop):
                assert batch.positions[at] == span.state.length, "a token does not follow what its state has read"
                span.state.ids.append(int(batch.token_ids[at]))
                histories.append(list(span.state.ids))
        if self.fail_on is not None and (error := self.fail_on(histories)) is not None:
            raise error
        rows = range(len(histories)) if batch.rows is None else batch.rows
        self._rows = [histories[row] for row in rows]
        return Tensor(np.zeros((len(self._rows), 1), np.float32))

    def logits(self, hidden: Tensor) -> Tensor:
        assert hidden.shape[0] == len(self._rows)
        return Tensor(np.stack([self.row(history) for history in self._rows]))

    def row(self, history: list[int]) -> np.ndarray:
        """The logits (VOCAB,) after `history`."""
        row = np.zeros(VOCAB, np.float32)
        token = self.rule(history)
        row[[token, (token + 1) % 256, (token + 2) % 256]] = [4, 2, 1]
        return row


class TinyModel(LanguageModel):
    """A LanguageModel that says what a rule says; by default it repeats its prompt's last byte for ever."""

    def __init__(
        self, rule: Rule | None = None, *, name: str = "tiny", context_length: int = 512, template: str = CHATML
    ) -> None:
        self.tiny = TinyNetwork(rule or echo, context_length)
        super().__init__(
            self.tiny,  # type: ignore[arg-type]
            name=name,
            path=Path(f"/models/{name}.gguf"),
            report=SimpleNamespace(architecture="tiny", summary=lambda: "tiny"),  # type: ignore[arg-type]
            tokenizer=ByteTokenizer(),
            chat_template=ChatTemplate(
                template, "gguf jinja", bos_token="<|bos|>", eos_token="<|eos|>", control_texts=CONTROL
            ),
            eos_token_ids=ByteTokenizer.eos_token_ids,
        )

    def new_state(self) -> TinyState:  # type: ignore[override]
        return TinyState()


def echo(history: list[int]) -> int:
    """Say the last byte again and again."""
    return history[-1] if history[-1] < 256 else ord("x")


def says(text: str | bytes, end: int | None = EOS) -> Rule:
    """Answer any prompt with `text` and then `end` (None: start again).

    The answer begins after the first newline behind the prompt's last control token: "question\\n", or what a chat
    template writes, "<|im_start|>assistant\\n".
    """
    data = text.encode() if isinstance(text, str) else text

    def rule(history: list[int]) -> int:
        control = max((at for at, token in enumerate(history) if token in (BOS, IM_START, IM_END)), default=0)
        begin = history.index(10, control) + 1
        said = len(history) - begin
        if said < len(data):
            return data[said]
        return end if end is not None else data[said % len(data)]

    return rule
