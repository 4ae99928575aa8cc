"""Clef's record: the token ids of a whole request, and where each question and option lies in them.

Every piece is tokenized alone. In those that come from a request no added token is looked for: text stays text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from boostr.decision.clef.questions import Field, pieces_of
from boostr.errors import DecisionLimitError
from boostr.tokenizers.base import Tokenizer

__all__ = ["Place", "Record", "encode_record"]

PREFIX = (
    "<|im_start|>system\nRead the complete state and schema. Decide every field jointly. Each answer must be exactly "
    "one of that field's allowed options.<|im_end|>\n<|im_start|>user\nSTATE:\n"
)
SUFFIX = "\n<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nJOINT SCHEMA DECISIONS:"

Range = tuple[int, int]  # of tokens, the end not included


@dataclass(frozen=True, slots=True)
class Place:
    """Where one question's instruction and its options lie in the record."""

    question: Range
    options: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """`uncut` is the state's whole length; what the limit leaves of it is in `ids`."""

    ids: tuple[int, ...]
    places: tuple[Place, ...]
    uncut: int


def encode_record(
    tokenizer: Tokenizer, state: str, fields: Sequence[Field], most: int, most_state: int | None = None
) -> Record:
    """The record of at most `most` tokens; the state's end is cut off, its schema never.

    Raises DecisionLimitError where the schema alone is longer.
    """
    prefix, suffix = (tokenizer.encode(text, add_special=False) for text in (PREFIX, SUFFIX))
    schema = [tokenizer.encode_bare(piece) for piece in pieces_of(fields)]
    fixed = len(prefix) + sum(map(len, schema)) + len(suffix)
    if fixed > most:
        raise DecisionLimitError(f"schema requires {fixed} tokens before state; maximum is {most}")
    whole = tokenizer.encode_bare(state)
    kept = whole[:most_state][: most - fixed]
    places = _places(schema, fields, len(prefix) + len(kept))
    ids = [*prefix, *kept, *(token for piece in schema for token in piece), *suffix]
    return Record(tuple(ids), places, len(whole))


def _places(schema: Sequence[Sequence[int]], fields: Sequence[Field], start: int) -> tuple[Place, ...]:
    ranges: list[Range] = []
    for piece in schema:
        ranges.append((start, start + len(piece)))
        start += len(piece)
    places, at = [], 1
    for field in fields:
        options = tuple(ranges[at + 4 + 3 * n] for n in range(len(field.options)))
        places.append(Place(ranges[at + 1], options))
        at += 3 + 3 * len(field.options) + 1
    return tuple(places)
