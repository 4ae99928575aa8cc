"""Tokenizing what clients send: off the event loop, long texts one at a time, hopeless ones not at all."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from blazr.server.service import Service
from boostr.errors import ContextLengthError
from boostr.generate.language_model import LanguageModel
from boostr.tokenizers.base import Tokenizer

__all__ = ["LONG_TEXT", "in_turn", "refuse_hopeless"]

LONG_TEXT = 200_000  # characters; shorter ones are tokenized in well under a second
_SLACK = 2  # normalization may merge characters: "e" and an accent
_MOST_BYTES = 8  # of a token, in any text that is worth a closer look

T = TypeVar("T")
_longest: WeakKeyDictionary[Tokenizer, int] = WeakKeyDictionary()


async def in_turn(service: Service, size: int, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """`work(...)` in a thread. From LONG_TEXT characters on there is one such thread: a few would take all memory."""
    if size < LONG_TEXT:
        return await asyncio.to_thread(work, *arguments, **named)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(service.long_texts, lambda: work(*arguments, **named))


def refuse_hopeless(text: str, model: LanguageModel) -> None:
    """Raises ContextLengthError for a text that cannot fit whatever its tokens are, without tokenizing it.

    The error then carries the least number of tokens the text could have.
    """
    if len(text) <= _SLACK * _MOST_BYTES * model.context_length:
        return
    tokenizer = model.require_tokenizer()
    longest = _longest.get(tokenizer)
    if longest is None:
        longest = max(len(tokenizer.token_bytes(token)) for token in range(tokenizer.vocab_size))
        longest = max([longest, *(len(name.encode()) for name in tokenizer.special_tokens)])
        _longest[tokenizer] = longest
    least = len(text) // (_SLACK * longest)  # a character is at least one byte
    if least >= model.context_length:
        raise ContextLengthError(least, model.context_length)
