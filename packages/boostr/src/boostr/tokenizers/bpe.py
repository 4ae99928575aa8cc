"""Byte-level BPE from the tokens and merges inside a GGUF file, run by the `tokenizers` package.

Special tokens never reach the merges: they are cut out before, so the package gets words only.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import tokenizers
from tokenizers import models, pre_tokenizers

from boostr.errors import TokenizerError
from boostr.tokenizers.byte_level import decode_symbols
from boostr.tokenizers.embedded import EmbeddedTokenizer
from boostr.tokenizers.package import encode_ids
from boostr.tokenizers.pretokenizers import Pretokenizer, find_pretokenizer
from boostr.tokenizers.vocabulary import Vocabulary, read_vocabulary

__all__ = ["BPETokenizer"]

_log = logging.getLogger(__name__)


class BPETokenizer(EmbeddedTokenizer):
    """tokenizer.ggml.model = "gpt2". Ids agree with llama.cpp's."""

    def __init__(self, vocabulary: Vocabulary, merges: Sequence[str], pretokenizer: Pretokenizer) -> None:
        super().__init__(vocabulary, add_bos=pretokenizer.add_bos)
        splits = [
            pre_tokenizers.Split(tokenizers.Regex(pattern), behavior="isolated") for pattern in pretokenizer.patterns
        ]
        self._backend = tokenizers.Tokenizer(_merge_model(vocabulary, merges, pretokenizer.ignore_merges))
        self._backend.pre_tokenizer = pre_tokenizers.Sequence(
            [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> BPETokenizer:
        """From GGUF metadata. Raises TokenizerError naming the key."""
        merges = metadata.get("tokenizer.ggml.merges")
        if isinstance(merges, str | bytes) or not isinstance(merges, Sequence):
            raise TokenizerError("tokenizer.ggml.merges is missing: a BPE vocabulary cannot be used without its merges")
        name = metadata.get("tokenizer.ggml.pre")
        if not name:
            _log.warning("the file does not say how its tokenizer splits words (tokenizer.ggml.pre); using 'default', "
                         "which may be wrong: convert the model again")  # fmt: skip
        return cls(read_vocabulary(metadata), merges, find_pretokenizer(str(name or "default")))

    def _encode_text(self, text: str, after_special: bool) -> list[int]:
        return encode_ids(self._backend, text)

    def _text_bytes(self, text: str) -> bytes:
        return decode_symbols(text)


def _merge_model(vocabulary: Vocabulary, merges: Sequence[str], ignore_merges: bool) -> models.BPE:
    # Control tokens are left out: no text, however it is cut, may become one.
    if vocabulary.declared_control:
        ids = {text: token for text, token in vocabulary.ids.items() if token not in vocabulary.declared_control}
    else:
        ids = dict(vocabulary.ids)
    pairs = [_pair(merge) for merge in merges]
    # Sifted here, as the package panics on a merge that is longer than every token.
    usable = [(a, b) for a, b in pairs if a in ids and b in ids and a + b in ids]
    if len(usable) < len(pairs):
        _log.warning(
            "%d of %d merges name tokens that the vocabulary lacks; left out", len(pairs) - len(usable), len(pairs)
        )
    try:
        return models.BPE(vocab=ids, merges=usable, ignore_merges=ignore_merges)
    except Exception as error:  # the package raises nothing narrower
        raise TokenizerError(f"tokenizer.ggml.merges cannot be used: {error}") from error


def _pair(merge: object) -> tuple[str, str]:
    # The first part may itself begin with a space, so the gap is looked for from the second character on.
    gap = merge.find(" ", 1) if isinstance(merge, str) else -1
    if gap < 0 or not isinstance(merge, str):
        raise TokenizerError(f"tokenizer.ggml.merges: {str(merge)[:40]!r} is not two tokens with a space between")
    return merge[:gap], merge[gap + 1 :]
