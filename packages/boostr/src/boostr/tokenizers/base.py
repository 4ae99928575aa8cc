"""What every tokenizer offers: ids of a text, or of a text made of trusted and untrusted parts, and text of ids.

Knows nothing of files. A tokenizer is immutable once built and may be used from several threads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from boostr.errors import TokenizerError
from boostr.tokenizers.detokenizer import Detokenizer

__all__ = ["Tokenizer", "require_encodable"]


class Tokenizer(ABC):
    """A vocabulary with its rules.

    vocab_size          number of ids, including added tokens
    bos_token_id        id written before a text, or None
    eos_token_id        the id that the model declares as its end, or None
    eos_token_ids       every id that ends a generation: the declared one, end of turn and end of message
    add_bos, add_eos    whether `add_special` writes them
    special_tokens      text -> id of the control tokens: those that `parse_special` alone makes out of text
    strips_leading_space  SentencePiece: the first word of a text is stored with a space before it, dropped on decoding
    """

    vocab_size: int
    bos_token_id: int | None
    eos_token_id: int | None
    eos_token_ids: frozenset[int]
    add_bos: bool
    add_eos: bool
    special_tokens: Mapping[str, int]
    strips_leading_space: bool = False

    @abstractmethod
    def encode_segments(self, segments: Sequence[tuple[str, bool]], *, add_special: bool = True) -> list[int]:
        """Ids of a text given in parts (text, parse_special).

        Where parse_special is False the text of a control token stays text. Neighbouring parts are tokenized as one
        text, so how a text is cut does not change its ids. Raises TokenizerError for a lone surrogate.
        """

    @abstractmethod
    def token_text(self, token: int) -> str:
        """The token as the vocabulary spells it. Raises TokenizerError for an unknown id."""

    @abstractmethod
    def token_bytes(self, token: int) -> bytes:
        """The exact bytes that the token adds to a text; b"" for control tokens."""

    @abstractmethod
    def is_control(self, token: int) -> bool:
        """Whether the token stands for no text. Raises TokenizerError for an unknown id."""

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """Ids of `text`. A lone surrogate raises TokenizerError; NUL is a character like any other."""
        return self.encode_segments([(text, parse_special)], add_special=add_special)

    def encode_bare(self, text: str) -> list[int]:
        """Ids of a text in which no added token is looked for, not even one like <think> that is no control token."""
        return self.encode(text, add_special=False, parse_special=False)

    def decode(self, ids: Iterable[int], *, skip_special: bool = True) -> str:
        """Text of `ids`; bytes that are not UTF-8 become U+FFFD."""
        detokenizer = self.detokenizer(skip_special)
        return "".join([detokenizer.feed(token) for token in ids]) + detokenizer.flush()

    def detokenizer(self, skip_special: bool = True, prompt_ids: Sequence[int] = ()) -> Detokenizer:
        """A decoder for the tokens that follow `prompt_ids`."""
        return Detokenizer(self, skip_special, prompt_ids)

    def _unknown_id(self, token: object) -> TokenizerError:
        return TokenizerError(f"there is no token {token}: this vocabulary has the ids 0 to {self.vocab_size - 1}")


def require_encodable(text: str) -> str:
    """`text`, or TokenizerError where it holds a lone surrogate: no UTF-8 exists for it, so no token either."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = f"U+{ord(text[error.start]):04X} at character {error.start}"
        raise TokenizerError(f"the text holds a lone surrogate, {found}; send valid Unicode") from None
    return text
