"""Prompts of a completion request: which of the four spellings it is, and its token ids. Runs in a worker thread."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from blazr.errors import RequestError
from blazr.server.texts import refuse_hopeless
from boostr.generate.language_model import LanguageModel

__all__ = ["MAX_PROMPTS", "Prompt", "read_prompts"]

MAX_PROMPTS = 64


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `text` is what `echo` repeats."""

    ids: Sequence[int]
    text: str


def read_prompts(value: Any, context: Sequence[int], model: LanguageModel) -> list[Prompt]:
    """Token ids of every prompt in `value`; `context` ids stand before each. Raises RequestError, TokenizerError."""
    _check_ids(context, model.vocab_size, "context")
    return [_encode(one, context, model) for one in _split(value)]


def _split(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not value:
        raise RequestError("prompt must be a text, a list of texts, token ids, or a list of token-id lists", "prompt")
    if all(_is_id(one) for one in value):
        return [value]
    if not all(isinstance(one, str) for one in value) and not all(
        isinstance(one, list) and all(_is_id(token) for token in one) for one in value
    ):
        raise RequestError("prompt mixes kinds: it must be all texts, all token ids, or all token-id lists", "prompt")
    if len(value) > MAX_PROMPTS:
        raise RequestError(f"prompt holds {len(value)} prompts: at most {MAX_PROMPTS} are taken", "prompt")
    return value


def _encode(prompt: str | list[int], context: Sequence[int], model: LanguageModel) -> Prompt:
    tokenizer = model.require_tokenizer()
    if isinstance(prompt, str):
        refuse_hopeless(prompt, model)
        # Ids of an earlier turn already begin with whatever the model wants at a beginning.
        ids = tokenizer.encode(prompt, add_special=not context)
        text = prompt
    else:
        _check_ids(prompt, model.vocab_size, "prompt")
        ids, text = prompt, tokenizer.decode(prompt)
    if not ids and not context:
        raise RequestError("prompt is empty: it must have at least one token", "prompt")
    return Prompt([*context, *ids] if context else ids, text)


def _check_ids(ids: Sequence[int], vocab_size: int, param: str) -> None:
    for token in ids:
        if not 0 <= token < vocab_size:
            raise RequestError(f"{param} holds token id {token}; this model's ids are 0 to {vocab_size - 1}", param)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
