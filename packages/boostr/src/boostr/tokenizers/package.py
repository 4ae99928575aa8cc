"""Calls into the `tokenizers` package that leave other threads alone."""

from __future__ import annotations

from typing import Any

__all__ = ["encode_ids"]

# Characters. `encode` holds the interpreter's lock, about 3 us a character of digits; a batch of one does not, but
# starts the package's own threads, which short texts need not pay for.
_LONG = 4096


def encode_ids(backend: Any, text: str, *, add_special_tokens: bool = False) -> list[int]:
    """Ids of `text` from a `tokenizers.Tokenizer`. Other Python threads run on while a long text is encoded."""
    if len(text) < _LONG:
        ids: list[int] = backend.encode(text, add_special_tokens=add_special_tokens).ids
        return ids
    batch: list[int] = backend.encode_batch([text], add_special_tokens=add_special_tokens)[0].ids
    return batch
