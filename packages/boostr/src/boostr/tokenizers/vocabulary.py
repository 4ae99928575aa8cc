"""The vocabulary inside a GGUF file, checked: token texts, their types, their scores, the special ids.

Knows what metadata keys mean and which tokens are control tokens in practice; knows no algorithm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np

from boostr.errors import TokenizerError
from boostr.tokenizers.end_tokens import END_TEXTS, FILL_IN_TEXTS, find_end_tokens
from boostr.tokenizers.partition import Special

__all__ = ["TokenType", "Vocabulary", "read_vocabulary"]

_MAX_TOKENS = 1 << 22  # the largest published vocabularies have 262k entries
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_SHOWN_MARKS = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")  # gpt-oss: part of the text a client parses
# Phi-3 swallows white space behind its special tokens, all but these; its GGUF files do not record it.
_PHI3_KEEPS_SPACE = frozenset({"<unk>", "<s>", "<|endoftext|>"})


class TokenType(IntEnum):
    """tokenizer.ggml.token_type. Anything else counts as UNDEFINED: never made from text, decoded to nothing."""

    UNDEFINED = 0
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """tokens[id] is the text and types[id] its TokenType; `ids` goes the other way. `declared_control` are the control
    tokens that the file says so of, `types` also counts those whose text gives them away."""

    tokens: list[str]
    types: list[int]
    ids: Mapping[str, int]
    scores: Sequence[float] | None
    declared_control: frozenset[int]
    bos: int | None
    eos: int | None
    ends: frozenset[int]
    add_bos: bool | None
    add_eos: bool | None
    strips_right: frozenset[int] = frozenset()

    def specials(self) -> list[Special]:
        """What is cut out of a text before it is tokenized."""
        control = (TokenType.CONTROL, TokenType.UNKNOWN)
        return [
            Special(self.tokens[token], token, kind in control, token in self.strips_right)
            for token, kind in enumerate(self.types)
            if kind in control or kind == TokenType.USER_DEFINED
        ]

    def byte_values(self) -> dict[int, bytes]:
        """Tokens of type BYTE and the byte each stands for. `<0x-1>` is none: two hexadecimal digits are asked for."""
        named = {
            token: _BYTE.fullmatch(self.tokens[token]) for token, k in enumerate(self.types) if k == TokenType.BYTE
        }
        return {token: bytes.fromhex(found[1]) for token, found in named.items() if found}


def read_vocabulary(metadata: Mapping[str, Any]) -> Vocabulary:
    """The vocabulary of a GGUF file's metadata. Raises TokenizerError naming the key."""
    tokens = _tokens(metadata)
    count = len(tokens)
    ids = {text: token for token, text in enumerate(tokens)}
    types = _types(metadata, count)
    declared = frozenset(token for token, kind in enumerate(types) if kind in (TokenType.CONTROL, TokenType.UNKNOWN))
    fill_in = _fill_in_ids(metadata, ids, count)
    _mark_control(types, ids, fill_in)
    eos = _special_id(metadata, "eos", count)
    turn_ends = [_special_id(metadata, name, count) for name in ("eot", "eom")]
    vocabulary = Vocabulary(
        tokens,
        types,
        ids,
        _scores(metadata, count),
        declared,
        bos=_special_id(metadata, "bos", count),
        eos=eos,
        ends=find_end_tokens(ids, [token for token in (eos, *turn_ends) if token is not None], fill_in),
        add_bos=_flag(metadata, "tokenizer.ggml.add_bos_token"),
        add_eos=_flag(metadata, "tokenizer.ggml.add_eos_token"),
    )
    name = metadata.get("general.name")
    return _with_phi3_spacing(vocabulary) if isinstance(name, str) and _is_phi3(name) else vocabulary


def _tokens(metadata: Mapping[str, Any]) -> list[str]:
    value = metadata.get("tokenizer.ggml.tokens")
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or not 0 < len(value) <= _MAX_TOKENS:
        raise TokenizerError(
            "tokenizer.ggml.tokens must be a list of 1 to 4 million strings: the file has no vocabulary"
        )
    tokens = list(value)
    if not all(isinstance(token, str) for token in tokens):
        raise TokenizerError("tokenizer.ggml.tokens holds something that is not a string")
    return [token or f"[EMPTY_{index}]" for index, token in enumerate(tokens)]


def _types(metadata: Mapping[str, Any], count: int) -> list[int]:
    if metadata.get("tokenizer.ggml.token_type") is None:
        return [int(TokenType.NORMAL)] * count
    return [int(value) for value in _array(metadata, "tokenizer.ggml.token_type", count, np.signedinteger)]


def _scores(metadata: Mapping[str, Any], count: int) -> Sequence[float] | None:
    if metadata.get("tokenizer.ggml.scores") is None:
        return None
    return [float(value) for value in _array(metadata, "tokenizer.ggml.scores", count, np.floating)]


def _array(metadata: Mapping[str, Any], key: str, count: int, kind: type[np.number[Any]]) -> list[Any]:
    try:
        array = np.asarray(metadata[key])
    except (ValueError, TypeError, OverflowError) as error:
        raise TokenizerError(f"{key} is not an array of numbers") from error
    if array.shape != (count,) or not np.issubdtype(array.dtype, kind):
        raise TokenizerError(
            f"{key} must hold one {kind.__name__} for each of the {count} tokens, not {array.dtype} {array.shape}"
        )
    values: list[Any] = array.tolist()
    return values


def _special_id(metadata: Mapping[str, Any], name: str, count: int) -> int | None:
    # Out of range is common in converted files and harmless: it is as if the key were not there.
    value = metadata.get(f"tokenizer.ggml.{name}_token_id")
    return int(value) if isinstance(value, int | np.integer) and 0 <= value < count else None


def _flag(metadata: Mapping[str, Any], key: str) -> bool | None:
    value = metadata.get(key)
    return bool(value) if isinstance(value, bool | np.bool_) else None


def _fill_in_ids(metadata: Mapping[str, Any], ids: Mapping[str, int], count: int) -> dict[str, int]:
    keys = {"prefix": "fim_pre", "suffix": "fim_suf", "middle": "fim_mid", "pad": "fim_pad", "repo": "fim_rep",
            "separator": "fim_sep"}  # fmt: skip
    found: dict[str, int] = {}
    for role, texts in FILL_IN_TEXTS.items():
        declared = _special_id(metadata, keys[role], count)
        named = declared if declared is not None else next((ids[text] for text in texts if text in ids), None)
        if named is not None:
            found[role] = named
    return found


def _mark_control(types: list[int], ids: Mapping[str, int], fill_in: Mapping[str, int]) -> None:
    # Converters often call these tokens normal; a model that emits one means the mark, not the letters.
    for token in (*(ids[text] for text in END_TEXTS if text in ids), *fill_in.values()):
        types[token] = TokenType.CONTROL
    harmony = "<|return|>" in ids and "<|call|>" in ids
    for text in (*_SHOWN_MARKS, *(["<|end|>"] if harmony else [])):
        if text in ids:
            types[ids[text]] = TokenType.USER_DEFINED


def _is_phi3(name: str) -> bool:
    return "phi-3" in name.lower() or "phi3" in name.lower()


def _with_phi3_spacing(vocabulary: Vocabulary) -> Vocabulary:
    swallowing = {special.token for special in vocabulary.specials() if special.text not in _PHI3_KEEPS_SPACE}
    return replace(vocabulary, strips_right=frozenset(swallowing))
