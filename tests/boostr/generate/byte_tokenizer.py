"""A tokenizer of bytes for the tests: ids 0..255 are bytes, 256 begins and 257 ends a sequence."""

from collections.abc import Sequence
from types import MappingProxyType

from boostr.tokenizers.base import Tokenizer

BOS, EOS = 256, 257


class ByteTokenizer(Tokenizer):
    vocab_size = 258
    bos_token_id = BOS
    eos_token_id = EOS
    eos_token_ids = frozenset({EOS})
    add_bos = False
    add_eos = False
    special_tokens = MappingProxyType({"<s>": BOS, "</s>": EOS})

    def encode_segments(self, segments: Sequence[tuple[str, bool]], *, add_special: bool = True) -> list[int]:
        return list("".join(text for text, _ in segments).encode())

    def token_text(self, token: int) -> str:
        return chr(token)

    def token_bytes(self, token: int) -> bytes:
        return bytes([token]) if token < BOS else b""

    def is_control(self, token: int) -> bool:
        return token >= BOS
