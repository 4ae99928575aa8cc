"""A rendered conversation to token ids, with exactly one BOS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boostr.tokenizers.base import Tokenizer

__all__ = ["encode_chat"]


def encode_chat(tokenizer: Tokenizer, segments: Sequence[tuple[str, bool]]) -> list[int]:
    """Ids of the parts that `ChatTemplate.render_segments` returns.

    A tokenizer that begins texts with BOS gives exactly one, whether or not the template writes it too; another one
    leaves what the template wrote. No EOS is added: the template ends the turns.
    """
    ids = tokenizer.encode_segments(segments, add_special=False)
    bos = tokenizer.bos_token_id
    if not tokenizer.add_bos or bos is None:
        return ids
    written = next((at for at, token in enumerate(ids) if token != bos), len(ids))
    return [bos, *ids[written:]]
