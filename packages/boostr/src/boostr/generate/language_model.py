"""A loaded language model as a researcher holds it: network, tokenizer, template and how to generate with them.

Knows no files (see load.py) and no server.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boostr.errors import AdapterError, ContextLengthError, TemplateError, TokenizerError
from boostr.generate.decode import chunks, decode
from boostr.generate.output import FinishReason, Piece
from boostr.generate.params import SamplingParams
from boostr.state import Batch, Reads, SequenceState, long_prompt
from numr import Tensor

if TYPE_CHECKING:
    from boostr.chat import ChatTemplate
    from boostr.formats import Checkpoint
    from boostr.models import LoadReport, Network
    from boostr.nn import SpanAdapter
    from boostr.peft import PeftAdapter
    from boostr.tokenizers.base import Tokenizer

__all__ = ["Completion", "LanguageModel"]


@dataclass(frozen=True, slots=True)
class Completion:
    """One finished continuation."""

    text: str
    finish_reason: FinishReason
    pieces: tuple[Piece, ...] = field(repr=False, default=())

    @property
    def token_ids(self) -> list[int]:
        """The tokens behind `text`; the end token is not among them."""
        return [piece.token for piece in self.pieces if piece.token is not None]


class LanguageModel:
    """A network with its tokenizer, chat template and defaults. Made by `boostr.load`.

    A variant is one too: the network of its `base`, under an `adapter`; made by `derive_with_adapter`.
    """

    base: LanguageModel | None = None
    adapter: PeftAdapter | None = None
    span_adapter: SpanAdapter | None = None  # what a span of a Batch carries to run as this model

    def __init__(
        self,
        network: Network,
        *,
        name: str,
        path: Path,
        report: LoadReport,
        tokenizer: Tokenizer | None,
        chat_template: ChatTemplate | None = None,
        eos_token_ids: frozenset[int] = frozenset(),
        generation_config: Mapping[str, Any] | None = None,
        context_length: int | None = None,
        cache_dtype: str = "float32",
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.network = network
        self.name = name
        self.path = path
        self.report = report
        self.tokenizer = tokenizer
        self.chat_template = chat_template
        self.eos_token_ids = eos_token_ids
        self.generation_config = dict(generation_config or {})
        self.context_length = context_length or network.context_length
        self.cache_dtype = cache_dtype
        self._checkpoint = checkpoint  # weights may be views of its mapped files

    def __repr__(self) -> str:
        under = "" if self.adapter is None else f" under an adapter of rank {self.adapter.rank}"
        return f"<LanguageModel {self.name}: {self.report.summary()}{under}, context {self.context_length}>"

    @property
    def config(self) -> Any:
        """The architecture's configuration."""
        return self.network.config

    @property
    def vocab_size(self) -> int:
        return self.network.vocab_size

    def require_tokenizer(self) -> Tokenizer:
        """The tokenizer, or TokenizerError where the model came without one."""
        if self.tokenizer is None:
            raise TokenizerError(f"{self.path} has no tokenizer (tokenizer.json, tokenizer.model or GGUF vocabulary)")
        return self.tokenizer

    def new_state(self) -> SequenceState:
        """An empty sequence state for this model."""
        return SequenceState(self.network.state_spec, self.cache_dtype)

    def encode(self, text: str) -> list[int]:
        """Token ids of raw text, with the beginning-of-sequence token where the model wants one."""
        return self.require_tokenizer().encode(text)

    def logits(self, ids: Sequence[int]) -> Tensor:
        """Logits (n, vocab) float32 after every token of `ids`, from a fresh state.

        Raises TokenizerError for an id outside the vocabulary, ContextLengthError for too many.
        """
        tokens = self._checked_ids(ids)
        state = self.new_state()
        parts = []
        for chunk in chunks(tokens):
            batch = self.pack([(chunk, state)], read="all", many=long_prompt(len(tokens)))
            parts.append(np.asarray(self.network.logits(self.network.forward(batch))))
        return Tensor(np.concatenate(parts))

    def generate(self, prompt: str | Sequence[int], **params: Any) -> str:
        """The continuation of a raw prompt as text. Keyword arguments are those of SamplingParams."""
        return "".join(self.stream(prompt, **params))

    def stream(self, prompt: str | Sequence[int], **params: Any) -> Iterator[str]:
        """The continuation of a raw prompt, in pieces whose concatenation `generate` returns."""
        for _, piece in self._decode(prompt, SamplingParams(**params)):
            if piece.text:
                yield piece.text

    def complete(self, prompt: str | Sequence[int], n: int = 1, **params: Any) -> list[Completion]:
        """`n` continuations with their tokens, log-probabilities and finish reasons."""
        pieces: dict[int, list[Piece]] = {}
        for choice, piece in self._decode(prompt, SamplingParams(**params), n):
            pieces.setdefault(choice, []).append(piece)
        return [
            Completion("".join(p.text for p in one), one[-1].finish_reason or "stop", tuple(one))
            for _, one in sorted(pieces.items())
        ]

    def encode_chat(self, messages: Sequence[Mapping[str, Any]], **variables: Any) -> list[int]:
        """Token ids of a conversation under the chat template; text in messages never becomes a control token."""
        from boostr.chat import encode_chat

        if self.chat_template is None:
            raise TemplateError(f"{self.path} has no chat template; pass chat_template= to load")
        return encode_chat(self.require_tokenizer(), self.chat_template.render_segments(messages, **variables))

    def chat(self, messages: str | Sequence[Mapping[str, Any]], **params: Any) -> str:
        """The assistant's answer to a conversation, or to one user message given as a string."""
        conversation = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        return self.generate(self.encode_chat(conversation), **params)

    def derive_with_adapter(self, adapter: PeftAdapter, name: str | None = None) -> LanguageModel:
        """The variant of this model under `adapter`, by default named "model:adapter".

        Network, weights, tokenizer and template are shared and nothing is merged: a variant costs its adapter's bytes.
        Spans of the base and of any of its variants run in one batch, each under its model's `span_adapter`.
        Raises AdapterMismatchError for an adapter of another base, AdapterError on a model that is itself a variant.
        """
        from boostr.models import resolve_adapter

        if self.base is not None:
            raise AdapterError(f"{self.name} is itself a variant: derive {adapter.name} from {self.base.name} instead")
        variant = copy.copy(self)
        variant.span_adapter = resolve_adapter(adapter, self.network, self.report)
        variant.base, variant.adapter = self, adapter
        variant.name = name or f"{self.name}:{adapter.name}"
        variant._checkpoint = None  # the base's to close
        return variant

    def pack(
        self, sequences: Sequence[tuple[Sequence[int], SequenceState]], read: Reads = "last", many: bool | None = None
    ) -> Batch:
        """The batch of the next tokens of (ids, state) pairs, run as this model. `read` and `many` as in Batch.pack."""
        return Batch.pack(sequences, read, [self.span_adapter] * len(sequences), many)

    def close(self) -> None:
        """Release the mapped files. The model must not be used afterwards."""
        if self._checkpoint is not None:
            self._checkpoint.close()
            self._checkpoint = None

    def _decode(self, prompt: str | Sequence[int], params: SamplingParams, n: int = 1) -> Iterator[tuple[int, Piece]]:
        ids = self.encode(prompt) if isinstance(prompt, str) else self._checked_ids(prompt)
        return decode(self, ids, params, n)

    def _checked_ids(self, ids: Sequence[int]) -> list[int]:
        try:
            tokens = [operator.index(token) for token in ids]
        except TypeError:
            raise TokenizerError(
                "token ids must be a sequence of whole numbers; `encode` makes them of a text"
            ) from None
        for at, token in enumerate(tokens):
            if not 0 <= token < self.vocab_size:
                raise TokenizerError(
                    f"token id {token} at position {at} is outside the vocabulary of {self.vocab_size}"
                )
        if not tokens or len(tokens) > self.context_length:
            raise ContextLengthError(len(tokens), self.context_length) if tokens else TokenizerError("no token ids")
        return tokens
