"""tokenizer.json, run by the `tokenizers` package: the ids are the package's own.

Decoding is done here, from token bytes, so that a stream never shows half a character; what a token's bytes are follows
from the file's decoder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Any

import tokenizers

from boostr.errors import TokenizerError
from boostr.tokenizers.base import Tokenizer, require_encodable
from boostr.tokenizers.byte_level import decode_symbols
from boostr.tokenizers.end_tokens import END_TEXTS, find_end_tokens
from boostr.tokenizers.model_files import DeclaredTokens, read_declared_tokens
from boostr.tokenizers.package import encode_ids, package_faults

__all__ = ["HuggingFaceTokenizer"]

_MAX_BYTES = 256 << 20  # the largest published file has 33 MB
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_SPACE = "\u2581"
_FENCE = "\ue000"  # a private-use character: no vocabulary merges anything with it


class HuggingFaceTokenizer(Tokenizer):
    """A tokenizer.json with what the directory's other files declare beside it.

    add_bos is what the file's post-processor does, whatever the configuration says: transformers reads it so too.
    """

    def __init__(self, text: str, declared: DeclaredTokens, source: str = "tokenizer.json") -> None:
        self._backend = _load(text, source)
        ids = self._backend.get_vocab(with_added_tokens=True)
        self.vocab_size = max(ids.values(), default=-1) + 1
        added = self._backend.get_added_tokens_decoder()
        self._added = {token: entry.content for token, entry in added.items()}
        self.special_tokens = {entry.content: token for token, entry in added.items() if entry.special}
        self._control = frozenset(self.special_tokens.values())
        self._find_special_ids(ids, declared)
        self._before, self._after = self._frame()
        self.add_bos = self.bos_token_id is not None and self.bos_token_id in self._before
        self.add_eos = self.eos_token_id is not None and self.eos_token_id in self._after
        decoder = json.loads(self._backend.decoder.__getstate__()) if self._backend.decoder is not None else None
        kinds = _component_types(decoder)
        self._token_data: Callable[[str], bytes] = decode_symbols if "ByteLevel" in kinds else _sentencepiece_bytes
        self.strips_leading_space = "Strip" in kinds or _metaspace_strips(decoder)
        self._lock = Lock()

    @classmethod
    def from_directory(cls, directory: Path) -> HuggingFaceTokenizer:
        """From a directory with tokenizer.json. Raises TokenizerError."""
        path = directory / "tokenizer.json"
        if path.stat().st_size > _MAX_BYTES:
            raise TokenizerError(f"{path} is larger than {_MAX_BYTES >> 20} MB")
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise TokenizerError(f"{path} is not UTF-8: {error}") from error
        return cls(text, read_declared_tokens(directory), str(path))

    def encode_segments(self, segments: Sequence[tuple[str, bool]], *, add_special: bool = True) -> list[int]:
        for text, _ in segments:
            require_encodable(text)
        if all(parse_special for _, parse_special in segments) or not self._names_special(segments):
            whole = "".join(text for text, _ in segments)
            return encode_ids(self._backend, whole, add_special_tokens=add_special)
        parts = self._encode_parts(segments)
        return [*self._before, *parts, *self._after] if add_special else parts

    def encode_bare(self, text: str) -> list[int]:
        return encode_ids(self._bare, require_encodable(text))

    def token_text(self, token: int) -> str:
        text: str | None = self._backend.id_to_token(token) if 0 <= token < self.vocab_size else None
        if text is None:
            if 0 <= token < self.vocab_size:
                return ""  # a hole between the vocabulary and the added tokens
            raise self._unknown_id(token)
        return text

    def is_control(self, token: int) -> bool:
        if not 0 <= token < self.vocab_size:
            raise self._unknown_id(token)
        return token in self._control

    def token_bytes(self, token: int) -> bytes:
        if self.is_control(token):
            return b""
        added = self._added.get(token)
        return self._token_data(self.token_text(token)) if added is None else added.encode()

    def _frame(self) -> tuple[list[int], list[int]]:
        # What the post-processor puts before and behind a text.
        framed = encode_ids(self._backend, "x", add_special_tokens=True)
        bare = encode_ids(self._backend, "x")
        starts = (at for at in range(len(framed)) if framed[at : at + len(bare)] == bare)
        start = next(starts, 0)
        return framed[:start], framed[start + len(bare) :]

    def _find_special_ids(self, ids: dict[str, int], declared: DeclaredTokens) -> None:
        self.bos_token_id = ids.get(declared.bos) if declared.bos is not None else declared.bos_id
        if self.bos_token_id is not None and not 0 <= self.bos_token_id < self.vocab_size:
            self.bos_token_id = None
        ends = sorted(declared.end_ids(self.vocab_size))
        named = ids.get(declared.eos) if declared.eos is not None else None
        self.eos_token_id = named if named is not None else (ends[0] if ends else None)
        known = {text: token for text, token in self.special_tokens.items() if text in END_TEXTS}
        self.eos_token_ids = find_end_tokens(known, [*ends, *([] if named is None else [named])], {})

    def _names_special(self, segments: Sequence[tuple[str, bool]]) -> bool:
        # Where all special texts lie within trusted runs the package may see the whole text at once.
        whole = "".join(text for text, _ in segments)
        trusted = ["".join(text for text, _ in run) for parse, run in groupby(segments, _parses) if parse]
        return any(
            whole.count(special) > sum(run.count(special) for run in trusted)
            for special in self.special_tokens
            if special in whole
        )

    def _encode_parts(self, segments: Sequence[tuple[str, bool]]) -> list[int]:
        """Runs of trusted and untrusted text in turn: the package has no way to tell them apart within one text."""
        ids: list[int] = []
        for parse_special, run in groupby(segments, _parses):
            text = "".join(part for part, _ in run)
            backend = self._backend if parse_special else self._plain
            ids += self._without_start(backend, text) if ids else encode_ids(backend, text)
        return ids

    def _without_start(self, backend: Any, text: str) -> list[int]:
        # Some vocabularies put a space before a text. Inside one there is none: the space goes to the fence instead.
        if not self._prefixes_start:
            return encode_ids(backend, text)
        fence = backend.encode(_FENCE, add_special_tokens=False).ids
        fenced = encode_ids(backend, _FENCE + text)
        return fenced[len(fence) :] if fenced[: len(fence)] == fence else fenced

    @cached_property
    def _prefixes_start(self) -> bool:
        fence = self._backend.encode(_FENCE, add_special_tokens=False).ids
        inside = self._backend.encode(_FENCE + "x", add_special_tokens=False).ids[len(fence) :]
        return bool(inside != self._backend.encode("x", add_special_tokens=False).ids)

    @property
    def _plain(self) -> Any:
        # A second copy that leaves special tokens in the text; most processes never need it.
        with self._lock:
            return self._plain_backend

    @cached_property
    def _plain_backend(self) -> Any:
        backend = _load(self._backend.to_str(), "tokenizer.json")
        backend.encode_special_tokens = True
        return backend

    @property
    def _bare(self) -> Any:
        with self._lock:
            return self._bare_backend

    @cached_property
    def _bare_backend(self) -> Any:
        spec = json.loads(self._backend.to_str())
        return _load(json.dumps(spec | {"added_tokens": [], "post_processor": None}), "tokenizer.json")


def _parses(segment: tuple[str, bool]) -> bool:
    return segment[1]


def _load(text: str, source: str) -> Any:
    with package_faults(f"{source} cannot be used"):
        backend = tokenizers.Tokenizer.from_str(text)
    backend.no_truncation()
    backend.no_padding()
    return backend


def _component_types(spec: Any) -> set[str]:
    if not isinstance(spec, dict):
        return set()
    parts = spec.get("decoders") if spec.get("type") == "Sequence" else None
    return {str(spec.get("type"))}.union(*(_component_types(part) for part in parts or ()))


def _metaspace_strips(spec: Any) -> bool:
    if not isinstance(spec, dict):
        return False
    if spec.get("type") == "Sequence":
        return any(_metaspace_strips(part) for part in spec.get("decoders") or ())
    return bool(spec.get("type") == "Metaspace" and spec.get("prepend_scheme", "always") != "never")


def _sentencepiece_bytes(text: str) -> bytes:
    found = _BYTE.fullmatch(text)
    return bytes.fromhex(found[1]) if found else text.replace(_SPACE, " ").encode()
